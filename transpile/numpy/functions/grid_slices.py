"""Grids by slices: ``np.mgrid[a:b, c:d]`` as loops, ``np.ogrid[a:b, c:d]`` as vectors.

The bounds are ints, Python's or int64, and the steps int constants, as of a range; or a step is
an imaginary constant, the number of points from the first bound to the last one (`np.linspace`).
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from loopir.lazy_dataclass import record

from ...frontend.ast_walk import integer_constant, subscript_items
from ...frontend.core_nodes import copy_location
from ...frontend.macros.bind_operands import bind_operand
from ...frontend.macros.firing_conditions import slices_grid
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import is_weak
from ..array_nests import allocate_array, dtype_expr, loop_nest
from ..array_views import element_at

__all__ = ["grid_slices"]


@record(frozen=True, slots=True)
class _Axis:
    """One slice: ``length`` points, the i-th is ``i * step + start``."""

    length: ast.expr
    start: ast.expr
    step: ast.expr
    stop: ast.expr | None
    """The bound of a range of ints; None: the slice gives the number of points, which are floats.
    """


@fires_on(ast.Subscript, value=(ast.Attribute, ast.Name), ctx=ast.Load, when=slices_grid)
def grid_slices(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.mgrid[…]`` → an array that loops fill; ``np.ogrid[…]`` → a tuple of vectors, each with a
    new axis for each other one.

        u = np.mgrid[0:n, 1:4]
    →
        if n < 0:
            "Python's to answer"
            _grid = np.mgrid[0:n, 1:4]
        else:
            _grid = np.empty((2, n, 3), np.int64)
            for _i in range(n):
                for _i_1 in range(3):
                    _grid[0, _i, _i_1] = np.int64(_i)
                    _grid[1, _i, _i_1] = np.int64(_i_1) + 1
        u = _grid
    """
    if not isinstance(node, ast.Subscript) or not slices_grid(node, cx):
        return None
    slices = subscript_items(node)
    found = [_axis(s, cx) for s in slices]
    axes = [axis for axis in found if axis is not None]
    if len(axes) < len(found):
        return None
    is_float = any(axis.stop is None for axis in axes)
    if not isinstance(node.slice, ast.Tuple):
        return _points(axes[0], is_float, cx)
    if cx.resolve(node.value) is np.ogrid:
        columns = [_points(axis, is_float, cx) for axis in axes]
        items = [
            cx.expr(f"V[{', '.join(':' if i == k else 'None' for i in range(len(axes)))}]", V=v)
            for k, v in enumerate(columns)
        ]
        return copy_location(ast.Tuple([*items], ast.Load()), node)
    name = cx.fresh("grid")
    return cx.bound_name(name, lambda: _filled(name, axes, is_float, node, cx))


def _axis(item: ast.expr, cx: Context) -> _Axis | None:
    """The points of the slice `item`. None unless its bounds are ints, Python's or int64, and its
    step is an int constant or missing; or its bounds are Python numbers, and its step is an
    imaginary constant.
    """
    if not isinstance(item, ast.Slice) or item.upper is None:
        return None
    start, stop = item.lower or ast.Constant(0), item.upper
    match item.step:
        case ast.Constant(value=complex() as points):
            return _axis_of_points(start, stop, int(abs(points)), cx)
    stride = integer_constant(item.step, 1)
    if not stride or not all(_is_int64(e, cx) for e in (start, stop)):
        return None
    if not all(cx.fact(e).is_int for e in (start, stop)):
        if not cx.is_builtin("int"):
            return None
        start, stop = (cx.expr("int(E)", E=e) for e in (start, stop))
    start, stop = (_evaluated(e, cx) for e in (start, stop))
    low, high = (start, stop) if stride > 0 else (stop, start)
    return _Axis(_range_length(low, high, abs(stride), cx), start, ast.Constant(stride), stop)


