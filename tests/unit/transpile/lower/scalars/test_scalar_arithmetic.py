"""Overflow of ints is excluded by guards on arguments, else by checks."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from lowered import PY_INT, lowered, text

from transpile.lower.scalars.scalar_arithmetic import BINARY
from transpile.lower.state.float_exceptions import WarningName


@pytest.mark.parametrize("of_scalars", [True, False])
def test_names_in_warnings_are_numpys(of_scalars: bool) -> None:
    for row in BINARY.values():
        if row.operation in ("div", "floordiv", "mod"):
            zero = np.int64(0) if of_scalars else np.zeros(1, np.int64)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                row.function(zero + 1, zero)
            name = WarningName(row.ufunc, of_scalars=of_scalars)
            assert str(caught[0].message) == f"divide by zero encountered in {name}"
        assert isinstance(getattr(np, row.ufunc), np.ufunc)


def test_product_of_arguments_is_guarded_and_sum_is_checked() -> None:
    assert lowered(
        """
        def f(a, b):
            return a * b + 1
        """,
        a=PY_INT, b=PY_INT,
    ) == text(
        """
        def f(a: i64, b: i64, result: mut(i64[()])):
            guard(~mul_over(a, b), "GUARD_INT_RANGE")
            guard(a >= -2305843009213693952, "GUARD_INT_RANGE")
            guard(a <= 2305843009213693952, "GUARD_INT_RANGE")
            guard(b >= -2305843009213693952, "GUARD_INT_RANGE")
            guard(b <= 2305843009213693952, "GUARD_INT_RANGE")
            t = a * b
            check(~add_over(t, 1), "replay")
            result[()] = t + 1
        """
    )


def test_divisor_must_not_be_zero() -> None:
    assert lowered(
        """
        def f(a, b):
            return a // b
        """,
        a=PY_INT, b=PY_INT,
    ) == text(
        """
        def f(a: i64, b: i64, result: mut(i64[()])):
            guard(b != 0, "GUARD_DIVISION")
            guard(~((a == -9223372036854775808) & (b == -1)), "GUARD_INT_RANGE")
            guard(a >= -2305843009213693952, "GUARD_INT_RANGE")
            guard(a <= 2305843009213693952, "GUARD_INT_RANGE")
            guard(b >= -2305843009213693952, "GUARD_INT_RANGE")
            guard(b <= 2305843009213693952, "GUARD_INT_RANGE")
            result[()] = a // b
        """
    )
