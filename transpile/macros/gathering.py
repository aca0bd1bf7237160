"""Index arrays: ``x[idx]``, ``X[rows, j]``, ``X[:, cols]`` by index, under NumPy's rules."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from ..types import ELEMENTS
from .context import Context
from .views import View, broadcast, fitted, held, is_one, may_be_one, scalar, view

__all__ = ["Along", "comes_first", "gathered", "in_order", "is_gathered"]

_FEW = 4

Along: TypeAlias = "tuple[ast.expr, Callable[[ast.expr], ast.expr]]"
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


def gathered(
    array: ast.expr, items: Sequence[ast.expr], along: Callable[[ast.Slice, ast.expr], Along],
    cx: Context,
) -> View | None:
    """``array[items]``, an item an axis, or a new one. The axes of the index arrays, and of ints
    beside them, are together where they stand, if that is side by side; else they come first.
    """
    of = view(array if isinstance(array, ast.Name) else held(array, "a", cx), cx)
    parts = _parts(items, cx)
    if of is None or parts is None:
        return None
    together = broadcast([*parts.values()], lambda elements: elements[0], cx)
    rank = len(together.shape)
    start = _start([*parts])
    lengths, beside = iter(of.shape), list[ast.expr]()
    places: list[Callable[[_Subscripts, _Subscripts], ast.expr]] = []
    outside: ast.expr | None = None
    for k, item in enumerate(items):
        if k in parts:
            outside = _outside(parts[k], next(lengths), cx)
            places.append(partial(_of_part, parts[k]))
        elif isinstance(item, ast.Slice):
            length, moved = along(item, next(lengths))
            places.append(partial(_of_axis, len(beside), moved))
            beside.append(length)
        else:
            beside.append(ast.Constant(1))

    def at(given: _Subscripts) -> ast.expr:
        block, rest = given[start : start + rank], [*given[:start], *given[start + rank :]]
        return of.at([place(block, rest) for place in places])

    shape = (*beside[:start], *together.shape, *beside[start:])
    never = [*beside, *(together.shape if len(parts) > 1 else ())]  # NumPy may ask all the same
    checks = [cx.expr("N < 1", N=n) for n in never if not is_one(n)]
    if len(parts) == 1 and outside is not None:
        checks = [cx.expr("NONE and OUTSIDE", NONE=c, OUTSIDE=outside) for c in checks]
    lies = {cx.fact(items[k]).order for k, part in parts.items() if len(part.shape) > 1}
    if (start and len(shape) > 2) or (len(beside) > 1 and cx.fact(array).order != "C"):
        lies = {"?"}
    order = "?" if len(lies | {"C"} if beside else lies) > 1 else (*lies, "C")[0]
    return View(shape, at, (*of.checks, *together.checks, *checks), order)


def _outside(part: View, length: ast.expr, cx: Context) -> ast.expr | None:
    """Whether one of a few indices is outside an axis of `length`; None of many."""
    match part.shape:
        case (ast.Constant(int(count)),) if 0 < count <= _FEW:
            at = (part.at([ast.Constant(i)]) for i in range(count))
            tests = [cx.expr("not -N <= I < N", I=i, N=length) for i in at]
            return tests[0] if count == 1 else ast.BoolOp(ast.Or(), tests)
    return None


def comes_first(e: ast.expr, cx: Context) -> bool:
    """Whether what the index arrays of `e` choose is the first axis of it."""
    assert isinstance(e, ast.Subscript)
    items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
    places = [k for k, i in enumerate(items) if not _is_axis(i, cx)]
    others = {ast.dump(i) for i in items if _is_axis(i, cx)} - {ast.dump(ast.Constant(...))}
    no_axis = not others and len(places) == cx.fact(e.value).rank
    return no_axis or _start(places) == 0


def _start(places: Sequence[int]) -> int:
    """How many axes precede those of the index arrays and ints at `places`, in ascending order."""
    return places[0] if places[-1] - places[0] == len(places) - 1 else 0


def _parts(items: Sequence[ast.expr], cx: Context) -> Mapping[int, View] | None:
    """Those of `items` that are index arrays or ints."""
    found = {
        k: view(item, cx) if cx.fact(item).rank else scalar(item, cx)
        for k, item in enumerate(items) if not _is_axis(item, cx)
    }
    parts = {k: part for k, part in found.items() if part is not None}
    return parts if len(parts) == len(found) else None


def _of_part(part: View, block: _Subscripts, _: _Subscripts) -> ast.expr:
    return part.at(fitted(part.shape, block))


def _of_axis(
    axis: int, moved: Callable[[ast.expr], ast.expr], _: _Subscripts, rest: _Subscripts
) -> ast.expr:
    return moved(rest[axis])


def in_order(target: ast.Subscript, cx: Context, alike: bool) -> bool:
    """Whether NumPy stores under the index arrays of `target` in their order, of which none is of
    its memory: of several values for one place the last one stays, unless they are all alike.
    """
    items = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    facts = [cx.fact(i) for i in items if not _is_axis(i, cx)]
    arrays = [f.array for f in facts if f.array]
    flat = alike or all(a.rank == 1 for a in arrays) or (len(arrays) == 1 and arrays[0].unit)
    owner = cx.fact(target.value).owner
    return bool(flat) and not any(may_be_one(owner, f.owner) for f in facts if f.array)
