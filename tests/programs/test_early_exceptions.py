"""Loops over huge ranges that Python leaves with an exception at once: the compiled call, which is
then run by Python, takes no longer, and leaves the same in the arrays."""
from __future__ import annotations

import copy
import math
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

from tests.support.agree import same
from transpile import fuse

HUGE = 8_000_000_000


def rows(y, p, x):
    for i in range(len(y)):
        for k in range(p[i]):
            y[i] += x[k]


def every_second(y, p, x):
    for i in range(len(y)):
        for k in range(p[i]):
            y[i] += x[2 * k + 1]


def downward(y, p, x):
    for i in range(len(y)):
        for k in range(p[i], 0, -1):
            y[i] += x[k]


def from_the_end(y, p, x):
    for i in range(len(y)):
        for k in range(p[i]):
            y[i] += x[-k - 1]


def two_subscripts(y, p, x):
    for i in range(len(y)):
        for k in range(p[i]):
            y[i] += x[k] * x[k + i]


def shifted_sums(y, p, x):
    for i in range(len(y)):
        s = 0.0
        for k in range(p[i]):
            s += x[k - i]
        y[i] += s


def three_loops(y, p, x):
    for i in range(len(y)):
        for j in range(p[i]):
            for k in range(j + 2):
                y[i] += x[k]


def row_of_a_matrix(y, p, a):
    for i in range(len(y)):
        row = a[i]
        for k in range(p[i]):
            y[i] += row[k]


def counted_by_while(y, p, x):
    for i in range(len(y)):
        k = 0
        while k < p[i]:
            y[i] += x[k]
            k += 2


def half(y, p, x):
    for i in range(p[0]):
        y[i % 40] += x[i // 2]


def counts(h, p, x):
    for i in range(p[0]):
        h[i * 3 % 50] += 1


def of_few_places(y, p, places):
    for i in range(len(y)):
        for k in range(p[i]):
            y[i] += y[places[k % 40]]


def quotients(y, p, d):
    for i in range(len(y)):
        for k in range(p[i]):
            y[i] += k // int(d[k % 40])


def roots(y, p, d):
    for i in range(len(y)):
        for k in range(p[i]):
            y[i] += math.sqrt(1.0 - d[k % 40])


def raised(y, p, d):
    for i in range(len(y)):
        for k in range(p[i]):
            if d[k % 40] > 20:
                raise ValueError(k)
            y[i] += k


ZEROS, UP = np.zeros(40), np.arange(40.0)
CASES: list[tuple[Callable[..., Any], Any, Any]] = [
    *((f, ZEROS, UP) for f in (
        rows, every_second, downward, from_the_end, two_subscripts, shifted_sums, three_loops,
        counted_by_while, half, raised,
    )),
    (rows, ZEROS, [*UP]),
    (row_of_a_matrix, ZEROS, np.ones((40, 40))),
    (counts, np.zeros(40, np.int64), UP),
    (of_few_places, ZEROS, np.arange(20, 60)),
    (quotients, ZEROS, UP[::-1].copy()),
    (roots, ZEROS, UP),
]


@pytest.fixture
def not_endless() -> Iterator[None]:
    """A test that would take too long fails."""
    def raises(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, raises)
    signal.setitimer(signal.ITIMER_REAL, 30)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.share(2)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
@pytest.mark.usefixtures("not_endless")
def test_an_exception_after_few_iterations_comes_at_once(
    case: tuple[Callable[..., Any], Any, Any], threads: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function, y, x = case
    fused = fuse(function, threads=threads)
    with monkeypatch.context() as patched:
        patched.setenv("TRANSPILE_FALLBACK", "error")
        fused(y.copy(), np.ones(40, np.int64), copy.copy(x))  # compiled
    expected, times = y.copy(), []
    p = np.full(40, HUGE)
    with pytest.raises((IndexError, ValueError, ZeroDivisionError)) as python:
        function(expected, p, x)
    for _ in range(3):  # a busy machine may be late once
        found, at = y.copy(), time.monotonic()
        with pytest.raises(python.type):
            fused(found, p, copy.copy(x))
        times.append(time.monotonic() - at)
        assert same(found, expected)
    assert min(times) < 0.5
