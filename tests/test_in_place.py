"""Arrays that are changed in place by numbers and arrays of each type, as NumPy casts them."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def added(x, s):
    x += s
    return x


def multiplied(x, s):
    x *= s
    return x


def floored(x, s):
    x //= s
    return x


def shifted(x, s):
    x <<= s
    return x


def powered(x, s):
    x **= s
    return x


def divided(x, s):
    x /= s
    return x


def rows(x, s):
    for i in range(len(x)):
        x[i:] -= s
    return x


def chosen(x, s):
    x[[0, 2, 0]] += s
    return x


FUNCTIONS = (added, multiplied, floored, shifted, powered, divided, rows, chosen)
DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?", "c8")


@pytest.mark.share(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy_casts(f: Callable[..., Any], dtype: str) -> None:
    fused = fuse(f, on_reject="silent")
    x = np.array([1, 0, 1, 7, 100, 127]).astype(dtype)
    for other in DTYPES:
        whole = np.array([3, 1, 2, 5, 90, 2]).astype(other)
        for s in (whole, whole[:3], whole[1], whole[4]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = outcome(f, (x.copy(), s))
                assert_same(outcome(fused, (x.copy(), s)), wanted, f"{f.__name__} {other} {s}")
    assert fused.stats.compiled or dtype in ("?", "c8") or f in (divided, shifted)
