"""Result types by probing: an operation is run on small samples of its operand types.

NumPy's promotion rules (NEP 50) are not tabulated: the NumPy in use answers, so that its version
does not matter. A *sample* stands for all values of a type: three elements for an array, 3 for a
Python int (`result_type`). The caller must make sure that the operation has no effect
(`analysis.type_inference.type_probe.may_be_probed`). Results are cached.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from loopir.lazy_dataclass import replace
from loopir.process.signal_exceptions import failures

from ..frontend.suppress_warnings import suppress_warnings
from .typeof import type_of
from .value_types import (
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

__all__ = ["SAMPLE_LENGTH", "DisplaySample", "ExactSample", "Sample", "result_type", "type_error"]

SAMPLE_LENGTH = 3
"""The length of each axis of a sample, and the value of a sample that is a Python int: it may be
the length of an axis.
"""

_WEAK = {"i64": SAMPLE_LENGTH, "u64": SAMPLE_LENGTH, "f64": 1.0, "bool": True, "c128": 1j}
"""The sample of a Python scalar, by its dtype."""


class ExactSample(NamedTuple):
    """A known value, which stands for itself alone."""

    value: object
    type: type
    """Its type, since ``1 == True``, and samples are keys of a cache."""


class DisplaySample(NamedTuple):
    """A tuple, list or slice of samples."""

    make: Callable[..., object]
    """``tuple``, ``list`` or ``slice``."""
    parts: tuple[Any, ...]
    """The samples of its items, or of start, stop and step."""


Sample: TypeAlias = "ArrayType | ScalarType | RecordType | Constant | ExactSample | DisplaySample"
"""What an operand of a probed operation is known to be; `_sample_value` makes a value of it."""


@functools.lru_cache(maxsize=4096)
def result_type(
    operation: Callable[..., Any], samples: tuple[Sample, ...], names: tuple[str, ...] = ()
) -> ArrayType | ScalarType | RecordType | None:
    """The type of ``operation(*samples)``, found by calling it once on values of these types; the
    last samples are keyword arguments called `names`. Front end and lowering both use it, by
    `probe_types` and `probe_result`.

        operator.add, (float32 array, Python int)    →    float32 array        (NEP 50)
        operator.add, (float32 array, int64 array)   →    float64 array

    The sample of an array has `SAMPLE_LENGTH` elements an axis, that of a Python scalar is 3, 1.0,
    True or 1j. The result's type must not depend on values: the caller makes sure of it, and that
    the operation has no effect (`may_be_probed`). A 0-d array counts as a scalar.

    None if the operation raises on such operands, or returns anything but a number, an array or
    records. Raises MemoryError, RecursionError and OSError, which say nothing about the operation.
    """
    try:
        out = _result_of_samples(operation, samples, names)
    except (MemoryError, RecursionError, OSError):
        raise  # nothing is known of the operation
    except failures(Exception):  # the operation rejects such operands
        return None
    if isinstance(out, np.ndarray) and out.ndim == 0:
        out = out[()]
    ty: ArgType = RecordType(out.dtype, 0) if isinstance(out, np.void) else type_of(out)
    if isinstance(ty, ArrayType):
        return replace(ty, unit_length_axes=(), order=None)  # of the sample alone
    return None if isinstance(ty, (Constant, ListType, ObjectType, Opaque)) else ty


@functools.lru_cache(maxsize=1024)
def type_error(
    operation: Callable[..., Any], samples: tuple[Sample, ...], names: tuple[str, ...] = ()
) -> str | None:
    """The message of the TypeError that ``operation(*samples)`` raises, called as `result_type`
    calls it; None if it raises none.
    """
    try:
        _result_of_samples(operation, samples, names)
    except failures(TypeError) as error:
        return str(error)
    except failures(Exception):  # about the values of the samples
        return None
    return None


def _result_of_samples(
    operation: Callable[..., Any], samples: tuple[Sample, ...], names: tuple[str, ...]
) -> Any:
    """What ``operation(*samples)`` returns; the last samples are keyword arguments."""
    values = [_sample_value(s) for s in samples]
    positional = len(values) - len(names)
    keywords = dict(zip(names, values[positional:], strict=True))
    with np.errstate(all="ignore"), suppress_warnings():
        return operation(*values[:positional], **keywords)


def _sample_value(sample: Sample) -> Any:
    """A value of the type of `sample`."""
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
            return np.zeros((SAMPLE_LENGTH,) * rank, dtype)[... if rank else ()]
        case _:
            return _sample_array(sample)


def _sample_array(ty: ArrayType) -> np.ndarray:
    """An array of the type `ty`, all ones: along the axis `ty.unit` its elements are neighbours in
    memory; without such an axis, along none, and its axes are in C order unless `ty.order` is "F".
    """
    dtype, shape = ELEMENTS[ty.dtype].numpy, (SAMPLE_LENGTH,) * ty.rank
    if ty.order == "F":
        return np.ones((2 * SAMPLE_LENGTH, *shape[1:]), dtype, order="F")[::2]
    if ty.unit is None:
        return np.ones((*shape[1:], 2 * SAMPLE_LENGTH), dtype)[..., ::2]
    if ty.unit == 0:
        return np.ones(shape, dtype, order="F")
    return np.moveaxis(np.ones(shape, dtype), -1, ty.unit)
