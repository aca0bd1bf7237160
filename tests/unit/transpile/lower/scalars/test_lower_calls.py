"""Calls of ufuncs: dtypes that a row excludes are left to Python; Python's ints become NumPy's."""
from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from loopir.op_table import OPS
from transpile import fuse
from transpile.lower.scalars import lower_calls


def signs(x: Any, y: Any) -> Any:
    return np.copysign(x, y)


def negative(x: Any) -> Any:
    return np.signbit(x)


@pytest.mark.parametrize(("function", "ufunc"), [(signs, np.copysign), (negative, np.signbit)])
def test_an_excluded_dtype(function: Any, ufunc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = lower_calls.CALLS[ufunc]
    row = replace(OPS[ufunc.__name__], excluded=("f16",))
    monkeypatch.setitem(
        lower_calls.CALLS, ufunc, lambda *args, **how: rule.func(*args, function=ufunc, op=row)
    )
    for dtype, accepted in (("f2", False), ("f4", True), ("f8", True)):
        x = [np.array([1.5, -2.0, 3.0], dtype)] * function.__code__.co_argcount
        report = fuse(function).report(*x)
        assert report.accepted == accepted
        assert accepted or {r.code for r in report.rejections} == {"LOWER_TYPE"}


def test_excluded_in_a_row() -> None:
    row = replace(OPS["copysign"], excluded=("f16",))
    assert [d for d in ("f16", "f32", "i32") if row.accepts(d)] == ["f32"]


def quotients(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b)


def remainders(a: Any, b: Any) -> Any:
    return np.remainder(a, b)


def warned(f: Any, *args: Any) -> tuple[str, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return repr(f(*args)), [str(w.message) for w in caught]


@pytest.mark.parametrize("function", [quotients, remainders])
def test_divisors_of_zero(function: Any) -> None:
    """A ufunc of Python's ints and bools divides NumPy's, which warn of 0 and do not raise."""
    compiled = fuse(function, on_reject="silent")
    for a, b in product((7, 0, -3, True, False, np.int64(7)), repeat=2):
        assert warned(compiled, a, b) == warned(function, a, b), (a, b)
    assert compiled.stats.compiled
