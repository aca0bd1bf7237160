"""Calls of ufuncs: an operation is left to Python on dtypes that its row excludes."""
from __future__ import annotations

from dataclasses import replace
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
