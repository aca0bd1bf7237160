"""Native call path: the C builtins of `entry.c`, `items.c`, `whole.c`, compiled once per machine.

They read the fields of array objects directly, so they need CPython and the field layout of NumPy's
C ABI, which `object_layout` checks on live objects first.
"""
from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record

from ..build.background_build import BackgroundBuild
from ..build.build_errors import BuildError, NoCompiler, is_from_signal_handler
from ..build.shared_library import open_library
from .object_layout import (
    dict_version_offset,
    int_layout,
    layout_matches,
    numpy_c_functions,
    tuple_items_offset,
)

__all__ = [
    "Trampoline", "bind_signals", "opened_trampoline", "build_in_background", "start_opening",
    "trampoline",
]

SOURCES = "entry.c", "signals.c", "values.c", "items.c", "whole.c", "inline_cache.c"

_FLAGS = ("-Og",)
"""Flags of the trampoline. With ``-O1`` and ``-O2`` calls are no faster, and compiling it takes 1.5
and 2.3 times as long: with an empty cache, the first call may wait for it.
"""

BEGIN_TIMEOUT = 0.05
"""Seconds in which the C compiler has begun if nothing is wrong: it takes 5 to 10 ms."""


@record(frozen=True, slots=True)
class Trampoline:
    """The opened shared object at ``path``, with the addresses of what is in it.

    - ``builtin``: makes a builtin from the address of a PyMethodDef and its `self`; ``entry``,
      ``take``, ``put``, ``get``: the addresses of such definitions;
    - ``descriptor``: makes a method descriptor of a class from such an address;
    - ``whole``, ``inline_cache``, ``is_for_original``: C functions of builtins whose definitions
      Python makes: of a whole call, of an inline cache, and of its test;
    - ``goes_on``: the function of `signals.c` by which kernels poll; ``bind_pool``,
      ``bind_context``: those that connect the trampoline to the thread pool;
    - ``set_quiet_state``: declares the quiet state (`native_entry.declare_quiet_state`).
    """

    path: str
    entry: int
    whole: int
    take: int
    put: int
    inline_cache: int
    is_for_original: int
    get: int
    goes_on: int
    bind_pool: int
    bind_context: int
    builtin: Callable[[int, np.ndarray], Callable[..., Any]]
    descriptor: Callable[[type, int], Any]
    set_quiet_state: Callable[..., None]


_opened: list[Trampoline | None] = []
"""The trampoline of this process, after the first call of `trampoline`; None: unavailable."""


def trampoline(path: str | None) -> Trampoline | None:
    """The trampoline, opened at the first call, and built if needed. None where the native path is
    not available: the layout of objects is unknown, or there is no C compiler, or it fails.

    `path`: the path of a trampoline that was built before; None: it is built, or found in the
    cache. Raises BuildError for a fault of the system, such as a lack of memory.
    """
    if not _opened:
        _opened.append(_open_trampoline(path))
    return _opened[0]


def opened_trampoline() -> Trampoline | None:
    """The trampoline, if it has been opened already."""
    return _opened[0] if _opened else None


def build_in_background() -> None:
    """Start building the trampoline in a thread, once a process; returns when the C compiler runs,
    or is not needed.

    For a caller that will call `load_kernel` soon. What the thread needs is imported here: a fork
    must find no import under way.
    """
    if not _opened:
        from ..build import build_kernel  # noqa: F401

        _building.start()
        _building.let_begin(BEGIN_TIMEOUT)


def start_opening() -> None:
    """Open the trampoline without waiting for the C compiler: where it has to be built first, a
    later call opens it.
    """
    build_in_background()
    if not _opened and not _building.is_running():
        trampoline(None)


