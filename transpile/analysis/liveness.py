"""Liveness: reads and assignments of a block, upward-exposed reads, definite assignment.

Two analyses. `_names_of` is the standard bottom-up one: for each statement the names that it reads,
may assign, surely assigns, and reads before it has surely assigned them ("upward-exposed"); results
are cached by node, so a tree that was analysed must not change. `_UnassignedReads` walks forward
with the set of names that are surely bound, and is exact about paths that end in ``return``,
``break`` or ``raise``. Lowering, the macros and the inliner use both.
"""
from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..frontend.ast_names import COMPREHENSIONS, bound_names
from ..frontend.ast_walk import walk_nodes
from ..frontend.core_nodes import ReplayIf

__all__ = [
    "names_assigned", "is_only_counted", "upward_exposed",
    "always_raises", "names_read", "names_read_after", "may_be_unbound", "first_unassigned_read",
]

_SUM_NODES = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp)


class _Names(NamedTuple):
    """The names that a node uses."""

    reads: frozenset[str]
    """Read anywhere in it."""
    assigned: frozenset[str]
    """Bound or deleted on some path."""
    exposed: frozenset[str]
    """Maybe read before they are surely bound."""
    certain: frozenset[str]
    """Bound on every path."""


_cache: weakref.WeakKeyDictionary[ast.AST, _Names] = weakref.WeakKeyDictionary()
"""By node: lowering asks about a loop's statements each time that it lowers a loop around it."""


def _names_of(node: ast.AST) -> _Names:
    """The names that `node` uses, from the cache."""
    names = _cache.get(node)
    if names is None:
        _cache[node] = names = _compute_names(node)
    return names


def _compute_names(node: ast.AST) -> _Names:
    """The names that `node` uses. A loop may run no iteration, so nothing in it is certain. Of a
    `ReplayIf` only the code that is compiled counts.
    """
    match node:
        case ReplayIf(test=test, orelse=orelse):
            tested, then = _names_of(test), _names_of_block(orelse)
            return _combine((tested, then), tested.reads | then.exposed, then.certain)
        case ast.If(test=test, body=body, orelse=orelse):
            tested, then = _names_of(test), _names_of_block(body)
            other = _names_of_block(orelse)
            exposed = tested.reads | then.exposed | other.exposed
            return _combine((tested, then, other), exposed, then.certain & other.certain)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            targets, iterated = _names_of(target), _names_of(iterable)
            inside = _names_of_block(body)
            exposed = iterated.reads | (inside.exposed - targets.assigned)
            parts = (targets, iterated, inside, _names_of_block(orelse))
            return _combine(parts, exposed, frozenset())
        case ast.While(test=test, body=body, orelse=orelse):
            tested, inside = _names_of(test), _names_of_block(body)
            exposed = tested.reads | inside.exposed
            return _combine((tested, inside, _names_of_block(orelse)), exposed, frozenset())
    names = [n for n in walk_nodes(node) if isinstance(n, ast.Name)]
    read = frozenset(n.id for n in names if not isinstance(n.ctx, ast.Store))
    bound = frozenset(n.id for n in names if isinstance(n.ctx, ast.Store))
    deleted = frozenset(n.id for n in names if isinstance(n.ctx, ast.Del))
    is_update = isinstance(node, ast.AugAssign)  # which reads its target
    updated = _names_of(node.target).assigned if is_update else frozenset[str]()
    return _Names(read, bound | deleted, read | updated, bound)


def _names_of_block(block: Iterable[ast.AST]) -> _Names:
    """The names that the statements of `block` use, one after the other."""
    statements = [_names_of(s) for s in block]
    exposed, certain = set[str](), set[str]()
    for names in statements:
        exposed |= names.exposed - certain
        certain |= names.certain
    return _combine(statements, frozenset(exposed), frozenset(certain))


