"""Liveness: which names are read before they are bound again, in a block and after each statement.

The standard backward dataflow analysis. For each node a summary (`_Names`: the names that it reads,
may bind, surely binds, and reads before it has surely bound them, "upward-exposed") is computed
bottom-up and cached by node, so a tree that was analysed must not change. For core Python, whose
only exit is one ``if …: break`` a loop, the summaries alone answer: live before s = exposed(s) |
(live after s - certain(s)). `live_before` also follows Python's exits: ``break``, ``continue``,
``return``, exceptions. Definite assignment, the forward question, is in `definite_assignment`.

Outlining asks `live_before`; macros, the inference of tables and the types of loops ask
`upward_exposed`; `lower_statements` asks `live_in_core`.
"""
from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from loopir.lazy_dataclass import record, replace

from ..frontend.ast_names import COMPREHENSIONS, bound_names
from ..frontend.ast_walk import child_nodes, walk_nodes
from ..frontend.core_nodes import ReplayIf
from .definite_assignment import NameSet, surely_bound

__all__ = [
    "LiveOut", "names_assigned", "is_only_counted", "upward_exposed", "live_before",
    "live_out_of_loop_body", "live_out_of_try", "live_out_of_with_body",
    "always_raises", "live_in_core", "names_read", "walk_names_read",
]

_NO_NAMES: NameSet = frozenset()
_SUM_NODES = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp)
"""What the increment of a counter is made of (`is_only_counted`)."""

_EXITS = (
    ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Try, ast.With, ast.AsyncWith,
    ast.AsyncFor, ast.Match,
)
"""Statements after which control need not reach the next one, and those that catch exceptions."""

_OTHER_BLOCKS = (ast.Try, ast.With, ast.AsyncWith, ast.AsyncFor, ast.Match)
"""Other statements with blocks. `_compute_simple` does not look into their blocks one by one, so no
name that they bind is certain.
"""

