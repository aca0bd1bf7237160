"""Programs that are nests of loops; sizes are cut to what the interpreter runs in short time."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .programs import F32, F64, Make, program, real, whole

__all__: list[str] = []

TALL, WIDE, DEEP, LARGEST = 8, 40, 3, 33  # rows of a tile and more, vectors side by side and more


def shaped(*shapes: Sequence[int], dtype: Any = F64, fill: Any = whole) -> Make:
    """Arrays of those shapes, or less if n is less; small ones again where it is large."""

    def make(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
        least = n if n <= LARGEST else n % 10
        cut = [tuple(min(k, least) for k in shape) for shape in shapes]
        return tuple(fill(int(np.prod(s)), rng, dtype).reshape(s) for s in cut)

    return make


PRODUCT = ((TALL, DEEP), (DEEP, WIDE), (TALL, WIDE))


@program(
    f64=shaped(*PRODUCT, fill=real), f32=shaped(*PRODUCT, dtype=F32, fill=real),
    i32=shaped(*PRODUCT, dtype=np.int32),
)
def matrix_product(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = c[i, j]
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def long_sums(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A product whose sums have n terms."""
    shapes = (3, n), (n, 5), (3, 5)
    return tuple(real(a * b, rng).reshape(a, b) for a, b in shapes)


