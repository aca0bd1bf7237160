"""Giving a region back to Python."""
from __future__ import annotations

import ast
from typing import NoReturn

from ..places import place_of
from ..rejections import Refused, Rejection
from ..source import span_of

__all__ = ["refuse"]


def refuse(
    code: str, message: str, node: ast.AST | None, *, help: str | None = None
) -> NoReturn:
    """Raises Refused; `node` is what is to blame."""
    span = span_of(node) if node is not None else None
    place = place_of(node) if node is not None else 0
    raise Refused(Rejection(code, message, span, help=help), place)
