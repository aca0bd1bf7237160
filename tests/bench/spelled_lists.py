"""Spellings of idioms of lists: filters, lists in and out, lists of lists, tables that start as 0.

The arguments of an idiom are all lists, or all arrays, as converting a list takes its time.
"""
# ruff: noqa: B905, PERF401, PERF402 (functions as people write them)
from __future__ import annotations

import functools
import operator

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def filtered_append(x, t):
    out = []
    for v in x:
        if v > t:
            out.append(v)
    return np.array(out)


def filtered_comprehension(x, t):
    return np.array([v for v in x if v > t])


def filtered_filled(x, t):
    out = np.empty(len(x))
    c = 0
    for v in x:
        if v > t:
            out[c] = v
            c += 1
    return out[:c]


def filtered_mask(x, t):
    return x[x > t]


def filtered_nonzero(x, t):
    return x[np.nonzero(x > t)[0]]


def filtered_compress(x, t):
    return np.compress(x > t, x)


def filtered_continue(x, t):
    out = []
    for i in range(len(x)):
        if x[i] <= t:
            continue
        out.append(x[i])
    return np.array(out)


def list_filter_append(xs, t):
    out = []
    for v in xs:
        if v > t:
            out.append(v)
    return out


def list_filter_comprehension(xs, t):
    return [v for v in xs if v > t]


def list_filter_filter(xs, t):
    return list(filter(lambda v: v > t, xs))


def list_filter_subscripts(xs, t):
    out = []
    for i in range(len(xs)):
        if xs[i] > t:
            out.append(xs[i])
    return out


def list_filter_extension(xs, t):
    out = []
    for v in xs:
        if v > t:
            out += [v]
    return out


def list_filter_generator(xs, t):
    return list(v for v in xs if v > t)


def list_map_comprehension(xs):
    return [v * v + 1.0 for v in xs]


def list_map_append(xs):
    out = []
    for v in xs:
        out.append(v * v + 1.0)
    return out


def list_map_map(xs):
    return list(map(lambda v: v * v + 1.0, xs))


def list_map_filled(xs):
    out = [0.0] * len(xs)
    for i in range(len(xs)):
        out[i] = xs[i] ** 2 + 1.0
    return out


def list_map_filled_ints(xs):
    out = [0] * len(xs)
    for i, v in enumerate(xs):
        out[i] = v * v + 1.0
    return out


def list_map_none(xs):
    out = [None] * len(xs)
    for i in range(len(xs)):
        out[i] = xs[i] * xs[i] + 1.0
    return out


def list_map_copy(xs):
    out = xs[:]
    for i in range(len(out)):
        out[i] = out[i] * out[i] + 1.0
    return out


def list_total_elements(xs):
    s = 0.0
    for v in xs:
        s += v
    return s


def list_total_range(xs):
    s = 0
    for i in range(len(xs)):
        s += xs[i]
    return s


def list_total_builtin(xs):
    return sum(xs)


def list_total_reduce(xs):
    return functools.reduce(operator.add, xs)


def list_total_np_sum(xs):
    return np.sum(xs)


def list_total_array(xs):
    return np.array(xs).sum()


def list_total_while(xs):
    s, i = 0.0, 0
    while i < len(xs):
        s += xs[i]
        i += 1
    return s


def list_dot_zip(xs, ys):
    s = 0.0
    for v, u in zip(xs, ys):
        s += v * u
    return s


def list_dot_range(xs, ys):
    s = 0.0
    for i in range(len(xs)):
        s += xs[i] * ys[i]
    return s


def list_dot_generator(xs, ys):
    return sum(v * u for v, u in zip(xs, ys))


def list_dot_map(xs, ys):
    return sum(map(operator.mul, xs, ys))


def list_dot_np_dot(xs, ys):
    return np.dot(xs, ys)


def flattened_append(rows):
    out = []
    for row in rows:
        for v in row:
            out.append(v)
    return out


def flattened_comprehension(rows):
    return [v for row in rows for v in row]


def flattened_extend(rows):
    out = []
    for row in rows:
        out.extend(row)
    return out


def flattened_augmented(rows):
    out = []
    for row in rows:
        out += row
    return out


def flattened_subscripts(rows):
    out = []
    for i in range(len(rows)):
        for j in range(len(rows[i])):
            out.append(rows[i][j])
    return out


def row_totals_builtin(rows):
    return [sum(row) for row in rows]


def row_totals_append(rows):
    out = []
    for row in rows:
        s = 0.0
        for v in row:
            s += v
        out.append(s)
    return out


def row_totals_subscripts(rows):
    out = [0.0] * len(rows)
    for i in range(len(rows)):
        for j in range(len(rows[i])):
            out[i] += rows[i][j]
    return out


def row_totals_int_zero(rows):
    out = [0] * len(rows)
    for i, row in enumerate(rows):
        for v in row:
            out[i] += v
    return out


def row_totals_map(rows):
    return list(map(sum, rows))


def product_table_floats(n):
    t = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            t[i][j] = i * j * 0.5
    return np.array(t)


