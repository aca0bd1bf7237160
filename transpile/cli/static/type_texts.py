"""Types of texts: what ``--types`` spells, as reports print it or as annotations do.

A type that a report prints is read as a type with the same text. Its text does not tell everything:
not the strides of an array, and of an object only the class.
"""
from __future__ import annotations

import ast
import builtins
import functools
import inspect
import operator
import random
import re
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum, Flag
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from ...frontend.defining_modules import module_of
from ...types.aggregates import has_plain_instances
from ...types.typeof import opaque_type, type_of
from ...types.value_types import (
    ELEMENTS,
    ArgType,
    Constant,
    ListType,
    ObjectType,
    Opaque,
    ScalarType,
)
from .annotation_types import SCALARS, array_of

__all__ = ["Annotated", "is_open_class", "is_unknown_object", "parse_type", "split_at_commas"]

Annotated: TypeAlias = Callable[[Any], "ArgType | None"]
"""The type of a parameter with this annotation (an object); None if it is not known."""

_NO_NAMES: Mapping[str, Any] = MappingProxyType({})

_BY_NAME: dict[str, ArgType] = {
    kind.__name__: type_ for kind, type_ in SCALARS.items() if isinstance(kind, type)
} | {"bytes": type_of(b""), "bytearray": type_of(bytearray())}
"""The types of Python's that are spelled by their names."""

_GENERATORS: dict[type, Callable[[], Any]] = {
    np.random.Generator: np.random.default_rng,
    np.random.RandomState: np.random.RandomState,
    random.Random: random.Random,
}
"""For each class of random generators what makes one."""

_TOKENS = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[\[\](){},]""")

_UNUSABLE = re.compile(r"\d+-dimensional array.*|(array\.array|memoryview) (of|that) .*")
"""Texts of memory that compiled code cannot use, which have their reason after the name."""

_ANNOTATION_NODES = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant, ast.BinOp,
    ast.BitOr, ast.Load,
)
"""What an annotation in ``--types`` may have: nothing that calls."""


def split_at_commas(text: str) -> list[str]:
    """The parts of `text` between commas that stand in no brackets and no quotes. Raises ValueError
    for a bracket that is not opened or not closed.
    """
    parts, depth, start = [], 0, 0
    for token in _TOKENS.finditer(text):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth < 0:
            break
        if token[0] == "," and depth == 0:
            parts.append(text[start : token.start()].strip())
            start = token.end()
    if depth:
        raise ValueError(f"the brackets of {text!r} do not match")
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


def parse_type(
    text: str, names: Mapping[str, Any] = _NO_NAMES, annotated: Annotated | None = None
) -> ArgType:
    """The type that `text` spells. ``names``: the globals in which classes and functions are looked
    up; ``annotated``: reads annotations, None where they are not taken. In this order:

    - as reports print it: ``f64[:, 1]``, ``{x: f64, n: i32}[:]``, ``(float, int)``, ``None``,
      ``'same'``, ``list[float]``, ``memoryview[u8]``, ``type[float32]``, ``function step``;
    - an annotation: ``str``, ``dict[str, float]``, ``Model``.

    Raises ValueError.
    """
    text = text.strip()
    found = _printed_type(text, names, annotated) or _annotation_type(text, names, annotated)
    if found is None and text.isidentifier():
        found = ScalarType(_dtype(text))
    if found is None:
        raise ValueError(f"{text!r} is not a type; want f64, f64[:], f64[:, 1], int …")
    return found


def is_unknown_object(ty: ArgType, text: str, names: Mapping[str, Any]) -> bool:
    """Whether `ty`, which `text` spells, is that of an object whose attributes or items only a call
    tells.
    """
    kind = _class_named(text.strip(), names)
    return type(ty) is Opaque and kind is not None and is_open_class(kind)


def is_open_class(kind: type) -> bool:
    """Whether compiled code may take an instance of `kind`, by the types of its attributes or items
    in a call.
    """
    return kind is list or has_plain_instances(kind)


def _printed_type(
    text: str, names: Mapping[str, Any], annotated: Annotated | None
) -> ArgType | None:
    """The type whose text in reports is `text`; None if there is none. Raises ValueError."""
    if text in _BY_NAME:
        return _BY_NAME[text]
    if text[:1] == "(" and text[-1:] == ")":
        items = [parse_type(part, names, annotated) for part in _items_of_tuple(text[1:-1])]
        return ObjectType(tuple, tuple(enumerate(items)))
    if match := re.fullmatch(r"(\{.*\}|\w+)\[([:1, ]*)\]", text):
        return _array_type(match[1], split_at_commas(match[2]))
    if match := re.fullmatch(r"(list|tuple|memoryview|array|type)\[(.+)\]", text):
        return _subscripted_type(match[1], match[2].strip(), names)
    return _constant_type(text, names) or _opaque_type(text, names)


def _items_of_tuple(text: str) -> list[str]:
    """The items of a tuple's text without its brackets; it may end with a comma."""
    items = split_at_commas(text)
    return items[:-1] if len(items) > 1 and not items[-1] else items


