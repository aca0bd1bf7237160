"""Programs of dynamic programming that keep the best predecessor of each state."""
from __future__ import annotations

import numpy as np

from .programs import F32, Rng, program, real, whole

SIZES = (0, 1, 2, 3, 5, 9, 17, 33)


def table(n: int, rng: Rng, dtype: type = float) -> tuple[np.ndarray, ...]:
    """Scores of 4 times, of which some are NaN or infinite, and steps between n states."""
    scores = whole(4 * n, rng, dtype).reshape(4, n)
    if dtype in (float, F32) and n > 2:
        scores[0, n // 2], scores[0, n - 1] = np.nan, -np.inf
    return scores, whole(n * n, rng, dtype).reshape(n, n)


@program(
    sizes=SIZES, f64=table, f32=lambda n, rng: table(n, rng, F32),
    i32=lambda n, rng: table(n, rng, np.int32), u8=lambda n, rng: table(n, rng, np.uint8),
)
def best_before(d, a):
    t_count, n = d.shape
    before = np.zeros(d.shape, np.int64)
    for t in range(1, t_count):
        for j in range(n):
            best = -np.inf
            at = -1
            for i in range(n):
                v = d[t - 1, i] + a[i, j]
                if v > best:
                    best = v
                    at = i
            before[t, j] = at
            d[t, j] = best if at >= 0 else 0
    return before


@program(sizes=SIZES, f64=table, i16=lambda n, rng: table(n, rng, np.int16))
def first_and_second(d, a):
    n = d.shape[1]
    out = np.zeros((n, 3))
    for j in range(n):
        best = second = np.inf
        at = 0
        for i in range(n):
            v = a[i, j] - d[1, i]
            if v < best:
                second = best
                best = v
                at = i
            elif v < second:
                second = v
        out[j, 0], out[j, 1], out[j, 2] = at, best, second
    return out


@program(sizes=SIZES, f64=lambda n, rng: (real(n * 5, rng).reshape(5, n), n))
def last_of_equal(x, n):
    places = np.empty(n, np.int32)
    for j in range(n):
        low = x[0, j]
        at = 0
        for i in range(5):
            if x[i, j] <= low:
                low = x[i, j]
                at = i
        places[j] = at
    return places


def points(n: int, rng: Rng, dtype: type = float) -> tuple[np.ndarray, ...]:
    """Points, of which one is NaN, centres, and labels that may stay as they are."""
    x = whole(3 * n, rng, dtype).reshape(n, 3)
    if dtype is float and n > 2:
        x[n // 2, 1] = np.nan
    return x, whole(6, rng, dtype).reshape(2, 3), np.full(n, 7)


@program(sizes=SIZES, f64=points, i32=lambda n, rng: points(n, rng, np.int32))
def labels_of_nearest(x, centres, labels):
    for i in range(len(x)):
        best = np.inf
        for c in range(len(centres)):
            s = 0.0
            for j in range(x.shape[1]):
                s += (x[i, j] - centres[c, j]) ** 2
            if s < best:
                best = s
                labels[i] = c


@program(
    sizes=SIZES, f64=lambda n, rng: (whole(n * 5, rng).reshape(n, 5), np.full(n, -0.0), n % 4),
    f32=lambda n, rng: (whole(n * 5, rng, F32).reshape(n, 5), np.full(n, 5, F32), n % 4),
    none=lambda n, rng: (np.zeros((n, 0)), np.full(n, 3.0), 1),
    i64=lambda n, rng: (whole(n * 5, rng, np.int64).reshape(n, 5), np.full(n, 2), n % 4),
)
def where_reached(x, out, t):
    """Elements that some iterations store, in two branches, or keep."""
    last = np.full(len(x), 99)
    for i in range(len(x)):
        for j in range(x.shape[1]):
            if x[i, j] > t:
                out[i] = 0
                last[i] = j
            elif x[i, j] < -t:
                last[i] = -j
    for i in range(len(x)):
        for j in range(x.shape[1]):
            if x[i, j] < out[i]:
                out[i] = x[i, j]
    return last
