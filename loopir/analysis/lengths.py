"""How often a loop runs at most, where its ends are named and clamped."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..nodes import Assign, Call, Expr, Interval, Kernel, Var
from ..tree import kept, walk
from ..types import INDEX
from .affine import affine

__all__ = ["ends_named", "longest"]


@kept
def ends_named(kernel: Kernel) -> Mapping[str, Expr]:
    """The whole numbers that have names, each for one value."""
    named = [n for n in walk(kernel) if isinstance(n, Assign)]
    times = Counter(n.name for n in named)
    return {n.name: n.value for n in named if times[n.name] == 1 and n.value.dtype == INDEX}


def longest(r: Interval, names: Mapping[str, Expr]) -> int | None:
    """How often a loop over `r` runs at most, if that is a number: over ``[0, end)`` once, where
    ``end = min(n, 1)``.
    """
    found = _most(r.hi, r.lo, names)
    return None if found is None else max(found, 0)


def _most(a: Expr, b: Expr, names: Mapping[str, Expr]) -> int | None:
    """What ``a - b`` is at most."""
    form = affine(Call("sub", (a, b), INDEX))
    if form is not None and form.number is not None:
        return form.number
    match a, b:
        case Call("min", parts), _:
            return _least([_most(x, b, names) for x in parts])
        case _, Call("max", parts):
            return _least([_most(a, x, names) for x in parts])
        case Call("max", parts), _:
            return _largest([_most(x, b, names) for x in parts])
        case _, Call("min", parts):
            return _largest([_most(a, x, names) for x in parts])
        case Var(name), _ if name in names:
            return _most(names[name], b, names)
        case _, Var(name) if name in names:
            return _most(a, names[name], names)
    return None


def _least(some: list[int | None]) -> int | None:
    return min((n for n in some if n is not None), default=None)


def _largest(some: list[int | None]) -> int | None:
    known = [n for n in some if n is not None]
    return max(known) if len(known) == len(some) else None
