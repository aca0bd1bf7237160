"""Signal checks: how a kernel finds out that a signal handler, such as that of Ctrl-C, has raised.

A kernel with long loops calls the function to which its variable ``tp_goes_on`` points (`stop.h`;
which loops do, `targets/c/interrupt_polls.py` decides). Here the variable is set to the function of
`signals.c` that asks Python and leaves the exception in the kernel's ``tp_raised``. On the native
call path that function is in the trampoline; for the portable one `signals.c` is compiled on its
own. The same functions connect a kernel with parallel loops to the thread pool.
"""
from __future__ import annotations

import functools
import os
from collections.abc import Callable

from loopir.status_bits import STATUS

from ..build.build_errors import BuildError, NoCompiler
from ..build.shared_library import SharedLibrary, open_library
from .c_api import Trampoline, bind_signals
from .thread_pool import connect

__all__ = ["connect_natively", "connect_portably", "raising_call"]

_WITHOUT_ENTRY = """\
#include <stdint.h>
static struct { void *(*release)(void); void (*acquire)(void *); } py;
static const int is_gil_kept = 1;
"""
"""What `signals.c` uses of `entry.c`. The portable path releases the GIL, or must keep it."""


def connect_natively(
    library: SharedLibrary, trampoline: Trampoline, pool_path: str | None = None
) -> int:
    """Connect the kernel in `library`, which has just been opened, to what it calls in long loops:
    the function of `signals.c` in the `trampoline`, and the thread pool. Returns the address where
    the kernel keeps the exception of a signal handler (``tp_raised``), which `entry.c` raises after
    the kernel; 0 if the kernel has no signal checks, as its loops are short. ``pool_path``: the
    path of the pool's object, if it is known.

    `load_kernel` calls this; `connect_portably` where there is no trampoline.
    """
    connect(library, trampoline.bind_pool, trampoline.bind_context, pool_path)
    if not _connect(library, trampoline.goes_on):
        return 0
    return library.address("tp_raised")


def _connect(library: SharedLibrary, goes_on: int) -> bool:
    """Store the address of the function in ``tp_goes_on``; whether the kernel has it."""
    try:
        address = library.address("tp_goes_on")
    except BuildError:
        return False
    import ctypes

    ctypes.c_void_p.from_address(address).value = goes_on
    return True


def connect_portably(library: SharedLibrary, fast: Callable[..., int]) -> Callable[..., int]:
    """Connect the kernel in `library` as `connect_natively` does, where there is no trampoline.

    `fast` calls the kernel and returns its status; so does the callable that is returned, which
    also raises the exception of a signal handler. Without a C compiler, or Python's C API, the
    kernel does not poll for signals.
    """
    found = _separate_functions()
    if found is None:
        return fast
    goes_on, bind_pool = found
    connect(library, bind_pool)
    return raising_call(library, fast) if _connect(library, goes_on) else fast


def raising_call(library: SharedLibrary, fast: Callable[..., int]) -> Callable[..., int]:
    """`fast`, which calls the kernel in `library` and returns its status; it also raises the
    exception of a signal handler that has stopped the kernel. `fast` itself if the kernel has no
    signal checks, or Python no C API to call.
    """
    import ctypes

    try:
        raised = (ctypes.c_void_p * 3).from_address(library.address("tp_raised"))
    except BuildError:
        return fast
    if not hasattr(ctypes, "pythonapi"):
        return fast

    def call(*args: object) -> int:
        """`fast(*args)`; raises the exception of a signal handler, if there is one."""
        status = fast(*args)
        if status > 0 and status & STATUS["replay"] and raised[0]:
            exception = [ctypes.c_void_p(pointer) for pointer in raised]
            raised[:] = [None, None, None]
            ctypes.pythonapi.PyErr_Restore(*exception)  # raises it
        return status

    return call


@functools.cache
def _separate_functions() -> tuple[int, int] | None:
    """The addresses of ``tp_goes_on`` and ``tp_bind_pool`` of `signals.c`, built on its own; None
    if that fails.
    """
    import ctypes

    from ..build.build_kernel import build_object

    if not hasattr(ctypes, "pythonapi"):
        return None
    with open(os.path.join(os.path.dirname(__file__), "signals.c"), encoding="utf-8") as file:
        text = f"{_WITHOUT_ENTRY}{file.read()}"
    try:
        library = open_library(build_object(text), permanent=True)
        addresses = [library.address(f"tp_{n}") for n in ("bind_signals", "goes_on", "bind_pool")]
    except (BuildError, NoCompiler):
        return None
    bind_signals(addresses[0])
    return addresses[1], addresses[2]
