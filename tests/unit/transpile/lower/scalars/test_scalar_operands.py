"""Conversions of scalars: how Python's ints and NumPy's are rounded to floats."""
from __future__ import annotations

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
