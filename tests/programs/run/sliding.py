"""Programs of what each element makes of those around it."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, on_arrays
from .programs import F32, real, whole

__all__ = ["PROGRAMS"]


@on_arrays(
    f64=lambda n, rng: (whole(n + 2, rng), whole(n // 3 + 1, rng)),
    f32=lambda n, rng: (whole(n + 2, rng, F32), whole(n // 2 + 1, rng, F32)),
    mixed=lambda n, rng: (whole(n + 2, rng, np.int16), whole(n // 3 + 1, rng)),
)
def slid_windows(x, v):
    return np.convolve(x, v), np.convolve(x, v, "same"), np.correlate(x, v)


@on_arrays(
    f64=lambda n, rng: (real(3 * n + 9, rng).reshape(3, n + 3), np.cumsum(real(n + 3, rng) ** 2)),
    even=lambda n, rng: (whole(3 * n + 9, rng, np.int32).reshape(3, n + 3), 2.0 * np.arange(n + 3)),
)
def slopes(X, at):
    u, v = np.gradient(X, 0.5)
    return u, v, np.gradient(X[0], at), np.gradient(X, axis=1, edge_order=2)


@on_arrays(f64=lambda n, rng: (real(n + 4, rng), np.arange(4.0)), f32=lambda n, rng: (
    real(n + 4, rng, F32), np.arange(4.0)))
def sums_of_shifted_arrays(x, given):
    n = len(x) - 4 + 1
    weights, more = [0.25, 0.5, -0.75, 2.0], (1.0, 0.5, 2.0)
    a, b, c = np.zeros(n), np.zeros(n), np.zeros(n)
    for k in range(4):
        a += x[k : k + n]
        b += weights[k] * x[k : k + n] * given[k]
    for k in range(3):
        c += more[k] * x[k : k + n]
    return a / 4, b, c
