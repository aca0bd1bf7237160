"""``np.concatenate``, ``stack`` and their kin: an array that is filled part by part.

For displays of arrays, whose number is known; lists of arrays that grow are expanded by
``containers/array_lists.py``. All functions are brought to one form, `_Join`: parts along an axis,
which is an axis of the parts, or a new one.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...analysis.type_inference.type_lattice import UNKNOWN_ORDER
from ...frontend.ast_walk import integer_constant, is_none, same_tree, subscript_items
from ...frontend.core_nodes import copy_location
from ...frontend.macros.firing_conditions import joins_by_subscript
from ...frontend.macros.macro_context import Context, add_ints
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...frontend.macros.replay_guards import guarded, unique_nodes
from ...types.value_types import ELEMENTS, is_weak
from ..array_nests import allocate_array, dtype_expr, loop_nest
from ..array_views import View, element_at, is_unit_length, is_viewable, operands_by_index
from ..call_arguments import numpy_function_name
from ..function_table import FUNCTIONS
from .array_literals import literal_as_array

__all__ = ["concatenate_arrays", "join_by_subscript"]

_JOINING = tuple(n for n, row in FUNCTIONS.items() if row.joins and row.joins.parts)
"""The functions that join a display of arrays."""


class _Join(NamedTuple):
    """Arrays that become one, in order along one axis."""

    parts: list[ast.expr]  # arrays of one rank
    axis: int  # of the result, from 0
    new: bool  # whether that axis counts the parts, and is not one of theirs


@fires_on(ast.Call, calls=numpy_callees(_JOINING))
def concatenate_arrays(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.concatenate((a, b))`` and its kin, with a number of parts that the source shows → an
    array filled part by part.

        w = np.concatenate((x, y))
    →
        _a = np.empty(x.shape[0] + y.shape[0], np.float64)
        for _i in range(x.shape[0]):
            _a[_i] = x[_i]
        for _i_1 in range(y.shape[0]):
            _a[_i_1 + x.shape[0]] = y[_i_1]
        w = _a

    A part that is a list becomes an array first: ``np.concatenate(([0], x))`` →
    ``np.concatenate((np.array([0]), x))``; of ``np.hstack`` also one that is a number.
    """
    if (call := _with_arrays_for_lists(node, cx)) is not None:
        return call
    join = _parse_join(node, cx)
    if join is None:
        return None
    assert isinstance(node, ast.expr)
    name = cx.fresh("a")
    return cx.bound_name(name, lambda: _join_loops(name, node, join, cx))


