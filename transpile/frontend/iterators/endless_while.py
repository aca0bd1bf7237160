"""Endless ``while`` loops that begin with a break → ``while`` loops with a test."""
from __future__ import annotations

import ast

from ..core_nodes import copy_location, is_plain_break
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on

__all__ = ["endless_while"]

_INVERSE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


@fires_on(ast.While, test=ast.Constant)
def endless_while(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A ``while True`` whose first statement leaves it under a condition goes on while that does
    not hold. Lanes that run such a loop in lockstep then need no flag for the break, and a loop
    that counts becomes a ``for`` (`while_to_for`).

        j = 1
        while True:
            if j > n:
                break
            j = j * 3
    →
        j = 1
        while j <= n:
            j = j * 3

    A comparison of ints is inverted, any other condition gets a ``not``: with a NaN, neither ``<``
    nor ``>=`` holds.
    """
    match node:
        case ast.While(test=ast.Constant(value), body=[first, *rest], orelse=[]) if value:
            if not is_plain_break(first):
                return None
            assert isinstance(first, ast.If)
            loop = ast.While(_inverse(first.test, cx), rest or [ast.Pass()], [])
            return [copy_location(loop, node)]
    return None


def _inverse(test: ast.expr, cx: Context) -> ast.expr:
    """The condition that is true where `test` is false."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Compare(left, [op], [right]) if type(op) in _INVERSE:
            if cx.fact(left).is_int and cx.fact(right).is_int:
                return copy_location(ast.Compare(left, [_INVERSE[type(op)]()], [right]), test)
    return copy_location(ast.UnaryOp(ast.Not(), test), test)
