"""Typeof: types of runtime values, and the signature of a call."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import Enum
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from loopir.dtypes import MAX_RANK
from targets.abi.parameter_specs import has_unordered_strides

from .aggregates import narrow_to_code, object_type, string_constants
from .generator_state import generator_family
from .value_types import (
    ELEMENTS,
    PARTS,
    ArgType,
    ArrayType,
    Constant,
    Function,
    GeneratorType,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
    WrappedFunction,
)

__all__ = ["call_with_values", "global_type", "parameter_names", "type_of", "argument_types"]

_SCALARS = {d.numpy.type: ScalarType(d.name) for d in ELEMENTS.values()} | {
    complex: ScalarType("c128", weak=True),
    float: ScalarType("f64", weak=True),
    int: ScalarType("i64", weak=True),
    bool: ScalarType("bool", weak=True),
}
_MAX_STR_LENGTH = 24
"""Of strs: longer ones say something, and choose nothing."""

_DTYPES = {(d.numpy.num, d.numpy.byteorder): d.name for d in ELEMENTS.values()}
"""By number: longlong is not int64, and unpickled arrays have dtype objects of their own."""


def type_of(value: Any) -> ArgType:
    """The type of one value: an exact ndarray, a Python or NumPy scalar, or an opaque one."""
    kind = type(value)
    if kind is np.ndarray:
        return _array(value)
    known = _SCALARS.get(kind) or _constant(value, kind) or _function(value, kind)
    held = known or _list(value, kind, _MAX_TUPLE_ITEMS) or _generator(value, kind)
    return held or object_type(value, _part_type) or _opaque(kind)


_MAX_TUPLE_ITEMS = 16
"""Items of a tuple that are told apart."""


def global_type(value: Any) -> ArgType:
    """The type of a global. A tuple of numbers is taken as a whole value, since the name may be
    rebound to another one.
    """
    return _list(value, type(value), -1) or type_of(value)


def _list(value: Any, kind: type, few: int) -> ListType | None:
    """The type of a list, or of a long tuple, as its first item tells; of nothing, that of floats.
    """
    if kind is not list and (kind is not tuple or len(value) <= few):
        return None
    first: Any = value[0] if value else 0.0
    inner = type(first)
    if inner is list or inner is tuple:
        kinds: tuple[type, ...] = kind, inner
        first = first[0] if first else 0.0
    else:
        kinds = (kind,)
    item = _SCALARS.get(type(first))
    return ListType(item, kinds) if item is not None and item.dtype not in PARTS else None


def _part_type(value: Any) -> ArgType | None:
    """As of arguments, of what holds nothing; but a str is one of many."""
    kind = type(value)
    if kind is str:
        return _opaque(kind)
    if kind is np.ndarray or kind in _SCALARS:
        return type_of(value)
    return _constant(value, kind) or _generator(value, kind)


def _constant(value: Any, kind: type) -> Constant | None:
    """What stands for itself: its equality and its hash run no code but Python's own."""
    known = value is None or (kind is str and len(value) <= _MAX_STR_LENGTH)
    known = known or kind is type or issubclass(kind, np.dtype)
    if not known and issubclass(kind, Enum):
        known = (kind.__eq__, kind.__hash__) == (Enum.__eq__, Enum.__hash__)
    return Constant(value, kind) if known else None


def _function(value: Any, kind: type) -> Function | None:
    """The type of a function as an argument; that of one of Python's is what it runs."""
    if kind is FunctionType:
        name = f"function {value.__name__}"
        return Function(name, key=(id(value.__code__), id(value.__globals__)), value=value)
    known = kind in (np.ufunc, type(np.sum))
    if kind is BuiltinFunctionType:
        known = isinstance(value.__self__, (ModuleType, NoneType))
    if not (known or issubclass(kind, WrappedFunction)):
        return None
    return Function(f"function {value.__name__}", key=(id(value),), value=value)


def _generator(value: Any, kind: type) -> GeneratorType | None:
    name = generator_family(value)
    return None if name is None else GeneratorType(_name(kind), family=name)


