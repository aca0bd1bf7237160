"""When a call is repeated with a larger capacity of its lists, and when Python replays it."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopir.status_bits import FIRST_GUARD_STATUS
from transpile import fuse
from transpile.runtime.kernel_call.list_capacity import (
    INITIAL_CAPACITY,
    MAX_CAPACITY,
    grow_capacity,
    new_capacity,
)

SHORT, ENOUGH = np.array(True), np.array(False)


def test_a_kernel_that_ran_out_of_room_gets_eight_times_as_much() -> None:
    capacity = new_capacity()
    assert grow_capacity(1, SHORT, capacity)
    assert capacity.tolist() == [8 * INITIAL_CAPACITY]


@pytest.mark.parametrize(
    ("status", "short"), [(0, SHORT), (1, ENOUGH), (FIRST_GUARD_STATUS, SHORT)],
    ids=["succeeded", "another check", "a guard"],
)
def test_nothing_else_makes_it_grow(status: int, short: np.ndarray) -> None:
    capacity = new_capacity()
    assert not grow_capacity(status, short, capacity)
    assert capacity.tolist() == [INITIAL_CAPACITY]


def test_it_ends() -> None:
    capacity, calls = new_capacity(), 0
    while grow_capacity(1, SHORT, capacity):
        calls += 1
    assert calls < 10
    assert MAX_CAPACITY <= capacity[0] < 8 * MAX_CAPACITY


def halving(out: np.ndarray, n: int) -> float:
    """A list that is read while it grows; it writes to an argument before it knows how long it is.
    """
    pending, total = [n], 0.0
    while pending:
        k = pending.pop()
        out[k % len(out)] += 1.0
        total += k
        if k > 1:
            pending.append(k - k // 2)
            pending.append(k // 2)
    return total


def spread(out: np.ndarray, n: int) -> int:
    found = []
    for k in range(n):
        if k % 3 < 2:
            found.append(k)
        if found[k // 2] % 3 == 0:
            found[0] = k
        out[k % len(out)] = found[-1]
    return len(found) + found[0]


@pytest.mark.parametrize("function", [halving, spread])
def test_a_call_in_c_that_ran_out_is_repeated_with_more(function: Any) -> None:
    f, out = fuse(function), np.zeros(7)
    f(out, 5)
    (case,) = f._specializations.values()
    (variant,) = case.variants
    assert variant.not_native is None
    for n in (3, 10_000, 50_000, 4, 50_000):
        ours, theirs = np.ones(7), np.ones(7)
        assert f(ours, n) == function(theirs, n)
        assert np.array_equal(ours, theirs)
    assert f.stats.compiled == 6
    assert f.stats.replays == {}
    if function is spread:
        assert int(variant.capacity[0]) >= 30_000
