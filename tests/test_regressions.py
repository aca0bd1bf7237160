"""Small programs that once went wrong, found by random ones."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_cases import Wanted, ran

from targets.host import available
from transpile import fuse

TARGETS = [t.name for t in available()]
EXAMPLES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = []


def example(make: Callable[[], tuple[Any, ...]]) -> Callable[..., Any]:
    """The decorated function must be compiled for these arguments, and do as Python does."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        EXAMPLES.append((function, make))
        return function

    return keep


def numbers(dtype: str = "f8", low: int = -4, high: int = 20) -> np.ndarray:
    return np.arange(low, high).astype(dtype)


@example(lambda: (numbers(),))
def a_list_under_a_name(x):
    doubled = [v * 2 for v in x]
    return doubled, len(doubled)


@example(lambda: (numbers(),))
def a_filtered_list_under_a_name(x):
    positive = count = [v for v in x if v > 0]
    return positive, len(count)


@example(lambda: (numbers("i4"), numbers("i4", 1, 25)))
def maximum_of_some_quotients(x, y):
    return max(np.ceil(v // y[i]) for i, v in enumerate(x) if x[i])


@example(lambda: (numbers(), 3))
def truth_of_two_types(x, k):
    s = 0.0
    for v in x:
        if (k and v > 0) or v:
            s = s + v
        if np.abs(v) < v + k <= v * v:
            s = s - k
    return s


@example(lambda: (numbers(), np.True_))
def size_of_a_numpy_bool(x, flag):
    for i in range(len(x)):
        x[i] = abs(flag)


@example(lambda: (numbers("i8"), numbers("i1"), numbers() * 2.0**338))
def small_powers(x, y, z):
    squares = [v**2.0 for v in x]
    cubes = [v**3 for v in y]
    return squares, cubes, [v**3 + v**2 for v in z]


@example(lambda: (numbers(),))
def sum_and_list_of_the_rest(x):
    rest = []
    s = 0
    count = 0
    for v in x:
        if v > 3:
            s += v
            count += 1
        else:
            rest.append(v)
    return rest, s, count


@example(lambda: (numbers("i8") * (2**58 + 1),))
def ceiling_of_wide_integers(x):
    return [math.ceil(v) for v in x], [math.floor(v) for v in x], [round(v) for v in x]


@example(lambda: (numbers("f4"), 3))
def functions_of_python_numbers(x, k):
    return [v + np.abs(3) for v in x], [v * np.negative(k) for v in x], [np.abs(k) for _ in x]


@example(lambda: (numbers("i4"), numbers()))
def signs_of_zeros(x, y):
    return [0.0 - float(v) for v in x], [0.0 - abs(v) for v in y]


@example(lambda: (numbers(),))
def rounded_in_half_a_register(x):
    p = 1.0
    s = 0.0
    for v in x:
        p *= np.trunc(np.float32(v))
        s += np.ceil(v * 0.25) / 4
    return p, s


def _kept(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return args, tuple(a for a in args if isinstance(a, np.ndarray))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "make"), EXAMPLES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_python(
    function: Callable[..., Any],
    make: Callable[[], tuple[Any, ...]],
    target: str,
) -> None:
    fused = fuse(function, target=target, on_reject="raise")
    for mode in ("ignore", "warn"):
        wanted = Wanted(ran(function, lambda: _kept(make()), mode), [])
        difference = wanted.difference(ran(fused, lambda: _kept(make()), mode))
        assert difference is None, difference
        assert fused.stats.compiled >= 1, "Python may only answer where it warns"


def _by_branch(x):
    low, high = math.inf, 0.0
    for v in x:
        if v < low:
            low = v
        if high < v:
            high = v
    return low, high


def _by_choice(x):
    low, high = 1024.0, -math.inf
    for i in range(len(x)):
        low = x[i] if x[i] < low else low
        high = x[i] if high < x[i] else high
    return low, high


def _by_builtin(x):
    low, high = float("inf"), x[0]
    for v in x:
        low, high = min(low, v), max(high, v)
    return low, high


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
@pytest.mark.parametrize("function", [_by_branch, _by_choice, _by_builtin])
def test_an_extremum_is_a_fold_however_it_is_written(
    function: Callable[..., Any], dtype: str
) -> None:
    x = numbers(dtype, 3, 60)
    fused = fuse(function, on_reject="raise")
    for given in (x, x[:1], x + x.dtype.type(100)):
        got, wanted = fused(given), function(given)
        assert [(type(v), v) for v in got] == [(type(v), v) for v in wanted]
    assert fused.report(x).vectorized == 1
    assert not fused.stats.replays
