"""`for` and `while` become loops that carry what they change."""
from __future__ import annotations

from lowered import PY_INT, VECTOR, lowered, text


def test_sum_is_an_accumulator() -> None:
    assert lowered(
        """
        def f(x):
            s = 0.0
            for i in range(len(x)):
                s = s + x[i]
            return s
        """,
        x=VECTOR,
    ) == text(
        """
        def f(x: f64[::1], result: mut(f64[()]), result_1: mut(bool[()])):
            for i in loop(0, x.shape[0], s=0.0):
                s_1 = s + x[i]
                s = step(s_1)
            result[()] = s
            result_1[()] = ~(x.shape[0] > 0)
        """
    )


def test_while_checks_subscripts_it_cannot_prove() -> None:
    assert lowered(
        """
        def f(x, i):
            while x[i] < 0.0:
                i = i + 1
            return i
        """,
        x=VECTOR, i=PY_INT,
    ) == text(
        """
        def f(x: f64[::1], i: i64, result: mut(i64[()])):
            guard(i >= 0, "GUARD_BOUNDS")
            guard(x.shape[0] - i - 1 >= 0, "GUARD_BOUNDS")
            guard(i >= -2305843009213693952, "GUARD_INT_RANGE")
            guard(i <= 2305843009213693952, "GUARD_INT_RANGE")
            go = x[i] < 0.0
            while loop(go_2, i_1=i, go_2=go, k=0):
                at = i + k + 1
                inside = at < x.shape[0]
                check(inside, "replay")
                if inside:
                    x_at = give(x[select(inside, at, 0)])
                else:
                    x_at = give(0.0)
                go_1 = x_at < 0.0
                i_1 = step(i + k + 1)
                go_2 = step(go_1)
                k = step(k + 1)
            result[()] = i_1
        """
    )
