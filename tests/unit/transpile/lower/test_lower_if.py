"""Names that both branches bind are joined after an `if`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lowered import PY_FLOAT, lowered, text

from transpile import fuse


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


def joined(x, n, at):
    out = np.empty(0)
    for v in x:
        if v > n:
            out = np.append(out, v)
    return out


def shorter(x, c, at):
    p = x
    if c > 0:
        p = x[1:]
    s = 0.0
    for v in p:
        s += v
    return s


@pytest.mark.parametrize(("function", "message", "text"), [
    (joined, "`out` is another array on this path than on others", "out = np.append(out, v)"),
    (shorter, "what `p` is bound to here is not known: it changes in a loop or a branch", "p:"),
])
def test_arrays_that_differ_by_the_path_are_named(
    function: Callable[..., Any], message: str, text: str
) -> None:
    report = fuse(function, on_reject="silent").report(np.ones(5), 3, np.ones(5))
    (rejection, *_) = report.rejections
    assert rejection.message == message
    assert rejection.span is not None
    assert report.source[rejection.span.line][rejection.span.col :].startswith(text)


def quotients(x, k):
    for i in range(k):
        if i == 0:
            d = x[i] * 2.0
            x[i] = x[i] / d
    for i in range(1, k):
        d = x[i] * 3.0
        x[i] = x[i] / d
    return x


def test_an_array_that_is_made_again_before_it_is_read_need_not_be_joined() -> None:
    """No loop carries it to its next iteration, and the branches of the ``if`` keep their own."""
    report = fuse(quotients, on_reject="raise").report(np.ones((4, 5)), 4)
    assert [r.code for r in report.rejections] == []
