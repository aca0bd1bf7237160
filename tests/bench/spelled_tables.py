"""Spellings of recurrences of several terms: dynamic programming, filters, a stencil, a sieve."""
# ruff: noqa: B905 (functions as people write them)
from __future__ import annotations

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def three_point_range(x):
    out = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        out[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]
    return out


def three_point_conditions(x):
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        if i > 0 and i < n - 1:
            out[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]
    return out


def three_point_carried(x):
    out = np.zeros(len(x))
    a, b = x[0], x[1]
    for i in range(1, len(x) - 1):
        c = x[i + 1]
        out[i] = 0.25 * a + 0.5 * b + 0.25 * c
        a, b = b, c
    return out


def three_point_weights(x):
    w = (0.25, 0.5, 0.25)
    out = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        for k in range(3):
            out[i] += w[k] * x[i + k - 1]
    return out


def three_point_slices(x):
    out = np.zeros(len(x))
    out[1:-1] = 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]
    return out


def three_point_while(x):
    out = np.zeros(len(x))
    i = 1
    while i < len(x) - 1:
        out[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]
        i += 1
    return out


def edit_distance_array(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def edit_distance_lists(a, b):
    n, m = len(a), len(b)
    d = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        d[i][0] = i
    for j in range(m + 1):
        d[0][j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                d[i][j] = d[i - 1][j - 1]
            else:
                d[i][j] = 1 + min(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1])
    return d[n][m]


def edit_distance_two_rows(a, b):
    before = list(range(len(b) + 1))
    for i in range(len(a)):
        row = [i + 1]
        for j in range(len(b)):
            cost = a[i] != b[j]
            row.append(min(before[j + 1] + 1, row[j] + 1, before[j] + cost))
        before = row
    return before[-1]


def edit_distance_two_arrays(a, b):
    m = len(b)
    before, row = np.arange(m + 1), np.zeros(m + 1, np.int64)
    for i in range(len(a)):
        row[0] = i + 1
        for j in range(m):
            cost = 0 if a[i] == b[j] else 1
            row[j + 1] = min(before[j + 1] + 1, row[j] + 1, before[j] + cost)
        before, row = row, before
    return before[m]


def edit_distance_one_row(a, b):
    m = len(b)
    row = np.arange(m + 1)
    for i in range(len(a)):
        corner = row[0]
        row[0] = i + 1
        for j in range(1, m + 1):
            up = row[j]
            if a[i] == b[j - 1]:
                row[j] = corner
            else:
                row[j] = 1 + min(corner, up, row[j - 1])
            corner = up
    return row[m]


def knapsack_one_row(weights, values, room):
    best = np.zeros(room + 1)
    for i in range(len(weights)):
        for c in range(room, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[room]


def knapsack_if(weights, values, room):
    best = [0.0] * (room + 1)
    for w, v in zip(weights, values):
        for c in range(room, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[room]


def knapsack_table(weights, values, room):
    best = np.zeros((len(weights) + 1, room + 1))
    for i in range(1, len(weights) + 1):
        w = weights[i - 1]
        for c in range(room + 1):
            best[i, c] = best[i - 1, c]
            if c >= w:
                best[i, c] = max(best[i, c], best[i - 1, c - w] + values[i - 1])
    return best[-1, room]


def knapsack_table_of_lists(weights, values, room):
    n = len(weights)
    best = [[0.0] * (room + 1) for _ in range(n + 1)]
    for i in range(n):
        for c in range(room + 1):
            if weights[i] > c:
                best[i + 1][c] = best[i][c]
            else:
                best[i + 1][c] = max(best[i][c], best[i][c - weights[i]] + values[i])
    return best[n][room]


def knapsack_whole_rows(weights, values, room):
    best = np.zeros(room + 1)
    for i in range(len(weights)):
        w = weights[i]
        best[w:] = np.maximum(best[w:], best[: room + 1 - w] + values[i])
    return best[room]


def second_order_names(x):
    out = np.empty(len(x))
    a = b = 0.0
    for i in range(len(x)):
        y = x[i] + 0.5 * a - 0.25 * b
        out[i] = y
        b = a
        a = y
    return out


def second_order_tuple(x):
    out = np.empty(len(x))
    a, b = 0.0, 0.0
    for i, v in enumerate(x):
        a, b = v + 0.5 * a - 0.25 * b, a
        out[i] = a
    return out


def second_order_subscripts(x):
    out = np.empty(len(x))
    out[0] = x[0]
    out[1] = x[1] + 0.5 * out[0]
    for i in range(2, len(x)):
        out[i] = x[i] + 0.5 * out[i - 1] - 0.25 * out[i - 2]
    return out


def second_order_append(x):
    out = [x[0], x[1] + 0.5 * x[0]]
    for i in range(2, len(x)):
        out.append(x[i] + 0.5 * out[i - 1] - 0.25 * out[i - 2])
    return np.array(out)


def sieve_step(n):
    prime = np.ones(n, np.bool_)
    prime[:2] = False
    for p in range(2, int(n ** 0.5) + 1):
        if prime[p]:
            for k in range(p * p, n, p):
                prime[k] = False
    return np.count_nonzero(prime)


def sieve_while(n):
    prime = np.ones(n, np.bool_)
    prime[0] = prime[1] = False
    p = 2
    while p * p < n:
        if prime[p]:
            k = p * p
            while k < n:
                prime[k] = False
                k += p
        p += 1
    return prime.sum()


def sieve_slice(n):
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for p in range(2, int(n ** 0.5) + 1):
        if prime[p]:
            prime[p * p :: p] = False
    return np.sum(prime)


def sieve_list(n):
    prime = [True] * n
    prime[0] = prime[1] = False
    for p in range(2, int(n ** 0.5) + 1):
        if prime[p]:
            for k in range(p * p, n, p):
                prime[k] = False
    return sum(prime)


def shortest_paths_if(d):
    d = d.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def shortest_paths_min(d):
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


def shortest_paths_local(d):
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            dik = d[i, k]
            for j in range(n):
                t = dik + d[k, j]
                if t < d[i, j]:
                    d[i, j] = t
    return d


def shortest_paths_whole(d):
    d = d.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k][:, None] + d[k])
    return d


def shortest_paths_rows(d):
    d = d.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            d[i] = np.minimum(d[i], d[i, k] + d[k])
    return d


def shortest_paths_brackets(d):
    d = d.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                s = d[i][k] + d[k][j]
                d[i][j] = s if s < d[i][j] else d[i][j]
    return d


IDIOMS = idioms_of(globals(), (
    Row("three_point", 20_000, lambda n, r: (r.random(n),)),
    Row("edit_distance", 150, lambda n, r: (r.integers(0, 4, n), r.integers(0, 4, n)), 12),
    Row("knapsack", 60, lambda n, r: (r.integers(1, 20, n), r.random(n), 10 * n), 8),
    Row("second_order", 20_000, lambda n, r: (r.random(n),)),
    Row("sieve", 20_000, lambda n, r: (n,)),
    Row("shortest_paths", 64, lambda n, r: (r.random((n, n)),), 9),
))
