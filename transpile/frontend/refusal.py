"""Raise Refused with a diagnostic: the region is not compiled, and Python runs it."""
from __future__ import annotations

import ast
from typing import NoReturn

from ..diagnostics import InlinedAt, Refused, Rejection
from .core_nodes import inlined_at, obstacle
from .source import span_of

__all__ = ["NoValue", "UnknownListLength", "refuse_no_value", "refuse", "refuse_unknown_length"]


class NoValue(Refused):
    """Raised where reading a name fails whatever the data are: it is None, or not bound, on every
    path.
    """


class UnknownListLength(Refused):
    """Raised where the length of the list `name` is needed before the loops that fill it have run.
    """

    def __init__(self, rejection: Rejection, helper: InlinedAt | None, name: str) -> None:
        super().__init__(rejection, helper)
        self.name = name


def refuse(
    code: str, message: str, node: ast.AST | None, *, help: str | None = None
) -> NoReturn:
    """Raise Refused with a rejection of that code and message; its span is that of `node`. Where a
    macro has noted a reason with `node` (`Origin.obstacle`), that is the rejection.
    """
    noted = obstacle(node) if node is not None and code.startswith("LOWER_") else None
    if noted is not None:
        raise Refused(noted, inlined_at(node) if node is not None else None)
    span = span_of(node) if node is not None else None
    helper = inlined_at(node) if node is not None else None
    raise Refused(Rejection(code, message, span, help=help), helper)


def refuse_no_value(message: str, node: ast.AST) -> NoReturn:
    """Raise NoValue; the span of the rejection is that of `node`."""
    rejection = Rejection("LOWER_UNSUPPORTED", message, span_of(node))
    raise NoValue(rejection, inlined_at(node))


def refuse_unknown_length(name: str, message: str, node: ast.AST) -> NoReturn:
    """Raise UnknownListLength for the list `name`; the span of the rejection is that of `node`."""
    rejection = Rejection("LOWER_UNSUPPORTED", message, span_of(node))
    raise UnknownListLength(rejection, inlined_at(node), name)
