"""Programs on masks of lanes: bools as bits of an integer, and back."""
# ruff: noqa: B905 (programs as people write them)
from __future__ import annotations

import numpy as np

from transpile import ops
from transpile.ops import to_bitmask

from .programs import Rng, program, whole

SIZES = (0, 1, 9, 33, 63, 64)


def lanes(n: int, rng: Rng) -> tuple[np.ndarray, float, int]:
    return whole(n, rng), 1.0, n


@program(sizes=SIZES, f64=lanes)
def taken_and_asked(x, limit, n):
    m = ops.to_bitmask(x > limit)
    other = m ^ ops.mask_not(m, n // 2)
    odd = ops.from_bitmask(other & m, n) | (x == 1.0)
    return (
        m, other, odd, ops.popcount(m), ops.first_set(m), ops.any_set(other), ops.all_set(m, n),
        ops.from_bitmask(-5, n),
    )


def rows(n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    return rng.random((9, n)), np.zeros(9, np.uint64)


@program(sizes=SIZES, f64=rows)
def a_mask_a_row(X, out):
    full = 0
    for i in range(len(X)):
        out[i] = to_bitmask(X[i] < 0.75)
        if ops.has_bit(out[i], 3) and not ops.all_set(out[i], 5):
            full += 1
    return full


@program(sizes=(0, 1, 9, 65), f64=lambda n, rng: (whole(n, rng), whole(n, rng)))
def of_conditions(x, y):
    count = np.zeros(8, np.int64)
    for a, b in zip(x, y):
        count[ops.to_bitmask([a > 0, b > 0, a > b])] += 1
    return count


@program(f64=lambda n, rng: (3 * rng.random(n), np.zeros(n)), f32=lambda n, rng: (
    (3 * rng.random(n)).astype("f4"), np.zeros(n, "f4")))
def rare_and_dear(x, y):
    far = 0
    for i in range(len(x)):
        if x[i] > 2.75:
            y[i] = np.sqrt(x[i]) / np.sqrt(x[i] + 1) / (x[i] + 2)
            far += 1
    return [np.sqrt(v) / np.sqrt(v + 1) / (v + 2) for v in x if v > 2.875], far


@program(i64=lambda n, rng: (whole(n, rng, np.int64), whole(n, rng, np.int16)))
def sums_that_are_checked_once(x, h):
    bits = small = 0
    rest = 7
    for i in range(len(x)):
        bits += int(ops.popcount(x[i] & 6))
        small += int(h[i]) * 3
    for i in range(len(h)):
        if h[i] > 0:
            rest -= int(h[i])
    return bits, small, rest


@program(sizes=SIZES, **{
    dtype: lambda n, rng, dtype=dtype: (whole(n, rng, dtype, 0), 3)
    for dtype in ("f8", "f4", "i4", "i2", "u1")
})
def flags_of_flags(x, t):
    n = len(x)
    low = np.zeros(n, bool)
    odd, rare, seen = low.copy(), low.copy(), np.zeros(n, bool)
    for i in range(n):
        low[i] = x[i] < t
    for i in range(n):
        odd[i] = low[n - 1 - i] ^ (x[i] > 5)
        rare[n - 1 - i] = low[n - 1 - i] & (x[i] > 1)
    for i in range(n):
        seen[i] = odd[n - 1 - i] | rare[n - 1 - i] & (x[i] != 4)
    out = 0
    for i in range(n):
        if seen[i] and low[n - 1 - i]:
            out += i
    return out, seen
