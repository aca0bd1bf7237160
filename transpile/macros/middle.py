"""``np.median`` → a selection in a copy, which parts only the half that has the middle.

What has NaNs, or zeros of both signs, has no order: that is NumPy's to answer, as is nothing.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from .arguments import Arguments
from .context import Context
from .nests import allocated, dtype, nest, unless
from .searching import Way, steady
from .template import Part
from .views import element

__all__ = ["WAYS"]

_REAL = frozenset(("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"))

_NAMES = ("N", "I", "J", "E", "F", "LOW", "HIGH", "K", "ODD", "S", "BEST")

_MIDDLE = """
    K = N // 2
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
    if N % 2 == 0:
        BEST = S[0]
        for I in range(1, K):
            BEST = S[I] if S[I] > BEST else BEST
        X = NP.divide(NP.add(T(BEST), T(S[K])), T(2))
    else:
        X = T(S[K])
"""


def _median(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
    """The element in the middle, or the mean of two."""
    of = cx.fact(given["a"]).array
    if of is None or of.dtype not in _REAL or not given.only("a"):
        return None
    if cx.resolve(node.func) is None or not cx.means("range", "min", "max"):  # arrays have none
        return None
    parts: dict[str, Part] = {hole: cx.fresh(hole.lower()) for hole in _NAMES}
    array = steady(given["a"], cx)
    parts |= {"A": array, "NP": cx.numpy, "X": name}
    parts["T"] = dtype("f32" if of.dtype == "f32" else "f64", cx)
    lengths = [cx.expr(f"A.shape[{axis}]", **parts) for axis in range(of.rank)]
    size = " * ".join(f"A.shape[{axis}]" for axis in range(of.rank))
    cx.before(*cx.code(f"N = {size}", **parts))
    cx.before(allocated(str(parts["S"]), [cx.expr("N", **parts)], of.dtype, cx))

    def copied(at: Sequence[ast.expr]) -> list[ast.stmt]:
        text = "S[P] = E" if of.rank == 1 else "S[I] = E\nI = I + 1"
        return cx.code(text, **parts | {"P": at[0], "E": element(array, at, cx)})

    cx.before(*cx.code("I = 0", **parts), *nest(lengths, copied, cx))
    checks = [cx.expr("N < 1", **parts)]
    if of.dtype[0] == "f":
        text = "ODD = False\nfor E in S: ODD = ODD or E != E or (E == 0 and NP.signbit(E))"
        cx.before(*cx.code(text, **parts))
        checks.append(cx.expr("ODD", **parts))
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    return unless(checks, original, cx.code(_MIDDLE, **parts), cx)


WAYS: dict[str, tuple[str, Way]] = {"median": ("a axis", _median)}
