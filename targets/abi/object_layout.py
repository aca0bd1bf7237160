"""Layout check: whether Python's and NumPy's objects are as `entry.c` and `values.c` declare.

The native call path reads object memory without the headers of Python and NumPy. Before its first
use, `layout_matches` compares the declared fields with live objects: arrays, dtypes, scalars,
floats and lists, and calls the functions of NumPy's C API. What differs between versions of Python
has a function each: ints (`int_layout`), tuples, versions of dicts, the code of functions.
"""
from __future__ import annotations

import functools
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from loopir.process.signal_exceptions import failures

from .parameter_specs import ALIGNED, WRITEABLE

__all__ = [
    "code_offset", "dict_version_offset", "int_layout", "is_main_interpreter", "layout_matches",
    "numpy_c_functions", "tuple_items_offset", "type_flags_offset",
]

_CORE = "numpy._core._multiarray_umath"
_NUMPY_API_SLOTS = {
    "PyArray_Scalar": 60, "PyArray_Zeros": 183, "PyArray_Empty": 184, "PyArray_Resize": 80,
    "PyArray_NewLikeArray": 277,
}
"""Indices into the function table of NumPy's C API."""

# The structs of `entry.c` and `values.c` once more, as formats of `struct`: "n" intptr_t, "P" a
# pointer, "i" int, "d" double, "c" and "B" char. Nothing derives one from the other: a change there
# has to be made here, too. `layout_matches` compares these with live objects.
_HEAD = "nP"  # object: references, type
_FLOAT, _LIST = struct.Struct(_HEAD + "d"), struct.Struct(_HEAD + "nP")
_NDARRAY = struct.Struct(_HEAD + "PiPPPPi")  # data, rank, dims, strides, base, dtype, flags
_DESCR = struct.Struct(_HEAD + "PcccBi")  # scalar, kind, letter, byteorder, flags, number


@functools.cache
def is_main_interpreter() -> bool:
    """Whether this is the main interpreter of the process, or the only one that there can be.

    The C code keeps addresses of objects in static variables, and polls for signals, which are all
    of one interpreter; and threads in C know the main one alone.
    """
    import _thread

    try:
        return bool(_thread._is_main_interpreter())  # type: ignore[attr-defined]  # from 3.12 on
    except failures(AttributeError):
        pass
    try:
        import ctypes

        names = "PyInterpreterState_Get", "PyInterpreterState_Main"
        this, main = (ctypes.PYFUNCTYPE(ctypes.c_void_p)((n, ctypes.pythonapi)) for n in names)
    except failures(ImportError, AttributeError):
        return True
    return int(this()) == int(main())


def layout_matches() -> bool:
    """Whether C may read the fields of Python's and NumPy's objects: live objects have them where
    `entry.c` declares them (`_NDARRAY` and the other formats repeat that), for instance an array of
    shape (3, 4) has the numbers 3 and 4 there.

    False also for another Python than CPython, without a GIL, in a subinterpreter, and where
    `ctypes` is missing. Then calls take the portable path, which asks Python for each field. So a
    version of Python or NumPy with another layout makes calls slower, and never wrong. `trampoline`
    asks once a process.
    """
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not has_gil or not is_main_interpreter():
        return False  # entry.c counts on the GIL while it reads objects
    try:
        import ctypes  # noqa: F401
    except failures(ImportError):
        return False  # memory could not be compared
    block = np.zeros((3, 4), dtype=np.int32)
    frozen = block[::2, ::-1].T
    frozen.flags.writeable = False
    scalars = (
        (np.float64(-1.5), "d"), (np.float32(1.5), "f"), (np.int64(-3), "q"), (np.uint8(7), "B"),
        (np.True_, "?"),
    )
    return (
        all(map(_array_layout_matches, (block, frozen, block[1, 2, ...])))
        and all(_descr_layout_matches(np.dtype(d)) for d in ("<f4", ">f4", "?", "u8"))
        and all(_scalar_layout_matches(value, code) for value, code in scalars)
        and all(_object_fields(_FLOAT, v)[1:] == (id(float), v) for v in (-2.5, 1e300))
        and _list_layout_matches([1.5, None, 2.5])
        and _functions_work()
    )


@functools.cache
def code_offset() -> int:
    """Where a Python function has the address of its code, in bytes; 0 if that is unknown."""
    import ctypes

    offsets = []
    for function in (layout_matches, numpy_c_functions):
        words = np.frombuffer(ctypes.string_at(id(function), function.__sizeof__()), np.uintp)
        offsets.append([int(k) for k in np.flatnonzero(words == id(function.__code__))])
    first, second = offsets
    return first[0] * np.dtype(np.uintp).itemsize if len(first) == 1 and first == second else 0