def _axis_of_points(start: ast.expr, stop: ast.expr, count: int, cx: Context) -> _Axis | None:
    """`count` points from `start` to `stop`, both included; None if one of them is no number."""
    if not all(_is_number(e, cx) for e in (start, stop)):
        return None
    start, stop = (_evaluated(e, cx) for e in (start, stop))
    width = ast.Constant(float(count - 1))
    step = cx.expr("(STOP - START) / W", START=start, STOP=stop, W=width)
    step = ast.Constant(1) if count == 1 else bind_operand(step, cx, "step")
    return _Axis(ast.Constant(count), start, step, None)


def _range_length(low: ast.expr, high: ast.expr, step: int, cx: Context) -> ast.expr:
    """The length of ``range(low, high, step)`` for a positive `step`, if it is not empty."""
    first, last = integer_constant(low), integer_constant(high)
    if first is not None and last is not None:
        return ast.Constant(-((first - last) // step))
    parts = {"A": low, "B": high, "S": ast.Constant(step)}
    if first == 0:
        return high if step == 1 else cx.expr("-(-B // S)", **parts)
    return cx.expr("B - A" if step == 1 else "-((A - B) // S)", **parts)


def _is_int64(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a Python int or a NumPy int64 on every path."""
    types = cx.fact(e).types
    return cx.fact(e).is_integer and bool(types) and all(t.dtype == "i64" for t in types)


def _is_number(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a Python int or float on every path."""
    types = cx.fact(e).types
    return bool(types) and all(is_weak(t) and t.dtype in ("i64", "f64")
                               for t in types)


def _evaluated(e: ast.expr, cx: Context) -> ast.expr:
    """`e` if it is a constant, else a name for its value before the statement."""
    is_constant = isinstance(e, ast.Constant) or integer_constant(e) is not None
    return e if is_constant else bind_operand(e, cx, "bound")


def _points(axis: _Axis, is_float: bool, cx: Context) -> ast.expr:
    """The points of `axis` as a vector."""
    parts = {"NP": cx.numpy, "N": axis.length, "A": axis.start, "B": axis.stop or axis.length,
             "S": axis.step}
    if not is_float:
        return cx.expr("NP.arange(A, B, S)", **parts)
    if axis.stop is not None:
        return cx.expr("NP.arange(A, B, S).astype(NP.float64)", **parts)
    return cx.expr("NP.arange(N).astype(NP.float64) * S + A", **parts)


def _filled(
    name: str, axes: Sequence[_Axis], is_float: bool, node: ast.Subscript, cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to the array of all points, ``np.mgrid[…]``. The expression is
    replayed where a length is negative, for which NumPy raises.
    """
    dtype = "f64" if is_float else "i64"
    lengths = [
        axis.length if isinstance(axis.length, ast.Constant) else
        bind_operand(axis.length, cx, "n") for axis in axes
    ]
    grid, kind = ast.Name(name, ast.Load()), dtype_expr(dtype, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        lines: list[ast.stmt] = []
        for k, axis in enumerate(axes):
            place = element_at(grid, (ast.Constant(k), *at), cx)
            lines += cx.code("PLACE = E", PLACE=place, E=_point(axis, at[k], kind, cx))
        return lines

    (original,) = cx.code("NAME = E", NAME=name, E=node)
    checks = [cx.expr("N < 0", N=n) for n in lengths if (integer_constant(n, None) or -1) < 0]
    shape = (ast.Constant(len(axes)), *lengths)
    lines = [allocate_array(name, shape, dtype, cx), *loop_nest(lengths, body, cx)]
    return guarded(checks, original, lines, cx)


def _point(axis: _Axis, i: ast.expr, dtype: ast.expr, cx: Context) -> ast.expr:
    """The point at subscript `i` of `axis`, as NumPy computes it for arrays of `dtype`."""
    text = "T(I) * S + A"
    if integer_constant(axis.step) == 1:
        text = "T(I)" if integer_constant(axis.start) == 0 else "T(I) + A"
    return cx.expr(text, T=dtype, I=i, S=axis.step, A=axis.start)
