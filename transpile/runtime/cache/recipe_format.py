"""Recipe format: a kernel interface as JSON, and back. Reading it runs no code and imports nothing.

Scalars that JSON has stand for themselves; anything else is a list of a tag and its parts. A record
is ``["KernelParameter", …fields]``, by a closed table of classes; a class or function is named by
module and qualified name, and must be found under that name in a module that is already loaded.
"""
from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from functools import partial
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np

from targets.build.build_errors import failures

from ... import call_plan, host_nodes, result_spec
from ...types import value_types

__all__ = ["NotStorable", "decoded", "encoded"]

_RECORDS: dict[str, Any] = {
    name: value
    for module in (call_plan, host_nodes, result_spec, value_types)
    for name, value in vars(module).items()
    if isinstance(value, type) and value.__module__ == module.__name__
    and hasattr(value, "__dataclass_fields__")
}
"""The classes whose objects can be stored, by name."""

_NAMED = (type, FunctionType, BuiltinFunctionType, MethodDescriptorType, np.ufunc)
"""Kinds of objects that are stored by name."""


class NotStorable(Exception):
    """A value that this format cannot express, or text that is no recipe of this version."""


def encoded(value: object) -> bytes:
    """`value` as JSON. Raises NotStorable."""
    return json.dumps(_encode(value), separators=(",", ":")).encode()


def decoded(data: bytes) -> Any:
    """The value that `data` describes. Raises NotStorable."""
    try:
        return _decode(json.loads(data))
    except NotStorable:
        raise
    except failures(Exception) as error:  # any text: short rows, of other types, nested deeply
        raise NotStorable(f"no recipe: {error}") from error


# -- value → JSON


def _encode(value: Any) -> Any:
    """What ``json.dumps`` prints for `value`. Raises NotStorable."""
    match value:
        case None | bool() | str():
            return value
        case int() if type(value) is int:
            return value
        case float() if type(value) is float:
            return ["float", value.hex()]
        case complex() if type(value) is complex:
            return ["complex", value.real.hex(), value.imag.hex()]
        case Enum():
            return ["enum", _encode(type(value)), value.name]
        case tuple() | list() | frozenset() if type(value) in (tuple, list, frozenset):
            return [type(value).__name__, *map(_encode, value)]
        case slice():
            return ["slice", *map(_encode, (value.start, value.stop, value.step))]
        case itemgetter():
            return ["itemgetter", *map(_encode, value.__reduce__()[1])]
        case partial():
            given = [[name, _encode(x)] for name, x in value.keywords.items()]
            return ["partial", _encode(value.func), [*map(_encode, value.args)], given]
        case np.dtype() | np.generic():
            return _encode_numpy(value)
    if value is Ellipsis:
        return ["..."]
    if _RECORDS.get(type(value).__name__) is type(value):
        return [type(value).__name__, *(_encode(getattr(value, f.name)) for f in fields(value))]
    if isinstance(value, _NAMED):
        return _encode_named(value)
    raise NotStorable(f"objects of type {type(value).__name__} are not stored")


def _encode_numpy(value: np.dtype | np.generic) -> Any:
    """As `_encode`, for a dtype or a scalar of NumPy."""
    if isinstance(value, np.dtype):
        row: list[Any] = ["dtype", value.str]
        if value.names is not None:
            parts = [value.fields[name][:2] for name in value.names] if value.fields else []
            formats = [_encode(part) for part, _ in parts]
            offsets = [offset for _, offset in parts]
            layout = value.itemsize, value.isalignedstruct
            row = ["record", [*value.names], formats, offsets, *layout]
        elif value.subdtype is not None:
            row = ["subarray", _encode(value.base), *value.shape]
        if not _is_same(_decode(row), value):
            raise NotStorable(f"the dtype {value} is not stored")
        return row
    if value.dtype.hasobject or value.dtype.names is not None:
        raise NotStorable(f"a scalar of {value.dtype} is not stored")
    return ["scalar", value.dtype.str, value.tobytes().hex()]


