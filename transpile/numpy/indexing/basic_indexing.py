"""Basic indexing: slices, new axes, reversed and permuted views as index functions.

`indexed_view` is the view rule for subscripts, ``x.T``, transposes, diagonals and broadcasts, and
calls `gather_scatter` for index arrays. For example ``X[1:, None, j]`` has the shape
``(max(n - 1, 0), 1)`` and the elements ``X[i + 1, j]`` at (i, k).

A slice ``i:i + 1`` (unit slice) has length 1 where the element exists, so that it can be broadcast
like a constant length 1; `unit_slice` is the macro that guards such slices.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...analysis.type_inference.type_facts import is_new_axis
from ...analysis.type_inference.type_lattice import REVERSED_ORDER, UNKNOWN_ORDER
from ...frontend.ast_walk import integer_constant, is_none, same_tree, subscript_items, walk_nodes
from ...frontend.core_nodes import ReplayIf
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.firing_conditions import assigns_slice, is_replay_guard
from ...frontend.macros.macro_context import Context, add_ints, subtract_ints
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded
from ..array_views import View, element_at, is_unit_length, materialized_view, scalar_view, view_of
from ..elementwise.elementwise_ops import is_elementwise
from ..function_table import is_array_method
from ..functions.view_identities import canonical_view
from ..gather_scatter import gather_view, is_gathered
from ..shape_ops import broadcast_to_view, diagonal_view

__all__ = ["unit_slice_out_of_bounds", "unit_slice", "indexed_view"]


@fires_on(ast.If, when=is_replay_guard)
@fires_on(ast.Assign, targets=ast.Name, value=ast.Subscript, when=assigns_slice)
def unit_slice(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``u = X[i:i + 1]`` of an array of several axes → the same under a guard that the element
    exists, so that the axis has length 1 and can be broadcast.

        u = X[:, i:i + 1]
    →
        if i < 0 or i >= X.shape[1]:
            "Python's to answer"
            u = X[:, i:i + 1]
        else:
            u = X[:, i:i + 1]
    """
    match node:
        # The macro fires again on its own guard: from there on the slice has length 1.
        case ReplayIf(body=[original], orelse=[rewritten]) if same_tree(original, rewritten):
            one = ast.Constant(1)
            slices = [i for i in walk_nodes(rewritten) if isinstance(i, ast.Slice)]
            cx.facts.unit_slices |= {
                i for i in slices if unit_slice_out_of_bounds(i, one, cx) is not None
            }
            return None
        case ast.Assign(
            targets=[ast.Name()], value=ast.Subscript(value=ast.Name() as array) as view
        ):
            rank, items = cx.fact(array).rank or 0, subscript_items(view)
        case _:
            return None
    slices = [i for i in items if isinstance(i, ast.Slice)]
    new_axes = [i for i in items if is_none(i)]
    if rank < 2 or cx.fact(array).array is None or len(slices) + len(new_axes) < len(items):
        return None
    lengths = (cx.expr("X.shape[K]", X=array, K=ast.Constant(k)) for k in range(rank))
    tests = [
        test for i, n in zip(slices, lengths, strict=False)
        if i not in cx.facts.unit_slices
        and (test := unit_slice_out_of_bounds(i, n, cx)) is not None
    ]
    if len(slices) > rank or not tests:
        return None
    return guarded(tests, node, [node], cx)


def unit_slice_out_of_bounds(item: ast.expr, length: ast.expr, cx: Context) -> ast.expr | None:
    """For a unit slice (``k:k + 1`` with a constant or a name of an int): the condition that an
    axis of `length` has no element there. None for all other items.
    """
    if not isinstance(item, ast.Slice) or integer_constant(item.step, 1) != 1:
        return None
    first = integer_constant(item.lower, 0)
    if first is not None:
        last = integer_constant(item.upper, 0)
        is_unit = last == first + 1 and (item.upper is not None or first == -1)
        least = ast.Constant(last if first >= 0 else -first)
        return cx.expr("N < LEAST", N=length, LEAST=least) if is_unit else None
    match item.lower, item.upper:
        case ast.Name(id=name) as start, ast.BinOp(
            ast.Name(id=stop_name), ast.Add(), ast.Constant(1)
        ) if name == stop_name and cx.fact(start).is_int:
            return cx.expr("I < 0 or I >= N", I=start, N=length)
    return None


_Axis = Callable[[ast.expr], ast.expr]
"""From a subscript of an axis of the view to a subscript of the axis of its array."""


