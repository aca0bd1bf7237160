"""Programs on index arrays, read and written."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, on_arrays
from .programs import F32, Rng, real, whole

__all__ = ["PROGRAMS"]


def chosen(n: int, rng: Rng, dtype=np.int64, low=None):
    return rng.integers(-n if low is None else low, max(n, 1), (n + 1) // 2).astype(dtype)


@on_arrays(
    f64=lambda n, rng: (whole(n, rng), chosen(n, rng)),
    u8=lambda n, rng: (whole(n, rng, F32), chosen(n, rng, np.uint8, 0)),
    strided=lambda n, rng: (whole(2 * n, rng)[::-2], chosen(2 * n, rng, low=0)[::2] // 2),
)
def taken(x, at):
    y = x[at]
    y += x[at[::-1]] * 2
    return y, x[at % 1], x[at].sum(), (x * x)[at].max(initial=0)


@on_arrays(
    f64=lambda n, rng: (whole(n, rng), chosen(n, rng), real((n + 1) // 2, rng)),
    i16=lambda n, rng: (whole(n, rng, np.int16), chosen(n, rng, np.int32), 3),
)
def put(x, at, v):
    x[at] = v
    x[at] += 1
    x[at] -= x[at[::-1]]
    return x


def table(n: int, rng: Rng, dtype=np.float64):
    return whole(n * n, rng, dtype).reshape(n, n), chosen(n, rng), chosen(n, rng)


@on_arrays(python_at=(0,), f64=table, i32=lambda n, rng: table(n, rng, np.int32))
def rows_and_columns_taken(X, r, c):
    Y = X[:, c]
    for i in range(len(X)):
        X[i, r] += X[i, c].sum()
        X[i][c] = i
    return Y, X[r], X[r, c], X[r[:, None], c], X[r, 0], Y * 2


@on_arrays(
    python_at=(0, 1, 3, 9, 17),
    f64=lambda n, rng: (real(n, rng), chosen(n, rng), np.full(3, n)),
)
def outside(x, at, where):
    x[at] = 0
    x[where] = 1
