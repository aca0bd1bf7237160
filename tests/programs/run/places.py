"""Programs that go by places: given from either end, all of an array, in lists, several times."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, cube, fortran, on_arrays
from .gathers import chosen
from .programs import F32, Rng, program, real, whole, wide

__all__ = ["PROGRAMS"]


def from_either_end(n: int, rng: Rng):
    X = whole(n * n, rng).reshape(n, n)
    return X, int(rng.integers(-n, n)), int(rng.integers(-n, n)), real(n, rng)


@program(into=PROGRAMS, sizes=(1, 2, 3, 5, 9, 17), f64=from_either_end)
def given_from_either_end(X, j, k, y):
    s = 0.0
    for i in range(len(X)):
        s += X[i, k]
        X[j, i] += y[i]
    y[j] = s
    return X[k].sum() + X[j, k], X[j], y[k]


@program(into=PROGRAMS, python_at=(0, 3), sizes=(0, 3), f64=lambda n, rng: (real(n, rng), -n - 1))
def given_outside(x, k):
    x[k] = 1.0


@on_arrays(f64=wide(), fortran=fortran(), cube=cube(), i16=wide(np.int16))
def all_places(X):
    s = t = 0.0
    for at, v in np.ndenumerate(X):
        s += v * at[0] - at[-1]
    for at in np.ndindex(X.shape):
        X[at] += at[1]
    for v in X.flat:
        if v > 90:
            break
        t += v
    return s, t, X


@on_arrays(f64=lambda n, rng: (wide()(n, rng)[0], n, 4), f32=lambda n, rng: (np.ones((3, n)), 2, n))
def places_of_lengths(X, n, m):
    rows, at = np.zeros((n, m)), 0
    for i, j in np.ndindex(n, m):
        n = 0
        rows[i, j] = at
        at += 1
        if at == 20:
            break
    else:
        at = -1
    for i, j in np.ndindex(*X.shape):
        X[i, j] *= i - j
    return rows, at, X


@on_arrays(
    python_at=(0, 1, 3),
    f64=lambda n, rng: (whole(4 * n, rng).reshape(n, 4), whole(n, rng)),
    i32=lambda n, rng: (whole(4 * n, rng, np.int32).reshape(n, 4), whole(n, rng, np.int32)),
)
def listed(X, x):
    X[[0, 3]] = X[[3, 0]]
    x[[1, -1]] += 2
    X[:, [0, 2]] = 5
    k = len(x) - 1
    return x[[0, k, k - 1]], X[[1, 2]], X[[0, 2], [1, 3]], X[:, [-1, 1]] * 2, X[k, [1, 1, 0]].sum()


@on_arrays(
    python_at=(0,),
    f64=lambda n, rng: (whole(n * n, rng).reshape(n, n), chosen(n, rng), chosen(n, rng)),
    u8=lambda n, rng: (whole(n * n, rng, F32).reshape(n, n), *[chosen(n, rng, np.uint8, 0)] * 2),
)
def opened(X, r, c):
    Y = X[np.ix_(r, c)] * 2
    X[np.ix_(c, r)] = 0.5
    return Y, X[np.ix_(r, r)].sum()


@on_arrays(
    python_at=(0,),
    f64=lambda n, rng: (whole(n, rng), chosen(n, rng), real((n + 1) // 2, rng)),
    i16=lambda n, rng: (whole(n, rng, np.int16), chosen(n, rng, np.int32), 3),
    f32=lambda n, rng: (whole(n, rng, F32), chosen(n, rng), real((n + 1) // 2, rng)),
)
def scattered(x, at, v):
    np.add.at(x, at, v)
    np.subtract.at(x, at[::-1], x[at])
    np.maximum.at(x, at[at >= 0], 1)
    return x


@on_arrays(
    python_at=(0,),
    f64=lambda n, rng: (whole(4 * n, rng).reshape(n, 4), chosen(n, rng), chosen(n, rng)[:1]),
)
def rows_scattered(X, at, one):
    np.add.at(X, at, X[0])
    np.multiply.at(X, (at, 1), 0.5)
    np.add.at(X, (at, at % 4), 1.0)
    np.add.at(X[:, 0], one, 1)
    return X


@on_arrays(python_at=(0, 1, 3, 9, 17), f64=lambda n, rng: (real(n, rng), np.array([n, 0])))
def scattered_outside(x, at):
    np.add.at(x, at, 1.0)
