"""Thread pool of the process: `thread_pool.c`, built in the background, and connected to kernels.

A kernel with regions (``parallel.h``) has a variable ``tp_run_region``. As long as it is NULL, or
if there is no C compiler, the kernel runs its regions itself, in one thread.
"""
from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record

from ..build.background_build import BackgroundBuild
from ..build.build_errors import BuildError, NoCompiler, failures
from ..build.cpu_limit import QUOTA_HOLDS, CpuLimit, cpu_limit
from ..build.shared_library import SharedLibrary, open_library
from ..region_costs import COUNTING_FIRST, PAYS_ASLEEP, PAYS_AWAKE

__all__ = [
    "PoolCounts", "RegionRuns", "apply_limit", "connect", "forced", "limit_by_context",
    "pool_address", "pool_counts", "pool_object", "pool_source", "region_runs",
    "register_controller", "set_outer_limit", "take_context", "thread_limit", "wait_until_ready",
    "why_no_pool",
]

FLAGS = ("-pthread",)

JOINED_FOR = 20
"""Milliseconds for which a fork waits for workers that are within a region of another thread."""

ENDED_FOR = 2000
"""Milliseconds for which the end of the interpreter waits for them."""


@record(frozen=True, slots=True)
class _Pool:
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


_opened: list[_Pool | None] = []
"""The pool, after the attempt to open it; None: unavailable."""

_waiting: list[tuple[weakref.ref[SharedLibrary], int, int]] = []
"""Kernels that are to be connected once there is a pool, with the arguments of `connect`."""

_reasons: list[str] = []
"""Why there is no pool."""

_call_paths: set[int] = set()
"""Addresses of ``tp_bind_context`` of the call paths that have kernels with regions."""

_contexts: list[ContextVar[int]] = []
"""The context variable of `limit_by_context`, once it is used."""

_outer: list[int] = []
"""The limit that another library has set for this process, if any."""

_forced: list[int] = []
"""The numbers of threads of `forced`, the innermost last."""


_traced: list[bool] = []
"""[True] from the first call of `region_runs` on: the pool notes the runs of regions."""

_configured = [0.0]
"""The time at which the pool was last told the limit on threads (`_configure`)."""


def pool_source() -> str:
    """The C text of the pool."""
    from ..c.headers import read_header

    costs = f"#define PAYS_AWAKE {PAYS_AWAKE}\n#define PAYS_ASLEEP {PAYS_ASLEEP}\n"
    costs += f"#define COUNTING_FIRST {COUNTING_FIRST}\n"
    headers = (read_header(name) for name in ("abi.h", "parallel.h"))
    with open(os.path.join(os.path.dirname(__file__), "thread_pool.c"), encoding="utf-8") as file:
        return "".join(("#define _GNU_SOURCE\n", costs, *headers, file.read()))


def pool_object(library: SharedLibrary) -> str | None:
    """The name in the cache of the pool's object, for a later process that calls the kernel in
    `library` (`connect`): with it, nothing of the compiler has to be imported to find the pool.
    None if the kernel has no parallel loops, or there is no compiler.
    """
    from ..build.build_kernel import object_name

    try:
        library.address("tp_run_region")
        return object_name(pool_source(), FLAGS)
    except (BuildError, NoCompiler):
        return None


def connect(
    library: SharedLibrary, bind_pool: int, bind_context: int = 0, pool_path: str | None = None
) -> None:
    """Let the parallel loops of the kernel in `library` be run by the pool: store the address of
    ``tp_pool_run`` in its variable ``tp_run_region``. Until that is done, the kernel runs its loops
    in the caller's thread alone.

    Done now if the pool is open, or its object is in the cache; else when a background thread has
    built it. A kernel without parallel loops has no such variable, and nothing is done. Called when
    a kernel is loaded (`signal_checks`). `bind_pool`: the address of the function of `signals.c` by
    which the kernel's polls learn of the pool; `bind_context`: that of `entry.c`, which passes the
    bound of `transpile.threads`; 0 on the portable path. ``pool_path``: the path of the pool's
    object, if it was stored with the kernel (`pool_object`).
    """
    try:
        library.address("tp_run_region")
    except BuildError:
        return
    register_controller()
    _waiting.append((weakref.ref(library), bind_pool, bind_context))
    if not _opened:
        _open_if_built(pool_path)
    if _opened:
        if time.monotonic() > _configured[0] + QUOTA_HOLDS:  # a kernel that is loaded later
            apply_limit()
        _connect_waiting()
    else:
        _building.start()


def _connect_waiting() -> None:
    """Connect all kernels that wait for the pool."""
    import ctypes

    if (pool := _opened[0]) is None:
        _waiting.clear()
        return
    while _waiting:
        try:
            reference, bind_pool, bind_context = _waiting.pop()
        except IndexError:  # the other thread has taken it
            return
        if (library := reference()) is None:
            continue
        if bind_pool:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind_pool)(pool.state)
        if bind_context:
            _call_paths.add(bind_context)
            _bind_contexts()
        ctypes.c_void_p.from_address(library.address("tp_run_region")).value = pool.run


