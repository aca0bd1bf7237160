"""Basic indexing: slices, new axes, reversed and permuted views as index functions.

Also slices of one element (unit slices), along which other operands are broadcast.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...frontend.ast_walk import same_tree
from ...frontend.core_nodes import ReplayIf
from ...frontend.int_exprs import integer_constant
from ...frontend.macros.firing_conditions import assigns_slice, is_guard
from ...frontend.macros.macro_context import Context, add_ints, subtract_ints
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ..array_views import (
    View,
    element_at,
    is_unit_length,
    materialized_view,
    scalar_view,
    view_of,
)
from ..elementwise.elementwise_ops import is_elementwise
from ..functions.view_identities import canonical_view
from ..gather_scatter import gather_view, is_gathered
from ..shape_ops import broadcast_to_view, diagonal_view

__all__ = ["unit_slice_out_of_bounds", "unit_slice", "indexed_view"]


@fires_on(ast.If, when=is_guard)
@fires_on(ast.Assign, targets=ast.Name, value=ast.Subscript, when=assigns_slice)
def unit_slice(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``X[i:i + 1]`` of an array of several axes → an axis of length 1 that can be broadcast, where
    the element exists.

        u = X[:, i:i + 1]
    →
        if i < 0 or i >= X.shape[1]:
            "Python's to answer"
            u = X[:, i:i + 1]
        else:
            u = X[:, i:i + 1]
    """
    match node:
        case ReplayIf(body=[asked], orelse=[done]) if same_tree(asked, done):
            known = (i for i in ast.walk(done) if isinstance(i, ast.Slice))
            cx.facts.single |= {
                i for i in known if unit_slice_out_of_bounds(i, ast.Constant(1), cx) is not None
            }
            return None
        case ast.Assign(targets=[ast.Name()], value=ast.Subscript(value=ast.Name() as of) as view):
            rank, items = cx.fact(of).rank or 0, _subscript_items(view)
        case _:
            return None
    slices = [i for i in items if isinstance(i, ast.Slice)]
    new = [i for i in items if isinstance(i, ast.Constant) and i.value is None]
    if rank < 2 or cx.fact(of).array is None or len(slices) + len(new) < len(items):
        return None
    lengths = (cx.expr("X.shape[K]", X=of, K=ast.Constant(k)) for k in range(rank))
    tests = [
        test for i, n in zip(slices, lengths, strict=False)
        if i not in cx.facts.single and (test := unit_slice_out_of_bounds(i, n, cx)) is not None
    ]
    if len(slices) > rank or not tests:
        return None
    return guarded(tests, node, [node], cx)


def _subscript_items(e: ast.Subscript) -> list[ast.expr]:
    return e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]


def unit_slice_out_of_bounds(item: ast.expr, length: ast.expr, cx: Context) -> ast.expr | None:
    """Where an axis of `length` has no such element, or only Python knows, if `item` is a slice of
    one at most. None for another slice.
    """
    if not isinstance(item, ast.Slice) or integer_constant(item.step, 1) != 1:
        return None
    first = integer_constant(item.lower, 0)
    if first is not None:
        last = integer_constant(item.upper, 0)
        one = last == first + 1 and (item.upper is not None or first == -1)
        least = ast.Constant(last if first >= 0 else -first)
        return cx.expr("N < LEAST", N=length, LEAST=least) if one else None
    match item.lower, item.upper:
        case ast.Name(id=name) as at, ast.BinOp(ast.Name(id=again), ast.Add(), ast.Constant(1)) if (
            name == again and cx.fact(at).is_int
        ):
            return cx.expr("I < 0 or I >= N", I=at, N=length)
    return None


_SWAP = str.maketrans("CF", "FC")
_Axis = Callable[[ast.expr], ast.expr]


def indexed_view(e: ast.expr, cx: Context) -> View | None:
    """`e` as a view of another array; None where it is not one that is known."""
    if (other := canonical_view(e, cx)) is not None:
        return view_of(other, cx)
    match e:
        case ast.Subscript(value=array, slice=index):
            return _subscript_view(array, index, cx)
        case ast.Attribute(value=array, attr="T"):
            return _permuted_view(array, None, cx)
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=args, keywords=[]) if (
            cx.resolve(e.func) is None
        ):
            return _view_call(name, array, args, cx)
        case ast.Call(func=func, args=[ast.Constant(value=str(text)), array], keywords=[]) if (
            cx.is_numpy(func, "einsum")
        ):
            return _diagonal_by_letters(text.replace(" ", ""), array, cx)
        case ast.Call(func=func, args=[array, *args], keywords=[]):
            name = getattr(cx.resolve(func), "__name__", "")
            return _view_call(name, array, args, cx) if cx.is_numpy(func, name) else None
    return None


