"""Gather and scatter: integer-array (advanced) indexing, and ``ufunc.at``.

Gather: `gather_view` is the view of ``x[idx]``, ``X[rows, j]``, ``X[:, cols]``; for example
``x[idx]`` has shape ``(idx.shape[0],)`` and the elements ``x[idx[i]]``. `basic_indexing` calls it
for subscripts that `is_gathered` accepts. Scatter: `ufunc_at` expands ``np.add.at(x, idx, v)`` to
a loop over the index arrays, in which repeated indices accumulate. For stores ``x[idx] = v``,
which `array_assignment` expands, `stores_in_order` decides whether a loop over the indices leaves
the same values as NumPy.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from ..analysis.alias_analysis import Owner, owners_may_alias
from ..analysis.type_inference.type_facts import is_new_axis
from ..analysis.type_inference.type_lattice import UNKNOWN_ORDER, Fact
from ..frontend.ast_walk import same_tree, subscript_items, tree_key
from ..frontend.core_nodes import mark_operation_part
from ..frontend.macros.bind_operands import bind_fresh, bind_operand
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded
from ..types.value_types import ELEMENTS
from .array_nests import loop_nest
from .array_views import (
    View,
    broadcast_subscripts,
    broadcast_views,
    element_at,
    is_unit_length,
    may_read_array,
    scalar_overflow_checks,
    scalar_view,
    view_of,
)
from .function_table import FUNCTIONS, named_function

__all__ = [
    "IndexedAxis", "index_axis_first", "index_order_check", "gather_view", "stores_in_order",
    "is_gathered", "ufunc_at",
]

_MAX_CHECKED_INDICES = 4
"""Up to so many indices are compared with the length of the axis one by one."""

IndexedAxis: TypeAlias = "tuple[ast.expr, Callable[[ast.expr], ast.expr]]"
"""A slice of one axis: its length, and the function from a subscript of the slice to a subscript
of the axis.
"""

_Subscripts: TypeAlias = "Sequence[ast.expr]"


def is_gathered(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a subscript of an array that has at least one integer array among its items,
    and else only ints, slices, new axes and an ellipsis at an end.
    """
    if not isinstance(e, ast.Subscript) or cx.fact(e.value).array is None:
        return False
    items = subscript_items(e)
    understood = all(_keeps_axis(i, cx) or cx.fact(i).is_integral for i in items)
    if any(isinstance(i, ast.Constant) and i.value is ... for i in items[1:-1]):
        # An ellipsis, even of no axes, separates index arrays: their axes then come first.
        return False
    return understood and any(not _keeps_axis(i, cx) and cx.fact(i).array for i in items)


def _keeps_axis(item: ast.expr, cx: Context) -> bool:
    """Whether the item of a subscript is a slice, an ellipsis or a new axis."""
    is_constant = isinstance(item, ast.Constant) and item.value in (None, ...)
    return isinstance(item, ast.Slice) or is_constant or is_new_axis(cx.facts, item)


