"""Thread limits: how many threads a call may use, in the process and in a `contextvars` context."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from operator import index
from typing import Any, SupportsIndex, overload

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import failures

__all__ = ["Threads", "threads", "whole_number"]

_bound: ContextVar[int] = ContextVar("transpile.threads")
"""The bound of ``with transpile.threads(n)``, where there is one."""

_NOT_GIVEN: Any = object()
"""The default of `threads`: None is no number of threads."""


@record(frozen=True, slots=True, kw_only=True)
class Threads:
    """What limits the threads of a call, as it is now."""

    limit: int
    """The most threads that a call may use in this context, apart from its own ``threads=``."""
    cpus: int
    """Of the machine."""
    affinity: int
    """CPUs on which this process may run."""
    quota: float | None
    """CPUs of which the control group (a container) may use the time; None: no quota."""
    env: int | None
    """The number in ``TRANSPILE_THREADS``, else in ``OMP_NUM_THREADS``; None: neither is set."""


@overload
def threads() -> Threads: ...
@overload
def threads(most: int) -> AbstractContextManager[Threads]: ...


def threads(most: int = _NOT_GIVEN) -> Threads | AbstractContextManager[Threads]:
    """How many threads a call may use; with a number, a context in which it is at most that.

        transpile.threads().limit              8, on a machine with 8 CPUs
        with transpile.threads(2): f(x)        the parallel loops of f use at most 2 threads

    The bound holds for this Python thread and what runs in its context: `asyncio` tasks and
    ``asyncio.to_thread`` too, but not the threads of an executor. An inner bound cannot exceed an
    outer one. Raises TypeError or ValueError for anything but a whole number from 1.
    """
    if most is _NOT_GIVEN:
        return _current()
    number = whole_number(most)
    if number is None:
        raise TypeError(f"transpile.threads({most!r}): must be a whole number, at least 1")
    if number < 1:
        raise ValueError(f"transpile.threads({most!r}): must be a whole number, at least 1")
    return _bounded(number)


def whole_number(value: object) -> int | None:
    """`value` as an int, if it is an integer, also one of NumPy; None for a bool or anything else.
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return index(value)
    except failures(TypeError):  # an array, or a bool of NumPy
        return None


@contextmanager
def _bounded(most: int) -> Iterator[Threads]:
    """The context of `threads`; gives what then limits a call."""
    from targets.abi.pool_control import limit_by_context

    token = _bound.set(min(most, _bound.get(most)))
    limit_by_context(_bound)
    try:
        yield _current(reads_quota=False)
    finally:
        _bound.reset(token)


def _current(*, reads_quota: bool = True) -> Threads:
    """The limits as they are now, which are also passed to the thread pool. ``reads_quota``: as for
    `cpu_limit`.
    """
    from targets.abi.pool_control import apply_limit, register_controller, thread_limit
    from targets.build.cpu_limit import cpu_limit

    register_controller()
    found = cpu_limit(reads_quota=reads_quota)
    apply_limit(found)
    limit = thread_limit(found)
    return Threads(
        limit=min(limit, _bound.get(limit)),
        cpus=found.cpus, affinity=found.affinity, quota=found.quota, env=found.env,
    )
