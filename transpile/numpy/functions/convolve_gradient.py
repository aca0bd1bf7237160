"""Sliding windows (stencils): ``np.convolve``, ``correlate`` and ``gradient``."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, dtype_expr
from ..call_arguments import BoundArguments
from .searchsorted import LoopExpansion, bound_operand, common_dtype

__all__ = ["gradient_rule", "gradient_pair_rule", "convolve_rule", "correlate_rule"]

_WINDOW_LOOP = """
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
_CONVOLVE_MODES = {
    "valid": ("0", "0", "N - M + 1"), "same": ("M // 2", "M - M // 2 - 1", "N"),
    "full": ("M - 1", "M - 1", "N + M - 1"),
}
"""So many windows reach out on the left, so many on the right, and how many there are in all."""


def _convolution_rule(element: str, default: str) -> LoopExpansion:
    """The expansion of ``np.convolve`` or ``np.correlate``: a loop over the results, in it a sum of
    products.

    `element` is the subscripted weight of the k-th product, `default` NumPy's default ``mode``.
    NumPy swaps the operands where the second is longer; then NumPy itself is called.
    """

    def way(bound: BoundArguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
        """Expand ``name = np.convolve(a, v, mode)``, or ``correlate``, to loops; None where the
        mode is no constant or a dtype is not known.
        """
        mode = bound.arguments.get("mode", ast.Constant(default))
        ways = _CONVOLVE_MODES.get(mode.value) if isinstance(mode, ast.Constant) and isinstance(
            mode.value, str) else None
        if ways is None or "v" not in bound.arguments:
            return None
        operands = [bound["a"], bound["v"]]
        facts, to = [cx.fact(e) for e in operands], common_dtype(cx, *operands)
        if to is None or to == "f16" or not all(f.array and f.rank == 1 for f in facts):
            return None
        a, v = (bound_operand(_converted_operand(e, to, cx), cx) for e in operands)
        parts: dict[str, Part] = {"A": a, "V": v, "T": dtype_expr(to, cx), "NP": cx.numpy}
        parts |= {"NAME": name, **{n.upper(): cx.fresh(n) for n in ("i", "k", "acc")}}
        for hole, text in zip("NM", ("A.shape[0]", "V.shape[0]"), strict=True):
            parts[hole] = cx.expr(text, **parts)
        for hole, text in zip(("LEFT", "RIGHT", "LENGTH"), ways, strict=True):
            parts[hole] = cx.expr(text, **parts)
        checks = [cx.expr(text, **parts) for text in ("M < 1", "N < M")]
        (original,) = cx.code("NAME = E", NAME=name, E=node)
        cx.folds(to)
        lines = cx.code(_WINDOW_LOOP.format(v=element), **parts)
        return guarded(checks, original, lines, cx)

    return way


def _converted_operand(e: ast.expr, to: str, cx: Context) -> ast.expr:
    if all(t.dtype == to for t in cx.fact(e).types):
        return e
    return cx.expr("NP.asarray(E, dtype=T)", NP=cx.numpy, E=e, T=dtype_expr(to, cx))


_EVEN_GRADIENT = """
    NAME[{at}1:-1] = (F[{at}2:] - F[{at}:-2]) / (2.0 * H)
    NAME[{at}0] = (F[{at}1] - F[{at}0]) / H
    NAME[{at}-1] = (F[{at}-1] - F[{at}-2]) / H
"""
_EVEN_GRADIENT_EDGES_2 = """
    NAME[{at}1:-1] = (F[{at}2:] - F[{at}:-2]) / (2.0 * H)
    NAME[{at}0] = -1.5 / H * F[{at}0] + 2.0 / H * F[{at}1] + -0.5 / H * F[{at}2]
    NAME[{at}-1] = 0.5 / H * F[{at}-3] + -2.0 / H * F[{at}-2] + 1.5 / H * F[{at}-1]
"""
_UNEVEN_GRADIENT = """
    NAME[1:-1] = -D[1:] / (D[:-1] * (D[:-1] + D[1:])) * F[:-2] \\
        + (D[1:] - D[:-1]) / (D[:-1] * D[1:]) * F[1:-1] \\
        + D[:-1] / (D[1:] * (D[:-1] + D[1:])) * F[2:]
    NAME[0] = (F[1] - F[0]) / D[0]
    NAME[-1] = (F[-1] - F[-2]) / D[-1]
"""


def gradient_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.gradient(x, step)`` of a vector, or along one axis → a loop of central differences,
    one-sided at both ends.
    """
    rank = cx.fact(bound["f"]).rank
    axis = integer_constant(bound.get("axis"), 0 if rank == 1 else None)
    if axis is None or not rank or not -rank <= axis < rank or "dy" in bound.arguments:
        return None
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    return _gradient_along(bound, axis % rank, bound.get("dx"), name, original, cx)


def gradient_pair_rule(
    bound: BoundArguments, names: Sequence[str], node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``dy, dx = np.gradient(X)`` of a matrix → loops of differences along both axes."""
    if cx.fact(bound["f"]).rank != 2 or bound.get("axis") is not None:
        return None
    steps = bound.get("dx"), bound.get("dy") or bound.get("dx")
    f = bound_operand(bound["f"], cx)
    lines: list[ast.stmt] = []
    for axis, (name, step) in enumerate(zip(names, steps, strict=True)):
        (original,) = cx.code("NAME = E[K]", NAME=name, E=node, K=ast.Constant(axis))
        bound = BoundArguments(bound.name, {**bound.arguments, "f": f})
        found = _gradient_along(bound, axis, step, name, original, cx)
        if found is None:
            return None
        lines += found
    return lines


def _gradient_along(
    bound: BoundArguments,
    axis: int,
    step: ast.expr | None,
    name: str,
    original: ast.stmt,
    cx: Context,
) -> list[ast.stmt] | None:
    """In steps of one length, or between coordinates, which may be of one after all."""
    of, order = cx.fact(bound["f"]), integer_constant(bound.get("edge_order"), 1)
    kind = ELEMENTS[of.array.dtype].kind if of.array else ""
    far = step is not None and cx.fact(step).rank == 1
    if of.array is None or kind not in "iuf" or of.order != "C" or order not in (1, 2):
        return None
    if step is not None and not (_is_plain_number(step, cx) or (far and of.rank == order == 1)):
        return None
    to = of.array.dtype if kind == "f" else "f64"
    parts: dict[str, Part] = {
        "F": bound_operand(_converted_operand(bound["f"], to, cx), cx),
        "NAME": name,
    }
    n = cx.expr("F.shape[K]", K=ast.Constant(axis), **parts)
    checks = [cx.expr("N < K", N=n, K=ast.Constant(order + 1))]
    at = ":, " * axis
    even = (_EVEN_GRADIENT if order == 1 else _EVEN_GRADIENT_EDGES_2).format(at=at)
    if far and step is not None:
        apart = _converted_operand(step, "f64", cx) if not _is_float_array(step, cx) else step
        steps = bound_operand(apart, cx)
        checks.append(cx.expr("X.shape[0] != N", X=steps, N=n))
        parts["D"] = bind_fresh(cx.expr("NP.diff(X)", NP=cx.numpy, X=steps), "d", cx)
        lines = cx.code(
            "if NP.all(D == D[0]):\n    EVEN\nelse:\n    UNEVEN", NP=cx.numpy, D=parts["D"],
            EVEN=cx.code(even, H=cx.expr("D[0]", D=parts["D"]), **parts),
            UNEVEN=cx.code(_UNEVEN_GRADIENT, **parts))
    else:
        h = step if isinstance(step, (ast.Name, ast.Constant)) else (
            ast.Constant(1.0) if step is None else bind_fresh(step, "h", cx))
        lines = cx.code(even, H=h, **parts)
    shape = [cx.expr("F.shape[K]", K=ast.Constant(k), **parts) for k in range(of.rank or 0)]
    return guarded(checks, original, [allocate_array(name, shape, to, cx), *lines], cx)


def _is_plain_number(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return cx.fact(e).rank == 0 and bool(types) and all(
        ELEMENTS[t.dtype].kind in "if" for t in types)


def _is_float_array(e: ast.expr, cx: Context) -> bool:
    return all(ELEMENTS[t.dtype].kind == "f" for t in cx.fact(e).types)


convolve_rule = _convolution_rule("V[M - 1 - K]", "full")
correlate_rule = _convolution_rule("V[K]", "valid")
