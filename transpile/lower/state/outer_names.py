"""Names that are bound outside of the function: their objects, and fresh names that avoid them.

A global or closure variable whose object decided something at compile time is recorded in
`Lowering.guarded_objects`: each call checks that it is still bound to that object.
"""
from __future__ import annotations

import ast

from ...frontend.name_resolution import NameScope
from ...host_nodes import HostAttribute, HostHelper, HostName, from_ast
from ...types.value_types import Constant
from .lowering_state import Lowering

__all__ = ["fresh_array_name", "is_outer_none", "resolve_guarded", "resolve_object"]


def is_outer_none(ctx: Lowering, name: str) -> bool:
    """Whether the global or closure variable `name` is None. If so, each call checks that it is."""
    origin, value = ctx.scope.find(name)
    is_none = origin in (NameScope.GLOBAL, NameScope.CLOSURE) and value is None
    if is_none:
        ctx.guarded_objects[HostName(name)] = None
    return is_none


def resolve_guarded(ctx: Lowering, node: ast.expr) -> object | None:
    """As `resolve_object`; and each call checks that the name is still bound to that object, unless
    it is an argument, or a function of core Python (``_core``).
    """
    value = resolve_object(ctx, node)
    if value is None or (isinstance(node, ast.Name) and node.id in ctx.arguments):
        return value
    match from_ast(node):
        case HostAttribute(HostHelper("core")):
            pass  # only core Python names it
        case expr:
            ctx.guarded_objects[expr] = value
    return value


def resolve_object(ctx: Lowering, node: ast.expr) -> object | None:
    """The object to which a name or dotted name, such as ``np.sum``, is bound outside of the
    function, or that a constant argument is. None for local names and other expressions.
    """
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in ctx.b.env:
        return None
    if isinstance(node, ast.Name) and isinstance(ty := ctx.arguments.get(node.id), Constant):
        return ty.value
    return ctx.scope.resolve(node)


def fresh_array_name(ctx: Lowering, hint: str) -> str:
    """A new name for an array that the caller allocates. The Python wrapper uses it as a variable
    next to the names of the function's globals, so it must differ from them, too.
    """
    unique = ctx.b.name(hint)
    while ctx.scope.find(unique)[0] not in (NameScope.LOCAL, NameScope.UNBOUND):
        unique = ctx.b.name(hint)
    return unique
