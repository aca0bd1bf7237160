"""What reports say of threads: from how many elements on, why only one, why there are none."""
from __future__ import annotations

import ctypes
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import TESTS

from targets.abi import pool_control
from targets.abi.pool_control import PoolCounts
from targets.build import cpu_limit
from targets.build.cpu_limit import CpuLimit
from targets.region_costs import FIRST_RATE, PAYS_ASLEEP
from transpile import fuse
from transpile.report import thread_remarks


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 8 CPUs."""
    found = CpuLimit(cpus=8, affinity=8, quota=None, env=None)
    monkeypatch.setattr(cpu_limit, "cpu_limit", lambda **_: found)
    monkeypatch.setattr(pool_control, "cpu_limit", lambda **_: found)


def a_map(x, out):
    for i in range(len(x)):
        out[i] = np.exp(x[i]) * 2.0


def whole_arrays(x, out):
    return np.sin(x) + x


def a_sum(x, out):
    total = 0.0
    for v in x:
        total += v * v
    return total


def rows(m, out):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            m[i, j] = m[i, j] * 2.0


def product_of_matrices(m, out):
    for i in range(m.shape[0]):
        for j in range(m.shape[0]):
            total = 0.0
            for k in range(m.shape[1]):
                total += m[i, k] * m[j, k]
            out[i] += total


def escape(x, out):
    for i in range(len(x)):
        v, n = x[i], 0
        while v < 1e6 and n < 500:
            v = v * v + 0.5
            n += 1
        out[i] = n


def histogram(k, out):
    for i in range(len(k)):
        out[k[i]] += 1.0


def recurrence(x, out):
    for i in range(1, len(x)):
        out[i] = out[i - 1] * 0.5 + x[i]


def positive(x, out):
    return [v for v in x if v > 0.0]


def first_negative(x, out):
    for i in range(len(x)):
        if x[i] < 0.0:
            return i
    return -1


def roots(x, out):
    for i in range(len(x)):
        out[i] = math.sqrt(x[i])


def overlapping(x, out):
    for i in range(len(x) - 1):
        x[i] = x[i + 1] * 0.5


def place_of_least(x, out):
    return np.argmin(x)


PROGRAMS = [
    a_map, whole_arrays, a_sum, rows, product_of_matrices, escape, histogram, recurrence, positive,
    first_negative, roots, overlapping, place_of_least,
]
FIRST: dict[str, Callable[[], Any]] = {
    "x": lambda: np.ones(9), "m": lambda: np.ones((9, 9)), "k": lambda: np.arange(9),
}


def report_of(f: Callable[..., Any], **options: Any) -> Any:
    first = next(iter(inspect.signature(f).parameters))
    return fuse(f, on_reject="silent", **options).report(FIRST[first](), np.ones(9), verbose=True)


def test_reports_of_programs(golden: Callable[[Path, str], None]) -> None:
    """The source of each, and what the report says of its loops."""
    text = ""
    for f in PROGRAMS:
        first_line = inspect.getsourcelines(f)[1]
        text += inspect.getsource(f) + "\n"
        for loop in report_of(f, target="avx2").loops:
            said = loop.one_thread and f"one thread: {loop.one_thread}"
            if loop.threads_from:
                said = f"up to {loop.most_threads} threads from {loop.threads_from:,} elements"
            text += f"    # line {loop.line - first_line + 1}: {said}\n"
        text += "\n"
    golden(TESTS / "golden" / "report" / "threads.txt", text)


def test_the_text_has_both() -> None:
    assert "; up to 8 threads from " in str(report_of(a_map))
    assert "; up to 3 threads from " in str(report_of(a_map, threads=3))
    assert " threads" not in str(report_of(a_map, threads=1))
    assert "one thread: each iteration needs `out` of the one" in str(report_of(recurrence))


def test_the_elements_are_those_of_the_kernels_estimate() -> None:
    """For so many elements, the kernel tells the pool as much work as pays for a thread."""
    [loop] = report_of(a_map).loops
    f, told = fuse(a_map), list[float]()
    x = np.ones(loop.threads_from)
    f(x, x.copy())
    units = 7  # the word of a tp_region: loop, arrays, scalars, captured, first, last, grain, units

    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_double))
    def run(region: Any) -> int:
        told.append(region[units])
        return 0

    [spec] = f._specializations.values()
    library = spec.variants[0].entry.library
    pool = ctypes.c_void_p.from_address(library.address("tp_run_region"))
    before, pool.value = pool.value, ctypes.cast(run, ctypes.c_void_p).value
    try:
        f(x, x.copy())
    finally:
        pool.value = before
    assert told == [pytest.approx(PAYS_ASLEEP / FIRST_RATE, rel=0.1)]


def test_no_thread_could_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def counts(workers: int, failed: int) -> None:
        found = PoolCounts(workers, 0, 5, 0, 0, workers, failed)
        monkeypatch.setattr(thread_remarks, "pool_counts", lambda: found)

    said = "   threads: one, since no other could be started"
    counts(0, 1)
    assert said in str(report_of(a_map))
    assert said not in str(report_of(recurrence))
    assert said not in str(report_of(a_map, threads=1))
    counts(3, 1)
    assert said not in str(report_of(a_map))
    monkeypatch.setattr(thread_remarks, "why_no_pool", lambda: "gcc: no such program")
    assert "could not be built: gcc: no such program" in str(report_of(a_map))
