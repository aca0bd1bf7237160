"""Integer constants of core Python: the value of a literal, also of a negative one."""
from __future__ import annotations

import ast

__all__ = ["integer_constant"]


def integer_constant(e: ast.expr | None, default: int | None = None) -> int | None:
    """The value of the integer constant `e`; None where `e` is another expression, `default` where
    `e` is None (no argument).
    """
    match e:
        case None:
            return default
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None