def gather_view(
    array: ast.expr, items: Sequence[ast.expr],
    slice_axis: Callable[[ast.Slice, ast.expr], IndexedAxis], cx: Context,
) -> View | None:
    """The view of ``array[items]``, a subscript with index arrays (advanced indexing): nothing is
    copied; the elements are read from `array` where the view is used. `_gathered_view` of
    `basic_indexing` calls it. There is one item for each axis of `array`, an index array, an int or
    a slice, and a None for each new axis.

        x[k]         →   shape (k.shape[0],),              at(i) = x[k[i]]
        X[:, k]      →   shape (X.shape[0], k.shape[0]),   at(i, j) = X[i, k[j]]
        X[k, :, 0]   →   shape (k.shape[0], X.shape[1]),   at(i, j) = X[k[i], j, 0]

    The result has two groups of axes, as in NumPy:

    - the *block*: the axes of the index arrays and ints, broadcast together. They stand where the
      indexed axes were if those are adjacent, as in ``X[:, k]``; else first, as in ``X[k, :, 0]``;
    - the *kept* axes, those of slices and new axes, in order around or behind the block.

    ``slice_axis(slice, length)`` gives the length of a slice of an axis of that length, and the
    function from a subscript in the slice to one in the axis. Returns None where `array` or an
    index array has no view. Where NumPy would raise for an index, but a loop over an empty result
    would not, the view has a check.
    """
    source = view_of(bind_operand(array, cx), cx)
    indices = _index_views(items, cx)
    if source is None or indices is None:
        return None
    block = broadcast_views([*indices.values()], lambda elements: elements[0], cx)
    block_rank = len(block.shape)
    start = _index_axis_start([*indices])  # the position of the block in the result
    source_lengths, kept_lengths = iter(source.shape), list[ast.expr]()
    # for each axis of `array`: the subscript in it, from those in the block and in the kept axes
    subscripts: list[Callable[[_Subscripts, _Subscripts], ast.expr]] = []
    out_of_bounds: ast.expr | None = None
    for k, item in enumerate(items):
        if k in indices:
            out_of_bounds = _few_out_of_bounds(indices[k], next(source_lengths), cx)
            subscripts.append(partial(_index_element, indices[k]))
        elif isinstance(item, ast.Slice):
            length, subscript_in_axis = slice_axis(item, next(source_lengths))
            subscripts.append(partial(_slice_subscript, len(kept_lengths), subscript_in_axis))
            kept_lengths.append(length)
        else:  # a new axis
            kept_lengths.append(ast.Constant(1))

    def at(index: _Subscripts) -> ast.expr:
        in_block = index[start : start + block_rank]
        in_kept = [*index[:start], *index[start + block_rank :]]
        return source.at([subscript(in_block, in_kept) for subscript in subscripts])

    shape = (*kept_lengths[:start], *block.shape, *kept_lengths[start:])
    # The loop checks each index when it reads the element. NumPy checks the indices even if the
    # result has no elements, so that no loop runs: a check replays an empty result; or, if the few
    # indices can be compared here, an empty result with one out of bounds.
    may_be_empty = [*kept_lengths, *(block.shape if len(indices) > 1 else ())]
    checks = [cx.expr("N < 1", N=n) for n in may_be_empty if not is_unit_length(n)]
    if len(indices) == 1 and out_of_bounds is not None:
        checks = [cx.expr("NONE and OUTSIDE", NONE=c, OUTSIDE=out_of_bounds) for c in checks]
    index_orders = {cx.fact(items[k]).order for k, v in indices.items() if len(v.shape) > 1}
    permutes_axes = start > 0 and len(shape) > 2
    if len(kept_lengths) > 1:
        permutes_axes = permutes_axes or cx.fact(array).order != "C"
    order = UNKNOWN_ORDER if permutes_axes else _gather_order(index_orders, bool(kept_lengths))
    return View(shape, at, (*source.checks, *block.checks, *checks), order)


def _gather_order(index_orders: set[str], has_kept_axes: bool) -> str:
    """The memory order of NumPy's result of a gather whose axes NumPy does not permute: that of the
    index arrays with several axes, which have `index_orders`, or C if there are none. Not known if
    they differ, or if there are kept axes, which lie behind those of the block as in C, and the
    index arrays are not in C.
    """
    orders = index_orders | {"C"} if has_kept_axes or not index_orders else index_orders
    return orders.pop() if len(orders) == 1 else UNKNOWN_ORDER


def _few_out_of_bounds(indices: View, length: ast.expr, cx: Context) -> ast.expr | None:
    """The condition that one of `indices` is outside an axis of `length`; None where their number
    is not a constant, or is more than `_MAX_CHECKED_INDICES`.
    """
    match indices.shape:
        case (ast.Constant(int(count)),) if 0 < count <= _MAX_CHECKED_INDICES:
            at = (indices.at([ast.Constant(i)]) for i in range(count))
            tests = [cx.expr("not -N <= I < N", I=i, N=length) for i in at]
            return tests[0] if count == 1 else ast.BoolOp(ast.Or(), tests)
    return None


def index_axis_first(e: ast.expr, cx: Context) -> bool:
    """Whether the axes of the index arrays of the subscript `e` are the first ones of the result,
    or its only ones.
    """
    assert isinstance(e, ast.Subscript)
    items = subscript_items(e)
    positions = [k for k, i in enumerate(items) if not _keeps_axis(i, cx)]
    kept = {tree_key(i) for i in items if _keeps_axis(i, cx)} - {tree_key(ast.Constant(...))}
    only_indices = not kept and len(positions) == cx.fact(e.value).rank
    return only_indices or _index_axis_start(positions) == 0