def _is_same(made: object, dtype: np.dtype) -> bool:
    """Whether `made` is the same as `dtype`, with the same metadata and titles."""
    return made == dtype and repr(made) == repr(dtype) and dtype.metadata is None


def _encode_named(value: Any) -> Any:
    """As `_encode`, for a class or function that can be found by its name."""
    owner = getattr(value, "__objclass__", None)
    name = getattr(value, "__qualname__", value.__name__)
    module = getattr(owner or value, "__module__", None) or "numpy"
    row = [_kind(value), module, name]
    try:
        found = _decode(row)
    except failures(Exception):  # `__getattr__` of a module may raise anything
        found = None
    if found is not value:
        raise NotStorable(f"{module}.{name} is not found by its name")
    return row


def _kind(value: object) -> str:
    """The tag of an object that is stored by name."""
    return "class" if isinstance(value, type) else "function"


# -- JSON → value


def _decode(row: Any) -> Any:
    """The value that `row` describes. Raises NotStorable, and other exceptions for other data."""
    if not isinstance(row, list):
        if isinstance(row, float | dict):
            raise NotStorable(f"unexpected {row}")
        return row
    tag, *parts = row
    if tag in _RECORDS:
        cls = _RECORDS[tag]
        values = [*map(_decode, parts)]
        names = [f.name for f in fields(cls)]
        return cls(**dict(zip(names, values, strict=True)))
    return _DECODERS[tag](*parts)


def _decode_named(is_class: bool, module: str, name: str) -> Any:
    """The class or function of that name, in a module that is loaded. Raises NotStorable."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, ModuleType | type) else None
    if isinstance(found, type) is not is_class or not isinstance(found, _NAMED):
        raise NotStorable(f"there is no {module}.{name}")
    if not is_class and module.partition(".")[0] not in _FUNCTIONS_OF:
        raise NotStorable(f"functions of {module} are not stored")
    return found


_FUNCTIONS_OF = ("builtins", "math", "numpy", "transpile")
"""The packages whose functions are stored by name; classes may be the user's."""


def _decode_record(
    names: list[str], formats: list[Any], offsets: list[int], itemsize: int, aligned: bool
) -> np.dtype:
    """A dtype of records."""
    spec: Any = {
        "names": names, "formats": [*map(_decode, formats)], "offsets": offsets,
        "itemsize": itemsize,
    }
    made: np.dtype = np.dtype(spec, align=aligned)
    return made


def _decode_enum(cls: Any, name: str) -> Any:
    """A member of an Enum class."""
    found = _decode(cls)
    if not (isinstance(found, type) and issubclass(found, Enum)):
        raise NotStorable(f"{cls} is no Enum")
    return found[name]


def _decode_partial(function: Any, args: list[Any], keywords: list[Any]) -> Any:
    """A function with arguments."""
    named = {name: _decode(value) for name, value in keywords}
    return partial(_decode(function), *map(_decode, args), **named)


_DECODERS: dict[str, Callable[..., Any]] = {
    "float": float.fromhex,
    "complex": lambda re, im: complex(float.fromhex(re), float.fromhex(im)),
    "tuple": lambda *items: tuple(map(_decode, items)),
    "list": lambda *items: [*map(_decode, items)],
    "frozenset": lambda *items: frozenset(map(_decode, items)),
    "slice": lambda *parts: slice(*map(_decode, parts)),
    "itemgetter": lambda *items: itemgetter(*map(_decode, items)),
    "partial": _decode_partial,
    "...": lambda: ...,
    "enum": _decode_enum,
    "dtype": np.dtype,
    "record": _decode_record,
    "subarray": lambda item, *shape: np.dtype((_decode(item), shape)),
    "scalar": lambda dtype, data: np.frombuffer(bytes.fromhex(data), np.dtype(dtype))[0],
    "class": lambda module, name: _decode_named(True, module, name),
    "function": lambda module, name: _decode_named(False, module, name),
}
"""For each tag that is no class of `_RECORDS`, what makes the value of the parts."""
