"""Overflow of ints is excluded by guards on arguments, else by checks."""
from __future__ import annotations

from lowered import PY_INT, lowered, text


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
