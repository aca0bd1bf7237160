"""Methods of objects that are arguments: functions of their class, given the object first."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import Any, NamedTuple

from ..macros.objects import held_type
from ..types import ArgType, ObjectType

__all__ = ["Method", "is_property", "method_of", "object_of"]


class Method(NamedTuple):
    """What ``said`` stands for at each call, a function, unless an object has something else of its
    own, which ``own`` says. A static one takes no object.
    """

    runs: Any
    said: str
    own: str
    static: bool = False


def object_of(e: ast.expr, types: Mapping[str, ArgType]) -> ObjectType | None:
    """The type of an object that is an argument, or that one holds."""
    found = types.get(e.id) if isinstance(e, ast.Name) else held_type(e, types)
    return found if isinstance(found, ObjectType) else None


def method_of(func: ast.expr, types: Mapping[str, ArgType]) -> Method | None:
    """What a call of `func` runs, or reading it where it is a property."""
    of = object_of(func.value, types) if isinstance(func, ast.Attribute) else None
    if of is None or of.is_tuple or not isinstance(func, ast.Attribute):
        return None
    found = next((vars(c)[func.attr] for c in of.kind.__mro__ if func.attr in vars(c)), None)
    text = ast.unparse(func.value)
    said = f"_type({text}).{func.attr}"
    if isinstance(found, property):
        return Method(found.fget, f"{said}.fget", "") if _is_function(found.fget) else None
    runs = found.__func__ if isinstance(found, staticmethod) else found
    if not _is_function(runs) or of.key(func.attr) is not None:
        return None
    own = f"({func.attr!r} in {text}.__dict__)" if of.kind.__dictoffset__ else ""
    return Method(runs, said, own, isinstance(found, staticmethod))


def is_property(e: ast.expr, types: Mapping[str, ArgType]) -> bool:
    """Whether to read `e` runs code."""
    method = method_of(e, types) if isinstance(e, ast.Attribute) else None
    return method is not None and method.said.endswith(".fget")


def _is_function(runs: object) -> bool:
    return isinstance(runs, FunctionType)
