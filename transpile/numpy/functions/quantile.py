"""Median, percentiles and quantiles by quickselect in a copy.

Rules of column ``loops`` of `function_table`. The elements are copied to a vector S of length N;
quickselect (Hoare's FIND) puts the K-th smallest at K, smaller ones before it and greater ones
behind; the result is S[K], or lies between it and the neighbour in sorted order.

The call is replayed where that might not be NumPy's answer: no elements, NaNs (other than in the
nan… functions), negative zeros, and infinities between which a quantile would interpolate.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.macros.bind_operands import bind_operand
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, dtype_expr, loop_nest
from ..array_views import element_at
from ..call_arguments import BoundArguments
from .function_loops import LoopRule

__all__ = [
    "median_rule", "nanmedian_rule", "percentile_rule", "nanpercentile_rule", "quantile_rule",
    "nanquantile_rule",
]

_REAL_DTYPES = frozenset(("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"))

_TEMPLATE_NAMES = (
    "N", "I", "J", "E", "F", "LOW", "HIGH", "K", "ODD", "S", "BEST", "Q", "PLACE", "STEP",
)
"""The holes of the templates that stand for fresh names."""

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
    STEP = BEST - S[K]
    X = NP.subtract(BEST, STEP * (1 - PLACE)) if PLACE >= 0.5 else NP.add(S[K], STEP * PLACE)
"""


def _selection_rule(text: str, skips_nan: bool, divisor: float | None = None) -> LoopRule:
    """The rule of a median or quantile: copies the elements, then runs the template `text`.

    `skips_nan`: NaNs are not copied. `divisor`: what ``q`` is divided by, 100 for a percentile, 1
    for a quantile, None for a median, which has no ``q``.
    """

    def rule(
        bound: BoundArguments, name: str, node: ast.Call, cx: Context
    ) -> list[ast.stmt] | None:
        """Statements for ``name = np.median(a)`` or ``np.quantile(a, q)``. None where `a` is not
        surely an array of `_REAL_DTYPES`, where an axis is given, and for a quantile of float32 or
        with a `q` that is not one int64, float64, or Python number.
        """
        ty, q = cx.fact(bound["a"]).array, bound.get("q")
        if ty is None or ty.dtype not in _REAL_DTYPES or not bound.only("a", "q"):
            return None
        if cx.resolve(node.func) is None or not cx.is_builtin("range", "min", "max", "int"):
            return None  # arrays have no such method
        parts: dict[str, Part] = {hole: cx.fresh(hole.lower()) for hole in _TEMPLATE_NAMES}
        parts |= {
            "NP": cx.numpy,
            "X": name,
            "T": dtype_expr("f32" if ty.dtype == "f32" else "f64", cx),
        }
        checks = [cx.expr("N < 1", **parts)]
        if divisor is not None:
            types = cx.fact(q).types if q is not None else ()
            if q is None or not types or ty.dtype == "f32" or not all(
                    t.dtype == "f64" or t.dtype == "i64" for t in types) or cx.fact(q).rank != 0:
                return None
            cx.before(*cx.code("Q = NP.float64(V) / D", **parts, V=q, D=ast.Constant(divisor)))
            checks.append(cx.expr("not 0 <= Q <= 1", **parts))
        cx.before(*_copy_elements(bound["a"], parts, skips_nan, cx))
        if ty.dtype[0] == "f":
            unordered = "E != E or (E == 0 and NP.signbit(E))"
            unordered += "" if divisor is None else " or E - E != 0"
            cx.before(*cx.code(f"ODD = False\nfor I in range(N):\n    E = S[I]\n"
                               f"    ODD = ODD or {unordered}", **parts))
            checks.append(cx.expr("ODD", **parts))
        (original,) = cx.code("NAME = E", NAME=name, E=node)
        lines = cx.code(text, SELECTED=cx.code(_QUICKSELECT, **parts), **parts)
        return guarded(checks, original, lines, cx)

    return rule


def _copy_elements(
    x: ast.expr, parts: dict[str, Part], skips_nan: bool, cx: Context
) -> list[ast.stmt]:
    """Statements that copy the elements of the array `x` to the vector S, in C order and without
    NaNs if it `skips_nan`, and bind N to their number.
    """
    ty = cx.fact(x).array
    assert ty is not None
    array = bind_operand(x, cx)
    size = " * ".join(f"A.shape[{axis}]" for axis in range(ty.rank))
    lengths = [cx.expr(f"A.shape[{axis}]", A=array) for axis in range(ty.rank)]
    skips_nan = skips_nan and ELEMENTS[ty.dtype].kind == "f"
    text = "S[P] = E" if ty.rank == 1 else "S[I] = E\nI = I + 1"
    text = "if E == E:\n    S[I] = E\n    I = I + 1" if skips_nan else text

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code(text, **parts | {"P": at[0], "E": element_at(array, at, cx)})

    return [
        *cx.code(f"N = {size}", **parts, A=array),
        allocate_array(str(parts["S"]), [cx.expr("N", **parts)], ty.dtype, cx),
        *cx.code("I = 0", **parts), *loop_nest(lengths, body, cx),
        *(cx.code("N = I", **parts) if skips_nan else ()),
    ]


median_rule = _selection_rule(_MEDIAN_STEPS, False, None)
nanmedian_rule = _selection_rule(_MEDIAN_STEPS, True, None)
percentile_rule = _selection_rule(_QUANTILE_STEPS, False, 100)
nanpercentile_rule = _selection_rule(_QUANTILE_STEPS, True, 100)
quantile_rule = _selection_rule(_QUANTILE_STEPS, False, 1)
nanquantile_rule = _selection_rule(_QUANTILE_STEPS, True, 1)
