"""Fold stages: the answer of one array, also where what a function does beside its folds depends on
what was before a loop, or raises. Skipped without Dask.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transpile import FuseWarning, fuse

da: Any = pytest.importorskip("dask.array", reason="Dask is not installed: pip install -e .[dask]")

X = np.random.default_rng(3).random(37)


def whole_quotient(x, y):
    n, m = 0, 0
    for v in x:
        if v > 0.0:
            n += 1
    for v in y:
        if v > 0.0:
            m += 1
    return n / m


def test_numbers_between_stages_are_pythons_where_they_were() -> None:
    lazy = fuse(whole_quotient, on_reject="raise")(da.ones(4, chunks=2), da.zeros(4, chunks=2))
    with pytest.raises(ZeroDivisionError):
        lazy.compute(scheduler="sync")


def mean_of_positive(x, p):
    s = 0.0
    for v in x:
        s += v
    if p < 0:
        raise ValueError("p is negative")
    return s / p


def long_enough(x, p):
    if len(x) < 40 and p < 0:
        raise ValueError("too short")
    return x.mean()


def unused_quotient(x, p):
    s = x.sum()
    q = 3 // (p + 1)  # noqa: F841  # it may raise
    return s / len(x)


def raises_in_a_loop(x, p):
    s = 0.0
    for v in x:
        if v > p:
            raise ValueError("too large")
        s += v
    return s / len(x)


def raises_in_a_loop_over_others(x, p):
    others = np.arange(3.0) + p
    s = x.sum()
    for v in others:
        if v < 0:
            raise ValueError("negative")
    return s / len(x)


@pytest.mark.parametrize("function", [
    long_enough, mean_of_positive, raises_in_a_loop, raises_in_a_loop_over_others, unused_quotient,
])
def test_errors_beside_the_folds(function: Callable[..., Any]) -> None:
    lazy = fuse(function, on_reject="raise")(da.from_array(X, chunks=10), -1)
    errors = []
    for call in (lambda: function(X, -1), lambda: lazy.compute(scheduler="sync")):
        with pytest.raises((ArithmeticError, ValueError)) as raised:
            call()
        errors.append((raised.type, str(raised.value)))
    assert errors[0] == errors[1]


def distance_from_start(x, p):
    s = p
    start = s + 1.0
    for v in x:
        s += v
    return s / len(x) - start


def count_and_start(x, p):
    k = 0
    start = k + p
    s = 0.0
    for v in x:
        s += v
        k += 1
    return s / k + start


def first_weight(x, p):
    w = np.ones(3) * p
    first = w[0]
    for j in range(len(w)):
        w[j] += 1.0
    s = 0.0
    for v in x:
        s += v
    return s / len(x) + first, w * s


def small_table(x, p):
    table = np.empty(2)
    table[0] = 1.0
    table[1] = p
    s = 0.0
    for v in x:
        s += v
    return table / s


def table_and_its_sums(x, p):
    counts, sums = np.zeros(8), np.zeros(8)
    for v in x:
        counts[int(v * 8)] += 1
    s = p
    for k in range(8):
        s += counts[k]
        sums[k] = s
    return sums / len(x)


def in_place_twice(x, p):
    y = x.copy()
    y -= y.sum() / p
    y /= (y * y).sum()
    return y


def shorter_argument(x, p):
    n = len(x)
    x = x[1:] * p
    return x.sum() / len(x) + n


def exponentials(x, p):
    e = np.exp(x * p - x.max())
    return e / e.sum()


@pytest.mark.parametrize("function", [
    count_and_start, distance_from_start, exponentials, first_weight, in_place_twice,
    shorter_argument, small_table, table_and_its_sums,
])
@pytest.mark.parametrize("chunks", [10, (18, 0, 19)], ids=["equal", "empty"])
def test_what_was_before_a_loop_stays(function: Callable[..., Any], chunks: Any) -> None:
    """Either in stages, or refused with a reason of Dask's part, and run by Python."""
    lazy = da.from_array(X, chunks=(chunks,))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FuseWarning)
        found = fuse(function)(lazy, 2.0)
    assert all("cannot be cut" in str(w.message) for w in caught)
    results, wanted = (r if isinstance(r, tuple) else (r,) for r in (found, function(X, 2.0)))
    for a, b in zip(results, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12)


def sums_of_two(x, w):
    return x.sum() / w.sum() * len(x)


def test_folds_of_arrays_of_numpy() -> None:
    lazy = fuse(sums_of_two, on_reject="raise")(da.from_array(X, chunks=10), X[:5])
    np.testing.assert_allclose(lazy.compute(scheduler="sync"), sums_of_two(X, X[:5]))
