"""Typeof: the type of a runtime value, and the signature of a call.

`argument_types` is called at each call that no compiled variant has taken yet, so it runs no user
code and is fast for arrays and numbers. `type_of` tries, in this order: ndarray, scalar, constant
(None, short str, class, dtype, Enum), function or module, list or long tuple, random generator,
aggregate (`aggregates.object_type`); else the value is opaque.
"""
from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any, Literal

import numpy as np

from loopir.dtypes import MAX_RANK
from loopir.lazy_dataclass import replace
from loopir.process.signal_exceptions import failures
from targets.abi.parameter_specs import MemoryOrder, fits_order, has_order_of_unit_axis
from targets.abi.sequence_conversion import SHARING, packed_dtype, shared_array

from ..frontend.defining_modules import is_builtin, is_numpy_random, module_of, package_of
from .aggregates import (
    MAX_MEMBERS,
    named_members,
    narrow_to_named,
    object_kinds,
    object_type,
    reachable_codes,
)
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

__all__ = [
    "argument_types", "call_with_values", "global_type", "has_chunked_argument",
    "is_dask_array", "is_probe", "opaque_type", "parameter_names", "type_of",
]

_SCALARS = {d.numpy.type: ScalarType(d.name) for d in ELEMENTS.values()} | {
    complex: ScalarType("c128", weak=True),
    float: ScalarType("f64", weak=True),
    int: ScalarType("i64", weak=True),
    bool: ScalarType("bool", weak=True),
}
_MAX_STR_LENGTH = 24
"""A longer str is opaque: it is a text, and no mode that selects code."""

_MAX_TUPLE_ITEMS = 16
"""A longer tuple has the type of a list: its items have no types of their own."""

_DTYPES = {(d.numpy.num, d.numpy.byteorder): d.name for d in ELEMENTS.values()}
"""Names of dtypes by NumPy's type number, since unpickled arrays have other dtype objects, and
longlong, which is as long as int64, is another type.
"""


def type_of(value: Any) -> ArgType:
    """The type of `value`, an argument or a part of one, as signatures have it::

        np.zeros((3, 4))  →  f64[:, :]        2.0         →  float        "same"  →  Constant
        [1, 2]            →  list[int]        np.int8(1)  →  i8           print   →  Function

    Types are tried in the order of the module's docstring, cheap and frequent ones first; a value
    that compiled code cannot take is opaque, not an error: the function may do without it.
    """
    kind = type(value)
    if kind is np.ndarray:
        return _array(value)
    return (
        _SCALARS.get(kind)
        or _constant(value, kind)
        or _function(value, kind)
        or _list(value, kind, _MAX_TUPLE_ITEMS)
        or _generator(value, kind)
        or _chunked_array(kind)
        or object_type(value, _part_type)
        or _opaque_list(value, kind)
        or (_opaque_memory(value, kind) if kind in SHARING else opaque_type(kind))
    )


def global_type(value: Any) -> ArgType:
    """The type of a global. Every tuple of numbers has the type of a list, whatever its length:
    the name may be rebound to a tuple of another length.
    """
    return _list(value, type(value), -1) or type_of(value)


def _list(value: Any, kind: type, max_items: int) -> ListType | None:
    """The type of a sequence that kernels take as an array: a list, a tuple of more than
    `max_items` items, bytes, a bytearray, or a memoryview or array.array of numbers. None for other
    values.

    The first item decides; an empty sequence counts as one of floats. The other items are checked
    at each call, when they are converted (`SequenceSpec.take`). None if the first item is no
    number, or a list or tuple of numbers of several types.
    """
    if kind is bytes or kind is bytearray:
        return ListType(_SCALARS[int], (kind,))
    if kind in SHARING:
        return _shared_memory(value, kind)
    if kind is not list and (kind is not tuple or len(value) <= max_items):
        return None
    first: Any = value[0] if value else 0.0
    inner = type(first)
    if inner is list or inner is tuple:
        kinds: tuple[type, ...] = kind, inner
        if kind is list and len({*map(type, first[:_MAX_TUPLE_ITEMS])}) > 1:
            return None  # such as pairs of an int and a float
        first = first[0] if first else 0.0
    else:
        kinds = (kind,)
    item = _SCALARS.get(type(first))
    return ListType(item, kinds) if item is not None and item.dtype not in PARTS else None


