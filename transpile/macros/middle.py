"""``np.median`` and quantiles → a selection in a copy, which parts only the side of that element.

What has NaNs that count, infinities between which to interpolate, or zeros of both signs, has no
order: that is NumPy's to answer, as is nothing.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..types import ELEMENTS
from .arguments import Arguments
from .context import Context
from .nests import allocated, dtype, nest, unless
from .searching import Way, steady
from .template import Part
from .views import element

__all__ = ["WAYS"]

_REAL = frozenset(("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"))

_NAMES = ("N", "I", "J", "E", "F", "LOW", "HIGH", "K", "ODD", "S", "BEST", "Q", "PLACE", "STEP")

_SELECTED = """
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
_MIDDLE = """
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
_QUANTILE = """
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


def _selected(text: str, skips: bool, over: float | None = None) -> Way:
    """What `text` makes of the elements, without NaNs if it `skips` them; a quantile is so much of
    what is given, `over` that.
    """

    def way(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
        of, q = cx.fact(given["a"]).array, given.get("q")
        if of is None or of.dtype not in _REAL or not given.only("a", "q"):
            return None
        if cx.resolve(node.func) is None or not cx.means("range", "min", "max", "int"):
            return None  # arrays have no such method
        parts: dict[str, Part] = {hole: cx.fresh(hole.lower()) for hole in _NAMES}
        parts |= {"NP": cx.numpy, "X": name, "T": dtype("f32" if of.dtype == "f32" else "f64", cx)}
        checks = [cx.expr("N < 1", **parts)]
        if over is not None:
            types = cx.fact(q).types if q is not None else ()
            if q is None or not types or of.dtype == "f32" or not all(
                    t.dtype == "f64" or t.dtype == "i64" for t in types) or cx.fact(q).rank != 0:
                return None
            cx.before(*cx.code("Q = NP.float64(V) / D", **parts, V=q, D=ast.Constant(over)))
            checks.append(cx.expr("not 0 <= Q <= 1", **parts))
        cx.before(*_copied(given["a"], parts, skips, cx))
        if of.dtype[0] == "f":
            odd = "E != E or (E == 0 and NP.signbit(E))"
            odd += "" if over is None else " or E - E != 0"
            cx.before(*cx.code(f"ODD = False\nfor I in range(N):\n    E = S[I]\n"
                               f"    ODD = ODD or {odd}", **parts))
            checks.append(cx.expr("ODD", **parts))
        (original,) = cx.code("NAME = E", NAME=name, E=node)
        lines = cx.code(text, SELECTED=cx.code(_SELECTED, **parts), **parts)
        return unless(checks, original, lines, cx)

    return way


def _copied(
    x: ast.expr, parts: dict[str, Part], skips: bool, cx: Context
) -> list[ast.stmt]:
    """The N elements as S, without NaNs if it `skips` them."""
    of = cx.fact(x).array
    assert of is not None
    array = steady(x, cx)
    size = " * ".join(f"A.shape[{axis}]" for axis in range(of.rank))
    lengths = [cx.expr(f"A.shape[{axis}]", A=array) for axis in range(of.rank)]
    skips = skips and ELEMENTS[of.dtype].kind == "f"
    text = "S[P] = E" if of.rank == 1 else "S[I] = E\nI = I + 1"
    text = "if E == E:\n    S[I] = E\n    I = I + 1" if skips else text

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code(text, **parts | {"P": at[0], "E": element(array, at, cx)})

    return [
        *cx.code(f"N = {size}", **parts, A=array),
        allocated(str(parts["S"]), [cx.expr("N", **parts)], of.dtype, cx),
        *cx.code("I = 0", **parts), *nest(lengths, body, cx),
        *(cx.code("N = I", **parts) if skips else ()),
    ]


WAYS: dict[str, tuple[str, Way]] = {
    f"{prefix}{name}": (names, _selected(text, bool(prefix), over))
    for prefix in ("", "nan")
    for name, names, text, over in (
        ("median", "a axis", _MIDDLE, None),
        ("percentile", "a q axis", _QUANTILE, 100),
        ("quantile", "a q axis", _QUANTILE, 1),
    )
}
