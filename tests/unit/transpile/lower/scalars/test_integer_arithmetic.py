"""``x % n`` by a length: below it without a check, and near the range without a division."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from random_cases import Wanted, ran

from loopir.ir_parser import parse
from loopir.ir_traversal import walk
from loopir.nodes import Call, Check
from targets.isa.target_registry import runnable_targets
from transpile import fuse

TARGETS = [t.name for t in runnable_targets()]


def area(x, y):
    s = 0.0
    n = len(x)
    for i in range(n):
        j = (i + 1) % n
        s += x[i] * x[j] - x[i] + x[j]
    return s


def diffused(x, y):
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[(i - 1) % n] + x[(i + 1) % n] - 2 * x[i]
    return out


def torus(x, y):
    n, m = len(x), len(y)
    g = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            g[i, j] = x[i] * y[j]
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for d in range(-1, 2):
                out[i, j] += g[(i + d) % n, (j + d) % m]
    return out


def ring(x, y):
    s = 0.0
    for k in range(3 * len(x)):
        s += x[k * 7 % len(x)]
    return s


def two_steps(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[(i + 2) % len(x)] - x[(i - 2) % len(x)]
    return out


def by_another_length(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i % len(y)]
    return s


def too_short(x, y):
    s = 0.0
    for i in range(len(x)):
        s += y[(i + 1) % len(x)]
    return s


def rarely_long_enough(x, y):
    s = 0.0
    for i in range(len(x)):
        s += y[0 * i % len(x)]
    return s


def by_one_less(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[(i + 1) % (len(x) - 1)]
    return s


def only_where_asked(x, y):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += i % len(y)
            s += y[i % len(y)]
    return s


PLAIN = (area, diffused, torus)
DIVIDED = (
    two_steps, ring, by_another_length, too_short, rarely_long_enough, by_one_less,
    only_where_asked,
)


def kept(n: int, m: int) -> tuple[tuple[Any, ...], list[Any]]:
    rng = np.random.default_rng(n)
    x, y = (rng.integers(-9, 9, k).astype("f8") for k in (n, m))
    return (x, y), [x, y]


@pytest.mark.parametrize("function", PLAIN, ids=lambda f: f.__name__)
def test_near_the_range_it_is_neither_divided_nor_checked(
    function: Callable[..., Any],
) -> None:
    kernel = parse(fuse(function).emit("loopir", *kept(9, 9)[0]))
    assert not any(isinstance(n, Check) for n in walk(kernel))
    assert not any(isinstance(n, Call) and n.op == "mod" for n in walk(kernel))


def test_another_remainder_needs_no_check_either() -> None:
    kernel = parse(fuse(ring).emit("loopir", *kept(9, 9)[0]))
    assert not any(isinstance(n, Check) for n in walk(kernel))


@pytest.mark.share(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [*PLAIN, *DIVIDED], ids=lambda f: f.__name__)
def test_as_python(function: Callable[..., Any], target: str) -> None:
    fused = fuse(function, target=target, on_reject="raise")
    for n, m in ((0, 0), (0, 3), (1, 1), (2, 0), (3, 2), (9, 4), (40, 50)):
        python = ran(function, partial(kept, n, m), "ignore")
        got = ran(fused, partial(kept, n, m), "ignore")
        difference = Wanted(python, []).difference(got)
        assert difference is None, difference
    assert fused.stats.compiled >= 1
