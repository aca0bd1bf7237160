"""An element that the iteration before has stored, and this one stores and loads again."""
from __future__ import annotations

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def f(y, x):
    for i in range(len(x) - 4):
        a = y[i]
        for j in range(3):
            y[i] = y[i] * 0.5 + x[j]
        y[i + 1] = y[i] + a


@pytest.mark.parametrize("n", [3, 5, 6, 12, 40])
def test_some_loads_are_of_this_iteration(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    x, y, z = np.arange(n) + 2.0, np.arange(n) + 1.0, np.arange(n) + 1.0
    assert_same(outcome(fuse(f), (y, x)), outcome(f, (z, x)), f"{n}")
    assert np.array_equal(y, z)
