"""Programs that read what they store at a distance that only the call tells."""
# ruff: noqa: B905 (programs as people write them)
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import F32, F64, Make, program, whole

SIZES = (0, 1, 2, 3, 17, 61, 200)


def apart(dtype: Any, *distances: int) -> dict[str, Make]:
    """An array, a distance from its start that fits, and a threshold."""
    def make(distance: int) -> Make:
        return lambda n, rng: (whole(n, rng, dtype, 0, 9), min(distance, n), dtype(4))

    return {f"{np.dtype(dtype).name}_{d}": make(d) for d in distances}


@program(sizes=SIZES, **apart(F64, 0, 1, 5), **apart(np.int32, 3), **apart(np.uint8, 0, 2))
def moved_down(x, d, t):
    for i in range(len(x) - d):
        x[i] = x[i + d]
    return x, t


@program(sizes=SIZES, **apart(F64, 1, 5, 40), **apart(F32, 0, 3))
def moved_up(x, d, t):
    for i in range(d, len(x)):
        x[i] = x[i - d] + t
    return x


@program(sizes=SIZES, **apart(F64, 0, 1, 4, 50), **apart(F32, 2), **apart(np.int64, 3))
def best_so_far(x, d, t):
    for i in range(len(x) - 1, d - 1, -1):
        if x[i - d] > x[i]:
            x[i] = x[i - d]
    return x, t


@program(sizes=SIZES, **apart(F64, 0, 1, 4, 50), **apart(F32, 2), **apart(np.int16, 3))
def raised_where_low(x, d, t):
    y = x.copy()
    for i in range(len(x) - d):
        if x[i + d] > t:
            x[i] = x[i + d] - x[i]
        y[len(y) - 1 - i] = x[i]
    return x, y


@program(sizes=SIZES, **apart(F64, 0, 1, 4), **apart(np.int32, 2))
def two_rows_apart(x, d, t):
    a = np.zeros((3, len(x) + 1))
    for k in range(3):
        for i in range(len(x) - d):
            a[k, i] = a[k, i + d] + x[i]
        for i in range(len(x) - 1, d - 1, -1):
            a[k, i] = max(a[k, i], a[k, i - d] + 1.0)
    return a, t


@program(sizes=(1, 3, 8, 30), f64=lambda n, rng: (
    whole(5, rng, np.int64, 0, 6), whole(5, rng, F64, 0, 9), n), i32=lambda n, rng: (
    whole(7, rng, np.int32, 1, 9), whole(7, rng, np.int64, 0, 9), n), lists=lambda n, rng: (
    whole(6, rng, np.int64, 1, 9).tolist(), whole(6, rng, F64, 0, 9).tolist(), n))
def packed(weights, values, room):
    best = [0] * (room + 1)
    for w, v in zip(weights, values):
        for c in range(room, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best


@program(sizes=(1, 3, 8, 30), f64=lambda n, rng: (
    whole(5, rng, np.int64, -2, 6), whole(5, rng, F64, 0, 9), n))
def packed_with_negative_weights(weights, values, room):
    best = np.zeros(room + 1)
    for w, v in zip(weights, values):
        for c in range(room - 2, max(w, 0) - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best


@program(sizes=SIZES, **apart(F64, 0, 1, 5), **apart(F32, 3), **apart(np.int16, 2))
def marked_where_raised(x, d, t):
    n = len(x)
    marks, counts, total = [True] * n, [0] * (n + 2), 0
    for i in range(n - 1, d - 1, -1):
        if x[i - d] > x[i]:
            x[i] = x[i - d]
            marks[i] = False
            counts[i + 1] = 3
    for i in range(n - d):
        if x[i + d] > t:
            x[i] = x[i + d]
            marks[i] = x[i] > t + t
    for i in range(n):
        if marks[i]:
            total += i + counts[i]
    return x, total


@program(sizes=(1, 3, 8, 30), f64=lambda n, rng: (
    whole(5, rng, np.int64, 0, 6), whole(5, rng, F64, -2, 9), n), lists=lambda n, rng: (
    whole(6, rng, np.int64, 1, 9).tolist(), whole(6, rng, F64, 0, 9).tolist(), n),
    nan=lambda n, rng: (np.array([2, 1, 1]), np.array([1.0, np.nan, np.inf]), n))
def packed_from_floats(weights, values, room):
    best = [0.0] * (room + 1)
    for w, v in zip(weights, values):
        for c in range(room, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[room], best[0]
