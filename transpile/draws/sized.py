"""Calls that draw arrays: as many numbers as a size asks for, one after another."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from ..types import ArgType
from . import Draw, draw_of

__all__ = ["Sized", "sized"]

_INTS = frozenset({"integers", "randint"})
_SINGLE = frozenset({"choice"})
"""Methods of which only one number is drawn here."""

_LENGTHS = frozenset({"rand", "randn"})
"""Methods whose arguments are lengths."""


class Sized(NamedTuple):
    """An array of these ``lengths`` and ``dtype``, of which ``one`` draws an element; they are
    drawn in C order.
    """

    lengths: tuple[ast.expr, ...]
    one: ast.Call
    dtype: str


def sized(
    call: ast.Call, type_of: Callable[[ast.expr], ArgType | None],
    resolve: Callable[[ast.expr], object | None],
) -> Sized | None:
    """What `call` draws, if that is an array."""
    if not (call.args or call.keywords) or not isinstance(call.func, (ast.Attribute, ast.Name)):
        return None
    draw = draw_of(call.func, type_of, resolve)
    if draw is None or draw.family == "python" or draw.method in _SINGLE:
        return None
    size, args = _size(draw, call)
    rest = [k for k in call.keywords if k.arg != "size"]
    known = draw.runs.__code__.co_varnames[len(draw.given) :]
    plain = not any(isinstance(a, ast.Starred) for a in call.args)
    if not size or not plain or not all(k.arg in known for k in rest):
        return None
    one = ast.copy_location(ast.Call(call.func, args, rest), call)
    return Sized(tuple(size), one, "i64" if draw.method in _INTS else "f64")


def _size(draw: Draw, call: ast.Call) -> tuple[list[ast.expr], list[ast.expr]]:
    """The lengths, and the other arguments by position."""
    if draw.method in _LENGTHS:
        return call.args, []
    code = draw.runs.__code__
    most = code.co_argcount - len(draw.given)
    named = [k.value for k in call.keywords if k.arg == "size"]
    found = named + call.args[most:]
    if len(found) != 1 or (isinstance(found[0], ast.Constant) and found[0].value is None):
        return [], []
    lengths = found[0].elts if isinstance(found[0], (ast.Tuple, ast.List)) else found
    return lengths, call.args[:most]
