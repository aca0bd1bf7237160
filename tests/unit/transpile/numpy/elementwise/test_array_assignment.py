"""Arrays that are changed in place by, or take, numbers and arrays of each type, as NumPy casts."""
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


def taken(x, s):
    x[:] = s
    return x


def taken_in_part(x, s):
    x[1::2] = s[:3]
    return x


def taken_where(x, s):
    x[np.arange(6) > 2] = s[3:]
    x[:3] = np.where(x[:3] > 1, s[:3], x[:3])
    return x


def taken_by_rows(x, s):
    X = np.ones((2, 3), x.dtype)
    for row in X:
        row[:] = s[:3]
    return X


FUNCTIONS = (added, multiplied, floored, shifted, powered, divided, rows, chosen)
TAKING = (taken, taken_in_part, taken_where, taken_by_rows)
DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?", "c8")


def agree(fused: Callable[..., Any], f: Callable[..., Any], x: Any, s: Any) -> None:
    """Both give, change and raise the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = outcome(f, (x.copy(), s))
        assert_same(outcome(fused, (x.copy(), s)), wanted, f"{f.__name__} {x.dtype} {s!r}")


@pytest.mark.share(288)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("part", range(3))
def test_as_numpy_casts(part: int, f: Callable[..., Any], dtype: str) -> None:
    fused = fuse(f, on_reject="silent")
    x = np.array([1, 0, 1, 7, 100, 127]).astype(dtype)
    for other in DTYPES[part::3]:
        whole = np.array([3, 1, 2, 5, 90, 2]).astype(other)
        for s in (whole, whole[:3], whole[1], whole[4]):
            agree(fused, f, x, s)
    ours = {divided: ("f4", "f8"), shifted: DTYPES[:8]}.get(f, DTYPES[:10])
    assert fused.stats.compiled or dtype not in ours


@pytest.mark.share(174)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", TAKING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("part", range(3))
def test_as_numpy_takes(part: int, f: Callable[..., Any], dtype: str) -> None:
    fused = fuse(f, on_reject="silent")
    x = np.array([1, 0, 1, 7, 100, 127]).astype(dtype)
    for values in ([3.5, 1.5, 2.0, 30.0, 99.9, 0.0], [3.5, -1.5, 2.0, 300.0, 1e20, np.nan]):
        for other in DTYPES[part::3]:
            fitting, before = min(values) == 0.0, fused.stats.compiled
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                s = np.array(values).astype(other)
            agree(fused, f, x, s)
            assert fused.stats.compiled > before or not fitting or "c8" in (dtype, other), other


def none_set(x, s):
    x[2:2] = s
    return x


def some_set(x, s):
    x[1::2] = s
    return x


def none_set_by_rows(x, s):
    for i in range(3):
        x[i:1] = s * i
    return x


def none_set_to_what_is_computed(x, s):
    a = s // -4
    x[4:] = a
    x[-1:1] = a + 3
    return a


NUMBERS = (
    -1.0, 3.7, -0.3, 255.5, 2147483647.5, float("nan"), 1e300, -9.3e18, 9223372036854775808.0, -1,
    300, 2**40, 2**70, np.float64(-1), np.float64("nan"), np.float32(2.5), np.int64(-1),
    np.int64(300), np.uint8(200), True, 0.5,
)


@pytest.mark.share(76)
@pytest.mark.parametrize("dtype", ["?", *DTYPES[:10]])
@pytest.mark.parametrize(
    "f", [none_set, some_set, none_set_by_rows, none_set_to_what_is_computed],
    ids=lambda f: f.__name__,
)
def test_a_number_is_converted_once(f: Callable[..., Any], dtype: str) -> None:
    fused = fuse(f, on_reject="silent")
    for s in NUMBERS:
        agree(fused, f, np.arange(4).astype(dtype), s)
    assert fused.stats.compiled


def rows(x):
    return x[::2] * 2, x[1:] + 1.0


def columns(x):
    return np.sqrt(x[:, ::2]), np.where(x > 0, x, 1.0)


@pytest.mark.share(6)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("function", [rows, columns], ids=lambda f: f.__name__)
def test_axes_of_length_one_have_numpys_strides(function: Any, part: int) -> None:
    fused = fuse(function, on_reject="silent")
    for shape in ((4, 3), (2, 4), (4, 2), (1, 3), (3, 1), (2, 3, 4), (2, 3, 1))[part::3]:
        x = np.arange(float(np.prod(shape))).reshape(shape)
        for array in (x, np.asfortranarray(x), x.T):
            for got, wanted in zip(fused(array), function(array), strict=True):
                assert (got.shape, got.strides) == (wanted.shape, wanted.strides), array.strides
    assert fused.stats.compiled
