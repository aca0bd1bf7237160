"""Assignments of lists: a second name is no copy where the first one is read again."""
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


def read_again_by_the_assignment(x):
    a = [0.0]
    b = [1.0]
    for v in x:
        a = b
        a.append(v)
    s = 0.0
    for v in a:
        s += v
    return s


def read_by_the_inner_iterable(x):
    a = [0.0]
    b = [1.0]
    s = 0.0
    for v in x:
        for w in b:
            s += w
            b = []
            b.append(v)
            a = b
            a[0] += 1.0
    return s + a[0]


def swapped_and_one_is_read(x):
    a = [0.0]
    b = [1.0]
    s = 0.0
    for v in x:
        a, b = b, a
        s += a[0] * v
    return s


def bound_again_in_the_inner_loop(x):
    a = [0.0]
    s = 0.0
    for v in x:
        k = 0
        while k < 3:
            if s > 1000.0:
                break
            b = []
            for w in a:
                b.append(w + v)
                s += w
            b.append(v)
            a = b
            k += 1
    for v in a:
        s += v
    return s


@pytest.mark.parametrize("function", [
    left_before_it_is_bound_again, left_where_it_is_dead, read_again_by_the_assignment,
    read_by_the_inner_iterable, swapped_and_one_is_read, bound_again_in_the_inner_loop,
])
def test_a_loop_that_moves_lists(function: Any) -> None:
    fused = fuse(function, on_reject="silent")
    for x in (X, -X, X[:0]):
        assert_same(outcome(fused, (x,)), outcome(function, (x,)), function.__name__)


@pytest.mark.parametrize("function", [
    left_where_it_is_dead, swapped_and_one_is_read, bound_again_in_the_inner_loop,
])
def test_a_list_that_is_dead_is_moved(function: Any) -> None:
    assert fuse(function, on_reject="raise")(X) == function(X)
