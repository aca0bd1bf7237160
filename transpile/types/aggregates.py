"""Types of aggregates (tuples, plain objects, dicts), where reading them runs no code."""
from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from inspect import getattr_static
from types import CodeType, FunctionType, MemberDescriptorType
from typing import Any

import numpy as np

from ..frontend.name_resolution import is_python_class
from .value_types import ArgType, Key, ObjectType, Opaque

__all__ = ["narrow_to_code", "object_type", "string_constants"]

_DEEP, _MANY = 2, 64
"""Objects in objects, and parts of one, that are looked at."""

_READING = "__getattribute__", "__getitem__", "__iter__", "__len__"

_NUMBERS = (bool, int, float, np.ndarray)

_GETTER = type(vars(namedtuple("_", "a"))["a"])


def object_type(
    value: Any, part_type: Callable[[Any], ArgType | None], depth: int = 0
) -> ObjectType | None:
    """The type of a tuple, an object or a dict whose parts can be read without running code; None
    for others.

    `part_type` gives the types of parts that are no such aggregates. `depth` is the depth of
    nesting so far, which is limited.
    """
    kind = type(value)
    if kind is dict and len(value) > _MANY >> 2 * depth:
        return None
    if depth > _DEEP or not _is_plain(kind):  # type: ignore[arg-type]  # classes are hashable
        return None
    if kind is tuple:
        parts: list[tuple[Key, Any]] = [*enumerate(value)]
    elif kind is dict:
        parts = [((k,), value[k]) for k in sorted(k for k in value if type(k) is str)]
    elif issubclass(kind, tuple):
        parts = list(zip(kind._fields, value, strict=True))  # type: ignore[attr-defined]
    else:
        written = _class_members(kind)
        slots = (n for n, d in written.items() if type(d) is MemberDescriptorType)
        own = getattr(value, "__dict__", {})
        parts = [(n, v) for n, v in own.items() if not hasattr(type(written.get(n)), "__set__")]
        parts += [(n, getattr(value, n)) for n in slots if hasattr(value, n)]
        held = {n for n, _ in parts}
        kept = ((n, v) for n, v in written.items() if type(v) in _NUMBERS and n[:2] != "__")
        parts += [(n, v) for n, v in kept if n not in held]
    if len(parts) > _MANY:
        return None

    def typed(part: Any) -> ArgType:
        known = part_type(part) or object_type(part, part_type, depth + 1)
        return known or Opaque(type(part).__name__)

    return ObjectType(kind, tuple((k, typed(v)) for k, v in parts))


def _class_members(kind: type) -> dict[str, Any]:
    """What stands in a class and in those above it."""
    return {n: v for c in reversed(kind.__mro__[:-1]) for n, v in vars(c).items()}


@functools.cache
def _is_plain(kind: type) -> bool:
    """Whether instances of `kind` are tuples, dicts, or hold attributes that are read without code.
    """
    if kind in (tuple, dict):
        return True
    above = kind.__mro__[:-1]
    plain = type(kind) is type and not hasattr(kind, "__getattr__")
    if issubclass(kind, tuple):
        fields = getattr(kind, "_fields", ())
        read = [d for c in above for f, d in vars(c).items() if f in fields]
        plain = plain and bool(fields) and all(type(d) is _GETTER for d in read)
        return plain and all(getattr(kind, n) is getattr(tuple, n) for n in _READING)
    plain = plain and kind.__getattribute__ is object.__getattribute__
    return plain and all(map(is_python_class, above))


def narrow_to_code(ty: ObjectType, code: CodeType) -> ObjectType:
    """`ty` with only those attributes of objects and keys of dicts that `code` may name."""
    if ty.is_tuple:
        parts = ty.parts
    elif ty.kind is dict:
        texts = string_constants(code)
        parts = tuple((k, t) for k, t in ty.parts if isinstance(k, tuple) and k[0] in texts)
    else:
        parts = tuple((k, t) for k, t in ty.parts if k in _attributes_named(code, ty.kind))
    inner = ((k, narrow_to_code(t, code) if isinstance(t, ObjectType) else t) for k, t in parts)
    return ObjectType(ty.kind, tuple(inner))


@functools.cache
def string_constants(code: CodeType) -> frozenset[str]:
    """The string constants in `code`, which may be keys of dicts."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return frozenset(c for c in code.co_consts if isinstance(c, str)).union(
        *map(string_constants, inner)
    )


@functools.cache
def _attributes_named(code: CodeType, kind: type) -> frozenset[object]:
    """The attributes that `code` names, and the methods of `kind` among them."""
    names: set[object] = set()
    waiting = [code]
    while waiting:
        c = waiting.pop()
        found = (getattr_static(kind, n, None) for n in {*c.co_names} - names)
        found = (m.fget if isinstance(m, property) else m for m in found)
        methods = (getattr(m, "__wrapped__", m) for m in found)
        waiting += [m.__code__ for m in methods if isinstance(m, FunctionType)]
        waiting += [k for k in c.co_consts if isinstance(k, CodeType)]
        names.update(c.co_names)
    return frozenset(names)
