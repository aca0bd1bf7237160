"""Result types of expressions: which functions may be probed, and on which samples.

NumPy's promotion rules are not repeated here: `probe_types` calls the operation on samples of the
operand types, ``probe_types(np.add, [[f32 array], [int]])`` → ``{f32 array}``. Only functions
without effects may be called (`may_be_probed`), and sizes of new arrays are made small
(`bounded_sample`).
"""
from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from ... import core_functions, ops
from ...numpy.function_table import function_row, method_row
from ...types.result_types import SAMPLE_LENGTH, DisplaySample, ExactSample, Sample, result_type
from ...types.value_types import ELEMENTS, ArrayType, RecordType, ScalarType

__all__ = [
    "OPERATORS", "Types", "probe_types", "may_be_probed", "array_method", "bounded_sample",
    "record_item_type",
]

Types: TypeAlias = "frozenset[ArrayType | ScalarType]"
"""The types that a value may have, each on some path; empty: unknown."""

_MAX_COMBINATIONS = 16
"""Combinations of samples that are tried; with more, the type is unknown."""

_PURE_WITHOUT_ROW: tuple[Any, ...] = (
    *(f for f in vars(np).values() if isinstance(f, np.ufunc)),
    *(d.numpy.type for d in ELEMENTS.values()),
    *(f for name, f in vars(math).items() if callable(f) and name[0] != "_"),
    *(getattr(ops, name) for name in ops.__all__),
    core_functions.key,
    *core_functions.TYPE_TESTS,
    *(abs, bool, complex, float, int, len, round),
)
"""Functions that may be probed and have no row in the function table."""

_PURE_BY_ID = {id(f): f for f in _PURE_WITHOUT_ROW}


def bounded_sample(function: object, sample: Sample) -> Sample:
    """`sample`, an argument of `function`, made small where it may be a length of a new array: so
    that a probe of ``np.zeros(10**9)`` allocates three elements. If the row of `function` says
    ``sized``, an int over `SAMPLE_LENGTH`, also in a display, is replaced by its type, whose sample
    is that length. Not from 2**62 on: there NumPy raises, and so must the probe.
    """
    row = function_row(function)
    if row is None or not row.sized:
        return sample
    match sample:
        case ExactSample(int() as value) if SAMPLE_LENGTH < value < 1 << 62:
            return ScalarType("i64", weak=True)
        case DisplaySample(make, parts):
            return DisplaySample(make, tuple(bounded_sample(function, p) for p in parts))
    return sample


def may_be_probed(function: object) -> bool:
    """Whether `function` may be called on samples at compile time: it computes a result whose type
    depends on the operands' types alone, and has no other effect.

    - A function with a row in the function table: as the row says (``typed``).
    - One without a row: if it is a ufunc or dtype of NumPy, or is in ``math``, in ``ops``, or one
      of a few builtins and functions of core Python (`_PURE_WITHOUT_ROW`).
    - ``reduce``, ``accumulate`` and ``outer`` of a ufunc: as the ufunc.
    - A function of the user's never: it may do anything.
    """
    if getattr(function, "__name__", "") in ("accumulate", "outer", "reduce"):
        owner = getattr(function, "__self__", None)
        function = owner if isinstance(owner, np.ufunc) else function  # not ``np.outer``
    row = function_row(function)
    if row is not None:
        return row.typed
    return id(function) in _PURE_BY_ID


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
    """The types of ``operation(*operands)``, for all combinations of the operands' samples: an
    operand has several where its type depends on the path. The last operands are keyword arguments
    called `names`.

        np.add, [[float32 array], [int, float64 scalar]]    →    {float32 array, float64 array}

    Empty (unknown) where one combination has no type, or there are more than `_MAX_COMBINATIONS`.
    For facts of the front end (`type_facts.probe_fact`). Lowering, whose operands are scalars, uses
    `typed_values.probe_result`; both probe by `result_types.result_type`.
    """
    types: set[ArrayType | ScalarType] = set()
    for count, samples in enumerate(itertools.product(*operands)):
        ty = result_type(operation, samples, names) if count < _MAX_COMBINATIONS else None
        if ty is None or isinstance(ty, RecordType):
            return frozenset()
        types.add(ty)
    return frozenset(types)


def record_item_type(records: RecordType, indices: Iterable[Sample]) -> RecordType | None:
    """The type of ``r[index]`` if it is the same record type for each of `indices`; else None."""
    types = {result_type(operator.getitem, (records, index)) for index in indices}
    ty = types.pop() if len(types) == 1 else None
    return ty if isinstance(ty, RecordType) else None


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
    "LShift": operator.lshift, "RShift": operator.rshift, "BitOr": operator.or_,
    "BitXor": operator.xor, "BitAnd": operator.and_, "MatMult": operator.matmul,
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert,
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne, "Subscript": operator.getitem,
}
"""Python's operators and subscription, by the name of the ``ast`` node class."""