def indexed_view(e: ast.expr, cx: Context) -> View | None:
    """The view of `e`, if its elements are those of another array at other subscripts, so that
    nothing is computed. It is one of `macro_table.VIEW_RULES`, which `view_of` tries in turn;
    None for other expressions.

        X[1:, j]   →   shape (max(X.shape[0] - 1, 0),), at(i) = X[i + 1, j]
        X.T        →   shape (X.shape[1], X.shape[0]),  at(i, j) = X[j, i]

    By the form of `e`:

    - a call with another form, as ``np.flip(x)`` is ``x[::-1]``: the view of that form
      (`canonical_view`);
    - a subscript: `_subscript_view`, or with index arrays `gather_view`;
    - ``X.T``: the axes in reverse order;
    - transpose, diagonal and broadcast_to, as a method or a function: `_view_call`;
    - ``np.einsum("ii->i", X)``, a diagonal.
    """
    if (replacement := canonical_view(e, cx)) is not None:
        return view_of(replacement, cx)
    match e:
        case ast.Subscript(value=array, slice=index):
            return _subscript_view(array, index, cx)
        case ast.Attribute(value=array, attr="T"):
            return _permuted_view(array, None, cx)
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=args, keywords=[]) if (
            cx.resolve(e.func) is None
        ):
            return _view_call(name, array, args, cx) if is_array_method(name) else None
        case ast.Call(func=func, args=[ast.Constant(value=str(text)), array], keywords=[]) if (
            cx.is_numpy(func, "einsum")
        ):
            return _diagonal_by_letters(text.replace(" ", ""), array, cx)
        case ast.Call(func=func, args=[array, *args], keywords=[]):
            name = getattr(cx.resolve(func), "__name__", "")
            return _view_call(name, array, args, cx) if cx.is_numpy(func, name) else None
    return None


def _view_call(name: str, array: ast.expr, args: Sequence[ast.expr], cx: Context) -> View | None:
    """The view of ``np.name(array, *args)`` or ``array.name(*args)``; None where `name` is none of
    the functions below, or an argument is not understood.
    """
    match name, [integer_constant(a, None) for a in args]:
        case "transpose", []:
            return _permuted_view(array, None, cx)
        case "transpose", [int(), *_] as axes:
            return _permuted_view(array, axes, cx)
        case "transpose", [None] if isinstance(args[0], (ast.Tuple, ast.List)):
            return _permuted_view(array, [integer_constant(a, None) for a in args[0].elts], cx)
        case "diag" | "diagonal", [] | [int()] as offset if cx.fact(array).rank == 2:
            return diagonal_view(array, cx, *(k for k in offset if k is not None))
        case "broadcast_to", [_]:
            return broadcast_to_view(array, getattr(args[0], "elts", args), cx)
    return None


def _diagonal_by_letters(text: str, array: ast.expr, cx: Context) -> View | None:
    """The view of ``np.einsum("ii->i", array)``, the diagonal of a matrix, which is checked to be
    square; None for other subscripts.
    """
    left, _, right = text.partition("->")
    if len(right) != 1 or not right.isalpha() or left != 2 * right or cx.fact(array).rank != 2:
        return None
    matrix = view_of(array, cx)
    if matrix is None:
        return None
    check = cx.expr("N != M", N=matrix.shape[0], M=matrix.shape[1])
    return View(matrix.shape[:1], lambda at: matrix.at([at[0], at[0]]), (*matrix.checks, check))


def _permuted_view(array: ast.expr, order: Sequence[int | None] | None, cx: Context) -> View | None:
    """The view of ``array.transpose(order)``; `order` None: reversed. None where it is no
    permutation of constants.
    """
    source = view_of(array, cx)
    if source is None:
        return None
    rank = len(source.shape)
    axes = list(range(rank))[::-1]
    if order is not None:
        axes = [k % rank for k in order if k is not None and -rank <= k < rank]
    if sorted(axes) != list(range(rank)):
        return None

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return source.at([index[axes.index(k)] for k in range(rank)])

    same, reverse = tuple(range(rank)), tuple(range(rank))[::-1]
    orders = {same: source.order, reverse: REVERSED_ORDER.get(source.order, UNKNOWN_ORDER)}
    memory_order = orders.get(tuple(axes), UNKNOWN_ORDER) if rank > 1 else "C"
    return View(tuple(source.shape[k] for k in axes), at, source.checks, memory_order)


