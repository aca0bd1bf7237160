"""IR traversal: children of a node, walks, and rebuilding a node with replaced children.

A function that changes nothing returns the same object (`map_children`, `bottom_up`); passes
compare by identity to see whether anything changed.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache, reduce, wraps
from operator import attrgetter, is_, or_
from typing import Any, TypeVar, get_args

from .lazy_dataclass import construction, replace
from .nodes import (
    Append,
    Break,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Local,
    Loop,
    LoopLike,
    Node,
    Param,
    Prefix,
    Range,
    RangeDesc,
    Return,
)

__all__ = [
    "EXPRESSIONS", "N", "advanced_accums", "bottom_up", "children", "contains", "contains_nest",
    "counted_range", "declared_params", "has_early_exit", "is_innermost", "kernel_header",
    "map_children", "memoized_by", "memoized_per_node", "ops_within", "outermost_loops",
    "range_bounds", "source_line", "tree_depth", "walk", "walk_statements",
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
EXPRESSIONS: tuple[type, ...] = get_args(Expr)
_EXPRESSION_TYPES = frozenset(EXPRESSIONS)
_LEAVES = frozenset(t for t, below in _CHILDREN_GETTERS.items() if below is None)


def children(n: Node) -> tuple[Node, ...]:
    """The direct children of `n`, in field order."""
    below = _CHILDREN_GETTERS[type(n)]
    return below(n) if below else ()


def walk(n: Node) -> Iterator[Node]:
    """`n` and all its descendants, in preorder."""
    stack = [n]
    while stack:
        n = stack.pop()
        yield n
        if below := _CHILDREN_GETTERS[type(n)]:
            stack += below(n)[::-1]


def walk_statements(n: Node) -> Iterator[Node]:
    """As `walk`, without expressions: statements, accumulators, yields, ranges, in preorder."""
    waiting = [n]
    while waiting:
        n = waiting.pop()
        yield n
        if below := _CHILDREN_GETTERS[type(n)]:
            waiting += [c for c in below(n)[::-1] if type(c) not in _EXPRESSION_TYPES]


def memoized_per_node(f: Callable[[Any], T]) -> Callable[[Any], T]:
    """Memoise `f` by node, in the node itself: nodes are immutable and most survive many passes.

    `f` must not return None.
    """

    @wraps(f)
    def cached(n: Any) -> Any:
        """``f(n)``, from the node's memo if it is there."""
        memo = n._kept
        if memo is None:
            memo = n._kept = {}
        result = memo.get(f, memo)
        if result is memo:
            result = f(n)
            memo[f] = None if result is n else result  # None for `n`: no cycle
        return n if result is None else result

    return cached


def memoized_by(f: Callable[..., T]) -> Callable[..., T]:
    """As `memoized_per_node`, of a function with further arguments: ``f(n, *args)`` is computed
    once for each node and each `args`, which must be hashable and small.
    """

    @wraps(f)
    def cached(n: Any, *args: Any) -> Any:
        """``f(n, *args)``, from the node's memo if it is there."""
        memo = n._kept
        if memo is None:
            memo = n._kept = {}
        key = f, args
        result = memo.get(key, memo)
        if result is memo:
            result = f(n, *args)
            memo[key] = None if result is n else result  # no node holds itself
        return n if result is None else result

    return cached


@memoized_per_node
def kernel_header(kernel: Kernel) -> Kernel:
    """`kernel` without its body. An analysis of one loop that takes the header in place of the
    kernel, and is `memoized_by` both, is not computed again after a pass that has changed another
    part of the body.
    """
    return replace(kernel, body=()) if kernel.body else kernel


@memoized_per_node
def declared_params(kernel: Kernel) -> dict[str, Param]:
    """The parameters of `kernel` by name, and as such its local arrays."""
    local = (n.param for n in walk_statements(kernel) if isinstance(n, Local))
    return {p.name: p for p in (*kernel.params, *local)}


@memoized_per_node
def source_line(n: Node) -> int:
    """The line of the user's file that `n` comes from: its own, or the first known one of the nodes
    in it; 0 where none is known.
    """
    spans = (getattr(x, "span", None) for x in walk(n))
    return next((span.line for span in spans if span is not None), 0)


_TYPE_BITS = {t: 1 << k for k, t in enumerate(_FIELDS)}


@memoized_per_node
def _types_within(n: Node) -> int:
    """The types of `n` and of all nodes below it, as a set of bits."""
    bits = _TYPE_BITS[type(n)]
    if below := _CHILDREN_GETTERS[type(n)]:
        for child in below(n):
            bits |= _TYPE_BITS[type(child)] if type(child) in _LEAVES else _types_within(child)
    return bits


@cache
def _bits_of(types: Any) -> int:
    """The bits of `types`: a type, a union of types, or a tuple of these."""
    if isinstance(types, tuple):
        return reduce(or_, map(_bits_of, types))
    return reduce(or_, (_TYPE_BITS[t] for t in get_args(types) or (types,)))


def contains(n: Node, types: Any) -> bool:
    """Whether `n` or a node below it is one of `types`: a type, a union, or a tuple of these."""
    return bool(_types_within(n) & _bits_of(types))


