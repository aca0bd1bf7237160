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
