"""Programs on tuples of their own, and on ones that are free in them."""
from __future__ import annotations

import numpy as np

from .programs import F32, program, real, two, whole, wide

SIZES = (0, 1, 2, 3, 17)
MOVES = ((1, 0), (0, 1), (-1, 0), (0, -1))
TAPS = (1, -2, 1)
SCALES = (0.25, 0.5, 0.25)


@program(sizes=SIZES, pairs=two(real))
def best_place(x, y):
    best = (-1.0, -1)
    for i in range(len(x)):
        if (x[i], i) > best:
            best = (float(x[i]), i)
    return best, best[1], len(best)


@program(sizes=SIZES, whole=two(whole), f32=two(whole, F32))
def lexicographic(x, y):
    out = np.zeros((len(x), 6), bool)
    for i in range(len(x)):
        a, b = (x[i], y[i]), (y[i], x[i])
        out[i, 0] = a < b
        out[i, 1] = a <= b
        out[i, 2] = a > b
        out[i, 3] = a >= b
        out[i, 4] = a == b
        out[i, 5] = (i, 1) != (1, i) or (i, 2) < (i, 2, 0)
    return out


@program(sizes=SIZES, f64=wide())
def around(X):
    m, n = X.shape[:2]
    out = np.zeros(X.shape[::-1])
    for i in range(m):
        for j in range(n):
            for di, dj in MOVES:
                if 0 <= i + di < m and 0 <= j + dj < n:
                    out[j, i] += X[i + di, j + dj]
    return out, min(X.shape), max(X.shape) + sum(X.shape), (*X.shape[1:], m)


@program(sizes=SIZES, f64=two(whole), f32=two(whole, F32))
def taps(x, y):
    for i in range(1, len(x) - 1):
        s = 0.0
        for k, w in enumerate(TAPS):
            s += w * x[i + k - 1]
        for k in range(len(SCALES)):
            s += SCALES[k] * x[i + k - 1]
        y[i] = s + TAPS[1] + SCALES[i % 3]
    return TAPS[0] in (1, 2)


@program(sizes=SIZES, f64=two(whole))
def turned(x, y):
    state = (1, 2, 3)
    for v in x:
        state = (state[2], state[0], state[1])
        state = state[1:] + state[:1]
        y[:] += v * state[0]
    a, b, c = state
    return a * 100 + b * 10 + c, state


@program(sizes=SIZES, f64=two(whole))
def branching(x, y):
    total = 0.0
    for i in range(len(x)):
        if x[i] > y[i]:
            span = (i, 2)
        elif x[i] < y[i]:
            span = (0, i)
        else:
            span = divmod(i, 3)
        low, high = span
        total += low - high * (span[0] + 1)
        for p in zip(x[i:], y[i:], strict=False):
            total += p[0] * p[1]
    (a, b), c = (total, 1), 2
    return a + b + c


@program(sizes=SIZES, f64=two(whole))
def splatted(x, y):
    bounds = (1, len(x), 2)
    n = len(x)
    for i in range(*bounds):
        x[i] += (y[i - 1], 2.0)[0]
    at = (n - 1, 1)
    grid = np.zeros((n, *bounds[2:]) + (2,))  # noqa: RUF005
    if n:
        grid[(*at, 1)] = 3.0
    for k, extent in enumerate(grid.shape):
        n += extent * (k + 1)
    return grid, n


@program(sizes=SIZES, f64=two(whole))
def strictly(x, y):
    s = 0.0
    for i, (u, v) in enumerate(zip(x, y, strict=True)):
        s += u * v + i
    return s + sum(u - v for u, v in zip(x, y[:], strict=False))
