"""Definite assignment: which names are surely bound behind a statement, forwards."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..frontend.ast_names import COMPREHENSIONS, bound_names
from ..frontend.ast_walk import child_nodes, walk_nodes

__all__ = [
    "NameSet", "assigned_after", "assigned_after_block", "first_unassigned_read", "may_be_unbound",
    "surely_bound",
]

NameSet = frozenset[str]

_NO_NAMES: NameSet = frozenset()



def assigned_after(s: ast.stmt, have: NameSet, *, completes: bool = False) -> NameSet | None:
    """The names definitely bound after `s`, given those before; None if its end is unreachable.

    ``completes``: what a ``try`` or a ``with`` may bind is taken to be bound, for a function that
    is compiled whole: where one of its statements raises, the call is replayed, or a test stands
    ahead of it.
    """
    match s:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return None
        case ast.If(test=test, body=body, orelse=orelse):
            return _on_both(
                assigned_after_block(body, have | _bound_where(test, True), completes=completes),
                assigned_after_block(orelse, have | _bound_where(test, False), completes=completes),
            )
        case ast.For(iter=head) | ast.AsyncFor(iter=head) | ast.While(test=head):
            return _at_each_turn(s, have) | surely_bound(head)
        case ast.Try() | ast.With() | ast.AsyncWith() | ast.Match() if completes:
            return have | bound_names(s)
        case ast.Match(subject=subject):
            return have | surely_bound(subject)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return have.union(*map(surely_bound, items))
        case ast.Try():
            done = assigned_after_block([*s.body, *s.orelse], have)
            caught = have - _deleted(s.body)
            for h in s.handlers:
                done = _on_both(done, assigned_after_block(h.body, caught))
            named = {h.name for h in s.handlers if h.name}
            return None if done is None else assigned_after_block(s.finalbody, done - named)
        case ast.Delete(targets=targets):
            return have - bound_names(*targets)
        case _:
            return have | surely_bound(s)


def assigned_after_block(
    block: Iterable[ast.stmt], have: NameSet, *, completes: bool = False
) -> NameSet | None:
    """The names definitely bound after `block`, given those before; None if its end is unreachable.
    """
    known: NameSet | None = have
    for s in block:
        if known is None:
            return None
        known = assigned_after(s, known, completes=completes)
    return known


def _at_each_turn(loop: ast.For | ast.AsyncFor | ast.While, have: NameSet) -> NameSet:
    """Of the names that are bound before `loop`, those that are when any of its turns begins."""
    if have.isdisjoint(gone := _deleted(loop.body)):
        return have
    leaves = any(isinstance(n, (ast.Break, ast.Continue)) for n in walk_nodes(*loop.body))
    target = _NO_NAMES if isinstance(loop, ast.While) else surely_bound(loop.target)
    after = assigned_after_block(loop.body, have | target)
    return have - gone if leaves else have if after is None else have & after


def _deleted(block: Iterable[ast.AST]) -> NameSet:
    names = (n for n in walk_nodes(*block) if isinstance(n, ast.Name))
    return frozenset(n.id for n in names if isinstance(n.ctx, ast.Del))


def _on_both(a: NameSet | None, b: NameSet | None) -> NameSet | None:
    return b if a is None else a if b is None else a & b


def surely_bound(node: ast.AST) -> NameSet:
    """The names that a simple statement, an expression or a target binds whenever it is evaluated.
    """
    return _bound_where(node, None)


def _bound_where(node: ast.AST, value: bool | None) -> NameSet:
    """As `surely_bound`, where `node` has this truth value; None: whatever it has."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return frozenset({name})
        case ast.Name() | ast.Constant() | ast.Lambda() | ast.Delete():
            return frozenset()
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.alias():
            return frozenset(bound_names(node))
        case ast.AnnAssign(value=None):
            return frozenset()
        case ast.NamedExpr(target=ast.Name(id=name), value=given):
            return _bound_where(given, value) | {name}
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _bound_where(operand, None if value is None else not value)
        case ast.BoolOp(op=op, values=[first, *rest]):
            known = _bound_where(first, value)
            every = value is isinstance(op, ast.And)  # then each operand has this value
            return known.union(*(_bound_where(e, value) for e in rest)) if every else (
                surely_bound(first)
            )
        case ast.IfExp(test=test, body=body, orelse=orelse):
            then = _bound_where(test, True) | _bound_where(body, value)
            return then & (_bound_where(test, False) | _bound_where(orelse, value))
        case ast.Compare(left=left, comparators=[right, *_]):
            return surely_bound(left) | surely_bound(right)
        case ast.Assert(test=test):
            return _bound_where(test, True)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return surely_bound(node.generators[0].iter)
    return frozenset[str]().union(*map(surely_bound, child_nodes(node)))


# -- reads of names that may be unbound


def first_unassigned_read(
    body: Sequence[ast.stmt], known: Iterable[str], local: Iterable[str]
) -> ast.Name | None:
    """The first read of one of the names `local` that may not be bound, given that those in `known`
    are.
    """
    return next(iter(_unassigned_reads(body, known, local)), None)


def may_be_unbound(tree: ast.FunctionDef) -> set[str]:
    """The names of `tree` that may be read before they are bound."""
    given = [n.arg for n in walk_nodes(tree.args) if isinstance(n, ast.arg)]
    return {n.id for n in _unassigned_reads(tree.body, given, bound_names(*tree.body))}


def _unassigned_reads(
    body: Sequence[ast.stmt], known: Iterable[str], local: Iterable[str]
) -> list[ast.Name]:
    found: list[ast.Name] = []
    _note_block(body, frozenset(known), frozenset(local), found)
    return found


def _note_block(
    body: Iterable[ast.stmt], known: NameSet, local: NameSet, found: list[ast.Name]
) -> None:
    """Appends the reads in `body` of `local` names that may not be bound, given `known`."""
    now: NameSet | None = known
    for s in body:
        if now is None:
            return
        _note_statement(s, now, local, found)
        now = assigned_after(s, now, completes=True)


def _note_statement(
    s: ast.stmt, known: NameSet, local: NameSet, found: list[ast.Name]
) -> None:
    match s:
        case ast.If(test=test, body=body, orelse=orelse) | ast.While(
            test=test, body=body, orelse=orelse
        ):
            known = _at_each_turn(s, known) if isinstance(s, ast.While) else known
            _note_reads(test, local - known, found)
            _note_block(body, known | _bound_where(test, True), local, found)
            _note_block(orelse, known | _bound_where(test, False), local, found)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            _note_reads(iterable, local - known, found)
            known = _at_each_turn(s, known) | surely_bound(iterable)
            _note_block(body, known | surely_bound(target), local, found)
            _note_block(orelse, known, local, found)
        case ast.Try() | ast.With():
            _note_reads(s, local - known - bound_names(s), found)
        case ast.Return() | ast.Raise():
            _note_reads(s, local - known, found)
        case _:
            named = {n.target.id for n in walk_nodes(s) if isinstance(n, ast.NamedExpr)}
            _note_reads(s, local - known - named, found)


def _note_reads(node: ast.AST, missing: NameSet, found: list[ast.Name]) -> None:
    """Appends the reads and deletions of `missing` names in `node`; comprehensions bind their own.
    """
    if not missing:
        return
    within = [n for n in walk_nodes(node) if isinstance(n, COMPREHENSIONS)]
    missing -= bound_names(*(g.target for c in within for g in c.generators))
    names = [n for n in walk_nodes(node) if isinstance(n, ast.Name)]
    read = [n for n in names if not isinstance(n.ctx, ast.Store)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        read.append(node.target)
    found += (n for n in read if n.id in missing)