def _subscript_view(array: ast.expr, index: ast.expr, cx: Context) -> View | None:
    """The view of ``array[index]``, by the first case that applies:

    - integer arrays in the subscript: a gather;
    - masks, or items of unknown type: None (other macros expand them);
    - a slice with computed bounds or another step than 1 and -1: bound to a name before the
      statement (`_computed_slices_view`);
    - ints, simple slices and new axes: a view of this module.

    NumPy raises for an index that is out of range, even if no element is read. So in the last case

    - a guard compares constants with the length;
    - leading ints of a named array are read as a row before the loop (`_read_row_before`), which
      raises;
    - for other ints a guard requires that the result has elements: then the loop reads one, and
      raises.
    """
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    items = [ast.Constant(None) if is_new_axis(cx.facts, i) else i for i in items]
    if is_gathered(cx.expr("X[I]", X=array, I=index), cx):
        return _gathered_view(array, items, cx)
    if any(_is_index_array(i, cx) for i in items):
        return None
    if not all(map(_is_simple, items)):
        array = bind_fresh(array, "a", cx) if isinstance(array, ast.Call) else array
        return _computed_slices_view(array, items, cx)
    # An array that is computed is computed as a whole: any of its elements may raise or warn.
    source = materialized_view(array, cx) if is_elementwise(array, cx) else view_of(array, cx)
    if source is None:
        return None
    items = _with_trailing_slices(items, len(source.shape))
    axes, subscripts, checks = _mapped_items(items, source, cx)
    ints = [i for i in items if _is_computed_int(i)]

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return source.at(
            [s if isinstance(s, ast.expr) else _offset_index(axes[s], index[s]) for s in subscripts]
        )

    shape = tuple(ast.Constant(1) if axis is None else axis[0] for axis in axes)
    are_ints = all(cx.fact(e).is_int for e in ints)
    if isinstance(array, ast.Name) and ints == items[: len(ints)] and are_ints:
        _read_row_before(array, ints, cx)
    elif ints:
        checks += [cx.expr("N < 1", N=n) for n in shape if not is_unit_length(n)]
    several_axes = sum(isinstance(s, int) for s in subscripts) > 1
    order = UNKNOWN_ORDER if None in axes and source.order != "C" else source.order
    return View(shape, at, (*source.checks, *checks), order if several_axes else "C")


def _computed_slices_view(
    array: ast.expr, items: Sequence[ast.expr], cx: Context
) -> View | None:
    """The view of ``array[items]``, with slices that are not simple: a fresh name is bound to it
    before the statement. New axes are no part of that, as their length is the constant 1 only in a
    view::

        X[k + 1:, j, None]    →    _a = X[k + 1:, j], and the view of _a[:, None]
    """
    items = _with_trailing_slices(items, cx.fact(array).rank or 0)
    kept = [i for i in items if not is_none(i)]
    index = kept[0] if len(kept) == 1 else ast.Tuple(kept, ast.Load())
    sliced = cx.expr("X[I]", X=array, I=index)
    if len(kept) == len(items):
        return materialized_view(sliced, cx)
    axes = [ast.Slice() if isinstance(i, ast.Slice) else i for i in items if _is_axis_item(i)]
    return _subscript_view(bind_fresh(sliced, "a", cx), ast.Tuple(axes, ast.Load()), cx)


def _is_axis_item(item: ast.expr) -> bool:
    """Whether an item of a subscript is a slice or a new axis, and so an axis of the result."""
    return isinstance(item, ast.Slice) or is_none(item)


def _is_computed_int(item: ast.expr) -> bool:
    """Whether `item` of a simple subscript is an int that is no constant."""
    return not _is_axis_item(item) and integer_constant(item, None) is None


def _mapped_items(
    items: Sequence[ast.expr], source: View, cx: Context
) -> tuple[list[tuple[ast.expr, _Axis] | None], list[ast.expr | int], list[ast.expr]]:
    """How the simple `items` of a subscript of `source` map the axes. For each axis of the view its
    length and map, None for a new axis; for each axis of `source` its subscript, an expression or
    an axis of the view; and the conditions under which NumPy raises.
    """
    axes: list[tuple[ast.expr, _Axis] | None] = []
    subscripts: list[ast.expr | int] = []
    checks: list[ast.expr] = []
    lengths = iter(source.shape)
    for item in items:
        if is_none(item):
            axes.append(None)
            continue
        length = next(lengths)
        if not isinstance(item, ast.Slice):
            constant = integer_constant(item, None)
            if constant is not None:
                checks.append(_index_out_of_bounds(constant, length, cx))
            subscripts.append(_invariant_subscript(item, cx))
            continue
        subscripts.append(len(axes))
        slice_length, at_index = _slice_axis(item, length, cx)
        outside = unit_slice_out_of_bounds(item, length, cx)
        if outside is not None and len(source.shape) > 1:
            checks.append(outside)
            slice_length = ast.Constant(1)
        axes.append((slice_length, at_index))
    return axes, subscripts, checks