def _shared_memory(value: Any, kind: type) -> ListType | None:
    """The type of a memoryview or an array.array, None if its items have another format than
    Python's numbers, or it has several axes.
    """
    dtype = packed_dtype(value)
    memory = None if dtype is None else shared_array(value, dtype)
    ty = None if memory is None else _array(memory)
    if not isinstance(ty, ArrayType):
        return None
    item = {"f": float, "b": bool}.get(ELEMENTS[ty.dtype].kind, int)
    return ListType(_SCALARS[item], (kind,), memory=ty)


def _part_type(value: Any) -> ArgType | None:
    """The type of a part of an aggregate that is no aggregate itself, None for others. A str is
    opaque: each value would make another signature.
    """
    kind = type(value)
    if kind is str:
        return opaque_type(kind)
    if kind is np.ndarray or kind in _SCALARS:
        return type_of(value)
    items = None if kind in SHARING else _list(value, kind, MAX_MEMBERS)
    return _constant(value, kind) or items or _generator(value, kind)


def _constant(value: Any, kind: type) -> Constant | None:
    """The type of a value that is part of the signature: None, a short str, a class, a dtype, an
    Enum member that compares as usual; None for others, whose ``==`` may run user code.
    """
    is_constant = value is None or (kind is str and len(value) <= _MAX_STR_LENGTH)
    is_constant = is_constant or kind is type or issubclass(kind, np.dtype)
    if not is_constant and issubclass(kind, Enum):
        is_constant = (kind.__eq__, kind.__hash__) == (Enum.__eq__, Enum.__hash__)
    return Constant(value, kind) if is_constant else None


def _function(value: Any, kind: type) -> Function | None:
    """The type of a function or module as an argument: by code and globals for a Python function,
    by identity for builtins, NumPy's and fused ones, and modules; None for others, such as bound
    methods.
    """
    if kind is FunctionType:
        name = f"function {value.__name__}"
        return Function(name, key=(id(value.__code__), id(value.__globals__)), value=value)
    is_function = kind in (np.ufunc, type(np.sum))
    if kind is BuiltinFunctionType:
        is_function = isinstance(value.__self__, (ModuleType, NoneType))
    if kind is ModuleType:
        return Function(f"module {_module_name(value)}", key=(id(value),), value=value)
    if not (is_function or issubclass(kind, WrappedFunction)):
        return None
    return Function(f"function {value.__name__}", key=(id(value),), value=value)


def _module_name(module: ModuleType) -> str:
    """The name of `module` for messages, whatever its ``__name__`` is bound to."""
    name = vars(module).get("__name__")
    return name if type(name) is str else "?"


def _generator(value: Any, kind: type) -> GeneratorType | None:
    """The type of a random generator that can be compiled; None for other values."""
    family = generator_family(value)
    if family is None:
        return None
    return GeneratorType(_name(kind), family=family, is_generator=_is_generator(kind))


def _is_generator(kind: type) -> bool:
    """Whether `kind` is a class of random number generators, of NumPy's or Python's."""
    return is_numpy_random(kind) or package_of(kind) == random.__name__


def _chunked_array(kind: type) -> Opaque | None:
    """The type of an array of Dask, which is not imported for that; None for other values."""
    is_chunked = _is_class_of_dask_arrays(kind)
    return replace(opaque_type(kind), is_chunked=True) if is_chunked else None


def _is_class_of_dask_arrays(kind: type) -> bool:
    return kind.__name__ == "Array" and module_of(kind).startswith("dask.")


def is_dask_array(value: object) -> bool:
    """Whether `value` is an array of Dask, told by its type alone."""
    return _is_class_of_dask_arrays(type(value))


def has_chunked_argument(types: Sequence[ArgType]) -> bool:
    """Whether an argument of a call with this signature is an array in chunks, of Dask."""
    return any(isinstance(t, Opaque) and t.is_chunked for t in types)


