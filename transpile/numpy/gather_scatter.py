"""Gather and scatter: integer-array (advanced) indexing, and ``ufunc.at``.

``x[idx]``, ``X[rows, j]``, ``X[:, cols]`` by index, under NumPy's rules; ``np.add.at(x, idx,
v)`` as a loop over the index arrays, in which repeated indices accumulate.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from ..frontend.ast_walk import same_tree, tree_key
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import bind_fresh, guarded
from ..types.value_types import ELEMENTS
from .array_nests import loop_nest
from .array_views import (
    View,
    broadcast_subscripts,
    broadcast_views,
    element_at,
    is_unit_length,
    may_alias,
    may_read_array,
    scalar_overflow_checks,
    scalar_view,
    view_of,
)

__all__ = [
    "IndexedAxis", "index_axis_first", "gather_view", "stores_in_order", "is_gathered", "ufunc_at",
]

_MAX_CHECKED_INDICES = 4

IndexedAxis: TypeAlias = "tuple[ast.expr, Callable[[ast.expr], ast.expr]]"
"""The length of a slice, and where its elements are."""

_Subscripts: TypeAlias = "Sequence[ast.expr]"


def is_gathered(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is an array indexed by arrays of integers, maybe beside ints and slices."""
    if not isinstance(e, ast.Subscript) or cx.fact(e.value).array is None:
        return False
    items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
    known = all(_is_axis(i, cx) or _is_integral(i, cx) for i in items)
    if any(isinstance(i, ast.Constant) and i.value is ... for i in items[1:-1]):
        return False  # it sets apart what stands beside it, be it no axis at all
    return known and any(not _is_axis(i, cx) and cx.fact(i).array for i in items)


def _is_axis(item: ast.expr, cx: Context) -> bool:
    """Whether it is a slice, an ellipsis or a new axis."""
    named = isinstance(item, ast.Constant) and item.value in (None, ...)
    return isinstance(item, ast.Slice) or named or cx.facts.is_new_axis(item)


def _is_integral(item: ast.expr, cx: Context) -> bool:
    types = cx.fact(item).types
    return bool(types) and all(ELEMENTS[t.dtype].kind in "iu" for t in types)


def gather_view(
    array: ast.expr, items: Sequence[ast.expr], along: Callable[[ast.Slice, ast.expr], IndexedAxis],
    cx: Context,
) -> View | None:
    """``array[items]``, an item an axis, or a new one. The axes of the index arrays, and of ints
    beside them, are together where they stand, if that is side by side; else they come first.
    """
    of = view_of(array if isinstance(array, ast.Name) else bind_fresh(array, "a", cx), cx)
    parts = _index_parts(items, cx)
    if of is None or parts is None:
        return None
    together = broadcast_views([*parts.values()], lambda elements: elements[0], cx)
    rank = len(together.shape)
    start = _index_axis_start([*parts])
    lengths, beside = iter(of.shape), list[ast.expr]()
    places: list[Callable[[_Subscripts, _Subscripts], ast.expr]] = []
    outside: ast.expr | None = None
    for k, item in enumerate(items):
        if k in parts:
            outside = _few_out_of_bounds(parts[k], next(lengths), cx)
            places.append(partial(_part_length, parts[k]))
        elif isinstance(item, ast.Slice):
            length, moved = along(item, next(lengths))
            places.append(partial(_axis_subscript, len(beside), moved))
            beside.append(length)
        else:
            beside.append(ast.Constant(1))

    def at(given: _Subscripts) -> ast.expr:
        block, rest = given[start : start + rank], [*given[:start], *given[start + rank :]]
        return of.at([place(block, rest) for place in places])

    shape = (*beside[:start], *together.shape, *beside[start:])
    never = [*beside, *(together.shape if len(parts) > 1 else ())]  # NumPy may ask all the same
    checks = [cx.expr("N < 1", N=n) for n in never if not is_unit_length(n)]
    if len(parts) == 1 and outside is not None:
        checks = [cx.expr("NONE and OUTSIDE", NONE=c, OUTSIDE=outside) for c in checks]
    lies = {cx.fact(items[k]).order for k, part in parts.items() if len(part.shape) > 1}
    if (start and len(shape) > 2) or (len(beside) > 1 and cx.fact(array).order != "C"):
        lies = {"?"}
    order = "?" if len(lies | {"C"} if beside else lies) > 1 else (*lies, "C")[0]
    return View(shape, at, (*of.checks, *together.checks, *checks), order)


def _few_out_of_bounds(part: View, length: ast.expr, cx: Context) -> ast.expr | None:
    """Whether one of a few indices is outside an axis of `length`; None of many."""
    match part.shape:
        case (ast.Constant(int(count)),) if 0 < count <= _MAX_CHECKED_INDICES:
            at = (part.at([ast.Constant(i)]) for i in range(count))
            tests = [cx.expr("not -N <= I < N", I=i, N=length) for i in at]
            return tests[0] if count == 1 else ast.BoolOp(ast.Or(), tests)
    return None


