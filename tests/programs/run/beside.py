"""Programs whose loops hold other statements beside a nest, which some may leave and some not."""
from __future__ import annotations

from typing import Any

import numpy as np

from .nests import DEEP, TALL, WIDE, shaped
from .programs import F64, Rng, program, real, whole

FEW = (0, 1, 2, 3, 9, 17, 33)
PRODUCT = ((TALL, DEEP), (DEEP, WIDE), (TALL, WIDE))


def rows_of(n: int, rng: Rng, dtype: type) -> tuple[Any, ...]:
    """A few rows of n elements, others, a place for the product of each with each, and a column."""
    a, b = (whole(rows * n, rng, dtype).reshape(rows, n) for rows in (7, 19))
    return a, b, np.zeros((7, 19), dtype), np.zeros(7, dtype)


@program(sizes=FEW, f64=shaped(*PRODUCT, fill=real))
def product_from_zero(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@program(sizes=FEW, f64=shaped(*PRODUCT, (TALL,)))
def product_then_rows(a, b, c, y):
    for i in range(c.shape[0]):
        scale = a[i, 0] + 1.0
        for j in range(c.shape[1]):
            c[i, j] *= scale
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += 0.5 * a[i, k] * b[k, j]
        s = 0.0
        for j in range(c.shape[1]):
            s += c[i, j]
        y[i] = s * scale
        if s > 4.0:
            y[i] += 1.0


@program(sizes=FEW, f64=shaped(*PRODUCT))
def product_from_the_row_above(a, b, c):
    for i in range(c.shape[0] - 1):
        for j in range(c.shape[1]):
            c[i + 1, j] = c[i, j]
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i + 1, j] += a[i, k] * b[k, j]


@program(sizes=FEW, f64=shaped(*PRODUCT))
def product_whose_row_changes_the_factor(a, b, c):
    for i in range(c.shape[0]):
        for k in range(b.shape[0]):
            b[k, 0] = c[i, 0]
        for k in range(b.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@program(sizes=FEW, f64=shaped(*PRODUCT, (WIDE,)))
def product_of_rows_kept_for_one_turn(a, b, c, t):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            t[j] = 2.0 * c[i, j]
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
        for j in range(c.shape[1]):
            c[i, j] -= t[j]


@program(
    sizes=(1, 33, 67),
    f64=lambda n, rng: rows_of(n, rng, np.float64), f32=lambda n, rng: rows_of(n, rng, np.float32),
)
def rows_with_rows(a, b, c, low):
    for i in range(len(a)):
        for j in range(len(b)):
            s = a[0, 0]
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s
    for i in range(len(a)):
        m = b[0, 0]
        for k in range(a.shape[1]):
            m = min(m, a[i, k] - b[1, k])
        low[i] = m


@program(sizes=FEW, f64=lambda n, rng: rows_of(n, rng, F64),
         i64=lambda n, rng: rows_of(n, rng, np.int64))
@program(sizes=FEW, aliased=lambda n, rng: (*[whole(40, rng).reshape(5, 8)] * 2, np.ones((5, 5)),
                                            np.ones(5)))
@program(sizes=FEW, none=lambda n, rng: (np.ones((3, n)), np.ones((0, n)), np.ones((3, 0)),
                                         np.ones(3)))
def norms_of_a_row_for_each_other(a, b, c, t):
    for i in range(len(a)):
        for j in range(len(b)):
            s = q = p = t[0] * 0
            most = t[0]
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
                q += a[i, k] * a[i, k]
                p += b[j, k]
                most = max(most, a[i, k])
            c[i, j] = s - q + p + most


@program(sizes=FEW, f64=lambda n, rng: (whole(n * 3, rng).reshape(3, n), np.full(n, 0.5)))
def sums_that_the_loop_changes(a, w):
    for i in range(len(a)):
        for j in range(a.shape[1]):
            total = least = 0.0
            for k in range(a.shape[1]):
                total += w[k] * a[i, k]
                least += min(total, a[i, k])
            w[j] = 0.25 if total > 2.0 else 0.5 if least > 0 else 1.0


@program(sizes=(0, 1, 2, 9, 33), python_at=(9, 33),
         f64=lambda n, rng: (whole(n * 3, rng).reshape(3, n), np.zeros(7)))
def sums_beyond_the_end_of_what_is_read(a, w):
    for i in range(len(a)):
        for j in range(a.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += w[k]
            a[i, j] -= total


@program(sizes=(0, 1, 9), f64=lambda n, rng: (np.zeros((2, n)), np.full(9, 1e200)),
         empty=lambda n, rng: (np.zeros((2, 0)), np.full(max(n, 1), 1e200)))
def squares_that_overflow_if_there_is_a_row(a, w):
    for i in range(len(a)):
        for j in range(a.shape[1]):
            total = 0.0
            for k in range(len(w)):
                total += w[k] * w[k]
            a[i, j] = total
