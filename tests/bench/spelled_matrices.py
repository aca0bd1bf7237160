"""Spellings of matrix idioms: products, reductions of rows and columns, tables of pairs."""
# ruff: noqa: B905 (functions as people write them)
from __future__ import annotations

import math

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def matrix_product_ijk(a, b):
    n, m, p = a.shape[0], b.shape[1], a.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(p):
                c[i, j] += a[i, k] * b[k, j]
    return c


def matrix_product_ijk_accumulator(a, b):
    n, m, p = a.shape[0], b.shape[1], a.shape[1]
    c = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for k in range(p):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def matrix_product_jik(a, b):
    n, m, p = a.shape[0], b.shape[1], a.shape[1]
    c = np.zeros((n, m))
    for j in range(m):
        for i in range(n):
            for k in range(p):
                c[i][j] += a[i][k] * b[k][j]
    return c


def matrix_product_ikj(a, b):
    n, m, p = a.shape[0], b.shape[1], a.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for k in range(p):
            for j in range(m):
                c[i, j] += a[i, k] * b[k, j]
    return c


def matrix_product_kij(a, b):
    n, m, p = a.shape[0], b.shape[1], a.shape[1]
    c = np.zeros((n, m))
    for k in range(p):
        for i in range(n):
            for j in range(m):
                c[i, j] += a[i, k] * b[k, j]
    return c


def matrix_product_jki(a, b):
    n, m, p = a.shape[0], b.shape[1], a.shape[1]
    c = np.zeros((n, m))
    for j in range(m):
        for k in range(p):
            for i in range(n):
                c[i, j] += a[i, k] * b[k, j]
    return c


def matrix_product_kji(a, b):
    n, m, p = a.shape[0], b.shape[1], a.shape[1]
    c = np.zeros((n, m))
    for k in range(p):
        for j in range(m):
            for i in range(n):
                c[i, j] += a[i, k] * b[k, j]
    return c


def matrix_product_generator(a, b):
    n, m, p = a.shape[0], b.shape[1], a.shape[1]
    c = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            c[i, j] = sum(a[i, k] * b[k, j] for k in range(p))
    return c


def matrix_product_rows_and_columns(a, b):
    c = np.empty((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = np.dot(a[i], b[:, j])
    return c


def matrix_product_whole(a, b):
    return a @ b


def matrix_vector_accumulator(a, x):
    y = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s
    return y


def matrix_vector_in_array(a, x):
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] += a[i][j] * x[j]
    return y


def matrix_vector_columns(a, x):
    y = np.zeros(a.shape[0])
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            y[i] += a[i, j] * x[j]
    return y


def matrix_vector_rows(a, x):
    y = np.empty(len(a))
    for i, row in enumerate(a):
        s = 0.0
        for v, u in zip(row, x):
            s += v * u
        y[i] = s
    return y


def matrix_vector_generator(a, x):
    return np.array([sum(v * u for v, u in zip(row, x)) for row in a])


def matrix_vector_np_dot_of_rows(a, x):
    y = np.empty(len(a))
    for i in range(len(a)):
        y[i] = np.dot(a[i], x)
    return y


def matrix_vector_sum_of_products(a, x):
    return (a * x).sum(axis=1)


def matrix_vector_whole(a, x):
    return a @ x


def transposition_rows(a):
    out = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]
    return out


def transposition_columns(a):
    out = np.empty((a.shape[1], a.shape[0]))
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            out[j][i] = a[i][j]
    return out


def transposition_row_by_row(a):
    out = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        out[:, i] = a[i]
    return out


def transposition_column_by_column(a):
    out = np.empty((a.shape[1], a.shape[0]))
    for j in range(a.shape[1]):
        out[j] = a[:, j]
    return out


def transposition_copy(a):
    return a.T.copy()


def transposition_contiguous(a):
    return np.ascontiguousarray(a.T)


def transposition_assignment(a):
    out = np.empty((a.shape[1], a.shape[0]))
    out[:] = a.T
    return out


def outer_product_range(x, y):
    out = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j] = x[i] * y[j]
    return out


def outer_product_columns(x, y):
    out = np.empty((len(x), len(y)))
    for j in range(len(y)):
        for i in range(len(x)):
            out[i, j] = x[i] * y[j]
    return out


def outer_product_enumerate(x, y):
    out = np.zeros((len(x), len(y)))
    for i, v in enumerate(x):
        for j, u in enumerate(y):
            out[i][j] = v * u
    return out


def outer_product_rows(x, y):
    out = np.empty((len(x), len(y)))
    for i in range(len(x)):
        out[i] = x[i] * y
    return out


def outer_product_broadcast(x, y):
    return x[:, None] * y[None, :]


def outer_product_np_outer(x, y):
    return np.outer(x, y)


def outer_product_comprehension(x, y):
    return np.array([[v * u for u in y] for v in x])


def row_argmax_subscripts(a):
    out = np.empty(a.shape[0], np.int64)
    for i in range(a.shape[0]):
        at = 0
        for j in range(1, a.shape[1]):
            if a[i, j] > a[i, at]:
                at = j
        out[i] = at
    return out