@functools.cache
def type_flags_offset() -> int:
    """Where a class has its flags, in bytes; 0 if that is unknown."""
    import ctypes

    metaclass: type = type
    size, word = metaclass.__basicsize__, np.dtype(np.uintp)
    of_flags = np.ones(size // word.itemsize, np.bool_)
    for each in (int, list, dict, FunctionType, type, functools.partial, ModuleType):
        of_flags &= np.frombuffer(ctypes.string_at(id(each), size), word) == each.__flags__
    (places,) = np.nonzero(of_flags)
    return int(places[0]) * word.itemsize if len(places) == 1 else 0


@functools.cache
def int_layout() -> int:
    """How an int below 2**30 is stored, as live ones show: one word, then its digit of 30 bits.

    1: the word is the number of digits, negative for a negative int (up to Python 3.11);
    2: it is ``count << 3 | sign``, with the sign 0 for +, 1 for zero, 2 for - (from Python 3.12);
    0: unknown.
    """
    if sys.int_info.bits_per_digit != 30 or sys.int_info.sizeof_digit != 4:
        return 0
    powers = [1 << bit for bit in range(31)]
    small = [*powers[:-1], *(power - 1 for power in powers)]  # each bit alone, and all up to it
    large = [1 << 30, (1 << 30) + 5, 1 << 31, 1 << 62, 1 << 63, 10**30]
    for layout, value_of in ((1, _by_signed_count), (2, _by_sign_bits)):
        if all(value_of(n) == n and value_of(-n) == -n for n in small) and all(
            value_of(n) is None and value_of(-n) is None for n in large
        ):
            return layout
    return 0


def _by_signed_count(n: int) -> int | None:
    """The int that `int_of` in `entry.c` reads from the words of `n` if `int_layout` is 1; None if
    it leaves `n` to Python's C API.
    """
    tag, digit = _tag_and_digit(n)
    return (tag and tag * digit) if -1 <= tag <= 1 else None


def _by_sign_bits(n: int) -> int | None:
    """The same if `int_layout` is 2."""
    tag, digit = _tag_and_digit(n)
    return (1 - (tag & 3)) * digit if tag < 16 else None


def _tag_and_digit(n: int) -> tuple[int, int]:
    """The word and the first digit of an int."""
    import ctypes

    fields = struct.Struct(_HEAD + "nI")
    size = fields.size if n else fields.size - 4  # zero may have no digit
    _, _, tag, digit = fields.unpack(ctypes.string_at(id(n), size).ljust(fields.size, b"\0"))
    return tag, digit


@functools.cache
def tuple_items_offset() -> int:
    """The offset of the addresses of its items in a tuple, in bytes, as live ones show; 0 unless it
    is ``tuple.__basicsize__``, and the number of items is where lists have it.
    """
    import ctypes

    offset = tuple.__basicsize__
    for items in ((), (1.5,), (None, 2.5, "x")):
        pointers = np.array([*map(id, items)], np.uintp).tobytes()
        if (
            items.__sizeof__() < offset + len(pointers)
            or ctypes.string_at(id(items) + offset, len(pointers)) != pointers
            or _object_fields(struct.Struct(_HEAD + "n"), items)[1:] != (id(tuple), len(items))
        ):
            return 0
    return offset


@functools.cache
def dict_version_offset() -> int:
    """Where a dict has its version (`PEP 509 <https://peps.python.org/pep-0509/>`_), in bytes: a
    number that no dict has had before, after each change. 0 if dicts have none, as from Python 3.14
    on (`PEP 699 <https://peps.python.org/pep-0699/>`_), or if live ones do not show what is
    expected.
    """
    if sys.version_info >= (3, 14):
        return 0
    import ctypes

    offset = struct.calcsize(_HEAD + "n")  # behind the number of entries
    module, other = ModuleType("module"), {"a": 0}
    names: dict[str, Any] = module.__dict__
    exec("def change(k):\n    global x\n    x = k", names)

    def version(of: dict[str, Any]) -> int:
        return ctypes.c_uint64.from_address(id(of) + offset).value

    changes: list[Callable[[], object]] = [
        *[lambda k=k: names["change"](object()) for k in range(40)],
        *[lambda k=k: setattr(module, "y", k) for k in range(40)],
        lambda: names.update(z=1), lambda: names.pop("z"), lambda: names.setdefault("w", 2),
        lambda: delattr(module, "w"), lambda: other.update(a=1), other.clear,
    ]
    seen = [(version(names), version(other))]
    for change in changes:
        change()
        seen.append((version(names), version(other)))
        if seen[-1] != (version(names), version(other)) or seen[-1] == seen[-2]:
            return 0  # reading changes it, or a change does not
    numbers = {v for pair in seen for v in pair}
    return offset if len(numbers) == len(changes) + 2 else 0


def numpy_c_functions() -> tuple[int, ...]:
    """The addresses of the functions in `_NUMPY_API_SLOTS`; empty where NumPy has no such table."""
    import ctypes

    try:
        capsule = import_module(_CORE)._ARRAY_API
    except failures(ImportError, AttributeError):
        return ()
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    table = (ctypes.c_void_p * (max(_NUMPY_API_SLOTS.values()) + 1)).from_address(
        pointer(capsule, None)
    )
    return tuple(table[place] or 0 for place in _NUMPY_API_SLOTS.values())


def _functions_work() -> bool:
    """Whether the functions in `_NUMPY_API_SLOTS` make a scalar and arrays, and cut one, as
    declared.
    """
    import ctypes

    addresses, value = numpy_c_functions(), np.float32(2.5)
    if not addresses:
        return False
    c_value, dims = ctypes.c_float(value), (ctypes.c_int64 * 2)(3, 2)
    scalar = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    )(addresses[0])
    result = scalar(ctypes.addressof(c_value), value.dtype, None)
    array = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int
    )
    blocks = []
    for address in addresses[1:3]:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(value.dtype))  # the call steals a reference
        blocks.append(array(address)(2, ctypes.addressof(dims), value.dtype, 0))
    is_cut = _is_cut(addresses[3], blocks[1]) and _is_like(addresses[4])
    shapes = [(b.shape, b.dtype, b.flags.c_contiguous, b.flags.owndata) for b in blocks]
    expected = value.dtype, True, True
    is_scalar = type(result) is np.float32 and result == value
    return is_scalar and is_cut and shapes == [((3, 2), *expected), ((2, 2), *expected)]