@program(f64=long_sums, sizes=(0, 1, 2, 700, 1100))
def product_in_strips(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def repeated(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Each of four elements twice, as often as that fits into n elements."""
    return whole(4, rng), 2, np.zeros(n)


@program(f64=repeated, sizes=(1, 8, 16, 19, 64))
def elements_again_and_again(x, often, out):
    turns = len(out) // (often * len(x))
    for i in range(len(x)):
        value = x[i]
        for k in range(often):
            for turn in range(turns):
                place = k * len(x) * turns + i * turns + turn
                out[place] = value


@program(f64=shaped(*PRODUCT, fill=real))
def product_in_memory(a, b, c):
    for j in range(c.shape[1]):
        for k in range(a.shape[1]):
            for i in range(c.shape[0]):
                c[i, j] += a[i, k] * b[k, j]


@program(f64=shaped(*PRODUCT))
def product_by_rows(a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@program(f32=shaped((TALL, WIDE), (WIDE,), (TALL,), dtype=F32))
def rows_times_vector(a, x, y):
    for i in range(y.shape[0]):
        s = np.float32(0.0)
        for k in range(x.shape[0]):
            s += a[i, k] * x[k]
        y[i] = s


@program(f64=shaped((TALL, WIDE), (TALL,), (WIDE,), fill=real))
def columns_times_vector(a, x, y):
    for j in range(y.shape[0]):
        s, n = 0.0, 0
        for k in range(x.shape[0]):
            s += a[k, j] * x[k]
            n += 1
        y[j] = s / (n + 1)


@program(f64=shaped((TALL, WIDE), (TALL, WIDE), fill=real))
def smoothed_twice(a, b):
    for _ in range(2):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]


@program(f32=shaped((TALL, WIDE), (WIDE, TALL), dtype=F32, fill=real))
def turned(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[j, i] = a[i, j]


@program(f64=shaped((17, DEEP), (17, 17)))
def distances(x, d):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                t = x[i, k] - x[j, k]
                s += t * t
            d[i, j] = s


@program(f64=shaped((TALL, DEEP), (WIDE, DEEP)), sizes=(0, 1, 9, LARGEST))
def nearest(x, q):
    place = np.empty(len(q), np.int64)
    for j in range(len(q)):
        best, at = np.inf, -1
        for i in range(len(x)):
            d = 0.0
            for k in range(x.shape[1]):
                d += (x[i, k] - q[j, k]) ** 2
            if d < best:
                best, at = d, i
        place[j] = at
    return place


@program(
    f64=shaped((LARGEST, DEEP), (LARGEST, LARGEST)),
    f32=shaped((LARGEST, DEEP), (LARGEST, LARGEST), dtype=F32),
    sizes=(0, 1, 9, LARGEST),
)
def distances_by_rows(x, d):
    for i in range(x.shape[0]):
        first = x[i, 0]
        for j in range(x.shape[0]):
            s = first - first
            for k in range(x.shape[1]):
                t = x[i, k] - x[j, k]
                s += t * t
            d[i, j] = np.sqrt(s)


@program(
    f64=shaped((13, WIDE), (3, 3), (13, WIDE), fill=real),
    f32=shaped((13, WIDE), (3, 3), (13, WIDE), dtype=F32, fill=real),
    sizes=(3, 7, 9, LARGEST),
)
def convolved(x, w, y):
    for i in range(x.shape[0] - 2):
        for j in range(x.shape[1] - 2):
            s = 0.0
            for p in range(3):
                for q in range(3):
                    s += x[i + p, j + q] * w[p, q]
            y[i, j] = s


@program(f64=shaped((TALL, WIDE), (TALL, WIDE), fill=real))
def running_down(a, b):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = max(b[i - 1, j], a[i, j]) * 0.5


@program(i64=shaped((TALL, WIDE), (TALL, WIDE), (WIDE,), dtype=np.int64))
def largest_of_sums(a, b, c):
    for j in range(a.shape[1]):
        m = -1
        for i in range(a.shape[0]):
            s = 0
            for k in range(a.shape[0]):
                s += a[k, j] * b[i, j]
            if s > m:
                m = s
        c[j] = m


@program(
    f64=shaped((17, DEEP), (4, DEEP), fill=real),
    f32=shaped((17, 9), (4, 9), dtype=F32, fill=real),
)
def nearest_centre(x, c):
    labels = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        best = np.inf
        k = -1
        for j in range(len(c)):
            d = 0.0
            for m in range(x.shape[1]):
                t = x[i, m] - c[j, m]
                d += t * t
            if d < best:
                best = d
                k = j
        labels[i] = k
    return labels


@program(
    f64=shaped((TALL, LARGEST), (TALL,), fill=whole),
    f32=shaped((TALL, LARGEST), (TALL,), dtype=F32, fill=whole),
    i64=shaped((TALL, LARGEST), (TALL,), dtype=np.int64),
    u8=shaped((TALL, LARGEST), (TALL,), dtype=np.uint8),
)
def total_of_column_sums(x, w):
    total = 0.0
    count = 0
    for j in range(x.shape[1]):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i, j] * w[i]
        total += s * s
        count += s > 0
    return total, count


@program(f64=shaped((TALL, DEEP), (DEEP, LARGEST), fill=whole))
def norm_of_a_product(a, b):
    rows = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(b.shape[1]):
            d = 0.0
            for k in range(a.shape[1]):
                d += a[i, k] * b[k, j]
            s += d * d
        rows[i] = s
    return rows


@program(f64=shaped((TALL, LARGEST), fill=whole))
def every_column_falls(x):
    for j in range(x.shape[1]):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i, j]
        if s > 0:
            return False
    return True


@program(
    f64=shaped((TALL, WIDE), (WIDE,), (TALL,)),
    f32=shaped((TALL, WIDE), (WIDE,), (TALL,), dtype=F32),
    i32=shaped((TALL, WIDE), (WIDE,), (TALL,), dtype=np.int32),
)
def columns_added_to_rows(a, x, y):
    for j in range(x.shape[0]):
        for i in range(y.shape[0]):
            y[i] += a[i, j] * x[j]


@program(f64=shaped((LARGEST, LARGEST), (LARGEST,)))
def columns_times_what_changes(a, y):
    for j in range(y.shape[0]):
        t = y[j]
        for i in range(y.shape[0]):
            y[i] -= a[i, j] * t


@program(f64=shaped(*PRODUCT))
def product_by_rows_of_one_factor(a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            t = a[i, k]
            for j in range(c.shape[1]):
                c[i, j] += t * b[k, j]


@program(
    f64=shaped((TALL, WIDE + 1), (WIDE + 1,)),
    f32=shaped((TALL, WIDE + 1), (WIDE + 1,), dtype=F32),
    i64=shaped((TALL, WIDE + 1), (WIDE + 1,), dtype=np.int64),
)
def totals_by_columns(a, x):
    total, above, greatest = 0.0, 0, 0
    for j in range(a.shape[1]):
        w = x[j]
        for i in range(a.shape[0]):
            if a[i, j] > 0:
                total += a[i, j] * w
                above += 1
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            greatest = max(greatest, a[i, j])
    return total, above, greatest


@program(f64=shaped((DEEP, TALL, WIDE)))
def total_by_layers(a):
    total = 0.0
    for k in range(a.shape[2]):
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                total += a[i, j, k]
    return total


@program(sizes=(0, 1, 2, 5, 6, 17), f64=shaped((9, WIDE)), f32=shaped((WIDE, 9), dtype=F32))
def blocks_of_a_constant_size(X):
    n, m = X.shape
    sums, tops = np.empty((n // 2, m // 2)), np.empty((n // 3, m // 3))
    for i in range(n // 2):
        for j in range(m // 2):
            sums[i, j] = np.sum(X[2 * i : 2 * i + 2, 2 * j : 2 * j + 2])
    for i in range(n // 3):
        for j in range(m // 3):
            tops[i, j] = X[i * 3 : i * 3 + 3, j * 3 : j * 3 + 4].max()
    return sums, tops
