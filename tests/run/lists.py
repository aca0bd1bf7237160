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