def _view_call(name: str, array: ast.expr, args: Sequence[ast.expr], cx: Context) -> View | None:
    match name, [integer_constant(a, None) for a in args]:
        case "transpose", []:
            return _permuted_view(array, None, cx)
        case "transpose", [int(), *_] as axes:
            return _permuted_view(array, axes, cx)
        case "transpose", [None] if isinstance(args[0], (ast.Tuple, ast.List)):
            return _permuted_view(array, [integer_constant(a, None) for a in args[0].elts], cx)
        case "diag" | "diagonal", [] | [int()] as by if cx.fact(array).rank == 2:
            return diagonal_view(array, cx, *(k for k in by if k is not None))
        case "broadcast_to", [_]:
            return broadcast_to_view(array, getattr(args[0], "elts", args), cx)
    return None


def _diagonal_by_letters(text: str, array: ast.expr, cx: Context) -> View | None:
    """``"ii->i"``: the diagonal of a matrix with as many columns as rows."""
    left, _, right = text.partition("->")
    if len(right) != 1 or not right.isalpha() or left != 2 * right or cx.fact(array).rank != 2:
        return None
    of = view_of(array, cx)
    if of is None:
        return None
    check = cx.expr("N != M", N=of.shape[0], M=of.shape[1])
    return View(of.shape[:1], lambda at: of.at([at[0], at[0]]), (*of.checks, check))


def _permuted_view(array: ast.expr, order: Sequence[int | None] | None, cx: Context) -> View | None:
    of = view_of(array, cx)
    if of is None:
        return None
    rank = len(of.shape)
    axes = list(range(rank))[::-1]
    if order is not None:
        axes = [k % rank for k in order if k is not None and -rank <= k < rank]
    if sorted(axes) != list(range(rank)):
        return None

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return of.at([index[axes.index(k)] for k in range(rank)])

    whole = {tuple(range(rank)): of.order, tuple(range(rank))[::-1]: of.order.translate(_SWAP)}
    lies = whole.get(tuple(axes), "?") if rank > 1 else "C"
    return View(tuple(of.shape[k] for k in axes), at, of.checks, lies)


def _subscript_view(array: ast.expr, index: ast.expr, cx: Context) -> View | None:
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    items = [ast.Constant(None) if cx.facts.is_new_axis(i) else i for i in items]
    if is_gathered(cx.expr("X[I]", X=array, I=index), cx):
        return _gathered_view(array, items, cx)
    if any(_is_index_array(i, cx) for i in items):
        return None
    if not all(map(_is_simple, items)):
        array = bind_fresh(array, "a", cx) if isinstance(array, ast.Call) else array
        return materialized_view(cx.expr("X[I]", X=array, I=index), cx)
    # all of what is computed may raise, or warn
    of = materialized_view(array, cx) if is_elementwise(array, cx) else view_of(array, cx)
    if of is None:
        return None
    items = _with_trailing_slices(items, len(of.shape))
    axes: list[tuple[ast.expr, _Axis] | None] = []  # of the result; None: a new one
    places: list[ast.expr | int] = []  # of the array: a subscript, or which axis of the result
    checks: list[ast.expr] = []
    rows: list[ast.expr] = []
    lengths = iter(of.shape)
    for item in items:
        if isinstance(item, ast.Constant) and item.value is None:
            axes.append(None)
            continue
        length = next(lengths)
        if isinstance(item, ast.Slice):
            places.append(len(axes))
            many, at_index = _slice_axis(item, length, cx)
            if (none := unit_slice_out_of_bounds(item, length, cx)) is not None and len(
                of.shape
            ) > 1:
                checks.append(none)
                many = ast.Constant(1)
            axes.append((many, at_index))
        else:
            known = integer_constant(item, None)
            if known is None:
                rows.append(item)
            else:
                checks.append(_index_out_of_bounds(known, length, cx))
            places.append(_invariant_subscript(item, cx))

    def at(given: Sequence[ast.expr]) -> ast.expr:
        return of.at(
            [p if isinstance(p, ast.expr) else _offset_index(axes[p], given[p]) for p in places]
        )

    shape = tuple(ast.Constant(1) if a is None else a[0] for a in axes)
    ints = all(cx.fact(r).is_int for r in rows)
    if isinstance(array, ast.Name) and rows == items[: len(rows)] and ints:
        _row_view(array, rows, cx)
    elif rows:
        checks += [cx.expr("N < 1", N=n) for n in shape if not is_unit_length(n)]
    several = sum(isinstance(p, int) for p in places) > 1
    turned = "?" if None in axes and of.order != "C" else of.order
    return View(shape, at, (*of.checks, *checks), turned if several else "C")


