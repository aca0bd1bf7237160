"""Programs and folds by one thread and by several: the same bits, whoever ran which chunk."""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from example_counts import hurried_flags, with_flags
from program_runs import PROGRAMS, arguments
from program_runs import wanted as by_python
from run.programs import Program
from small_chunks import make_chunks_small

from targets.abi import thread_pool
from transpile import fuse

THREADS = (1, 2, 3, 7, 64)
LARGE = 150
"""A size of programs at which vector loops have several chunks."""


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool runs what would be too little work, too."""
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", *hurried_flags()))


def assert_one_result(f: Callable[..., Any], calls: Iterator[tuple[Any, ...]]) -> None:
    """`f` gives the same bits for each of the `calls` however many threads run its loops; a call
    must not be changed by being made.
    """
    serial = fuse(f, on_reject="silent", threads=1)
    parallel = fuse(f, on_reject="silent")
    for args in calls:
        def fresh(args: tuple[Any, ...] = args) -> tuple[Any, ...]:
            return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)

        wanted = outcome(serial, fresh())
        for threads in THREADS:
            with thread_pool.forced(threads):
                assert_same(outcome(parallel, fresh()), wanted, f"{threads} threads")


@pytest.mark.share(1200)
@pytest.mark.parametrize("chunks", ["usual", "small"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.label)
def test_programs(program: Program, chunks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits, and Python's answer: at `LARGE`, sums may differ by more than is allowed."""
    if chunks == "small":
        make_chunks_small(monkeypatch)
    serial = fuse(program.function, on_reject="silent", threads=1)
    parallel = fuse(program.function, on_reject="silent")
    for n in (program.sizes[-1], LARGE):
        wanted = outcome(serial, arguments(program, n))
        if n != LARGE:
            assert_same(wanted, by_python(program, n), f"size {n}", program.ulps)
        for threads in THREADS:
            with thread_pool.forced(threads):
                got = outcome(parallel, arguments(program, n))
            assert_same(got, wanted, f"{threads} threads, size {n}")


def total(x):
    s = 0.0
    for v in x:
        s += v
    return s


def moments(x):
    return x.sum(), x.mean(), (x * x).sum()


def product(x):
    p = 1.0
    for v in x:
        p *= 1.0 + v * 1e-6
    return p


def extremes(x):
    return x.min(), x.max(), x.argmin(), x.argmax()


def least(x):
    best, at = math.inf, -1
    for i in range(len(x)):
        if x[i] < best:
            best, at = x[i], i
    return best, at


def counts(x):
    return np.count_nonzero(x > 0), (x > 3).any(), (x == x).all()


def map_and_total(x):
    y = x * 2 + 1
    return y, y.sum()


