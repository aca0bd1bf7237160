"""The fast road to a kernel: the builtins of `entry.c`, `items.c` and `whole.c`.

They read array objects themselves, so they need CPython, and the field layout of NumPy's C ABI,
which is proved on live objects.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from loopir.record import record

from .errors import BuildError
from .layout import numpy_functions, proved
from .shared import symbol

__all__ = ["Trampoline", "opened", "prepare", "trampoline"]

SOURCES = "entry.c", "values.c", "items.c", "whole.c"

PATIENCE = 10.0
"""Seconds that a fork waits at most: a compiler may hang."""



@record(frozen=True, slots=True)
class Trampoline:
    """The shared object at ``path``, opened: ``builtin`` makes one from the address of a
    PyMethodDef, and its `self`; ``entry``, ``take`` and ``put`` are addresses of such definitions,
    ``whole`` that of a function for others. ``calm`` tells it under which error state nothing
    raises in mid-loop.
    """

    path: str
    entry: int
    whole: int
    take: int
    put: int
    builtin: Callable[[int, np.ndarray], Callable[..., Any]]
    calm: Callable[..., None]


_opened: list[Trampoline | None] = []
"""The trampoline of this process, once it has been asked for."""

_building: list[threading.Thread] = []


def trampoline(known: str | None) -> Trampoline | None:
    """None where the fast road is not open."""
    if not _opened:
        _opened.append(_open(known))
    return _opened[0]


def opened() -> Trampoline | None:
    """The trampoline, where it has been asked for."""
    return _opened[0] if _opened else None


def prepare() -> None:
    """Starts building the trampoline, which takes a C compiler, while the caller goes on.

    For a caller that will `load` soon; once a process.
    """
    if not _opened and not _building:
        _building.append(threading.Thread(target=_try_to_build, daemon=True))
        _building[0].start()


def _open(known: str | None) -> Trampoline | None:
    if not proved():
        return None
    import ctypes

    try:
        for thread in _building:
            thread.join()
        path = known or _built()
        names = "bind", "bind_whole", "bind_items", "calm", "method", "whole", "take", "put"
        at = {name: symbol(path, f"tp_{name}") for name in names}
    except BuildError:
        return None
    lent = {"bind": _lent(), "bind_whole": _lent_whole(), "bind_items": _lent_items()}
    for function, those in lent.items():
        words = np.array(those, dtype=np.uintp)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(at[function])(words.ctypes.data)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return Trampoline(
        path, at["method"], at["whole"], at["take"], at["put"],
        builtin=lambda definition, self: new(definition, self, None),
        calm=ctypes.PYFUNCTYPE(None, *[ctypes.py_object] * 5)(at["calm"]),
    )


def _try_to_build() -> None:
    with suppress(Exception):  # `load` meets the same trouble, and tells
        _built()


def _settle() -> None:
    """Before a fork: the child would wait for ever for modules that this thread is importing."""
    for thread in _building:
        thread.join(PATIENCE)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_settle)


def _built() -> str:
    from .build import build_object

    texts = []
    for name in SOURCES:
        with open(os.path.join(os.path.dirname(__file__), name)) as file:
            texts.append(file.read())
    return build_object("".join(texts))


def _lent() -> list[int]:
    """What `entry.c` needs of Python, in the order of its struct."""
    functions = (
        "PyLong_FromLongLong", "PyLong_AsLongLongAndOverflow", "PyFloat_AsDouble",
        "PyEval_SaveThread", "PyEval_RestoreThread",
    )
    return [*map(id, (np.ndarray, float, int, bool, True)), *map(_function, functions)]


def _lent_whole() -> list[int]:
    """What `values.c` needs of Python and NumPy, in the order of its struct."""
    functions = (
        "PyDict_GetItemWithError", "PyCell_Get", "PyModule_GetDict", "PyObject_GetAttr",
        "PyContextVar_Get", "PyObject_RichCompareBool", "PyObject_Call", "PyFloat_FromDouble",
        "PyTuple_New", "PyTuple_SetItem", "PyList_New", "PyList_SetItem",
        "PyTuple_GetItem", "PyTuple_Size", "PyDict_Size",
        "Py_IncRef", "Py_DecRef", "PyErr_Restore", "PyErr_Clear",
    )
    return [*map(id, (ModuleType, False, None)), *map(_function, functions), *numpy_functions()]


def _lent_items() -> list[int]:
    """What `items.c` needs of Python, in the order of its struct."""
    return [id(list), *map(_function, ("PyObject_Size", "PyList_GetItem"))]


def _function(name: str) -> int:
    import ctypes

    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