def product_table_nested_comprehension(n):
    t = [[0.0 for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(n):
            t[i][j] = i * j * 0.5
    return np.array(t)


def product_table_values(n):
    return np.array([[i * j * 0.5 for j in range(n)] for i in range(n)])


def product_table_append(n):
    t = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(i * j * 0.5)
        t.append(row)
    return np.array(t)


def product_table_array(n):
    t = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            t[i, j] = i * j * 0.5
    return t


def product_table_outer(n):
    return np.outer(np.arange(n), np.arange(n)) * 0.5


def cheapest_path_array(a):
    n, m = a.shape
    d = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            if i == 0 and j == 0:
                d[i, j] = a[i, j]
            elif i == 0:
                d[i, j] = d[i, j - 1] + a[i, j]
            elif j == 0:
                d[i, j] = d[i - 1, j] + a[i, j]
            else:
                d[i, j] = min(d[i - 1, j], d[i, j - 1]) + a[i, j]
    return d[n - 1, m - 1]


def cheapest_path_borders_first(a):
    n, m = a.shape
    d = np.empty((n, m))
    d[0, 0] = a[0, 0]
    for j in range(1, m):
        d[0, j] = d[0, j - 1] + a[0, j]
    for i in range(1, n):
        d[i, 0] = d[i - 1, 0] + a[i, 0]
        for j in range(1, m):
            d[i, j] = min(d[i - 1, j], d[i, j - 1]) + a[i, j]
    return d[-1, -1]


def cheapest_path_floats(a):
    n, m = a.shape
    d = [[0.0] * m for _ in range(n)]
    d[0][0] = a[0, 0]
    for j in range(1, m):
        d[0][j] = d[0][j - 1] + a[0, j]
    for i in range(1, n):
        d[i][0] = d[i - 1][0] + a[i, 0]
        for j in range(1, m):
            d[i][j] = min(d[i - 1][j], d[i][j - 1]) + a[i, j]
    return d[-1][-1]


def cheapest_path_ints(a):
    n, m = a.shape
    d = [[0] * m for _ in range(n)]
    d[0][0] = a[0, 0]
    for j in range(1, m):
        d[0][j] = d[0][j - 1] + a[0, j]
    for i in range(1, n):
        d[i][0] = d[i - 1][0] + a[i, 0]
        for j in range(1, m):
            d[i][j] = min(d[i - 1][j], d[i][j - 1]) + a[i, j]
    return d[-1][-1]


def cheapest_path_one_row(a):
    row = np.cumsum(a[0])
    for i in range(1, len(a)):
        row[0] += a[i, 0]
        for j in range(1, a.shape[1]):
            row[j] = min(row[j], row[j - 1]) + a[i, j]
    return row[-1]


def cheapest_path_one_list(a):
    row = [float("inf")] * a.shape[1]
    row[0] = 0.0
    for i in range(a.shape[0]):
        row[0] += a[i, 0]
        for j in range(1, a.shape[1]):
            if row[j - 1] < row[j]:
                row[j] = row[j - 1]
            row[j] += a[i, j]
    return row[-1]


def list_product_floats(a, b):
    n, m, p = len(a), len(b[0]), len(b)
    c = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for k in range(p):
                c[i][j] += a[i][k] * b[k][j]
    return c


def list_product_ints(a, b):
    n, m, p = len(a), len(b[0]), len(b)
    c = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for k in range(p):
                c[i][j] += a[i][k] * b[k][j]
    return c


def list_product_accumulator(a, b):
    c = []
    for i in range(len(a)):
        row = []
        for j in range(len(b[0])):
            s = 0.0
            for k in range(len(b)):
                s += a[i][k] * b[k][j]
            row.append(s)
        c.append(row)
    return c


def list_product_zip(a, b):
    return [[sum(v * u for v, u in zip(row, column)) for column in zip(*b)] for row in a]


def list_product_comprehension(a, b):
    return [
        [sum(a[i][k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))]
        for i in range(len(a))
    ]


def _vector(n, r):
    return r.random(n).tolist()


IDIOMS = idioms_of(globals(), (
    Row("filtered", 20_000, lambda n, r: (r.random(n), 0.5)),
    Row("list_filter", 4_000, lambda n, r: (_vector(n, r), 0.5)),
    Row("list_map", 4_000, lambda n, r: (_vector(n, r),)),
    Row("list_total", 4_000, lambda n, r: (_vector(n, r),)),
    Row("list_dot", 4_000, lambda n, r: (_vector(n, r), _vector(n, r))),
    Row("flattened", 60, lambda n, r: (r.random((n, n)).tolist(),), 9),
    Row("row_totals", 60, lambda n, r: (r.random((n, n)).tolist(),), 9),
    Row("product_table", 100, lambda n, r: (n,), 9),
    Row("cheapest_path", 100, lambda n, r: (r.random((n, n)),), 9),
    Row("list_product", 40, lambda n, r: (r.random((n, n)).tolist(), r.random((n, n)).tolist()), 9),
))
