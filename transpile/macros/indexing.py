"""Views by index: slices, new axes, reversed and permuted ones."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .context import Context
from .elementwise import is_elementwise
from .gathering import gathered, is_gathered
from .integers import integer_constant, minus, plus
from .respelled import respelled
from .shaping import diagonal, spread
from .single import lacking
from .views import View, element, held, is_one, materialised, view

__all__ = ["indexed"]

_SWAP = str.maketrans("CF", "FC")
_Axis = Callable[[ast.expr], ast.expr]


def indexed(e: ast.expr, cx: Context) -> View | None:
    """`e` as a view of another array; None where it is not one that is known."""
    if (other := respelled(e, cx)) is not None:
        return view(other, cx)
    match e:
        case ast.Subscript(value=array, slice=index):
            return _subscript(array, index, cx)
        case ast.Attribute(value=array, attr="T"):
            return _permuted(array, None, cx)
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=args, keywords=[]) if (
            cx.resolve(e.func) is None
        ):
            return _call(name, array, args, cx)
        case ast.Call(func=func, args=[ast.Constant(value=str(text)), array], keywords=[]) if (
            cx.is_numpy(func, "einsum")
        ):
            return _square(text.replace(" ", ""), array, cx)
        case ast.Call(func=func, args=[array, *args], keywords=[]):
            name = getattr(cx.resolve(func), "__name__", "")
            return _call(name, array, args, cx) if cx.is_numpy(func, name) else None
    return None


def _call(name: str, array: ast.expr, args: Sequence[ast.expr], cx: Context) -> View | None:
    match name, [integer_constant(a, None) for a in args]:
        case "transpose", []:
            return _permuted(array, None, cx)
        case "transpose", [int(), *_] as axes:
            return _permuted(array, axes, cx)
        case "transpose", [None] if isinstance(args[0], (ast.Tuple, ast.List)):
            return _permuted(array, [integer_constant(a, None) for a in args[0].elts], cx)
        case "diag" | "diagonal", [] | [int()] as by if cx.fact(array).rank == 2:
            return diagonal(array, cx, *(k for k in by if k is not None))
        case "broadcast_to", [_]:
            return spread(array, getattr(args[0], "elts", args), cx)
    return None


def _square(text: str, array: ast.expr, cx: Context) -> View | None:
    """``"ii->i"``: the diagonal of a matrix with as many columns as rows."""
    left, _, right = text.partition("->")
    if len(right) != 1 or not right.isalpha() or left != 2 * right or cx.fact(array).rank != 2:
        return None
    of = view(array, cx)
    if of is None:
        return None
    check = cx.expr("N != M", N=of.shape[0], M=of.shape[1])
    return View(of.shape[:1], lambda at: of.at([at[0], at[0]]), (*of.checks, check))


def _permuted(array: ast.expr, order: Sequence[int | None] | None, cx: Context) -> View | None:
    of = view(array, cx)
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


def _subscript(array: ast.expr, index: ast.expr, cx: Context) -> View | None:
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    items = [ast.Constant(None) if cx.facts.is_new_axis(i) else i for i in items]
    if is_gathered(cx.expr("X[I]", X=array, I=index), cx):
        return _gathered(array, items, cx)
    if any(_is_numbers(i, cx) for i in items):
        return None
    if not all(map(_is_simple, items)):
        array = held(array, "a", cx) if isinstance(array, ast.Call) else array
        return materialised(cx.expr("X[I]", X=array, I=index), cx)
    # all of what is computed may raise, or warn
    of = materialised(array, cx) if is_elementwise(array, cx) else view(array, cx)
    if of is None:
        return None
    items = _whole(items, len(of.shape))
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
            many, at_index = _slice(item, length, cx)
            if (none := lacking(item, length, cx)) is not None and len(of.shape) > 1:
                checks.append(none)
                many = ast.Constant(1)
            axes.append((many, at_index))
        else:
            known = integer_constant(item, None)
            if known is None:
                rows.append(item)
            else:
                checks.append(_outside(known, length, cx))
            places.append(_steady(item, cx))

    def at(given: Sequence[ast.expr]) -> ast.expr:
        return of.at([p if isinstance(p, ast.expr) else _moved(axes[p], given[p]) for p in places])

    shape = tuple(ast.Constant(1) if a is None else a[0] for a in axes)
    if isinstance(array, ast.Name) and rows == items[: len(rows)] and all(map(_is_int(cx), rows)):
        _row(array, rows, cx)
    elif rows:
        checks += [cx.expr("N < 1", N=n) for n in shape if not is_one(n)]
    several = sum(isinstance(p, int) for p in places) > 1
    turned = "?" if None in axes and of.order != "C" else of.order
    return View(shape, at, (*of.checks, *checks), turned if several else "C")


def _gathered(array: ast.expr, items: Sequence[ast.expr], cx: Context) -> View | None:
    """Under index arrays; other slices than simple ones are taken beforehand."""
    items = _whole(items, cx.fact(array).rank or 0)
    if not all(map(_is_simple, items)):
        kept: list[ast.expr] = [
            i if isinstance(i, ast.Slice) else ast.Slice() for i in items if not _is_axis(i)
        ]
        array = held(cx.expr("X[I]", X=array, I=ast.Tuple(kept, ast.Load())), "a", cx)
        items = [ast.Slice() if isinstance(i, ast.Slice) else i for i in items]
    return gathered(array, items, lambda item, length: _slice(item, length, cx), cx)


def _outside(k: int, length: ast.expr, cx: Context) -> ast.expr:
    """Whether an axis has no element `k`."""
    least = ast.Constant(k + 1 if k >= 0 else -k)
    return cx.expr("N < LEAST", N=length, LEAST=least)


def _is_int(cx: Context) -> Callable[[ast.expr], bool]:
    return lambda e: cx.fact(e).is_int


def _row(array: ast.Name, rows: list[ast.expr], cx: Context) -> None:
    """Takes the row, which raises where there is none; its elements are taken from the array."""
    if rows:
        cx.before(*cx.code("ROW = E", ROW=cx.fresh("row"), E=element(array, rows, cx)))


def _moved(axis: tuple[ast.expr, _Axis] | None, i: ast.expr) -> ast.expr:
    assert axis is not None
    return axis[1](i)


def _is_numbers(item: ast.expr, cx: Context) -> bool:
    """Whether a subscript is an array, a mask, or not known."""
    if isinstance(item, ast.Slice) or _is_axis(item):
        return False
    types = cx.fact(item).types
    return not types or any(getattr(t, "rank", 0) or t.dtype[0] in "fb" for t in types)


def _is_axis(item: ast.expr) -> bool:
    """Whether it is None or an ellipsis."""
    return isinstance(item, ast.Constant) and item.value in (None, ...)


def _whole(items: Sequence[ast.expr], rank: int) -> list[ast.expr]:
    """The subscripts with a slice for each axis that they leave out."""
    taken = sum(not _is_axis(i) for i in items)
    rest: list[ast.expr] = [ast.Slice() for _ in range(rank - taken)]
    for k, item in enumerate(items):
        if isinstance(item, ast.Constant) and item.value is ...:
            return [*items[:k], *rest, *items[k + 1 :]]
    return [*items, *rest]


def _steady(item: ast.expr, cx: Context) -> ast.expr:
    """A subscript whose value is the same for all elements."""
    from .views import scalar

    return scalar(item, cx).at(())


def _is_simple(item: ast.expr) -> bool:
    """Whether `item` is no slice, a whole axis, one backwards, or one with constant bounds."""
    if not isinstance(item, ast.Slice):
        return True
    bounds = [b for b in (item.lower, item.upper) if b is not None]
    step = integer_constant(item.step, 1)
    return (step == 1 and all(integer_constant(b) is not None for b in bounds)) or (
        step == -1 and not bounds
    )


def _slice(item: ast.Slice, n: ast.expr, cx: Context) -> tuple[ast.expr, _Axis]:
    """The length of a simple slice of an axis of length `n`, and where its elements are."""
    if item.step is not None and integer_constant(item.step) == -1:
        last = minus(n, ast.Constant(1), cx)
        return n, lambda i: minus(last, i, cx)
    if item.lower is None and item.upper is None:
        return n, lambda i: i
    low, high = integer_constant(item.lower, 0), integer_constant(item.upper, 0)
    assert low is not None
    assert high is not None
    start = ast.Constant(low) if low >= 0 else _upto(n, -low, cx)
    stop = n if item.upper is None else _stop(n, high, cx)
    return cx.expr("max(R, 0)", R=minus(stop, start, cx)), lambda i: plus(i, start, cx)


def _upto(n: ast.expr, k: int, cx: Context) -> ast.expr:
    """``n - k``, or the first element."""
    return cx.expr("max(N - K, 0)", N=n, K=ast.Constant(k))


def _stop(n: ast.expr, high: int, cx: Context) -> ast.expr:
    if high < 0:
        return cx.expr("N - K", N=n, K=ast.Constant(-high))
    return cx.expr("min(N, K)", N=n, K=ast.Constant(high))
