"""Control of an open thread pool (`thread_pool.c`): its limits on threads, and what it has done.

`open_pool` binds the functions of the C code, wherever they are: `thread_pool` builds an object of
them, and a package that was built ahead of time has them in its own (`transpile.ahead`).
"""
from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record

from ..build.cpu_limit import QUOTA_HOLDS, CpuLimit, cpu_limit

__all__ = [
    "FUNCTIONS", "Pool", "PoolCounts", "RegionRuns", "apply_limit", "connect_kernel", "contexts",
    "forced_threads", "limit_by_context", "open_pool", "opened", "pool_address", "pool_counts",
    "region_runs", "register_controller", "set_outer_limit", "take_context", "thread_limit",
]

FUNCTIONS = (
    "run", "state", "take_context", "configure", "bind_context", "counts", "trace", "join", "shut",
)
"""The names, without ``tp_pool_``, of what `open_pool` needs the addresses of."""

JOINED_FOR = 20
"""Milliseconds for which a fork waits for workers that are within a region of another thread."""

ENDED_FOR = 2000
"""Milliseconds for which the end of the interpreter waits for them."""


@record(frozen=True, slots=True)
class Pool:
    """The opened shared object: addresses and functions of `thread_pool.c`, by their names without
    ``tp_pool_``.
    """

    run: int  # the address of the function for ``tp_run_region`` of kernels
    state: int  # the address of ``tp_pool_state``, which polls ask (``signals.c``)
    take: int  # the address of ``tp_pool_take_context``, for call paths in C
    take_context: Callable[[], None]  # the same function, callable: for the portable path
    configure: Callable[[int, int, int, int], None]
    bind_context: Callable[[int], None]  # takes the address of what ``take_context`` needs
    counts: Callable[[int], None]  # takes the address of the words of a `PoolCounts`
    trace: Callable[[int, int], int]  # takes a rate's address, and that of words of `RegionRuns`


@record(frozen=True, slots=True)
class PoolCounts:
    """What the pool has done so far."""

    workers: int  # alive
    asleep: int  # of those
    parallel: int  # regions
    serial: int  # regions for which threads would not have paid, as far as they were timed
    refused: int  # regions that found the pool in use, and ran in the caller alone
    started: int  # workers
    failed: int  # attempts to start one


@record(frozen=True, slots=True)
class RegionRuns:
    """The runs of a region that the pool has timed: those with the least work are not."""

    parallel: int  # by several threads
    alone: int  # by one thread
    threads: int  # of the last run: those that ran chunks
    chunks: int
    expected: float  # nanoseconds without threads, by the estimate
    taken: float  # nanoseconds


opened: list[Pool | None] = []
"""The pool, after the attempt to open it; None: unavailable."""

_call_paths: set[int] = set()
"""Addresses of ``tp_bind_context`` of the call paths that have kernels with regions."""

contexts: list[ContextVar[int]] = []
"""The context variable of `limit_by_context`, once it is used."""

_outer: list[int] = []
"""The limit that another library has set for this process, if any."""

forced_threads: list[int] = []
"""The numbers of threads of `forced`, the innermost last."""


_traced: list[bool] = []
"""[True] from the first call of `region_runs` on: the pool notes the runs of regions."""

_configured = [0.0]
"""The time at which the pool was last told the limit on threads (`_configure`)."""


def open_pool(address: Mapping[str, int]) -> None:
    """Open the pool whose functions (`FUNCTIONS`) have these addresses: bind them, tell it
    the bounds on threads, and register what ends its workers,

    - before a fork (``tp_pool_join``): the child has no workers, and a lock of the pool that a
      worker held would stay locked there. The parent starts workers again at the next parallel
      loop;
    - at the end of the interpreter (``tp_pool_shut``), for good.

    Called once a process.
    """
    import ctypes

    number = ctypes.c_int64
    one_address = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    pool = Pool(
        address["run"], address["state"], address["take_context"],
        take_context=ctypes.PYFUNCTYPE(None)(address["take_context"]),
        configure=ctypes.CFUNCTYPE(None, number, number, number, number)(address["configure"]),
        bind_context=one_address(address["bind_context"]),
        counts=one_address(address["counts"]),
        trace=ctypes.PYFUNCTYPE(number, ctypes.c_void_p, ctypes.c_void_p)(address["trace"]),
    )
    _configure(pool, cpu_limit())
    if _traced:
        pool.trace(0, 0)
    # PYFUNCTYPE keeps the GIL: no other Python thread may start a region meanwhile
    join = ctypes.PYFUNCTYPE(number, number)(address["join"])
    shut = ctypes.CFUNCTYPE(number, number)(address["shut"])
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: join(JOINED_FOR))
    atexit.register(shut, ENDED_FOR)
    opened.append(pool)
    _bind_contexts()


