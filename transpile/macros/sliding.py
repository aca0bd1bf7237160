"""``np.convolve``, ``correlate`` and ``gradient`` → what each element makes of those around it."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..types import ELEMENTS
from .arguments import Arguments
from .context import Context
from .counting import Pairs
from .integers import integer_constant
from .nests import allocated, dtype, unless
from .searching import Way, common, steady
from .template import Part
from .views import held

__all__ = ["PAIRS", "WAYS"]

_WINDOWS = """
    NAME = NP.empty(LENGTH, T)
    for I in range(LEFT):
        ACC = T(0)
        for K in range(LEFT - I, M):
            ACC = NP.add(ACC, NP.multiply(A[I - LEFT + K], {v}))
        NAME[I] = ACC
    for I in range(N - M + 1):
        ACC = T(0)
        for K in range(M):
            ACC = NP.add(ACC, NP.multiply(A[I + K], {v}))
        NAME[LEFT + I] = ACC
    for I in range(RIGHT):
        ACC = T(0)
        for K in range(M - 1 - I):
            ACC = NP.add(ACC, NP.multiply(A[N - M + 1 + I + K], {v}))
        NAME[LEFT + N - M + 1 + I] = ACC
"""
_MODES = {
    "valid": ("0", "0", "N - M + 1"), "same": ("M // 2", "M - M // 2 - 1", "N"),
    "full": ("M - 1", "M - 1", "N + M - 1"),
}
"""So many windows reach out on the left, so many on the right, and how many there are in all."""


def _windows(element: str, default: str) -> Way:
    """Of sums of products of neighbours with what is the shorter array; else NumPy swaps them."""

    def way(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
        mode = given.given.get("mode", ast.Constant(default))
        ways = _MODES.get(mode.value) if isinstance(mode, ast.Constant) and isinstance(
            mode.value, str) else None
        if ways is None or "v" not in given.given:
            return None
        operands = [given["a"], given["v"]]
        facts, to = [cx.fact(e) for e in operands], common(cx, *operands)
        if to is None or to == "f16" or not all(f.array and f.rank == 1 for f in facts):
            return None
        a, v = (steady(_converted(e, to, cx), cx) for e in operands)
        parts: dict[str, Part] = {"A": a, "V": v, "T": dtype(to, cx), "NP": cx.numpy}
        parts |= {"NAME": name, **{n.upper(): cx.fresh(n) for n in ("i", "k", "acc")}}
        for hole, text in zip("NM", ("A.shape[0]", "V.shape[0]"), strict=True):
            parts[hole] = cx.expr(text, **parts)
        for hole, text in zip(("LEFT", "RIGHT", "LENGTH"), ways, strict=True):
            parts[hole] = cx.expr(text, **parts)
        checks = [cx.expr(text, **parts) for text in ("M < 1", "N < M")]
        (original,) = cx.code("NAME = E", NAME=name, E=node)
        cx.folds(to)
        lines = cx.code(_WINDOWS.format(v=element), **parts)
        return unless(checks, original, lines, cx)

    return way


def _converted(e: ast.expr, to: str, cx: Context) -> ast.expr:
    if all(t.dtype == to for t in cx.fact(e).types):
        return e
    return cx.expr("NP.asarray(E, dtype=T)", NP=cx.numpy, E=e, T=dtype(to, cx))


_EVEN = """
    NAME[{at}1:-1] = (F[{at}2:] - F[{at}:-2]) / (2.0 * H)
    NAME[{at}0] = (F[{at}1] - F[{at}0]) / H
    NAME[{at}-1] = (F[{at}-1] - F[{at}-2]) / H
"""
_EVEN_2 = """
    NAME[{at}1:-1] = (F[{at}2:] - F[{at}:-2]) / (2.0 * H)
    NAME[{at}0] = -1.5 / H * F[{at}0] + 2.0 / H * F[{at}1] + -0.5 / H * F[{at}2]
    NAME[{at}-1] = 0.5 / H * F[{at}-3] + -2.0 / H * F[{at}-2] + 1.5 / H * F[{at}-1]
