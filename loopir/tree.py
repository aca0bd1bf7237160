"""Recursion over Loop IR: what is below a node, and the node with that replaced."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar, get_args

from .nodes import Append, Expr, Interval, Node, Prefix, Range, RangeDesc

__all__ = ["N", "bottom_up", "children", "counters", "ends", "map_children", "walk"]

N = TypeVar("N", bound=Node)

_PLAIN = frozenset((
    "str", "int", "bool", "float | int | bool", "int | None", "Lanes", "Lanes | None",
    "MaskForm | None", "Span | None", "str | None", "tuple[str, ...]",
    "tuple[int | None, ...]",
))
_BELOW: dict[type, tuple[str, ...]] = {  # the fields that hold nodes
    t: tuple(f.name for f in fields(t) if f.type not in _PLAIN) for t in get_args(Node)
}


def children(n: Node) -> Iterator[Node]:
    """The nodes directly below `n`, in field order."""
    for name in _BELOW[type(n)]:
        value = getattr(n, name)
        if type(value) is tuple:
            yield from value
        elif value is not None:
            yield value


def walk(n: Node) -> Iterator[Node]:
    """`n` and everything below it, outer before inner."""
    waiting = [n]
    while waiting:
        n = waiting.pop()
        yield n
        for name in reversed(_BELOW[type(n)]):
            value = getattr(n, name)
            if type(value) is tuple:
                waiting.extend(reversed(value))
            elif value is not None:
                waiting.append(value)


def map_children(n: N, f: Callable[[Any], Any]) -> N:
    """`n` with `f` applied to each child; `f` may turn a statement into a tuple of statements. `n`
    itself when nothing changed.
    """
    changed: dict[str, Any] = {}
    for name in _BELOW[type(n)]:
        old = getattr(n, name)
        if type(old) is tuple:
            parts = [f(x) for x in old]
            if any(a is not b for a, b in zip(parts, old, strict=True)):
                changed[name] = tuple(y for x in parts for y in (x if type(x) is tuple else (x,)))
        elif old is not None and (new := f(old)) is not old:
            changed[name] = new
    return replace(n, **changed) if changed else n


def bottom_up(n: N, f: Callable[[Any], Any]) -> Any:
    """`f` applied to every node, inner before outer."""
    return f(map_children(n, lambda child: bottom_up(child, f)))


def counters(n: Node) -> frozenset[str]:
    """The accumulators that statements below `n` advance: scalars, in vector loops too."""
    appends = (x.count for x in walk(n) if isinstance(x, Append))
    return frozenset((*appends, *(x.acc for x in walk(n) if isinstance(x, Prefix))))


def ends(r: Range) -> tuple[Expr, Expr]:
    """Where a range starts, and what it stays before."""
    match r:
        case Interval(first, last) | RangeDesc(first, last):
            return first, last
