"""Ranges of NumPy's unsigned ints: Python's ints, also above those of int64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

U = np.uint64
BIG, TOP = 2**63 + 5, 2**64 - 1


def listed(a: Any, b: Any, c: Any) -> Any:
    return [-i for i in range(a, b, c)]


def counted(n: Any) -> Any:
    last, total = -1, 0
    for last in range(n):
        total += last
    return last, total, len(range(n))


def by_counts(counts: Any, x: Any) -> Any:
    total = 0.0
    for k in range(len(counts)):
        for i in range(counts[k]):
            total += x[i]
    return total


X = np.arange(9.0)
COMPILED = {
    listed: [
        (U(2), U(9), U(3)), (U(9), U(2), U(1)), (U(9), U(2), -2), (-3, U(4), 1), (U(2), 9, 3),
        (U(0), U(0), 1), (np.int8(-2), U(3), np.uint8(2)),
    ],
    counted: [(U(7),), (U(0),), (U(1),)],
    by_counts: [(np.array([3, 0, 9], U), X), (np.zeros(0, U), X)],
}
PYTHONS = {
    listed: [
        (U(BIG), U(BIG + 3), 1), (U(TOP), U(TOP - 5), -2), (U(TOP - 2), U(TOP), U(1)),
        (U(1), U(9), U(0)), (-3, U(TOP), U(TOP)), (U(5), U(1), U(TOP)),
    ],
    by_counts: [(np.array([3, BIG], U), X), (np.array([10], U), X)],
}


@pytest.mark.parametrize("function", COMPILED, ids=lambda f: f.__name__)
def test_ranges_of_uint64(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(function, on_reject="silent")
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for args in COMPILED[function]:
        assert_same(outcome(fused, args), outcome(function, args), str(args))
    assert fused.stats.compiled == len(COMPILED[function])
    monkeypatch.setenv("TRANSPILE_FALLBACK", "python")
    for args in PYTHONS.get(function, ()):
        assert_same(outcome(fused, args), outcome(function, args), str(args))


def first_of_each(k: Any, step: Any) -> Any:
    total = 0
    for i in range(len(k) - 1):
        n = 0
        for _ in range(k[i], k[i + 1], step[i]):
            n += 1
            if n == 5:
                break
        m = 0
        for _ in range(k[i], k[i + 1]):
            m += 1
            if m == 3:
                break
        for _ in range(k[i], k[i + 1], -3):
            m += 4
            if m > 9:
                break
        total = 31 * total + n + m
    return total


@pytest.mark.parametrize("step", [1, -1, 2**62, -(2**63), 2**63 - 1, 7])
def test_ends_that_are_far_apart(step: int) -> None:
    """The distance from the start to the stop may need more than 64 bits."""
    far, near = 2**63 - 1, -(2**63)
    compiled = fuse(first_of_each, on_reject="raise")
    for ends in ([far, near], [near, far], [far, far], [near, near], [3, 9], [0, near]):
        for as_list in (True, False):
            k, steps = ends, [step, step]
            args = (k, steps) if as_list else (np.array(k), np.array(steps))
            assert_same(outcome(compiled, args), outcome(first_of_each, args), f"{args}")
    assert compiled.stats.compiled == 6
    assert compiled.stats.replays == {"GUARD_INT_RANGE": 6}