def _array_type(element: str, lengths: list[str]) -> ArgType | None:
    """The type of ``element[lengths]``: an array, also of records. Raises ValueError."""
    rank = len(lengths)
    if element.startswith("{"):
        return type_of(np.empty((2,) * rank, _records(element))) if {*lengths} == {":"} else None
    if not {*lengths} <= ({":", "1"} if rank > 1 else {":"}):
        return None
    ones = tuple(k for k, length in enumerate(lengths) if length == "1")
    dtype = _dtype(element)
    whole = type_of(np.empty((1,) * rank, ELEMENTS[dtype].numpy))
    if rank == 0 or isinstance(whole, Opaque):  # of too many axes
        return whole
    return replace(array_of(dtype, rank), unit_length_axes=ones)


def _records(text: str) -> np.dtype:
    """The dtype of ``{x: f64, n: i32}``, laid out as a C struct. Raises ValueError."""
    fields = []
    for part in split_at_commas(text[1:-1]):
        match = re.fullmatch(r"(\w+|'.*?'|\".*?\")\s*:\s*(.+)", part)
        if not match or match[1][0].isdigit():
            raise ValueError(f"{text!r} is no record; want {{x: f64, n: i32}}")
        name = match[1] if match[1].isidentifier() else ast.literal_eval(match[1])
        fields.append((name, _field_dtype(match[2])))
    if not fields:
        raise ValueError(f"{text!r} is no record; want {{x: f64, n: i32}}")
    return np.dtype(fields, align=True)


def _field_dtype(text: str) -> np.dtype:
    """The dtype of a field of this type. Raises ValueError."""
    if match := re.fullmatch(r"(\{.*\})(\[[:, ]*\])?", text):
        return _records(match[1])
    if text.startswith("array of "):
        return _numpy_dtype(text.removeprefix("array of "))
    return ELEMENTS[_dtype(text)].numpy


def _numpy_dtype(text: str, *, align: bool = False) -> np.dtype:
    """The dtype that NumPy prints so. Raises ValueError."""
    try:
        return np.dtype(text if text[:1] not in "[{(" else ast.literal_eval(text), align=align)
    except (TypeError, SyntaxError, ValueError):
        raise ValueError(f"{text!r} is no dtype of NumPy") from None


def _subscripted_type(kind: str, item: str, names: Mapping[str, Any]) -> ArgType | None:
    """The type of ``kind[item]``: a sequence, or a class; None if it is none that reports print.
    """
    if kind == "type":
        found = _class_named(item, names)
        return None if found is None else Constant(found, type)
    if kind in ("memoryview", "array"):
        empty = np.zeros(1, ELEMENTS[_dtype(item)].numpy)
        try:
            return type_of(empty.data if kind == "memoryview" else array(empty.dtype.char))
        except ValueError:  # an array.array of none of its type codes
            return None
    return _list_type(f"{kind}[{item}]", ()) or (
        Opaque("list", items=item) if kind == "list" and item.isidentifier() else None
    )


def _list_type(text: str, kinds: tuple[type, ...]) -> ListType | None:
    """The type of ``list[float]``, ``list[list[int]]`` or ``tuple[float, ...]``, in sequences of
    `kinds`; None if it is no sequence of numbers of one type.
    """
    if kinds and (text in ELEMENTS or text in ("int", "float")):
        item = _BY_NAME.get(text) or ScalarType(text)
        assert isinstance(item, ScalarType)
        return ListType(item, kinds) if ELEMENTS[item.dtype].kind != "c" else None
    match = re.fullmatch(r"list\[(.+)\]|tuple\[(.+), *\.\.\.\]", text)
    if match is None or len(kinds) > 1:
        return None
    return _list_type(match[1] or match[2], (*kinds, list if match[1] else tuple))


def _constant_type(text: str, names: Mapping[str, Any]) -> ArgType | None:
    """The type of ``None``, a str, an int, a bool, a dtype or a member of an Enum; None for other
    texts.
    """
    if match := re.fullmatch(r"dtype\((.+?)(, align=True)?\)", text):
        return type_of(_numpy_dtype(match[1].strip("'"), align=bool(match[2])))
    kind, _, members = text.rpartition(".")
    found = _class_named(kind, names) if kind else None
    if isinstance(found, type) and issubclass(found, Enum):
        known = [found.__members__.get(member) for member in members.split("|")]
        if all(member is not None for member in known):
            is_one = len(known) == 1 or not issubclass(found, Flag)
            return type_of(known[0] if is_one else functools.reduce(operator.or_, known))
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return Constant(value, type(value)) if type(value) in (int, bool) else (
        type_of(value) if value is None or isinstance(value, str) else None
    )


