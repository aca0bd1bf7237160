"""Conversions of scalars: how Python's ints and NumPy's are rounded to floats."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

ROUNDED_TWICE = (2**60 + 2**36 + 1, -(2**60) - 2**36 - 1, 2**55 + 2**31 + 1, 2**62 - 1, 7)
"""Ints that are another float32 if they are rounded to a float64 first, and two others."""


def of_argument(x: Any, k: Any) -> Any:
    return np.float32(k), x[0] + k, x * k, k - x, x == k, np.complex64(k), np.maximum(x, k)


def of_items(x: Any, k: Any) -> Any:
    total = x[0]
    for i in range(len(k)):
        x[1] = k[i]
        total += k[i]
        x[0] = x[0] + x[1] - k[i]
    return total


@pytest.mark.parametrize("target", ["scalar", "avx2"])
def test_an_int_as_a_float32(target: str) -> None:
    """NumPy makes a float64 of Python's int first; its own int64s are rounded once."""
    for function, values in ((of_argument, ROUNDED_TWICE), (of_items, [ROUNDED_TWICE] * 2)):
        compiled = fuse(function, target=target, on_reject="raise")
        for k in values:
            for items in (k, list(k), np.array(k)) if isinstance(k, tuple) else (k,):
                args = (np.array([1, 2**60 + 2**37, 2**60], "f4"), items)
                assert_same(outcome(compiled, args), outcome(function, args), f"{args}")
        assert compiled.stats.compiled == 4


def stored(x: Any, y: Any) -> None:
    for i in range(len(x)):
        x[i] = y[i]


def added(x: Any, y: Any) -> None:
    x += y


def added_at(x: Any, y: Any, k: Any) -> None:
    np.add.at(x, k, y)


def of_scalar(x: Any, y: Any) -> Any:
    return np.float32(y[0]), y.astype(np.float32), np.sum(y, dtype=np.float32)


def shown(function: Any, args: Any, states: Any) -> Any:
    """The outcome of a call, what it has stored, and the warnings that are shown."""
    arrays = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(**states), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            result = repr(function(*arrays))
        except FloatingPointError as e:
            result = f"raises {e}"
    return result, arrays[0].tobytes(), [(str(w.message), w.lineno) for w in caught]


SMALL = np.array([1e-40, 1.0, -1e-46, 0.0, 1.1e-38])
LARGE = np.array([1e300, 1.0, 2.0, -1e50, 3.0])


@pytest.mark.parametrize("function", [stored, added, added_at, of_scalar])
def test_warnings_of_narrower_floats(function: Any) -> None:
    """NumPy's warning names the operation that converts; it tells of underflow if asked to, but not
    for Python's floats.
    """
    index = (np.array([0, 0, 1, 2, 4]),) if function is added_at else ()
    for values in (SMALL, LARGE, SMALL[1:2].repeat(5), SMALL.tolist()):
        if isinstance(values, list) and function is not stored:
            continue
        for states in ({}, {"under": "warn"}, {"under": "raise"}):
            compiled = fuse(function, target="avx2", on_reject="raise")
            args = (np.ones(5, np.float32), values, *index)
            for _ in range(4):  # from the third call on by a kernel that records what has raised
                assert shown(compiled, args, states) == shown(function, args, states)
            assert compiled.stats.compiled + sum(compiled.stats.replays.values()) == 4
            if values is not LARGE and not states:
                assert compiled.stats.compiled == 4
