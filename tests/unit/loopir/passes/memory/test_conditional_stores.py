"""Conditional stores: recurrences along a row carry their value, whatever stores it."""
from __future__ import annotations

import numpy as np
import pytest

from transpile import fuse


def lowered(costs, row):
    for i in range(len(costs)):
        for j in range(1, len(row)):
            if row[j - 1] < row[j]:
                row[j] = row[j - 1]
            row[j] += costs[i, j]


def raised(limits, top):
    n = len(top)
    for k in range(1, n):
        if top[k - 1] - 1 > top[k]:
            top[k] = top[k - 1] - 1
        top[k] = min(top[k], limits[0, k])


@pytest.mark.parametrize("f", [lowered, raised])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_what_the_branch_stores_is_carried(f, dtype: str) -> None:
    fused = fuse(f, on_reject="raise")
    for n in (0, 1, 2, 3, 17, 1000):
        random = np.random.default_rng(n)
        rows = (random.random((4, n)) * 100 - 50).astype(dtype)
        start = (random.random(n) * 100 - 50).astype(dtype)
        if dtype != "i4":
            rows.flat[::7] = np.nan
            start[::5] = np.inf
        wanted, found = start.copy(), start.copy()
        with np.errstate(all="ignore"):
            f(rows, wanted)
            fused(rows, found)
        np.testing.assert_array_equal(found, wanted)
    assert fused.stats.compiled
    body = fused.emit("loopir", rows, found)
    assert " = step(" in body or dtype == "i4"
    assert "= where(" not in body
