"""A list that a loop appends to is a buffer and a counter."""
from __future__ import annotations

from lowered import VECTOR, lowered, text


def test_filtered_items_are_appended() -> None:
    assert lowered(
        """
        def f(x):
            out = []
            for i in range(len(x)):
                if x[i] > 0.0:
                    out.append(x[i])
            return out
        """,
        x=VECTOR,
    ) == text(
        """
        def f(x: f64[::1], out_items: mut(f64[::1]), result: mut(i64[()])):
            for i in loop(0, x.shape[0], out=0):
                cond = x[i] > 0.0
                if cond:
                    append(out_items, out, x[i])
            result[()] = out
        """
    )
