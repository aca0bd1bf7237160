"""Programs on views under names of their own: slices, windows, rows, columns, strides."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, on_arrays
from .programs import F32, Rng, program, real, whole, wide

__all__: list[str] = []


def two_vectors(dtype):
    return lambda n, rng: (whole(n, rng, dtype), whole(n, rng, dtype))


@on_arrays(f64=two_vectors(float), i16=two_vectors(np.int16))
def neighbours(x, y):
    left, middle, right = x[:-2], x[1:-1], x[2:]
    y[1:-1] = left + middle + right
    left[:] = right
    middle += 1
    x[::2] -= x[::2] + y[::2]
    return middle.sum(), y[1::2] + 0, right * 2


def bounds(n: int, rng: Rng):
    return real(n, rng), int(rng.integers(-n - 1, n + 2)), int(rng.integers(-n - 1, n + 2))


@program(into=PROGRAMS, sizes=(0, 1, 2, 3, 5, 9, 17, 40), drawn=bounds)
def bounds_that_come_with_the_call(x, k, n):
    a, b, c = x[k:n], x[n:k:-2], x[k:]
    c *= 2.0
    a[1:] = a[:-1]
    return a + 0, b * 1, a.sum(), len(c), c[::-1] - c


@on_arrays(f64=lambda n, rng: (whole(n, rng), 2), f32=lambda n, rng: (whole(n, rng, F32), 1))
def windows(x, w):
    wide, narrow = np.zeros(len(x)), np.zeros(len(x))
    for i in range(len(x)):
        wide[i] = x[max(i - w, 0) : i + w + 1].sum()
    for i in range(1, len(x) - 1):
        v = x[i - 1 : i + 2]
        narrow[i] = v.max() * v[1] - v[-1]
    return wide, narrow


@on_arrays(python_at=(0,), f64=wide(), i32=wide(np.int32))
def rows_and_columns(X):
    for i in range(len(X)):
        row = X[i]
        row -= row[0]
        row[1:] *= 2
    for j in range(X.shape[1]):
        column = X[:, j]
        column[0] += column[-1]
    turned, diagonal = X.T, X[:, ::-2]
    turned[0] += 1
    return turned @ X, diagonal + 1


@on_arrays(f64=lambda n, rng: (whole(6 * n, rng).reshape(n, 6), n // 2, n % 3))
def returned_views(X, i, k):
    n = 0
    kept = np.empty(X.size)
    for row in X:
        for v in row:
            if v > 1:
                kept[n] = v
                n += 1
    return kept[:n], X[i:], X[:, k::-2], X.T[1:, None], X[:, k], X[k:i:2, 1]


@on_arrays(f64=lambda n, rng: (whole((n + 2) ** 2, rng).reshape(n + 2, n + 2), n // 2))
def new_axes_beside_slices(X, k):
    X[k:, k:] -= X[k:, k, None] * X[None, k, k:]
    return X[0, k:, None] - X[0, None, : k + 1], X[..., k:, None]
