"""Programs on where masks hold: in several axes, of columns, and values one after the other."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, fortran, on_arrays, tall
from .programs import F32, Rng, whole, wide

__all__ = ["PROGRAMS"]


@on_arrays(f64=wide(), fortran=fortran(), u8=tall(np.uint8), bool=wide(bool))
def places_of_two(X):
    i, j = np.nonzero(X)
    k = np.where(X > 2)[1]
    s = 0
    for at in range(len(i)):
        s += i[at] * j[at] + 1
    return i, j, k, s, k.sum()


@on_arrays(f64=lambda n, rng: (whole(n, rng), whole(6 * n, rng, F32).reshape(n, 2, 3)))
def places_of_others(x, A):
    (at,) = x.nonzero()
    i, j, k = np.where(A > 1)
    return at, i, j, k


def spread(n: int, rng: Rng, dtype=np.float64):
    x, m = whole(n, rng, dtype), rng.random(n) < 0.6
    m[:1] = True
    return x, m, whole(m.sum(), rng, dtype)


@on_arrays(f64=spread, i16=lambda n, rng: spread(n, rng, np.int16))
def one_after_the_other(x, m, v):
    x[m] += v
    x[~m] = 3
    x[m] = v * 2
    x[m] -= x[m][::-1]
    x[x > 5] = x[x > 5][::-1]
    return x


@on_arrays(
    python_at=(0, 1, 3, 9, 17), f64=lambda n, rng: (whole(n, rng), np.ones(n), np.ones(n + 2)),
)
def too_many(x, y, v):
    y[:] = 2
    x[y > 0] = v


def columns(n: int, rng: Rng, dtype=np.float64):
    X = whole(4 * n, rng, dtype).reshape(n, 4)
    return X, np.array([True, False, True, True]), rng.random(n) < 0.5, whole(4, rng, dtype)


@on_arrays(
    f64=columns, i32=lambda n, rng: columns(n, rng, np.int32),
    fortran=lambda n, rng: (np.asfortranarray(columns(n, rng)[0]), *columns(n, rng)[1:]),
)
def rows_and_columns_under_masks(X, m, r, row):
    Y = X[:, m]
    X[:, m] *= 2
    X[r] = row
    Z = X[1:, ~m].sum()
    X[:, ~m] = 7
    X[r, :] += 1
    return X, Y, Z, X[r], X[r].sum(axis=0)
