"""Parallel regions in C for tests and benchmarks of the thread pool alone (`pool_harness.c`)."""
from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record
from targets.abi.pool_control import pool_address, take_context
from targets.abi.thread_pool import pool_source, wait_until_ready
from targets.build.build_kernel import build_object
from targets.c.headers import read_header

__all__ = [
    "KINDS", "Result", "connect_harness", "harness_program", "openmp_times", "pool_of_its_own",
    "run_region", "times",
]

KINDS = (
    "sum", "flags", "control", "uneven", "nested", "stop", "stack", "sleep", "poll", "saturate",
    "delayed",
)

_TEXT = Path(__file__).with_name("pool_harness.c")
_POINTER = ctypes.c_void_p


@record(frozen=True, slots=True)
class Result:
    """What a region did."""

    status: int
    flags: int  # as the status has them: divide 1, over 2, under 4, invalid 8
    y: Any
    sums: Any  # of each block of `grain` elements
    threads: Any  # the threads that ran them; 0: none


@cache
def _harness(*flags: str) -> Any:
    """The harness, not connected to the pool. ``flags``: further ones for the C compiler."""
    headers = [read_header(name) for name in ("abi.h", "parallel.h")]
    text = "".join(["#define _GNU_SOURCE\n#include <time.h>\n", *headers, _TEXT.read_text()])
    library = ctypes.CDLL(build_object(text, ("-pthread", *flags)))
    library.tp_harness.argtypes = [_POINTER, ctypes.c_double, *[_POINTER] * 4]
    library.tp_harness.restype = ctypes.c_int64
    library.tp_harness_time.argtypes = [*[ctypes.c_int64] * 3, *[_POINTER] * 2]
    library.tp_harness_time.restype = None
    return library


def connect_harness(*, to_pool: bool) -> Any:
    """The harness, connected to the pool or not."""
    assert wait_until_ready()
    library = _harness()
    _POINTER.in_dll(library, "tp_run_region").value = pool_address() if to_pool else None
    return library


def harness_program() -> str:
    """The C text of a program that runs all kinds of regions from three threads."""
    return f"{pool_source()}{_TEXT.read_text()}"


def run_region(
    kind: str, length: int, grain: int = 1, *, units: float | None = None, stops_at: int = 0,
    most: int = 0, place: int = 0, is_connected: bool = True,
) -> Result:
    """Runs a region of that kind; `units` is its work, else so many as elements."""
    library = connect_harness(to_pool=is_connected)
    take_context()
    uneven = kind == "uneven"
    words = [KINDS.index(kind), length, grain, stops_at, uneven, most, place]
    given = np.array(words, np.int64)
    blocks = (length + grain - 1) // grain
    x, y = np.arange(length, dtype=float), np.zeros(length)
    sums, threads = np.zeros(blocks), np.zeros(blocks, np.int64)
    pointers = [a.ctypes.data for a in (x, y, sums, threads)]
    work = float(length if units is None else units)
    status = library.tp_harness(given.ctypes.data, work, *pointers)
    return Result(status & 0xFFFFFFFF, status >> 32, y, sums, threads)


def times(length: int, calls: int, idle: int, *, is_connected: bool) -> Any:
    """The nanoseconds of each of `calls` calls of a region of `length` elements, `idle`
    microseconds apart.
    """
    library = connect_harness(to_pool=is_connected)
    y, out = np.zeros(length), np.zeros(calls)
    library.tp_harness_time(length, calls, idle, y.ctypes.data, out.ctypes.data)
    return out


def openmp_times(length: int, calls: int, idle: int, threads: int) -> Any:
    """As `times`, of the same loop in `threads` chunks by the C compiler's OpenMP.

    Raises BuildError without it.
    """
    run = _harness("-fopenmp").tp_harness_time_openmp
    run.argtypes, run.restype = [*[ctypes.c_int64] * 3, *[_POINTER] * 2, ctypes.c_int64], None
    y, out = np.zeros(length), np.zeros(calls)
    run(length, calls, idle, y.ctypes.data, out.ctypes.data, threads)
    return out


def pool_of_its_own(*defined: str) -> Any:
    """A function that runs a region of the harness by a pool with those macros, and the pool."""
    library = ctypes.CDLL(build_object(harness_program(), ("-pthread", *defined)))
    run = ctypes.cast(library.tp_pool_run, ctypes.c_void_p).value
    ctypes.c_void_p.in_dll(library, "tp_run_region").value = run
    library.tp_harness.argtypes = [ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 4]
    library.tp_harness.restype = ctypes.c_int64

    def region(
        kind: str, length: int, grain: int = 1, is_uneven: bool = False
    ) -> tuple[Any, Any, Any]:
        given = np.array([KINDS.index(kind), length, grain, 0, is_uneven, 0, 0], np.int64)
        x, y, sums = (np.arange(float(length)) for _ in range(3))
        threads = np.zeros(length, np.int64)
        pointers = [a.ctypes.data for a in (x, y, sums, threads)]
        assert library.tp_harness(given.ctypes.data, float(length), *pointers) == 0
        return x, y, threads

    return region, library