def _is_like(new_like: int) -> bool:
    """Whether the function at this address makes an array in the order of another one."""
    import ctypes

    function = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.py_object, ctypes.c_int
    )
    block, dtype = np.zeros((2, 3, 4), np.int8).transpose(1, 2, 0)[:, ::2], np.dtype(np.float32)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the call steals a reference
    made, expected = function(new_like)(block, 2, dtype, 0), np.empty_like(block, dtype)
    return (made.shape, made.dtype, made.strides) == (
        expected.shape, expected.dtype, expected.strides
    )


def _is_cut(resize: int, block: np.ndarray) -> bool:
    """Whether the function at this address, given `block` of 3 × 2 elements, cuts it to 2 × 2."""
    import ctypes

    class Shape(ctypes.Structure):
        _fields_ = (("dims", ctypes.c_void_p), ("rank", ctypes.c_int))

    dims = (ctypes.c_int64 * 2)(2, 2)
    shape = Shape(ctypes.addressof(dims), 2)
    function = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_int
    )
    block[...] = np.arange(6).reshape(3, 2)
    done = function(resize)(block, ctypes.addressof(shape), 0, 0)
    return done is None and block.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def _object_fields(layout: struct.Struct, thing: object) -> tuple[Any, ...]:
    """The values of the fields of `layout` in the object's memory; empty if the object is shorter.
    """
    import ctypes

    if thing.__sizeof__() < layout.size:
        return ()
    return layout.unpack(ctypes.string_at(id(thing), layout.size))


def _list_layout_matches(values: list[Any]) -> bool:
    """Whether a list has its length and item pointers where they are declared."""
    import ctypes

    fields = _object_fields(_LIST, values)
    if fields[1:3] != (id(list), len(values)):
        return False
    pointers = np.array([*map(id, values)], np.uintp).tobytes()
    return ctypes.string_at(fields[3], len(pointers)) == pointers


def _array_layout_matches(a: np.ndarray) -> bool:
    """Whether an array has its data, lengths, strides, dtype and flags where they are declared."""
    import ctypes

    fields = _object_fields(_NDARRAY, a)
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


def _descr_layout_matches(d: np.dtype) -> bool:
    """Whether a dtype has its type, letters and number where they are declared."""
    fields = _object_fields(_DESCR, d)
    letters = (c.encode() for c in (d.kind, d.char, d.byteorder))
    return fields[1:6] == (id(type(d)), id(d.type), *letters) and fields[-1] == d.num


def _scalar_layout_matches(value: np.generic, code: str) -> bool:
    """Whether a NumPy scalar has its value where it is declared."""
    return _object_fields(struct.Struct(_HEAD + code), value)[1:] == (id(type(value)), value)
