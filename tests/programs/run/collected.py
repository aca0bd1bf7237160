"""Programs whose arrays are made of comprehensions, and then read."""
from __future__ import annotations

import numpy as np

from .programs import F32, program, two, whole, wide

SIZES = (0, 1, 2, 3, 17, 64)
SOME = (1, 2, 3, 17, 64)


def halved(v, by=2):
    if v > 0:
        return v / by
    return v * 0.5


@program(sizes=SIZES, f64=two(whole))
def lagged(x, y):
    n = len(x)
    r = np.array([np.sum(x[: n - k] * y[k:]) for k in range(n // 2)])
    return r / 2.0, np.array([halved(v) for v in x]) + 1, r.max(initial=-9)


@program(sizes=SIZES, f64=two(whole), f32=two(whole, F32))
def chosen(x, y):
    big = np.array([v * 2 for v in x if v > 0], dtype=np.float64)
    both = np.array([u - v for u, v in zip(x, y, strict=True) if u > 1 or v > 1], np.float32)
    s = 0.0
    for v in big[::-1]:
        s += v
    return s, len(big), both * 2, both.shape[0]


@program(sizes=SOME, i64=lambda n, rng: (whole(n, rng, np.int64), n))
def typed(k, n):
    a = np.array([i * i for i in range(n)])
    b = np.array([v > 0 for v in k])
    c = np.array([v + 0.5 for v in k], dtype=np.int16)
    d = np.array([complex(v, 1) for v in k])
    a += k
    return a, b, c, d * 2, ~b


@program(sizes=SOME, f64=wide())
def by_rows(X):
    n = X.shape[1]
    outer = np.array([[u * v for v in X[1]] for u in X[0]])
    rows = np.array([[v + 1 for v in row] for row in X])
    pairs = np.array([(v, i * 1.0) for i, v in enumerate(X[2])])
    grid = np.array([i * n + j for i in range(3) for j in range(n)])
    return outer.sum(axis=0), rows.T, pairs[:, 0] - pairs[:, 1], grid.reshape(3, n) + 1


@program(sizes=SOME, f64=two(whole))
def streamed(x, y):
    a = np.fromiter((v * 2 for v in x), float)
    b = np.fromiter((i for i, v in enumerate(y) if v > 0), np.int64)
    y[b] = 7
    return a + np.asarray([v for v in y]), b.max() if len(b) else -1


@program(sizes=SIZES, f64=two(whole))
def inside_loops(x, y):
    total = 0.0
    for i in range(len(x)):
        w = np.array([v * i for v in y[: i + 1]])
        total += w.max() - np.array([w[0], 2.0])[1]
    return total


@program(sizes=SOME, f64=two(whole))
def in_other_shapes(x, y):
    n = len(x)
    grid = np.zeros(2 * n)
    for i in range(2 * n):
        grid[i] = i + x[i % n]
    big = np.array([v for v in y if v > 0])
    return grid.reshape(2, n), (grid.reshape(n, -1) + 1).T, x.ravel(), big.reshape((-1, 1)), grid


@program(sizes=SIZES, f64=two(whole), i64=two(whole, np.int64))
def lists_in_lists(x, y):
    n = len(x)
    eye = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    table = [[u * v for v in y] for u in x]
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += table[i][j] * eye[i][j]
    return eye, table, tuple(v + 1 for v in x), tuple(i for i in range(n) if i % 2), s