def _index_axis_start(positions: Sequence[int]) -> int:
    """The first axis of the result that comes from index arrays and ints, whose `positions` in the
    subscript are ascending: NumPy moves it to 0 unless they are adjacent.
    """
    return positions[0] if positions[-1] - positions[0] == len(positions) - 1 else 0


def _index_views(items: Sequence[ast.expr], cx: Context) -> Mapping[int, View] | None:
    """By position, the views of the index arrays and ints among `items`; None where one has no
    view.
    """
    candidates = {
        k: view_of(item, cx) if cx.fact(item).rank else scalar_view(item, cx)
        for k, item in enumerate(items) if not _keeps_axis(item, cx)
    }
    views = {k: view for k, view in candidates.items() if view is not None}
    return views if len(views) == len(candidates) else None


def _index_element(index: View, in_block: _Subscripts, _: _Subscripts) -> ast.expr:
    """The subscript of an axis that `index` selects, at a position in the broadcast block."""
    return index.at(broadcast_subscripts(index.shape, in_block))


def _slice_subscript(
    axis: int, subscript_in_axis: Callable[[ast.expr], ast.expr], _: _Subscripts,
    in_kept: _Subscripts,
) -> ast.expr:
    """The subscript of a sliced axis, which is the `axis`-th of those that are kept."""
    return subscript_in_axis(in_kept[axis])


def stores_in_order(target: ast.Subscript, value: ast.expr, cx: Context) -> bool:
    """Whether the loop for ``target = value`` over the index arrays of `target`, in C order, stores
    in the order of NumPy. If `index_order_check` has a condition, the caller must replay the
    statement where that holds. The order matters where an index occurs twice, since the last value
    stays::

        x[k] = y       # k = [3, 3]: x[3] is y[1], in the loop and in NumPy

    `array_assignment` asks before it makes loops of a store. NumPy visits the elements of several
    operands in an order that suits their memory: the axes by their strides, and an axis backwards
    if the strides of all operands along it are negative. That is the order of the loop if

    - there is one index array, a vector: NumPy takes it from the front;
    - there are several, all vectors, of which one, or the value, surely has a positive stride; or
    - there is one of several axes that is contiguous in C order: `index_order_check`.

    If `value` is a scalar, the order does not matter. False in any case if an index array may share
    memory with the target, as the stores would change the indices.
    """
    owner = cx.fact(target.value).owner
    indices = _index_array_facts(target, cx)
    if any(owners_may_alias(owner, f.owner) for f in indices):
        return False
    if cx.fact(value).rank == 0 or [f.rank for f in indices] == [1]:
        return True
    if all(f.rank == 1 for f in indices):
        operands = [f.array for f in (*indices, cx.fact(value)) if f.rank == 1 and f.array]
        return any(array.unit == 0 for array in operands)
    return index_order_check(target, cx) is not None


def index_order_check(target: ast.Subscript, cx: Context) -> ast.expr | None:
    """The condition that NumPy visits the elements of the index array ``K`` of ``X[K] = Y`` in
    another order than C: it has several axes, and is not contiguous. None where that array is a
    vector, where it is no whole array with a name, of which the layout is not known, or where there
    are several index arrays.
    """
    arrays = [i for i in subscript_items(target) if not _keeps_axis(i, cx) and cx.fact(i).array]
    match arrays:
        case [ast.Name(id=name) as k] if (cx.fact(k).rank or 0) > 1:
            fact = cx.fact(k)
            is_whole = fact.owner == Owner(name) and fact.order == "C"
            return cx.expr("not K.flags.c_contiguous", K=k) if is_whole else None
    return None


def _index_array_facts(target: ast.Subscript, cx: Context) -> list[Fact]:
    """The facts about the index arrays in the subscript of `target`."""
    facts = [cx.fact(i) for i in subscript_items(target) if not _keeps_axis(i, cx)]
    return [f for f in facts if f.array]


_SCATTERING_UFUNCS = tuple(
    named_function(name.removesuffix(".at")) for name, row in FUNCTIONS.items() if row.scatter
)
"""The ufuncs whose method ``at`` is expanded."""


