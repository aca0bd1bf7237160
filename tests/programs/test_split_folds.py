"""Folds over loops: what several threads compute in rows is folded in order, with the same bits."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from agree import Outcome, assert_same, outcome
from example_counts import hurried_flags, with_flags

from loopir.passes.parallel import split_folds
from targets.abi import thread_pool
from transpile import fuse

THREADS = (1, 2, 3, 7)
SPECIAL = (0.0, -0.0, math.nan, math.inf, -math.inf, 1e300)


@pytest.fixture(autouse=True)
def few_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool runs what would be too little work, too, some rows at a time."""
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", *hurried_flags()))
    monkeypatch.setattr(split_folds, "_ITERATIONS_AT_ONCE", 16)


def energy(x, y):
    e = 0.0
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            dx = x[i, 0] - x[j, 0]
            dy = x[i, 1] - x[j, 1]
            e += 1.0 / (dx * dx + dy * dy + 1.0)
    return e


def near_pairs(x, y):
    c = 0
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            if abs(x[i, 0] - x[j, 0]) < 0.5:
                c += 1
    return c


def closest(x, y):
    m = math.inf
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            dx = x[i, 0] - x[j, 0]
            dy = x[i, 1] - x[j, 1]
            m = min(m, dx * dx + dy * dy)
    return m


def closest_pair(x, y):
    m, a, b = math.inf, -1, -1
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            d = (x[i, 0] - x[j, 0]) ** 2
            if d < m:
                m, a, b = d, i, j
    return m, a, b


def sweep_and_sum(x, y):
    d = 0.0
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])
            d += abs(y[i, j] - x[i, j])
    return d


def sweep_and_max(x, y):
    d = 0.0
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])
            d = max(d, abs(y[i, j] - x[i, j]))
    return d


def until_it_converges(x, y):
    d = 0.0
    for _ in range(5):
        d = 0.0
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                y[i, j] = 0.5 * (x[i - 1, j] + x[i + 1, j])
                d += abs(y[i, j] - x[i, j])
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                x[i, j] = y[i, j]
        if d < 1e-3:
            break
    return d


def extremes(x, y):
    low, high = x[0, 0], x[0, 0]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] < low:
                low = x[i, j]
            high = max(x[i, j], high)
    return low, high


def decaying(x, y):
    """The maximum falls below the value that it starts with."""
    m = 10.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            m = max(m, x[i, j])
        m = m * 0.5
    return m


def reset(x, y):
    m = 100.0
    for i in range(x.shape[0]):
        if i == 3:
            m = -1.0
        for j in range(x.shape[1]):
            if x[i, j] > m:
                m = x[i, j]
    return m


def of_the_row_before(x, y):
    m, n = 3.0, 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            m = min(m, x[i, j])
        m, n = n, m
    return m, n


def sums_so_far(x, y):
    """What an iteration stores and computes is the sum with all rows before it."""
    s, t, m = 0.0, 0, 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += x[i, j]
        for j in range(x.shape[1]):
            t += x[i, j] > 0.5
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] / (1.0 + abs(s)) + t
        m = max(m, s)
    return s, t, m


def norms(x, y):
    s, p = 0.0, 1.0
    for i in range(x.shape[0]):
        t = 0.0
        for j in range(x.shape[1]):
            t += x[i, j] * x[i, j]
        s += math.sqrt(t)
        p = p * 0.5 + t
    return s, p


