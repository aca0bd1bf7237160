"""Loops for threads over flattened tables: rows, columns, blocks and triangles by position.

Widths may be negative, 0, too large for the table, or one less than the rows that are written.
"""
from __future__ import annotations

import numpy as np
from shared_loops import Make, called_with, quarters, twice
from shared_loops_that_end import CASES

__all__ = ["CASES"]

WIDTHS = (11, 1, 0, -3, 64)


def table(n: int, width: int, more: int = 0) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Two tables of rows of `width` elements (or of -`width`), how many rows, and the width."""
    rows = n // 9 + 1
    size = rows * abs(width) + more
    return quarters(size), quarters(size, 1), rows, width


TABLES: list[Make] = [
    *(lambda n, w=w: table(n, w) for w in WIDTHS),
    lambda n: (*table(n, 11)[:3], 12),
    lambda n: (*table(n, 11)[:2], -n, 11),
    lambda n: (*twice(table(n, 11)[0]), n // 9 + 1, 11),
    lambda n: (*table(n, 11)[:2], np.int64(n // 9 + 1), np.int64(11)),
]
"""For functions of a table, the one that is written, rows, and a width."""


@called_with(*TABLES)
def rows_by_position(x, out, h, w):
    for i in range(h):
        for j in range(w):
            out[i * w + j] = x[i * w + j] * 2.0 + i


@called_with(*TABLES)
def rows_overlap(x, out, h, w):
    for i in range(h):
        for j in range(w + 1):
            out[i * w + j] = x[i * w] + j


@called_with(*TABLES)
def add_to_rows(x, out, h, w):
    for i in range(h):
        start = i * w
        for j in range(w):
            k = start + j
            out[k] += x[k]


@called_with(*TABLES)
def columns_by_position(x, out, h, w):
    for i in range(h):
        for j in range(w):
            out[j * h + i] = x[i * w + j]


@called_with(*(lambda n, w=w: (*table(n, w, 7), 7) for w in WIDTHS),
             lambda n: (*table(n, 11), -4), lambda n: (*table(n, 11, 3), -n // 2))
def rows_behind(x, out, h, w, offset):
    for i in range(h):
        for j in range(w):
            out[offset + i * w + j] = x[i * w + j]


@called_with(*(lambda n, w=w: (*table(n, 3 * w)[:3], w) for w in WIDTHS))
def three_of_each(x, out, h, w):
    for i in range(h):
        for j in range(w):
            k = (i * w + j) * 3
            out[k] = x[k + 2]
            out[k + 1] = -x[k + 1]
            out[k + 2] = x[k] + out[k]


@called_with(*(lambda n, w=w: (*table(n, 3 * w)[:3], 3, w) for w in WIDTHS),
             *(lambda n, h=h: (*table(n, 3 * h)[:3], h, 3) for h in WIDTHS))
def cuboid(x, out, d, h, w):
    for i in range(d):
        for j in range(h):
            for k in range(w):
                out[(i * h + j) * w + k] = x[i * h * w + j * w + k] + k


@called_with(*TABLES)
def row_above(x, out, h, w):
    for i in range(1, h):
        for j in range(w):
            out[i * w + j] = out[(i - 1) * w + j] + x[j]


@called_with(*TABLES)
def sums_of_rows(x, out, h, w):
    for i in range(h):
        s = 0.0
        for j in range(w):
            s += x[i * w + j]
        for j in range(w):
            out[i * w + j] = s


@called_with(*TABLES)
def around(x, out, h, w):
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            p = i * w + j
            out[p] = x[p - w] + x[p + w] + x[p - 1] + x[p + 1]


def square(n: int, lacking: int = 0) -> tuple[np.ndarray, np.ndarray, int]:
    """Two flattened square tables and their width, less so many elements."""
    width = max(round(n**0.5), 1)
    size = width * width - lacking
    return quarters(size), quarters(size, 1), width


SQUARES: list[Make] = [
    square, lambda n: square(n, 1), lambda n: (*twice(square(n)[0]), square(n)[2]),
    lambda n: (*square(n)[:2], -1),
]


@called_with(*SQUARES)
def lower_triangle(x, out, n):
    for i in range(n):
        for j in range(i + 1):
            out[i * n + j] = x[i * n + j] * 3.0


@called_with(*SQUARES)
def upper_triangle(x, out, n):
    for i in range(n):
        for j in range(i, n):
            out[i * n + j] = x[j] - x[i]


@called_with(*SQUARES)
def symmetric(x, out, n):
    for i in range(n):
        for j in range(i):
            out[i * n + j] = out[j * n + i] = x[i * n + j]


@called_with(*(lambda n, w=w: table(n, w) for w in WIDTHS), lambda n: (*table(n, 11)[:3], 13))
def blocks(x, out, count, size):
    for b in range(count):
        for i in range(b * size, (b + 1) * size):
            out[i] = x[i] * 2.0


@called_with(*(lambda n, w=w: (*table(n, 8)[:2], w) for w in (11, 1, 64, -3, 10000)))
def blocks_of_an_array(x, out, size):
    for b in range(0, len(x), size):
        for i in range(b, min(b + size, len(x))):
            out[i] = x[i] + b


def factors(n: int, width: int, more: int) -> tuple[np.ndarray, ...]:
    """Two arrays, and one for their outer product, with so many elements more."""
    rows = n // 9 + 1
    return quarters(rows), quarters(width), quarters(max(rows * width + more, 0))


@called_with(*(lambda n, w=w, more=more: factors(n, w, more)
               for w in (0, 1, 16, 40) for more in (0, 5, -1)))
def outer_product(a, b, out):
    for k in range(len(a) * len(b)):
        out[k] = a[k // len(b)] * b[k % len(b)]


@called_with(*(lambda n, w=w: (quarters(n), quarters(w)) for w in (1, 15, 16, 40, 5000)))
def repeated(x, b):
    for k in range(x.shape[0]):
        x[k] = x[k] * b[k % b.shape[0]]


@called_with(*(lambda n, w=w: (n // 9 + 1, w) for w in WIDTHS))
def new_table(h, w):
    out = np.empty(h * max(w, 0))
    for i in range(h):
        for j in range(w):
            out[i * w + j] = i * 0.5 + j
    return out


@called_with(*(lambda n, w=w: (n // 9 + 1, w) for w in WIDTHS))
def new_list(h, w):
    out = [0] * (h * w)
    for i in range(h):
        for j in range(w):
            out[i * w + j] = i + j
    return out


@called_with(*TABLES)
def row_until(x, out, h, w):
    for i in range(h):
        for j in range(w):
            if x[i * w + j] > 3.0:
                break
            out[i * w + j] = x[i * w + j]


@called_with(lambda n: (quarters(n), np.zeros(n), n // 5, 1 << 62),
             lambda n: (quarters(n), np.zeros(n), n // 5, 1 << 61),
             lambda n: (quarters(n), np.zeros(n), n // 5, 3))
def rows_that_wrap_around(x, out, h, w):
    starts = np.arange(h) * w
    for i in range(h):
        for j in range(3):
            out[starts[i] + j] = x[i] + j


@called_with(*(lambda n, w=w: (quarters(abs(w) * (n // 9 + 1)).reshape(-1, abs(w)),
                               np.zeros(abs(w) * (n // 9 + 1))) for w in (11, 1, 64)))
def table_of_an_image(image, out):
    h, w = image.shape
    for i in range(h):
        for j in range(w):
            out[i * w + j] = 1.0 - image[i, j]
