"""Thread pool of the process: `thread_pool.c`, built in the background, and connected to kernels.

A kernel with regions (``parallel.h``) has a variable ``tp_run_region``. As long as it is NULL, or
if there is no C compiler, the kernel runs its regions itself, in one thread. `pool_control` has
what can be asked of the pool, and told to it, once it is open.
"""
from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from loopir.process.signal_exceptions import failures

from ..build.background_build import BackgroundBuild
from ..build.build_errors import BuildError, NoCompiler
from ..build.shared_library import SharedLibrary, open_library
from ..region_costs import COUNTING_FIRST, PAYS_ASLEEP, PAYS_AWAKE
from .pool_control import (
    FUNCTIONS,
    apply_limit,
    connect_kernel,
    forced_threads,
    limit_by_context,
    open_pool,
    opened,
    pool_counts,
    register_controller,
)

__all__ = [
    "connect", "forced", "limit_by_context", "pool_counts", "pool_object", "pool_source",
    "wait_until_ready", "why_no_pool",
]

FLAGS = ("-lapi-ms-win-core-synch-l1-2-0",) if sys.platform == "win32" else ("-pthread",)
"""Flags of the C compiler: the library of WaitOnAddress on Windows, else of POSIX threads."""

_waiting: list[tuple[weakref.ref[SharedLibrary], int, int]] = []
"""Kernels that are to be connected once there is a pool, with the arguments of `connect`."""

_reasons: list[str] = []
"""Why there is no pool."""

def pool_source() -> str:
    """The C text of the pool."""
    from ..c.headers import read_header

    costs = f"#define PAYS_AWAKE {PAYS_AWAKE}\n#define PAYS_ASLEEP {PAYS_ASLEEP}\n"
    costs += f"#define COUNTING_FIRST {COUNTING_FIRST}\n"
    headers = (read_header(name) for name in ("abi.h", "parallel.h"))
    texts = ["#define _GNU_SOURCE\n", costs, *headers]
    for name in ("pool_system.c", "thread_pool.c"):
        with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
            texts.append(file.read())
    return "".join(texts)


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
    if not opened:
        _open_if_built(pool_path)
    if opened:
        _connect_waiting()
    else:
        _building.start()


def _connect_waiting() -> None:
    """Connect all kernels that wait for the pool."""
    while _waiting:
        try:
            reference, bind_pool, bind_context = _waiting.pop()
        except failures(IndexError):  # the other thread has taken it
            return
        if (library := reference()) is not None:
            connect_kernel(library.address("tp_run_region"), bind_pool, bind_context)


def _open_if_built(known: str | None = None) -> None:
    """Open the pool, if its object is in the cache, and no thread builds it at the moment. `known`:
    the path of the object, if the caller has it.
    """
    if _building.is_running():
        return
    try:
        path = known or _found_in_cache()
        if path and not opened:
            _open(path)
    except failures(BuildError, NoCompiler, OSError):
        return  # the thread tries again, and notes why it fails


def _found_in_cache() -> str | None:
    """The path of the pool's object, if it is in the cache. Raises NoCompiler and BuildError."""
    from ..build.build_kernel import find_object

    return find_object(pool_source(), FLAGS)


def _open(path: str) -> None:
    """Open the pool, the shared object at `path`. Called once: by the first kernel with parallel
    loops, if an earlier process has built the pool, else by the thread that builds it.
    """
    library = open_library(path, permanent=True)
    open_pool({name: library.address(f"tp_pool_{name}") for name in FUNCTIONS})


def _build() -> None:
    """Build and open the pool, and connect the kernels that wait for it."""
    from ..build.build_kernel import build_object

    try:
        path = build_object(pool_source(), FLAGS)
        if not opened:
            _open(path)
    except (BuildError, NoCompiler) as error:
        _reasons[:] = [str(error).partition("\n")[0]]
        if isinstance(error, NoCompiler) or not error.is_fault:
            opened.append(None)
        return
    _connect_waiting()


_building = BackgroundBuild(_build)


def wait_until_ready() -> bool:
    """Wait until the pool has been built and connected, at most two minutes; whether it is."""
    _open_if_built()
    if not opened:
        _building.start()
        _building.wait(120.0)
    return bool(opened) and opened[0] is not None


def why_no_pool() -> str:
    """Why regions run in one thread, in words; empty if there is a pool, or may soon be one."""
    return "" if not _reasons or (opened and opened[0]) else _reasons[0]


@contextmanager
def forced(threads: int) -> Iterator[None]:
    """Within, every region that calls the pool is run by so many threads, for tests: also where
    that does not pay, and with more threads than CPUs. Raises RuntimeError without a pool.
    """
    if not wait_until_ready():
        raise RuntimeError(f"no thread pool: {why_no_pool()}")
    forced_threads.append(threads)
    apply_limit()
    try:
        yield
    finally:
        forced_threads.pop()
        apply_limit()
