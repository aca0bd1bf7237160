"""Programs on lists that are made of others: copied, cut, joined, extended, searched, swapped."""
# ruff: noqa: PERF401 (programs as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import Rng, program, whole

SIZES = (1, 2, 9, 17)


def ints(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n, rng, np.int64).tolist(),)


def on_lists(**more: Any) -> Callable[..., Callable[..., Any]]:
    return program(
        sizes=SIZES, int=ints, float=lambda n, rng: (whole(n, rng).tolist(),), **more
    )


def two(n: int, rng: Rng) -> tuple[Any, ...]:
    return ints(n, rng)[0], ints(n + 2, rng)[0]


@on_lists()
def sorted_copies(xs):
    a, b = xs[:], list(xs)
    c = xs.copy()
    for i in range(1, len(a)):
        for j in range(len(a) - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
        v, j = b[i], i - 1
        while j >= 0 and b[j] > v:
            b[j + 1] = b[j]
            j -= 1
        b[j + 1] = v
    c[0] = c[-1]
    return a, b, c


@program(sizes=(1, 2, 9), int=two)
def edited(a, b):
    prev = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        cur = [i] + [0] * len(b)
        for j in range(1, len(b) + 1):
            c = 0 if a[i - 1] == b[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + c)
        prev = cur
    return prev[-1], prev


@program(sizes=(0, 1, 9), int=lambda n, rng: (n,))
def rows_of_pascal(n):
    row, sums = [1], [0]
    for k in range(n):
        row = [1] + [row[i] + row[i + 1] for i in range(len(row) - 1)] + [1]
        if k < 5:
            sums += [s + k for s in sums]
    return row, sums[::-1]


@program(sizes=SIZES, int=two)
def merged(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    out.extend(a[i:])
    out += b[j:]
    return out, [0, *out, *range(3)]


@program(sizes=(0, 1, 9, 17), int=lambda n, rng: (n,))
def moved_about(n):
    a = list(range(n, 0, -1))
    b, front = [], []
    while a:
        b.append(a.pop())
        front.insert(0, b[-1] * 2)
    front.reverse()
    for k in range(n):
        if 2 * k in front:
            b.append(front.index(2 * k) + front.count(k))
        if k not in b:
            b.append(-k)
    return b, front


@program(sizes=(1, 2, 9), int=lambda n, rng: (n, n % 4 + 1))
def swapped(n, times):
    now, new = [k * k % 7 for k in range(n)], [0] * n
    for _ in range(times):
        for i in range(1, n - 1):
            new[i] = now[i - 1] + now[i + 1]
        now, new = new, now
    return now


@on_lists()
def found(xs):
    n, at = 0, -1
    for v in xs[:3]:
        n += xs.count(v)
        if v in xs:
            at += xs.index(v)
    return n, at, [k for k in range(5) if k not in xs]


@program(sizes=(2, 9), int=lambda n, rng: (n,))
def set_in_built_ones(n):
    a = []
    for i in range(n):
        a.append(i * 0.5)
    a[0] = 7.5
    for i in range(1, n):
        a[i] = a[i] + a[i - 1]
    return a
