"""Runs a function as Python, NumPy, numba and compiled: same answers, and how soon each came."""
from __future__ import annotations

import copy
import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

HAS_NUMBA = importlib.util.find_spec("numba") is not None

HEADING = (
    f"{'':<14} {'Python':>10} {'NumPy':>10} " + f"{'numba':>10} " * HAS_NUMBA
    + f"{'compiled':>10} {'compiling':>10} {'speed-up':>9}"
)


def compare(
    fused: Any, *args: Any, rtol: float = 0.0, numpy: Callable[..., Any] | None = None
) -> Any:
    """Prints the times, asserts that results and changed arrays agree, and gives the result.

    ``rtol`` is 0 where bits must agree; sums, whose order may change, and functions such as exp,
    whose last bit may, take a little more. ``numpy`` does the same with NumPy, to about 1e-9. The
    time under "compiling" is that of the first call, all others are the best of five.
    """
    theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
    expected, python = _timed(fused.__wrapped__, theirs)
    result, first = _timed(fused, ours)
    _assert_same((expected, theirs), (result, ours), rtol)
    compiled = _best(fused, ours)
    columns = [f"{python * 1e3:>7.2f} ms", _time_of_numpy(numpy, args, (expected, theirs))]
    if HAS_NUMBA:
        columns.append(_time_of_numba(fused.__wrapped__, args))
    columns += [f"{compiled * 1e3:>7.3f} ms", f"{max(first - compiled, 0) * 1e3:>7.0f} ms"]
    print(f"{fused.__name__:<14} {' '.join(columns)} {python / compiled:>7.0f} ×")
    return result


def _time_of_numpy(
    function: Callable[..., Any] | None, args: tuple[Any, ...], expected: Any
) -> str:
    if function is None:
        return f"{'–':>10}"
    copies = copy.deepcopy(args)
    result = function(*copies)
    _assert_same(expected, (result, copies), 1e-9, same_types=False)
    return f"{_best(function, copies) * 1e3:>7.3f} ms"


def _time_of_numba(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """The time of numba, once it has compiled; – where it refuses the function."""
    import numba

    copies = copy.deepcopy(args)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jitted = numba.njit(function)
            jitted(*copies)
            return f"{_best(jitted, copies) * 1e3:>7.3f} ms"
    except Exception:
        return f"{'–':>10}"


def _best(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    return min(_timed(function, args)[1] for _ in range(5))


def _timed(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = function(*args)
    return result, time.perf_counter() - start


def _assert_same(expected: Any, result: Any, rtol: float, same_types: bool = True) -> None:
    if same_types:
        assert type(expected) is type(result), f"{type(result)} instead of {type(expected)}"
    if isinstance(expected, (tuple, list)):
        assert len(expected) == len(result)
        for a, b in zip(expected, result, strict=True):
            _assert_same(a, b, rtol, same_types)
    elif isinstance(expected, (np.ndarray, np.generic, float)):
        assert np.asarray(expected).dtype == np.asarray(result).dtype
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_equal(result, expected)
