"""Types of aggregates: tuples, plain objects and dicts whose members can be read without user code.

`object_type` gives the type of such an argument with the types of all its members; at a call,
`typeof.argument_types` narrows it to the members that the function, a function that it may call, or
a method of an argument can name (`named_members`): others do not matter for the signature.
`frontend.specialize.object_arguments` then replaces the members by names.
"""
from __future__ import annotations

import functools
from abc import ABCMeta
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from inspect import getattr_static
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from loopir.process.signal_exceptions import suppress_failures

from ..frontend.defining_modules import is_numpys, is_statement_class
from .value_types import ArgType, Key, ObjectType, Opaque

__all__ = [
    "MAX_MEMBERS", "NamedMembers", "compares_items", "has_plain_instances", "named_members",
    "narrow_to_named", "object_kinds", "object_type", "reachable_codes", "string_constants",
]

_MAX_NESTING = 2
"""How deep objects in objects are examined."""

MAX_MEMBERS = 64
"""An aggregate with more members has no type. A dict within an aggregate may have a quarter as many
members, within two a sixteenth."""

_MAX_CODES = 64
"""The most functions whose code is searched for the names of members (`reachable_codes`)."""

_TUPLE_READS = "__getattribute__", "__getitem__", "__iter__", "__len__"
"""Methods that a subclass of tuple must not override."""

_TUPLE_COMPARISONS = "__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__"

_CLASS_VALUES = (bool, int, float, tuple, list, np.ndarray)
"""Types of class attributes that are members of an instance that does not override them."""

_METACLASSES = (type, ABCMeta)
"""Metaclasses whose classes have plain instances: reading an attribute does not ask them."""

_PLAIN_READS = (object.__getattribute__, SimpleNamespace.__getattribute__)
"""The methods that read an attribute of a plain object; both do the same."""

_FIELD_GETTER = type(vars(namedtuple("_", "a"))["a"])
"""The descriptor of a field of a named tuple."""


def object_type(
    value: Any, part_type: Callable[[Any], ArgType | None], depth: int = 0
) -> ObjectType | None:
    """The type of a tuple, a plain object or a dict (`has_plain_instances`); None for other values,
    and for aggregates that are too large (`MAX_MEMBERS`) or too deep (`_MAX_NESTING`).

    `part_type` gives the type of a member that is no aggregate, None for others. A member for which
    there is neither such a type nor that of an aggregate is `Opaque`. `depth`: how many aggregates
    are around `value`.
    """
    kind = type(value)
    if kind is dict and len(value) > MAX_MEMBERS >> 2 * depth:
        return None
    if depth > _MAX_NESTING or not has_plain_instances(kind):  # type: ignore[arg-type]  # is hashable
        return None
    members = _members(value, kind)
    if len(members) > MAX_MEMBERS:
        return None

    def member_type(member: Any) -> ArgType:
        ty = part_type(member) or object_type(member, part_type, depth + 1)
        return ty or Opaque(type(member).__name__)

    return ObjectType(kind, tuple((key, member_type(v)) for key, v in members))


def _members(value: Any, kind: Any) -> list[tuple[Key, Any]]:
    """The members of an aggregate of the plain class `kind`: items by index; values by string key;
    fields; attributes of the instance, slots, and numbers and arrays of the class.
    """
    if kind is tuple:
        return [*enumerate(value)]
    if kind is dict:
        return [((k,), value[k]) for k in sorted(k for k in value if type(k) is str)]
    if issubclass(kind, tuple):
        return list(zip(kind._fields, value, strict=True))
    in_class = _class_attributes(kind)
    slots = (
        n for n, d in in_class.items() if type(d) is MemberDescriptorType and n[:2] != "__"
    )
    instance = getattr(value, "__dict__", {})
    members: list[tuple[Key, Any]] = [
        (n, v) for n, v in instance.items() if not hasattr(type(in_class.get(n)), "__set__")
    ]
    members += [(n, getattr(value, n)) for n in slots if hasattr(value, n)]
    names = {n for n, _ in members}
    values = ((n, v) for n, v in in_class.items() if type(v) in _CLASS_VALUES and n[:2] != "__")
    return [*members, *((n, v) for n, v in values if n not in names)]


def _class_attributes(kind: type) -> dict[str, Any]:
    """The attributes of a class and its bases, without those of ``object``."""
    return {n: v for c in reversed(kind.__mro__[:-1]) for n, v in vars(c).items()}


@functools.cache
def has_plain_instances(kind: type) -> bool:
    """Whether reading members of an instance of `kind` runs no user code: a tuple, a dict, a named
    tuple, a ``SimpleNamespace``, or a class written in Python, such as a dataclass, a class with
    ``__slots__`` or an abstract one, without ``__getattr__`` and ``__getattribute__``.
    """
    if kind in (tuple, dict):
        return True
    bases = kind.__mro__[:-1]
    plain = type(kind) in _METACLASSES and not hasattr(kind, "__getattr__")
    if issubclass(kind, tuple):
        fields = getattr(kind, "_fields", ())
        getters = [d for c in bases for f, d in vars(c).items() if f in fields]
        plain = plain and bool(fields) and all(type(d) is _FIELD_GETTER for d in getters)
        return plain and all(getattr(kind, n) is getattr(tuple, n) for n in _TUPLE_READS)
    plain = plain and kind.__getattribute__ in _PLAIN_READS
    return plain and all(c is SimpleNamespace or is_statement_class(c) for c in bases)


