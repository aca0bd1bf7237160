"""Liveness: reads and assignments of a block, upward-exposed reads, definite assignment."""
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

_OF_SUMS = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp)


class _Names(NamedTuple):
    """The names that a node reads, binds, may read before it has surely bound them, and binds on
    every path.
    """

    reads: frozenset[str]
    assigned: frozenset[str]
    exposed: frozenset[str]
    certain: frozenset[str]


_known: weakref.WeakKeyDictionary[ast.AST, _Names] = weakref.WeakKeyDictionary()
"""Of nodes that no longer change: each is asked again whenever a loop around it is lowered."""


def _of(node: ast.AST) -> _Names:
    found = _known.get(node)
    if found is None:
        _known[node] = found = _found(node)
    return found


def _found(node: ast.AST) -> _Names:
    match node:
        case ReplayIf(test=test, orelse=orelse):
            asked, then = _of(test), _block(orelse)
            return _together((asked, then), asked.reads | then.exposed, then.certain)
        case ast.If(test=test, body=body, orelse=orelse):
            asked, then, other = _of(test), _block(body), _block(orelse)
            exposed = asked.reads | then.exposed | other.exposed
            return _together((asked, then, other), exposed, then.certain & other.certain)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            taken, over, inside = _of(target), _of(iterable), _block(body)
            exposed = over.reads | (inside.exposed - taken.assigned)
            return _together((taken, over, inside, _block(orelse)), exposed, frozenset())
        case ast.While(test=test, body=body, orelse=orelse):
            asked, inside = _of(test), _block(body)
            exposed = asked.reads | inside.exposed
            return _together((asked, inside, _block(orelse)), exposed, frozenset())
    names = [n for n in walk_nodes(node) if isinstance(n, ast.Name)]
    read = frozenset(n.id for n in names if not isinstance(n.ctx, ast.Store))
    bound = frozenset(n.id for n in names if isinstance(n.ctx, ast.Store))
    gone = frozenset(n.id for n in names if isinstance(n.ctx, ast.Del))
    changed = _of(node.target).assigned if isinstance(node, ast.AugAssign) else frozenset[str]()
    return _Names(read, bound | gone, read | changed, bound)


def _block(block: Iterable[ast.AST]) -> _Names:
    every = [_of(s) for s in block]
    exposed, certain = set[str](), set[str]()
    for one in every:
        exposed |= one.exposed - certain
        certain |= one.certain
    return _together(every, frozenset(exposed), frozenset(certain))


def _together(
    parts: Sequence[_Names], exposed: frozenset[str], certain: frozenset[str]
) -> _Names:
    return _Names(
        _union(p.reads for p in parts), _union(p.assigned for p in parts), exposed, certain
    )


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def names_read(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Every name read anywhere in `nodes`."""
    return _union(_of(n).reads for n in nodes)


def names_read_after(block: Sequence[ast.AST]) -> list[frozenset[str]]:
    """For each statement of `block`, and for its end, the names that are read from there on."""
    out = [frozenset[str]()]
    for s in reversed(block):
        out.append(out[-1] | _of(s).reads)
    return out[::-1]


def names_assigned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Every name that `nodes` bind."""
    return _union(_of(n).assigned for n in nodes)


def upward_exposed(block: Iterable[ast.AST]) -> frozenset[str]:
    """Names that `block` may read before it has certainly assigned them."""
    return _block(block).exposed


def is_only_counted(name: str, block: Iterable[ast.AST]) -> bool:
    """Whether `block` changes `name` only by adding constants to it."""
    for node in walk_nodes(*block):
        match node:
            case ast.Assign(targets=targets, value=value) if name in names_assigned(targets):
                steps = value
            case ast.AugAssign(target=ast.Name(id=changed), value=value) if changed == name:
                steps = value
            case ast.For(target=target) if name in names_assigned([target]):
                return False
            case _:
                continue
        if names_read([steps]) - {name} or not all(
            isinstance(n, _OF_SUMS) for n in walk_nodes(steps)
        ):
            return False
    return True


def always_raises(block: Sequence[ast.stmt]) -> bool:
    """Whether every path through `block` raises."""
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
    body: Sequence[ast.stmt], known: Iterable[str], local: Iterable[str]
) -> ast.Name | None:
    """The first read of one of the names `local` that may not be bound, given that those in `known`
    are.
    """
    return next(iter(_reads_of(body, known, local)), None)


def may_be_unbound(tree: ast.FunctionDef) -> set[str]:
    """The names of `tree` that may be read before they are bound."""
    given = [n.arg for n in walk_nodes(tree.args) if isinstance(n, ast.arg)]
    return {n.id for n in _reads_of(tree.body, given, bound_names(*tree.body))}


def _reads_of(
    body: Sequence[ast.stmt], known: Iterable[str], local: Iterable[str]
) -> list[ast.Name]:
    found = _UnassignedReads(frozenset(local))
    found.block(body, frozenset(known))
    return found.early


class _UnassignedReads:
    def __init__(self, local: Names) -> None:
        self.local = local
        self.early: list[ast.Name] = []

    def block(self, body: Sequence[ast.stmt], known: Names) -> Names | None:
        """What is bound after `body`; None where nothing comes after it."""
        now: Names | None = known
        for s in body:
            if now is None:
                return None
            now = self.statement(s, now)
        return now

    def statement(self, s: ast.stmt, known: Names) -> Names | None:
        match s:
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.read(s, known)
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                self.read(test, known)
                known |= bound_names(test)
                return _either(self.block(body, known), self.block(orelse, known))
            case ast.While(test=test, body=body, orelse=orelse):
                self.read(test, known)
                known |= bound_names(test)
                self.block(body, known)
                self.block(orelse, known)
                return known
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                self.read(iterable, known)
                self.block(body, known | bound_names(iterable, target))
                self.block(orelse, known | bound_names(iterable))
                return known | bound_names(iterable)
            case ast.Try() | ast.With():
                self.read(s, known | bound_names(s))
                return known
        self.read(s, known | {n.target.id for n in walk_nodes(s) if isinstance(n, ast.NamedExpr)})
        return known | bound_names(s)

    def read(self, node: ast.AST, known: Names) -> None:
        """Notes what `node` reads; comprehensions bind their own."""
        within = [n for n in walk_nodes(node) if isinstance(n, COMPREHENSIONS)]
        missing = (
            self.local - known - bound_names(*(g.target for c in within for g in c.generators))
        )
        read = [
            n for n in walk_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        ]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read.append(node.target)
        self.early += (n for n in read if n.id in missing)


def _either(a: Names | None, b: Names | None) -> Names | None:
    return a & b if a is not None and b is not None else a if b is None else b
