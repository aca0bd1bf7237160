"""Runs a function compiled and as plain Python: same answer, and how much sooner it came."""
from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np

HEADING = f"{'':<22} {'Python':>10} {'compiled':>10} {'speed-up':>9}"


def compare(fused: Any, *args: Any, rtol: float = 0.0) -> Any:
    """Prints both times, asserts that results and changed arrays agree, and gives the result.

    ``rtol`` is 0 where bits must agree; sums, whose order may change, and functions such as exp,
    whose last bit may, take a little more.
    """
    theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
    expected, slow = _timed(fused.__wrapped__, theirs)
    result, _ = _timed(fused, ours)
    _assert_same((expected, theirs), (result, ours), rtol)
    fast = min(_timed(fused, ours)[1] for _ in range(5))
    times = f"{slow * 1e3:>8.2f} ms {fast * 1e3:>7.3f} ms {slow / fast:>7.0f} ×"
    print(f"{fused.__name__:<22} {times}")
    return result


def _timed(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = function(*args)
    return result, time.perf_counter() - start


def _assert_same(expected: Any, result: Any, rtol: float) -> None:
    assert type(expected) is type(result), f"{type(result)} instead of {type(expected)}"
    if isinstance(expected, (tuple, list)):
        assert len(expected) == len(result)
        for a, b in zip(expected, result, strict=True):
            _assert_same(a, b, rtol)
    elif isinstance(expected, (np.ndarray, np.generic, float)):
        assert np.asarray(expected).dtype == np.asarray(result).dtype
        np.testing.assert_allclose(result, expected, rtol=rtol)
    else:
        np.testing.assert_equal(result, expected)
