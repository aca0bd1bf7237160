"""Names that a body may read unbound: in a second call they would have the values of the first."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..below import below
from .names import COMPREHENSIONS, bound

__all__ = ["may_be_unbound", "unassigned"]

Names = frozenset[str]


def unassigned(
    body: Sequence[ast.stmt], known: Iterable[str], local: Iterable[str]
) -> ast.Name | None:
    """The first read of one of `local` that need not have a value, where those `known` have one."""
    return next(iter(_reads(body, known, local)), None)


def may_be_unbound(tree: ast.FunctionDef) -> set[str]:
    """The names of `tree` that are read where they need not have a value."""
    given = [n.arg for n in below(tree.args) if isinstance(n, ast.arg)]
    return {n.id for n in _reads(tree.body, given, bound(*tree.body))}


def _reads(
    body: Sequence[ast.stmt], known: Iterable[str], local: Iterable[str]
) -> list[ast.Name]:
    found = _Reads(frozenset(local))
    found.block(body, frozenset(known))
    return found.early


class _Reads:
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
                known |= bound(test)
                return _either(self.block(body, known), self.block(orelse, known))
            case ast.While(test=test, body=body, orelse=orelse):
                self.read(test, known)
                known |= bound(test)
                self.block(body, known)
                self.block(orelse, known)
                return known
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                self.read(iterable, known)
                self.block(body, known | bound(iterable, target))
                self.block(orelse, known | bound(iterable))
                return known | bound(iterable)
            case ast.Try() | ast.With():
                self.read(s, known | bound(s))
                return known
        self.read(s, known | {n.target.id for n in below(s) if isinstance(n, ast.NamedExpr)})
        return known | bound(s)

    def read(self, node: ast.AST, known: Names) -> None:
        """Notes what `node` reads; comprehensions bind their own."""
        within = [n for n in below(node) if isinstance(n, COMPREHENSIONS)]
        missing = self.local - known - bound(*(g.target for c in within for g in c.generators))
        read = [n for n in below(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read.append(node.target)
        self.early += (n for n in read if n.id in missing)


def _either(a: Names | None, b: Names | None) -> Names | None:
    return a & b if a is not None and b is not None else a if b is None else b
