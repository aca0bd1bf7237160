"""Loops that append or scan, by one thread and by several: the same elements in the same order."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from example_counts import hurried_flags, with_flags

from targets.abi import thread_pool
from targets.c import c_regions
from targets.c.parallel import region_totals
from transpile import fuse

THREADS = (1, 2, 3, 7, 64)
SIZES = (0, 1, 64, 65, 128, 129, 193, 513, 4099)
"""Around the ends of blocks and chunks, for blocks of 64 iterations."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool runs what would be too little work, too, in blocks that are as small as can be."""
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", *hurried_flags()))
    monkeypatch.setattr(region_totals, "_BLOCK", 64)
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


def long_values(x, t):
    return [np.minimum(v - x[0], v - x[0] + 1) for v in x if v > t]


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


def three_lists(x, t):
    a, b, c = [], [], []
    for i in range(len(x)):
        if x[i] > t:
            a.append(x[i])
            b.append(i)
        if x[i] < 2:
            c.append(-i)
    return a, b, c, len(a) + len(c)


def cumulated(x, t):
    return np.cumsum(x)


def scanned(x, t):
    s, out = 0, np.zeros(len(x), np.int64)
    for i in range(len(x)):
        s += np.int64(x[i] == x[0])
        out[i] = s
    return out, s


def places(x, t):
    k, at, out = 3, np.full(len(x), -1), np.zeros(len(x))
    for i in range(len(x)):
        out[i] = k
        if x[i] > t:
            at[i] = k
            k += 1
    return at, out, k


def running_extrema(x, t):
    return np.minimum.accumulate(x), np.maximum.accumulate(x)