def _gathered_view(array: ast.expr, items: Sequence[ast.expr], cx: Context) -> View | None:
    """Under index arrays; other slices than simple ones are taken beforehand."""
    items = _with_trailing_slices(items, cx.fact(array).rank or 0)
    if not all(map(_is_simple, items)):
        kept: list[ast.expr] = [
            i if isinstance(i, ast.Slice) else ast.Slice() for i in items if not _is_axis(i)
        ]
        array = bind_fresh(cx.expr("X[I]", X=array, I=ast.Tuple(kept, ast.Load())), "a", cx)
        items = [ast.Slice() if isinstance(i, ast.Slice) else i for i in items]
    return gather_view(array, items, lambda item, length: _slice_axis(item, length, cx), cx)


def _index_out_of_bounds(k: int, length: ast.expr, cx: Context) -> ast.expr:
    """Whether an axis has no element `k`."""
    least = ast.Constant(k + 1 if k >= 0 else -k)
    return cx.expr("N < LEAST", N=length, LEAST=least)


def _row_view(array: ast.Name, rows: list[ast.expr], cx: Context) -> None:
    """Takes the row, which raises where there is none; its elements are taken from the array."""
    if rows:
        cx.before(*cx.code("ROW = E", ROW=cx.fresh("row"), E=element_at(array, rows, cx)))


def _offset_index(axis: tuple[ast.expr, _Axis] | None, i: ast.expr) -> ast.expr:
    assert axis is not None
    return axis[1](i)


def _is_index_array(item: ast.expr, cx: Context) -> bool:
    """Whether a subscript is an array, a mask, or not known."""
    if isinstance(item, ast.Slice) or _is_axis(item):
        return False
    types = cx.fact(item).types
    return not types or any(getattr(t, "rank", 0) or t.dtype[0] in "fb" for t in types)


def _is_axis(item: ast.expr) -> bool:
    """Whether it is None or an ellipsis."""
    return isinstance(item, ast.Constant) and item.value in (None, ...)


def _with_trailing_slices(items: Sequence[ast.expr], rank: int) -> list[ast.expr]:
    """The subscripts with a slice for each axis that they leave out."""
    taken = sum(not _is_axis(i) for i in items)
    rest: list[ast.expr] = [ast.Slice() for _ in range(rank - taken)]
    for k, item in enumerate(items):
        if isinstance(item, ast.Constant) and item.value is ...:
            return [*items[:k], *rest, *items[k + 1 :]]
    return [*items, *rest]


def _invariant_subscript(item: ast.expr, cx: Context) -> ast.expr:
    """A subscript whose value is the same for all elements."""
    return scalar_view(item, cx).at(())


def _is_simple(item: ast.expr) -> bool:
    """Whether `item` is no slice, a whole axis, one backwards, or one with constant bounds."""
    if not isinstance(item, ast.Slice):
        return True
    bounds = [b for b in (item.lower, item.upper) if b is not None]
    step = integer_constant(item.step, 1)
    return (step == 1 and all(integer_constant(b) is not None for b in bounds)) or (
        step == -1 and not bounds
    )


def _slice_axis(item: ast.Slice, n: ast.expr, cx: Context) -> tuple[ast.expr, _Axis]:
    """The length of a simple slice of an axis of length `n`, and where its elements are."""
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
    """``n - k``, or the first element."""
    return cx.expr("max(N - K, 0)", N=n, K=ast.Constant(k))


def _slice_stop(n: ast.expr, high: int, cx: Context) -> ast.expr:
    if high < 0:
        return cx.expr("N - K", N=n, K=ast.Constant(-high))
    return cx.expr("min(N, K)", N=n, K=ast.Constant(high))