def _open_if_built(known: str | None = None) -> None:
    """Open the pool, if its object is in the cache, and no thread builds it at the moment. `known`:
    the path of the object, if the caller has it.
    """
    if _building.is_running():
        return
    try:
        path = known or _found_in_cache()
        if path and not _opened:
            _open(path)
    except failures(BuildError, NoCompiler, OSError):
        return  # the thread tries again, and notes why it fails


def _found_in_cache() -> str | None:
    """The path of the pool's object, if it is in the cache. Raises NoCompiler and BuildError."""
    from ..build.build_kernel import find_object

    return find_object(pool_source(), FLAGS)


def _build() -> None:
    """Build and open the pool, and connect the kernels that wait for it."""
    from ..build.build_kernel import build_object

    try:
        path = build_object(pool_source(), FLAGS)
        if not _opened:
            _open(path)
    except (BuildError, NoCompiler) as error:
        _reasons[:] = [str(error).partition("\n")[0]]
        if isinstance(error, NoCompiler) or not error.is_fault:
            _opened.append(None)
        return
    _connect_waiting()


_building = BackgroundBuild(_build)


def _open(path: str) -> None:
    """Open the pool, the shared object at `path`, for this process: bind its functions, tell it the
    bounds on threads, and register what ends its workers,

    - before a fork (``tp_pool_join``): the child has no workers, and a lock of the pool that a
      worker held would stay locked there. The parent starts workers again at the next parallel
      loop;
    - at the end of the interpreter (``tp_pool_shut``), for good.

    Called once: by the first kernel with parallel loops, if an earlier process has built the pool,
    else by the thread that builds it.
    """
    import ctypes

    library = open_library(path, permanent=True)
    names = (
        "run", "state", "take_context", "configure", "bind_context", "counts", "trace", "join",
        "shut",
    )
    address = {name: library.address(f"tp_pool_{name}") for name in names}
    number = ctypes.c_int64
    one_address = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    pool = _Pool(
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
    _opened.append(pool)
    _bind_contexts()


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
    if _opened and (pool := _opened[0]) is not None:
        _configure(pool, cpus or cpu_limit())


def _configure(pool: _Pool, cpus: CpuLimit) -> None:
    """Store the limit in `pool`."""
    _configured[0] = time.monotonic()
    if _forced:
        pool.configure(_forced[-1], cpus.affinity, 1, 1)
    else:
        pool.configure(thread_limit(cpus), cpus.affinity, not cpus.is_throttled, 0)


@contextmanager
def forced(threads: int) -> Iterator[None]:
    """Within, every region that calls the pool is run by so many threads, for tests: also where
    that does not pay, and with more threads than CPUs. Raises RuntimeError without a pool.
    """
    if not wait_until_ready():
        raise RuntimeError(f"no thread pool: {why_no_pool()}")
    _forced.append(threads)
    apply_limit()
    try:
        yield
    finally:
        _forced.pop()
        apply_limit()


def wait_until_ready() -> bool:
    """Wait until the pool has been built and connected, at most two minutes; whether it is."""
    _open_if_built()
    if not _opened:
        _building.start()
        _building.wait(120.0)
    return bool(_opened) and _opened[0] is not None


def pool_address() -> int:
    """The address of ``tp_pool_run``, for the variable ``tp_run_region`` of a kernel; 0 without a
    pool.
    """
    return pool.run if _opened and (pool := _opened[0]) is not None else 0


def why_no_pool() -> str:
    """Why regions run in one thread, in words; empty if there is a pool, or may soon be one."""
    return "" if not _reasons or (_opened and _opened[0]) else _reasons[0]


def pool_counts() -> PoolCounts | None:
    """What the pool has done; None without a pool."""
    if not _opened or (pool := _opened[0]) is None:
        return None
    words = np.zeros(7, np.int64)
    pool.counts(words.ctypes.data)
    return PoolCounts(*words.tolist())


def region_runs(rate: int = 0) -> RegionRuns | None:
    """Let the pool note the runs of regions, and give those so far of the region whose variable
    ``tp_rate_…`` has the address `rate`; None if there are none.
    """
    _traced[:] = [True]
    if not _opened or (pool := _opened[0]) is None:
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
    if not _contexts:
        _contexts.append(variable)
        _bind_contexts()


def take_context() -> None:
    """Tell the pool the limit of this thread's context, for a call on the portable path."""
    if _contexts and _opened and (pool := _opened[0]) is not None:
        pool.take_context()


def _bind_contexts() -> None:
    """Let all call paths read the context variable, once it is used and there is a pool."""
    if not _contexts or not _opened or (pool := _opened[0]) is None:
        return
    import ctypes

    names = "PyContextVar_Get", "PyLong_AsLongLongAndOverflow", "Py_DecRef"
    functions = [ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value for n in names]
    words = np.array([id(_contexts[0]), *functions], np.uintp)
    pool.bind_context(words.ctypes.data)
    for bind in list(_call_paths):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind)(pool.take)
