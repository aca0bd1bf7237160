"""Kernels that Ctrl-C stops: what they need of Python, and the exception that a handler has raised.
"""
from __future__ import annotations

from collections.abc import Callable

from loopir.ops import STATUS

from .errors import BuildError
from .shared import symbol

__all__ = ["raised_by", "stoppable"]

_LENT = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch")
"""In the order of the struct in `stop.h`."""


def raised_by(path: str) -> int:
    """Where the kernel at `path` leaves what a signal's handler has raised; 0: it never asks.

    From here on it has what it needs.
    """
    try:
        lend = symbol(path, "tp_lend")
    except BuildError:
        return 0
    import ctypes

    python = ctypes.pythonapi
    functions = (ctypes.cast(getattr(python, name), ctypes.c_void_p) for name in _LENT)
    lent = (ctypes.c_void_p * len(_LENT))(*functions)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lend)(ctypes.addressof(lent))
    return symbol(path, "tp_raised")


def stoppable(fast: Callable[..., int], address: int) -> Callable[..., int]:
    """`fast`; it raises what a signal's handler raised while it ran, left at this address."""
    if not address:
        return fast
    import ctypes

    raised = (ctypes.c_void_p * 3).from_address(address)

    def call(*args: object) -> int:
        status = fast(*args)
        if status > 0 and status & STATUS["replay"] and raised[0]:
            given = [ctypes.c_void_p(pointer) for pointer in raised]
            raised[:] = [None, None, None]
            ctypes.pythonapi.PyErr_Restore(*given)  # raises it
        return status

    return call