@fires_on(ast.Expr, value=ast.Call, calls=[".at"])
def ufunc_at(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``np.add.at(x, index, v)`` → a loop over the index arrays in order, in which repeated indices
    accumulate. Where the lengths differ, a replay guard leaves the call to Python.

        np.add.at(x, k, y)
    →
        if k.shape[0] != y.shape[0]:
            "Python's to answer"
            np.add.at(x, k, y)
        else:
            for _i in range(k.shape[0]):
                x[k[_i]] = np.add(x[k[_i]], y[_i])
    """
    match node:
        case ast.Expr(value=ast.Call(
            func=ast.Attribute(value=func, attr="at"), args=[x, index, value], keywords=[],
        )) if any(cx.resolve(func) is f for f in _SCATTERING_UFUNCS) and cx.fact(x).array:
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            return cx.with_before(lambda: _scatter_loop(node, func, x, items, value, cx))
    return None


def _scatter_loop(
    s: ast.Expr, ufunc: ast.expr, x: ast.expr, items: Sequence[ast.expr], value: ast.expr,
    cx: Context,
) -> list[ast.stmt] | None:
    """The loop nest for the statement `s`, which is ``ufunc.at(x, items, value)``.

    A `value` that may share memory with `x` is copied first. None where

    - `x` is no array with a name, nor a view of one, or has fewer axes than there are indices;
    - an index is neither an int nor a vector of ints, or may share memory with `x`;
    - no index is a vector;
    - storing the result of `ufunc` needs a conversion, other than between floats (`_result_fits`);
    - an operand has no view, or the value has more axes than there are places.
    """
    target = cx.fact(x)
    valid = all(_is_index(i, cx) and not may_read_array(i, target.owner, cx) for i in items)
    if target.array is None or not target.has_named_owner:
        return None
    if not valid or len(items) > target.array.rank:
        return None
    x = bind_operand(x, cx)
    if not any(cx.fact(i).rank for i in items) or not _result_fits(ufunc, x, value, cx):
        return None
    if cx.fact(value).rank and may_read_array(value, target.owner, cx):
        value = bind_fresh(cx.expr("NP.copy(E)", NP=cx.numpy, E=value), "a", cx)
    candidates = [view_of(i, cx) for i in items]
    values, target_view = view_of(value, cx), view_of(x, cx)
    if values is None or target_view is None or None in candidates:
        return None
    indices = [v for v in candidates if v is not None]
    block = broadcast_views(indices, lambda elements: elements[0], cx)
    shape = (*block.shape, *target_view.shape[len(items) :])

    def place(at: Sequence[ast.expr]) -> ast.expr:
        return element_at(x, [*(v.at(at[: len(v.shape)]) for v in indices), *at[1:]], cx)

    same_dtype = all(t.dtype == target.array.dtype for t in cx.fact(value).types)
    places = View(shape, place, block.checks)
    stored = broadcast_views([places, values], lambda elements: elements[1], cx)
    if len(stored.shape) > len(shape) or not same_tree(stored.shape[0], shape[0]):
        return None

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        new = ast.Call(ufunc, [place(at), stored.at(at)], [])
        lines = cx.code("PLACE = E", PLACE=place(at), E=new)
        if not same_dtype:  # NumPy converts in blocks, and its warnings name ``at``
            mark_operation_part(lines[0])
            mark_operation_part(new)
        return lines

    checks = [*scalar_overflow_checks(value, values, target.array.dtype, cx), *stored.checks]
    return guarded(checks, s, loop_nest(shape, body, cx), cx)


def _is_index(item: ast.expr, cx: Context) -> bool:
    """Whether `item` is surely an int or a vector of ints, all signed or all unsigned."""
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(item).types}
    return cx.fact(item).rank in (0, 1) and kinds in ({"i"}, {"u"})


def _result_fits(ufunc: ast.expr, x: ast.expr, value: ast.expr, cx: Context) -> bool:
    """Whether ``ufunc(x, value)`` has the dtype of `x`, or both are floats; float16 never fits."""
    to = cx.fact(x).array
    types = cx.fact(cx.expr("F(X, V)", F=ufunc, X=x, V=value)).types
    if to is None or not types:
        return False
    same = all(t.dtype == to.dtype or {ELEMENTS[t.dtype].kind, ELEMENTS[to.dtype].kind} == {"f"}
               for t in types)
    return same and "f16" not in {to.dtype, *(t.dtype for t in cx.fact(value).types)}
