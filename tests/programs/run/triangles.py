"""Programs whose inner loops run to, or from, the diagonal of a matrix."""
from __future__ import annotations

import numpy as np

from .nests import shaped
from .programs import Make, program, real, whole

FEW = (0, 1, 2, 3, 9, 17, 65)


def triangle(n: int, rng: np.random.Generator) -> tuple[object, ...]:
    """A square of whole numbers, and the length of its side beside it."""
    side = min(n, 17)
    return whole(side * side, rng, np.int64).reshape(side, side), side


@program(sizes=FEW, i64=triangle)
def below_while_there_is_a_row(t, n):
    for i in range(n):
        for j in range(i + 1, n):
            t[i, j] = max(t[i, j], t[i + 1, j])


@program(sizes=FEW, i64=triangle)
def below_if_right_of_the_diagonal(t, n):
    for i in range(n):
        for j in range(i, n):
            if j > i:
                t[i, j] = min(t[i, j], t[i + 1, j - 1])


@program(
    sizes=FEW,
    i64=lambda n, rng: (rng.integers(0, 4, min(n, 17)), *triangle(n, rng)[:1]),
)
def longest_pairing(bases, t):
    n = len(bases)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                t[i, j] = max(t[i, j], t[i, j - 1])
            if i + 1 < n:
                t[i, j] = max(t[i, j], t[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    pair = 1 if bases[i] + bases[j] == 3 else 0
                    t[i, j] = max(t[i, j], t[i + 1, j - 1] + pair)
                else:
                    t[i, j] = max(t[i, j], t[i + 1, j - 1])
            for k in range(i + 1, j):
                t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])


SIDE = 21


@program(sizes=FEW, f64=shaped((SIDE, SIDE)))
def rows_less_rows_above(a):
    for i in range(len(a)):
        for j in range(i, len(a)):
            w = a[i, j]
            for k in range(i):
                w -= a[i, k] * a[k, j]
            a[i, j] = max(-4.0, min(w, 4.0))


@program(sizes=FEW, f64=shaped((SIDE, SIDE)))
def columns_less_columns_before(a):
    for i in range(len(a)):
        for j in range(i):
            w = a[i, j]
            for k in range(j):
                w -= a[i, k] * a[k, j]
            a[i, j] = max(-4.0, min(w, 4.0))


@program(sizes=FEW, f64=shaped((SIDE, 19), (19, 19), fill=real))
def both_triangles(x, out):
    n, m = x.shape
    for i in range(m):
        for j in range(i, m):
            s = 0.0
            for k in range(n):
                s += x[k, i] * x[k, j]
            out[i, j] = s / 3.0
            out[j, i] = out[i, j]


@program(sizes=(3, 9, 17, 65), f64=shaped((SIDE, SIDE), fill=real))
def row_and_column(a):
    for i in range(len(a)):
        a[i, 2] = a[i, 1] * 0.5
        a[2, i] = a[1, i] + 1.0


@program(sizes=FEW, f64=shaped((SIDE, SIDE), fill=real), i64=shaped((SIDE, SIDE), dtype=np.int64))
def mirrored(a):
    for i in range(len(a)):
        for j in range(i):
            a[i, j] = a[j, i]


@program(sizes=FEW, f64=shaped((SIDE, SIDE), (SIDE,), (SIDE,)))
def back_substitution(a, b, x):
    n = len(b)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i, j] * x[j]
        x[i] = max(-4.0, min(s, 4.0))


@program(sizes=FEW, f64=shaped((SIDE, SIDE)), f32=shaped((SIDE, SIDE), dtype=np.float32))
def updated_where_it_is(a):
    for i in range(len(a)):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] = max(-4.0, min(a[i, j], 4.0))


@program(sizes=FEW, f64=shaped((SIDE, SIDE), (SIDE, 5)), f32=shaped((SIDE, SIDE), (SIDE, 37)))
def rows_by_rows(c, a):
    for i in range(len(a)):
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += 2.0 * a[i, k] * a[j, k]


def pair(dtype: type) -> Make:
    """Two arrays of whole numbers."""
    return lambda n, rng: (whole(n, rng, dtype), whole(n, rng, dtype))


@program(sizes=(2, 33, 37), f64=lambda n, rng: (whole(n * n, rng).reshape(n, n),))
def eliminated_below(a):
    for i in range(len(a)):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[k, j]
            a[i, j] = max(-4.0, min(s, 4.0))


@program(sizes=(0, 1, 2, 9, 17, 33, 65), f64=pair(np.float64), f32=pair(np.float32))
def folded_back(r, y):
    for k in range(1, len(r)):
        s = r[k]
        for i in range(k):
            s += r[k - i - 1] * y[i]
        y[k] = max(-4.0, min(s, 4.0))


@program(sizes=FEW, i64=triangle)
def sums_until_the_diagonal(a, side):
    out = np.empty(len(a))
    last = -1
    for i in range(len(a)):
        s = 0.0
        for j in range(a.shape[1]):
            if j > i:
                break
            s += a[i, j]
            last = j
        out[i] = s
    return out, last


@program(sizes=(0, 1, 2, 9, 100), f64=lambda n, rng: (whole(n, rng), n // 2 - 1))
def first_terms(x, n):
    s = 0
    for i in range(len(x)):
        if i >= n:
            s = -s
            break
        s += x[i]
        x[i] = 0.0
    return s