def connect_kernel(run_region: int, bind_pool: int, bind_context: int) -> None:
    """Let the parallel loops of a kernel be run by the pool, if one is open: store the address of
    ``tp_pool_run`` in the kernel's variable ``tp_run_region``, whose address is `run_region`.

    `bind_pool`: the address of the function of `signals.c` by which the kernel's polls learn of the
    pool; `bind_context`: that of `entry.c`, which passes the bound of `transpile.threads`. Each may
    be 0: there is none.
    """
    import ctypes

    if not opened or (pool := opened[0]) is None:
        return
    if time.monotonic() > _configured[0] + QUOTA_HOLDS:  # a kernel that is loaded later
        apply_limit()
    if bind_pool:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind_pool)(pool.state)
    if bind_context:
        _call_paths.add(bind_context)
        _bind_contexts()
    ctypes.c_void_p.from_address(run_region).value = pool.run


def thread_limit(cpus: CpuLimit | None = None) -> int:
    """The most threads that a call may use now. Its function (``threads=``) and the context of its
    thread (`limit_by_context`) may allow fewer. ``cpus``: what limits this process, if the caller
    has just read it.
    """
    limit = (cpus or cpu_limit()).limit
    return min(limit, *_outer) if _outer else limit


def set_outer_limit(limit: int | None) -> None:
    """Let no call use more threads than `limit`, which another library sets (``threadpoolctl``, by
    `register_controller`); None: it sets none.
    """
    _outer[:] = [] if limit is None else [max(1, limit)]
    apply_limit()


_registered: list[type] = []
"""The class of the controller that ``threadpoolctl`` has of the pool, once it has one."""


def register_controller() -> None:
    """Let ``threadpoolctl`` see and limit the threads of calls, if that package is imported.

    It finds controllers by the file names of loaded libraries, when a limit is set. The pool is
    opened later than that, with the first kernel, so NumPy's core stands for it.
    """
    module = sys.modules.get("threadpoolctl")
    if module is None or _registered or not hasattr(module, "register"):
        return

    def hide_path(controller: Any) -> None:
        controller.filepath, controller.prefix = None, "transpile"

    members = {
        "user_api": "transpile",
        "internal_api": "transpile",
        "filename_prefixes": ("_multiarray_umath",),
        "get_version": lambda controller: None,
        "get_num_threads": lambda controller: thread_limit(),
        "set_num_threads": lambda controller, number: set_outer_limit(number),
        "set_additional_attributes": hide_path,
    }
    _registered.append(type("TranspileController", (module.LibController,), members))
    module.register(_registered[0])


def apply_limit(cpus: CpuLimit | None = None) -> None:
    """Tell the pool the limit of this process as it is now; ``cpus``: as for `thread_limit`."""
    if opened and (pool := opened[0]) is not None:
        _configure(pool, cpus or cpu_limit())


def _configure(pool: Pool, cpus: CpuLimit) -> None:
    """Store the limit in `pool`."""
    _configured[0] = time.monotonic()
    if forced_threads:
        pool.configure(forced_threads[-1], cpus.affinity, 1, 1)
    else:
        pool.configure(thread_limit(cpus), cpus.affinity, not cpus.is_throttled, 0)


def pool_address() -> int:
    """The address of ``tp_pool_run``, for the variable ``tp_run_region`` of a kernel; 0 without a
    pool.
    """
    return pool.run if opened and (pool := opened[0]) is not None else 0


def pool_counts() -> PoolCounts | None:
    """What the pool has done; None without a pool."""
    if not opened or (pool := opened[0]) is None:
        return None
    words = np.zeros(7, np.int64)
    pool.counts(words.ctypes.data)
    return PoolCounts(*words.tolist())


def region_runs(rate: int = 0) -> RegionRuns | None:
    """Let the pool note the runs of regions, and give those so far of the region whose variable
    ``tp_rate_…`` has the address `rate`; None if there are none.
    """
    _traced[:] = [True]
    if not opened or (pool := opened[0]) is None:
        return None
    words = np.zeros(6)
    if not pool.trace(rate, words.ctypes.data):
        return None
    parallel, alone, threads, chunks = map(int, words[:4])
    return RegionRuns(parallel, alone, threads, chunks, float(words[4]), float(words[5]))


def limit_by_context(variable: ContextVar[int]) -> None:
    """From now on, each call of a kernel may use at most as many threads as the context variable
    `variable` says in the context of its Python thread. Until this is called first, calls of
    kernels read no context variable, which would take time.
    """
    if not contexts:
        contexts.append(variable)
        _bind_contexts()


def take_context() -> None:
    """Tell the pool the limit of this thread's context, for a call on the portable path."""
    if contexts and opened and (pool := opened[0]) is not None:
        pool.take_context()


def _bind_contexts() -> None:
    """Let all call paths read the context variable, once it is used and there is a pool."""
    if not contexts or not opened or (pool := opened[0]) is None:
        return
    import ctypes

    names = "PyContextVar_Get", "PyLong_AsLongLongAndOverflow", "Py_DecRef"
    functions = [ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value for n in names]
    words = np.array([id(contexts[0]), *functions], np.uintp)
    pool.bind_context(words.ctypes.data)
    for bind in list(_call_paths):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind)(pool.take)
