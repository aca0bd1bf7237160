"""How alike two tracks are."""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from transpile import fuse


@fuse
def alignment(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The least sum of differences between the values of two series, either of which may be slowed
    down (dynamic time warping).
    """
    before = np.full(len(b) + 1, np.inf)
    row = np.empty(len(b) + 1)
    before[0] = 0.0
    for i in range(len(a)):
        row[0] = np.inf
        for j in range(len(b)):
            least = min(before[j], before[j + 1], row[j])
            row[j + 1] = abs(a[i] - b[j]) + least
        for j in range(len(b) + 1):
            before[j] = row[j]
    return before[len(b)]


@fuse
def edits(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """The least number of insertions, deletions and replacements that make `b` of `a`."""
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        diagonal, row[0] = row[0], i + 1
        for j in range(len(b)):
            replaced = diagonal if a[i] == b[j] else diagonal + 1
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, diagonal + 1, row[j] + 1)
    return row[len(b)]
