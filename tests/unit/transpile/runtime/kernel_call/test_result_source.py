"""Results that Python functions make of the arrays of a kernel, in calls performed in C and not."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime.kernel_call.result_functions import mixed_list


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


@pytest.mark.parametrize("shape", [(0,), (7,), (0, 3), (3, 0), (4, 3), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?", "c16"])
def test_items_of_two_kinds(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    a = rng.integers(0, 9, shape).astype(dtype)
    python = {"f8": int, "f4": float, "i8": int, "?": bool, "c16": complex}[dtype]
    for share in (0.0, 0.5, 1.0):
        flags = rng.random(shape) < share
        for weak in (False, True):
            def items(place: tuple[int, ...], weak: bool = weak, flags: Any = flags) -> Any:
                if len(place) < len(shape):
                    return [items((*place, k)) for k in range(shape[len(place)])]
                value = a[place]
                return python(value.item()) if flags[place] else value.item() if weak else value

            assert repr(mixed_list(a, flags, python, weak)) == repr(items(()))
