"""Names bound within expressions → assignments before the statement."""
from __future__ import annotations

import ast

from ..below import below, children
from .context import Context
from .firing import fires_on
from .lifting import Lifted, lift_statement

__all__ = ["asked_within", "walrus"]


def asked_within(tree: ast.FunctionDef) -> None:
    """A loop whose condition binds names asks it at the start of its body::

        while (v := x[i]) > 0:
            i += 1
    →
        while True:
            if not (v := x[i]) > 0:
                break
            i += 1
    """
    for loop in below(tree):
        if isinstance(loop, ast.While) and not loop.orelse and _binds(loop.test):
            test = loop.test
            stop = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
            for node in (stop, stop.test, stop.body[0]):
                ast.copy_location(node, test)
            loop.test = ast.copy_location(ast.Constant(True), test)
            loop.body = [stop, *loop.body]


def _binds(e: ast.expr) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in below(e))


def _has_walrus(s: ast.stmt, _: Context) -> bool:
    """Whether an expression of the statement itself, not of its blocks, binds a name."""
    return any(isinstance(e, ast.expr) and _binds(e) for e in children(s))


@fires_on(
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.If, ast.Assert, ast.For,
    ast.While, when=_has_walrus,
)
def walrus(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """In Python's order, and only where Python comes to it.

        if (s := x[0] * 2) > 1 and (t := s + 1) < 9:
            s = s + t
    →
        _t = x[0] * 2
        s = _t
        _t_2 = _t > 1
        if _t_2:
            _t_1 = s + 1
            t = _t_1
            _t_2 = _t_1 < 9
        if _t_2:
            s = s + t
    """
    if not isinstance(node, ast.stmt):
        return None

    def bind(e: ast.expr) -> Lifted | None:
        if not isinstance(e, ast.NamedExpr):
            return None
        value = cx.fresh("t")
        lines = cx.code("NAME = E; TARGET = NAME", NAME=value, E=e.value, TARGET=e.target)
        return Lifted(lines, ast.Name(value, ast.Load()))

    return lift_statement(node, cx, bind)
