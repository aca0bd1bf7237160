"""Python trees from text with holes: a capitalised name stands for what is put in its place."""
from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from .copying import copied

__all__ = ["Part", "code", "expression"]

Part: TypeAlias = "str | ast.expr | Sequence[ast.stmt]"
"""A name, an expression, or statements (for a hole that stands as a statement)."""


def code(text: str, at: ast.AST, parts: Mapping[str, Part]) -> list[ast.stmt]:
    """The statements of `text`, its holes filled with copies of `parts`, placed where `at` is."""
    module = copied(_parsed(text))
    for node in ast.walk(module):
        ast.copy_location(node, at)
    return _Fill(parts).block(module.body)


def expression(text: str, at: ast.AST, parts: Mapping[str, Part]) -> ast.expr:
    """The expression of `text`, likewise."""
    (statement,) = code(text, at, parts)
    assert isinstance(statement, ast.Expr), text
    return statement.value


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.parts = parts

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            new = self.visit(s)
            out += new if isinstance(new, list) else [new]
        return out

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        if isinstance(node.value, ast.Name):
            part = self.parts.get(node.value.id)
            if part is not None and not isinstance(part, (str, ast.expr)):
                return [copied(s) for s in part]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        match self.parts.get(node.id):
            case None:
                return node
            case str(name):
                return ast.copy_location(ast.Name(name, node.ctx), node)
            case ast.expr() as part:
                return _in_context(copied(part), node.ctx)
            case _:
                raise AssertionError(f"{node.id} stands for statements, and not alone")


def _in_context(expr: ast.expr, ctx: ast.expr_context) -> ast.expr:
    match expr:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            expr.ctx = ctx
        case ast.Starred(value=value):
            expr.ctx = ctx
            _in_context(value, ctx)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            expr.ctx = ctx
            for e in elts:
                _in_context(e, ctx)
    return expr
