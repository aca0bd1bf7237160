"""Calls from several Python threads at once, also on a Python without a global interpreter lock.

The lists that all threads share change meanwhile: what a call returns then is not defined by
Python either, and must not be a crash.
"""
from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from transpile import fuse

THREADS = 6
ROUNDS = 60


def dot(x, k):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * k
    return s


def weighted(xs, d):
    t = 0
    for v in xs:
        t += v * d
    return t


def positive(xs, d):
    return [v * d for v in xs if v > 0]


def roots(x, k):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.sqrt(x[i]) + i * k
    return out


def whole(x, k):
    return np.maximum(x * k, 0.5) - x.mean()


def arguments(function: Callable[..., Any], rng: np.random.Generator) -> tuple[Any, Any]:
    """Random ones, of several types: the threads compile and look versions up at once."""
    n = int(rng.integers(1, 400))
    if function in (weighted, positive):
        xs: list[Any] = [int(v) for v in rng.integers(-5, 9, n)]
        return (xs if rng.random() < 0.7 else [v / 2 for v in xs]), int(rng.integers(1, 4))
    x = rng.integers(0, 9, n).astype(rng.choice([np.float64, np.float32]))
    return x, [2, 2.0, np.float32(0.5)][rng.integers(3)]


@pytest.mark.parametrize("function", [dot, weighted, positive, roots, whole])
def test_threads_get_pythons_answers(function: Callable[..., Any]) -> None:
    fused = fuse(function, cache=False)
    shared: list[Any] = [1, 2, 3] * 20

    def calls(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for k in range(ROUNDS):
            given = arguments(function, rng)
            got, wanted = fused(*given), function(*given)
            assert type(got) is type(wanted)
            np.testing.assert_array_equal(got, wanted)
            if function in (weighted, positive):
                shared.append(k)
                fused(shared, 1)
                shared.pop()

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(calls, seed) for seed in range(THREADS)]:
            done.result()
    assert fused.stats.compiled > 0


LOCKS = """
import sys
import numpy as np
before = sys._is_gil_enabled()
from transpile import fuse
f = fuse(lambda x: x * 2 + 1, on_reject="silent")
assert list(f(np.ones(3))) == [3.0] * 3
print(before, sys._is_gil_enabled())
"""


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has the lock"
)
def test_the_lock_stays_off() -> None:
    """Nothing that is imported or loaded switches it on."""
    found = subprocess.run(
        [sys.executable, "-c", LOCKS], check=True, capture_output=True, text=True
    )
    assert found.stdout.split() == ["False", "False"]