def newton(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        v, r = abs(x[i, 0]) + 1.0, 1.0
        for _ in range(8):
            r = 0.5 * (r + v / r)
        s += r
    return s


def counted_steps(x, y):
    c, most, at = 0, 0, -1
    for i in range(x.shape[0]):
        k, v = 0, i + 1
        while v != 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            k += 1
        c += k
        if k > most:
            most, at = k, i
    return c, most, at


def digits(x, y):
    c = 0
    for i in range(x.shape[0] * 7):
        v = i
        while v:
            c += v % 3
            v //= 3
    return c


def primes(x, y):
    c, last = 0, 0
    for i in range(2, x.shape[0] * 3):
        is_prime, d = True, 2
        while d * d <= i:
            if i % d == 0:
                is_prime = False
                break
            d += 1
        if is_prime:
            c += 1
            last = i
    return c, last


def large_sum(x, y):
    s = 2**62
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += (i - j) * 2**55
    return s


def divides(x, y):
    s = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = i
        s += 7 // (10 - i)
    return s


FOLDS = (
    energy, near_pairs, closest, closest_pair, sweep_and_sum, sweep_and_max, until_it_converges,
    extremes, decaying, reset, of_the_row_before, sums_so_far, norms, newton, counted_steps, digits,
    primes, large_sum, divides,
)
IN_THREADS = (
    energy, near_pairs, closest, sweep_and_sum, sweep_and_max, norms, counted_steps, digits, primes,
    large_sum, extremes, decaying,
)


def calls() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Few and many rows, short and long ones; with special values, and views."""
    rng = np.random.default_rng(0)
    for rows, columns in ((0, 3), (1, 5), (9, 3), (17, 40), (70, 70), (40, 300)):
        x = rng.normal(size=(rows, columns))
        yield x, np.zeros((rows, columns))
        yield x[::-1], np.zeros((rows, columns))
        yield np.zeros((rows, columns)), np.ones((rows, columns))
        for value in SPECIAL:
            y = x.copy()
            y.flat[rng.integers(0, max(y.size, 1), y.size and 5)] = value
            yield y, np.zeros((rows, columns))


def assert_close(got: Outcome, python: Outcome) -> None:
    """The results and the arrays are Python's, but for the order of sums."""
    assert got.error == python.error
    for a, b in ((got.value, python.value), *zip(got.arguments, python.arguments, strict=True)):
        if b is not None:
            p, q = (np.asarray(v, np.float64) for v in (a, b))
            np.testing.assert_allclose(p, q, rtol=1e-9, atol=1e-9)


@pytest.mark.share(2)
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("target", ["native", "scalar"])
def test_folds_over_rows(
    fold: Callable[..., Any], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if target != "native":
        monkeypatch.setenv("TRANSPILE_TARGET", target)
    serial, parallel = (fuse(fold, on_reject="silent", threads=t) for t in (1, "auto"))
    for args in calls():
        wanted = outcome(serial, args)
        assert_close(wanted, outcome(fold, args))
        for threads in THREADS:
            with thread_pool.forced(threads):
                assert_same(outcome(parallel, args), wanted, f"{threads} threads, {args[0].shape}")


@pytest.mark.parametrize("fold", IN_THREADS)
def test_rows_are_shared_among_threads(fold: Callable[..., Any]) -> None:
    f, x, y = fuse(fold, on_reject="raise"), np.ones((200, 200)), np.ones((200, 200))
    x[:, 0] = np.arange(200) / 7.0
    f(x, y)
    with thread_pool.forced(3):
        before = thread_pool.pool_counts()
        f(x, y)
        after = thread_pool.pool_counts()
    assert before is not None
    assert after is not None
    assert after.parallel > before.parallel


def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def several(x, y):
    s, p, c = 0.5, 1.0, 0
    for i in range(len(x)):
        s -= x[i]
        p *= y[i]
        c += x[i] != 0
    return s, p, c


def total(x, y):
    return x.sum()


def sum_and_extremes(x, y):
    s, low, high, most = 0.0, math.inf, x[0], y[0]
    for i in range(len(x)):
        s += x[i]
        if x[i] < low:
            low = x[i]
        high = max(high, x[i])
        most = max(abs(x[i] * y[i]), most)
    return s, low, high, most


def summary(x, y):
    return x.min(), x.max(), x.sum()


DTYPES = "float64", "float32", "complex128"
GROUP, STRIP = 262144, 8 * 262144
"""Elements of a group of blocks, and of the blocks of a parallel loop."""


def long_arrays(dtype: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of one element to more than the blocks of one parallel loop, at the edges of blocks, groups
    and strips; with values that any change of the order shows; and NaN, infinities, zeros.
    """
    rng = np.random.default_rng(0)
    for n in (1, 4096, 4097, GROUP + 1, STRIP + GROUP + 4097):
        x = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)
        y = (1.0 + rng.standard_normal(n) * 1e-4).astype(dtype)
        yield x, y
        yield np.where(x.real < 0, 0.0, -0.0).astype(dtype), y
        some = np.where(rng.random(n) < 2 / n, 0.0, -0.0).astype(dtype)
        yield np.where(x.real < 0, x, some), y
        yield np.where(x.real > 0, x, some), y
        odd = x.copy()
        odd[rng.integers(0, n, 2)] = np.inf, np.nan if n % 2 else np.inf
        yield odd, y
        nans = x.copy()
        nans[rng.integers(0, n, 3)] = np.nan
        nans[: n % 2] = np.nan
        yield nans, y


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("fold", "dtype"),
    [(f, t) for f in (dot, several, total, sum_and_extremes, summary) for t in DTYPES
     if t[0] == "f" or f in (dot, total)],
)
def test_groups_of_blocks(fold: Callable[..., Any], dtype: str) -> None:
    """The blocks of many groups are one parallel loop; the sums have the bits of one thread."""
    serial, parallel = (fuse(fold, on_reject="raise", threads=t) for t in (1, "auto"))
    with np.errstate(all="ignore"):
        for args in long_arrays(dtype):
            wanted = outcome(serial, args)
            assert wanted.error is None
            for threads in THREADS:
                with thread_pool.forced(threads):
                    assert_same(outcome(parallel, args), wanted, f"{threads} threads")


@pytest.mark.parametrize("fold", [dot, several, total, sum_and_extremes, summary])
def test_threads_wait_for_each_other_once_for_many_groups(fold: Callable[..., Any]) -> None:
    f, x = fuse(fold, on_reject="raise"), np.ones(STRIP)
    f(x, x)
    with thread_pool.forced(2):
        before = thread_pool.pool_counts()
        f(x, x)
        after = thread_pool.pool_counts()
    assert before is not None
    assert after is not None
    most = 2 if fold is sum_and_extremes else 1  # it keeps more than four results of each block
    assert 0 < after.parallel - before.parallel <= most