def _opaque_type(text: str, names: Mapping[str, Any]) -> ArgType | None:
    """The type of a function, a module, or memory that compiled code cannot use; None for other
    texts.
    """
    kind, _, name = text.partition(" ")
    if kind == "function" and name:
        found: Any = names.get(name, getattr(builtins, name, getattr(np, name, None)))
        ty = type_of(found)
        return ty if str(ty) == text else Opaque(text)
    if kind == "module" and name:
        return type_of(sys.modules[name]) if name in sys.modules else Opaque(text)
    if text.startswith("array of "):
        dtype = _numpy_dtype(text.removeprefix("array of "))
        types = (type_of(np.zeros((1,) * rank, dtype)) for rank in (1, 0))
        return next((ty for ty in types if str(ty) == text), None)
    if _UNUSABLE.fullmatch(text):
        return Opaque(text, "GUARD_LAYOUT" if text[0].isdigit() else "LOWER_TYPE")
    return None


def _annotation_type(
    text: str, names: Mapping[str, Any], annotated: Annotated | None
) -> ArgType | None:
    """The type of the annotation `text`: that which `annotated` knows, else one of any object of
    the class. None if it is no annotation.
    """
    if annotated is None or _is_dtype(text, names):
        return None
    kind = _class_named(text, names)
    if kind in _GENERATORS:
        return type_of(_GENERATORS[kind]())
    if kind is not None:
        ty = annotated(kind)
        return ty if ty is not None else replace(opaque_type(kind), name=text)
    return annotated(hint) if (hint := _evaluated(text, names)) is not None else None


def _is_dtype(text: str, names: Mapping[str, Any]) -> bool:
    """Whether `text` is the name of a dtype, and of no other class in `names`: NumPy has names of
    one letter, such as ``D``.
    """
    if not text.isidentifier() or (text not in ELEMENTS and isinstance(names.get(text), type)):
        return False
    try:
        return bool(_dtype(text))
    except ValueError:
        return False


def _evaluated(text: str, names: Mapping[str, Any]) -> Any:
    """The annotation that `text` is in `names`; None if it is none."""
    try:
        tree = ast.parse(text, mode="eval")
        if all(isinstance(node, _ANNOTATION_NODES) for node in ast.walk(tree.body)):
            return eval(compile(tree, "--types", "eval"), dict(names))
    except Exception:
        pass
    return None


def _class_named(text: str, names: Mapping[str, Any]) -> type | None:
    """The class of this name: in `names`, a builtin, of NumPy, in a loaded module; or one of
    Python's or of the module of `names` that has no name there, such as ``list_iterator``. None if
    there is none.
    """
    if not re.fullmatch(r"\w+(\.\w+)*", text):
        return None
    first, _, rest = text.partition(".")
    for scope in (names, vars(builtins), vars(np)):
        if first in scope and (found := _class_in(scope[first], rest)) is not None:
            return found
    own = names.get("__name__")
    module, _, name = text.rpartition(".")
    if module in (own, "__main__") and name:
        return _class_named(name, names)
    if module in sys.modules:
        return _class_in(sys.modules[module], name)
    classes = (kind for kind in _subclasses(object) if kind.__name__ == text)
    return next((kind for kind in classes if module_of(kind) in ("builtins", own)), None)


def _class_in(value: Any, path: str) -> type | None:
    """The class at ``value.path``; `value` itself for an empty path."""
    for name in path.split(".") if path else ():
        value = inspect.getattr_static(value, name, None)
    return value if isinstance(value, type) else None


def _subclasses(kind: type) -> Iterator[type]:
    """All subclasses of `kind`, also of these; some more than once."""
    subclasses: list[type] = type.__subclasses__(kind)
    for subclass in subclasses:
        yield subclass
        if subclass is not type:
            yield from _subclasses(subclass)


def _dtype(name: str) -> str:
    """The dtype of this name, ours or NumPy's. Raises ValueError."""
    if name in ELEMENTS:
        return name
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = None
    found = next((known for known, d in ELEMENTS.items() if d.numpy == dtype), None)
    if dtype is None or found is None:
        raise ValueError(
            f"{name!r} is not an element type (known: {', '.join(ELEMENTS)}; of Python's numbers: "
            f"int, float, complex, bool)"
        )
    return found