def rows(x):
    z = x[: len(x) // 8 * 8].reshape(-1, 8)
    return z.sum(axis=0), z.sum(axis=1), z.max(axis=1)


def extremes_of_loops(x):
    lowest, last, first, swapped, even = x[0], x[0], x[0], x[0], x[0]
    for v in x:
        if v < lowest:
            lowest = v
        if v >= last:
            last = v
    for v in x:
        first = max(first, v)
    for i in range(1, len(x)):
        swapped = min(x[i], swapped)
    for i in range(len(x) // 2):
        if x[i] > 5:
            even = max(even, x[2 * i])
    return lowest, last, first, swapped, even


def extremes_of_functions(x):
    return min(x), max(x), np.ptp(x), np.nanmin(x), np.nanmax(x), x.max(initial=0, where=x < 50)


FOLDS = [
    total, moments, product, extremes, least, counts, map_and_total, rows, extremes_of_loops,
    extremes_of_functions,
]


def numbers(dtype: str) -> Iterator[tuple[np.ndarray]]:
    """Arrays of less than a block to some blocks of blocks; of floats also with NaN, infinities and
    zeros of both signs.
    """
    rng = np.random.default_rng(0)
    for n in (1, 63, 4096, 4097, 70_001, 300_003):
        x = (rng.standard_normal(n) * 100).astype(dtype)
        yield (x,)
        if dtype[0] == "f":
            zeros = np.where(rng.random(n) < 0.5, 0.0, -0.0).astype(dtype)
            yield (zeros,)
            odd = x.copy()
            odd[rng.integers(0, n, 3)] = np.inf, -np.inf, np.nan
            yield (odd,)


DTYPES = (
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32",
    "uint16", "uint8", "bool",
)
EXACT_IN_HALVES = (extremes, least, counts, extremes_of_loops, extremes_of_functions)
"""Others have sums above 2,048, from where on float16 has not every integer."""


@pytest.mark.share(40)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fold", FOLDS)
def test_folds(fold: Callable[..., Any], dtype: str) -> None:
    with np.errstate(all="ignore"):
        assert_one_result(fold, numbers(dtype))


@pytest.mark.share(40)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fold", [f for f in FOLDS if f is not product])
def test_folds_against_python(fold: Callable[..., Any], dtype: str) -> None:
    """Where no sum is rounded, whatever the order of its terms, they have Python's bits."""
    if dtype == "float16" and fold not in EXACT_IN_HALVES:
        return
    rng, parallel = np.random.default_rng(0), fuse(fold, on_reject="silent")
    for n in (1, 63, 4097, 70_001):
        x = np.abs(rng.integers(-1, 2, n)).astype(dtype) * rng.integers(1, 3, n).astype(dtype)
        if dtype[0] in "fi":
            x[::3] *= -1
            x[x == 0] = 1
        wanted = outcome(fold, (x,))
        for threads in THREADS:
            with thread_pool.forced(threads):
                assert_same(outcome(parallel, (x,)), wanted, f"{threads} threads, {n}")


def first_place(x, k):
    for i in range(len(x)):
        if x[i] > 3.0:
            return i
    return -1


def places(x, k):
    first, value = -1, 0.0
    for i in range(len(x)):
        if x[i] > 3.0:
            first = i
            value = x[i]
            break
    some, every, inside = any(v > 3.0 for v in x), all(v <= 3.0 for v in x), 7.0 in x
    return first, value, some, every, inside


def warns_behind(x, k):
    return any(1.0 / (x[i] - 2.0) < -0.25 for i in range(len(x)))


def fails_behind(x, k):
    for i in range(len(x)):
        if x[k[i]] > 3.0:
            return i
    return -1


def calls_of_searches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Zeros, and where to find more: nowhere, first, last, around the ends of parts, twice; behind
    that, what may warn, and what is out of range.
    """
    for n in (0, 1, 257, 16_385, 16_641, 70_001, 300_003):
        for hits in ((), (0,), (n - 1,), (16_384, 16_640), (n // 2, n // 3), (50_000, 49_999)):
            x, k = np.zeros(n), np.arange(n)
            inside = [h for h in hits if 0 <= h < n]
            x[inside] = 7.0
            if inside and min(inside) + 1 < n:
                x[-1], k[-1] = 2.0, n + 5
            yield x, k


@pytest.mark.share(2)
@pytest.mark.parametrize("search", [first_place, places, warns_behind, fails_behind])
def test_searches(search: Callable[..., Any]) -> None:
    """The lowest hit, and nothing of what lies behind it."""
    assert_one_result(search, calls_of_searches())


@pytest.mark.parametrize("search", [first_place, places])
def test_searches_use_several_threads(search: Callable[..., Any]) -> None:
    f, x, k = fuse(search, on_reject="raise"), np.zeros(300_000), np.arange(3)
    x[200_000:] = 5.0
    f(x, k)
    with thread_pool.forced(3):
        before = thread_pool.pool_counts()
        assert f(x, k) == search(x, k)
        after = thread_pool.pool_counts()
    assert before is not None
    assert after is not None
    assert after.parallel > before.parallel
    assert "one thread: " not in str(f.report(x, k, verbose=True))
    for serial in (warns_behind, fails_behind):
        text = str(fuse(serial).report(x, k, verbose=True))
        assert "one thread: it may end before its last iteration" in text


def histogram(k, counts, w):
    for i in range(len(k)):
        counts[k[i]] += 1


def weighted(k, counts, w):
    for i in range(len(k)):
        counts[k[i]] += w[i]


def bincount(k, counts, w):
    return np.bincount(k)


def in_list(k, counts, w):
    h = [0] * 150
    for v in k:
        h[v % 150] += 1
    return h


def calls_of_histograms(dtype: str) -> Iterator[tuple[np.ndarray, ...]]:
    """Few and many keys, also negative ones; tables that are too large for one for each thread."""
    rng = np.random.default_rng(0)
    for n in (0, 1, 9_000, 300_003):
        for most, length in ((3, 3), (100, 150), (100, 5_000)):
            k, w = rng.integers(0, most, n), rng.integers(0, 100, n).astype(dtype)
            yield k, np.arange(length).astype(dtype), w
            yield -k, np.arange(length).astype(dtype), w


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("f", "dtype"),
    [(histogram, "int32"), (in_list, "int64"), (bincount, "int64"), (weighted, "int64"),
     (weighted, "float64")],
)
def test_histograms(f: Callable[..., Any], dtype: str) -> None:
    """Integers are added up in tables of threads; where the order of floats matters, they are not.
    """
    with np.errstate(all="ignore"):
        assert_one_result(f, calls_of_histograms(dtype))
    run, k, w = fuse(f, on_reject="raise"), np.arange(300_000) % 100, np.zeros(300_000, dtype)
    regions = []
    for most in (100, 5_000):
        k[-1] = most - 1
        run(k, np.zeros(most, dtype), w)
        with thread_pool.forced(3):
            before = thread_pool.pool_counts()
            run(k, np.zeros(most, dtype), w)
            after = thread_pool.pool_counts()
        assert before is not None
        assert after is not None
        regions.append(after.parallel - before.parallel)
    text = str(run.report(k, np.zeros(9, dtype), w, verbose=True))
    if f is weighted:
        reasons = {"int64": "several iterations may store to one element of `counts`",  # overflow
                   "float64": "the order in which floats are added to elements of `counts` matters"}
        assert f"one thread: {reasons[dtype]}" in text
    else:
        assert regions[0] > 0
        assert "one thread: " not in text
        assert f is in_list or regions[0] > regions[1]  # the table is too large


def two_lists(k, h):
    up, down = [0] * 100, [0] * 100
    for v in k:
        up[v] += 1
        down[99 - v] += 3
    return up, down


def one_of_two_lists(k, h):
    even, odd = [0] * 100, [0] * 100
    for v in k:
        if v % 2 == 0:
            even[v] += 1
        else:
            odd[v] += 1
    return even, odd


def list_and_folds(k, h):
    tally, n, most, total = [0] * 100, 0, 0, 0
    for v in k:
        tally[v] += 1
        n += v > 50
        most = max(most, v)
        total += int(v)
    return tally, n, most, total


def branches(k, h):
    n, bits = 0, 0
    for i in range(len(k)):
        if k[i] > 20:
            h[k[i]] += 1
            n += 1
        elif k[i] > 10:
            h[k[i]] += 2
            n += 5
            bits |= int(k[i])
    return n, bits


def near_the_end(k, h):
    """Counters of which one overflows after some thousand iterations."""
    h[7], up, n = 2**63 - 2000, [0] * 100, 0
    for v in k:
        h[v] += 1
        up[v] += 1
        n += 1
    return up, n


@pytest.mark.share(2, rest=True)
@pytest.mark.parametrize("chunks", ["usual", "small"])
@pytest.mark.parametrize(
    "f", [two_lists, one_of_two_lists, list_and_folds, branches, near_the_end]
)
def test_tables_in_lists_beside_folds(
    f: Callable[..., Any], chunks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with keys for which Python raises, and with negative ones."""
    if chunks == "small":
        make_chunks_small(monkeypatch)
    rng = np.random.default_rng(0)

    def calls() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for n in (0, 1, 4096, 4097, 300_003 if chunks == "usual" else 1_000):
            k = rng.integers(0, 100, n)
            yield k, np.arange(100)
            yield k - 100, np.arange(100)
            if n > 1:
                k = k.copy()
                k[-7] = 100
                yield k, np.arange(100)

    with np.errstate(all="ignore"):
        assert_one_result(f, calls())
        k, h = rng.integers(0, 100, 1_000 if chunks == "small" else 30_000), np.arange(100)
        got = outcome(fuse(f, on_reject="raise"), (k, h.copy()))
        assert_same(got, outcome(f, (k, h.copy())), "Python")
    run = fuse(f, on_reject="raise")
    run(k, h.copy())
    assert "one thread: " not in str(run.report(k, h, verbose=True))
    with thread_pool.forced(3):
        before = thread_pool.pool_counts()
        with np.errstate(all="ignore"):
            run(k, h.copy())
        after = thread_pool.pool_counts()
    assert before is not None
    assert after is not None
    assert after.parallel > before.parallel


def sweeps(t, new, k):
    for _ in range(k):
        for i in range(1, t.shape[0] - 1):
            for j in range(1, t.shape[1] - 1):
                new[i, j] = 0.25 * (t[i - 1, j] + t[i + 1, j] + t[i, j - 1] + t[i, j + 1])
        for i in range(1, t.shape[0] - 1):
            for j in range(1, t.shape[1] - 1):
                t[i, j] = new[i, j]


def whole_sweeps(t, new, k):
    for _ in range(k):
        t[1:-1, 1:-1] = 0.25 * (t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:])


def two_fields(t, new, k):
    u = np.zeros(t.shape)
    for _ in range(k):
        for i in range(1, t.shape[0] - 1):
            for j in range(1, t.shape[1] - 1):
                new[i, j] = t[i, j] + 0.1 * (t[i + 1, j] - t[i - 1, j] - u[i, j])
                u[i, j] = u[i, j] + 0.2 * t[i, j]
        for i in range(1, t.shape[0] - 1):
            for j in range(1, t.shape[1] - 1):
                t[i, j] = new[i, j] - u[i, j]
    return u


def of_volumes(t, new, k):
    for i in range(1, t.shape[0] - 1):
        for j in range(1, t.shape[1] - 1):
            for m in range(1, t.shape[2] - 1):
                new[i, j, m] = t[i - 1, j, m] + t[i + 1, j, m] + t[i, j - 1, m] + t[i, j, m + 1]
    for i in range(1, t.shape[0] - 1):
        for j in range(1, t.shape[1] - 1):
            for m in range(1, t.shape[2] - 1):
                t[i, j, m] = new[i, j, m]


@pytest.mark.share(2, rest=True)
@pytest.mark.parametrize("f", [sweeps, whole_sweeps, two_fields, of_volumes])
def test_sweeps_that_are_copied_back(f: Callable[..., Any]) -> None:
    """Two loops in one pass, of which the second is some rows behind: in blocks of rows."""
    rng = np.random.default_rng(0)
    sizes = [(n, 40) for n in (1, 2, 3, 130, 131, 132, 195, 196)] + [(400, 15)]
    axes = (7,) if f is of_volumes else ()
    calls = [(t := rng.random((*size, *axes)), t.copy(), 3) for size in sizes]
    assert_one_result(f, iter(calls))
    run = fuse(f, on_reject="raise")
    for t, new, k in calls[3:]:
        args, others = (t.copy(), new.copy(), k), (t.copy(), new.copy(), k)
        with thread_pool.forced(3):
            assert_same(outcome(run, args), outcome(f, others), "Python")
    t, new, k = calls[-1]
    with thread_pool.forced(3):
        before = thread_pool.pool_counts()
        run(t.copy(), new.copy(), k)
        after = thread_pool.pool_counts()
    assert before is not None
    assert after is not None
    assert after.parallel > before.parallel
    assert "one thread: " not in str(run.report(t, new, k, verbose=True))


def sums_of_rows(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        s = 0.0
        for v in x[i]:
            s += v
        y[i] = s
    return y


def list_of_sums(x):
    out = []
    for row in x:
        s = 0.0
        for v in row:
            s += v
        out.append(s)
    return out


@pytest.mark.parametrize("f", [sums_of_rows, list_of_sums])
def test_versions_of_a_parallel_loop_give_no_reason(f: Callable[..., Any]) -> None:
    """Of few columns, or of a small call, other loops are run than those that threads share."""
    text = str(fuse(f).report(np.zeros((200, 200)), verbose=True))
    assert "one thread: " not in text
    assert "threads from " in text


@pytest.mark.parametrize("fold", [total, extremes_of_loops, extremes_of_functions])
def test_several_threads_did_run(fold: Callable[..., Any]) -> None:
    f, x = fuse(fold, on_reject="raise"), np.ones(300_000)
    wanted = fold(x)
    f(x)
    with thread_pool.forced(3):
        before = thread_pool.pool_counts()
        assert f(x) == wanted
        after = thread_pool.pool_counts()
    assert before is not None
    assert after is not None
    assert after.parallel > before.parallel
    assert "one thread" not in str(f.report(x, verbose=True))


def roots(x, out, more):
    for i in range(len(x)):
        more[i] = x[i] + 1.0
        out[i] = math.sqrt(x[i])


def divided(x, out, more):
    for i in range(len(x)):
        out[i] = 1 // int(x[i] + 1)


def new_array(x, out, more):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = math.sqrt(x[i])
    return y


@pytest.mark.parametrize("f", [roots, divided, new_array])
def test_exception_in_mid_loop(f: Callable[..., Any]) -> None:
    """What was written before it, and what was not, is as Python leaves it."""
    parallel = fuse(f, on_reject="silent")
    for n in (700, 20_000):
        for bad in (None, 0, n // 3, n - 1):
            x = np.arange(n) % 97 + 1.0
            if bad is not None:
                x[bad] = -1.0
            made = [(x, np.full(n, 5.0), np.full(n, 7.0)) for _ in range(2)]
            for threads in THREADS[1:]:
                with thread_pool.forced(threads):
                    got = outcome(parallel, made[0])
                assert_same(got, outcome(f, made[1]), f"{threads} threads, {bad} of {n}", 2)
                np.testing.assert_array_equal(made[0], made[1])
    assert parallel.stats.compiled


def test_reports_say_which_loops_several_threads_may_run() -> None:
    def mixed(x, k, out):
        total = 0.0
        for i in range(len(x)):
            total += x[i]
        counts = np.zeros(10)
        for i in range(len(x)):
            counts[k[i]] += 1.0
        for i in range(1, len(x)):
            out[i] = out[i - 1] * 0.5 + x[i]
        running = np.cumsum(x)
        return total, counts, running

    text = str(fuse(mixed).report(np.ones(9), np.arange(9), np.ones(9), verbose=True))
    rows = [line for line in text.splitlines() if line.lstrip().startswith("line ")]
    assert re.search(r"up to \d+ threads? from [\d,]+ elements", rows[0])
    for reason in ("elements of `counts` matters", "`out` of the one before", "is a running sum"):
        assert any("one thread: " in row and reason in row for row in rows), reason
    assert "up to" in str(fuse(roots).report(*[np.ones(9)] * 3, verbose=True))
    alone = fuse(mixed, threads=1).report(np.ones(9), np.arange(9), np.ones(9))
    assert "up to" not in str(alone)
