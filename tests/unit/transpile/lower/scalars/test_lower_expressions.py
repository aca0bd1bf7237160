"""Unary operators on values that may have none, and comparisons of Python or NumPy floats."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from for_each import for_each

from transpile import fuse


def invert(z: Any) -> Any:
    return ~z


def invert_product(z: Any) -> Any:
    return ~(z * 1j)


def negate(z: Any) -> Any:
    return -z


def plus(z: Any) -> Any:
    return +z


def negation(z: Any) -> Any:
    return not z


@pytest.mark.parametrize("function", [invert, invert_product, negate, plus, negation])
def test_pythons_answer_or_its_type_error(function: Any) -> None:
    """A value without the operator is refused, which is no error of the compiler's own."""
    compiled = fuse(function, target="scalar", on_reject="silent")
    for z in (1j, np.complex128(1 + 2j), np.complex64(2j), None, "a", 1.5, np.float32(1.5)):
        assert_same(outcome(compiled, (z,)), outcome(function, (z,)), repr(z))
    assert "BUILD_FAILED" not in str(compiled.report())


def below_a_tiny_constant(x, a, k):
    n = 0
    for i in range(len(x)):
        n += max(x[i], 0.0) < 1e-50
    return n


def between(x, a, k):
    n = 0
    for i in range(len(x)):
        n += 1.0 < max(x[i], 1.0) + 0 * k <= 1.0000000001
    return n


def below_an_argument(x, a, k):
    n = 0
    for i in range(len(x)):
        n += max(x[i], 1.0) < a
    return n


def below_an_int(x, a, k):
    n = 0
    for i in range(len(x)):
        n += max(x[i], 16777216.0) < k
    return n


def above(x, a, k):
    n = 0
    for i in range(len(x)):
        n += min(x[i], 0.0) > -5e-324
    return n


@for_each([below_a_tiny_constant, between, below_an_argument, below_an_int, above])
def test_a_float_of_python_or_numpy_is_compared_in_the_dtype_of_its_type(function: Any) -> None:
    """Beside a NumPy float the other number is rounded to its dtype, beside a Python float not."""
    compiled = fuse(function, target="scalar", on_reject="raise")
    for dtype in (np.float32, np.float64, np.float16):
        for values in ([-1, 0.5], [0, 1, 0, -0.0], [1e8, 1, 2, -1], [np.nan, np.inf, -np.inf]):
            with np.errstate(over="ignore"):
                args = np.array(values, dtype), 1.0000000001, 16777217
            wanted = outcome(function, args)
            assert_same(outcome(compiled, args), wanted, f"{function.__name__} of {args}")
    assert compiled.stats.compiled


def compared_maximum(x, k):
    s = 0
    for v in x:
        s = max(s, v)
    return s, s == 0.1, s < 1e-50, s > k, s == k, s <= 16777217, 0 < s < 0.1


def compared_minimum(x, k):
    s = 16777217
    for v in x:
        s = min(s, v)
    return s, s == 16777216, s < 16777217.5, s >= k, s > 70000


def compared_while_replaced(x, k):
    s, c = 0, 0
    for v in x:
        c += (s < 1e-50) + 2 * (s == k)
        if v > k:
            s = v
    return s, c, s != 0.1


@for_each([compared_maximum, compared_minimum, compared_while_replaced])
def test_an_int_or_a_numpy_float_is_compared_as_what_it_is(function: Any) -> None:
    compiled = fuse(function, on_reject="raise")
    for dtype in (np.float16, np.float32, np.float64, np.int32):
        for values in ([], [0, 0], [0.1, 0.5], [2, 1, 3], [4096]):
            for k in (0, 1, 16777217):
                args = np.array(values).astype(dtype), k
                wanted = outcome(function, args)
                assert_same(outcome(compiled, args), wanted, f"{function.__name__} of {args}")
    assert compiled.stats.compiled > 10
