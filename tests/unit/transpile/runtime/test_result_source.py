"""Results that Python functions make of the arrays of a kernel, in calls performed in C and not."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime.result_source import mixed_list


@pytest.mark.parametrize(("items", "flags", "wanted"), [
    ([0.0, 1.5, -0.0], [True, False, False], "[0, 1.5, -0.0]"),
    ([], [], "[]"),
    ([[0.0, 2.5], [3.0, 4.0]], [[True, False], [True, True]], "[[0, 2.5], [3, 4]]"),
    ([[]], [[]], "[[]]"),
    ([[[1.0], [2.0]]], [[[True], [False]]], "[[[1], [2.0]]]"),
])
def test_lists_of_ints_and_floats(items: list[Any], flags: list[Any], wanted: str) -> None:
    a, of = np.array(items, float), np.array(flags, bool)
    assert repr(mixed_list(a, of, int, True)) == wanted


def test_lists_of_numpy_and_python_scalars() -> None:
    a, flags = np.array([1.0, 2.0]), np.array([False, True])
    assert [type(v) for v in mixed_list(a, flags, int, False)] == [np.float64, int]
    assert mixed_list(a, flags, int, True, 1) == [1.0]


def test_a_call_with_such_a_list_is_performed_in_c() -> None:
    def f(x):
        r = [0] * len(x)
        for i in range(len(x)):
            if x[i] > 0.0:
                r[i] = x[i]
        return r

    g = fuse(f, on_reject="raise")
    assert repr(g([1.5, -1.0])) == "[1.5, 0]"
    (specialization,) = g._specializations.values()
    assert specialization.variants[0].not_native is None
