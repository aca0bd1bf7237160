"""A shared object to a Python callable: kernels are opened by cffi (ABI mode) and called through one builtin.

The fast road is a METH_FASTCALL builtin of `entry.c`, which reads array objects itself. It needs CPython and the field
layout of NumPy's C ABI; `_proved` checks both on live objects. Elsewhere the safe road reads ``__array_interface__``.
Both answer alike: the kernel's status, or -1 where an argument is not of the kernel's type, and then nothing was done.
"""
from __future__ import annotations

import functools
import os
import struct
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from loopir.types import DTYPES

from .errors import BuildError

__all__ = ["MISMATCH", "Entry", "HasParam", "HasParams", "load", "prepare"]

MISMATCH: Final = -1
"""The status of a call whose arguments the kernel was not compiled for."""

MAX_PARAMS, MAX_RANK = 32, 3
ALIGNED, WRITEABLE = 0x100, 0x400
ANY_UNIT, NO_UNIT = -1, -2
ARRAY, FLOAT, INT, BOOL, NUMPY = range(5)
_WEAK: dict[str, tuple[int, type]] = {"f64": (FLOAT, float), "i64": (INT, int), "bool": (BOOL, bool)}


class HasParam(Protocol):
    """A parameter, with the fields of ``loopir.nodes.Param``."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def unit(self) -> int | None: ...
    @property
    def written(self) -> bool: ...


class HasParams(Protocol):
    """A kernel, as far as calling it goes."""

    @property
    def params(self) -> Sequence[HasParam]: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A loaded kernel. ``fast(*args)`` takes arrays and scalars in the order of the kernel's parameters and gives the status."""

    path: Path
    fast: Callable[..., int]
    native: bool
    trampoline: Path | None = None

    def run(self, args: Sequence[object]) -> int:
        """As ``fast(*args)``."""
        return self.fast(*args)


def load(
    path: Path, kernel: HasParams, *, weak: Collection[str] = (), strided: Collection[str] = (), native: bool = True,
    trampoline: Path | None = None,
) -> Entry:
    """The kernel ``tp_kernel`` of the shared object at `path`. Raises BuildError where it cannot be opened.

    Scalars named in `weak` are given as Python scalars, others as NumPy's. Arrays named in `strided` have no axis of unit
    stride, and one that has is refused (there is faster code for it). ``native=False`` asks for the safe road. ``trampoline``: that of
    an earlier Entry, where it is known.
    """
    if len(kernel.params) > MAX_PARAMS or any((p.rank or 0) > MAX_RANK for p in kernel.params):
        raise BuildError(f"a kernel takes at most {MAX_PARAMS} parameters, of rank {MAX_RANK} at most")
    rows = [_row(p, p.name in weak, p.name in strided) for p in kernel.params]
    address = _symbol(str(path), "tp_kernel")
    found = _trampoline(trampoline) if native else None
    if found is None:
        return Entry(path, _SafeCall(address, rows), native=False)
    wrap, trampoline = found
    spec = [address, len(rows), *(field for row in rows for field in row.fields())]
    return Entry(path, wrap(np.array(spec, dtype=np.int64)), native=True, trampoline=trampoline)


# -- what an argument must be

@dataclass(frozen=True, slots=True)
class _Row:
    """One parameter, as `entry.c` has it: ``type`` is an array's dtype or a scalar's Python type."""

    kind: int
    type: Any
    rank: int
    unit: int
    bytes: int
    flags: int

    def fields(self) -> tuple[int, ...]:
        return self.kind, id(self.type), self.rank, self.unit, self.bytes, self.flags


def _row(p: HasParam, weak: bool, strided: bool) -> _Row:
    dtype = DTYPES[p.dtype]
    if p.rank is not None:
        unit = p.unit if p.unit is not None else NO_UNIT if strided else ANY_UNIT
        flags = ALIGNED | (WRITEABLE if p.written else 0)
        return _Row(ARRAY, dtype.numpy, p.rank, unit, dtype.bytes, flags)
    if weak:
        kind, python = _WEAK[p.dtype]
        return _Row(kind, python, 0, ANY_UNIT, dtype.bytes, 0)
    return _Row(NUMPY, dtype.numpy.type, 0, ANY_UNIT, dtype.bytes, int(p.dtype == "i64"))


# -- shared objects

def _cffi() -> Any:
    """Its C half alone: parsing declarations needs neither cffi's own parser nor its 20 ms."""
    return import_module("_cffi_backend")


@functools.cache
def _library(path: str) -> Any:
    """Stays mapped to the very end of the process: builtins die later than this cache."""
    flags = os.RTLD_NOW | getattr(os, "RTLD_NODELETE", 0)
    try:
        return _cffi().load_library(path, flags)
    except OSError as error:
        raise BuildError(f"{path} cannot be loaded: {error}") from error


def _symbol(path: str, name: str) -> int:
    ffi = _cffi().FFI()
    try:
        function = _library(path).load_function(ffi.typeof("int64_t(*)(void *, void *)"), name)
    except AttributeError as error:
        raise BuildError(str(error)) from error
    return int(ffi.cast("uintptr_t", function))


# -- the fast road

_Wrap = Callable[[np.ndarray], Callable[..., int]]
_opened: list[tuple[_Wrap, Path] | None] = []
"""The trampoline of this process, once it has been asked for."""


def _trampoline(known: Path | None) -> tuple[_Wrap, Path] | None:
    """Makes a builtin from a spec; None where the fast road is not open."""
    if not _opened:
        _opened.append(_open_trampoline(known))
    return _opened[0]


