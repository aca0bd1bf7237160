"""Names that are bound outside of the function: their objects, and fresh names that avoid them.

A global or closure variable whose object decided something at compile time is recorded in
`Lowering.guarded_objects`: each call checks that it is still bound to that object.
"""
from __future__ import annotations

import ast
from difflib import get_close_matches
from inspect import getattr_static
from types import FunctionType
from typing import NoReturn

from ...analysis.access_paths import access_path_type
from ...frontend.core_nodes import source_text
from ...frontend.name_resolution import NameScope
from ...frontend.refusal import refuse
from ...host_nodes import HostAttribute, HostHelper, HostName, from_ast
from ...types.value_types import Constant, ObjectType, WrappedFunction
from .lowering_state import Lowering

__all__ = [
    "fresh_array_name", "is_outer_none", "of_type_that_is_not_compiled", "refuse_member",
    "refuse_unknown_attribute", "resolve_guarded", "resolve_object",
]


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


def refuse_member(ctx: Lowering, member: ast.expr) -> NoReturn:
    """Refuses `member`, which reads an attribute or an item of an object, in whatever way it is
    used: its value is neither a number nor an array.

        len(self.rows)    "`self.rows` is of type list, and only attributes that are numbers or
                           arrays are compiled"
        t[1]              "`t[1]` is of type str, which is not compiled"
        d.get             "`d` is of type dict, and only dicts that the function makes are compiled"
        self.step         "`self.step` is a method, which is compiled only where it is called"
    """
    owner = _owner_type(ctx, member) if isinstance(member, ast.Attribute) else None
    if owner is not None and owner.kind is dict and isinstance(member, ast.Attribute):
        of = source_text(member.value)
        refuse("LOWER_TYPE", of_type_that_is_not_compiled(of, "dict"), member.value)
    text, found = source_text(member), access_path_type(member, ctx.types)
    value = _value_in_class(ctx, member) if found is None else None
    if isinstance(value, (FunctionType, WrappedFunction)):
        message = f"`{text}` is a method, which is compiled only where it is called"
        refuse("LOWER_TYPE", message, member, help="call it where its result is needed")
    is_unknown = found is None and value is None and isinstance(member, ast.Attribute)
    if is_unknown and owner is not None and not owner.is_tuple:
        assert isinstance(member, ast.Attribute)
        refuse_unknown_attribute(owner, member)
    kind = "" if value is None else type(value).__name__
    if found is not None:
        kind = found.kind.__name__ if isinstance(found, Constant) else str(found)
    is_of_type = f"is of type {kind}" if kind else "is not known to be an array"
    help = _HELP_FOR_MEMBER.get(kind)
    message = of_type_that_is_not_compiled(text, kind) if kind else f"`{text}` {is_of_type}"
    if isinstance(member, ast.Attribute) and kind not in _MADE_HERE:
        rule = "only attributes that are numbers, arrays or lists of numbers are compiled"
        message = f"`{text}` {is_of_type}, and {rule}"
    elif help == _HELP_FOR_LIST:
        help = _HELP_FOR_FUNCTION
    refuse("LOWER_TYPE", message, member, help=help and help.format(text))


_MADE_HERE = {"dict": "dicts", "set": "sets"}


def of_type_that_is_not_compiled(text: str, kind: str) -> str:
    """The message for `text`, an expression of the source, whose value is of the type `kind`."""
    if kind in _MADE_HERE:
        made = f"only {_MADE_HERE[kind]} that the function makes"
        return f"`{text}` is of type {kind}, and {made} are compiled"
    return f"`{text}` is of type {kind}, which is not compiled"


_HELP_FOR_FUNCTION = "pass `{}` as a parameter of its own"
_HELP_FOR_LIST = _HELP_FOR_FUNCTION + ", or keep an array in the attribute"

_HELP_FOR_MEMBER = {
    **dict.fromkeys(("list", "str", "tuple"), _HELP_FOR_LIST),
    **dict.fromkeys(("function", "builtin_function_or_method", "ufunc"), _HELP_FOR_FUNCTION),
    "Fused": _HELP_FOR_FUNCTION,
    "cached_property": _HELP_FOR_FUNCTION,
    "classmethod": "make `{}` a static method",
}
"""The help for a member of an object, with its text, by the name of its type: those that are
compiled as parameters, or in another form.
"""


def _value_in_class(ctx: Lowering, member: ast.expr) -> object | None:
    """What the class of the object has under the name of `member`, or the attribute of an object
    that a global name is bound to; None where neither is known.
    """
    if not isinstance(member, ast.Attribute):
        return None
    if (owner := _owner_type(ctx, member)) is not None:
        value: object = getattr_static(owner.kind, member.attr, None)
        return value
    return resolve_object(ctx, member)


def refuse_unknown_attribute(owner: ObjectType, member: ast.Attribute) -> NoReturn:
    """Refuses `member`, an attribute that its object, of type `owner`, is not known to have."""
    public = {n for c in owner.kind.__mro__ for n in vars(c) if n[0] != "_"}
    close = get_close_matches(member.attr, public, n=1)
    help = f"did you mean `{close[0]}`?" if close else "correct the name, or set it before the call"
    message = f"`{source_text(member.value)}` is not known to have an attribute `{member.attr}`"
    refuse("LOWER_UNDEFINED", message, member, help=help)


def _owner_type(ctx: Lowering, member: ast.Attribute) -> ObjectType | None:
    """The type of the object of which `member` is an attribute: an argument, or a member of one."""
    owner = access_path_type(member.value, ctx.types)
    if isinstance(member.value, ast.Name):
        owner = ctx.types.get(member.value.id)
    return owner if isinstance(owner, ObjectType) else None
