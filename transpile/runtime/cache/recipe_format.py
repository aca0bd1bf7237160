"""Recipe format: a kernel interface as JSON, and back. Reading it runs no code and imports nothing.

Scalars that JSON has stand for themselves; anything else is a list of a tag and its parts. A record
is ``["KernelParameter", …fields]``, by a table of classes (`add_records`); a class or function is
named by module and qualified name, and must be found under that name in a module that is loaded.
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

from loopir.process.signal_exceptions import failures

__all__ = [
    "NotStorable", "add_records", "decoded", "encoded", "module_names", "row_of", "value_of",
]

_RECORDS: dict[str, Any] = {}
"""The classes whose objects can be stored, by name (`add_records`)."""

module_names: dict[str, str] = {}
"""The names of modules here, where they differ from those with which a recipe was made."""

_NAMED = (type, FunctionType, BuiltinFunctionType, MethodDescriptorType, np.ufunc)
"""Kinds of objects that are stored by name."""


class NotStorable(Exception):
    """A value that this format cannot express, or text that is no recipe of this version."""


def add_records(*modules: ModuleType) -> None:
    """From now on, objects of the dataclasses of these modules can be stored."""
    for module in modules:
        for name, value in vars(module).items():
            is_own = isinstance(value, type) and value.__module__ == module.__name__
            if is_own and hasattr(value, "__dataclass_fields__"):
                _RECORDS[name] = value


def encoded(value: object) -> bytes:
    """`value` as JSON. Raises NotStorable."""
    return json.dumps(row_of(value), separators=(",", ":")).encode()


def decoded(data: bytes) -> Any:
    """The value that `data` describes. Raises NotStorable."""
    try:
        return value_of(json.loads(data))
    except NotStorable:
        raise
    except failures(Exception) as error:  # any text: short rows, of other types, nested deeply
        raise NotStorable(f"no recipe: {error}") from error


# -- value → JSON


def row_of(value: Any) -> Any:
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
            return ["enum", row_of(type(value)), value.name]
        case tuple() | list() | frozenset() if type(value) in (tuple, list, frozenset):
            return [type(value).__name__, *map(row_of, value)]
        case slice():
            return ["slice", *map(row_of, (value.start, value.stop, value.step))]
        case itemgetter():
            return ["itemgetter", *map(row_of, value.__reduce__()[1])]
        case partial():
            given = [[name, row_of(x)] for name, x in value.keywords.items()]
            return ["partial", row_of(value.func), [*map(row_of, value.args)], given]
        case np.dtype() | np.generic():
            return _encode_numpy(value)
    if value is Ellipsis:
        return ["..."]
    if _RECORDS.get(type(value).__name__) is type(value):
        return [type(value).__name__, *(row_of(getattr(value, f.name)) for f in fields(value))]
    if isinstance(value, _NAMED):
        return _encode_named(value)
    raise NotStorable(f"objects of type {type(value).__name__} are not stored")


def _encode_numpy(value: np.dtype | np.generic) -> Any:
    """As `row_of`, for a dtype or a scalar of NumPy."""
    if isinstance(value, np.dtype):
        row: list[Any] = ["dtype", value.str]
        if value.names is not None:
            parts = [value.fields[name][:2] for name in value.names] if value.fields else []
            formats = [row_of(part) for part, _ in parts]
            offsets = [offset for _, offset in parts]
            layout = value.itemsize, value.isalignedstruct
            row = ["record", [*value.names], formats, offsets, *layout]
        elif value.subdtype is not None:
            row = ["subarray", row_of(value.base), *value.shape]
        if not _is_same(value_of(row), value):
            raise NotStorable(f"the dtype {value} is not stored")
        return row
    if value.dtype.hasobject or value.dtype.names is not None:
        raise NotStorable(f"a scalar of {value.dtype} is not stored")
    return ["scalar", value.dtype.str, value.tobytes().hex()]


def _is_same(made: object, dtype: np.dtype) -> bool:
    """Whether `made` is the same as `dtype`, with the same metadata and titles."""
    return made == dtype and repr(made) == repr(dtype) and dtype.metadata is None


def _encode_named(value: Any) -> Any:
    """As `row_of`, for a class or function that can be found by its name."""
    owner = getattr(value, "__objclass__", None)
    name = getattr(value, "__qualname__", value.__name__)
    module = getattr(owner or value, "__module__", None) or "numpy"
    row = [_kind(value), module, name]
    try:
        found = value_of(row)
    except failures(Exception):  # `__getattr__` of a module may raise anything
        found = None
    if found is not value:
        raise NotStorable(f"{module}.{name} is not found by its name")
    return row


def _kind(value: object) -> str:
    """The tag of an object that is stored by name."""
    return "class" if isinstance(value, type) else "function"


# -- JSON → value


def value_of(row: Any) -> Any:
    """The value that `row` describes. Raises NotStorable, and other exceptions for other data."""
    if not isinstance(row, list):
        if isinstance(row, float | dict):
            raise NotStorable(f"unexpected {row}")
        return row
    tag, *parts = row
    if tag in _RECORDS:
        cls = _RECORDS[tag]
        values = [*map(value_of, parts)]
        names = [f.name for f in fields(cls)]
        return cls(**dict(zip(names, values, strict=True)))
    return _DECODERS[tag](*parts)


def _decode_named(is_class: bool, module: str, name: str) -> Any:
    """The class or function of that name, in a module that is loaded. Raises NotStorable."""
    found: Any = sys.modules.get(module_names.get(module, module))
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
        "names": names, "formats": [*map(value_of, formats)], "offsets": offsets,
        "itemsize": itemsize,
    }
    made: np.dtype = np.dtype(spec, align=aligned)
    return made


def _decode_enum(cls: Any, name: str) -> Any:
    """A member of an Enum class."""
    found = value_of(cls)
    if not (isinstance(found, type) and issubclass(found, Enum)):
        raise NotStorable(f"{cls} is no Enum")
    return found[name]


def _decode_partial(function: Any, args: list[Any], keywords: list[Any]) -> Any:
    """A function with arguments."""
    named = {name: value_of(value) for name, value in keywords}
    return partial(value_of(function), *map(value_of, args), **named)


_DECODERS: dict[str, Callable[..., Any]] = {
    "float": float.fromhex,
    "complex": lambda re, im: complex(float.fromhex(re), float.fromhex(im)),
    "tuple": lambda *items: tuple(map(value_of, items)),
    "list": lambda *items: [*map(value_of, items)],
    "frozenset": lambda *items: frozenset(map(value_of, items)),
    "slice": lambda *parts: slice(*map(value_of, parts)),
    "itemgetter": lambda *items: itemgetter(*map(value_of, items)),
    "partial": _decode_partial,
    "...": lambda: ...,
    "enum": _decode_enum,
    "dtype": np.dtype,
    "record": _decode_record,
    "subarray": lambda item, *shape: np.dtype((value_of(item), shape)),
    "scalar": lambda dtype, data: np.frombuffer(bytes.fromhex(data), np.dtype(dtype))[0],
    "class": lambda module, name: _decode_named(True, module, name),
    "function": lambda module, name: _decode_named(False, module, name),
}
"""For each tag that is no class of `_RECORDS`, what makes the value of the parts."""
