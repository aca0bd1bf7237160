"""Names that are bound outside of the function: what they stand for, and names that avoid them."""
from __future__ import annotations

import ast

from ...frontend.name_resolution import Origin
from ...host_nodes import HostAttribute, HostHelper, HostName, from_ast
from ...types.value_types import Constant
from .lowering_state import Lowering

__all__ = ["fresh_array_name", "is_outer_none", "resolve_guarded", "resolve_object"]


def is_outer_none(ctx: Lowering, name: str) -> bool:
    """Whether `name` is None outside of the function; that is kept in mind."""
    origin, value = ctx.scope.find(name)
    found = origin in (Origin.GLOBAL, Origin.CLOSURE) and value is None
    if found:
        ctx.refs[HostName(name)] = None
    return found


def resolve_guarded(ctx: Lowering, node: ast.expr) -> object | None:
    """As `resolve_object`; from now on each call checks that the name stands for that object."""
    value = resolve_object(ctx, node)
    if value is None or (isinstance(node, ast.Name) and node.id in ctx.arguments):
        return value
    match from_ast(node):
        case HostAttribute(HostHelper("ops")):
            pass  # only core Python names it
        case expr:
            ctx.refs[expr] = value
    return value


def resolve_object(ctx: Lowering, node: ast.expr) -> object | None:
    """The object outside of the function that a name or dotted name stands for, else None."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in ctx.b.env:
        return None
    if isinstance(node, ast.Name) and isinstance(of := ctx.arguments.get(node.id), Constant):
        return of.value
    return ctx.scope.resolve(node)


def fresh_array_name(ctx: Lowering, hint: str) -> str:
    """A name for an array of ours: the wrapper calls it so, and other things by theirs."""
    unique = ctx.b.name(hint)
    while ctx.scope.find(unique)[0] not in (Origin.LOCAL, Origin.UNBOUND):
        unique = ctx.b.name(hint)
    return unique