@fires_on(ast.Subscript, value=(ast.Attribute, ast.Name), ctx=ast.Load, when=joins_by_subscript)
def join_by_subscript(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.r_[…]`` → a concatenation, in which a number is an array of one element, and a slice a
    range; ``np.c_[…]`` → ``np.column_stack``.

        w = np.r_[0, x]
    →
        _a_1 = np.empty(1, np.float64)
        _a_1[0] = 0
        _a = np.empty(1 + x.shape[0], np.float64)
        _a[0] = _a_1[0]
        for _i in range(x.shape[0]):
            _a[_i + 1] = x[_i]
        w = _a
    """
    if not isinstance(node, ast.Subscript) or not joins_by_subscript(node, cx):
        return None
    ty, items = cx.fact(node).array, subscript_items(node)
    if ty is None:
        return None
    if cx.resolve(node.value) is np.c_:
        return cx.expr("NP.column_stack(P)", NP=cx.numpy, P=ast.Tuple([*items], ast.Load()))
    parts = []
    for item in items:
        if isinstance(item, ast.Slice) and item.upper is not None:
            start, step = item.lower or ast.Constant(0), item.step or ast.Constant(1)
            bounds = {"A": start, "B": item.upper, "S": step}
            parts.append(cx.expr("NP.arange(A, B, S)", NP=cx.numpy, **bounds))
        elif cx.fact(item).array is not None:
            parts.append(item)
        elif _converts_always(item, ty.dtype, cx):
            dtype = dtype_expr(ty.dtype, cx)
            parts.append(cx.expr("NP.full(1, V, T)", NP=cx.numpy, V=item, T=dtype))
        else:
            return None
    return cx.expr("NP.concatenate(P)", NP=cx.numpy, P=ast.Tuple(parts, ast.Load()))


def _converts_always(e: ast.expr, dtype: str, cx: Context) -> bool:
    """Whether the number `e` converts to `dtype` without an exception: no Python int to an integer
    dtype but int64.
    """
    is_narrow = ELEMENTS[dtype].kind in "iu" and dtype != "i64"
    return dtype != "f16" and not (is_narrow and any(map(is_weak, cx.fact(e).types)))


def _with_arrays_for_lists(node: ast.AST, cx: Context) -> ast.expr | None:
    """The call `node` with ``np.array`` of each part that is a list or tuple in the source, which
    is what NumPy makes of it; None if there is none. Not of ``np.array``, whose parts are items.
    """
    match node:
        case ast.Call(func=func, args=[a, b, *rest]) if numpy_function_name(func, cx) == "append":
            axis = [*rest, *(k.value for k in node.keywords if k.arg == "axis")]
            takes_numbers = all(map(is_none, axis))  # along an axis, a number has too few
            if (arrays := _parts_as_arrays([a, b], takes_numbers, cx)) is None:
                return None
            return copy_location(ast.Call(func, [*arrays, *rest], node.keywords), node)
        case ast.Call(func=func, args=[ast.Tuple(elts=parts) | ast.List(elts=parts), *rest]) if (
            (name := numpy_function_name(func, cx)) != "array"
        ):
            if (arrays := _parts_as_arrays(parts, name == "hstack", cx)) is None:
                return None
            display = copy_location(ast.Tuple(arrays, ast.Load()), node.args[0])
            return copy_location(ast.Call(func, [display, *rest], node.keywords), node)
    return None


def _parts_as_arrays(
    parts: list[ast.expr], takes_numbers: bool, cx: Context
) -> list[ast.expr] | None:
    """`parts` of a call, lists and tuples as arrays, with ``takes_numbers`` also numbers; None if
    that changes none.
    """
    arrays = [literal_as_array(part, cx) for part in parts]
    if takes_numbers:
        arrays = [
            cx.expr("NP.full(1, V)", NP=cx.numpy, V=e) if _is_number(e, cx) else e for e in arrays
        ]
    if all(array is part for array, part in zip(arrays, parts, strict=True)):
        return None
    return [copy_location(array, part) for array, part in zip(arrays, parts, strict=True)]


def _is_number(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is surely one number."""
    return cx.fact(e).rank == 0 and bool(cx.fact(e).types)


def _parse_join(node: ast.AST, cx: Context) -> _Join | None:
    """The join that `node` calls; None for other calls, parts that are not surely arrays of one
    rank, and an axis that is no constant or out of range.
    """
    match node:
        case ast.Call(func=func, args=[ast.Tuple(elts=parts) | ast.List(elts=parts), *rest]):
            name = numpy_function_name(func, cx)
        case ast.Call(func=func, args=[x, y, *rest]) if numpy_function_name(func, cx) == "append":
            name, parts = "append", [x, y]
        case _:
            return None
    axis_arguments = [*rest, *(k.value for k in node.keywords if k.arg == "axis")]
    understood = len(rest) + len(node.keywords) == len(axis_arguments) <= 1
    if not understood or not parts or not all(cx.fact(p).array for p in parts):
        return None
    parts = _parts_of_rank(name, parts, cx)
    ranks = {cx.fact(p).rank or 0 for p in parts}
    default = None if name == "append" else 0
    axis = integer_constant(axis_arguments[0] if axis_arguments else None, default)
    if len(ranks) != 1 or (axis_arguments and name not in ("append", "concatenate", "stack")):
        return None
    rank = ranks.pop()
    if axis is None and rank == 1 and not axis_arguments:
        axis = 0
    return None if axis is None else _join_axis(name, parts, rank, axis)


def _join_axis(name: str, parts: list[ast.expr], rank: int, axis: int) -> _Join | None:
    """The join that ``np.name`` performs on parts of that rank; None for ranks that are not
    expanded.
    """
    match name, rank:
        case "concatenate" | "append", _ if -rank <= axis < rank:
            return _Join(parts, axis % rank, new=False)
        case "stack", _ if -rank <= axis <= rank:
            return _Join(parts, axis % (rank + 1), new=True)
        case "array", _:
            return _Join(parts, 0, new=True)
        case "vstack", _:
            return _Join(parts, 0, new=rank == 1)
        case "hstack", _:
            return _Join(parts, min(rank, 2) - 1, new=False)
        case "column_stack", 1 | 2:
            return _Join(parts, 1, new=rank == 1)
        case "dstack", 2:
            return _Join(parts, 2, new=True)
    return None


def _parts_of_rank(name: str, parts: list[ast.expr], cx: Context) -> list[ast.expr]:
    """The parts of ``vstack`` and ``column_stack`` with vectors among matrices as rows or columns.
    """
    text = {"vstack": "P[None, :]", "column_stack": "P[:, None]"}.get(name)
    ranks = [cx.fact(p).rank for p in parts]
    if text is None or set(ranks) != {1, 2}:
        return parts
    return [cx.expr(text, P=p) if r == 1 else p for p, r in zip(parts, ranks, strict=True)]


def _join_loops(name: str, node: ast.expr, join: _Join, cx: Context) -> list[ast.stmt] | None:
    """Statements that bind `name` to the joined array; `node` is replayed where other axes of the
    parts differ in length. None where a part has no view, or the memory order is not known.
    """
    ty = cx.fact(node).array
    viewable = all(is_viewable(cx.fact(part)) for part in join.parts)
    if ty is None or not viewable or ty.unit not in (0, ty.rank - 1):
        return None
    parts = operands_by_index(join.parts, cx)
    aligned = [_with_axis(part, join.axis) if join.new else part for part in parts]
    orders = {part.order for part in parts}
    if ty.rank > 2 and orders != {"C"}:
        return None  # NumPy chooses the order of axes by the strides of the parts
    first, in_f = aligned[0], ty.rank > 1 and ty.unit == 0
    checks = [c for part in aligned for c in part.checks]
    if ty.rank == 2 and (in_f or orders != {"C"}):
        # For NumPy, a part with a length of 1 has no order; the sample of its type has one.
        lengths = [n for part in aligned for n in part.shape]
        if UNKNOWN_ORDER in orders or any(map(is_unit_length, lengths)):
            return None
        checks += [cx.expr("N == 1", N=n) for n in unique_nodes(lengths)]
    for part in aligned[1:]:
        for k, (n, m) in enumerate(zip(first.shape, part.shape, strict=True)):
            if k != join.axis and not same_tree(n, m):
                checks.append(cx.expr("A != B", A=n, B=m))
    lines, start = [], cx.expr("0")
    for part in aligned:
        lines += _copy_part(name, part, join.axis, start, in_f, cx)
        start = add_ints(start, part.shape[join.axis], cx)
    shape = [*first.shape[: join.axis], start, *first.shape[join.axis + 1 :]]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    new = [allocate_array(name, shape, ty.dtype, cx, fortran_order=in_f), *lines]
    return guarded(checks, original, new, cx)


def _with_axis(part: View, axis: int) -> View:
    """`part` with a new axis of length 1."""
    shape = (*part.shape[:axis], ast.Constant(1), *part.shape[axis:])
    return View(shape, lambda at: part.at([*at[:axis], *at[axis + 1 :]]), part.checks)


def _copy_part(
    name: str, part: View, axis: int, start: ast.expr, in_f: bool, cx: Context
) -> list[ast.stmt]:
    """Loops that copy `part` into the array `name`, from position `start` of the axis on. ``in_f``:
    the array is in Fortran order, and so are the loops.
    """
    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        place = [add_ints(i, start, cx) if k == axis else i for k, i in enumerate(at)]
        target = element_at(ast.Name(name, ast.Load()), place, cx)
        return cx.code("TARGET = E", TARGET=target, E=part.at(at))

    return loop_nest(part.shape, body, cx, in_f)
