"""Programs on masks: what they choose, what is stored under them, where they hold."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, fortran, on_arrays
from .programs import F32, Rng, one, two, whole

__all__ = ["PROGRAMS"]


def rows_and_mask(n: int, rng: Rng, dtype=np.float64):
    return whole(5 * n, rng, dtype).reshape(n, 5), rng.random(n) < 0.5


@on_arrays(f64=two(whole), f32=two(whole, F32))
def chosen_by_masks(x, y):
    v = x[x > y]
    w = v * 2
    for i in range(len(v)):
        w[i] += i
    return v, w.sum(), x[y > 2].sum(), len(y[y < 0]), y[x == y], x[x > 99]


@on_arrays(f64=rows_and_mask, i16=lambda n, rng: rows_and_mask(n, rng, np.int16))
def rows_by_masks(X, m):
    sums = np.zeros(len(X))
    for i in range(len(X)):
        row = X[i]
        above = row[row > 0]
        if len(above) > 1:
            sums[i] = above.mean() + above[-1] - above[0]
    return sums, X[m], X[m, 1], X[m, 2:], X[X > 1]


@on_arrays(f64=lambda n, rng: (whole(n, rng), whole(n, rng), rng.random(n) < 0.3))
def stored_under_masks(x, y, m):
    x[x > 3] = 0
    x[m] += y[m] * 2
    y[~m] = -1
    y[y < x] *= x[y < x]
    x[x[::-1] > 0] -= 1
    return x, y


@on_arrays(
    long=True, f64=rows_and_mask, fortran=lambda n, rng: (*fortran()(n, rng), np.ones(n) > 1)
)
def rows_stored_under_masks(X, m):
    X[m] = 5
    X[m, 0] += 1
    X[X > 4] *= 2
    return X


@on_arrays(python_at=(0,), f64=one(whole), u8=one(whole, np.uint8))
def where_it_holds(x):
    total = 0
    for k in np.flatnonzero(x > 1):
        total += k * 2
    chosen = x[np.flatnonzero(x)]
    return total, np.where(x < 0)[0], np.nonzero(x)[0], chosen, chosen.sum()
