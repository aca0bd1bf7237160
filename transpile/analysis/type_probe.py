"""Result types by probing: an operation is run on small samples of its operand types."""
from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .. import ops
from ..frontend.suppress_warnings import suppress_warnings
from ..numpy.function_table import function_row, method_row
from ..types.typeof import type_of
from ..types.value_types import (
    ELEMENTS,
    ArgType,
    ArrayType,
    Constant,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
)

__all__ = [
    "OPERATORS", "DisplaySample", "ExactSample", "Sample", "Types", "probe_types", "is_pure",
    "array_method", "bounded_sample", "record_item_type",
]

Types: TypeAlias = "frozenset[ArrayType | ScalarType]"
"""What a value may be, depending on the path taken; empty where that is not known."""


class ExactSample(NamedTuple):
    """A constant; with its type, for ``1 == True``."""

    value: object
    type: type


class DisplaySample(NamedTuple):
    """A tuple, list or slice of samples."""

    make: Callable[..., object]
    parts: tuple[Any, ...]


Sample: TypeAlias = "ArrayType | ScalarType | RecordType | Constant | ExactSample | DisplaySample"

_EXTENT = 3
_WEAK = {"i64": _EXTENT, "f64": 1.0, "bool": True, "c128": 1j}
_MOST = 16

_TYPED: tuple[Any, ...] = (
    *(f for f in vars(np).values() if isinstance(f, np.ufunc)),
    *(d.numpy.type for d in ELEMENTS.values()),
    *(f for name, f in vars(math).items() if callable(f) and name[0] != "_"),
    *(getattr(ops, name) for name in ops.__all__),
    *(abs, bool, complex, float, int, len, round),
)
"""What may be asked besides the functions of the table."""


def bounded_sample(function: object, sample: Sample) -> Sample:
    """`sample`, an argument of `function`, made small where it is the size of a new array."""
    row = function_row(function)
    if row is None or not row.sized:
        return sample
    match sample:
        case ExactSample(int() as value) if _EXTENT < value < 1 << 62:
            return ScalarType("i64", weak=True)
        case DisplaySample(make, parts):
            return DisplaySample(make, tuple(bounded_sample(function, p) for p in parts))
    return sample


def is_pure(function: object) -> bool:
    """Whether `function` may be called on samples: it computes a result and has no other effect."""
    if getattr(function, "__name__", "") in ("accumulate", "outer", "reduce"):
        function = getattr(function, "__self__", None)  # of a ufunc
    row = function_row(function)
    return row.typed if row is not None else any(function is f for f in _TYPED)


def array_method(name: str) -> Callable[..., Any] | None:
    """``array.name`` as a function of the array and the arguments, if it may be called on samples;
    else None.
    """
    row = method_row(name)
    return _method(name) if row is not None and row.typed else None


@functools.cache
def _method(name: str) -> Callable[..., Any]:
    return lambda array, *args, **kwargs: getattr(array, name)(*args, **kwargs)


def probe_types(
    operation: Callable[..., Any], operands: Iterable[Iterable[Sample]], *names: str
) -> Types:
    """The types of ``operation(*operands)``, for all combinations of the operands' samples. The
    last operands are keyword arguments called `names`. Empty where one of the types is not known.

    For the front end. Lowering, whose operands are scalars, asks `typed_values.probe_result`.
    """
    found: set[ArrayType | ScalarType] = set()
    for k, samples in enumerate(itertools.product(*operands)):
        got = _probe_samples(operation, samples, names) if k < _MOST else None
        if got is None or isinstance(got, RecordType):
            return frozenset()
        found.add(got)
    return frozenset(found)


def record_item_type(records: RecordType, indices: Iterable[Sample]) -> RecordType | None:
    """The type of ``r[index]``, if it is records or one record for each of `indices`; else None."""
    found = {_probe_samples(operator.getitem, (records, index), ()) for index in indices}
    got = found.pop() if len(found) == 1 else None
    return got if isinstance(got, RecordType) else None


@functools.lru_cache(maxsize=4096)
def _probe_samples(
    operation: Callable[..., Any], samples: tuple[Sample, ...], names: tuple[str, ...]
) -> ArrayType | ScalarType | RecordType | None:
    values = [_sample_value(s) for s in samples]
    place = len(values) - len(names)
    with np.errstate(all="ignore"), suppress_warnings():
        try:
            out = operation(*values[:place], **dict(zip(names, values[place:], strict=True)))
        except Exception:  # whatever it raises, it gives no type
            return None
    if isinstance(out, np.ndarray) and out.ndim == 0:
        out = out[()]
    ty: ArgType = RecordType(out.dtype, 0) if isinstance(out, np.void) else type_of(out)
    if isinstance(ty, ArrayType):
        return replace(ty, ones=())  # as it happens: samples are as short as any
    return None if isinstance(ty, (Constant, ListType, ObjectType, Opaque)) else ty


def _sample_value(sample: Sample) -> Any:
    match sample:
        case ExactSample(value) | Constant(value):
            return value
        case DisplaySample(make, parts):
            return (
                make(map(_sample_value, parts))
                if make is not slice
                else slice(*map(_sample_value, parts))
            )
        case ScalarType(dtype, weak):
            return _WEAK[dtype] if weak else ELEMENTS[dtype].numpy.type(1)
        case RecordType(dtype, rank):
            return np.zeros((_EXTENT,) * rank, dtype)[... if rank else ()]
        case _:
            return _sample_array(sample)


def _sample_array(ty: ArrayType) -> np.ndarray:
    """Ones, with the axis that has unit stride last in memory."""
    dtype, shape = ELEMENTS[ty.dtype].numpy, (_EXTENT,) * ty.rank
    if ty.unit is None:
        return np.ones((*shape[1:], 2 * _EXTENT), dtype)[..., ::2]
    if ty.unit == 0:
        return np.ones(shape, dtype, order="F")
    return np.moveaxis(np.ones(shape, dtype), -1, ty.unit)


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
    "LShift": operator.lshift, "RShift": operator.rshift, "BitOr": operator.or_,
    "BitXor": operator.xor, "BitAnd": operator.and_, "MatMult": operator.matmul,
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert,
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne, "Subscript": operator.getitem,
}
"""By the name of the tree's node."""
