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


def sieve(n: Any) -> Any:
    s = [True] * (n + 1)
    s[:2] = [False, False]
    for i in range(2, int(n**0.5) + 1):
        if s[i]:
            s[i * i::i] = [False] * len(s[i * i::i])
    return s, [i for i, prime in enumerate(s) if prime]


def sieve_by_counts(n: Any) -> Any:
    s = [1] * (n + 1)
    for i in range(2, int(n**0.5) + 1):
        if s[i]:
            s[i * i:n + 1:i] = [0] * ((n - i * i) // i + 1)
    return sum(s)


def blocks(n: Any) -> Any:
    s = [0.0] * n
    for i in range(0, n - 4, 3):
        s[i:i + 2] = [s[i + 2] + 1.0, i + 0.5]
        s[-3:-1] = [float(i)] * 2
    return s


def arguments(xs: Any) -> Any:
    for i in range(1, len(xs) - 1):
        xs[i - 1:i + 1] = [xs[i], xs[i - 1] + xs[i + 1]]
    return sum(xs)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (sieve, 200), (sieve, 5), (sieve_by_counts, 200), (blocks, 20),
        (arguments, [3.0, 1.0, 2.0, 7.0]),
    ],
)
def test_stores_in_slices(function: Any, argument: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(function)
    assert_same(outcome(fused, (argument,)), outcome(function, (argument,)), argument, 0)
    assert fused.stats.compiled == 1
    assert not fused.report(argument).rejections or function is not sieve


def stored(n: Any, a: Any, b: Any, c: Any, count: Any) -> Any:
    s = [0.0] * n
    for i in range(2):
        s[a:b:c] = [i + 1.5] * count
    return s


@pytest.mark.parametrize("step", [1, 2, 3, -1, 0])
def test_any_places(step: int) -> None:
    """Where the list would get another length, or Python raises, Python does."""
    fused = fuse(stored)
    compiled = 0
    for a in (-9, -3, -1, 0, 2, 5, 9):
        for b in (-7, -2, 0, 3, 6, 9):
            for count in (len(range(6)[a:b:step or 1]), 1, -1):
                args = 6, a, b, step, count
                assert_same(outcome(fused, args), outcome(stored, args), args, 0)
    compiled += fused.stats.compiled
    assert (compiled > 40) is (step > 0)


def growing(n: Any) -> Any:
    s = [1.0] * n
    for i in range(3):
        s[i:i] = [0.5] * 2
    return s


def test_a_list_that_gets_longer() -> None:
    assert fuse(growing)(4) == growing(4)
