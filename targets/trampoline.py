"""The fast road to a kernel: a METH_FASTCALL builtin of `entry.c`.

It reads array objects itself, so it needs CPython, and the field layout of NumPy's C ABI, which is
proved on live objects.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from .errors import BuildError
from .layout import proved
from .shared import symbol

__all__ = ["prepare", "trampoline"]

PATIENCE = 10.0
"""Seconds that a fork waits at most: a compiler may hang."""

_Wrap: TypeAlias = Callable[[np.ndarray], Callable[..., int]]
_opened: list[tuple[_Wrap, str] | None] = []
"""The trampoline of this process, once it has been asked for."""

_building: list[threading.Thread] = []


def trampoline(known: str | None) -> tuple[_Wrap, str] | None:
    """Makes a builtin from a spec, and its shared object; None where the fast road is not open."""
    if not _opened:
        _opened.append(_open(known))
    return _opened[0]


def prepare() -> None:
    """Starts building the trampoline, which takes a C compiler, while the caller goes on.

    For a caller that will `load` soon; once a process.
    """
    if not _opened and not _building:
        _building.append(threading.Thread(target=_try_to_build, daemon=True))
        _building[0].start()


def _open(known: str | None) -> tuple[_Wrap, str] | None:
    if not proved():
        return None
    import ctypes

    try:
        for thread in _building:
            thread.join()
        path = known or _built()
        bind, method = symbol(path, "tp_bind"), symbol(path, "tp_method")
    except BuildError:
        return None
    lent = np.array(_lent(), dtype=np.uintp)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind)(lent.ctypes.data)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return (lambda spec: new(method, spec, None)), path


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

    with open(os.path.join(os.path.dirname(__file__), "entry.c")) as file:
        return build_object(file.read())


def _lent() -> list[int]:
    """What `entry.c` needs of Python, in the order of its struct."""
    import ctypes

    functions = (
        "PyLong_FromLongLong", "PyLong_AsLongLongAndOverflow", "PyFloat_AsDouble",
        "PyEval_SaveThread", "PyEval_RestoreThread",
    )
    pointers = (ctypes.cast(getattr(ctypes.pythonapi, f), ctypes.c_void_p) for f in functions)
    addresses = (pointer.value or 0 for pointer in pointers)
    return [*map(id, (np.ndarray, float, int, bool, True)), *addresses]