def _combine(
    parts: Sequence[_Names], exposed: frozenset[str], certain: frozenset[str]
) -> _Names:
    """All reads and assignments of `parts`, with these ``exposed`` and ``certain`` names."""
    return _Names(
        _union(p.reads for p in parts), _union(p.assigned for p in parts), exposed, certain
    )


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def names_read(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Every name read anywhere in `nodes`."""
    return _union(_names_of(n).reads for n in nodes)


def names_read_after(block: Sequence[ast.AST]) -> list[frozenset[str]]:
    """For each statement of `block`, and last for its end, the names that it or a later statement
    of `block` reads.
    """
    out = [frozenset[str]()]
    for s in reversed(block):
        out.append(out[-1] | _names_of(s).reads)
    return out[::-1]


def names_assigned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Every name that `nodes` may bind or delete."""
    return _union(_names_of(n).assigned for n in nodes)


def upward_exposed(block: Iterable[ast.AST]) -> frozenset[str]:
    """Names that `block` may read before it has certainly assigned them."""
    return _names_of_block(block).exposed


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


Names = frozenset[str]


def first_unassigned_read(
    body: Sequence[ast.stmt], bound: Iterable[str], local: Iterable[str]
) -> ast.Name | None:
    """The first read in `body` of one of the names `local` that may not be bound there; None if
    there is none. ``bound``: names that are bound before `body`.
    """
    return next(iter(_unassigned_reads(body, bound, local)), None)


def may_be_unbound(tree: ast.FunctionDef) -> set[str]:
    """The local names of `tree` that may be read before they are bound."""
    parameters = [n.arg for n in walk_nodes(tree.args) if isinstance(n, ast.arg)]
    return {n.id for n in _unassigned_reads(tree.body, parameters, bound_names(*tree.body))}


def _unassigned_reads(
    body: Sequence[ast.stmt], bound: Iterable[str], local: Iterable[str]
) -> list[ast.Name]:
    """All such reads as `first_unassigned_read` gives the first of."""
    search = _UnassignedReads(frozenset(local))
    search.block(body, frozenset(bound))
    return search.reads


class _UnassignedReads:
    """Forward analysis of definite assignment. The methods take the names that are surely bound
    before some code, and return those after it, None if nothing runs after it. ``reads``: reads of
    ``local`` names that may be unbound, in the order of the walk.
    """

    def __init__(self, local: Names) -> None:
        self.local = local
        self.reads: list[ast.Name] = []

    def block(self, body: Sequence[ast.stmt], bound: Names) -> Names | None:
        """The names bound after the statements of `body`."""
        now: Names | None = bound
        for s in body:
            if now is None:
                return None
            now = self.statement(s, now)
        return now

    def statement(self, s: ast.stmt, bound: Names) -> Names | None:
        """The names bound after `s`. A loop binds none, as it may run no iteration. Reads in
        ``try`` and ``with`` count as bound if the statement binds them anywhere.
        """
        match s:
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.read(s, bound)
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                self.read(test, bound)
                bound |= bound_names(test)
                return _bound_on_both(self.block(body, bound), self.block(orelse, bound))
            case ast.While(test=test, body=body, orelse=orelse):
                self.read(test, bound)
                bound |= bound_names(test)
                self.block(body, bound)
                self.block(orelse, bound)
                return bound
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                self.read(iterable, bound)
                self.block(body, bound | bound_names(iterable, target))
                self.block(orelse, bound | bound_names(iterable))
                return bound | bound_names(iterable)
            case ast.Try() | ast.With():
                self.read(s, bound | bound_names(s))
                return bound
        self.read(s, bound | {n.target.id for n in walk_nodes(s) if isinstance(n, ast.NamedExpr)})
        return bound | bound_names(s)

    def read(self, node: ast.AST, bound: Names) -> None:
        """Adds the reads in `node` of names that may be unbound; targets of comprehensions in it
        count as bound.
        """
        comprehensions = [n for n in walk_nodes(node) if isinstance(n, COMPREHENSIONS)]
        targets = bound_names(*(g.target for c in comprehensions for g in c.generators))
        unbound = self.local - bound - targets
        reads = [
            n for n in walk_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        ]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            reads.append(node.target)
        self.reads += (n for n in reads if n.id in unbound)


def _bound_on_both(a: Names | None, b: Names | None) -> Names | None:
    """The names bound on two paths that meet; None for a path that does not get there."""
    if a is None or b is None:
        return a if b is None else b
    return a & b
