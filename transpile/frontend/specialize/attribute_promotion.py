"""Promotion of attributes: those that a function sets are local names until it ends.

    for v in x:                                self_s = self.s
        self.s = self.s + v         →          for v in x:
                                                   self_s = self_s + v
                                               self.s = self_s

`promotable_attributes` decides which. `object_arguments.replace_object_reads` binds the names at
the start, and `store_at_exits` stores them where the function ends.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from inspect import getattr_static
from types import MemberDescriptorType
from typing import TypeAlias

from ...analysis.access_paths import access_path, is_settable
from ...types.value_types import ArrayType, Constant, ListType, ObjectType, Opaque, ScalarType
from ..ast_names import COMPREHENSIONS
from ..ast_walk import copy_tree, walk_nodes
from ..core_nodes import ReplayIf, copy_location

__all__ = ["AttributeStores", "LOCAL_VALUE_TYPES", "promotable_attributes", "store_at_exits"]

_MISSING = object()

AttributeStores: TypeAlias = Mapping[tuple[str, str], str]
"""(parameter, attribute) -> the local name that has the attribute's value at the end."""

LOCAL_VALUE_TYPES = (ArrayType, ScalarType)
"""The types of the attributes that a local name can stand for."""

_WITHOUT_MEMBERS = (Constant, ListType, Opaque)
"""Types of other attributes, no member of which is read by a name of its own."""


def promotable_attributes(
    tree: ast.FunctionDef, objects: Mapping[str, ObjectType]
) -> frozenset[tuple[str, str]]:
    """The attributes, as (parameter, attribute), that `tree` sets and that local names can stand
    for until `tree` ends (register promotion). `replace_object_reads` binds these names at the
    start, and `store_at_exits` stores them back.

        for v in x:                                self_s = self.s
            self.s = self.s + v         →          for v in x:
                                                       self_s = self_s + v
                                                   self.s = self_s

    Meanwhile the attribute has its old value, so nothing may read it but through the parameter. The
    result has all attributes that are set, or none: a store that stays would be refused by lowering
    anyhow. None of them, if

    - an attribute of anything but a parameter is set, or one is deleted;
    - there is an inner function, or another expression with an attribute of that name (``g.n``):
      both may read the attribute of the parameter's object;
    - the value of one is neither a number nor an array, or the class has a value of that name, too.
      But if every path sets the attribute, it may have a class's value, or be None or such
      (`_WITHOUT_MEMBERS`): nothing needs that, and the store at the end adds no attribute;
    - another parameter, or an object in one, has the same class: it may be the same object;
    - a comprehension binds an attribute.

    ``objects``: the types of the parameters that are objects, tuples or dicts.
    """
    stores = set[tuple[str, str]]()
    for node in walk_nodes(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Store()) if (
                name in objects and is_settable(objects[name].kind, attr)
            ):
                stores.add((name, attr))
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return frozenset()  # stays in the body, or runs user code
            case ast.FunctionDef() | ast.Lambda() if node is not tree:
                return frozenset()  # when called, it may read the attribute
    # In another expression with an attribute of that name, as `g.n`, `g` could be the same object.
    names = {attr for _, attr in stores}
    for node in walk_nodes(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in objects:
                pass
            case ast.Attribute(attr=attr) if attr in names:
                return frozenset()
    # Only numbers and arrays are values of local names. (None: the object has no such attribute.)
    # Where the instance has none and the class does, the store at the end would give it one.
    for name, attr in stores:
        ty = objects[name].part(attr)
        if ty is not None and not isinstance(ty, (*LOCAL_VALUE_TYPES, *_WITHOUT_MEMBERS)):
            return frozenset()
        is_used = isinstance(ty, _WITHOUT_MEMBERS) or _has_class_value(objects[name].kind, attr)
        if is_used and not _is_set_on_every_path(tree, name, attr):
            return frozenset()
    # Two arguments of one class may be one object.
    classes = [kind for ty in objects.values() for kind in _classes(ty)]
    distinct = all(classes.count(objects[name].kind) == 1 for name, _ in stores)
    # The variable of `[… for self.n in x]` is renamed later: a local name for it would not be set.
    if not distinct or _in_comprehensions(tree, stores):
        return frozenset()
    return frozenset(stores)


def _has_class_value(kind: type, attr: str) -> bool:
    """Whether reading `attr` of an instance that has not set it gives a value of the class."""
    value = getattr_static(kind, attr, _MISSING)
    fields = getattr(kind, "__dataclass_fields__", {})
    is_slot = type(value) is MemberDescriptorType
    return value is not _MISSING and not is_slot and attr not in fields


def _is_set_on_every_path(tree: ast.FunctionDef, name: str, attr: str) -> bool:
    """Whether `tree` sets ``name.attr`` on every path: at its top level, before any return."""
    for s in tree.body:
        targets = s.targets if isinstance(s, ast.Assign) else [getattr(s, "target", None)]
        if isinstance(s, (ast.Assign, ast.AugAssign)):
            nodes = [n for target in targets if target for n in walk_nodes(target)]
            attributes = (n for n in nodes if isinstance(n, ast.Attribute))
            if any(access_path(n) == (name, (attr,)) for n in attributes):
                return True
        if any(isinstance(n, ast.Return) for n in walk_nodes(s)):
            return False
    return False


def _classes(ty: ObjectType) -> Iterator[type]:
    """The classes of an object of type `ty` and of the objects in it."""
    yield ty.kind
    for _, part in ty.parts:
        if isinstance(part, ObjectType):
            yield from _classes(part)


def _in_comprehensions(tree: ast.FunctionDef, stores: set[tuple[str, str]]) -> bool:
    """Whether there are ``stores``, and a comprehension of `tree` binds an attribute."""
    inner = (n for c in walk_nodes(tree) if isinstance(c, COMPREHENSIONS) for n in walk_nodes(c))
    targets = (n for n in inner if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return bool(stores) and any(targets)


def store_at_exits(tree: ast.FunctionDef, stored: AttributeStores) -> ast.FunctionDef:
    """`tree` with a store of each attribute before each return and at its end; changed in place.

        self_n = self_n + 1
        return self_n
    →
        self_n = self_n + 1
        self.n = self_n
        return self_n
    """
    if stored:
        stores = [_store(place, name, tree) for place, name in stored.items()]
        tree.body = _with_stores_before_returns(tree.body, stores)
    return tree


def _store(place: tuple[str, str], name: str, at: ast.AST) -> ast.stmt:
    """``parameter.attribute = name``, at the position of `at`; ``place``: parameter, attribute."""
    target = ast.Attribute(ast.Name(place[0], ast.Load()), place[1], ast.Store())
    line = ast.Assign([target], ast.Name(name, ast.Load()))
    for node in walk_nodes(line):
        copy_location(node, at)
    return line


def _with_stores_before_returns(
    block: Sequence[ast.stmt], lines: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """`block` with copies of `lines` before each return, or at its end. `structure_exits` has made
    the function so that a return stands at the end, or last in an ``if`` at the top level.
    """
    out: list[ast.stmt] = []
    for s in block:
        match s:
            case ast.Return():
                return [*out, *map(copy_tree, lines), s]
            case ast.If(body=[*_, ast.Return()], orelse=[]) if not isinstance(s, ReplayIf):
                s.body = _with_stores_before_returns(s.body, lines)
        out.append(s)
    return [*out, *map(copy_tree, lines)]
