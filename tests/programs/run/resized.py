"""Arrays read at subscripts that each loop of a nest computes for its own axis, as resizing does.

What depends on the inner loop alone is computed once for many rows, into tables.
"""
from __future__ import annotations

import math

import numpy as np

from .programs import Make, Rng, program

SIZES = (0, 1, 2, 5, 16, 33, 130)


def images(scale: float, height: int = 6, width: int = 0) -> Make:
    """An image of width n, the scale by which it is read, and a size (its own width if 0)."""

    def made(n: int, rng: Rng) -> tuple[np.ndarray, float, int, int]:
        a = rng.integers(-8, 9, (5, n)).astype(float)
        a[rng.random(a.shape) < 0.1] = np.nan
        return a, scale, height, width or n

    return made


@program(sizes=SIZES, half=images(0.5), twice=images(-0.5, 9), rows=images(0.03, 150))
def scaled(a, s, h, w):
    out = np.empty((h, w))
    for y in range(h):
        for x in range(w):
            out[y, x] = a[int(y * s), int(x * s)]
    return out


@program(python_at=(2, 5, 130), sizes=(0, 1, 2, 5, 130), far=images(2.0))
@program(python_at=(1, 5), sizes=(0, 1, 5), nan=images(math.nan))
def outside(a, s, h, w):
    out = np.zeros((h, w))
    for y in range(h):
        for x in range(w):
            out[y, x] = a[0, int(x * s)] + x
    return out


@program(sizes=(0, 5, 2048, 2049), wide=images(0.25, 3))
def between(a, s, h, w):
    out = np.empty((h, w))
    for y in range(h):
        v = y * s
        p = int(v)
        v -= p
        for x in range(w):
            u = x * s
            q = int(u)
            u -= q
            top = a[p, q] * (1 - u) + a[p, q - 1] * u
            out[y, x] = top * (1 - v) + v * a[p + 1, q]
    return out


@program(sizes=SIZES, half=images(0.5, 8))
@program(sizes=SIZES[1:], longer=images(0.5, 8, 7))
def sampled(a, s, h, w):
    columns = [x * 3 % max(a.shape[1], 1) for x in range(w)]
    out = np.zeros((h, w, 2))
    for y in range(h if a.shape[1] else 0):
        for x in range(w):
            for c in range(2):
                out[y, x, c] = a[y // 2, columns[x]] * (c + 1)
            if x % 5 // 2 > 0:
                out[y, x, 0] = a[y % 5, -columns[x]]
    return out


@program(sizes=SIZES, quarter=images(0.25, 70))
def row_sums(a, s, h, w):
    out = np.zeros(h)
    for y in range(h):
        t = 0.0
        for x in range(w):
            t += a[y % 5, int(abs(math.cos(x)) * s)]
        out[y] = t
    return out


@program(sizes=SIZES, half=images(0.5, 5))
def in_place(a, s, h, w):
    for y in range(h):
        for x in range(w):
            a[y, x] += a[y - 1, int(x * s)]
    return a


@program(sizes=SIZES, third=images(1 / 3, 66))
def scattered(a, s, h, w):
    out = np.zeros(a.shape)
    for y in range(h):
        for x in range(w):
            out[y % 5, int(x * s)] += 1 + x
    return out


@program(sizes=SIZES[1:], some=lambda n, rng: (rng.random((3, n)), 3))
def enlarged(a, f):
    out = np.empty((a.shape[0] * f, a.shape[1] * f))
    for y in range(out.shape[0]):
        row = int(y / f)
        for x in range(out.shape[1]):
            out[y, x] = a[row, x // f]
    return out
