"""Names of lists that are bound anew: the argument and what takes its name are told apart."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def shortened(x: Any, k: int) -> Any:
    x = list(x)
    t = 0.0
    while len(x) > k:
        t += x[0]
        x.pop(0)
    return t, x


def divided(x: Any, k: int) -> Any:
    """A list of ints becomes one of ints and floats."""
    x = list(x)
    quotient = []
    while len(x) > k:
        q = x[0] / 2
        quotient.append(q)
        x[1] -= q * 3
        x.pop(0)
    return quotient, x


def sorted_and_longer(x: Any, k: int) -> Any:
    x = sorted(x)
    x.append(x[k])
    for i in range(len(x)):
        x[i] += i
    x = np.array(x)
    return x * 2


def swapped(x: Any, k: int) -> Any:
    y = [k, k]
    x, y = y, x
    for i in range(len(x)):
        x[i] += y[0]
    return x, sum(y)


def of_other_type(x: Any, k: int) -> Any:
    x = sum(x)
    return x + k


def twice(x: Any, k: int) -> Any:
    x = [v * 2 for v in x if v > k]
    x = [v + 1 for v in x]
    x.append(x[0])
    return sum(x), x


FUNCTIONS = shortened, divided, sorted_and_longer, swapped, of_other_type, twice


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_an_argument_whose_name_is_bound_anew(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(function)
    for x in ([1, 5, 3, 2], [2.5, 7.0, -1.0, 4.0, 0.5]):
        for k in (1, 2):
            mine, theirs = copy.copy(x), copy.copy(x)
            assert_same(outcome(fused, (mine, k)), outcome(function, (theirs, k)), f"{x} {k}")
            assert mine == theirs


def rebound_in_a_loop(x: Any, k: int) -> Any:
    for _ in range(k):
        x = x[1:]
        x.append(1.0)
    return x


def test_the_help_for_a_name_that_is_bound_anew_in_a_loop() -> None:
    (rejection,) = fuse(rebound_in_a_loop).report([1.0, 2.0], 1).rejections
    assert rejection.message == "`x` is changed here, and may be the argument or another list"
    assert rejection.help == "give the list that is made here another name than the argument's"
