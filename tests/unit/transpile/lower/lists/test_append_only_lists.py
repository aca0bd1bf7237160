"""A list that a loop appends to is a buffer and a counter."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from lowered import VECTOR, lowered, text
from written import written

from transpile import fuse


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


@pytest.mark.parametrize("body", [
    "a, b = x, y\n    for i in range(3):\n        w.append(a[i])\n        a, b = b, a",
    "v = [s for s in x if s > 0]\n    for i in range(len(v)):\n        w.append(v[i] * 2)",
], ids=["of arrays that change places", "as many as another list got"])
def test_one_append_in_each_iteration_has_a_counter(body: str, tmp_path: Path) -> None:
    """One append in each iteration needs no counter, if the loop is lowered once and its trip count
    is known before the kernel runs. Neither holds here.
    """
    f = written(tmp_path, f"def f(x, y):\n    w = []\n    {body}\n    return w\n").f
    g = fuse(f, on_reject="raise")
    for x in (np.arange(5.0) - 2, np.arange(4.0) * -1):
        args = x, np.arange(len(x)) * 10.0
        assert_same(outcome(g, args), outcome(f, args), body)
    assert g.stats.compiled
