"""Percentiles: the step between two elements is computed in their dtype."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from transpile import fuse


def third(a: Any) -> Any:
    return np.percentile(a, 30)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float64])
def test_a_step_that_overflows(dtype: Any) -> None:
    """NumPy warns where the step overflows, also of integers, which wrap around."""
    is_float = dtype is np.float64
    limits: Any = np.finfo(dtype) if is_float else np.iinfo(dtype)
    compiled = fuse(third)
    for x in (np.array([limits.min, limits.max, 3], dtype), np.array([1, 2, 3], dtype)):
        assert warned(compiled, x) == warned(third, x)
    assert compiled.stats.compiled


def warned(f: Any, x: Any) -> tuple[str, list[str]]:
    """The repr of a result, and the messages of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return repr(f(x)), [str(w.message) for w in caught]
