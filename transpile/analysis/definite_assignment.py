"""Definite assignment: which names are surely bound after a statement; reads that may be unbound.

A forward dataflow analysis, as Java's definite assignment (Java Language Specification, chapter
16); where paths meet, the names that are bound on both remain. A path that ends in ``return``,
``raise``, ``break`` or ``continue`` has the result None and does not count. The backward question,
which names may still be read, is `liveness`.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import reduce

from ..frontend.ast_names import COMPREHENSIONS, bound_names
from ..frontend.ast_walk import NodeTransformer, all_blocks, child_nodes, copy_tree, walk_nodes
from ..frontend.core_nodes import copy_location

__all__ = [
    "NameSet", "assigned_after", "assigned_after_block", "first_unassigned_read", "may_be_unbound",
    "possibly_bound_before", "surely_bound", "unassigned_names",
]

NameSet = frozenset[str]
"""A set of names; as a state of this analysis, those that are surely bound."""

_NO_NAMES: NameSet = frozenset()


def assigned_after(s: ast.stmt, bound: NameSet, *, completes: bool = False) -> NameSet | None:
    """The names that are surely bound after `s`, given those before it (``bound``); None if every
    path through `s` ends in ``return``, ``raise``, ``break`` or ``continue``. (Of a loop, also of
    ``while True``, the end counts as reached.) The transfer function of the analysis.

        if c: y = 1                       y is not: only one branch binds it
        if c: y = 1
        else: raise ValueError            y is: the other branch does not get to the end
        for i in x: y = i                 neither i nor y: the loop may run no iteration
        while (y := f()) > 0: z = y       y is, by the test, which is evaluated at least once

    Asked by `outline_regions`, for the names that a compiled region must return, and here for
    `may_be_unbound`. ``completes``: assume that no ``with`` suppresses an exception, so that its
    body runs to the end. That holds for a function that is compiled whole: where a statement would
    raise, the call is replayed as Python.
    """
    match s:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return None
        case ast.If(test=test, body=body, orelse=orelse):
            if_true, if_false = (bound | _bound_where(test, value) for value in (True, False))
            return _on_both(
                assigned_after_block(body, if_true, completes=completes),
                assigned_after_block(orelse, if_false, completes=completes),
            )
        case ast.For(iter=head) | ast.AsyncFor(iter=head) | ast.While(test=head):
            # the body does not always run, and it may delete a name
            return _bound_at_each_iteration(s, bound) | surely_bound(head)
        case ast.Match(subject=subject, cases=cases):
            bound |= surely_bound(subject)
            ends = (
                assigned_after_block(c.body, _bound_in_case(c, bound), completes=completes)
                for c in cases
            )
            # no case may match
            return reduce(_on_both, ends, None if any(map(_always_matches, cases)) else bound)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            bound = bound.union(*map(surely_bound, items))
            # else the context manager may suppress an exception of any statement of the body
            return assigned_after_block(body, bound, completes=True) if completes else bound
        case ast.Try():
            # any statement of the body may raise: at the handlers, nothing that it binds is sure
            after_body = assigned_after_block([*s.body, *s.orelse], bound, completes=completes)
            at_handlers = bound - _deleted_names(s.body)
            for h in s.handlers:
                after_body = _on_both(
                    after_body, assigned_after_block(h.body, at_handlers, completes=completes))
            named = {h.name for h in s.handlers if h.name}
            if after_body is None:
                return None
            return assigned_after_block(s.finalbody, after_body - named, completes=completes)
        case ast.Delete(targets=targets):
            return bound - bound_names(*targets)
        case _:
            return bound | surely_bound(s)


def assigned_after_block(
    block: Iterable[ast.stmt], bound: NameSet, *, completes: bool = False
) -> NameSet | None:
    """As `assigned_after`, for the statements of `block` one after the other."""
    after: NameSet | None = bound
    for s in block:
        if after is None:
            return None
        after = assigned_after(s, after, completes=completes)
    return after


def possibly_bound_before(s: ast.stmt, block: Iterable[ast.stmt]) -> NameSet | None:
    """The names that statements of `block` may have bound, or deleted, when control gets to `s`, a
    statement in one of its nested blocks; None if `s` is not in `block`.

        a = 1
        for i in x:
            b = i
            s              a, i, b and c: an earlier iteration may have bound c
            c = b

    The opposite of definite assignment: a name that is not listed is surely unbound.
    """
    names = _NO_NAMES
    for outer in block:
        if outer is s:
            return names
        for inner in all_blocks(outer):
            found = possibly_bound_before(s, inner)
            if found is not None:
                match outer:
                    case ast.If(test=test):
                        return names | bound_names(test) | found
                    case ast.With(items=items):
                        return names | bound_names(*items) | found
                return names | bound_names(outer)
        names |= bound_names(outer)
    return None


def _bound_in_case(case: ast.match_case, bound: NameSet) -> NameSet:
    """The names that are surely bound at the start of the body of `case`, given those after the
    subject (`bound`): also those of the pattern, which are bound if it matches.
    """
    bound |= bound_names(case.pattern)
    return bound | _bound_where(case.guard, True) if case.guard else bound


def _always_matches(case: ast.match_case) -> bool:
    """Whether `case` is ``case _`` or ``case name``, without a guard."""
    is_name = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
    return is_name and case.guard is None


def _bound_at_each_iteration(
    loop: ast.For | ast.AsyncFor | ast.While, bound: NameSet
) -> NameSet:
    """Those of the names `bound` before `loop` that are bound whenever an iteration begins: all but
    those that an iteration may delete and not bind again.
    """
    deleted = _deleted_names(loop.body)
    if bound.isdisjoint(deleted):
        return bound
    if any(isinstance(n, (ast.Break, ast.Continue)) for n in walk_nodes(*loop.body)):
        return bound - deleted
    target = _NO_NAMES if isinstance(loop, ast.While) else surely_bound(loop.target)
    after_body = assigned_after_block(loop.body, bound | target)
    return bound if after_body is None else bound & after_body


def _deleted_names(block: Iterable[ast.AST]) -> NameSet:
    """The names that statements of `block` delete, on some path."""
    names = (n for n in walk_nodes(*block) if isinstance(n, ast.Name))
    return frozenset(n.id for n in names if isinstance(n.ctx, ast.Del))


def _on_both(a: NameSet | None, b: NameSet | None) -> NameSet | None:
    """The names bound on both of two paths that meet; None for a path that does not get there."""
    return b if a is None else a if b is None else a & b


def surely_bound(node: ast.AST) -> NameSet:
    """The names that a simple statement, an expression or a target binds whenever it is evaluated.
    """
    return _bound_where(node, None)


def _bound_where(node: ast.AST, value: bool | None) -> NameSet:
    """The names that evaluating `node` binds if its truth value turns out to be `value`; None: if
    the truth value is unknown.
    """
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
            evaluates_all = value is isinstance(op, ast.And)  # and each operand has this value
            if evaluates_all:
                return known.union(*(_bound_where(e, value) for e in rest))
            return surely_bound(first)
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
    """The first read in `body` of one of the names `local` that may come before any assignment to
    it; None if there is none. ``known``: names that are bound before `body`.

    A ``del`` in `body` is ignored. Inlining asks whether a name of a callee whose code stands in a
    loop may have its value from an earlier iteration: after a ``del`` it has none.
    """
    body = [_WithoutDeletions().visit(copy_tree(s)) for s in body] if _deleted_names(body) else body
    return next(iter(_unassigned_reads(body, known, local)), None)


class _WithoutDeletions(NodeTransformer):
    """``del x`` becomes ``pass``."""

    def visit_Delete(self, node: ast.Delete) -> ast.stmt:
        return copy_location(ast.Pass(), node)


def may_be_unbound(tree: ast.FunctionDef) -> set[str]:
    """The local names of `tree` that may be read before they are bound, where Python raises
    UnboundLocalError.

        if c: y = 1
        return y         →    {"y"}

    A name is listed if one of its reads is reached on some path without an assignment; parameters
    are bound from the start. Macros know these names as `Context.may_be_unbound`, and must neither
    move nor drop a read of one: Python may raise there, so lowering makes a check at that place.
    """
    parameters = [n.arg for n in walk_nodes(tree.args) if isinstance(n, ast.arg)]
    return {n.id for n in _unassigned_reads(tree.body, parameters, bound_names(*tree.body))}


def unassigned_names(body: Sequence[ast.stmt], known: Iterable[str]) -> set[str]:
    """As `may_be_unbound`, for a block: the names that `body` binds and may read before it has
    bound them. ``known``: names that are bound before `body`.
    """
    return {n.id for n in _unassigned_reads(body, known, bound_names(*body))}


def _unassigned_reads(
    body: Sequence[ast.stmt], known: Iterable[str], local: Iterable[str]
) -> list[ast.Name]:
    """The reads in `body` of names in `local` that may be unbound there."""
    reads: list[ast.Name] = []
    _collect_in_block(body, frozenset(known), frozenset(local), reads)
    return reads


def _collect_in_block(
    body: Iterable[ast.stmt], known: NameSet, local: NameSet, reads: list[ast.Name]
) -> None:
    """Appends to `reads` the reads in `body` of `local` names that may be unbound there, if those
    in `known` are bound before it.
    """
    now: NameSet | None = known
    for s in body:
        if now is None:
            return
        _collect_in_statement(s, now, local, reads)
        now = assigned_after(s, now, completes=True)


def _collect_in_statement(
    s: ast.stmt, known: NameSet, local: NameSet, reads: list[ast.Name]
) -> None:
    """As `_collect_in_block`, for one statement."""
    match s:
        case ast.If(test=test, body=body, orelse=orelse) | ast.While(
            test=test, body=body, orelse=orelse
        ):
            if isinstance(s, ast.While):
                known = _bound_at_each_iteration(s, known)
            _collect_in_expression(test, local - known, reads)
            _collect_in_block(body, known | _bound_where(test, True), local, reads)
            _collect_in_block(orelse, known | _bound_where(test, False), local, reads)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            _collect_in_expression(iterable, local - known, reads)
            known = _bound_at_each_iteration(s, known) | surely_bound(iterable)
            _collect_in_block(body, known | surely_bound(target), local, reads)
            _collect_in_block(orelse, known, local, reads)
        case ast.With(items=items, body=body):
            for item in items:
                _collect_in_expression(item, local - known, reads)
                known |= surely_bound(item)
            _collect_in_block(body, known, local, reads)
        case ast.Try(body=body, orelse=orelse, handlers=handlers, finalbody=finalbody):
            _collect_in_block([*body, *orelse], known, local, reads)
            known -= _deleted_names(body)
            for h in handlers:
                if h.type is not None:
                    _collect_in_expression(h.type, local - known, reads)
                _collect_in_block(h.body, known | {h.name or ""}, local, reads)
            known -= _deleted_names([*orelse, *handlers])
            _collect_in_block(finalbody, known, local, reads)
        case ast.Match(subject=subject, cases=cases):
            _collect_in_expression(subject, local - known, reads)
            for case in cases:
                matched = known | surely_bound(subject) | bound_names(case.pattern)
                for e in (case.pattern, *([case.guard] if case.guard else [])):
                    _collect_in_expression(e, local - matched, reads)
                _collect_in_block(case.body, _bound_in_case(case, matched), local, reads)
        case ast.Return() | ast.Raise():
            _collect_in_expression(s, local - known, reads)
        case _:
            named = {n.target.id for n in walk_nodes(s) if isinstance(n, ast.NamedExpr)}
            _collect_in_expression(s, local - known - named, reads)


def _collect_in_expression(node: ast.AST, unbound: NameSet, reads: list[ast.Name]) -> None:
    """Appends to `reads` the names in `node` that are in `unbound` and that it reads or deletes.
    ``x += 1`` reads x. Targets of comprehensions in `node` count as bound.
    """
    if not unbound:
        return
    comprehensions = [n for n in walk_nodes(node) if isinstance(n, COMPREHENSIONS)]
    unbound -= bound_names(*(g.target for c in comprehensions for g in c.generators))
    names = [n for n in walk_nodes(node) if isinstance(n, ast.Name)]
    names = [n for n in names if not isinstance(n.ctx, ast.Store)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        names.append(node.target)
    reads += (n for n in names if n.id in unbound)
