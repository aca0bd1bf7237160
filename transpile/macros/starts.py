"""What a fold of an array may start from: a number that stands in the source."""
from __future__ import annotations

import ast

from loopir.types import DTYPES

from .context import Context

__all__ = ["may_start"]

_MOST = 60000  # what all floats reach


def may_start(initial: ast.expr, name: str, cx: Context) -> bool:
    """Whether `initial` is a number that an element of dtype `name` can be, or be rounded to."""
    value, kind = _number(initial, cx), DTYPES[name].kind if name in DTYPES else ""
    if kind in ("i", "u"):
        return type(value) is int and DTYPES[name].low <= value <= DTYPES[name].high
    return kind == "f" and value is not None and (
        abs(value) <= _MOST or abs(value) == float("inf")
    )


def _number(e: ast.expr, cx: Context) -> int | float | None:
    match e:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _number(operand, cx)
            return None if number is None else -number
    value = e.value if isinstance(e, ast.Constant) else cx.resolve(e)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
