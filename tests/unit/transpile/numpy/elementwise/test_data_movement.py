"""Elements that are taken: NumPy checks the indices even if no element is read."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def rows_taken(x: Any, k: Any) -> Any:
    return np.take(x, k, axis=0)


def test_rows_without_elements() -> None:
    compiled = fuse(rows_taken, target="scalar", on_reject="raise")
    inside, outside = np.array([-1, 2]), np.array([-7, 7])
    full, empty = np.arange(6.0).reshape(3, 2), np.ones((3, 0))
    assert np.array_equal(compiled(full, inside), rows_taken(full, inside))
    assert compiled.stats.compiled == 1
    assert compiled(empty, inside).shape == (2, 0)
    for x in (full, empty):
        with pytest.raises(IndexError):
            compiled(x, outside)
    assert compiled.stats.compiled == 1


def rolled_by_elements(x: Any, k: Any) -> Any:
    out = []
    for i in range(len(k)):
        out.append((np.roll(x, k[i], axis=1) + np.roll(np.roll(x, k[i]), (k[0], 1), (0, 1))).sum())
        out.append((np.tile(x[1], k[1]) * np.tile(x[0], 3)).sum())
    return out


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i8"])
def test_shifts_that_are_integers_of_numpy(dtype: str) -> None:
    """NumPy takes them as Python's ints, so that none wraps around."""
    limits = np.iinfo(dtype)
    k = np.array([limits.min // 2, 3, limits.max // 2, limits.max], dtype)
    compiled = fuse(rolled_by_elements, target="scalar", on_reject="raise")
    for x in (np.arange(8.0).reshape(2, 4), np.ones((2, 4), "f4")):
        assert_same(outcome(compiled, (x, k)), outcome(rolled_by_elements, (x, k)), dtype)
    assert compiled.stats.compiled == 2


def tiled(x: Any, k: Any) -> Any:
    return np.tile(x, k)


def tiled_along_both(x: Any, k: Any) -> Any:
    return np.tile(x, (2, k))


@pytest.mark.parametrize("f", [tiled, tiled_along_both])
def test_a_negative_number_of_repetitions(f: Any) -> None:
    """NumPy raises, even for arrays without elements."""
    compiled = fuse(f, target="scalar", on_reject="raise")
    for x in (np.ones(0), np.ones(1), np.arange(3.0), np.ones((2, 1)), np.ones((0, 2))):
        for k in (2, 1, 0, -1, -2, np.int8(3), np.int8(-3)):
            args = (x, k)
            assert_same(outcome(compiled, args), outcome(f, args), f"{x.shape}, {k!r}")
    assert compiled.stats.compiled > 0
