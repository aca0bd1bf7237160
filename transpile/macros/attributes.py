"""Attributes that a function sets: which are names of its own until it ends, and then stored."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from inspect import getattr_static
from types import MemberDescriptorType

from ..types import ArrayType, ObjectType, ScalarType
from .copying import copied
from .liveness import left_to_python
from .names import COMPREHENSIONS

__all__ = ["Stored", "attributes_set", "with_stores"]

_NONE = object()

Stored = Mapping[tuple[str, str], str]
"""By object and attribute: the name that has its value in the end."""


def attributes_set(
    tree: ast.FunctionDef, objects: Mapping[str, ObjectType]
) -> frozenset[tuple[str, str]]:
    """The attributes of arguments that `tree` sets and nothing else sees meanwhile: numbers and
    arrays of plain objects, each of a class of its own; none where any other is set, or an object
    might be set what only its class has.
    """
    found = set[tuple[str, str]]()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Store()) if (
                name in objects and _is_settable(objects[name].kind, attr)
            ):
                found.add((name, attr))
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return frozenset()
            case ast.FunctionDef() | ast.Lambda() if node is not tree:
                return frozenset()
    names = {attr for _, attr in found}
    for node in ast.walk(tree):  # others, that may be the same object's
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in objects:
                pass
            case ast.Attribute(attr=attr) if attr in names:
                return frozenset()
    types = {objects[name].part(attr) for name, attr in found} - {None}
    if not all(isinstance(ty, (ArrayType, ScalarType)) for ty in types):
        return frozenset()
    shared = (p for p in found if _is_shared(objects[p[0]].kind, p[1]))
    if not all(_is_sure(tree, *p) for p in shared):
        return frozenset()
    kinds = [kind for ty in objects.values() for kind in _kinds(ty)]
    alone = all(kinds.count(objects[name].kind) == 1 for name, _ in found)
    return frozenset(found) if alone and not _in_comprehensions(tree, found) else frozenset()


def _is_settable(kind: type, attr: str) -> bool:
    """Whether to set it runs no code but Python's own."""
    own = vars(object)["__setattr__"] is kind.__setattr__ and not issubclass(kind, tuple)
    there = type(getattr_static(kind, attr, None))
    return own and (there is MemberDescriptorType or not hasattr(there, "__set__"))


def _is_shared(kind: type, attr: str) -> bool:
    """Whether an object that has no such attribute shows that of its class."""
    there = getattr_static(kind, attr, _NONE)
    fields = getattr(kind, "__dataclass_fields__", {})
    return there is not _NONE and type(there) is not MemberDescriptorType and attr not in fields


def _is_sure(tree: ast.FunctionDef, name: str, attr: str) -> bool:
    """Whether each way through `tree` sets it."""
    for s in tree.body:
        targets = s.targets if isinstance(s, ast.Assign) else [getattr(s, "target", None)]
        if isinstance(s, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            of = [t for whole in targets if whole for t in ast.walk(whole)]
            if any(ast.unparse(t) == f"{name}.{attr}" for t in of if isinstance(t, ast.Attribute)):
                return True
        if any(isinstance(n, ast.Return) for n in ast.walk(s)):
            return False
    return False


def _kinds(ty: ObjectType) -> Iterator[type]:
    """The classes of an object and of those that it holds."""
    yield ty.kind
    for _, part in ty.parts:
        if isinstance(part, ObjectType):
            yield from _kinds(part)


def _in_comprehensions(tree: ast.FunctionDef, found: set[tuple[str, str]]) -> bool:
    """Whether one of them is a variable of a comprehension."""
    inner = (n for c in ast.walk(tree) if isinstance(c, COMPREHENSIONS) for n in ast.walk(c))
    targets = (n for n in inner if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return bool(found) and any(targets)


def with_stores(tree: ast.FunctionDef, stored: Stored) -> ast.FunctionDef:
    """`tree` with each attribute set where it ends.

        self_n = self_n + 1
        return self_n
    →
        self_n = self_n + 1
        self.n = self_n
        return self_n
    """
    if stored:
        lines = [_line(place, name, tree) for place, name in stored.items()]
        tree.body = _ended(tree.body, lines)
    return tree


def _line(place: tuple[str, str], name: str, at: ast.AST) -> ast.stmt:
    target = ast.Attribute(ast.Name(place[0], ast.Load()), place[1], ast.Store())
    line = ast.Assign([target], ast.Name(name, ast.Load()))
    for node in ast.walk(line):
        ast.copy_location(node, at)
    return line


def _ended(block: Sequence[ast.stmt], lines: Sequence[ast.stmt]) -> list[ast.stmt]:
    """`block`, with `lines` in front of each return that ends it, or at its end."""
    out: list[ast.stmt] = []
    for s in block:
        match s:
            case ast.Return():
                return [*out, *map(copied, lines), s]
            case ast.If(body=[*_, ast.Return()], orelse=[]) if not left_to_python(s):
                s.body = _ended(s.body, lines)
        out.append(s)
    return [*out, *map(copied, lines)]
