"""Lists of small lists that nobody changes, or hands on → lists of tuples."""
from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from ..below import below
from .copying import copied
from .names import bindings
from .tupled import MOST, added

__all__ = ["rows_as_tuples"]


def rows_as_tuples(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A copy of `tree` in which displays of lists that are items of a list are tuples, where these
    are only asked for their own items, or an array of them; `tree` itself where there are none.

        rows = []                          rows = []
        while a < n:                       while a < n:
            rows.append([a, b])      →         rows.append((a, b))
    """
    if not any(isinstance(e, ast.List) for n in below(tree) for _, es in _given(n) for e in es):
        return tree
    new = copied(tree)
    others = {a.arg for a in below(new.args) if isinstance(a, ast.arg)}
    known = {e for n in below(*new.body) for e in _asked(n)}
    others |= {n.id for n in below(*new.body) if isinstance(n, ast.Name) and n not in known}
    rows: dict[str, list[ast.expr]] = {}
    for n in below(*new.body):
        for name, items in _given(n):
            rows.setdefault(name, []).extend(items)
    found = [e for name, items in rows.items() if name not in others and _alike(items)
             for e in items]
    return _Tuples(found).visit(new) if found else tree


class _Tuples(ast.NodeTransformer):
    def __init__(self, rows: Collection[ast.expr]) -> None:
        self.rows = set(rows)

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        row = ast.Tuple(node.elts, node.ctx)
        return ast.copy_location(row, node) if node in self.rows else node


def _alike(rows: Collection[ast.expr]) -> bool:
    """Whether all are displays of lists of one length."""
    shown = [e.elts for e in rows if isinstance(e, ast.List)]
    plain = not any(isinstance(e, ast.Starred) for elts in shown for e in elts)
    lengths = set(map(len, shown))
    return plain and len(shown) == len(rows) and len(lengths) == 1 and 0 < lengths.pop() <= MOST


def _given(n: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """The lists to which `n` gives items."""
    for to, value in bindings(n):
        if isinstance(to, ast.Name) and isinstance(value, (ast.List, ast.ListComp)):
            yield to.id, value.elts if isinstance(value, ast.List) else [value.elt]
    match n:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")):
            yield name, list(added(n, name))


def _asked(n: ast.AST) -> Iterator[ast.expr]:
    """Names in `n` of what may be a list, of which it is the same whether its items are tuples."""
    yield from (to for to, e in bindings(n) if isinstance(e, (ast.List, ast.ListComp)))
    match n:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Subscript(value=of, slice=at)) | (
            ast.Subscript(value=ast.Subscript(value=of, slice=at), ctx=ast.Load())
        ) if not isinstance(at, ast.Slice):
            yield of
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=of, attr=attr))) | ast.Assign(
            targets=[ast.Tuple()], value=ast.Call(func=ast.Attribute(value=of, attr="pop" as attr))
        ) if attr in ("append", "clear", "pop"):
            yield of
        case ast.Call(func=ast.Name(id="len"), args=[of]) | ast.Call(
            func=ast.Attribute(attr="array" | "asarray"), args=[of, *_]
        ):
            yield of
        case ast.For(target=ast.Tuple(), iter=of) | ast.comprehension(target=ast.Tuple(), iter=of):
            yield of
        case ast.If(test=of) | ast.While(test=of) | ast.UnaryOp(op=ast.Not(), operand=of):
            yield of
