"""Whether objects of this Python and this NumPy lie in memory as `entry.c` declares them."""
from __future__ import annotations

import struct
import sys
from importlib import import_module
from typing import Any

import numpy as np

from .parameters import ALIGNED, WRITEABLE

__all__ = ["array_scalar", "proved"]

_CORE = "numpy._core._multiarray_umath"
_SCALAR = 60  # in NumPy's table

_HEAD = "nP"
_NDARRAY = struct.Struct(_HEAD + "PiPPPPi")
_DESCR = struct.Struct(_HEAD + "PcccBi")


def proved() -> bool:
    """Whether live objects have the fields that `entry.c` declares."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not gil:
        return False
    try:
        import ctypes  # noqa: F401
    except ImportError:
        return False
    block = np.zeros((3, 4), dtype=np.int32)
    frozen = block[::2, ::-1].T
    frozen.flags.writeable = False
    scalars = (
        (np.float64(-1.5), "d"), (np.float32(1.5), "f"), (np.int64(-3), "q"), (np.uint8(7), "B"),
        (np.True_, "?"),
    )
    return (
        all(map(_array_as_declared, (block, frozen, block[1, 2, ...])))
        and all(_descr_as_declared(np.dtype(d)) for d in ("<f4", ">f4", "?", "u8"))
        and all(_scalar_as_declared(value, code) for value, code in scalars)
        and _scalars_are_made()
    )


def array_scalar() -> int:
    """The address of ``PyArray_Scalar``, from the table of NumPy's C ABI; 0 where there is none."""
    import ctypes

    try:
        capsule = import_module(_CORE)._ARRAY_API
    except (ImportError, AttributeError):
        return 0

    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    table = pointer(capsule, None)
    return (ctypes.c_void_p * (_SCALAR + 1)).from_address(table)[_SCALAR] or 0


def _scalars_are_made() -> bool:
    import ctypes

    address, given = array_scalar(), np.float32(2.5)
    word = ctypes.c_float(given)
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    )
    made = make(address)(ctypes.addressof(word), given.dtype, None) if address else None
    return type(made) is np.float32 and made == given


def _fields(layout: struct.Struct, thing: object) -> tuple[Any, ...]:
    """What stands where `layout` has fields; nothing where the object is shorter."""
    import ctypes

    if thing.__sizeof__() < layout.size:
        return ()
    return layout.unpack(ctypes.string_at(id(thing), layout.size))


def _array_as_declared(a: np.ndarray) -> bool:
    import ctypes

    fields = _fields(_NDARRAY, a)
    if not fields or fields[1] != id(np.ndarray) or fields[3] != a.ndim:
        return False
    _, _, data, _, dims, strides, _, dtype, flags = fields
    size = a.ndim * np.dtype(np.intp).itemsize
    return (
        data == a.__array_interface__["data"][0]
        and dtype == id(a.dtype)
        and flags & (ALIGNED | WRITEABLE) == (ALIGNED | (WRITEABLE if a.flags.writeable else 0))
        and (not size or ctypes.string_at(dims, size) == np.array(a.shape, np.intp).tobytes())
        and (not size or ctypes.string_at(strides, size) == np.array(a.strides, np.intp).tobytes())
    )


def _descr_as_declared(d: np.dtype) -> bool:
    fields = _fields(_DESCR, d)
    letters = (c.encode() for c in (d.kind, d.char, d.byteorder))
    return fields[1:6] == (id(type(d)), id(d.type), *letters) and fields[-1] == d.num


def _scalar_as_declared(value: np.generic, code: str) -> bool:
    return _fields(struct.Struct(_HEAD + code), value)[1:] == (id(type(value)), value)
