"""Stores under a mask whose arrays have an axis of length 1: NumPy does not stretch it."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def of_arguments(out, x, y, m):
    out[m] = x[m] * y[m]
    return out


def of_new_axes(out, x, y, m):
    rows = y[:, None]
    columns = x[0][None, :]
    out[m] = rows[m] * columns[m]
    return out


ONE_COLUMN, ONE_ROW, FULL = (4, 1), (1, 5), (4, 5)


@pytest.mark.parametrize("shape", [ONE_COLUMN, ONE_ROW, FULL], ids=str)
def test_an_array_under_the_mask_has_its_shape(shape: tuple[int, int]) -> None:
    """NumPy raises IndexError if one array has fewer elements along an axis than the mask."""
    x = np.arange(20.0).reshape(FULL)
    y = np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape)
    arguments: tuple[Any, ...] = (np.zeros(FULL), x, y, x > 7.0)
    wanted = outcome(of_arguments, arguments)
    assert_same(outcome(fuse(of_arguments), arguments), wanted, str(shape))


def test_new_axes_under_the_mask_are_not_stretched() -> None:
    x = np.arange(20.0).reshape(FULL)
    arguments: tuple[Any, ...] = (np.zeros(FULL), x, np.arange(4.0), x > 7.0)
    assert_same(outcome(fuse(of_new_axes), arguments), outcome(of_new_axes, arguments), "new axes")


def by_nonzero(x, y, t):
    return x[np.nonzero(x > t)[0]], x[np.where(x > t)] * 2, (x + 1)[np.flatnonzero(x > t)]


def by_nonzero_of_another(x, y, t):
    return x[np.nonzero(y > t)[0]]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 1000])
def test_places_of_a_mask_select_as_the_mask_does(n: int, dtype: str) -> None:
    x = (9 * np.random.default_rng(n).random(n)).astype(dtype)
    compiled = fuse(by_nonzero, on_reject="raise")
    assert_same(outcome(compiled, (x, x, 4)), outcome(by_nonzero, (x, x, 4)), "places")
    assert "np.int64" not in compiled.emit("python", x, x, 4)


def test_places_of_a_shorter_mask_are_places() -> None:
    compiled = fuse(by_nonzero_of_another, on_reject="raise")
    for m in (0, 3, 10, 11):
        arguments = np.arange(10.0), np.arange(float(m)), 1.0
        wanted = outcome(by_nonzero_of_another, arguments)
        assert_same(outcome(compiled, arguments), wanted, str(m))
