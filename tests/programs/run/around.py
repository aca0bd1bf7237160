"""Programs whose places wrap around, by steps that are known, given, or a few constants."""
from __future__ import annotations

import numpy as np

from .programs import F32, program, real, whole

FEW = (0, 1, 2, 3, 4, 9, 17, 65)


@program(sizes=FEW, f64=lambda n, rng: (real(n, rng),), f32=lambda n, rng: (whole(n, rng, F32),))
def three_ahead_two_behind(x):
    n = len(x)
    out = np.empty(n)
    for i in range(n):
        out[i] = x[(i + 3) % n] - x[(i - 2) % n]
    for i in range(n - 1, 0, -1):
        out[(i + 5) % n] += x[(7 - i) % n]
    return out


@program(
    sizes=FEW, ahead=lambda n, rng: (real(n, rng), int(rng.integers(0, n + 3))),
    behind=lambda n, rng: (real(n, rng), -int(rng.integers(0, n + 3))),
    far=lambda n, rng: (real(n, rng), 1000),
)
def turned(x, k):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[(i + k) % len(x)] = x[i] + x[(i - k) % len(x)]
    return out


@program(
    sizes=(0, 1, 2, 9, 17), python_at=(9,), f64=lambda n, rng: (real(n, rng), real(n % 9, rng)),
)
def around_another(x, y):
    s = 0.0
    for i in range(len(x)):
        if x[i] > -9.0:
            s += y[(i + 2) % len(y)]
    return s


@program(sizes=(0, 1, 2, 3, 9, 17), u8=lambda n, rng: (rng.integers(0, 2, (n, n + 1), np.uint8),))
def generation(g):
    n, m = g.shape
    out = np.zeros_like(g)
    for i in range(n):
        for j in range(m):
            s = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di != 0 or dj != 0:
                        s += g[(i + di) % n, (j + dj) % m]
            out[i, j] = 1 if s == 3 or (s == 2 and g[i, j] == 1) else 0
    return out


@program(sizes=(0, 1, 2, 3, 9), f64=lambda n, rng: (whole(n * (n + 2), rng).reshape(n, n + 2),))
def by_four_steps(X):
    h, w = X.shape
    total = 0.0
    d = None
    for i in range(h):
        for j in range(w):
            for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                total += X[(i + dy) % h, (j + dx) % w] * dy - X[i, j]
            for d in [0.5, 2]:
                total += d * X[i, j]
    return total, d
