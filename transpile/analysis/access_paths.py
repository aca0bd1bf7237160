"""Access paths: which member of which argument an expression such as ``self.grid[0]`` reads.

The members of arguments are read once, at the start (`object_arguments.py`). Where an attribute
that is set is not promoted to a local name, the store stays in the tree, and is performed after the
kernel. A read that follows such a store would have the value from before the call:
`read_after_store` finds it, and the function is refused.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from inspect import getattr_static
from types import MemberDescriptorType, SimpleNamespace
from typing import NamedTuple

from ..frontend.ast_walk import all_blocks, child_nodes
from ..types.value_types import ArgType, Key, ObjectType

__all__ = [
    "AccessPath", "access_path", "access_path_type", "is_settable", "read_after_store",
]

AccessPath = tuple[str, tuple[Key, ...]]
"""A name, and the attributes and subscripts after it: ``("self", ("grid", 0))``."""

_PLAIN_SETTERS: tuple[object, ...] = (object.__setattr__, SimpleNamespace.__setattr__)
"""The methods that set an attribute of a plain object; both do the same."""

_UNCHANGED = (
    ast.stmt, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.expr_context, ast.operator,
)
"""The nodes that mean the same after user code has run."""


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


class _Stored(NamedTuple):
    """The names of the attributes that are set so far, and whether that ran user code."""

    names: frozenset[str] = frozenset()
    ran_user_code: bool = False

    def joined(self, other: _Stored) -> _Stored:
        """What both have stored."""
        return _Stored(self.names | other.names, self.ran_user_code or other.ran_user_code)


def is_settable(kind: type, attr: str) -> bool:
    """Whether setting `attr` of an instance of `kind` runs no user code."""
    plain = kind.__setattr__ in _PLAIN_SETTERS and not issubclass(kind, tuple)
    descriptor = type(getattr_static(kind, attr, None))
    return plain and (descriptor is MemberDescriptorType or not hasattr(descriptor, "__set__"))


def read_after_store(
    tree: ast.FunctionDef, objects: Mapping[str, ObjectType]
) -> ast.AST | None:
    """The first read in `tree` of an attribute after a statement that sets one of that name: the
    local name of the read would have the value from before the call. None if there is none.

        p.a = s
        return q.a * 2        # `q.a`: p and q may be one object

    `object_arguments` asks it where no attribute could be promoted: the stores then stay in the
    tree, and Python performs them after the kernel. After a store that runs user code (a property,
    or an object of unknown type) every other expression counts as such a read, except names,
    constants and displays of these: the code may have changed anything. ``objects``: the types of
    the parameters that are objects.
    """
    later = _first_read_after_store(tree.body, objects, _Stored())
    return later if isinstance(later, ast.AST) else None


def _first_read_after_store(
    block: Sequence[ast.stmt], objects: Mapping[str, ObjectType], stored: _Stored
) -> ast.AST | _Stored:
    """The first read after a store in `block` (`read_after_store`), given what was `stored` before
    the block; if there is none, what is stored at its end.
    """
    for s in block:
        nodes = [*_own_nodes(s)]
        if (read := _first_changed(nodes, s, stored)) is not None:
            return read
        stored = stored.joined(_stored_by(nodes, objects))
        before = stored
        # of the branches of an ``if`` or ``match`` one runs; of the blocks of others several may
        is_branch = isinstance(s, (ast.If, ast.Match))
        for inner in all_blocks(s):
            found = _first_read_after_store(inner, objects, before if is_branch else stored)
            if isinstance(found, ast.AST):
                return found
            if not (inner and isinstance(inner[-1], ast.Return)):
                stored = stored.joined(found)
    return stored


def _first_changed(nodes: Sequence[ast.AST], s: ast.stmt, stored: _Stored) -> ast.AST | None:
    """The first of `nodes`, the nodes of the statement `s` itself, whose value what was `stored`
    may have changed; None if there is none.
    """
    for n in nodes:
        is_store = isinstance(n, ast.Attribute) and not _is_load(n)
        if stored.ran_user_code and not (is_store or isinstance(n, _UNCHANGED)):
            return n
        is_read = not is_store or (isinstance(s, ast.AugAssign) and n is s.target)
        if is_read and isinstance(n, ast.Attribute) and n.attr in stored.names:
            return n
    return None


def _stored_by(nodes: Sequence[ast.AST], objects: Mapping[str, ObjectType]) -> _Stored:
    """What the attributes among `nodes` that are targets of a statement store."""
    stored = _Stored()
    for n in nodes:
        if isinstance(n, ast.Attribute) and not _is_load(n):
            ty = objects.get(n.value.id) if isinstance(n.value, ast.Name) else None
            runs = ty is None or not is_settable(ty.kind, n.attr)
            stored = stored.joined(_Stored(frozenset({n.attr}), runs))
    return stored


def _is_load(n: ast.Attribute) -> bool:
    return isinstance(n.ctx, ast.Load)


def _own_nodes(s: ast.AST) -> Iterator[ast.AST]:
    """`s`, and the nodes in it that are in no statement inside of it."""
    yield s
    for n in child_nodes(s):
        if not isinstance(n, ast.stmt):
            yield from _own_nodes(n)
