"""Names that both branches bind are joined after an `if`."""
from __future__ import annotations

from lowered import PY_FLOAT, lowered, text


def test_one_type_is_one_value() -> None:
    assert lowered(
        """
        def f(a):
            if a > 0.0:
                b = a
            else:
                b = -a
            return b
        """,
        a=PY_FLOAT,
    ) == text(
        """
        def f(a: f64, result: mut(f64[()])):
            cond = a > 0.0
            if cond:
                b_1 = give(a)
            else:
                b = -a
                b_1 = give(b)
            result[()] = b_1
        """
    )


def test_two_types_are_two_values_and_a_flag() -> None:
    assert lowered(
        """
        def f(a):
            if a > 0.0:
                b = 1
            else:
                b = 2.5
            return b
        """,
        a=PY_FLOAT,
    ) == text(
        """
        def f(a: f64, result: mut(i64[()]), result_1: mut(bool[()]), result_2: mut(f64[()])):
            cond = a > 0.0
            result[()] = 1
            result_1[()] = cond
            result_2[()] = 2.5
        """
    )
