"""Compiler threads: which threads wait for a C compiler, so that a fork need not wait for them.

Such a thread holds no lock that the child of a fork could need. When its compiler has ended, it
goes on only if the gate is open. A fork closes the gate before it asks which threads wait, and
opens it when it is done.
"""
from __future__ import annotations

import threading
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager

from loopir.process.signal_exceptions import suppress_failures

__all__ = ["close_gate", "in_compiler", "open_gate", "threads_in_compiler"]

threads_in_compiler: set[int] = set()
"""The identifiers of the threads that wait for a C compiler."""

_gate = threading.RLock()
"""Held during a fork."""


def close_gate() -> None:
    """Keep the threads that wait for a C compiler waiting, until `open_gate` is called."""
    _gate.acquire()


def open_gate() -> None:
    """Undo `close_gate`; nothing happens if this thread has not called it."""
    with suppress_failures(RuntimeError):
        _gate.release()


@contextmanager
def in_compiler() -> Iterator[None]:
    """Says that this thread does nothing but wait for a C compiler in the body of the ``with``::

        with in_compiler():
            process = subprocess.run(command)

    A fork meanwhile need not wait for it (`background_build._before_fork`, `fork_lock`). If one is
    under way when the C compiler ends, this thread waits at the gate until the fork is done: else
    it could take a lock, say by an import, at the moment in which the process is copied.
    """
    threads_in_compiler.add(get_ident())
    try:
        yield
    finally:
        with _gate:
            threads_in_compiler.discard(get_ident())
