"""Programs whose loops hold other statements beside a nest, which some may leave and some not."""
from __future__ import annotations

from typing import Any

import numpy as np

from .nests import DEEP, TALL, WIDE, shaped
from .programs import Rng, program, real, whole

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
