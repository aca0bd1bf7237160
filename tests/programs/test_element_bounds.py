"""Positions compared with an element: the loop is split there, whatever the element is."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

LEAST, GREATEST = -(2**63), 2**63 - 1


def shares(w, x, n):
    best = [[0.0] * (n + 1) for _ in range(len(w) + 1)]
    for i in range(len(w)):
        for c in range(n + 1):
            if w[i] > c:
                best[i + 1][c] = best[i][c]
            else:
                best[i + 1][c] = max(best[i][c], best[i][c - w[i]] + x[i])
    return best[len(w)][n]


def table(w, x, n):
    t = np.zeros((len(w) + 1, max(n, 1)))
    for i in range(len(w)):
        for c in range(n):
            t[i + 1, c] = 0.0
            if c >= w[i]:
                t[i + 1, c] = t[i, c - w[i]] + x[i]
            else:
                t[i + 1, c] = t[i, c] - 1.0
    return t


def overwritten(w, x, n):
    s = 0
    for i in range(len(w)):
        for c in range(min(n, len(w))):
            if c < w[i]:
                s += 2
            else:
                w[c] = c + i
    return s, w


def one_less(w, x, n):
    y = np.zeros(max(n, 0))
    for i in range(len(w)):
        for c in range(n):
            if c <= w[i] - 1:
                y[c] += x[i]
            elif c + 1 > w[i]:
                y[c] = y[c] * 0.5
    return y


def rare(w, x, n):
    y = [0.0] * n
    for i in range(len(x)):
        for c in range(n):
            if x[i] > 0.5 and c < w[i]:
                y[c] += x[i]
    return y


def behind(w, x, n):
    s = 0.0
    for i in range(n):
        for c in range(len(x)):
            if c != 2 and x[c] > w[i]:
                break
            if c > w[i]:
                s += x[c]
    return s


def zeroed(w, x, n):
    t = [[0] * n for _ in range(n)]
    for i in range(1, n):
        for j in range(n):
            t[i][j] = 0
            if j % 2:
                t[i][j] = t[i - 1][j] + t[i - 1][n - 1 - j] + i
            else:
                t[i][j] = t[i - 1][j - 1] - w[i % len(w)]
    return t


FUNCTIONS = shares, table, overwritten, one_less, rare, behind, zeroed
ELEMENTS = (
    [3, 0, 5, 1], [7, 8, 9, 100], [-1, -3, 2, -9], [0, 0, 0, 0], [], [4],
    [GREATEST, 2, LEAST, 1], [LEAST, LEAST + 1], [1, GREATEST], [2**53 + 1, -(2**53) - 1],
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(function: Callable[..., Any]) -> None:
    fused = fuse(function, on_reject="silent")
    given = [2.5, -0.0, float("nan"), 1.0]
    for elements in ELEMENTS:
        for n in (8, 1, 0, 3, -1, 40):
            for values in (given, [0.5] * 4, []):
                args = np.array(elements, np.int64), np.array(values), n
                what = f"{elements}, {values}, {n}"
                assert_same(outcome(fused, args), outcome(function, args), what)
    assert fused.stats.compiled >= 20, fused.report(*args)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_elements_of_other_dtypes(dtype: str) -> None:
    fused = fuse(shares, on_reject="silent")
    for elements in ([3, 0, 5, 1], [7, 120, 9, 100], []):
        for n in (8, 0, 3):
            args = np.array(elements, dtype), np.array([2.5, -0.0, 1.5, 1.0]), n
            assert_same(outcome(fused, args), outcome(shares, args), f"{elements}, {n}")
