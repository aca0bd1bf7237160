"""Elements that are taken: NumPy checks the indices even if no element is read."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