_SCOPES = (*COMPREHENSIONS, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BIND_OTHERWISE = (*_SCOPES, ast.NamedExpr, ast.Import, ast.ImportFrom)
"""Nodes in which not every ``ast.Name`` is a read or binding of the enclosing scope, on every path:
`walk_names_read`, `bound_names` and `surely_bound` are used for these.
"""


@record(frozen=True, slots=True)
class LiveOut:
    """The names that are live at each successor of a statement.

    ``next``: the next statement; ``at_break``, ``at_continue``: where these go; ``at_handler``: an
    exception handler, from anywhere.
    """

    next: NameSet = _NO_NAMES
    at_break: NameSet = _NO_NAMES
    at_continue: NameSet = _NO_NAMES
    at_handler: NameSet = _NO_NAMES


class _Names(NamedTuple):
    """The names that a node uses."""

    reads: NameSet
    """Read anywhere in it."""
    assigned: NameSet
    """Bound or deleted on some path."""
    exposed: NameSet
    """Maybe read before they are surely bound."""
    certain: NameSet
    """Bound on every path, as if no statement in it were an exit."""
    leaves: bool = False
    """Whether it contains one of `_EXITS`."""


_cache: weakref.WeakKeyDictionary[ast.stmt, _Names] = weakref.WeakKeyDictionary()
"""By statement. Lowering asks again about the statements of a loop each time that it lowers a loop
around it.
"""


def _names_of(node: ast.AST) -> _Names:
    """The names that `node` uses, from the cache. Expressions are not in it: only the statement
    that they are in asks for theirs, and keeps the answer.
    """
    if not isinstance(node, ast.stmt):
        return _compute_simple(node)
    names = _cache.get(node)
    if names is None:
        _cache[node] = names = _compute_names(node)
    return names


def _compute_names(node: ast.AST) -> _Names:
    """The names that `node` uses. A loop may run no iteration, so that only its iterable or test is
    certain, and its ``else`` if the body has no exits. Of a `ReplayIf` only the code that is
    compiled counts.
    """
    match node:
        case ReplayIf(test=test, orelse=orelse):
            tested, then = _names_of(test), _names_of_block(orelse)
            exposed = tested.reads | (then.exposed - tested.certain)
            return _combine((tested, then), exposed, tested.certain | then.certain)
        case ast.If(test=test, body=body, orelse=orelse):
            tested, then = _names_of(test), _names_of_block(body)
            other = _names_of_block(orelse)
            exposed = tested.reads | ((then.exposed | other.exposed) - tested.certain)
            certain = tested.certain | (then.certain & other.certain)
            return _combine((tested, then, other), exposed, certain)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            targets, iterated = _names_of(target), _names_of(iterable)
            inside, last = _names_of_block(body), _names_of_block(orelse)
            exposed = targets.reads | (inside.exposed - targets.certain) | last.exposed
            exposed = iterated.reads | (exposed - iterated.certain)
            certain = iterated.certain if inside.leaves else iterated.certain | last.certain
            return _combine((targets, iterated, inside, last), exposed, certain)
        case ast.While(test=test, body=body, orelse=orelse):
            tested = _names_of(test)
            inside, last = _names_of_block(body), _names_of_block(orelse)
            exposed = tested.reads | ((inside.exposed | last.exposed) - tested.certain)
            certain = tested.certain if inside.leaves else tested.certain | last.certain
            return _combine((tested, inside, last), exposed, certain)
    return _compute_simple(node)


def _compute_simple(node: ast.AST) -> _Names:
    """As `_compute_names`, for an expression, a target or any other statement; of one of
    `_OTHER_BLOCKS` all that it reads is exposed.
    """
    nodes = [*walk_nodes(node)]
    names = [n for n in nodes if isinstance(n, ast.Name)]
    read = frozenset(n.id for n in names if not isinstance(n.ctx, ast.Store))
    certain = frozenset(n.id for n in names if isinstance(n.ctx, ast.Store))
    assigned = certain | frozenset(n.id for n in names if isinstance(n.ctx, ast.Del))
    # += reads its target
    updated = _names_of(node.target).assigned if isinstance(node, ast.AugAssign) else _NO_NAMES
    if any(isinstance(n, _BIND_OTHERWISE) for n in nodes):
        parts = (node.target, node.value) if isinstance(node, ast.AugAssign) else (node,)
        read = frozenset(walk_names_read(*parts))
        assigned, certain = frozenset(bound_names(node)), surely_bound(node)
    if isinstance(node, _OTHER_BLOCKS):
        assigned, certain = frozenset(bound_names(node)), _NO_NAMES
    return _Names(read, assigned, read | updated, certain, isinstance(node, _EXITS))


def walk_names_read(*nodes: ast.AST) -> Iterator[str]:
    """The names of the enclosing scope that `nodes` read or delete: without the targets of
    comprehensions; an inner function reads its free names.
    """
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
                yield from walk_names_read(node.value)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                first, *_ = node.generators
                own = bound_names(*(g.target for g in node.generators))
                yield from {*walk_names_read(*child_nodes(node))} - own
                yield from walk_names_read(first.iter)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                body = node.body if isinstance(node.body, list) else [node.body]
                own = {a.arg for a in walk_nodes(node.args) if isinstance(a, ast.arg)}
                inner = {n.id for s in body for n in walk_nodes(s) if isinstance(n, ast.Name)}
                yield from inner - own
                yield from walk_names_read(node.args)
                yield from walk_names_read(*getattr(node, "decorator_list", ()))
            case _:
                yield from walk_names_read(*child_nodes(node))


def _names_of_block(block: Iterable[ast.AST]) -> _Names:
    """The names that the statements of `block` use, one after the other."""
    statements = [_names_of(s) for s in block]
    if len(statements) == 1:
        return statements[0]
    exposed, certain = set[str](), set[str]()
    for names in statements:
        exposed |= names.exposed - certain
        certain |= names.certain
    return _combine(statements, frozenset(exposed), frozenset(certain))


def _combine(parts: Sequence[_Names], exposed: NameSet, certain: NameSet) -> _Names:
    """All reads and assignments of `parts`, with these ``exposed`` and ``certain`` names."""
    return _Names(
        _union(p.reads for p in parts), _union(p.assigned for p in parts), exposed, certain,
        any(p.leaves for p in parts),
    )


def _union(sets: Iterable[NameSet]) -> NameSet:
    return frozenset[str]().union(*sets)


def names_read(nodes: Iterable[ast.AST]) -> NameSet:
    """Every name that is read anywhere in `nodes`, also if it was bound there before, and the free
    names of inner functions: ``t = a; u = t`` reads a and t. A name that ``+=`` or ``del`` changes
    is read, too.
    """
    return _union(_names_of(n).reads for n in nodes)


def live_in_core(block: Sequence[ast.AST], live: NameSet) -> list[NameSet]:
    """The live names before each statement of `block`, which no statement leaves, and last those
    after it, `live`. So it is for blocks of core Python without the ``if …: break`` of a loop; as
    `live_before`, which takes longer.
    """
    out = [live]
    for s in reversed(block):
        names = _names_of(s)
        out.append(names.exposed | (out[-1] - names.certain))
    return out[::-1]


def names_assigned(nodes: Iterable[ast.AST]) -> NameSet:
    """Every name that `nodes` may bind or delete."""
    return _union(_names_of(n).assigned for n in nodes)


def upward_exposed(block: Iterable[ast.AST]) -> NameSet:
    """The names that `block` may read before it has surely bound them. If nothing is live at the
    end of `block`, they are the names that are live at its start.

        t = a + b            a and b; not t, which is bound first
        if c: u = 1          c
        s = s + u            s and u: a path reads u without a binding in the block

    `loop_types` asks it which names a loop carries, `expand` which arguments a function reads.
    """
    return _names_of_block(block).exposed


def live_before(block: Sequence[ast.stmt], exits: LiveOut) -> list[NameSet]:
    """The live names before each statement of `block`, and last those after it: names whose value
    may still be read. ``exits`` has the names that are live where control may leave the block to:
    the next statement, behind the loop (``break``), its head (``continue``), an exception handler.

        y = x * 2        live before: {x, z}
        if y > 0:        live before: {y, z}
            break        (at_break {z})
        s = y            live before: {y};   after it, for exits.next {s}: {s}

    Backwards: live before a statement are the names that it reads first, and those that are live
    after it and that it does not surely bind. Asked by `outline_regions`, for the names that a
    region takes and returns.
    """
    out = [exits.next]
    for s in reversed(block):
        out.append(_live_before_statement(s, replace(exits, next=out[-1])) | exits.at_handler)
    return out[::-1]


def _live_before_statement(s: ast.stmt, exits: LiveOut) -> NameSet:
    """The live names before `s`, without those of an exception handler."""
    names = _names_of(s)
    if not names.leaves:
        return names.exposed | (exits.next - names.certain)
    match s:
        case ast.Return() | ast.Raise():
            return frozenset(walk_names_read(s))
        case ast.Break():
            return exits.at_break
        case ast.Continue():
            return exits.at_continue
        case ast.If(test=test, body=body, orelse=orelse):
            return _read_set(test) | live_before(body, exits)[0] | live_before(orelse, exits)[0]
        case ast.While():
            return live_out_of_loop_body(s, exits).next
        case ast.For(iter=iterable) | ast.AsyncFor(iter=iterable):
            return live_out_of_loop_body(s, exits).next | _read_set(iterable)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            inside = live_out_of_with_body(exits)
            return _read_set(*items) | (
                live_before(body, inside)[0] - frozenset(bound_names(*items))
            )
        case ast.Try():
            return live_before(s.body, live_out_of_try(s, exits)[0])[0]
        case ast.Match(subject=subject, cases=cases):
            inner = (live_before(c.body, exits)[0] for c in cases)
            read = (_read_set(c.pattern, *_optional(c.guard)) for c in cases)
            return exits.next.union(_read_set(subject), *inner, *read)
        case _:
            raise AssertionError(f"no exit: {s!r}")


def live_out_of_loop_body(s: ast.For | ast.AsyncFor | ast.While, exits: LiveOut) -> LiveOut:
    """What is live at the successors of the body of loop `s`, given those of `s` (``exits``);
    ``next`` is what is live at the loop's head. Iterates to the least fixpoint.
    """
    head = live_before(s.orelse, exits)[0]
    head |= _read_set(s.test) if isinstance(s, ast.While) else _read_set(s.target)
    target = frozenset() if isinstance(s, ast.While) else frozenset(bound_names(s.target))
    while True:
        inside = LiveOut(head, exits.next, head, exits.at_handler)
        more = head | (live_before(s.body, inside)[0] - target)
        if more == head:
            return inside
        head = more


def live_out_of_with_body(exits: LiveOut) -> LiveOut:
    """What is live at the successors of the body of a ``with``, given those of the statement
    (``exits``): it may suppress an exception of the body.
    """
    return LiveOut(exits.next, exits.at_break, exits.at_continue, exits.at_handler | exits.next)


def live_out_of_try(s: ast.Try, exits: LiveOut) -> tuple[LiveOut, LiveOut]:
    """What is live at the successors of the body of the ``try`` `s`, and at those of its handlers
    and its ``else``, given those of `s` (``exits``).
    """
    last = live_before(s.finalbody, exits)[0]
    always = last if s.finalbody else _NO_NAMES
    caught = exits.at_handler | always
    ends = LiveOut(last, exits.at_break | always, exits.at_continue | always, caught)
    types = (h.type for h in s.handlers if h.type)
    handled = (live_before(h.body, ends)[0] for h in s.handlers)
    done = live_before(s.orelse, ends)[0]
    here = caught.union(_read_set(*types), *handled)
    return LiveOut(done, ends.at_break, ends.at_continue, here), ends


def _read_set(*nodes: ast.AST) -> NameSet:
    return frozenset(walk_names_read(*nodes))


def _optional(node: ast.expr | None) -> tuple[ast.expr, ...]:
    return () if node is None else (node,)


# -- other questions about a block


def is_only_counted(name: str, block: Iterable[ast.AST]) -> bool:
    """Whether each assignment of `name` in `block` computes it from itself and constants alone, as
    ``n += 1`` and ``n = n + 2`` do.
    """
    for node in walk_nodes(*block):
        match node:
            case ast.Assign(targets=targets, value=value) if name in names_assigned(targets):
                increment = value
            case ast.AugAssign(target=ast.Name(id=changed), value=value) if changed == name:
                increment = value
            case ast.For(target=target) if name in names_assigned([target]):
                return False
            case _:
                continue
        if names_read([increment]) - {name} or not all(
            isinstance(n, _SUM_NODES) for n in walk_nodes(increment)
        ):
            return False
    return True


def always_raises(block: Sequence[ast.stmt]) -> bool:
    """Whether every path through `block` raises, by its form: assignments, expressions and ``if``
    statements that end in ``raise`` or ``assert False``.
    """
    for s in block:
        match s:
            case ast.Raise() | ast.Assert(test=ast.Constant(value=False)):
                return True
            case ast.If(body=body, orelse=orelse) if always_raises(body) and always_raises(orelse):
                return True
            case ast.If() | ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Pass():
                continue
        return False
    return False
