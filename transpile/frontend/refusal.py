"""Raise Refused with a diagnostic: the region is not compiled, and Python runs it."""
from __future__ import annotations

import ast
from typing import NoReturn

from ..diagnostics import InlinedAt, Refused, Rejection
from .core_nodes import inlined_at
from .source import span_of

__all__ = ["NoValue", "UnknownListLength", "refuse_no_value", "refuse", "refuse_unknown_length"]


class NoValue(Refused):
    """Whatever the data, what is asked of a name here raises, for it is None or not bound."""


class UnknownListLength(Refused):
    """How long the list of this name gets is not known before the loops that fill it."""

    def __init__(self, rejection: Rejection, helper: InlinedAt | None, name: str) -> None:
        super().__init__(rejection, helper)
        self.name = name


def refuse(
    code: str, message: str, node: ast.AST | None, *, help: str | None = None
) -> NoReturn:
    """Raises Refused; `node` is what is to blame."""
    span = span_of(node) if node is not None else None
    helper = inlined_at(node) if node is not None else None
    raise Refused(Rejection(code, message, span, help=help), helper)


def refuse_no_value(message: str, node: ast.AST) -> NoReturn:
    """Raises NoValue; `node` is what is to blame."""
    rejection = Rejection("LOWER_UNSUPPORTED", message, span_of(node))
    raise NoValue(rejection, inlined_at(node))


def refuse_unknown_length(name: str, message: str, node: ast.AST) -> NoReturn:
    """Raises Unforeseen; `node` is what is to blame."""
    rejection = Rejection("LOWER_UNSUPPORTED", message, span_of(node))
    raise UnknownListLength(rejection, inlined_at(node), name)
