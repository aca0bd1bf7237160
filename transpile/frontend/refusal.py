"""Raise Refused with a diagnostic: the region is not compiled, and Python runs it."""
from __future__ import annotations

import ast
from difflib import get_close_matches
from typing import NoReturn

from ..diagnostics import InlinedAt, Refused, Rejection, family_of
from .core_nodes import inlined_at, obstacle
from .defining_modules import is_stand_in
from .source import span_of

__all__ = [
    "NoValue", "UnknownListLength", "refuse", "refuse_missing_attribute", "refuse_no_value",
    "refuse_unknown_length",
]


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
    code: str, message: str, node: ast.AST | None, *, help: str | None = None,
    note: str | None = None,
) -> NoReturn:
    """Leave code to Python: raise Refused with a rejection of that code and message, at the place
    of `node`. Macros and lowering call this where they have no faithful translation::

        refuse("LOWER_TYPE", "`x` is a dict of strs, which is not compiled", node)

    - `node`: what cannot be compiled, the smallest one that shows it; None: the whole function. If
      it was inlined, the exception has the helper's line as well (`InlinedAt`).
    - ``message``: one lower-case sentence, names of the program in backquotes; they are translated
      to the user's names later (`UserTerms`).
    - ``help``: what to do about it; None: the help of the code (`with_help`).
    - ``note``: a fact that helps to find the cause.

    Lowering may stumble over a node for which a macro knew the reason better, and has noted it
    (`note_obstacle`): then that is the rejection.

    Who catches it: the boundary of a region, or the dispatcher (`rejection_of`).
    """
    if node is None:
        raise Refused(Rejection(code, message, None, note=note, help=help), None)
    noted = obstacle(node) if family_of(code) == "LOWER" else None
    rejection = noted or Rejection(code, message, span_of(node), note=note, help=help)
    raise Refused(rejection, inlined_at(node))


def refuse_missing_attribute(kind: type, owner: str, node: ast.Attribute) -> NoReturn:
    """Raise Refused for the attribute that `node` reads, which objects of the class `kind` do not
    have; the help names the most similar one. ``owner``: what the message calls such an object,
    "an array". In the stand-in of a library function there is no name that the user could correct.
    """
    public = {n for c in kind.__mro__ for n in vars(c) if n[0] != "_"}
    close = get_close_matches(node.attr, public, n=1)
    help = f"did you mean `{close[0]}`?" if close else "correct the name"
    if (helper := inlined_at(node)) is not None and is_stand_in(helper.function):
        help = "give it a list"
    message = f"{owner} has no attribute `{node.attr}`: Python raises AttributeError"
    refuse("LOWER_UNDEFINED", message, node, help=help)


def refuse_no_value(message: str, node: ast.AST, *, help: str | None = None) -> NoReturn:
    """Raise NoValue; the span of the rejection is that of `node`."""
    rejection = Rejection("LOWER_UNSUPPORTED", message, span_of(node), help=help)
    raise NoValue(rejection, inlined_at(node))


def refuse_unknown_length(name: str, message: str, node: ast.AST) -> NoReturn:
    """Raise UnknownListLength for the list `name`; the span of the rejection is that of `node`."""
    rejection = Rejection("LOWER_UNSUPPORTED", message, span_of(node))
    raise UnknownListLength(rejection, inlined_at(node), name)