def compares_items(ty: ObjectType) -> bool:
    """Whether tuples of type `ty`, and those in them, are compared item by item: the class of a
    named tuple may define ``__lt__``.
    """
    inner = (part for _, part in ty.parts if isinstance(part, ObjectType) and part.is_tuple)
    own = all(getattr(ty.kind, n) is getattr(tuple, n) for n in _TUPLE_COMPARISONS)
    return own and all(map(compares_items, inner))


def reachable_codes(function: FunctionType) -> tuple[CodeType, ...]:
    """The code of `function` and of all Python functions that it may call, directly or through
    others: those that it names as globals or as members of modules, and those in its closure.

    NumPy's functions are left out, since none is inlined. At most `_MAX_CODES`.
    """
    found = {function.__code__: None}
    worklist = [function]
    while worklist and len(found) < _MAX_CODES:
        f = worklist.pop()
        for called in _functions_named(f):
            if called.__code__ not in found:
                found[called.__code__] = None
                worklist.append(called)
    return tuple(found)


def _functions_named(f: FunctionType) -> Iterator[FunctionType]:
    """The Python functions that `f`, or a function inside of it, names."""
    names = {n for c in (f.__code__, *_inner_codes(f.__code__)) for n in c.co_names}
    values = [dict.get(f.__globals__, n) for n in names]
    owners = (v for v in values if type(v) is ModuleType or isinstance(v, type))
    values += [vars(m).get(n) for m in owners if m.__name__ != "numpy" for n in names]
    for cell in f.__closure__ or ():
        with suppress_failures(ValueError):  # empty
            values.append(cell.cell_contents)
    for value in values:
        called = _unwrapped(value)
        if type(called) is FunctionType and not is_numpys(called):
            yield called


def _unwrapped(value: Any) -> Any:
    """The function behind a property, a static method, or a wrapper such as that of ``fuse``; other
    values are returned as they are. Runs no code of the user's.
    """
    value = value.fget if isinstance(value, property) else value
    value = value.__func__ if isinstance(value, staticmethod) else value
    return getattr_static(value, "__wrapped__", value) if callable(value) else value


def _inner_codes(code: CodeType) -> Iterator[CodeType]:
    """The code of the functions inside of `code`, at any depth."""
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield c
            yield from _inner_codes(c)


class NamedMembers(NamedTuple):
    """The members of aggregates that some code can name."""

    attributes: frozenset[Key]
    keys: frozenset[str]
    """The keys of dicts: all str constants of the code."""


@functools.cache
def named_members(codes: tuple[CodeType, ...], kinds: frozenset[type]) -> NamedMembers:
    """The members that can be named by `codes` and their inner functions; or by the methods and
    properties of the classes `kinds` that have a name in `codes`, or in one another, by their
    ``__call__``, and by the functions that these call. A method may read a member of any argument::

        class Scale:
            def of(self, p): return self.factor * p.x

        def f(scale, p): return scale.of(p)         attributes: of, factor, x
    """
    names, worklist = set[str](), [*codes]
    found = set(codes)
    while worklist:
        c = worklist.pop()
        new_names = {*c.co_names, "__call__"} - names  # a call of an object names no method
        names |= new_names
        classes = {c for kind in kinds for c in kind.__mro__}  # a base's may be called by name
        attributes = [vars(c)[n] for c in classes for n in new_names & vars(c).keys()]
        methods = map(_unwrapped, attributes)
        more = {c for m in methods if isinstance(m, FunctionType) for c in reachable_codes(m)}
        more |= {k for k in c.co_consts if isinstance(k, CodeType)}
        worklist += more - found
        found |= more
    texts = (k for c in found for k in c.co_consts if isinstance(k, str))
    return NamedMembers(frozenset(names), frozenset(texts))


def narrow_to_named(ty: ObjectType, named: NamedMembers) -> ObjectType:
    """`ty`, the type of an object or dict, without the members that are not `named`: they do not
    matter for the signature::

        def f(p): return p.x + p.y       # Point(x: float, y: float, label: str)  →  Point(x, y)

    All items of a tuple are kept. The same holds for aggregates in `ty`. Called by
    `typeof.argument_types` at each call that no row of the installed call fits.
    """
    if ty.is_tuple:
        parts = ty.parts
    elif ty.kind is dict:
        parts = tuple((k, t) for k, t in ty.parts if isinstance(k, tuple) and k[0] in named.keys)
    else:
        parts = tuple((k, t) for k, t in ty.parts if k in named.attributes)
    inner = ((k, narrow_to_named(t, named) if isinstance(t, ObjectType) else t) for k, t in parts)
    return ObjectType(ty.kind, tuple(inner))


@functools.cache
def string_constants(code: CodeType) -> frozenset[str]:
    """The string constants in `code` and its inner functions, which may be keys of dicts."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return frozenset(c for c in code.co_consts if isinstance(c, str)).union(
        *map(string_constants, inner)
    )


def object_kinds(types: Iterable[ArgType]) -> frozenset[type]:
    """The classes of the objects of these types, and of the objects in them."""
    objects = [ty for ty in types if isinstance(ty, ObjectType)]
    inner = (object_kinds(t for _, t in ty.parts) for ty in objects)
    return frozenset(ty.kind for ty in objects).union(*inner)
