"""An exception in mid-loop: what was written before it, what was not, and no copy made for it."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from targets.isa.target_registry import runnable_targets
from transpile import fuse

TARGETS = [t.name for t in runnable_targets()]


def roots(x, y, out, more):
    for i in range(len(x)):
        out[i] = math.sqrt(x[i])


def stored_before_the_check(x, y, out, more):
    for i in range(len(x)):
        more[i] = x[i] + 1.0
        out[i] = math.log(x[i])


def two_checks(x, y, out, more):
    for i in range(len(x)):
        out[i] = math.exp(x[i])
        more[i] = math.sqrt(y[i])


def where_it_matters(x, y, out, more):
    for i in range(len(x)):
        if y[i] > 0.0:
            out[i] = math.sqrt(x[i])
        else:
            more[i] = x[i]


def after_another_loop(x, y, out, more):
    for i in range(len(x)):
        more[i] = y[i] * 2.0
    for i in range(len(x)):
        out[i] = round(x[i] * 1e18)


def into_its_own_source(x, y, out, more):
    for i in range(len(x)):
        x[i] = math.sqrt(x[i]) + y[i]


def powers_of_floats(x, y, out, more):
    for i in range(len(x)):
        out[i] = float(x[i]) ** float(y[i]) + float(x[i]) ** 2


LOOPS = [
    roots, stored_before_the_check, two_checks, where_it_matters, after_another_loop,
    into_its_own_source, powers_of_floats,
]
LAYOUTS: dict[str, Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]] = {
    "apart": lambda a: a,
    "in place": lambda a: (a[0], a[1], a[0], a[3]),
    "another in place": lambda a: (a[0], a[1], a[2], a[1][:]),
    "strided, in place": lambda a: (a[0][::-1], a[1][::-1], a[0][::-1], a[3][::-1]),
}


def outcome(call: Callable[..., Any], args: tuple[np.ndarray, ...]) -> list[Any]:
    try:
        with np.errstate(all="ignore"):
            call(*args)
    except Exception as error:
        return [type(error), str(error)]
    return []


@pytest.mark.share(26)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", TARGETS)
def test_as_python_wherever_it_happens(
    target: str, loop: Callable[..., None], layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    call = fuse(target=target, on_reject="raise")(loop)
    for n, at, bad in itertools.product((5, 77), (None, 0, 3, 70), (-2.0, 800.0, np.nan)):
        x, y = np.linspace(1.0, 2.0, n), np.linspace(-1.0, 3.0, n) ** 2
        given = [x, y, np.full(n, 7.0), np.full(n, 9.0)]
        if at is not None and at < n:
            given[0][at] = bad
        ours, theirs = (LAYOUTS[layout](tuple(a.copy() for a in given)) for _ in range(2))
        assert outcome(call, ours) == outcome(loop, theirs)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
    assert call.stats.compiled > 0


def test_nothing_is_copied_for_it() -> None:
    x = np.ones(5)
    for loop in (roots, stored_before_the_check, two_checks, where_it_matters, powers_of_floats):
        assert "@stops" in fuse(loop).emit("loopir", x, x, x, x), loop.__name__
