"""Large stack: the compiler runs in a thread of its own where the caller's stack is too small.

A thread may have 32 KiB, and a call deep in a recursion may have few frames left; a compilation
needs some hundred frames, and some hundred KiB for the parser and for imports. `Faults.guarded`
asks `has_small_stack`, and then runs the dispatcher by `on_large_stack`; `BackgroundCompiler.start`
starts its thread in `large_stacks`.
"""
from __future__ import annotations

import sys
import threading
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

from loopir.process.signal_exceptions import failures

from ...errors import calling_frames

__all__ = ["has_small_stack", "large_stacks", "on_large_stack"]

_Result = TypeVar("_Result")

_STACK_BYTES = 16 << 20
"""The size of the stack of a thread in which the compiler runs."""
_SMALL_BYTES = 1 << 20
"""Stacks with less than this are small."""

_starting = threading.Lock()
_known = threading.local()
"""``small`` of this thread, once it has been found out."""


def has_small_stack() -> bool:
    """Whether this thread was given a stack that is too small for a compilation; False for the main
    thread. How much of it is in use is not asked: a RecursionError shows that (`Faults.guarded`).
    """
    if get_ident() == threading.main_thread().ident:
        return False
    try:
        return bool(_known.small)
    except failures(AttributeError):
        _known.small = small = _stack_bytes() < _SMALL_BYTES
        return small


def _stack_bytes() -> int:
    """The size of the stack of this thread; 0 if it is not known."""
    import ctypes

    system = ctypes.CDLL(None)
    try:
        current = system.pthread_self
        current.restype = ctypes.c_void_p
        thread = ctypes.c_void_p(current())
        size = ctypes.c_size_t()
        if sys.platform == "darwin":
            system.pthread_get_stacksize_np.restype = ctypes.c_size_t
            return int(system.pthread_get_stacksize_np(thread))
        attributes, start = ctypes.create_string_buffer(256), ctypes.c_void_p()
        if system.pthread_getattr_np(thread, attributes):
            return 0
        system.pthread_attr_getstack(attributes, ctypes.byref(start), ctypes.byref(size))
        system.pthread_attr_destroy(attributes)
        return size.value
    except failures(AttributeError):  # the C library lacks one of them
        return 0


@contextmanager
def large_stacks() -> Iterator[None]:
    """A context in which new threads get a large stack. Python has one stack size for all threads
    that the process starts, so one thread at a time is in such a context.
    """
    with _starting:
        before = threading.stack_size(_STACK_BYTES)
        try:
            yield
        finally:
            threading.stack_size(before)


def on_large_stack(function: Callable[..., _Result], *args: object) -> _Result:
    """``function(*args)``, run in a new thread in the context of this one, which waits for it.

    Raises what the call raises, and RuntimeError if no thread can be started. An exception that
    interrupts the wait, such as KeyboardInterrupt, leaves the call running.
    """
    outcome: list[tuple[bool, Any]] = []
    context, caller, done = copy_context(), sys._getframe(1), allocate_lock()

    def run() -> None:
        """The body of the thread."""
        calling_frames[get_ident()] = caller
        try:
            outcome.append((True, context.run(function, *args)))
        except BaseException as error:  # it is raised in the caller
            outcome.append((False, error))
        finally:
            del calling_frames[get_ident()]
            done.release()

    done.acquire()
    with large_stacks():
        start_new_thread(run, ())
    done.acquire()
    has_returned, value = outcome[0]
    if not has_returned:
        raise value
    return value  # type: ignore[no-any-return]  # what the function has returned
