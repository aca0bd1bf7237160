"""Programs on slices of lists, which are copies, read in the lists where nothing changes."""
# ruff: noqa: B905, PERF401, RUF007 (programs as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import Rng, program, whole

SIZES = (1, 2, 9, 17)


def on_lists(**more: Any) -> Callable[..., Callable[..., Any]]:
    return program(sizes=SIZES, float=floats, int=ints, **more)


def floats(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n, rng).tolist(),)


def ints(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n, rng, np.int64).tolist(),)


@on_lists()
def windows(xs):
    out = []
    for i in range(len(xs)):
        out.append(sum(xs[i : i + 3]) + max(xs[: i + 1]) * min(xs[i:]))
    return out, [sum(xs[max(0, i - 4) : -i], 0.5) for i in range(1, len(xs))]


@on_lists(tuple=lambda n, rng: (tuple(whole(n + 17, rng).tolist()),))
def side_by_side(xs):
    s = 0
    for a, b, c in zip(xs, xs[1:], xs[2:]):
        s += a * b - c
    for i, v in enumerate(xs[1:-1], 3):
        s += i * v
    for v in reversed(xs[1::2]):
        s = s * 0.5 + v
    return s, [b - a for a, b in zip(xs, xs[1:])], all(a <= b for a, b in zip(xs, xs[1:]))


@program(sizes=(1, 2, 9), int=lambda n, rng: (n,))
def of_made_ones(n):
    best, seen = [0] * n, [1]
    for i in range(1, n):
        best[i] = max(best[:i]) + min(best[i:]) + sum(best[::-2]) + 1
        seen.append(sum(seen[-2:]) % 1000)
    last = seen[1:4]
    return best, seen, len(last), [v for v in last], [v for v in seen if v > 2]


@program(sizes=(2, 9), float=lambda n, rng: (whole(n * n, rng).reshape(n, n).tolist(),))
def of_rows(m):
    s = 0.0
    for row in m[1:]:
        for v in row[:-1]:
            s += v
    return s + sum(m[0][1:])


@on_lists()
def walked(xs):
    lo, hi, s = 0, len(xs) - 1, 0
    while lo < hi:
        if xs[lo] < xs[hi]:
            s += xs[lo]
            lo += 1
        else:
            s -= xs[hi]
            hi = hi - 1
    return s


@program(sizes=(0, 1, 9, 17), int=lambda n, rng: (n, 12345 + n))
def of_unforeseen_length(n, m):
    digits = []
    while m:
        digits.append(m % 10)
        m //= 10
    some = []
    for k in range(n):
        row = []
        for d in digits:
            row.append(d * k)
        some.append(sum(row[1:]) + len(row))
    return digits, some
