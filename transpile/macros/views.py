"""Array expressions by index: the lengths of one, and its element at given subscripts."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from loopir.record import record

from ..below import below
from ..types import ELEMENTS
from .context import Context
from .fact import Fact
from .integers import integer_constant

__all__ = [
    "View", "broadcast", "element", "fitted", "held", "is_one", "is_viewable", "leaf",
    "materialised", "may_be_one", "misfits", "reads", "scalar", "unique", "unlike", "view",
]


@record(frozen=True, slots=True)
class View:
    """``at(i, …)`` is the element for `i` in ``range(shape[0])`` …; where one of ``checks`` holds,
    only Python knows. ``order``: C or F, as the elements lie in memory, C+F for
    NumPy to choose, or ? where not known.
    """

    shape: tuple[ast.expr, ...]
    at: Callable[[Sequence[ast.expr]], ast.expr]
    checks: tuple[ast.expr, ...] = ()
    order: str = "C"


def view(e: ast.expr, cx: Context) -> View | None:
    """`e` by index; what cannot be is computed beforehand. None where it is no array or scalar."""
    from .elementwise import elementwise
    from .indexing import indexed
    from .sequences import sequence

    fact = cx.fact(e)
    if fact.rank == 0:
        return scalar(e, cx)
    if not is_viewable(fact):
        return None
    if isinstance(e, ast.Name):
        return leaf(e, cx)
    return elementwise(e, cx) or indexed(e, cx) or sequence(e, cx) or materialised(e, cx)


def is_viewable(fact: Fact) -> bool:
    """Whether `view` has one of what `fact` is of."""
    return fact.rank == 0 or fact.array is not None


def scalar(e: ast.expr, cx: Context) -> View:
    """One value for all elements, computed once."""
    if not isinstance(e, (ast.Constant, ast.Name)) and integer_constant(e, None) is None:
        e = held(e, "s", cx)
    return View((), lambda _: e)


def held(e: ast.expr, hint: str, cx: Context) -> ast.expr:
    """A fresh name for the value of `e` now."""
    name = cx.fresh(hint)
    (take,) = cx.code("NAME = E", NAME=name, E=e)
    cx.before(*cx.expanded(take))
    return cx.expr("NAME", NAME=name)


def leaf(e: ast.expr, cx: Context) -> View:
    """An array by its name."""
    fact = cx.fact(e)
    rank = fact.rank or 0
    shape = tuple(
        cx.expr(text) if text else cx.expr("X.shape[K]", X=e, K=ast.Constant(k))
        for k, text in enumerate(fact.shape or [""] * rank)
    )
    if not all(map(cx.facts.lasting, shape)):
        shape = tuple(n if isinstance(n, ast.Constant) else held(n, "n", cx) for n in shape)
    return View(shape, lambda at: element(e, at, cx), order=fact.order)


def element(array: ast.expr, at: Sequence[ast.expr], cx: Context) -> ast.expr:
    """``array[at]``"""
    index = at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())
    return cx.expr("X[I]", X=array, I=index)


def materialised(e: ast.expr, cx: Context) -> View:
    """`e` computed beforehand, under a name of its own."""
    return leaf(held(e, "a", cx), cx)


def broadcast(
    parts: Sequence[View], combine: Callable[[list[ast.expr]], ast.expr], cx: Context
) -> View:
    """``combine`` of the parts' elements, under NumPy's broadcasting.

    An axis is stretched where its length is 1 in the source; where it is only at the call, or
    lengths differ, Python knows.
    """
    rank = max(len(p.shape) for p in parts)
    checks = [c for p in parts for c in p.checks]
    shape: list[ast.expr] = []
    for axis in range(-rank, 0):
        lengths = [p.shape[axis] for p in parts if len(p.shape) >= -axis]
        first, *others = unique([n for n in lengths if not is_one(n)] or lengths[:1])
        shape.append(first)
        checks += [cx.expr("A != B", A=first, B=n) for n in others]

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return combine([p.at(fitted(p.shape, index)) for p in parts])

    return View(tuple(shape), at, tuple(unique(checks)), _order(parts, shape))


def _order(parts: Sequence[View], shape: Sequence[ast.expr]) -> str:
    """The order of what is computed of `parts`, which has this shape. Two axes lie as in C where a
    part that has both does; axes that a part is stretched along do not matter to it.
    """
    def lengths(p: Sequence[ast.expr]) -> set[int]:
        return {k for k in range(-len(p), 0) if not is_one(p[k])}

    telling = [p for p in parts if len(lengths(p.shape)) > 1]
    whole = [p.order for p in telling if lengths(p.shape) == lengths(shape)]
    rest = {p.order for p in telling if lengths(p.shape) != lengths(shape)}
    if not whole:
        return "C" if rest <= {"C"} else "?"
    order = _agreed({*whole})
    return order if order != "F" or rest <= {"F"} else "?"


def _agreed(orders: set[str]) -> str:
    """The order of what is computed of arrays in these; C+F where NumPy's choice is another."""
    return orders.pop() if len(orders) == 1 else "?" if "?" in orders else "C+F"


