"""Fork-safe locks: a process is never forked in the middle of a compilation.

The child would have no thread to end it, and would wait forever for what that thread held: the
lock, and those of the modules that it was importing.
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
"""Seconds that a fork waits for one lock at most: a compiler may hang."""


class ForkSafeLock:
    """A reentrant lock; in the child of a fork it is free."""

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
        """Takes it, if it comes free in time."""
        if not self._lock.acquire(timeout=FORK_TIMEOUT):
            _log.warning("a fork has not waited for a compilation that takes too long")

    def let_go(self) -> None:
        """Gives back what `hold` took, if it did."""
        with suppress(RuntimeError):
            self._lock.release()

    def renew(self) -> None:
        """Whoever held it is not there."""
        self._lock = threading.RLock()


_all_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()
_held_locks = threading.local()


def _before_fork() -> None:
    _held_locks.locks = list(_all_locks)
    for lock in _held_locks.locks:
        lock.hold()


def _after_in_parent() -> None:
    for lock in _held_locks.locks:
        lock.let_go()
    _held_locks.locks = []


def _after_in_child() -> None:
    for lock in list(_all_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
