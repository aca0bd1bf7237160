"""Background build: a thread that runs the C compiler for something that no call has to wait for.

A fork waits until such a thread ends or waits for the C compiler (`compiler_threads`). Otherwise
the thread might hold an import lock, for which the child would wait for ever.
"""
from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from loopir.process.compiler_threads import close_gate, open_gate, threads_in_compiler
from loopir.process.signal_exceptions import suppress_failures

__all__ = ["BackgroundBuild", "wait_for_builds"]

FORK_TIMEOUT = 10.0
"""Seconds after which a fork no longer waits for the threads, whose work may hang."""


class BackgroundBuild:
    """Runs `work` in a thread, once a process. The exceptions of `work` are dropped: whoever needs
    the result does the work again, and gets the exception then. ``is_awaited``: the process ends
    after the thread, so that later processes have the result.
    """

    def __init__(self, work: Callable[[], object], *, is_awaited: bool = False) -> None:
        self._work, self._is_daemon = work, not is_awaited
        self.threads: list[threading.Thread] = []
        """The thread, once there is one; it may have failed to start."""
        _all_builds.append(self)

    def start(self) -> None:
        """Start the thread, unless it has been started."""
        if not self.threads:
            thread = threading.Thread(target=self._run, daemon=self._is_daemon)
            self.threads.append(thread)  # first: `start` may fail when the thread runs already
            with suppress_failures(RuntimeError):  # there may be no more threads
                thread.start()

    def is_running(self) -> bool:
        """Whether the thread has not ended."""
        return any(thread.is_alive() for thread in self.threads)

    def let_begin(self, seconds: float) -> None:
        """Wait until the thread waits for the C compiler, or has ended; at most so many `seconds`.

        A thread that begins beside one that computes gets to it late: after each file that it has
        opened or read it waits for the GIL, 5 ms each time.
        """
        deadline = time.monotonic() + seconds
        while self.is_running() and not self.is_in_compiler() and time.monotonic() < deadline:
            self.wait(0.001)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the thread has ended, at most so many `seconds`; not at all if it never
        started.
        """
        for thread in self.threads:
            with suppress_failures(RuntimeError):
                thread.join(seconds)

    def _run(self) -> None:
        with suppress_failures(Exception):
            self._work()

    def is_in_compiler(self) -> bool:
        """Whether the thread waits for the C compiler, and holds no locks."""
        return any(thread.ident in threads_in_compiler for thread in self.threads)


_all_builds: list[BackgroundBuild] = []


def wait_for_builds() -> None:
    """Wait until all threads that have been started have ended."""
    for build in _all_builds:
        build.wait()


def _before_fork() -> None:
    """Hook before ``os.fork``: wait until each thread of a `BackgroundBuild` has ended, or waits
    for the C compiler; at most `FORK_TIMEOUT`.

    The child has no such thread. If the thread were in the middle of an import, the child would
    wait for its import lock for ever; while it waits for the C compiler it holds no lock. The gate
    keeps it there until the fork is done (`compiler_threads`): else it could begin an import after
    it was asked where it is.
    """
    close_gate()
    deadline = time.monotonic() + FORK_TIMEOUT
    for build in _all_builds:
        build.let_begin(deadline - time.monotonic())


def _after_in_child() -> None:
    """The threads do not exist here."""
    open_gate()
    for build in _all_builds:
        build.threads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=open_gate, after_in_child=_after_in_child
    )