def _open_trampoline(known: Path | None) -> tuple[_Wrap, Path] | None:
    if not _proved():
        return None
    import ctypes

    try:
        for thread in _building:
            thread.join()
        path = known or _built_trampoline()
        bind, method = _symbol(str(path), "tp_bind"), _symbol(str(path), "tp_method")
    except BuildError:
        return None
    lent = np.array(_lent(), dtype=np.uintp)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind)(lent.ctypes.data)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return (lambda spec: new(method, spec, None)), path


_building: list[threading.Thread] = []


def prepare() -> None:
    """Starts building the trampoline, which takes a C compiler, while the caller goes on.

    For a caller that will `load` soon; once a process.
    """
    if not _opened and not _building:
        _building.append(threading.Thread(target=_try_to_build, daemon=True))
        _building[0].start()


def _try_to_build() -> None:
    with suppress(Exception):  # `load` meets the same trouble, and tells
        _built_trampoline()


def _built_trampoline() -> Path:
    from .build import build_object

    return build_object(Path(__file__).with_name("entry.c").read_text())


def _lent() -> list[int]:
    """What `entry.c` needs of Python, in the order of its struct."""
    import ctypes

    functions = (
        "PyLong_FromLongLong", "PyLong_AsLongLongAndOverflow", "PyFloat_AsDouble", "PyEval_SaveThread",
        "PyEval_RestoreThread",
    )
    addresses = (ctypes.cast(getattr(ctypes.pythonapi, f), ctypes.c_void_p).value or 0 for f in functions)
    return [*map(id, (np.ndarray, float, int, bool, True)), *addresses]


_HEAD = "nP"
_NDARRAY = struct.Struct(_HEAD + "PiPPPPi")
_DESCR = struct.Struct(_HEAD + "PcccBi")


def _proved() -> bool:
    """Whether live objects have the fields that `entry.c` declares."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    try:
        import ctypes
    except ImportError:
        return False

    def fields(layout: struct.Struct, thing: object) -> tuple[Any, ...]:
        if thing.__sizeof__() < layout.size:
            return ()
        return layout.unpack(ctypes.string_at(id(thing), layout.size))

    block = np.zeros((3, 4), dtype=np.int32)
    frozen = block[::2, ::-1].T
    frozen.flags.writeable = False
    arrays = all(_array_as_declared(fields(_NDARRAY, a), a) for a in (block, frozen, block[1, 2, ...]))
    dtypes = all(_descr_as_declared(fields(_DESCR, d), d) for d in map(np.dtype, ("<f4", ">f4", "?", "u8")))
    scalars = (np.float64(-1.5), "d"), (np.float32(1.5), "f"), (np.int64(-3), "q"), (np.uint8(7), "B"), (np.True_, "?")
    return arrays and dtypes and all(fields(struct.Struct(_HEAD + code), v)[1:] == (id(type(v)), v) for v, code in scalars)


def _array_as_declared(fields: tuple[Any, ...], a: np.ndarray) -> bool:
    import ctypes

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


def _descr_as_declared(fields: tuple[Any, ...], d: np.dtype) -> bool:
    return fields[1:6] == (id(type(d)), id(d.type), *(c.encode() for c in (d.kind, d.char, d.byteorder))) and fields[-1] == d.num


# -- the safe road

class _SafeCall:
    """What the builtin does, in Python: works on every interpreter, at some microseconds a call."""

    def __init__(self, address: int, rows: Sequence[_Row]) -> None:
        self._ffi = _cffi().FFI()
        self._kernel = self._ffi.cast("int64_t(*)(void *, void *)", address)
        self._rows = rows

    def __call__(self, *args: object) -> int:
        if len(args) != len(self._rows):
            return MISMATCH
        arrays, scalars = [], []
        for row, given in zip(self._rows, args, strict=True):
            if row.kind == ARRAY:
                if not _is_array(row, given):
                    return MISMATCH
                arrays.extend(_packed_array(given))
            elif (packed := _packed_scalar(row, given)) is None:
                return MISMATCH
            else:
                scalars.append(packed)
        new = self._ffi.new
        return int(self._kernel(new("int64_t[]", arrays or [0]), new("int64_t[]", scalars or [0])))


def _is_array(row: _Row, given: Any) -> bool:
    if type(given) is not np.ndarray or given.ndim != row.rank:
        return False
    dtype, flags = given.dtype, given.flags
    if (dtype.num, dtype.byteorder) != (row.type.num, row.type.byteorder) or not flags.aligned:
        return False
    if row.flags & WRITEABLE and not flags.writeable:
        return False
    if not given.size:
        return True  # strides mean nothing
    unit = [stride == row.bytes or dim <= 1 for dim, stride in zip(given.shape, given.strides, strict=True)]
    if row.unit == NO_UNIT:
        return not any(u and dim > 1 for u, dim in zip(unit, given.shape, strict=True))
    return row.unit == ANY_UNIT or unit[row.unit]


def _packed_array(given: Any) -> list[int]:
    """A ``tp_array``: address, three lengths, three strides."""
    padding = [0] * (MAX_RANK - given.ndim)
    return [given.__array_interface__["data"][0], *given.shape, *padding, *given.strides, *padding]


def _packed_scalar(row: _Row, given: Any) -> int | None:
    """The bits of a ``tp_scalar``, None where the argument is of another type or does not fit."""
    if type(given) is not row.type:
        return None
    if row.kind == NUMPY:
        return int.from_bytes(given.tobytes().ljust(8, b"\0"), sys.byteorder, signed=True)
    if row.kind == FLOAT:
        return int(struct.unpack("q", struct.pack("d", given))[0])
    return int(given) if -(1 << 63) <= given < 1 << 63 else None
