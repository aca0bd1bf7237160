"""Programs on lists of one value so many times, which they change."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import Make, program, real, whole

SIZES = (0, 1, 9, 17)


def on_lists(**makes: Make) -> Callable[..., Callable[..., Any]]:
    return program(sizes=SIZES, **makes)


@on_lists(n=lambda n, rng: (n,))
def doubled(n):
    ways = [0] * (n + 1)
    ways[0] = 1
    for i in range(1, n + 1):
        ways[i] = ways[i - 1] * 2 + 1
    return ways


@on_lists(coins=lambda n, rng: ((1, 2, 5), n * 3))
def change(coins, total):
    least = (total + 1) * [0]
    for t in range(1, total + 1):
        best = total + 1
        for k in range(3):
            if coins[k] <= t:
                best = min(best, least[t - coins[k]] + 1)
        least[t] = best
    return least[total], len(least)


@on_lists(f64=lambda n, rng: (whole(n, rng),), f32=lambda n, rng: (whole(n, rng, np.float32),))
def mixed(x):
    out = [0.5] * len(x)
    seen = [False] * len(x)
    none = [0] * -len(x)
    for i in range(len(x)):
        if x[i] > 0:
            out[i] = float(x[i]) if x[i] > 3 else np.float64(x[i])
            seen[-1 - i] = True
    return out, seen, none


@on_lists(f64=lambda n, rng: (real(n, rng),))
def counted(x):
    hist = [0] * 8
    wide = [0.0] * 20
    for v in x:
        k = int(v + 4)
        hist[k] += 1
        wide[k] += float(v)
    s = 0
    for h in hist:
        s += h * h
    return hist, s, wide[3], sum(hist), max(hist)


# -- lists of lists, and lists that a loop makes anew

@on_lists(n=lambda n, rng: (n, 5))
def paths(n, m):
    ways = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            if i == 0 or j == 0:
                ways[i][j] = 1
            else:
                ways[i][j] = ways[i - 1][j] + ways[i][j - 1]
    return ways, len(ways)


@on_lists(i64=lambda n, rng: (rng.integers(0, 3, n), rng.integers(0, 3, n + 2)))
def common(a, b):
    m, n = len(a), len(b)
    best = [[0 for _ in range(n + 1)] for _ in range(m + 1)]
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if a[i - 1] == b[j - 1]:
                best[i][j] = best[i - 1][j - 1] + 1
            else:
                best[i][j] = max(best[i - 1][j], best[i][j - 1])
    return best[m][n]


@on_lists(f64=lambda n, rng: (whole(n, rng),))
def deep(x):
    n = len(x)
    cube = [[[0.5] * 3 for _ in range(n)] for _ in range(2)]
    for i in range(n):
        for k in range(3):
            cube[i % 2][i][k] += x[i] * k
        row = cube[0][-i - 1]
        row[i % 3] -= 1.5
    return cube


@on_lists(n=lambda n, rng: (n,))
def anew(n):
    total = 0
    for i in range(n):
        row = [i] * (i + 1)
        grid = [[1] * i for _ in range(n - i)]
        for j in range(i):
            row[j] = j * j
            grid[0][j] += row[j + 1]
        for v in row:
            total += v
        for line in grid:
            total += sum(line)
    return total


@program(sizes=SIZES, float=lambda n, rng: (whole(n, rng),))
def buckets(x):
    sums = [0] * 4
    for i in range(len(x)):
        sums[i % 4] += x[i]
    return sums
