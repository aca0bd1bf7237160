"""Assignments of lists: a second name for a list that is left by ``break`` is no copy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

X = np.arange(1.0, 6.0)


def left_before_it_is_bound_again(x):
    a = [0.0]
    b = [1.0]
    i = 0
    while i < len(x):
        a = b
        i += 1
        if x[i - 1] > 2:
            break
        b = []
        b.append(x[i - 1])
    a[0] = 70.0
    s = 0.0
    for v in b:
        s += v
    return s


def left_where_it_is_dead(x):
    a = [0.0]
    s = 0.0
    for i in range(len(x)):
        b = []
        for v in x[i:]:
            s += v
            b.append(v + len(a))
        a = b
        if x[i] > 2:
            break
    for v in a:
        s += v
    return s


@pytest.mark.parametrize("function", [left_before_it_is_bound_again, left_where_it_is_dead])
def test_a_loop_that_is_left(function: Any) -> None:
    fused = fuse(function, on_reject="silent")
    for x in (X, -X, X[:0]):
        assert_same(outcome(fused, (x,)), outcome(function, (x,)), function.__name__)


def test_a_list_that_is_dead_is_moved() -> None:
    assert fuse(left_where_it_is_dead, on_reject="raise")(X) == left_where_it_is_dead(X)
