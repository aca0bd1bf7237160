"""Background compilation: with ``background=True`` Python answers while a thread compiles.

One daemon thread at a time compiles one signature of a function. Calls of all signatures that are
not compiled yet are served by the original function meanwhile (`Dispatcher._select_callee`). What
the thread raises stays in it: the call after it compiles as usual, and then raises or warns as any
call does. A fork has none of its parent's threads and starts its own. The end of the process does
not wait for them.
"""
from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Hashable
from types import FrameType

from loopir.process.signal_exceptions import failures

from ...errors import calling_frames
from .large_stack import large_stacks

__all__ = ["RUN_BACKGROUND", "BackgroundCompiler", "CompilationPending"]

_log = logging.getLogger(__name__)

RUN_BACKGROUND = "RUN_BACKGROUND"
"""The code of calls that Python serves while their signature is compiled."""


class CompilationPending(Exception):
    """A thread has been started that compiles the signature of this call."""


class BackgroundCompiler:
    """The threads that compile signatures of one function, one after the other."""

    def __init__(self) -> None:
        self._threads: dict[Hashable, threading.Thread] = {}

    def is_compiling(self) -> bool:
        """Whether a thread other than this one compiles the function now."""
        here = threading.current_thread()
        return any(t.is_alive() and t is not here for t in [*self._threads.values()])

    def start(self, signature: Hashable, compile: Callable[[], object]) -> None:
        """Start a thread that calls `compile`, and raise CompilationPending, so that the call which
        came here is served by Python.

        Does nothing in three cases, in which the caller compiles by itself: it is the thread that
        was started for this signature, whose `compile` leads here again; that thread has failed,
        and this call shall show why; no thread can be started.
        """
        thread = self._threads.get(signature)
        if thread is not None and not _was_lost_in_fork(thread):
            return
        thread = threading.Thread(
            target=_run, args=(compile, sys._getframe(1)), name="transpile", daemon=True
        )
        self._threads[signature] = thread
        try:
            with large_stacks():
                thread.start()
        except failures(RuntimeError):  # there are too many threads, or the interpreter ends
            return
        raise CompilationPending


def _was_lost_in_fork(thread: threading.Thread) -> bool:
    """Whether a fork has left `thread` behind before it has ended."""
    return not thread.is_alive() and not getattr(thread, "has_ended", False)


def _run(compile: Callable[[], object], caller: FrameType) -> None:
    """The body of the thread; warnings are issued at the line of the user in `caller`."""
    here = threading.get_ident()
    calling_frames[here] = caller
    try:
        compile()
    except failures(Exception) as error:
        _log.info("compiling in the background failed: %r", error)
    finally:
        del calling_frames[here]
        threading.current_thread().has_ended = True  # type: ignore[attr-defined]  # see above