def is_probe(values: Sequence[Any]) -> bool:
    """Whether a call may be one by which Dask asks of what type the results are: Dask is imported,
    and the arrays among the arguments have no elements.
    """
    if "dask" not in sys.modules:
        return False
    sizes = [v.size for v in values if type(v) is np.ndarray]
    return bool(sizes) and not any(sizes)


def opaque_type(kind: type) -> Opaque:
    """The type of a value that compiled code cannot use; an ndarray subclass has its own code."""
    code = "GUARD_DTYPE" if issubclass(kind, np.ndarray) else "LOWER_TYPE"
    is_iterator = any("__next__" in vars(c) for c in kind.__mro__)
    return Opaque(
        _name(kind), code, is_iterator=is_iterator, is_generator=_is_generator(kind),
        defined_in=(module_of(kind), kind.__name__),
    )


def _opaque_list(value: Any, kind: type) -> Opaque | None:
    """The type of a list that compiled code cannot use; None for other values."""
    if kind is not list or not value:
        return None
    first = value[0]
    return Opaque("list", items="None" if first is None else type(first).__name__)


def _opaque_memory(value: Any, kind: type) -> Opaque:
    """The type of a memoryview or an array.array that compiled code cannot use, with the reason."""
    name = _name(kind)
    if kind is not memoryview:
        return Opaque(f"{name} of type code {value.typecode!r}")
    try:
        axes, form = value.ndim, value.format
    except failures(ValueError):
        return Opaque(f"{name} that was released")
    return Opaque(f"{name} of {axes} axes" if axes != 1 else f"{name} of format {form!r}")


def _name(kind: type) -> str:
    return kind.__name__ if is_builtin(kind) else f"{module_of(kind)}.{kind.__name__}"


def argument_types(values: Sequence[Any], function: FunctionType) -> tuple[ArgType, ...]:
    """The signature of a call of `function` with `values`: the type of each argument. The type of
    an aggregate has only the parts that can be named (`narrow_to_named`) by `function`, by a
    function that it may call, or by a method of an argument. In a dict, which may be large, only
    such keys are looked up.
    """
    types = [None if type(v) is dict else type_of(v) for v in values]
    known = tuple(t for t in types if t is not None)
    if len(known) == len(values) and not any(isinstance(t, ObjectType) for t in known):
        return known
    passed = (t.value for t in known if isinstance(t, Function))
    called = (f.__wrapped__ if isinstance(f, WrappedFunction) else f for f in passed)
    functions = (function, *(f for f in called if isinstance(f, FunctionType)))
    codes = tuple(dict.fromkeys(c for f in functions for c in reachable_codes(f)))
    kinds = object_kinds(known)
    named = named_members(codes, kinds)
    if len(known) < len(values):
        of_dicts = ({k: v[k] for k in named.keys if k in v} for v in values if type(v) is dict)
        known = tuple(type_of(next(of_dicts)) if t is None else t for t in types)
        if not (all_kinds := object_kinds(known)) <= kinds | {dict}:  # dicts have objects
            named = named_members(codes, all_kinds)
    return tuple(narrow_to_named(t, named) if isinstance(t, ObjectType) else t for t in known)


def _array(a: np.ndarray) -> ArgType:
    """The type of an ndarray; Opaque, with a code, for an unknown dtype or byte order, and too
    many axes. An array that is not aligned has no axis of unit stride.
    """
    if a.dtype.names and 0 < a.ndim <= MAX_RANK:
        return _record_type(a, _unit_stride_axis(a), a.itemsize)
    name = _DTYPES.get((a.dtype.num, a.dtype.byteorder))
    if name is None:
        kind = a.dtype.kind if a.dtype.isnative else "swapped"
        is_like_another = a.dtype.kind in "iu" and a.dtype.isnative  # NumPy prints int64, too
        of = a.dtype.type.__name__ if is_like_another else a.dtype
        return Opaque(f"array of {of}", "GUARD_DTYPE", dtype_kind=kind)
    if a.ndim + (name in PARTS) > MAX_RANK:
        of_complex = " of complex numbers" if name in PARTS else ""
        return Opaque(f"{a.ndim}-dimensional array{of_complex}", "GUARD_LAYOUT")
    ones = tuple(k for k, n in enumerate(a.shape) if n == 1) if a.ndim > 1 else ()
    if not a.flags.aligned:
        return _array_type(name, a.ndim, None, (), ones, aligned=False)
    unit = _unit_stride_axis(a)
    return _array_type(name, a.ndim, unit, (), ones, order=_stride_order(a, unit))