def unlike(
    lengths: Iterable[ast.expr], others: Iterable[ast.expr], cx: Context
) -> list[ast.expr]:
    """Where axis for axis, as far as there are both, two lengths are not the same."""
    pairs = zip(lengths, others, strict=False)
    return [cx.expr("A != B", A=a, B=b) for a, b in pairs if ast.dump(a) != ast.dump(b)]


def fitted(shape: Sequence[ast.expr], index: Sequence[ast.expr]) -> list[ast.expr]:
    """The subscripts of a part, whose axes of length 1 are stretched."""
    own = index[len(index) - len(shape) :]
    return [ast.Constant(0) if is_one(n) else i for n, i in zip(shape, own, strict=True)]


def misfits(e: ast.expr, of: View, dtype: str, cx: Context) -> list[ast.expr]:
    """Where `e`, whose view is `of`, is an int of Python's, or a float, that elements of `dtype` do
    not hold: NumPy asks that once, ahead of all elements, of which there may be none.
    """
    element, fact = ELEMENTS[dtype].numpy, cx.fact(e)
    exact = fact.types and all(ELEMENTS[t.dtype].kind in "iub" for t in fact.types)
    if fact.rank != 0 or element.kind not in "iu" or (exact and not fact.is_int):
        return []
    info, value = np.iinfo(element), of.at(())
    if not exact:
        low, high = (ast.Constant(float(n)) for n in (int(info.min) - 1, int(info.max) + 1))
        return [cx.expr("not LOW < E < HIGH", LOW=low, E=value, HIGH=high)]
    if dtype == "i64":
        return []
    below = cx.expr("E < LEAST", E=value, LEAST=ast.Constant(int(info.min)))
    above = cx.expr("E > MOST", E=value, MOST=ast.Constant(int(info.max)))
    return [below] if dtype == "u64" else [below, above]


def reads(e: ast.expr, owner: str | None, cx: Context) -> bool:
    """Whether `e` may read the array that `owner` is the name of."""
    names = (n for n in below(e) if isinstance(n, ast.Name))
    return any(f.array and may_be_one(owner, f.owner) for f in map(cx.fact, names))


def may_be_one(owner: str | None, other: str | None) -> bool:
    """Whether arrays of these owners, as facts have them, may be one: that of None is any but one
    that was just made.
    """
    return owner == other or (None in (owner, other) and "" not in (owner, other))


def is_one(length: ast.expr) -> bool:
    """Whether an axis is stretched."""
    return isinstance(length, ast.Constant) and length.value == 1


def unique(nodes: Iterable[ast.expr]) -> list[ast.expr]:
    """`nodes` without those that are there already."""
    return list({ast.dump(n): n for n in nodes}.values())
