"""Sliding windows (stencils): ``np.convolve``, ``correlate`` and ``gradient``.

Rules of the columns ``loops`` and ``pair`` of `function_table`, applied by `function_loops`: loop
templates for convolutions, and stores of whole slices, which other macros expand, for gradients.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.ast_walk import integer_constant
from ...frontend.macros.bind_operands import bind_fresh, bind_operand
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, dtype_expr
from ..call_arguments import BoundArguments
from .function_loops import LoopRule
from .searchsorted import common_dtype

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
"""By the mode: how many windows reach beyond the left end of the array, how many beyond its right
end, and the length of the result, for an array of length N and M weights.
"""


def _convolution_rule(element: str, default: str) -> LoopRule:
    """The rule of ``np.convolve`` or ``np.correlate``: a loop over the results, and in it a sum of
    products, which may be reassociated.

    `element` is the text of the weight of the k-th product, `default` the default ``mode``. The
    call is replayed where the weights are longer than the array, for then NumPy swaps the operands.
    """

    def rule(
        bound: BoundArguments, name: str, node: ast.Call, cx: Context
    ) -> list[ast.stmt] | None:
        """Statements for ``name = np.convolve(a, v, mode)``, or ``correlate``. None where the mode
        is no constant, an operand is not surely a vector, or their common dtype is not known, not
        real, or float16.
        """
        mode = bound.arguments.get("mode", ast.Constant(default))
        layout = _CONVOLVE_MODES.get(mode.value) if isinstance(mode, ast.Constant) and isinstance(
            mode.value, str) else None
        if layout is None or "v" not in bound.arguments:
            return None
        operands = [bound["a"], bound["v"]]
        facts, dtype = [cx.fact(e) for e in operands], common_dtype(cx, *operands)
        if dtype is None or dtype == "f16" or not all(f.array and f.rank == 1 for f in facts):
            return None
        a, v = (bind_operand(_converted_operand(e, dtype, cx), cx) for e in operands)
        parts: dict[str, Part] = {"A": a, "V": v, "T": dtype_expr(dtype, cx), "NP": cx.numpy}
        parts |= {"NAME": name, **{n.upper(): cx.fresh(n) for n in ("i", "k", "acc")}}
        for hole, text in zip("NM", ("A.shape[0]", "V.shape[0]"), strict=True):
            parts[hole] = cx.expr(text, **parts)
        for hole, text in zip(("LEFT", "RIGHT", "LENGTH"), layout, strict=True):
            parts[hole] = cx.expr(text, **parts)
        checks = [cx.expr(text, **parts) for text in ("M < 1", "N < M")]
        (original,) = cx.code("NAME = E", NAME=name, E=node)
        cx.mark_folds(dtype)
        lines = cx.code(_WINDOW_LOOP.format(v=element), **parts)
        return guarded(checks, original, lines, cx)

    return rule


def _converted_operand(e: ast.expr, dtype: str, cx: Context) -> ast.expr:
    """`e` as an array of `dtype`: itself, or ``np.asarray(e, dtype=…)``."""
    if all(t.dtype == dtype for t in cx.fact(e).types):
        return e
    return cx.expr("NP.asarray(E, dtype=T)", NP=cx.numpy, E=e, T=dtype_expr(dtype, cx))


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
    one-sided at both ends. The call is replayed for an axis that is too short, for which NumPy
    raises.
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
    f = bind_operand(bound["f"], cx)
    lines: list[ast.stmt] = []
    for axis, (name, step) in enumerate(zip(names, steps, strict=True)):
        (original,) = cx.code("NAME = E[K]", NAME=name, E=node, K=ast.Constant(axis))
        bound = BoundArguments(bound.name, {**bound.arguments, "f": f})
        along_axis = _gradient_along(bound, axis, step, name, original, cx)
        if along_axis is None:
            return None
        lines += along_axis
    return lines


def _gradient_along(
    bound: BoundArguments,
    axis: int,
    step: ast.expr | None,
    name: str,
    original: ast.stmt,
    cx: Context,
) -> list[ast.stmt] | None:
    """Statements that bind `name` to the gradient along one axis; `original` is what is replayed.

    `step` is a scalar spacing (None: 1), or a vector, the coordinates of the points: if these turn
    out to be evenly spaced, NumPy uses the formulas of a scalar spacing. None for an array that is
    not in C order or not real, and for coordinates together with a matrix or ``edge_order=2``.
    """
    fact, order = cx.fact(bound["f"]), integer_constant(bound.get("edge_order"), 1)
    kind = ELEMENTS[fact.array.dtype].kind if fact.array else ""
    has_coordinates = step is not None and cx.fact(step).rank == 1
    if fact.array is None or kind not in "iuf" or fact.order != "C" or order not in (1, 2):
        return None
    vector_of_order_1 = has_coordinates and fact.rank == order == 1
    if step is not None and not (_is_plain_number(step, cx) or vector_of_order_1):
        return None
    dtype = fact.array.dtype if kind == "f" else "f64"
    parts: dict[str, Part] = {
        "F": bind_operand(_converted_operand(bound["f"], dtype, cx), cx),
        "NAME": name,
    }
    n = cx.expr("F.shape[K]", K=ast.Constant(axis), **parts)
    checks = [cx.expr("N < K", N=n, K=ast.Constant(order + 1))]
    leading = ":, " * axis
    even_spacing = (_EVEN_GRADIENT if order == 1 else _EVEN_GRADIENT_EDGES_2).format(at=leading)
    if has_coordinates and step is not None:
        coordinates = _converted_operand(step, "f64", cx) if not _is_float_array(step, cx) else step
        steps = bind_operand(coordinates, cx)
        checks.append(cx.expr("X.shape[0] != N", X=steps, N=n))
        parts["D"] = bind_fresh(cx.expr("NP.diff(X)", NP=cx.numpy, X=steps), "d", cx)
        lines = cx.code(
            "if NP.all(D == D[0]):\n    EVEN\nelse:\n    UNEVEN", NP=cx.numpy, D=parts["D"],
            EVEN=cx.code(even_spacing, H=cx.expr("D[0]", D=parts["D"]), **parts),
            UNEVEN=cx.code(_UNEVEN_GRADIENT, **parts))
    else:
        h = step if isinstance(step, (ast.Name, ast.Constant)) else (
            ast.Constant(1.0) if step is None else bind_fresh(step, "h", cx))
        lines = cx.code(even_spacing, H=h, **parts)
    shape = [cx.expr("F.shape[K]", K=ast.Constant(k), **parts) for k in range(fact.rank or 0)]
    return guarded(checks, original, [allocate_array(name, shape, dtype, cx), *lines], cx)


def _is_plain_number(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is surely a scalar int or float."""
    types = cx.fact(e).types
    return cx.fact(e).rank == 0 and bool(types) and all(
        ELEMENTS[t.dtype].kind in "if" for t in types)


def _is_float_array(e: ast.expr, cx: Context) -> bool:
    """Whether all types that `e` may have are floats."""
    return all(ELEMENTS[t.dtype].kind == "f" for t in cx.fact(e).types)


convolve_rule = _convolution_rule("V[M - 1 - K]", "full")
correlate_rule = _convolution_rule("V[K]", "valid")