def row_argmax_chained_subscripts(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        best, at = a[i][0], 0
        for j in range(len(a[i])):
            if a[i][j] > best:
                best = a[i][j]
                at = j
        out[i] = at
    return out


def row_argmax_rows(a):
    out = np.empty(len(a), np.int64)
    for i, row in enumerate(a):
        best, at = -math.inf, 0
        for j, v in enumerate(row):
            if v > best:
                best, at = v, j
        out[i] = at
    return out


def row_argmax_np_argmax(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        out[i] = np.argmax(a[i])
    return out


def _argmax(row):
    at = 0
    for j in range(len(row)):
        if row[j] > row[at]:
            at = j
    return at


def row_argmax_helper(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        out[i] = _argmax(a[i])
    return out


def row_argmax_comprehension(a):
    return np.array([_argmax(row) for row in a])


def row_argmax_whole(a):
    return a.argmax(axis=1)


def unit_rows_subscripts(a):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] ** 2
        s = math.sqrt(s)
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] / s
    return out


def unit_rows_chained_subscripts(a):
    out = np.zeros(a.shape)
    for i in range(len(a)):
        s = 0.0
        for j in range(len(a[i])):
            s += a[i][j] * a[i][j]
        for j in range(len(a[i])):
            out[i][j] = a[i][j] / s ** 0.5
    return out


def unit_rows_rows(a):
    out = np.empty_like(a)
    for i, row in enumerate(a):
        out[i] = row / np.sqrt(np.sum(row ** 2))
    return out


def unit_rows_norm_of_rows(a):
    out = np.empty_like(a)
    for i in range(len(a)):
        out[i, :] = a[i, :] / np.linalg.norm(a[i, :])
    return out


def unit_rows_norms_first(a):
    norms = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            norms[i] += a[i, j] * a[i, j]
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] / np.sqrt(norms[i])
    return out


def unit_rows_whole(a):
    return a / np.sqrt((a * a).sum(axis=1))[:, None]


def unit_rows_norm(a):
    return a / np.linalg.norm(a, axis=1, keepdims=True)


def column_sums_columns(a):
    out = np.empty(a.shape[1])
    for j in range(a.shape[1]):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i, j]
        out[j] = s
    return out


def column_sums_rows(a):
    out = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j] += a[i, j]
    return out


def column_sums_whole_rows(a):
    out = np.zeros(a.shape[1])
    for row in a:
        out += row
    return out


def column_sums_sums_of_columns(a):
    out = np.empty(a.shape[1])
    for j in range(a.shape[1]):
        out[j] = a[:, j].sum()
    return out


def column_sums_generator(a):
    return np.array([sum(a[i, j] for i in range(a.shape[0])) for j in range(a.shape[1])])


def column_sums_whole(a):
    return a.sum(axis=0)


def sum_of_squares_subscripts(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j] ** 2
    return s


def sum_of_squares_columns(a):
    s = 0.0
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            s += a[i, j] * a[i, j]
    return s


def sum_of_squares_rows(a):
    s = 0.0
    for row in a:
        for v in row:
            s += v * v
    return s


def sum_of_squares_flat(a):
    s = 0.0
    for v in a.flat:
        s += v * v
    return s


def sum_of_squares_ravel(a):
    s = 0.0
    for v in a.ravel():
        s += v * v
    return s


def sum_of_squares_ndindex(a):
    s = 0.0
    for i, j in np.ndindex(a.shape):
        s += a[i, j] * a[i, j]
    return s


def sum_of_squares_generator(a):
    return sum(v * v for row in a for v in row)


def sum_of_squares_whole(a):
    return np.sum(a ** 2)


def scaled_rows_subscripts(a, x):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] * x[i]
    return out


def scaled_rows_columns(a, x):
    out = np.empty(a.shape)
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            out[i, j] = a[i, j] * x[i]
    return out


def scaled_rows_rows(a, x):
    out = np.empty_like(a)
    for i in range(len(a)):
        out[i] = a[i] * x[i]
    return out


def scaled_rows_while(a, x):
    n, m = a.shape
    out = np.empty((n, m))
    i = 0
    while i < n:
        j = 0
        while j < m:
            out[i, j] = a[i, j] * x[i]
            j += 1
        i += 1
    return out


def scaled_rows_broadcast(a, x):
    return a * x[:, None]


def lower_sum_bounds(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(i + 1):
            s += a[i, j]
    return s


def lower_sum_if(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if j <= i:
                s += a[i, j]
    return s


def lower_sum_slices(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i, : i + 1].sum()
    return s


def lower_sum_break(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if j > i:
                break
            s += a[i, j]
    return s


def flat_product_accumulator(a, b, n):
    c = np.zeros(n * n)
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += a[i * n + k] * b[k * n + j]
            c[i * n + j] = s
    return c


def flat_product_in_place(a, b, n):
    c = np.zeros(n * n)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i * n + j] += a[i * n + k] * b[k * n + j]
    return c


def flat_product_rows(a, b, n):
    c = np.zeros(n * n)
    for i in range(n):
        for k in range(n):
            v = a[i * n + k]
            for j in range(n):
                c[i * n + j] += v * b[k * n + j]
    return c


def flat_product_of_tables(a, b, n):
    x, y, c = a.reshape(n, n), b.reshape(n, n), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] += x[i, k] * y[k, j]
    return c.ravel()


IDIOMS = idioms_of(globals(), (
    Row("matrix_product", 96, lambda n, r: (r.random((n, n)), r.random((n, n))), 6),
    Row("matrix_vector", 128, lambda n, r: (r.random((n, n)), r.random(n)), 9),
    Row("transposition", 128, lambda n, r: (r.random((n, n)),), 9),
    Row("outer_product", 128, lambda n, r: (r.random(n), r.random(n)), 9),
    Row("row_argmax", 128, lambda n, r: (r.random((n, n)),), 9),
    Row("unit_rows", 128, lambda n, r: (r.random((n, n)),), 9),
    Row("column_sums", 128, lambda n, r: (r.random((n, n)),), 9),
    Row("sum_of_squares", 128, lambda n, r: (r.random((n, n)),), 9),
    Row("scaled_rows", 128, lambda n, r: (r.random((n, n)), r.random(n)), 9),
    Row("lower_sum", 128, lambda n, r: (r.random((n, n)),), 9),
    Row("flat_product", 64, lambda n, r: (r.random(n * n), r.random(n * n), n), 6),
))