def index_axis_first(e: ast.expr, cx: Context) -> bool:
    """Whether what the index arrays of `e` choose is the first axis of it."""
    assert isinstance(e, ast.Subscript)
    items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
    places = [k for k, i in enumerate(items) if not _is_axis(i, cx)]
    others = {tree_key(i) for i in items if _is_axis(i, cx)} - {tree_key(ast.Constant(...))}
    no_axis = not others and len(places) == cx.fact(e.value).rank
    return no_axis or _index_axis_start(places) == 0


def _index_axis_start(places: Sequence[int]) -> int:
    """How many axes precede those of the index arrays and ints at `places`, in ascending order."""
    return places[0] if places[-1] - places[0] == len(places) - 1 else 0


def _index_parts(items: Sequence[ast.expr], cx: Context) -> Mapping[int, View] | None:
    """Those of `items` that are index arrays or ints."""
    found = {
        k: view_of(item, cx) if cx.fact(item).rank else scalar_view(item, cx)
        for k, item in enumerate(items) if not _is_axis(item, cx)
    }
    parts = {k: part for k, part in found.items() if part is not None}
    return parts if len(parts) == len(found) else None


def _part_length(part: View, block: _Subscripts, _: _Subscripts) -> ast.expr:
    return part.at(broadcast_subscripts(part.shape, block))


def _axis_subscript(
    axis: int, moved: Callable[[ast.expr], ast.expr], _: _Subscripts, rest: _Subscripts
) -> ast.expr:
    return moved(rest[axis])


def stores_in_order(target: ast.Subscript, cx: Context, alike: bool) -> bool:
    """Whether NumPy stores under the index arrays of `target` in their order, of which none is of
    its memory: of several values for one place the last one stays, unless they are all alike.
    """
    items = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    facts = [cx.fact(i) for i in items if not _is_axis(i, cx)]
    arrays = [f.array for f in facts if f.array]
    flat = alike or all(a.rank == 1 for a in arrays) or (len(arrays) == 1 and arrays[0].unit)
    owner = cx.fact(target.value).owner
    return bool(flat) and not any(may_alias(owner, f.owner) for f in facts if f.array)


_BINARY_UFUNCS = (
    np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.bitwise_or, np.bitwise_and,
    np.bitwise_xor, np.logical_or, np.logical_and,
)


@fires_on(ast.Expr, value=ast.Call, calls=[".at"])
def ufunc_at(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``np.add.at(x, index, v)`` → a loop over the index arrays in order, in which repeated indices
    accumulate.

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
        )) if any(cx.resolve(func) is f for f in _BINARY_UFUNCS) and cx.fact(x).array:
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            return cx.whole(lambda: _scatter_loop(node, func, x, items, value, cx))
    return None


def _scatter_loop(
    s: ast.Expr, function: ast.expr, x: ast.expr, items: Sequence[ast.expr], value: ast.expr,
    cx: Context,
) -> list[ast.stmt] | None:
    into = cx.fact(x)
    known = all(_is_index(i, cx) and not may_read_array(i, into.owner, cx) for i in items)
    if into.array is None or not into.owner or not known or len(items) > into.array.rank:
        return None
    x = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
    if not any(cx.fact(i).rank for i in items) or not _result_fits(function, x, value, cx):
        return None
    if cx.fact(value).rank and may_read_array(value, into.owner, cx):
        value = bind_fresh(cx.expr("NP.copy(E)", NP=cx.numpy, E=value), "a", cx)
    parts, of, whole = [view_of(i, cx) for i in items], view_of(value, cx), view_of(x, cx)
    if of is None or whole is None or None in parts:
        return None
    indices = [p for p in parts if p is not None]
    along = broadcast_views(indices, lambda elements: elements[0], cx)
    shape = (*along.shape, *whole.shape[len(items) :])

    def place(at: Sequence[ast.expr]) -> ast.expr:
        return element_at(x, [*(p.at(at[: len(p.shape)]) for p in indices), *at[1:]], cx)

    both = broadcast_views([View(shape, place, along.checks), of], lambda pair: pair[1], cx)
    if len(both.shape) > len(shape) or not same_tree(both.shape[0], shape[0]):
        return None

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        new = ast.Call(function, [place(at), both.at(at)], [])
        return cx.code("PLACE = E", PLACE=place(at), E=new)

    checks = [*scalar_overflow_checks(value, of, into.array.dtype, cx), *both.checks]
    return guarded(checks, s, loop_nest(shape, body, cx), cx)


def _is_index(item: ast.expr, cx: Context) -> bool:
    """Whether it is an int, or a vector of such."""
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(item).types}
    return cx.fact(item).rank in (0, 1) and kinds in ({"i"}, {"u"})


def _result_fits(function: ast.expr, x: ast.expr, value: ast.expr, cx: Context) -> bool:
    """Whether the result converts to elements of `x` as NumPy has it."""
    to = cx.fact(x).array
    types = cx.fact(cx.expr("F(X, V)", F=function, X=x, V=value)).types
    if to is None or not types:
        return False
    same = all(t.dtype == to.dtype or {ELEMENTS[t.dtype].kind, ELEMENTS[to.dtype].kind} == {"f"}
               for t in types)
    return same and "f16" not in {to.dtype, *(t.dtype for t in cx.fact(value).types)}
