"""Programs on lists of lists: rows that are copied and swapped, and columns."""
# ruff: noqa: B905 (programs as people write them)
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Rng, program, whole


def matrix(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n * n, rng).reshape(n, n).tolist(),)


@program(sizes=(1, 2, 3, 9), float=matrix)
def determinant(rows):
    n = len(rows)
    m = [row[:] for row in rows]
    d = 1.0
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(m[r][c]) > abs(m[p][c]):
                p = r
        if m[p][c] == 0:
            return 0.0
        if p != c:
            m[c], m[p] = m[p], m[c]
            d = -d
        d *= m[c][c]
        for r in range(c + 1, n):
            f = m[r][c] / m[c][c]
            for k in range(c, n):
                m[r][k] -= f * m[c][k]
    return d


@program(sizes=(1, 2, 9), float=matrix)
def ordered_rows(rows):
    m = [list(row) for row in rows]
    for i in range(len(m)):
        for j in range(i + 1, len(m)):
            if m[i][0] > m[j][0]:
                m[i], m[j] = m[j], m[i]
    return m


def wide(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n * 3, rng, np.float64).reshape(n, 3),)


@program(sizes=(1, 2, 9), float=matrix, f64=wide)
def transposed_rows(rows):
    return [list(c) for c in zip(*rows)]


@program(sizes=(1, 2, 9), float=matrix, f64=wide)
def folded_columns(rows):
    return [sum(c) for c in zip(*rows)], [max(c) - min(c) for c in zip(*rows)]
