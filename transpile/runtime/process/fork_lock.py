"""Fork-safe locks: the child of a fork is never blocked by a compilation of its parent.

The child does not have the thread that compiles, and would wait forever for its locks: this one,
and the import locks of modules that it was importing. So a fork waits until no thread is in the
middle of a compilation, except for those that wait for the C compiler, which hold no other locks;
and until no thread imports a module of ours for another reason, say for a report. If that takes too
long, the child imports such modules anew (`_forget_half_imported`). If one of another package is
being imported, the child is without compiler: its calls are served by what is compiled already, or
by Python.

Each `Dispatcher` has one lock. `Dispatcher._compile_or_refuse` holds it while it compiles, and
calls `note_owner` first thing in the ``with`` block: without that a fork cannot tell that the owner
waits for the C compiler, and waits until `FORK_TIMEOUT`. `targets/build/background_build.py`
registers fork hooks of its own, with the same gate (`loopir/process/compiler_threads.py`), for the
threads that build the trampoline and the thread pool.
"""
from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import time
import weakref
from threading import get_ident

from loopir.process.compiler_threads import close_gate, open_gate, threads_in_compiler
from loopir.process.signal_exceptions import suppress_failures

__all__ = ["ForkSafeLock", "is_without_compiler"]

_log = logging.getLogger(__name__)  # here, so that the fork hooks of logging come before ours:
# the latest runs first, and theirs takes a lock that a compilation may need to end

FORK_TIMEOUT = 5.0
"""Seconds after which a fork no longer waits for a compilation."""

_POLL = 0.005
"""Seconds for which a fork waits for a lock, before it looks whether the owner of the lock waits
for the C compiler, so that the fork need not.
"""

_PACKAGES = ("transpile", "loopir", "targets", "kernels")
"""The packages of the compiler, whose imports a fork waits for."""


class ForkSafeLock:
    """A reentrant lock for compilations, which is free in the child of a fork::

        with lock.held:
            lock.note_owner()
            ... compile ...

    A fork acquires all such locks (`_before_fork`), so that it happens between compilations, and
    replaces them in the child (`_after_in_child`); a thread that waits for the C compiler holds
    nothing that the child needs, so no fork waits for its lock (`hold`).

    ``held`` is a lock of Python's own, for a ``with`` statement: a method written in Python could
    be left by the exception of a signal handler after it has acquired the lock, and before the
    ``with`` that releases it.
    """

    def __init__(self) -> None:
        self.held = threading.RLock()
        self.owner = 0  # the thread that has acquired it last, which `note_owner` has stored
        _all_locks.add(self)

    def note_owner(self) -> None:
        """Say that this thread has acquired it."""
        self.owner = get_ident()

    def is_held_here(self) -> bool:
        """Whether this thread holds it."""
        return bool(self.held._is_owned())  # type: ignore[attr-defined]  # not in typeshed

    def hold(self, deadline: float) -> bool:
        """Acquire it for a fork. True: it is acquired, or its owner only waits for the C compiler,
        so that it need not be. False: it was not free until `deadline`: then the child may be
        unable to compile, as the owner may be importing a module, whose import lock would be locked
        in the child for ever.
        """
        while not self.held.acquire(timeout=_POLL):
            if self.owner in threads_in_compiler:
                return True
            if time.monotonic() > deadline:
                return False
        return True

    def let_go(self) -> None:
        """Release it, if `hold` has acquired it."""
        with suppress_failures(RuntimeError):
            self.held.release()

    def renew(self) -> None:
        """Replace it in the child: the thread that held it does not exist there."""
        self.held = threading.RLock()


_all_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()
_held_locks = threading.local()

_lacks_compiler = False
"""Whether this process was forked while a thread of its parent was importing modules of other
packages, and did not end within `FORK_TIMEOUT`."""


def is_without_compiler() -> bool:
    """Whether this process must not compile: it would wait for ever for the import locks of modules
    of other packages that a thread of its parent was importing at the fork.
    """
    return _lacks_compiler


def _modules_imported_elsewhere() -> list[str] | None:
    """The modules that other threads are importing now; None if that is unknown. In the child of a
    fork: those that threads of its parent were importing.
    """
    locks = getattr(importlib._bootstrap, "_module_locks", None)
    if locks is None:
        return None
    return [
        name for name, ref in list(locks.items())
        if getattr(ref(), "owner", None) not in (None, get_ident())
    ]


def _is_of_compiler(module: str) -> bool:
    return module.partition(".")[0] in _PACKAGES


def _is_compiler_imported() -> bool:
    """Whether another thread is importing a module of the compiler now."""
    return any(map(_is_of_compiler, _modules_imported_elsewhere() or ()))


def _forget_half_imported() -> None:
    """In the child: drop the modules of the compiler that a thread of the parent was importing, and
    their import locks, which nobody would release. They are imported anew where they are needed. No
    other module has a part of them, as imports have no cycles, and modules do not change others.
    """
    for name in filter(_is_of_compiler, _modules_imported_elsewhere() or ()):
        sys.modules.pop(name, None)
        importlib._bootstrap._module_locks.pop(name, None)  # type: ignore[attr-defined]


def _before_fork() -> None:
    """Acquire all locks, so that no compilation is under way while the process is copied, except
    in threads that wait for the C compiler. The gate keeps these from going on meanwhile.
    """
    close_gate()
    _held_locks.locks, _held_locks.are_held = list(_all_locks), True
    deadline = time.monotonic() + FORK_TIMEOUT
    for lock in _held_locks.locks:
        _held_locks.are_held &= lock.hold(deadline)
    while _is_compiler_imported() and _held_locks.are_held:
        time.sleep(_POLL)
        _held_locks.are_held = time.monotonic() < deadline


def _after_in_parent() -> None:
    """Release the locks that `_before_fork` acquired."""
    for lock in _held_locks.locks:
        lock.let_go()
    _held_locks.locks = []
    open_gate()


def _after_in_child() -> None:
    """Replace all locks. The child is without compiler if the fork did not wait to the end, and
    threads of the parent were importing modules of other packages, or that is unknown.
    """
    global _lacks_compiler
    _forget_half_imported()
    _lacks_compiler |= not _held_locks.are_held and _modules_imported_elsewhere() != []
    threads_in_compiler.clear()
    open_gate()
    for lock in list(_all_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
