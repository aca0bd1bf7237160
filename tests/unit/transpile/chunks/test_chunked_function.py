"""Functions as users of Dask and Xarray write them: planned, with the value, dtype and shape of one
array; or a reason that says what prevents it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transpile import fuse

da: Any = pytest.importorskip("dask.array", reason="Dask is not installed: pip install -e .[dask]")
dask: Any = pytest.importorskip("dask")

BLOCK = 4096


def anomalies_by_month(z, month):
    sums, counts = np.zeros((12, z.shape[1])), np.zeros(12)
    out = np.empty_like(z)
    for t in range(z.shape[0]):
        counts[month[t]] += 1
        for j in range(z.shape[1]):
            sums[month[t], j] += z[t, j]
    for t in range(z.shape[0]):
        for j in range(z.shape[1]):
            out[t, j] = z[t, j] - sums[month[t], j] / counts[month[t]]
    return out


def means_by_group(x, k):
    sums, counts = np.zeros(12), np.zeros(12, np.int64)
    for i in range(len(x)):
        sums[k[i]] += x[i]
        counts[k[i]] += 1
    return sums / counts


def rolling_mean(x):
    w = 7
    out = np.full(len(x), np.nan)
    for i in range(w - 1, len(x)):
        s = 0.0
        for j in range(w):
            s += x[i - j]
        out[i] = s / w
    return out


def convolved(x):
    out = np.empty(len(x) - 4)
    for i in range(len(out)):
        s = 0.0
        for j in range(5):
            s += x[i + j] * (j + 1)
        out[i] = s
    return out


def box_filter(z):
    out = np.zeros_like(z)
    for i in range(1, z.shape[0] - 1):
        for j in range(1, z.shape[1] - 1):
            s = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    s += z[i + a, j + b]
            out[i, j] = s / 9.0
    return out


def weighted_mean(x, w):
    return (x * w).sum() / w.sum()


def average(x):
    return np.average(x)


def correlation(x, y):
    a, b = x - x.mean(), y - y.mean()
    return (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())


def standardised_columns(z):
    return (z - z.mean(axis=0, keepdims=True)) / z.std(axis=0, keepdims=True)


def scaled_to_range(x):
    return (x - x.min()) / (x.max() - x.min())


def clipped(x, y):
    return np.clip(np.where(x > 0, x, y * 0.5), -1.0, 1.5)


def over_two_axes(t):
    return t.mean(axis=(0, 2), keepdims=True)


def zonal_maximum(t):
    return t.max(axis=-1)


def of_those_above(x):
    return x[x > 0].sum(), np.count_nonzero(x > 0.5)


def selected_totals(z, table):
    return z.sum(axis=0), table * 2.0


RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((2, 3 * BLOCK + 700))
W, K = RNG.random(len(X)), RNG.integers(0, 12, len(X))
Z, MONTH = RNG.standard_normal((1440, 24)), np.arange(1440) // 30 % 12
T = RNG.standard_normal((48, 20, 30))

PLANNED: dict[Callable[..., Any], tuple[tuple[Any, ...], Any]] = {
    anomalies_by_month: ((Z, MONTH), (365, 24)), means_by_group: ((X, K), BLOCK),
    rolling_mean: ((X,), BLOCK), convolved: ((X,), 1000), box_filter: ((Z,), (365, 10)),
    weighted_mean: ((X, W), BLOCK), average: ((X,), BLOCK), correlation: ((X, Y), BLOCK),
    standardised_columns: ((Z,), (365, 24)), scaled_to_range: ((X,), BLOCK),
    clipped: ((X, Y), 1000), over_two_axes: ((T,), (12, 10, 30)),
    zonal_maximum: ((T,), (12, 10, 30)), of_those_above: ((X,), BLOCK),
    selected_totals: ((Z, W[:24]), (365, 24)),
}


def in_chunks(values: tuple[Any, ...], chunks: Any) -> list[Any]:
    """The arrays in chunks; those with fewer axes than `chunks` has like the first axis."""
    whole = len(values[0])
    return [
        da.from_array(v, chunks=chunks if v.ndim == np.size(chunks) else
                      chunks[0] if len(v) == whole else -1)
        for v in values
    ]


@pytest.mark.share(3)
@pytest.mark.parametrize("function", PLANNED, ids=lambda f: f.__name__)
def test_what_users_write_is_planned(function: Callable[..., Any]) -> None:
    values, chunks = PLANNED[function]
    fused = fuse(function, on_reject="raise")
    lazy = in_chunks(values, chunks)
    got, plan = fused(*lazy), fused.plan(*lazy)
    assert "not in chunks" not in plan
    whole, of_python = fused(*values), function(*values)
    found = dask.compute(got, scheduler="sync")[0]
    parts = zip(*(v if isinstance(v, tuple) else (v,) for v in (got, found, whole, of_python)),
                strict=True)
    for announced, a, b, c in parts:
        kinds = [(v.dtype, v.shape) for v in (announced, *map(np.asarray, (a, b, c)))]
        assert len({*kinds}) == 1
        np.testing.assert_allclose(a, c, rtol=1e-9, atol=1e-12)
        if "another order" not in plan:
            np.testing.assert_array_equal(a, b)


def nan_mean(x):
    return np.nanmean(x)


def weighted_average(x, w):
    return np.average(x, weights=w)


def counted(x):
    return np.bincount(x.astype(np.int64) + 9, minlength=20)


def selected(x):
    return x[x > 0]


def blocks_of_four(x):
    return x[: len(x) // 4 * 4].reshape(len(x) // 4, 4).mean(axis=1)


def of_other_lengths(x, y):
    return x.sum(), y.max()


@pytest.mark.parametrize(("function", "arrays", "reason"), [
    (nan_mean, (X,), "the elements decide whether Python must compute `np.nanmean(x)`"),
    (weighted_average, (X, W),
     "the elements decide whether Python must compute `np.average(x, weights=w)`"),
    (counted, (X,), "the elements decide whether Python must compute `np.bincount("),
    (selected, (X,), "the function returns an array whose length depends on the data"),
    (blocks_of_four, (X,), "the function computes with its length"),
    (of_other_lengths, (X, Y[:9000]), "the results are over different axes"),
], ids=lambda v: getattr(v, "__name__", ""))
def test_what_is_not_planned_has_a_reason(
    function: Callable[..., Any], arrays: tuple[Any, ...], reason: str
) -> None:
    assert reason in fuse(function).plan(*in_chunks(arrays, BLOCK))


def test_lengths_that_a_guard_tests_must_be_known() -> None:
    fused, x = fuse(average), da.from_array(X, chunks=BLOCK)
    unknown = x[x > 9.0]
    assert "not in chunks" in fused.plan(unknown)
    assert "then, with what these folds give" in fused.plan(x[x > 0.0].compute_chunk_sizes())
