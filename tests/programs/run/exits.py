"""Programs whose loops are left before their end, which wait for something, or return from within.
"""
# ruff: noqa: B007, SIM110, SIM201 (programs as people write them)
from __future__ import annotations

import numpy as np

from .programs import F32, Make, program, real, whole, wild


def sought(dtype: type = np.float64) -> Make:
    """Small numbers, one of them large somewhere, or none."""

    def make(n: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        x = whole(n, rng, dtype)
        if n % 3:
            x[n * 2 // 3] = 100
        return x, 50.0

    return make


@program(f32=sought(F32), f64=sought(), i32=sought(np.int32))
def first_above(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i
    return -1


@program(f64=sought())
def what_and_where(x, t):
    for i, v in enumerate(x):
        if v > t:
            return i, v
    return -1, 0.0


@program(f64=sought())
def perhaps_nothing(x, t):
    for v in x:
        if v > t:
            return v
    return None


@program(f64=sought())
def found_or_else(x, t):
    for i in range(len(x)):
        if x[i] > t:
            k = i
            break
    else:
        k = -1
    return k


@program(f64=sought(), f32=sought(F32))
def skips_and_stops(x, t):
    s = 0.0
    kept = 0
    for v in x:
        if v < 0:
            continue
        if v > t:
            break
        s += v
        kept += 1
    return s, kept


@program(f64=sought())
def stores_until(x, t):
    out = np.zeros_like(x)
    for i in range(len(x)):
        if x[i] > t:
            break
        out[i] = x[i] * 2
    return out


@program(f64=lambda n, rng: (whole(n, rng), np.append(whole(n, rng), 7.0)))
def walks_two_arrays(x, y):
    i = j = common = 0
    while i < len(x) and j < len(y):
        if x[i] == y[j]:
            common += 1
            i += 1
            j += 1
        elif x[i] < y[j]:
            i += 1
        else:
            j += 1
    return i, j, common


@program(f64=lambda n, rng: (whole(n, rng),), sizes=(0, 1, 2, 9, 33))
def sorted_by_insertion(x):
    for i in range(1, len(x)):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v


@program(f64=lambda n, rng: (whole(n, rng),), sizes=(0, 1, 2, 9, 33, 65))
def diffused_around_a_ring(x):
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[(i - 1) % n] - 2 * x[i] + x[(i + 1) % n]
    return out


@program(f64=lambda n, rng: sought()(min(n, 70), rng))
def every_exit_at_once(x, t):
    n = len(x)
    if n == 0:
        return 0.0
    k = 0
    s = 0.0
    while True:
        if x[k] > t:
            return s
        if x[k] < 0:
            k += 1
            if k == n:
                break
            continue
        for j in range(k, n):
            if x[j] == 3:
                break
            s += x[j]
        else:
            return -s
        k += 1
        if k >= n:
            break
    return s * 0.5


@program(i64=lambda n, rng: (rng.integers(0, 1000, n), rng.integers(0, 1000, n)))
def greatest_common_divisors(a, b):
    out = np.zeros(len(a), np.int64)
    for i in range(len(a)):
        p, q = int(a[i]), int(b[i])
        while q:
            p, q = q, p % q
        out[i] = p
    return out


@program(ints=lambda n, rng: (min(n, 70),))
def collatz(n):
    longest = 0
    for start in range(1, n):
        k, steps = start, 0
        while k != 1:
            if k % 2 == 0:
                k //= 2
            else:
                k = 3 * k + 1
            steps += 1
        longest = max(longest, steps)
    return longest


@program(
    f32=lambda n, rng: (real(n, rng, F32, -2, 2), real(n, rng, F32, -2, 2)),
    f64=lambda n, rng: (real(n, rng, low=-2, high=2), real(n, rng, low=-2, high=2)),
)
def mandelbrot(re, im):
    out = np.zeros(len(re), np.int32)
    for i in range(len(re)):
        cr, ci = re[i], im[i]
        zr, zi = cr, ci
        count = 0
        while count < 40 and zr * zr + zi * zi <= 4:
            zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
            count += 1
        out[i] = count
    return out


def plane(bound: int) -> Make:
    """Points most of which are left soon, and a bound that none comes near."""
    return lambda n, rng: (real(n, rng, F32, 1, 3), real(n, rng, F32, -2, 2), bound)


@program(near=plane(200), edge=plane(2**31 - 4), over=plane(2**31 - 3), far=plane(2**40))
def escapes_at_last(re, im, m):
    out = np.zeros(len(re), np.int32)
    odd = np.zeros(len(re), np.uint16)
    for i in range(len(re)):
        zr, zi = re[i], im[i]
        count, above = 0, 5
        while count < m and zr * zr + zi * zi <= 4:
            zr, zi = zr * zr - zi * zi + re[i], 2 * zr * zi + im[i]
            count += 1
            if zi > 0:
                above += 1
        out[i] = count
        odd[i] = above
    return out, odd


@program(ints=lambda n, rng: (min(n, 40), 3))
def mandelbrot_image(w, h):
    out = np.zeros((h, w), np.uint8)
    for row in range(h):
        for col in range(w):
            cr, ci = col * 3.0 / w - 2.0, row * 2.0 / h - 1.0
            zr = zi = 0.0
            for k in range(50):
                if zr * zr + zi * zi > 4.0:
                    break
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
            else:
                k = 50
            out[row, col] = k
    return out


@program(f64=lambda n, rng: (real(n, rng, low=0.5, high=9.0),))
def square_roots(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        y = x[i]
        for _ in range(30):
            z = 0.5 * (y + x[i] / y)
            if abs(z - y) < 1e-9:
                break
            y = z
        out[i] = y
    return out


@program(f64=lambda n, rng: (wild(n, rng),))
def all_finite(x):
    for v in x:
        if not (v - v == 0):
            return False
    return True