def of_rows(x, t):
    rows = x[: len(x) // 64 * 64].reshape(-1, 64)
    out, counts = np.zeros(rows.shape, np.int64), np.zeros(len(rows), np.int64)
    for i in range(len(rows)):
        for j in range(64):
            if rows[i, j] == x[0]:
                counts[i] += 1
            out[i, j] = counts[i]
    return np.cumsum(rows, axis=1), np.cumsum(rows, axis=0), out


def running_bits(x, t):
    return np.bitwise_xor.accumulate(x), np.bitwise_or.accumulate(x), np.multiply.accumulate(x)


APPENDS = [
    appended, compressed, nonzero, comprehension, computed, both_sides, all_of_them, divided,
    two_lists, three_lists, long_values,
]
SCANS = [cumulated, scanned, places, running_extrema, of_rows, running_bits]
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
@pytest.mark.parametrize("f", APPENDS)
def test_appends(f: Callable[..., Any], dtype: str) -> None:
    """Half of the elements, all, none, the last alone; ints that get too large; a division by 0."""
    if f is long_values and dtype == "bool":
        pytest.skip("NumPy does not subtract bools")
    calls = [(x, 0) for n in SIZES for x in arrays(n, dtype)]
    assert by_threads(f, calls) > 0


@pytest.mark.parametrize("target", ["scalar", "sse2", "avx2"])
def test_on_each_target(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_TARGET", target)
    for f in (long_values, three_lists, places):
        calls = [(x, 0) for n in (65, 513) for x in arrays(n, "float64")]
        assert by_threads(f, calls) > 0


@pytest.mark.share(8, rest=True)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8", "uint64", "bool"])
@pytest.mark.parametrize("f", SCANS)
def test_scans(f: Callable[..., Any], dtype: str) -> None:
    """Sums that wrap around, minima, maxima, products, bits: what one thread stores."""
    if f in (running_bits, running_extrema) and dtype == "bool":
        pytest.skip("NumPy's products of bools have another dtype; no scan of bools is vectorised")
    calls = [(x, 0) for n in SIZES for x in arrays(n, dtype)]
    assert by_threads(f, calls) > 0


@pytest.mark.parametrize("room", [0, 1, 40, 10_000])
def test_stores_at_a_counter_into_an_argument(room: int) -> None:
    """The array has room for all elements, for some, where Python may raise, or for none."""
    calls = [(x, 1.0, np.arange(room) + 0.5) for n in SIZES for x in arrays(n, "float64")]
    assert (by_threads(into_argument, calls) > 0) is (room == 10_000)


LAYOUTS: dict[str, Callable[[int], np.ndarray]] = {
    "every other": lambda n: np.arange(2.0 * n)[::2],
    "a column": lambda n: np.arange(3.0 * n).reshape(n, 3)[:, 1],
    "backwards": lambda n: np.arange(1.0 * n)[::-1],
    "every other, backwards": lambda n: np.arange(2.0 * n)[::-2],
    "a field": lambda n: np.zeros(n, [("a", "i4"), ("b", "f8")])["b"],
    "side by side": lambda n: np.arange(n + 3.0)[3:],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_stores_at_a_counter_into_views(layout: str) -> None:
    """The elements between those of the view, and beside it, stay as they are."""
    fused = fuse(into_argument)
    for n in (0, 3, 40, 129, 4099):
        for x in arrays(n, "float64"):
            wanted, got = LAYOUTS[layout](n), LAYOUTS[layout](n)
            assert fused(x, 1.0, got) == into_argument(x, 1.0, wanted)
            whole = [a if a.base is None else a.base for a in (got, wanted)]
            assert whole[0].tobytes() == whole[1].tobytes()
    assert fused.stats.replays == {}


def in_place(x, t):
    s = t
    for i in range(len(x)):
        s += x[i]
        x[i] = s
    return s


def into(x, t, out):
    s = t
    for i in range(len(x)):
        s += x[i]
        out[i] = s
    return s


def test_a_scan_in_place_is_run_by_one_thread() -> None:
    """The totals of a part could not be computed while another thread runs it."""
    x = np.arange(5000)
    assert by_threads(in_place, [(x, 0)]) == 0
    assert by_threads(into, [(x, 0, x)]) == 0
    assert by_threads(into, [(x, 0, x.copy())]) > 0


def exclusive(x, t, out):
    s = t
    for i in range(len(x)):
        v = x[i]
        out[i] = s
        s += v
    return s


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_exclusive_totals_into_an_argument(dtype: str) -> None:
    """Each iteration stores the sum of those before it."""
    calls = [
        (x, x.dtype.type(1), np.zeros(n + 1, dtype)) for n in SIZES for x in arrays(n, dtype)
    ]
    assert by_threads(exclusive, calls) > 0
    assert "scan" in str(fuse(exclusive, on_reject="raise").report(*calls[-1]))


def totals_of_ints(xs, t):
    before, after, s = [], [], t
    for x in xs:
        before.append(s)
        s += x
        after.append(s)
    return before, after, s


def items_at(k, table):
    return [table[i] for i in k if i != 2]


@pytest.mark.parametrize("where", [None, 0, 70, 512])
def test_totals_of_ints_that_may_get_too_large_for_64_bits(where: int | None) -> None:
    """Python goes on with longer ints, wherever the first one comes; and raises for a wrong index.
    """
    rng = np.random.default_rng(0)
    sums, items = [], []
    for n in (0, 1, 129, 513, 700):
        xs = rng.integers(-5, 9, n).tolist()
        k = rng.integers(0, 5, n).tolist()
        if where is not None and where < n:
            xs[where : where + 2], k[where] = [2**62, 2**62], 5
        sums.append((xs, 2**62 if where else 0))
        items.append((k, [3, 1, 4, 1, 5]))
    assert by_threads(totals_of_ints, [*sums, ([1] * 700, 0)]) > 0
    assert by_threads(items_at, [*items, ([1] * 700, [0, 1])]) > 0
    for f, args in ((totals_of_ints, ([1] * 700, 0)), (items_at, ([1] * 700, [0, 1]))):
        assert "one thread: " not in str(fuse(f, on_reject="raise").report(*args, verbose=True))


@pytest.mark.parametrize("f", [lengths, cumulated])
def test_what_one_thread_runs(f: Callable[..., Any]) -> None:
    """What depends on the count itself; sums of floats, which have an order."""
    calls = [(x, 1.0) for n in SIZES for x in arrays(n, "float64")]
    assert by_threads(f, calls) == 0
    assert "one thread: " in str(fuse(f).report(*calls[-1], verbose=True))
