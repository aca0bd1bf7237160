"""Maps, folds and filters over whole arrays: what memory decides."""
from __future__ import annotations

import numpy as np

from .harness import Case, flat

__all__ = ["CASES"]

SIZES = (16, 4096, 262_144, 16_777_216)


def axpy(a, x, y):
    for i in range(len(x)):
        y[i] = y[i] + a * x[i]


def three(x, y, out):
    for i in range(len(x)):
        out[i] = (x[i] + y[i]) * x[i] - 0.5


def normalise(x, peak, threshold, out):
    for i in range(len(x)):
        out[i] = x[i] / peak
    for i in range(len(x)):
        out[i] = out[i] if out[i] > threshold else 0.0


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def extremes(x):
    low = high = x[0]
    for v in x:
        low = min(low, v)
        high = max(high, v)
    return high - low


def filter_map(low, x):
    return np.array([v * 2.0 for v in x if v > low])


def filter_sum(low, x):
    s = 0.0
    for v in x:
        if v > low:
            s += v
    return s


def np_axpy(a, x, y):
    y += a * x


def np_three(x, y, out):
    np.add(x, y, out=out)
    np.multiply(out, x, out=out)
    np.subtract(out, 0.5, out=out)


def np_normalise(x, peak, threshold, out):
    np.divide(x, peak, out=out)
    out[:] = np.where(out > threshold, out, 0.0)


CASES = (
    Case(name="axpy", loop=axpy, array=np_axpy, c="axpy", hand="axpy", sizes=SIZES,
         make=flat(2.0, "x", "x"), aim=".9 fast"),
    Case(name="3-op map", loop=three, array=np_three, c="three", sizes=SIZES,
         make=flat("x", "x", "0"), aim="6 NumPy at 10³, 9 at 10⁵, 2.5 from DRAM; .9 fast"),
    Case(name="normalise, threshold", loop=normalise, array=np_normalise, c="normalise",
         sizes=SIZES, make=flat("x", 3.0, 0.1, "0"), limit="copy", aim=".9 limit from L2 on"),
    Case(name="sum", loop=total, array=np.sum, c="sum", hand="sum", sizes=SIZES,
         make=flat("x"), limit="sum", aim=".9 limit from L2 on"),
    Case(name="dot", loop=dot, array=np.dot, c="dot", hand="dot", sizes=SIZES,
         make=flat("x", "x"), aim=".9 fast"),
    Case(name="max - min", loop=extremes, array=np.ptp, c="range", sizes=SIZES,
         make=flat("x"), limit="sum", aim=".9 limit from L2 on"),
    Case(name="filter ≫ map", loop=filter_map, array=lambda low, x: x[x > low] * 2.0,
         c="filter_map", hand="filter_map", sizes=SIZES,
         make=flat(0.5, "x"), limit="copy", aim="25 NumPy, numba at 10⁵; .87 limit from L3 on"),
    Case(name="filter ≫ sum", loop=filter_sum, array=lambda low, x: x[x > low].sum(),
         c="filter_sum", hand="filter_sum", sizes=SIZES,
         make=flat(0.5, "x"), limit="sum", aim=".9 limit from L2 on"),
)
