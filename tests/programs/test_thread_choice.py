"""How many threads a region gets: what the pool learns from earlier runs, on simulated CPUs."""
from __future__ import annotations

import ctypes
import time

import numpy as np
import pytest
from pool_harness import pool_of_its_own


def test_threads_that_do_not_help_are_left_out() -> None:
    """Eight CPUs, and work that two threads do as fast as eight: two, or four, are used in the
    end. Threads that sleep take no CPU, so that there may be more of them than there are CPUs.
    """
    region, library = pool_of_its_own("-DTP_SIMULATED")
    library.tp_pool_configure(8, 8, 0, 0)

    def threads(kind: str) -> int:
        return len(set(region(kind, 16)[2].tolist()))

    used = [threads("saturate") for _ in range(6)]
    assert max(used) > 4
    while not 2 <= max(used[-6:]) <= 4 and len(used) < 600:
        time.sleep(0.005 * (max(used[-6:]) < 2))  # a busy machine: it pauses, then tries again
        used.append(threads("saturate"))
    assert 2 <= max(used[-6:]) <= 4
    used = [threads("sleep") for _ in range(30)]
    while max(used) < 8 and len(used) < 600:
        time.sleep(0.005)
        used.append(threads("sleep"))
    assert max(used) == 8  # what gets faster keeps them all
    assert library.tp_pool_join(ctypes.c_int64(2000)) == 0


def test_threads_are_given_up_by_the_average_of_all_runs() -> None:
    """The first parallel run, which wakes the workers, counts as much as the others."""
    _, library = pool_of_its_own("-DTP_SIMULATED", "-DLEARNS")
    learn = library.tp_harness_learn
    learn.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_double]
    for times, is_given_up in [
        ([60.0, 60.0, 60.0], False), ([150.0, 60.0, 60.0], False), ([60.0, 60.0, 150.0], False),
        ([100.0, 100.0, 100.0], True), ([60.0, 110.0, 120.0], True), ([350.0], True),
        ([50.0] * 20 + [120.0] * 3, False), ([50.0] * 20 + [120.0] * 12, True),
    ]:
        given = np.array(times)
        assert (learn(given.ctypes.data, len(given), 100.0) > 0) == is_given_up, times


@pytest.mark.parametrize("is_uneven", [False, True])
def test_a_first_run_that_was_delayed_does_not_count_for_long(is_uneven: bool) -> None:
    """It waited for a CPU, or for memory: it looks as if threads paid, which they do not."""
    region, library = pool_of_its_own("-DTP_SIMULATED", f"-DTHIS_TEST={is_uneven:d}")
    library.tp_pool_configure(2, 2, 1, 0)
    for _ in range(100):
        region("delayed", 100, 10, is_uneven)
    counts = np.zeros(7, np.int64)
    library.tp_pool_counts(ctypes.c_void_p(counts.ctypes.data))
    parallel, serial = counts[2:4]
    assert 1 <= parallel <= 10
    assert serial >= 2  # those that are too small for threads are not counted
    assert library.tp_pool_join(ctypes.c_int64(2000)) == 0
