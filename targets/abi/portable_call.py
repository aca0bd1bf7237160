"""Portable call path: what the builtin of `entry.c` does, in Python, for every interpreter."""
from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..build.shared_library import SharedLibrary, cffi_backend
from .parameter_specs import (
    ALIGNED,
    ARRAY,
    COMPLEX,
    FLOAT,
    MAX_RANK,
    MISMATCH,
    NUMPY,
    WRITEABLE,
    ParameterSpec,
    fits_order,
    has_order_of_unit_axis,
)
from .pool_control import take_context

__all__ = ["PortableCall", "has_internal_overlap", "complex_as_floats"]


class PortableCall:
    """A kernel as a Python callable, for interpreters in which `entry.c` cannot be used (their
    objects have another layout, or there is no trampoline): the same checks, in Python.

    ``call(*arguments)`` returns the status of the kernel; `MISMATCH` if an argument does not match
    its row of ``rows``, and the kernel has not run. The kernel is called by cffi, which releases
    the GIL, or by ctypes, which does not, if it ``keeps_gil``. A call takes some microseconds.
    """

    def __init__(
        self,
        library: SharedLibrary,
        address: int,
        rows: Sequence[ParameterSpec],
        *,
        keeps_gil: bool = False,
    ) -> None:
        self._library = library  # stays loaded
        self._ffi = ffi = cffi_backend().FFI()
        self._kernel: Callable[..., int] = ffi.cast("int64_t(*)(void *, void *)", address)
        self._rows = rows
        if keeps_gil:
            import ctypes

            kernel = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)
            self._kernel = lambda *given: kernel(*(int(ffi.cast("intptr_t", p)) for p in given))

    def __call__(self, *args: object) -> int:
        if len(args) != len(self._rows):
            return MISMATCH
        arrays, scalars = [], []
        for row, argument in zip(self._rows, args, strict=True):
            if row.kind in (ARRAY, COMPLEX):
                if not _matches_array(row, argument):
                    return MISMATCH
                arrays.extend(_array_words(complex_as_floats(argument)))
            elif (word := _scalar_word(row, argument)) is None:
                return MISMATCH
            else:
                scalars.append(word)
        take_context()
        new = self._ffi.new
        return int(self._kernel(new("int64_t[]", arrays or [0]), new("int64_t[]", scalars or [0])))


def _matches_array(row: ParameterSpec, array: Any) -> bool:
    """Whether `array` is an array of the dtype, rank and strides that `row` requires, aligned and
    writeable if it requires this, without elements that share memory if the kernel writes it.
    (`take_array` of `entry.c` tests the same.)

    Strides of an array without elements, and of axes of length 1, are not compared.
    """
    if type(array) is not np.ndarray or array.ndim != row.rank:
        return False
    dtype, flags = array.dtype, array.flags
    if (dtype.num, dtype.byteorder) != (row.type.num, row.type.byteorder):
        return False
    if row.flags & ALIGNED and not flags.aligned:
        return False
    if row.flags & WRITEABLE and not flags.writeable:
        return False
    if not array.size:
        return True  # strides are irrelevant
    if row.flags & WRITEABLE and has_internal_overlap(array):
        return False
    axes = zip(array.shape, array.strides, row.steps, strict=True)
    if any(dim > 1 and step and s != step for dim, s, step in axes):
        return False
    if row.order and not fits_order(array, row.order):
        return False
    sizes = zip(array.shape, array.strides, strict=True)
    unit_axes = [k for k, (dim, step) in enumerate(sizes) if dim > 1 and step == row.bytes]
    return not (row.strided and unit_axes and has_order_of_unit_axis(array, unit_axes[-1]))


def complex_as_floats(a: Any) -> Any:
    """A complex array as a float array with one more axis for the parts; anything else unchanged.
    """
    if type(a) is not np.ndarray or a.dtype.kind != "c":
        return a
    return a[..., None].view(a.real.dtype)


def has_internal_overlap(a: Any) -> bool:
    """Whether elements of `a` may share bytes (conservative): it is sure that they do not if
    each stride, from the smallest on, is at least the extent of the elements along the axes before.
    """
    extent = a.itemsize
    for step, dim in sorted((abs(s), n) for n, s in zip(a.shape, a.strides, strict=True)):
        if dim > 1 and step < extent:
            return True
        extent += (dim - 1) * step
    return False


def _array_words(array: Any) -> list[int]:
    """The words of a ``tp_array``: address, lengths and strides, padded to `MAX_RANK`."""
    padding = [0] * (MAX_RANK - array.ndim)
    address = array.__array_interface__["data"][0]
    return [address, *array.shape, *padding, *array.strides, *padding]


def _scalar_word(row: ParameterSpec, value: Any) -> int | None:
    """The bits of a ``tp_scalar``; None if the argument has another type or does not fit."""
    if type(value) is not row.type:
        return None
    if row.kind == NUMPY:
        return int.from_bytes(value.tobytes().ljust(8, b"\0"), sys.byteorder, signed=True)
    if row.kind == FLOAT:
        return int(struct.unpack("q", struct.pack("d", value))[0])
    return int(value) if -(1 << 63) <= value < 1 << 63 else None
