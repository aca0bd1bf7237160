"""The condition of a ``while`` proves its subscripts: no check is left, and none too few."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from random_cases import Wanted, ran

from loopir.ir_parser import parse
from loopir.ir_traversal import walk
from loopir.nodes import Check, Load, While
from targets.isa.target_registry import runnable_targets
from transpile import fuse

TARGETS = [t.name for t in runnable_targets()]


def put_in_order(a):
    for i in range(1, len(a)):
        v = a[i]
        j = i - 1
        while j >= 0 and a[j] > v:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = v


def turn_round(a):
    lo = 0
    hi = len(a) - 1
    while lo < hi:
        t = a[lo]
        a[lo] = a[hi]
        a[hi] = t
        lo += 1
        hi -= 1


def first_fall(a):
    i = 0
    while i + 1 < len(a) and a[i] <= a[i + 1]:
        i += 1
    return i


def from_the_end(a):
    s = 0.0
    for i in range(len(a)):
        j = i
        while j >= -2 and a[j] > 0:
            s += a[j - 1]
            j -= 1
    return s


def one_too_far(a):
    i = 0
    while i <= len(a) and a[i] > -50:
        i += 1
    return i


def moved_after_the_test(a):
    i = 0
    s = 0.0
    while i < len(a):
        i += 1
        s += a[i]
    return s


def a_limit_that_moves(a):
    n = 3
    i = 0
    s = 0.0
    while i < n:
        s += a[i]
        n += 1
        i += 1
    return s


def another_array(a):
    b = a[2:]
    i = 0
    s = 0.0
    while i < len(a):
        s += b[i]
        i += 1
    return s


def beside_the_loop(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        z = a[i]
        c = 0
        while i + 5 < len(a) and c + z < 4:
            z = z * 0.5 + a[i + 5]
            c += 1
        out[i] = z + c
    return out


PROVED = (put_in_order, turn_round, first_fall)
NOT = (
    from_the_end, one_too_far, moved_after_the_test, a_limit_that_moves, another_array,
    beside_the_loop,
)


def numbers(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(-9, 40, n).astype("f8")


def kept(n: int) -> tuple[tuple[Any, ...], list[Any]]:
    a = numbers(n)
    return (a,), [a]


@pytest.mark.parametrize("function", PROVED, ids=lambda f: f.__name__)
def test_what_the_condition_proves_is_not_asked(function: Callable[..., Any]) -> None:
    kernel = parse(fuse(function).emit("loopir", numbers(9)))
    waits = [n for n in walk(kernel) if isinstance(n, While)]
    assert waits
    assert not any(isinstance(n, Check) for wait in waits for n in walk(wait))


def test_what_only_the_condition_proves_is_not_loaded_by_lanes_that_have_left() -> None:
    kernel = parse(fuse(beside_the_loop).emit("loopir", numbers(9)))
    waits = [n for n in walk(kernel) if isinstance(n, While)]
    assert waits
    assert not any(isinstance(n, Load) and n.lanes != 1 for wait in waits for n in walk(wait))


@pytest.mark.share(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [*PROVED, *NOT], ids=lambda f: f.__name__)
def test_as_python(function: Callable[..., Any], target: str) -> None:
    fused = fuse(function, target=target, on_reject="raise")
    raises = True
    for n in (0, 1, 2, 9, 40):
        python = ran(function, partial(kept, n), "ignore")
        difference = Wanted(python, []).difference(ran(fused, partial(kept, n), "ignore"))
        assert difference is None, difference
        raises = raises and python.error is not None
    assert raises or fused.stats.compiled >= 1