def _open_trampoline(known: str | None) -> Trampoline | None:
    """The trampoline at `known`, or a new one, with the C API functions that it uses; None if the
    object layout or the compiler does not allow it. Raises BuildError for a fault of the system.
    """
    if not layout_matches():
        return None
    import ctypes

    try:
        _building.wait()
        path = known or _build_trampoline()
        names = (
            "bind", "bind_whole", "bind_items", "bind_signals", "set_quiet_state", "method",
            "whole", "take", "put", "inline_cache", "is_for_original",
            "get", "goes_on", "bind_pool", "bind_context",
        )
        library = open_library(path, permanent=True)
        addresses = {name: library.address(f"tp_{name}") for name in names}
    except NoCompiler:
        return None
    except BuildError as error:
        if error.is_fault:
            raise
        return None
    tables = {
        "bind": _python_addresses(),
        "bind_whole": _call_addresses(),
        "bind_items": _list_addresses(),
    }
    for function, table in tables.items():
        _bind(addresses[function], table)
    bind_signals(addresses["bind_signals"])
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return Trampoline(
        path, addresses["method"], addresses["whole"], addresses["take"], addresses["put"],
        addresses["inline_cache"], addresses["is_for_original"], addresses["get"],
        addresses["goes_on"],
        addresses["bind_pool"], addresses["bind_context"],
        builtin=lambda definition, self: new(definition, self, None),
        descriptor=ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)(
            ("PyDescr_NewMethod", ctypes.pythonapi)
        ),
        set_quiet_state=ctypes.PYFUNCTYPE(None, *[ctypes.py_object] * 5, ctypes.c_int64)(
            addresses["set_quiet_state"]
        ),
    )


def _build_trampoline() -> str:
    """The path of the shared object of the C sources."""
    from ..build.build_kernel import build_object

    texts = []
    for name in SOURCES:
        with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
            texts.append(file.read())
    return build_object("".join(texts), _FLAGS)


_building = BackgroundBuild(_build_trampoline)


def _python_addresses() -> list[int]:
    """What `entry.c` uses of Python's C API, in the order of its struct."""
    functions = (
        "PyLong_FromLongLong", "PyLong_AsLongLongAndOverflow",
        "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_Restore",
    )
    objects = np.ndarray, float, int, bool, True
    return [*map(id, objects), *map(_python_function, functions), int_layout()]


def _bind(function: int, table: list[int]) -> None:
    """Call the C function at this address, which stores the addresses in `table`."""
    import ctypes

    words = np.array(table, dtype=np.uintp)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(words.ctypes.data)


def bind_signals(function: int) -> None:
    """Give `signals.c`, by its ``tp_bind_signals``, what it uses of Python's C API."""
    names = "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch"
    _bind(function, [*map(_python_function, names)])


def _is_repeatable(error: BaseException) -> bool:
    """Whether Python may do again what has raised `error` in C, before the kernel ran."""
    return isinstance(error, Exception) and not is_from_signal_handler(error)


def _call_addresses() -> list[int]:
    """What `values.c` uses of Python's and NumPy's C API, in the order of its struct."""
    functions = (
        "PyDict_GetItemWithError", "PyCell_Get", "PyModule_GetDict", "PyObject_GetAttr",
        "PyContextVar_Get", "PyObject_RichCompareBool", "PyObject_Call", "PyFloat_FromDouble",
        "PyTuple_New", "PyTuple_SetItem", "PyList_New", "PyList_SetItem",
        "PyTuple_GetItem", "PyTuple_Size", "PyDict_Size",
        "Py_IncRef", "Py_DecRef", "PyErr_Restore", "PyErr_Clear", "PyErr_Occurred",
        "PyErr_Fetch", "PyErr_NormalizeException", "PyException_SetTraceback",
        "PyErr_ExceptionMatches", "PyFunction_GetDefaults", "PyFunction_GetKwDefaults",
        "PyFunction_GetCode", "PyFunction_GetGlobals", "PyMethod_New",
    )
    return [
        *map(id, (ModuleType, FunctionType, dict, False, None, tuple, Exception, _is_repeatable)),
        *(id(str), id(type(np.dtype))),
        *map(_python_function, functions),
        *numpy_c_functions(),
        dict_version_offset(),
    ]


def _list_addresses() -> list[int]:
    """What `items.c` uses of Python's C API, in the order of its struct."""
    of_lists = map(_python_function, ("PyObject_Size", "PyList_GetItem"))
    of_bytes = map(_python_function, ("PyBytes_AsString", "PyByteArray_AsString"))
    return [
        id(list), *of_lists, id(bytes), id(bytearray), *of_bytes, id(memoryview), id(array),
        tuple_items_offset(),
    ]


def _python_function(name: str) -> int:
    """The address of a function of Python's C API."""
    import ctypes

    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