def _gathered_view(array: ast.expr, items: Sequence[ast.expr], cx: Context) -> View | None:
    """The view of a subscript with index arrays (`gather_view`). Slices that are not simple are
    taken before the statement.
    """
    items = _with_trailing_slices(items, cx.fact(array).rank or 0)
    if not all(map(_is_simple, items)):
        kept: list[ast.expr] = [
            i if isinstance(i, ast.Slice) else ast.Slice() for i in items if not _is_axis(i)
        ]
        array = bind_fresh(cx.expr("X[I]", X=array, I=ast.Tuple(kept, ast.Load())), "a", cx)
        items = [ast.Slice() if isinstance(i, ast.Slice) else i for i in items]
    return gather_view(array, items, lambda item, length: _slice_axis(item, length, cx), cx)


def _index_out_of_bounds(index: int, length: ast.expr, cx: Context) -> ast.expr:
    """The condition that an axis of `length` has no element at the constant `index`."""
    least = ast.Constant(index + 1 if index >= 0 else -index)
    return cx.expr("N < LEAST", N=length, LEAST=least)


def _read_row_before(array: ast.Name, rows: list[ast.expr], cx: Context) -> None:
    """Emits ``_row = array[rows]`` before the statement, which raises for an index out of range.
    The elements are read from `array`, not from the row.
    """
    if rows:
        cx.before(*cx.code("ROW = E", ROW=cx.fresh("row"), E=element_at(array, rows, cx)))


def _offset_index(axis: tuple[ast.expr, _Axis] | None, i: ast.expr) -> ast.expr:
    """The subscript of the source for subscript `i` of a sliced axis."""
    assert axis is not None
    return axis[1](i)


def _is_index_array(item: ast.expr, cx: Context) -> bool:
    """Whether an item may be something else than a slice, a new axis, an ellipsis or an int: an
    index array, a mask, a float, or of unknown type.
    """
    if isinstance(item, ast.Slice) or _is_axis(item):
        return False
    types = cx.fact(item).types
    return not types or any(getattr(t, "rank", 0) or t.dtype[0] in "fb" for t in types)


def _is_axis(item: ast.expr) -> bool:
    """Whether an item is None or an ellipsis, which no axis of the array corresponds to."""
    return isinstance(item, ast.Constant) and item.value in (None, ...)


def _with_trailing_slices(items: Sequence[ast.expr], rank: int) -> list[ast.expr]:
    """The items with the ellipsis, or the missing items at the end, replaced by whole slices."""
    covered = sum(not _is_axis(i) for i in items)
    missing: list[ast.expr] = [ast.Slice() for _ in range(rank - covered)]
    for k, item in enumerate(items):
        if isinstance(item, ast.Constant) and item.value is ...:
            return [*items[:k], *missing, *items[k + 1 :]]
    return [*items, *missing]


def _invariant_subscript(item: ast.expr, cx: Context) -> ast.expr:
    """The int `item` as a name or constant, evaluated once before the loops."""
    return scalar_view(item, cx).at(())


def _is_simple(item: ast.expr) -> bool:
    """Whether `item` is an int or a new axis, or a slice whose length and subscripts are short
    expressions: one of step 1 with constant bounds, or ``::-1``.
    """
    if not isinstance(item, ast.Slice):
        return True
    bounds = [b for b in (item.lower, item.upper) if b is not None]
    step = integer_constant(item.step, 1)
    return (step == 1 and all(integer_constant(b) is not None for b in bounds)) or (
        step == -1 and not bounds
    )


def _slice_axis(item: ast.Slice, n: ast.expr, cx: Context) -> tuple[ast.expr, _Axis]:
    """The length of a simple slice of an axis of length `n`, and the map of its subscripts to those
    of the axis.
    """
    if item.step is not None and integer_constant(item.step) == -1:
        last = subtract_ints(n, ast.Constant(1), cx)
        return n, lambda i: subtract_ints(last, i, cx)
    if item.lower is None and item.upper is None:
        return n, lambda i: i
    low, high = integer_constant(item.lower, 0), integer_constant(item.upper, 0)
    assert low is not None
    assert high is not None
    start = ast.Constant(low) if low >= 0 else _slice_start(n, -low, cx)
    stop = n if item.upper is None else _slice_stop(n, high, cx)
    return cx.expr("max(R, 0)", R=subtract_ints(stop, start, cx)), lambda i: add_ints(i, start, cx)


def _slice_start(n: ast.expr, k: int, cx: Context) -> ast.expr:
    """The start of a slice from ``-k``: ``n - k``, at least 0."""
    return cx.expr("max(N - K, 0)", N=n, K=ast.Constant(k))


def _slice_stop(n: ast.expr, high: int, cx: Context) -> ast.expr:
    """The stop of a slice up to the constant `high`: at most `n`; it may be negative."""
    if high < 0:
        return cx.expr("N - K", N=n, K=ast.Constant(-high))
    return cx.expr("min(N, K)", N=n, K=ast.Constant(high))
