"""Joining arrays with lists that are written in the call, as NumPy makes arrays of them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def with_zero(x, X):
    return np.concatenate(([0], x)), np.hstack(([x[0], 2.5], x)), np.vstack((X, [1, 2, 3]))


def around(x, X):
    total = 0
    for k in range(3):
        total += np.concatenate(([k], np.cumsum(x), (True, False))).sum()
    return total, np.concatenate(([[1, 2, 3]], X)), np.stack([x[:2], [1, 0.5]])


@pytest.mark.parametrize("function", [with_zero, around])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_lists_among_the_parts(
    function: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    args = np.array([1, 0, 3, 1], dtype), np.ones((2, 3), dtype)
    assert_same(outcome(fuse(function), args), outcome(function, args), dtype)


def test_other_lists_are_left_to_python() -> None:
    def names(x):
        return np.concatenate((x, ["a"])), np.concatenate(([], x))

    compiled = fuse(names, on_reject="silent")
    assert_same(outcome(compiled, (np.ones(3),)), outcome(names, (np.ones(3),)), "names")
