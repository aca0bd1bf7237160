"""Names bound within expressions → assignments before the statement."""
from __future__ import annotations

import ast

from .context import Context
from .lifting import Lifted, lift_statement

__all__ = ["walrus"]


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
