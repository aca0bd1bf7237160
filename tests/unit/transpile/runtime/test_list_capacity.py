"""When a call is repeated with a larger capacity of its lists, and when Python replays it."""
from __future__ import annotations

import numpy as np
import pytest

from loopir.op_table import FIRST_GUARD_STATUS
from transpile.runtime.list_capacity import INITIAL_CAPACITY, MAX_CAPACITY, grow_capacity

SHORT, ENOUGH = np.array(True), np.array(False)


def test_a_kernel_that_ran_out_of_room_gets_eight_times_as_much() -> None:
    capacity = [INITIAL_CAPACITY]
    assert grow_capacity(1, SHORT, capacity)
    assert capacity == [8 * INITIAL_CAPACITY]


@pytest.mark.parametrize(
    ("status", "short"), [(0, SHORT), (1, ENOUGH), (FIRST_GUARD_STATUS, SHORT)],
    ids=["succeeded", "another check", "a guard"],
)
def test_nothing_else_makes_it_grow(status: int, short: np.ndarray) -> None:
    capacity = [INITIAL_CAPACITY]
    assert not grow_capacity(status, short, capacity)
    assert capacity == [INITIAL_CAPACITY]


def test_it_ends() -> None:
    capacity, calls = [INITIAL_CAPACITY], 0
    while grow_capacity(1, SHORT, capacity):
        calls += 1
    assert calls < 10
    assert MAX_CAPACITY <= capacity[0] < 8 * MAX_CAPACITY
