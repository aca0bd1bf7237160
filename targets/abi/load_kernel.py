"""Loads a kernel of a shared object as a callable, by the native or the portable call path.

Both paths return the kernel's status, or -1 where an argument does not match its specification,
and then nothing was done. A kernel with long loops checks for signals (Ctrl-C): it stops, and
the exception that the signal handler raised is raised here.
"""
from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from loopir.lazy_dataclass import record
from loopir.op_table import STATUS

from ..build.build_errors import BuildError
from ..build.shared_library import symbol_address
from .parameter_specs import (
    MAX_PARAMS,
    MAX_RANK,
    MISMATCH,
    HasParams,
    ParameterSpec,
    parameter_spec,
)
from .portable_call import PortableCall
from .trampoline import build_in_background, trampoline

__all__ = [
    "connect_signal_checks", "interruptible", "MISMATCH", "LoadedKernel", "load_kernel",
    "build_in_background",
]

_BORROWED_FUNCTIONS = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_CheckSignals",
    "PyErr_Fetch",
)
"""In the order of the struct in `stop.h`."""


def connect_signal_checks(path: str) -> int:
    """Where the kernel at `path` leaves what a signal's handler has raised; 0: it never asks.

    From here on it has what it needs.
    """
    try:
        lend = symbol_address(path, "tp_lend")
    except BuildError:
        return 0
    import ctypes

    python = ctypes.pythonapi
    functions = (
        ctypes.cast(getattr(python, name), ctypes.c_void_p) for name in _BORROWED_FUNCTIONS
    )
    lent = (ctypes.c_void_p * len(_BORROWED_FUNCTIONS))(*functions)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lend)(ctypes.addressof(lent))
    return symbol_address(path, "tp_raised")


def interruptible(fast: Callable[..., int], address: int) -> Callable[..., int]:
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


@record(frozen=True, slots=True)
class LoadedKernel:
    """A loaded kernel.

    ``fast(*args)`` takes arrays and scalars in the order of the kernel's parameters and gives the
    status. ``native``: whether it is the builtin, of the shared object ``trampoline``. ``address``
    is the kernel's own, ``rows`` say what its arguments must be, and at ``raised`` it leaves what
    has stopped it, if that is not 0.
    """

    path: str
    fast: Callable[..., int]
    native: bool
    address: int
    rows: tuple[ParameterSpec, ...]
    raised: int
    trampoline: str | None = None


def load_kernel(
    path: str,
    kernel: HasParams,
    *,
    weak: Collection[str] = (),
    strided: Collection[str] = (),
    paired: Collection[str] = (),
    alone: bool = False,
    native: bool = True,
    known: str | None = None,
) -> LoadedKernel:
    """The kernel ``tp_kernel`` of the shared object at `path`. Raises BuildError where it cannot be
    opened.

    Scalars named in `weak` are given as Python scalars, others as NumPy's. Arrays named in
    `strided` have no axis of unit stride, and one that has is refused (there is faster code for
    it); those in `paired` are complex, whose parts are the parameter's last axis. ``alone``: no
    other Python thread runs meanwhile. ``native=False`` asks for the safe road. `known`: the
    trampoline of an earlier Entry.
    """
    if len(kernel.params) > MAX_PARAMS or any((p.rank or 0) > MAX_RANK for p in kernel.params):
        most = f"{MAX_PARAMS} parameters, of rank {MAX_RANK} at most"
        raise BuildError(f"a kernel takes at most {most}")
    rows = tuple(
        parameter_spec(p, p.name in weak, p.name in strided, p.name in paired)
        for p in kernel.params
    )
    address, raised = symbol_address(path, "tp_kernel"), connect_signal_checks(path)
    found = trampoline(known) if native else None
    if found is None:
        safe = interruptible(PortableCall(address, rows, alone=alone), raised)
        return LoadedKernel(path, safe, False, address, rows, raised)
    spec = [address, len(rows), int(alone), *(field for r in rows for field in r.fields())]
    fast = interruptible(found.builtin(found.entry, np.array(spec, dtype=np.int64)), raised)
    return LoadedKernel(path, fast, True, address, rows, raised, trampoline=found.path)
