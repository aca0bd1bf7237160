"""Python ints in core Python: constants, sums and differences."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .context import Context

__all__ = ["integer_constant", "minus", "plus"]


def integer_constant(e: ast.expr | None, default: int | None = None) -> int | None:
    """The number that `e` is, None where it is none; `default` where there is no `e`."""
    match e:
        case None:
            return default
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def plus(a: ast.expr, b: ast.expr, cx: Context) -> ast.expr:
    """``a + b`` of ints."""
    match integer_constant(a), integer_constant(b):
        case 0, _:
            return b
        case _, 0:
            return a
        case int(x), int(y):
            return ast.copy_location(ast.Constant(x + y), cx.at)
    return cx.expr("A + B", A=a, B=b)


def minus(a: ast.expr, b: ast.expr, cx: Context) -> ast.expr:
    """``a - b`` of ints."""
    match integer_constant(a), integer_constant(b):
        case _, 0:
            return a
        case int(x), int(y) if x >= y:
            return ast.copy_location(ast.Constant(x - y), cx.at)
        case None, int(y) if isinstance(a, ast.BinOp) and isinstance(a.op, ast.Sub):
            less = integer_constant(a.right, None)
            if less is not None:
                return minus(a.left, ast.Constant(less + y), cx)
    return cx.expr("A - B", A=a, B=b)
