"""Programs that keep an extremum by its place alone, and compare with what stands there."""
from __future__ import annotations

import numpy as np

from .programs import F32, PROGRAMS, Rng, program, real, whole, wild

__all__ = ["PROGRAMS"]


@program(
    f64=lambda n, rng: (real(n, rng),), wild=lambda n, rng: (wild(n, rng),),
    f32=lambda n, rng: (whole(n, rng, F32),), i16=lambda n, rng: (whole(n, rng, np.int16),),
)
def place_of_the_largest(x):
    best = 0
    for i in range(1, len(x)):
        if x[i] > x[best]:
            best = i
    return best


@program(f64=lambda n, rng: (real(n, rng), whole(n, rng)))
def places_of_both_ends(x, y):
    low = high = last = 0
    for i in range(len(x)):
        if x[i] < x[low]:
            low = i
        elif x[i] >= x[high]:
            high = i
        if y[i] <= y[last] and x[i] > 0.5:
            last = i
    return low, high, last


def rows(n: int, rng: Rng):
    return (whole(n * 70, rng).reshape(n, 70),)


@program(sizes=(0, 1, 9), f64=rows)
def places_in_rows(X):
    n, m = X.shape
    out = np.zeros(n, np.int64)
    for i in range(n):
        best = 0
        for j in range(m):
            if X[i, j] < X[i, best]:
                best = j
        out[i] = best
    return out


@program(sizes=(0, 1, 2, 9, 65), f64=lambda n, rng: (real(n, rng),))
def sorted_by_selection(x):
    n = len(x)
    for i in range(n):
        least = i
        for j in range(i + 1, n):
            if x[j] < x[least]:
                least = j
        x[i], x[least] = x[least], x[i]
