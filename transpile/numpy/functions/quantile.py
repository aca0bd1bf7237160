"""Median, percentiles and quantiles by quickselect in a copy.

Only the side that has the wanted element is partitioned. What has NaNs that count, infinities
between which to interpolate, or zeros of both signs, has no order: that is NumPy's to answer,
as is nothing.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, dtype_expr, loop_nest
from ..array_views import element_at
from ..call_arguments import BoundArguments
from .searchsorted import LoopExpansion, bound_operand

__all__ = [
    "median_rule", "nanmedian_rule", "percentile_rule", "nanpercentile_rule", "quantile_rule",
    "nanquantile_rule",
]

_REAL_DTYPES = frozenset(("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"))

_TEMPLATE_NAMES = (
    "N",
    "I",
    "J",
    "E",
    "F",
    "LOW",
    "HIGH",
    "K",
    "ODD",
    "S",
    "BEST",
    "Q",
    "PLACE",
    "STEP",
)

_QUICKSELECT = """
    LOW = 0
    HIGH = N - 1
    while LOW < HIGH:
        E = S[K]
        I = LOW
        J = HIGH
        while I <= J:
            while S[min(I, N - 1)] < E:
                I = I + 1
            while E < S[max(J, 0)]:
                J = J - 1
            if I <= J:
                F = S[min(I, N - 1)]
                S[min(I, N - 1)] = S[max(J, 0)]
                S[max(J, 0)] = F
                I = I + 1
                J = J - 1
        if J < K:
            LOW = I
        if K < I:
            HIGH = J
"""
_MEDIAN_STEPS = """
    K = N // 2
    SELECTED
    if N % 2 == 0:
        BEST = S[0]
        for I in range(1, K):
            BEST = S[I] if S[I] > BEST else BEST
        X = NP.divide(NP.add(T(BEST), T(S[K])), T(2))
    else:
        X = T(S[K])
"""
_QUANTILE_STEPS = """
    PLACE = (N - 1) * Q
    K = int(PLACE)
    SELECTED
    BEST = S[min(K + 1, N - 1)]
    for I in range(K + 2, N):
        BEST = S[I] if S[I] < BEST else BEST
    PLACE = PLACE - K
    STEP = NP.subtract(BEST, S[K])
    X = NP.subtract(BEST, STEP * (1 - PLACE)) if PLACE >= 0.5 else NP.add(S[K], STEP * PLACE)
"""


def _selection_rule(text: str, skips: bool, over: float | None = None) -> LoopExpansion:
    """The expansion of a median or quantile: copy the elements, then `text`, which selects among
    them.

    NaNs are left out if the function `skips` them. `over` is what ``q`` is divided by: 100 for a
    percentile, 1 for a quantile, None for a median.
    """

    def way(bound: BoundArguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
        """Expand ``name = np.median(a)`` or ``np.quantile(a, q)`` to a selection on a copy of the
        elements; None where `a` is no real array, or other arguments are given.
        """
        of, q = cx.fact(bound["a"]).array, bound.get("q")
        if of is None or of.dtype not in _REAL_DTYPES or not bound.only("a", "q"):
            return None
        if cx.resolve(node.func) is None or not cx.means("range", "min", "max", "int"):
            return None  # arrays have no such method
        parts: dict[str, Part] = {hole: cx.fresh(hole.lower()) for hole in _TEMPLATE_NAMES}
        parts |= {
            "NP": cx.numpy,
            "X": name,
            "T": dtype_expr("f32" if of.dtype == "f32" else "f64", cx),
        }
        checks = [cx.expr("N < 1", **parts)]
        if over is not None:
            types = cx.fact(q).types if q is not None else ()
            if q is None or not types or of.dtype == "f32" or not all(
                    t.dtype == "f64" or t.dtype == "i64" for t in types) or cx.fact(q).rank != 0:
                return None
            cx.before(*cx.code("Q = NP.float64(V) / D", **parts, V=q, D=ast.Constant(over)))
            checks.append(cx.expr("not 0 <= Q <= 1", **parts))
        cx.before(*_copy_elements(bound["a"], parts, skips, cx))
        if of.dtype[0] == "f":
            odd = "E != E or (E == 0 and NP.signbit(E))"
            odd += "" if over is None else " or E - E != 0"
            cx.before(*cx.code(f"ODD = False\nfor I in range(N):\n    E = S[I]\n"
                               f"    ODD = ODD or {odd}", **parts))
            checks.append(cx.expr("ODD", **parts))
        (original,) = cx.code("NAME = E", NAME=name, E=node)
        lines = cx.code(text, SELECTED=cx.code(_QUICKSELECT, **parts), **parts)
        return guarded(checks, original, lines, cx)

    return way


def _copy_elements(
    x: ast.expr, parts: dict[str, Part], skips: bool, cx: Context
) -> list[ast.stmt]:
    """The N elements as S, without NaNs if it `skips` them."""
    of = cx.fact(x).array
    assert of is not None
    array = bound_operand(x, cx)
    size = " * ".join(f"A.shape[{axis}]" for axis in range(of.rank))
    lengths = [cx.expr(f"A.shape[{axis}]", A=array) for axis in range(of.rank)]
    skips = skips and ELEMENTS[of.dtype].kind == "f"
    text = "S[P] = E" if of.rank == 1 else "S[I] = E\nI = I + 1"
    text = "if E == E:\n    S[I] = E\n    I = I + 1" if skips else text

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code(text, **parts | {"P": at[0], "E": element_at(array, at, cx)})

    return [
        *cx.code(f"N = {size}", **parts, A=array),
        allocate_array(str(parts["S"]), [cx.expr("N", **parts)], of.dtype, cx),
        *cx.code("I = 0", **parts), *loop_nest(lengths, body, cx),
        *(cx.code("N = I", **parts) if skips else ()),
    ]


median_rule = _selection_rule(_MEDIAN_STEPS, False, None)
nanmedian_rule = _selection_rule(_MEDIAN_STEPS, True, None)
percentile_rule = _selection_rule(_QUANTILE_STEPS, False, 100)
nanpercentile_rule = _selection_rule(_QUANTILE_STEPS, True, 100)
quantile_rule = _selection_rule(_QUANTILE_STEPS, False, 1)
nanquantile_rule = _selection_rule(_QUANTILE_STEPS, True, 1)
