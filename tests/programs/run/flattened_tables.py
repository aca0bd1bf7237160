"""Programs over tables that are flattened by the program: cuboids, triangles, blocks, columns."""
from __future__ import annotations

import numpy as np

from .programs import Make, program, whole

FEW = (0, 1, 2, 3, 9, 17, 65)


def table(per: int = 1, width: int | None = None) -> Make:
    """Two flat tables of n rows, the second one is written, n, and the length of a row."""
    def make(n: int, rng: np.random.Generator) -> tuple[object, ...]:
        side = min(n, 17)
        w = side if width is None else width
        size = side * abs(w) * per
        return whole(size, rng), whole(size, rng), side, w

    return make


@program(sizes=FEW, f64=table(per=3), narrow=table(3, 1), empty=table(3, 0), wrong=table(3, -2))
def pixels(x, out, h, w):
    for i in range(h):
        for j in range(w):
            for c in range(3):
                out[(i * w + j) * 3 + c] = x[(i * w + j) * 3 + 2 - c] + c


@program(sizes=FEW, f64=table(per=4), narrow=table(4, 1))
def cuboid(x, out, h, w):
    for d in range(4):
        for i in range(h):
            for j in range(w):
                out[(d * h + i) * w + j] = x[d * h * w + i * w + j] * (d + 1)


@program(sizes=FEW, f64=table(), wide=table(1, 21))
def columns(x, out, h, w):
    for i in range(h):
        for j in range(w):
            out[j * h + i] = x[i * w + j] - i


@program(sizes=FEW, f64=table(), wide=table(1, 21))
def condensed_pairs(x, out, n, w):
    for i in range(n):
        for j in range(i):
            out[i * (i - 1) // 2 + j] = (x[i * w] - x[j * w]) * 2


@program(sizes=FEW, f64=table(), wide=table(1, 21), narrow=table(1, 7))
def pairs_above(x, out, n, w):
    for i in range(n):
        for j in range(i + 1, w):
            out[i * w + j] = x[i * w] - x[j]


@program(sizes=FEW, f64=table(), wide=table(1, 21))
def maxima_of_blocks(x, out, n, size):
    for b in range(n):
        m = -1e9
        for i in range(b * size, (b + 1) * size):
            m = max(m, x[i])
        for i in range(b * size, (b + 1) * size):
            out[i] = x[i] - m


@program(python_at=(0,), sizes=FEW, f64=table(1, 21), short=table(1, 5))
def outer(x, out, n, w):
    for k in range(n * w):
        out[k] += x[k // w] * x[k % w]
