"""Access paths: which member of which argument an expression such as ``self.grid[0]`` reads."""
from __future__ import annotations

import ast
from collections.abc import Mapping

from ..types.value_types import ArgType, Key, ObjectType

__all__ = ["AccessPath", "access_path", "access_path_type"]

AccessPath = tuple[str, tuple[Key, ...]]
"""A name, and the attributes and subscripts after it: ``("self", ("grid", 0))``."""


def access_path(e: ast.expr) -> AccessPath | None:
    """The access path of a chain of attributes and constant subscripts, ``self.grid[0]``; None for
    other expressions. A string subscript is a tuple ``("key",)``, an attribute a string.
    """
    key: Key
    match e:
        case ast.Name(id=name):
            return name, ()
        case ast.Attribute(value=inner, attr=str(key)):
            outer = access_path(inner)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(text))):
            outer, key = access_path(inner), (text,)
        case ast.Subscript(value=inner, slice=ast.Constant(value=int(key))):
            outer = access_path(inner)
        case ast.Subscript(
            value=inner, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(back)))
        ):
            outer, key = access_path(inner), -back
        case _:
            return None
    return outer and (outer[0], (*outer[1], key))


def access_path_type(e: ast.expr, types: Mapping[str, ArgType]) -> ArgType | None:
    """The type of the member of an argument that the access path `e` reads; None if `e` is no path,
    is only a name, or reads no known member.

        self.grid[0]   # the signature has: self, a Grid; its grid, a tuple of arrays  →  f64 array

    ``types``: those of the parameters. Only members that the signature has are known
    (`ObjectType`).
    """
    name, keys = access_path(e) or ("", ())
    ty = types.get(name)
    for key in keys:
        ty = ty.part(key) if isinstance(ty, ObjectType) else None
    return ty if keys else None