"""
_UNEVEN = """
    NAME[1:-1] = -D[1:] / (D[:-1] * (D[:-1] + D[1:])) * F[:-2] \\
        + (D[1:] - D[:-1]) / (D[:-1] * D[1:]) * F[1:-1] \\
        + D[:-1] / (D[1:] * (D[:-1] + D[1:])) * F[2:]
    NAME[0] = (F[1] - F[0]) / D[0]
    NAME[-1] = (F[-1] - F[-2]) / D[-1]
"""


def _gradient(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
    """Along one axis, or of a vector."""
    rank = cx.fact(given["f"]).rank
    axis = integer_constant(given.get("axis"), 0 if rank == 1 else None)
    if axis is None or not rank or not -rank <= axis < rank or "dy" in given.given:
        return None
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    return _along(given, axis % rank, given.get("dx"), name, original, cx)


def _gradients(
    given: Arguments, names: Sequence[str], node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """Of a matrix, along both axes."""
    if cx.fact(given["f"]).rank != 2 or given.get("axis") is not None:
        return None
    steps = given.get("dx"), given.get("dy") or given.get("dx")
    f = steady(given["f"], cx)
    lines: list[ast.stmt] = []
    for axis, (name, step) in enumerate(zip(names, steps, strict=True)):
        (original,) = cx.code("NAME = E[K]", NAME=name, E=node, K=ast.Constant(axis))
        given = Arguments(given.name, {**given.given, "f": f})
        found = _along(given, axis, step, name, original, cx)
        if found is None:
            return None
        lines += found
    return lines


def _along(
    given: Arguments, axis: int, step: ast.expr | None, name: str, original: ast.stmt, cx: Context
) -> list[ast.stmt] | None:
    """In steps of one length, or between coordinates, which may be of one after all."""
    of, order = cx.fact(given["f"]), integer_constant(given.get("edge_order"), 1)
    kind = ELEMENTS[of.array.dtype].kind if of.array else ""
    far = step is not None and cx.fact(step).rank == 1
    if of.array is None or kind not in "iuf" or of.order != "C" or order not in (1, 2):
        return None
    if step is not None and not (_is_number(step, cx) or (far and of.rank == order == 1)):
        return None
    to = of.array.dtype if kind == "f" else "f64"
    parts: dict[str, Part] = {"F": steady(_converted(given["f"], to, cx), cx), "NAME": name}
    n = cx.expr("F.shape[K]", K=ast.Constant(axis), **parts)
    checks = [cx.expr("N < K", N=n, K=ast.Constant(order + 1))]
    at = ":, " * axis
    even = (_EVEN if order == 1 else _EVEN_2).format(at=at)
    if far and step is not None:
        apart = _converted(step, "f64", cx) if not _is_smooth(step, cx) else step
        steps = steady(apart, cx)
        checks.append(cx.expr("X.shape[0] != N", X=steps, N=n))
        parts["D"] = held(cx.expr("NP.diff(X)", NP=cx.numpy, X=steps), "d", cx)
        lines = cx.code(
            "if NP.all(D == D[0]):\n    EVEN\nelse:\n    UNEVEN", NP=cx.numpy, D=parts["D"],
            EVEN=cx.code(even, H=cx.expr("D[0]", D=parts["D"]), **parts),
            UNEVEN=cx.code(_UNEVEN, **parts))
    else:
        h = step if isinstance(step, (ast.Name, ast.Constant)) else (
            ast.Constant(1.0) if step is None else held(step, "h", cx))
        lines = cx.code(even, H=h, **parts)
    shape = [cx.expr("F.shape[K]", K=ast.Constant(k), **parts) for k in range(of.rank or 0)]
    return unless(checks, original, [allocated(name, shape, to, cx), *lines], cx)


def _is_number(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return cx.fact(e).rank == 0 and bool(types) and all(
        ELEMENTS[t.dtype].kind in "if" for t in types)


def _is_smooth(e: ast.expr, cx: Context) -> bool:
    return all(ELEMENTS[t.dtype].kind == "f" for t in cx.fact(e).types)


WAYS: dict[str, tuple[str, Way]] = {
    "convolve": ("a v mode", _windows("V[M - 1 - K]", "full")),
    "correlate": ("a v mode", _windows("V[K]", "valid")),
    "gradient": ("f dx dy axis edge_order", _gradient),
}
PAIRS: dict[str, tuple[str, Pairs]] = {"gradient": ("f dx dy axis edge_order", _gradients)}
