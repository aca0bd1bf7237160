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