@memoized_per_node
def contains_nest(n: Node) -> bool:
    """Whether a loop in `n` contains another loop."""
    if not contains(n, LoopLike):
        return False
    below = children(n)
    if isinstance(n, LoopLike) and any(contains(c, LoopLike) for c in below):
        return True
    return any(map(contains_nest, below))


@memoized_per_node
def ops_within(n: Node) -> frozenset[str]:
    """The operations called in `n`."""
    below = [ops_within(c) for c in children(n) if type(c) not in _LEAVES]
    own = (n.op,) if isinstance(n, Call) else ()
    return frozenset(own).union(*below) if own or any(below) else _NONE


_NONE: frozenset[str] = frozenset()


# -- the shape of a loop


def is_innermost(loop: LoopLike) -> bool:
    """Whether no loop, of any kind, is in `loop`, at any depth: neither in its body nor in a branch
    of it.
    """
    return not any(contains(c, LoopLike) for c in children(loop))


def counted_range(loop: Loop) -> Interval | None:
    """The range of a counted loop, whose trip count its range alone gives; None for other loops.

        for i in loop(0, n)                →    the interval [0, n)
        for i in loop(0, n, until=done)    →    None: it may end before
        for i in loop(range(0, n, 64))     →    None: a range with a step is no interval

    A `Break` or `Return` in the body is not looked for: `has_early_exit` does that, by a walk.
    """
    return loop.range if isinstance(loop.range, Interval) and loop.until is None else None


def has_early_exit(loop: Loop) -> bool:
    """Whether something else than its range may end `loop`: its ``until``, or a `Break` or `Return`
    in it, at any depth. A `Break` of an inner loop counts, too, though it ends only the inner loop:
    the answer is on the safe side.
    """
    return loop.until is not None or any(contains(s, (Break, Return)) for s in loop.body)


@memoized_per_node
def tree_depth(n: Node) -> int:
    """The height of the tree `n`, in nodes."""
    return 1 + max(map(tree_depth, children(n)), default=0)


def map_children(n: N, f: Callable[[Any], Any]) -> N:
    """`n` with `f` applied to each child; `n` itself where no child changed.

    `f` may turn a statement into a tuple of statements, which is spliced in.
    """
    t = type(n)
    mapper = _MAPPERS.get(t) or _MAPPERS.setdefault(t, _children_mapper(t))
    return mapper(n, f)  # type: ignore[no-any-return]  # a node of the same type


_MAPPERS: dict[type, Callable[[Any, Callable[[Any], Any]], Any]] = {}


def _children_mapper(t: type) -> Callable[[Any, Callable[[Any], Any]], Any]:
    """`map_children` for nodes of type `t`, compiled for speed as in `_children_getter`::

        def mapper(n, f):
            old_args = n.args
            new_args = mapped(old_args, f)
            if new_args is old_args:
                return n
            new = allocate(cls)
            new.op = n.op
            new.args = new_args
            …
            return new
    """
    kinds = {f.name: str(f.type) for f in fields(t)}
    below = _FIELDS[t]
    lines = ["def mapper(n, f):"]
    for name in below:
        lines.append(f" old_{name} = n.{name}")
        new = f"mapped(old_{name}, f)" if kinds[name].startswith("tuple") else f"f(old_{name})"
        if kinds[name].endswith("| None"):
            new = f"None if old_{name} is None else {new}"
        lines.append(f" new_{name} = {new}")
    same = " and ".join(f"new_{name} is old_{name}" for name in below) or "True"
    given = {name: f"new_{name}" if name in below else f"n.{name}" for name in kinds}
    lines += [f" if {same}:", "  return n", *(f" {line}" for line in construction(t, given))]
    names: dict[str, Any] = {"mapped": _mapped, "cls": t, "allocate": object.__new__}
    exec("\n".join(lines), names)
    mapper: Callable[[Any, Callable[[Any], Any]], Any] = names["mapper"]
    return mapper


def _mapped(old: tuple[Any, ...], f: Callable[[Any], Any]) -> tuple[Any, ...]:
    """`f` of each part, tuples spliced in; `old` itself where nothing changed."""
    new = tuple(map(f, old))
    if all(map(is_, new, old)):
        return old
    if tuple not in map(type, new):
        return new
    return tuple(y for x in new for y in (x if type(x) is tuple else (x,)))


def bottom_up(n: N, f: Callable[[Any], Any]) -> Any:
    """Apply `f` to every node, children first."""

    def go(n: Any) -> Any:
        return f(map_children(n, go))

    return go(n)


@memoized_per_node
def advanced_accums(n: Node) -> frozenset[str]:
    """The accumulators that an `Append` or `Prefix` in `n` advances in the middle of an iteration.
    They are scalars, also in a vector loop.
    """
    if not contains(n, (Append, Prefix)):
        return _NONE
    appends = (x for x in walk(n) if isinstance(x, (Append, Prefix)))
    return frozenset(x.count if isinstance(x, Append) else x.acc for x in appends)


def range_bounds(r: Range) -> tuple[Expr, Expr]:
    """Start and (exclusive) end of a range."""
    match r:
        case Interval(first, last) | RangeDesc(first, last):
            return first, last


def outermost_loops(n: Node) -> Iterator[Loop]:
    """The scalar counted loops inside `n`, also in branches, with no other loop of `n` between."""
    for child in children(n):
        if isinstance(child, Loop):
            yield child
        elif isinstance(child, If):
            yield from outermost_loops(child)
