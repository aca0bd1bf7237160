"""Integer expressions of core Python: constants, sums and differences, folded."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

__all__ = ["integer_constant"]


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
