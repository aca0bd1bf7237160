"""Programs on lists and tuples that they are given, or that are globals."""
# ruff: noqa: B905, PERF401 (programs as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import Make, Rng, program, real, whole

SIZES = (0, 1, 9, 17)
WEIGHTS = [0.25, 0.5, 0.25]
STEPS = ((-1, 0), (1, 0), (0, 1), (0, -1))


def on_lists(**makes: Make) -> Callable[..., Callable[..., Any]]:
    return program(sizes=SIZES, **makes)


def floats(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n, rng).tolist(),)


def ints(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n, rng, np.int64).tolist(),)


def numpys(dtype: Any) -> Make:
    return lambda n, rng: ([*whole(n, rng, dtype)],)


def square(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole((n + 1) * n, rng).reshape(n + 1, n).tolist(),)


def pair(n: int, rng: Rng) -> tuple[Any, ...]:
    return square(n, rng)[0], whole(n * 3 + 3, rng).reshape(n + 1, 3).tolist()


@on_lists(
    float=floats, int=ints, tuple=lambda n, rng: (tuple(whole(n + 17, rng).tolist()),),
    f32=numpys(np.float32), i16=numpys(np.int16), f64=numpys(np.float64),
    bool=lambda n, rng: ([bool(v) for v in rng.integers(0, 2, n)],),
)
def folded(x):
    s = 0.0
    for v in x:
        s = s + v * 2
    best = 0
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            best = i
    return s, best, len(x), [v for v in x if v]


@on_lists(float=floats, int=ints)
def changed_in_place(x):
    for i in range(len(x)):
        x[i] = x[i] * 3
    for i in range(0, len(x), 2):
        x[-i - 1] += 1
    return x


@on_lists(int=ints)
def sorted_by_swaps(a):
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a, n


@on_lists(float=square)
def rows_and_items(m):
    s = 0.0
    for row in m:
        for v in row:
            s += v
    for i in range(1, len(m)):
        for j in range(len(m[0])):
            m[i][j] = m[i - 1][j] * 0.5
            if m[i][j] > 1.0:
                m[i][j] += s
    return s, m


@on_lists(float=pair)
def product(a, b):
    s = 0.0
    for i in range(len(a)):
        row = a[i]
        for j in range(3):
            t = 0.0
            for k in range(len(row)):
                t += row[k] * b[k][j]
            s += t * (i + j)
    return s


@on_lists(float=lambda n, rng: (real(n, rng), np.zeros(n)))
def weighted(x, out):
    for i in range(1, len(x) - 1):
        s = 0.0
        for k in range(3):
            s += WEIGHTS[k] * x[i - 1 + k]
        out[i] = s


@on_lists(i64=lambda n, rng: (rng.integers(0, 2, (n, n)),))
def neighbours(grid):
    n, m = grid.shape
    found = 0
    for i in range(n):
        for j in range(m):
            for k in range(4):
                a, b = i + STEPS[k][0], j + STEPS[k][1]
                if 0 <= a < n and 0 <= b < m and grid[a, b]:
                    found += 1
    return found


@on_lists(both=lambda n, rng: (*floats(n, rng), whole(n + 2, rng), *ints(n, rng)))
def together(x, y, k):
    s = 0.0
    for i, (u, v) in enumerate(zip(x, y)):
        s += u * v + i
    out = []
    for v in reversed(k):
        out.append(v * 2)
    return s, out, sum(k, 0.0)


@on_lists(both=lambda n, rng: (
    whole(n * 3, rng).reshape(n, 3), rng.integers(0, 9, (n, 2), np.int16),
))
def rows_apart(x, k):
    s = 0.0
    for a, b, c in x:
        s += a * b - c
    for i, (u, v) in enumerate(k):
        s += u * i - v
    return s


def points(n: int, rng: Rng) -> tuple[Any, ...]:
    return ([tuple(r) for r in whole(n * 2 + 2, rng).reshape(n + 1, 2).tolist()],)


@on_lists(float=points)
def path(points):
    s = 0.0
    x, y = points[0]
    for u, v in points:
        s += (u - x) * (v - y)
        x, y = u, v
    return s
