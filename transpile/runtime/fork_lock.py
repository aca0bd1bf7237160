"""Fork-safe locks: a process is not forked in the middle of a compilation.

The child would not have the thread that compiles, and would wait forever for its locks: this one,
and the import locks of modules that it was importing.
"""
from __future__ import annotations

import logging
import os
import threading
import weakref
from contextlib import suppress
from types import TracebackType

__all__ = ["ForkSafeLock"]

_log = logging.getLogger(__name__)  # here, so that the fork hooks of logging come before ours:
# the latest runs first, and theirs takes a lock that a compilation may need to end

FORK_TIMEOUT = 10.0
"""Seconds after which a fork no longer waits for a lock: a compiler may hang."""


class ForkSafeLock:
    """A reentrant lock that is free in the child of a fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _all_locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def hold(self) -> None:
        """Acquire it, unless that takes longer than `FORK_TIMEOUT`."""
        if not self._lock.acquire(timeout=FORK_TIMEOUT):
            _log.warning("a fork has not waited for a compilation that takes too long")

    def let_go(self) -> None:
        """Release it, if `hold` has acquired it."""
        with suppress(RuntimeError):
            self._lock.release()

    def renew(self) -> None:
        """Replace it in the child: the thread that held it does not exist there."""
        self._lock = threading.RLock()


_all_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()
_held_locks = threading.local()


def _before_fork() -> None:
    """Acquire all locks, so that no compilation is under way."""
    _held_locks.locks = list(_all_locks)
    for lock in _held_locks.locks:
        lock.hold()


def _after_in_parent() -> None:
    """Release the locks that `_before_fork` acquired."""
    for lock in _held_locks.locks:
        lock.let_go()
    _held_locks.locks = []


def _after_in_child() -> None:
    """Replace all locks."""
    for lock in list(_all_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
