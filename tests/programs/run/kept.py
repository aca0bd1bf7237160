"""Programs that store what passes a test at a count of their own, into what holds something."""
from __future__ import annotations

import numpy as np

from .programs import F32, Rng, program, real, whole

MANY = (0, 1, 2, 7, 9, 16, 17, 33, 65, 1000)


def numbers(dtype):
    return lambda n, rng: (whole(n, rng, dtype),)


@program(
    sizes=MANY, f64=numbers(np.float64), f32=numbers(F32), i8=numbers(np.int8),
    u16=numbers(np.uint16), i64=numbers(np.int64),
)
def kept(x):
    out, at = np.zeros_like(x), np.zeros(len(x), np.int64)
    k = 0
    for i in range(len(x)):
        if x[i] > 2:
            out[k] = x[i]
            at[k] = i
            k += 1
    return out, at[:k], k


@program(sizes=MANY, ulps=64, f64=lambda n, rng: (real(n, rng), np.full(n + 3, 7, F32)))
def kept_with_their_places(x, w):
    at = np.zeros(len(x), np.int32)
    k, total = 0, 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            at[k] = i
            w[k] = 2
            total += x[i]
            k += 1
        else:
            total -= 1.0
    return at, at[:k], total


@program(sizes=MANY, i64=lambda n, rng: (np.sort(whole(n, rng, np.int64)),))
def runs(x):
    values, counts = np.empty(len(x), np.int64), np.zeros(len(x), np.int64)
    k = -1
    for i in range(len(x)):
        if i > 0 and x[i] == x[i - 1]:
            counts[k] += 1
        else:
            k += 1
            values[k] = x[i]
            counts[k] = 1
    return values[: k + 1], counts


@program(sizes=MANY, f64=lambda n, rng: (whole(n, rng),))
def kept_in_place(x):
    k = 0
    for i in range(len(x)):
        if x[i] > 0:
            x[k] = x[i]
            k += 1
    return x[:k], np.flatnonzero(x > 1)


def short(n: int, rng: Rng):
    return whole(n, rng), np.zeros(n // 4)


@program(sizes=(0, 1, 9, 65), python_at=(1, 9, 65), f64=short)
def too_many_to_keep(x, out):
    k = 0
    for v in x:
        if v == v:
            out[k] = v
            k += 1
    return k


@program(sizes=MANY, f64=lambda n, rng: (np.sort(whole(n, rng)),))
def distinct(x):
    out, k, ends = np.zeros(len(x)), 0, 0
    for i in range(len(x)):
        if i == 0 or x[i] != x[i - 1]:
            out[k] = x[i]
            k += 1
        if i != len(x) - 1 and x[i] < x[i + 1]:
            ends += 1
    return out, out[:k], ends
