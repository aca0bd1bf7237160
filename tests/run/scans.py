"""Programs whose loops carry something: the place of an extremum."""
from __future__ import annotations

import numpy as np

from .programs import F32, program, whole, wild


def tripled(fill, *more):
    """One array of 3 n elements: several blocks of a search at the largest size."""
    return lambda n, rng: (fill(3 * n, rng, *more),)


@program(
    python_at=(0,),
    f32=tripled(wild, F32),
    i16=tripled(whole, np.int16),
)
def places_of_extrema(x):
    lo = hi = x[0]
    first = last = -1
    total = 0
    for i in range(len(x)):
        total += i
        if x[i] < lo:
            lo = x[i]
            first = i
        if hi <= x[i]:
            hi, last = x[i], i
    return lo, hi, first, last, total


@program(f64=lambda n, rng: (wild(3 * n, rng), wild(3 * n, rng), rng.random(3 * n) < 0.1))
def nearest_of_some(x, y, on):
    best = float("inf")
    latest = best
    k = j = -1
    v = 0.0
    for i in range(len(x)):
        d = abs(x[i] - 0.5)
        if on[i] and d < best:
            best, k, v = d, i, y[i]
        if on[i] and y[i] <= latest:
            latest, j = y[i], i
    return best, k, v, latest, j
