"""Programs on arrays of four and five axes, and along one of several axes."""
from __future__ import annotations

import numpy as np

from .arrays import EMPTY, PROGRAMS, fortran, on_arrays
from .programs import F32, Rng, tall, whole

__all__ = ["PROGRAMS"]


def four(n: int, rng: Rng, dtype=float):
    return whole(12 * n, rng, dtype).reshape(2, n, 3, 2), whole(2 * n, rng, dtype).reshape(n, 2)


def five(n: int, rng: Rng):
    return whole(24 * n, rng).reshape(2, 2, 3, 2, n), whole(48 * n, rng).reshape(2, 2, 3, 2, 2 * n)


@on_arrays(f64=four, f32=lambda n, rng: four(n, rng, F32))
def four_axes(X, Y):
    Z = np.subtract(X * 2, Y[:, None])
    X[0, 1:] = X[1, :-1]
    Z[:, :, 1] += X[..., ::-1, :][:, :, 0]
    return Z, Z.sum(axis=(0, 2)), X.max(axis=3), X.T + 1


@on_arrays(f64=five)
def five_axes(X, Y):
    Y = Y[..., ::2]
    out = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            for k in range(X.shape[2]):
                for m in range(X.shape[3]):
                    for n in range(X.shape[4]):
                        X[i, j, k, m, n] = X[i, j, k, m, n] * 3 - Y[i, j, k, m, n]
                        out += X[i, j, k, m, n] * Y[i, j, 2 - k, m, n]
    return out, (X + Y).sum(axis=(1, -1)), np.mean(X, axis=0)


@on_arrays(python_at=EMPTY, f64=fortran(), f32=tall(F32), i8=tall(np.int8), bool=tall(bool))
def along_an_axis(X):
    sums, highest = np.cumsum(X, axis=0), np.maximum.accumulate(X, axis=1)
    return sums, highest, X.cumprod(1), X.argmin(axis=0), np.argmax(X, axis=1), np.diff(X, axis=0)