_array_type = functools.cache(ArrayType)
"""ArrayType, with one object for each type."""


def _record_type(records: np.ndarray, unit: int | None, size: int) -> RecordType:
    """The type of an array of records of `size` bytes each. ``unit``: the axis on which one record
    follows the other in memory, None if there is none.
    """
    fields = ((name, records[name]) for name in records.dtype.names or ())
    return RecordType(
        records.dtype, records.ndim,
        tuple((name, _field_type(field, records, unit, size)) for name, field in fields),
    )


def _field_type(
    field: np.ndarray, records: np.ndarray, unit: int | None, size: int
) -> ArgType:
    """The type of ``records["field"]``: its stride along `unit` is the size of a record, which
    `ArrayType.steps` gives in elements; no step is known if that is no multiple of an element's
    size. A field that is not aligned, as in a packed record, has neither step nor unit stride.
    """
    if field.dtype.names and field.ndim == records.ndim:
        return _record_type(field, unit, size)
    ty = type_of(field)
    if not isinstance(ty, ArrayType) or not ty.aligned:
        return ty
    subarray_axis = ty.rank - 1 if ty.rank > records.ndim else None
    if unit is None or size % field.itemsize:
        return _array_type(ty.dtype, ty.rank, subarray_axis)
    step = size // field.itemsize
    if step == 1:
        return _array_type(ty.dtype, ty.rank, unit)
    steps = tuple(step if axis == unit else None for axis in range(ty.rank))
    return _array_type(ty.dtype, ty.rank, subarray_axis, steps)


def _unit_stride_axis(a: np.ndarray) -> int | None:
    """`ArrayType.unit` of `a`: the axis along which neighbouring elements are neighbours in memory,
    so that kernels load vectors there; None: kernels load element by element. For ``x`` of shape
    (3, 4)::

        x  →  1        x.T  →  0        x[:, ::2]  →  None

    In this order:

    1. the last axis of a C-contiguous array, as all empty arrays are;
    2. the last axis whose stride is one element;
    3. the last axis of length 0 or 1, whose stride never matters;
    4. None; also in cases 2 and 3 if that is the last axis and the others are not in C order, or it
       is the first and they are not in Fortran order (`has_order_of_unit_axis`).
    """
    if a.ndim and a.flags.c_contiguous:
        return a.ndim - 1
    axis = _last_unit_axis(a)
    return axis if axis is not None and has_order_of_unit_axis(a, axis) else None


def _stride_order(a: np.ndarray, unit: int | None) -> MemoryOrder | Literal["?"] | None:
    """`ArrayType.order` of `a` with unit stride along `unit`; "C" if it fits both orders."""
    if a.ndim < 2 or unit == 0 or (unit is not None and a.flags.c_contiguous):
        return None
    if unit is not None:
        return None if unit < a.ndim - 1 or fits_order(a, "C") else "?"
    return "C" if fits_order(a, "C") else "F" if fits_order(a, "F") else None


def _last_unit_axis(a: np.ndarray) -> int | None:
    """Cases 2 and 3 of `_unit_stride_axis`; None if there is no such axis."""
    short_axis = None
    for axis in range(a.ndim - 1, -1, -1):
        if a.shape[axis] <= 1:
            short_axis = axis if short_axis is None else short_axis
        elif a.strides[axis] == a.itemsize:
            return axis
    return short_axis


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
    variadic = iter(values[named:])
    if code.co_flags & CO_VARARGS:
        args = (*args, *next(variadic))
    if code.co_flags & CO_VARKEYWORDS:
        kwargs.update(next(variadic))
    return function(*args, **kwargs)
