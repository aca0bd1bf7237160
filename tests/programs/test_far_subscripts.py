"""Subscripts of which a part is so far off that it only wraps around to a place inside."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

FAR = 2**63
X = np.arange(50.0)


def added(x, p, q, n):
    s = 0.0
    for i in range(len(p)):
        a, b = p[i], q[i]
        for k in range(n):
            s += x[a + (k + b)]
    return s


def subtracted(x, p, q, n):
    s = 0.0
    for i in range(len(p)):
        a, b = p[i], q[i]
        for k in range(n):
            s += x[a - (b - k)]
    return s


def multiplied(x, p, q, n):
    s = 0.0
    for i in range(len(p)):
        a = p[i]
        for k in range(n):
            s += x[4 * (k + a)]
    return s


@pytest.mark.parametrize("as_list", [False, True], ids=["array", "list"])
@pytest.mark.parametrize(
    ("f", "p", "q"),
    [
        (added, [1, -FAR], [3, -FAR]),
        (added, [1, -FAR + 3], [3, -FAR + 2]),
        (subtracted, [-FAR], [FAR - 1]),
        (subtracted, [-FAR + 3], [FAR - 2]),
        (multiplied, [1, 2**62], [0, 0]),
        (multiplied, [1, -(2**62)], [0, 0]),
    ],
)
def test_far(
    f: Callable[..., Any], p: list[int], q: list[int], as_list: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    args = (X, p, q, 5) if as_list else (X, np.array(p), np.array(q), 5)
    assert_same(outcome(fuse(f, on_reject="silent"), args), outcome(f, args), f"{args}")
