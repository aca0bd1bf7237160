"""Loops that carry something from one iteration to the next, and tables that any one may change."""
from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Case, flat

__all__ = ["CASES"]

SIZES = (4096, 262_144, 16_777_216)
BINS = 256


def sums(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        y[i] = s


def int_sums(x, y):
    s = 0
    for i in range(len(x)):
        s += x[i]
        y[i] = s


def peaks(x, y):
    s = x[0]
    for i in range(len(x)):
        if x[i] > s:
            s = x[i]
        y[i] = s


def smooth(x, y):
    s = x[0]
    for i in range(len(x)):
        s = 0.125 * x[i] + 0.875 * s
        y[i] = s


def recurrence(x, y):
    for i in range(1, len(x)):
        y[i] = x[i] * y[i - 1] + x[i - 1]


def argmin(x):
    s = x[0]
    k = 0
    for i in range(1, len(x)):
        if x[i] < s:
            s = x[i]
            k = i
    return k


def histogram(x, counts):
    for i in range(len(x)):
        counts[x[i]] += 1


def weights(b, x, y):
    for i in range(len(b)):
        y[b[i]] += x[i]


def np_smooth(x, y):
    """NumPy has none: Python's own floats."""
    s = float(x[0])
    y[:] = [s := 0.125 * v + 0.875 * s for v in x.tolist()]


def np_recurrence(x, y):
    """NumPy has none: Python's own floats."""
    s = float(y[0])
    y[1:] = [s := s * f + v for f, v in zip(x[1:].tolist(), x.tolist(), strict=False)]


def np_histogram(x, counts):
    counts += np.bincount(x, minlength=BINS)


def np_weights(b, x, y):
    y += np.bincount(b, x, minlength=BINS).astype(y.dtype)


def _bins(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.integers(0, BINS, n).astype(dtype), np.zeros(BINS, np.int64)


def _weights(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    where = rng.integers(0, BINS, n).astype(np.int32)
    return where, rng.random(n).astype(dtype), np.zeros(BINS, dtype)


def _np_sums(x, y):
    np.cumsum(x, out=y)


CASES = (
    Case(name="prefix sums", loop=sums, array=_np_sums, c="prefix_sums", sizes=SIZES,
         make=flat("x", "0"), limit="copy", aim="5 gcc in L1; .95 limit from DRAM"),
    Case(name="prefix sums, int", loop=int_sums, array=_np_sums, c="prefix_sums", hand="scan",
         dtypes=("int64",), sizes=SIZES, make=flat("x", "0"), limit="copy",
         aim=".95 limit from DRAM"),
    Case(name="running maximum", loop=peaks, c="peaks", sizes=SIZES, make=flat("x", "0"),
         array=lambda x, y: np.maximum.accumulate(x, out=y), limit="copy",
         aim="5 gcc in L1; .95 limit from DRAM"),
    Case(name="smooth", loop=smooth, array=np_smooth, c="smooth", sizes=SIZES[:2],
         make=flat("x", "0"), aim="ahead of numba"),
    Case(name="recurrence", loop=recurrence, array=np_recurrence, c="recurrence", sizes=SIZES[:2],
         make=flat("x", "x"), aim="ahead of numba"),
    Case(name="argmin", loop=argmin, array=np.argmin, c="argmin", hand="argmin", sizes=SIZES,
         make=flat("x"), limit="sum", aim=".9 limit from L2 on"),
    Case(name="histogram", loop=histogram, array=np_histogram, c="histogram", hand="histogram",
         dtypes=("int32", "int64"), sizes=SIZES[:2], make=_bins, aim="ahead of gcc"),
    Case(name="weighted histogram", loop=weights, array=np_weights, c="weights", sizes=SIZES[:2],
         make=_weights, aim="ahead of gcc"),
)