def _opaque(kind: type) -> Opaque:
    code = "GUARD_DTYPE" if issubclass(kind, np.ndarray) else "LOWER_TYPE"
    return Opaque(_name(kind), code)


def _name(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def argument_types(values: Sequence[Any], code: CodeType) -> tuple[ArgType, ...]:
    """The types of the arguments of `code`; of objects, only the parts that `code` may name."""
    seen = (
        {k: v[k] for k in string_constants(code) if k in v} if type(v) is dict else v
        for v in values
    )
    types = tuple(map(type_of, seen))
    return tuple(narrow_to_code(t, code) if isinstance(t, ObjectType) else t for t in types)


def _array(a: np.ndarray) -> ArgType:
    if a.dtype.names and 0 < a.ndim <= MAX_RANK:
        return _record_type(a, _unit_stride_axis(a), a.itemsize)
    name = _DTYPES.get((a.dtype.num, a.dtype.byteorder))
    if name is None:
        return Opaque(f"array of {a.dtype}", "GUARD_DTYPE")
    if not a.flags.aligned:
        return Opaque(f"unaligned array of {a.dtype}", "GUARD_LAYOUT")
    if a.ndim + (name in PARTS) > MAX_RANK:
        of = " of complex numbers" if name in PARTS else ""
        return Opaque(f"{a.ndim}-dimensional array{of}", "GUARD_LAYOUT")
    ones = tuple(k for k, n in enumerate(a.shape) if n == 1) if a.ndim > 1 else ()
    return _array_type(name, a.ndim, _unit_stride_axis(a), (), ones)


_array_type = functools.cache(ArrayType)


def _record_type(a: np.ndarray, along: int | None, size: int) -> RecordType:
    """The type of records, of which one follows the other in `size` bytes, on an axis or none."""
    fields = ((name, a[name]) for name in a.dtype.names or ())
    return RecordType(
        a.dtype, a.ndim, tuple((n, _field_type(f, a, along, size)) for n, f in fields)
    )


def _field_type(f: np.ndarray, of: np.ndarray, along: int | None, size: int) -> ArgType:
    """The type of a field: its strides are those of the records."""
    if f.dtype.names and f.ndim == of.ndim:
        return _record_type(f, along, size)
    ty = type_of(f)
    if not isinstance(ty, ArrayType):
        return ty
    inner = ty.rank - 1 if ty.rank > of.ndim else None
    if along is None or size % f.itemsize:
        return _array_type(ty.dtype, ty.rank, inner)
    step = size // f.itemsize
    if step == 1:
        return _array_type(ty.dtype, ty.rank, along)
    steps = tuple(step if axis == along else None for axis in range(ty.rank))
    return _array_type(ty.dtype, ty.rank, inner, steps)


def _unit_stride_axis(a: np.ndarray) -> int | None:
    """The last axis of what lies in C order, as all empty arrays do; else the last whose stride is
    one element; failing that, the last of at most one element. None where it is the first or the
    last, but the others do not follow it in order: what NumPy makes of such an array has its order.
    """
    if a.ndim and a.flags.c_contiguous:
        return a.ndim - 1
    axis = _last_unit_axis(a)
    return None if axis is None or has_unordered_strides(a, axis) else axis


def _last_unit_axis(a: np.ndarray) -> int | None:
    short = None
    for axis in range(a.ndim - 1, -1, -1):
        if a.shape[axis] <= 1:
            short = axis if short is None else short
        elif a.strides[axis] == a.itemsize:
            return axis
    return short


def parameter_names(code: CodeType) -> tuple[str, ...]:
    """The names of a function's parameters: positional, keyword-only, ``*args``, ``**kwargs``."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return code.co_varnames[:count]


def call_with_values(function: Callable[..., Any], code: CodeType, values: Sequence[Any]) -> Any:
    """Call `function` with `values`, which are in the order of `parameter_names`."""
    positional, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[positional:named]
    args, kwargs = values[:positional], dict(zip(names, values[positional:named], strict=True))
    rest = iter(values[named:])
    if code.co_flags & CO_VARARGS:
        args = (*args, *next(rest))
    if code.co_flags & CO_VARKEYWORDS:
        kwargs.update(next(rest))
    return function(*args, **kwargs)
