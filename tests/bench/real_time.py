"""Benchmarks beside other work: real-time priority for moments; what two processes reach at once.

With real-time priority (``SCHED_FIFO``) no other process takes a CPU from the threads that are
timed. It needs the right to it, which root has. Blocks are milliseconds long: others wait as long.
"""
from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

__all__ = ["Companion", "is_allowed", "real_time"]

IDLE, RUN, END = 0, 1, 2
"""What the parent has asked of a `Companion`."""


def is_allowed() -> bool:
    """Whether this process may have real-time priority."""
    try:
        with real_time():
            return True
    except (PermissionError, AttributeError):
        return False


@contextmanager
def real_time() -> Iterator[None]:
    """Within, all threads of this process have real-time priority. Raises PermissionError."""
    _set(os.SCHED_FIFO, 1)
    try:
        yield
    finally:
        _set(os.SCHED_OTHER, 0)


def _set(policy: int, priority: int) -> None:
    """The policy and the priority of all threads of this process."""
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # it has ended
            os.sched_setscheduler(int(thread), policy, os.sched_param(priority))


class Companion:
    """Another process that calls `run` again and again while `running`: two processes at once."""

    def __init__(self, run: Callable[[], object], *, is_real_time: bool) -> None:
        """``run`` is called in a child of a fork: what it writes is the child's own."""
        self._word = mmap.mmap(-1, 2)
        self._child = os.fork()
        if self._child:
            return
        if is_real_time:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        while self._word[0] != END:
            if self._word[0] == RUN:
                run()
                self._word[1] = 1
            else:
                self._word[1] = 0
                time.sleep(0.0002)
        os._exit(0)

    def __enter__(self) -> Companion:
        return self

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within, the other process runs; it has begun, and has finished its last call after."""
        self._ask(RUN)
        try:
            yield
        finally:
            self._ask(IDLE)

    def _ask(self, word: int) -> None:
        """Ask for `word`, and wait until it is so, at most a second."""
        self._word[0] = word
        end = time.monotonic() + 1
        while self._word[1] != (word == RUN) and time.monotonic() < end:
            time.sleep(0.0002)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._word[0] = END
        os.waitpid(self._child, 0)
