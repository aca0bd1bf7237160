"""C API tables: what the C sources of calls use of Python and NumPy, bound to their functions.

`bound_trampoline` gives the shared object of `entry.c` and the others the addresses of Python's
objects and functions, once a process. `trampoline` builds and opens that object; a package that was
built ahead of time has it in its own (`transpile.ahead`).
"""
from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import is_from_signal_handler

from .object_layout import (
    dict_version_offset,
    int_layout,
    numpy_c_functions,
    tuple_items_offset,
)

__all__ = [
    "FUNCTIONS", "Trampoline", "bind_signals", "bind_table", "bound_trampoline", "list_addresses",
    "has_no_trampoline", "opened", "opened_trampoline", "python_addresses",
]

FUNCTIONS = (
    "bind", "bind_whole", "bind_items", "bind_signals", "set_quiet_state", "method",
    "whole", "take", "put", "inline_cache", "is_for_original",
    "vectorcall", "get", "goes_on", "bind_pool", "bind_context",
)
"""The names, without ``tp_``, of what `bound_trampoline` needs the addresses of."""


@record(frozen=True, slots=True)
class Trampoline:
    """The opened shared object at ``path``, with the addresses of what is in it.

    - ``builtin``: makes a builtin from the address of a PyMethodDef and its `self`; ``entry``,
      ``take``, ``put``, ``get``: the addresses of such definitions;
    - ``descriptor``: makes a method descriptor of a class from such an address;
    - ``whole``, ``inline_cache``, ``is_for_original``: C functions of builtins whose definitions
      Python makes: of a whole call, of an inline cache, and of its test;
    - ``vectorcall``: the C function that calls of a `Vectorcall` object run (`vectorcall.py`);
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
    vectorcall: int
    get: int
    goes_on: int
    bind_pool: int
    bind_context: int
    builtin: Callable[[int, np.ndarray], Callable[..., Any]]
    descriptor: Callable[[type, int], Any]
    set_quiet_state: Callable[..., None]


opened: list[Trampoline | None] = []
"""The trampoline of this process, after the first call of `trampoline`; None: unavailable."""


def opened_trampoline() -> Trampoline | None:
    """The trampoline, if it has been opened already."""
    return opened[0] if opened else None


def has_no_trampoline() -> bool:
    """Whether it was found that this process can have no trampoline."""
    return opened == [None]


def bound_trampoline(path: str, addresses: Mapping[str, int]) -> Trampoline:
    """The trampoline at `path`, whose functions have these addresses (`FUNCTIONS`), after they have
    got the C API functions that they use.
    """
    import ctypes

    tables = {
        "bind": python_addresses(),
        "bind_whole": _call_addresses(),
        "bind_items": list_addresses(),
    }
    for function, table in tables.items():
        bind_table(addresses[function], table)
    bind_signals(addresses["bind_signals"])
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return Trampoline(
        path, addresses["method"], addresses["whole"], addresses["take"], addresses["put"],
        addresses["inline_cache"], addresses["is_for_original"], addresses["vectorcall"],
        addresses["get"], addresses["goes_on"],
        addresses["bind_pool"], addresses["bind_context"],
        builtin=lambda definition, self: new(definition, self, None),
        descriptor=ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)(
            ("PyDescr_NewMethod", ctypes.pythonapi)
        ),
        set_quiet_state=ctypes.PYFUNCTYPE(None, *[ctypes.py_object] * 5, ctypes.c_int64)(
            addresses["set_quiet_state"]
        ),
    )


def python_addresses() -> list[int]:
    """What `entry.c` uses of Python's C API, in the order of its struct."""
    functions = (
        "PyLong_FromLongLong", "PyLong_FromUnsignedLongLong", "PyLong_AsLongLongAndOverflow",
        "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_Restore",
    )
    objects = np.ndarray, float, int, bool, True
    return [*map(id, objects), *map(_python_function, functions), int_layout()]


def bind_table(function: int, table: list[int]) -> None:
    """Call the C function at this address, which stores the addresses in `table`."""
    import ctypes

    words = np.array(table, dtype=np.uintp)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(words.ctypes.data)


def bind_signals(function: int) -> None:
    """Give `signals.c`, by its ``tp_bind_signals``, what it uses of Python's C API."""
    names = "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch"
    bind_table(function, [*map(_python_function, names)])


def _is_repeatable(error: BaseException) -> bool:
    """Whether Python may do again what has raised `error` in C, before the kernel ran."""
    return isinstance(error, Exception) and not is_from_signal_handler(error)


def _call_addresses() -> list[int]:
    """What `values.c` uses of Python's and NumPy's C API, in the order of its struct."""
    functions = (
        "PyDict_GetItemWithError", "PyCell_Get", "PyModule_GetDict", "PyObject_GetAttr",
        "PyContextVar_Get", "PyObject_RichCompareBool", "PyObject_Call", "PyObject_Vectorcall",
        "PyFloat_FromDouble",
        "PyTuple_New", "PyTuple_SetItem", "PyList_New", "PyList_SetItem",
        "PyTuple_GetItem", "PyTuple_Size", "PyDict_New", "PyDict_SetItem", "PyDict_Next",
        "Py_IncRef", "Py_DecRef", "PyErr_Restore", "PyErr_Clear", "PyErr_Occurred",
        "PyErr_Fetch", "PyErr_NormalizeException", "PyException_SetTraceback",
        "PyErr_ExceptionMatches", "PyFunction_GetDefaults", "PyFunction_GetKwDefaults",
        "PyFunction_GetCode", "PyFunction_GetGlobals", "PyMethod_New",
        "PyErr_SetString",
    )
    return [
        *map(id, (ModuleType, FunctionType, dict, False, None, tuple, list, Exception)),
        *(id(_is_repeatable), id(str), id(type(np.dtype)), id(sys.intern("__call__"))),
        id(RecursionError),
        *map(_python_function, functions),
        *numpy_c_functions(),
        dict_version_offset(),
    ]


def list_addresses() -> list[int]:
    """What `items.c` uses of Python's C API, in the order of its struct."""
    of_lists = map(_python_function, ("PyObject_Size", "PyList_GetItem"))
    of_bytes = map(_python_function, ("PyBytes_AsString", "PyByteArray_AsString"))
    return [
        *of_lists, id(bytes), id(bytearray), *of_bytes, id(memoryview), id(array), id(str),
        tuple_items_offset(),
    ]


def _python_function(name: str) -> int:
    """The address of a function of Python's C API; 0 if this version of Python has none."""
    import ctypes

    found = getattr(ctypes.pythonapi, name, None)
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0
