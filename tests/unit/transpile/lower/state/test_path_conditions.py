"""Conditions of branches, and returns before, prove what follows: no guard asks for more."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

FUNCTIONS: list[Callable[..., Any]] = []


def listed(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(function)
    return function


@listed
def greatest(x, k):
    if len(x) == 0:
        return 0.0
    return max(x)


@listed
def first_two(x, k):
    n = len(x)
    if n < 2:
        return -1.0
    return x[0] + x[1] + sum(x)


@listed
def by_cases(x, k):
    if len(x) == 0:
        return 0.0
    elif len(x) == 1:  # noqa: RET505 (it is nested, as the others are not)
        return x[0]
    return (max(x) - x[1]) / len(x)


@listed
def one_after_the_other(x, k):
    n = len(x)
    if n == 0:
        return -1.0
    if n == 1:
        return -2.0
    if n == 2:
        return x[0] + x[1]
    s = 0.0
    for v in x:
        s += v
    return s + x[2] + min(x)


@listed
def by_a_flag(x, k):
    bad = len(x) == 0
    if not bad and k > 3:
        bad = True
    if bad:
        return -1.0
    t = 0.0
    for v in x:
        t += v
    return t + x[0] + max(x)


@listed
def by_two_tests_of_a_flag(x, k):
    good = True
    if k < 0:  # noqa: SIM114 (two flags meet)
        good = False
    elif k >= len(x):
        good = False
    if not good:
        return 0.0
    return x[k] + max(x)


@listed
def not_empty(x, k):
    if len(x):
        if len(x) < 3:
            return x[-1]
        return x[2] + max(x) + x[-1]
    return 0.0


@listed
def by_attribute(x, k):
    if x.size == 0 or x.shape[0] <= k:
        return -1.0
    if k < 0:
        return -2.0
    return x.max() + x[0] + x[k]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_short_arrays_are_no_exception(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = fuse(function)
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for n in (5, 0, 1, 2, 3):
        for k in (1, -1, 0, 9):
            args = np.arange(float(n)) - 1.5, k
            assert_same(outcome(fused, args), outcome(function, args), (n, k))
    assert not fused.stats.replays


def collatz(out):
    for i in range(len(out)):
        m, steps = i + 1, 0
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            steps += 1
        out[i] = steps


def test_a_constant_divisor_is_not_replaced_where_its_quotient_is_not_used() -> None:
    """A divisor that varies keeps the loop from running in lanes."""
    fused = fuse(collatz)
    wanted, got = np.zeros(200, np.int64), np.zeros(200, np.int64)
    collatz(wanted)
    fused(got)
    assert (got == wanted).all()
    assert fused.stats.compiled == 1
    text = fused.emit("loopir", got)
    assert "// broadcast(2, W)" in text
    assert "for i in parallel_undo_vec(" in text
