"""Programs that make arrays inside their loops."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, fortran, matrix_and_row, on_arrays
from .programs import F32, tall, whole, wide

__all__ = ["PROGRAMS"]


@on_arrays(f64=matrix_and_row, f32=lambda n, rng: matrix_and_row(n, rng, F32))
def one_for_each_row(X, y):
    sums, out = np.zeros(len(X)), np.zeros_like(X)
    for i in range(len(X)):
        t = X[i] * 2 + y
        sums[i] = len(t) + (t * 0).sum()
        turned = t[::-1] - y
        t -= 1
        out[i] = t * turned if i else y + t
    return sums, out


@on_arrays(f64=wide(), i32=tall(np.int32), fortran=fortran())
def filled_for_each_pair(X):
    total = np.float64(0)
    for i in range(len(X)):
        for j in range(i):
            d, e = np.zeros_like(X[0] * 1), np.full(3, 2.0)
            d[::2] = X[i, ::2] - X[j, ::2]
            e[0] = i - j
            total += (d * d).sum() * e.sum()
    return total


@on_arrays(f64=lambda n, rng: (whole(n, rng), n))
def until_it_is_large(x, n):
    rounds = 0
    while rounds < n:
        t = x + 1
        x[:] = t[::-1] if rounds % 2 else t * 2
        rounds += 1
    return rounds
