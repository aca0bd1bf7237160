"""IR traversal: children of a node, walks, and rebuilding a node with replaced children.

A function that changes nothing returns the same object (`map_children`, `bottom_up`); passes
compare by identity to see whether anything changed.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import wraps
from operator import attrgetter, is_not
from typing import Any, TypeVar, get_args

from .nodes import Append, Expr, Interval, Loop, LoopLike, Node, Prefix, Range, RangeDesc

__all__ = [
    "N", "bottom_up", "children", "advanced_accums", "tree_depth", "range_bounds", "is_innermost",
    "memoized_per_node", "source_line", "map_children", "walk",
]

N = TypeVar("N", bound=Node)
T = TypeVar("T")

_LEAF_FIELD_TYPES = frozenset((
    "str", "int", "bool", "float | int | bool", "int | None", "Lanes", "Lanes | None",
    "MaskForm | None", "Span | None", "str | None", "tuple[str, ...]",
    "tuple[int | None, ...]",
))
_FIELDS: dict[type, tuple[str, ...]] = {  # fields that contain nodes
    t: tuple(f.name for f in fields(t) if f.type not in _LEAF_FIELD_TYPES) for t in get_args(Node)
}


def _children_getter(t: type) -> Callable[[Any], tuple[Node, ...]] | None:
    """A compiled function that returns the children of a node of type `t`; None for a leaf type.

    Compiled for speed: the first compilation of a program visits hundreds of thousands of nodes.
    """
    kinds = {f.name: str(f.type) for f in fields(t)}
    names = _FIELDS[t]
    if len(names) == 1 and kinds[names[0]].startswith("tuple"):
        return attrgetter(*names)
    parts = (
        f"*n.{f}" if kinds[f].startswith("tuple")
        else f"*(() if n.{f} is None else (n.{f},))" if kinds[f].endswith("| None")
        else f"n.{f}"
        for f in names
    )
    return eval(f"lambda n: ({', '.join(parts)},)") if names else None


_CHILDREN_GETTERS = {t: _children_getter(t) for t in _FIELDS}


def children(n: Node) -> tuple[Node, ...]:
    """The direct children of `n`, in field order."""
    below = _CHILDREN_GETTERS[type(n)]
    return below(n) if below else ()


def walk(n: Node) -> Iterator[Node]:
    """`n` and all its descendants, in preorder."""
    waiting = [n]
    while waiting:
        n = waiting.pop()
        yield n
        if below := _CHILDREN_GETTERS[type(n)]:
            waiting += below(n)[::-1]


def is_innermost(loop: Loop) -> bool:
    """Whether `loop` contains no other loop."""
    return not any(isinstance(n, LoopLike) for s in loop.body for n in walk(s))


def source_line(n: Node) -> int:
    """The source line that `n` comes from: of its span, or of the first span in it; 0 if it has
    none.
    """
    spans = (getattr(x, "span", None) for x in walk(n))
    return next((span.line for span in spans if span is not None), 0)


def memoized_per_node(f: Callable[[Any], T]) -> Callable[[Any], T]:
    """Memoise `f` by node, in the node itself: nodes are immutable and most survive many passes.

    `f` must not return None.
    """

    @wraps(f)
    def cached(n: Any) -> Any:
        try:
            facts = n._kept
        except AttributeError:
            facts = n._kept = {}
        found = facts.get(f, facts)
        if found is facts:
            found = f(n)
            facts[f] = None if found is n else found  # None for `n`: no cycle
        return n if found is None else found

    return cached


@memoized_per_node
def tree_depth(n: Node) -> int:
    """The height of the tree `n`, in nodes."""
    return 1 + max(map(tree_depth, children(n)), default=0)


def map_children(n: N, f: Callable[[Any], Any]) -> N:
    """`n` with `f` applied to each child; `n` itself where no child changed.

    `f` may turn a statement into a tuple of statements, which is spliced in.
    """
    changed: dict[str, Any] | None = None
    for name in _FIELDS[type(n)]:
        old = new = getattr(n, name)
        if type(old) is tuple:
            parts = [f(x) for x in old]
            if any(map(is_not, parts, old)):
                new = tuple(y for x in parts for y in (x if type(x) is tuple else (x,)))
        elif old is not None:
            new = f(old)
        if new is not old:
            changed = {**(changed or {}), name: new}
    return replace(n, **changed) if changed else n


def bottom_up(n: N, f: Callable[[Any], Any]) -> Any:
    """Apply `f` to every node, children first."""

    def go(n: Any) -> Any:
        return f(map_children(n, go))

    return go(n)


@memoized_per_node
def advanced_accums(n: Node) -> frozenset[str]:
    """The accumulators that an `Append` or `Prefix` in `n` advances: scalars in vector loops too.
    """
    appends = (x for x in walk(n) if isinstance(x, (Append, Prefix)))
    return frozenset(x.count if isinstance(x, Append) else x.acc for x in appends)


def range_bounds(r: Range) -> tuple[Expr, Expr]:
    """Start and (exclusive) end of a range."""
    match r:
        case Interval(first, last) | RangeDesc(first, last):
            return first, last
