"""Loops that append, by one thread and by several: the same elements in the same order."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from example_counts import hurried_flags, with_flags

from targets.abi import thread_pool
from targets.c import c_regions
from targets.c.parallel import region_appends
from transpile import fuse

THREADS = (1, 2, 3, 7, 64)
SIZES = (0, 1, 64, 65, 128, 129, 193, 513, 4099)
"""Around the ends of blocks and chunks, for blocks of 64 iterations."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool runs what would be too little work, too, in blocks that are as small as can be."""
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", *hurried_flags()))
    monkeypatch.setattr(region_appends, "_BLOCK", 64)
    monkeypatch.setattr(c_regions, "BLOCKS_OF_CHUNK", 2)


def appended(x, t):
    out = []
    for v in x:
        if v > t:
            out.append(v)  # noqa: PERF401
    return out


def compressed(x, t):
    return x[x > t]


def nonzero(x, t):
    return np.nonzero(x)[0]


def comprehension(x, t):
    return [i for i in range(len(x)) if x[i] > t]


def computed(x, t):
    return [v * v + v for v in x if v > t and v != 2 * t]


def both_sides(x, t):
    out = []
    for i in range(len(x)):
        if x[i] > t:
            out.append(i)
        else:
            out.append(-i)
    return out


def all_of_them(x, t):
    return [v + v for v in x]


def divided(x, t):
    return [1.0 / v for v in x if v >= t]


def two_lists(x, t):
    a, b = [], []
    for v in x:
        if v > t:
            a.append(v)
        else:
            b.append(v)
    return a, b


def lengths(x, t):
    out = []
    for v in x:
        if v > t:
            out.append(float(len(out)))
    return out


def into_argument(x, t, out):
    k = 0
    for v in x:
        if v > t:
            out[k] = v
            k += 1
    return k


FUNCTIONS = [
    appended, compressed, nonzero, comprehension, computed, both_sides, all_of_them, divided,
]
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "uint8", "bool")


def arrays(n: int, dtype: str) -> list[np.ndarray]:
    """With some elements above a threshold of 0 or 1: half of them, all, none, the last alone."""
    rng = np.random.default_rng(n)
    mixed = rng.integers(0, 5, n).astype(dtype)
    none = np.zeros(n, dtype)
    last = none.copy()
    last[-1:] = 1
    found = [mixed, np.ones(n, dtype), none, last]
    if dtype[0] == "f":
        odd = mixed.copy()
        odd[::3], odd[1::7], odd[2::7] = np.nan, np.inf, -0.0
        found.append(odd)
    if dtype == "int64":
        huge = mixed.copy()
        huge[n // 2 : n // 2 + 1] = 2**62
        found.append(huge)
    return found


def by_threads(f: Callable[..., Any], calls: list[tuple[Any, ...]]) -> int:
    """Asserts that `f` does the same for any number of threads. Gives how often several ran."""
    serial, parallel = (fuse(f, on_reject="silent", threads=t) for t in (1, "auto"))
    with thread_pool.forced(2):
        outcome(parallel, calls[-1])
    before = thread_pool.pool_counts()
    for args in calls:
        wanted = outcome(serial, args)
        assert_same(wanted, outcome(f, args), "one thread")
        for threads in THREADS:
            with thread_pool.forced(threads):
                assert_same(outcome(parallel, args), wanted, f"{threads} threads")
    after = thread_pool.pool_counts()
    assert parallel.stats.compiled
    return after.parallel - before.parallel if before and after else 0


@pytest.mark.share(16, rest=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_appends(f: Callable[..., Any], dtype: str) -> None:
    """Half of the elements, all, none, the last alone; ints that get too large; a division by 0."""
    calls = [(x, 0) for n in SIZES for x in arrays(n, dtype)]
    assert by_threads(f, calls) > 0


@pytest.mark.parametrize("f", [two_lists, lengths, into_argument])
def test_what_one_thread_appends(f: Callable[..., Any]) -> None:
    def args(x: np.ndarray) -> tuple[Any, ...]:
        return (x, 1.0, x + 1) if f is into_argument else (x, 1.0)

    calls = [args(x) for n in SIZES for x in arrays(n, "float64")]
    assert by_threads(f, calls) == 0
    report = str(fuse(f).report(*calls[-1], verbose=True))
    reason = {two_lists: "it appends to `a` and `b`", lengths: "",
              into_argument: "`k` is carried from iteration to iteration"}[f]
    assert f"one thread: {reason}" in report
