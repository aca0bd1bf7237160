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


@on_arrays(
    f64=lambda n, rng: (whole(n, rng), 2), wide=lambda n, rng: (whole(n, rng), n // 2),
    single=lambda n, rng: (real(n, rng), 0), f32=lambda n, rng: (whole(n, rng, F32), 3),
)
def windows_cut_at_the_ends(x, w):
    n = len(x)
    a, b, c, d = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        lo, hi = max(0, i - w), min(n, i + w + 1)
        s = 0.0
        for j in range(lo, hi):
            s += x[j] * (j - lo)
        a[i] = s / (hi - lo)
    for i in range(n):
        b[i] = np.max(x[max(0, i - 1) : i + 2])
        c[i] = x[max(i - w, 0) : min(i + w + 1, n)].sum()
    for i in range(n):
        first = i - 2 if i >= 2 else 0
        d[i] = sum(x[first : i + 1])
    return a, b, c, d


@on_arrays(f64=lambda n, rng: (whole(3 * n + 9, rng).reshape(3, n + 3), 1), wide=lambda n, rng: (
    whole(6 * n + 6, rng).reshape(n + 1, 6), 2))
def blocks_cut_at_the_borders(X, w):
    n, m = X.shape
    a, b = np.zeros((n, m)), np.empty((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(max(0, i - w), min(n, i + w + 1)):
                for q in range(max(0, j - w), min(m, j + w + 1)):
                    a[i, j] += X[k, q]
            b[i, j] = X[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2].mean()
    return a, b
