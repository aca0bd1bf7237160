"""Programs that divide a flat position, or a shifted one, to get rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .programs import F32, F64, Make, program, real, whole

SIZES = (0, 1, 3, 16, 33, 64)


def tables(dtype: Any, *lengths: int) -> dict[str, Make]:
    """A flat array of n numbers, and a row of that many."""
    def make(length: int) -> Make:
        return lambda n, rng: (real(n, rng, dtype), real(length, rng, dtype))

    return {f"{np.dtype(dtype).name}_{m}": make(m) for m in lengths}


def flat(*lengths: int, dtype: Any = F64) -> dict[str, Make]:
    """A flat array of n numbers, and the length of a row."""
    def make(length: int) -> Make:
        return lambda n, rng: (real(n, rng, dtype), length)

    return {f"by_{m}".replace("-", "minus_"): make(m) for m in lengths}


def odd_numbers(n: int, rng: Any) -> tuple[Any, ...]:
    """Numbers of every kind, and 17."""
    x = real(n, rng)
    x[::3], x[1::5], x[2::7], x[4::9] = np.nan, -np.inf, -0.0, np.inf
    return x, 17


def shifted(*shifts: int) -> dict[str, Make]:
    def make(shift: int) -> Make:
        return lambda n, rng: (whole(n, rng), shift)

    return {f"by_{s}".replace("-", "minus_"): make(s) for s in shifts}


@program(sizes=SIZES, **tables(F64, 17, 16, 5, 100), **tables(F32, 20))
def periodic(x, b):
    y = np.empty(len(x), x.dtype)
    m = len(b)
    for k in range(len(x)):
        y[k] = x[k] * b[k % m]
    return y


@program(sizes=SIZES[1:], f64=lambda n, rng: (whole(n * 18, rng).reshape(n, 18),))
def rows_by_divmod(a):
    n, m = a.shape
    out = np.zeros((n, m))
    total = 0.0
    for k in range(n * m):
        i, j = divmod(k, m)
        out[i, j] = a[i, j] * 2.0
        total += a[i, j] * j
    return out, total


@program(sizes=(1, 3, 20), f64=lambda n, rng: (real(n * 18, rng).reshape(n, 18), n * 18 - 5, 18))
def places_of_large(a, n, m):
    found = [0]
    best, at = -1.0, -1
    for k in range(n):
        if a[k // m, k % m] > 0.25:
            found.append(k % m)
        if a[k // m, k % m] > best:
            best, at = a[k // m, k % m], k
    return np.array(found), at


@program(
    sizes=(33, 64), python_at=(33, 64),
    f64=lambda n, rng: (real(2 * 16, rng).reshape(2, 16), n, 16),
    wide=lambda n, rng: (real(8 * 16, rng).reshape(8, 16), n, 17),
    zero=lambda n, rng: (real(8 * 16, rng).reshape(8, 16), n, 0),
)
def behind_the_end(a, n, m):
    s = 0.0
    for k in range(n):
        s += a[k // m, k % m]
    return s


@program(sizes=SIZES, odd=odd_numbers, **flat(16, 40, 3, 1, -1, -20))
def repeated(x, f):
    y = np.zeros(len(x) + 1)
    for k in range(len(x)):
        y[k] = x[k // f] + (k - k // f * f)
    return y


@program(
    sizes=SIZES, **shifted(0, 1, -1, 20, 1000, -1000, 2**60, 2**61 - 1, -(2**61)),
)
def rolled(x, s):
    y = np.zeros(len(x))
    n = len(x)
    for i in range(n):
        y[i] = x[(i + s) % n]
    return y


@program(sizes=SIZES, **shifted(0, 5, -7))
def rolled_in_place(x, s):
    n = len(x)
    for i in range(1, n):
        x[i] = x[(i + s) % n] + 1.0
    return x


@program(sizes=SIZES, i64=lambda n, rng: (rng.integers(-9, 9, n + 1), 24))
def by_hour(x, m):
    sums = np.zeros(m, np.int64)
    for k in range(len(x)):
        sums[k % m] += x[k]
        if k % 24 == 0:
            sums[0] -= 1
    return sums, sum(x[i] * (i % 30) for i in range(len(x)))
