"""Macros of a user's own, as patterns: Python gives the same answer before and after."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse, macro
from transpile.frontend.macros import macro_patterns

X = np.array([3.0, -1.0, 4.0, 0.5, -5.0, 9.0, 2.0, 6.0])


class special:  # stands for a module of another's
    @staticmethod
    def expit(x: Any) -> Any:
        """Of what no source is to be had."""
        return eval("1.0 / (1.0 + np.exp(-x))")

    @staticmethod
    def larger(a: Any, b: Any) -> Any:
        return eval("a if a > b else b")


def pairs(n: int) -> Any:
    return eval("range(0, n, 2)")


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(macro_patterns, "_registered", [])
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")

    @macro("special.expit(A)")
    def expit(A: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-A))

    @macro("special.larger(A, B)")
    def larger(A: Any, B: Any) -> Any:
        return A if A > B else B

    macro("for I in pairs(N): BODY", "for I in range(0, N, 2): BODY")
    macro("X -= Y * Y", "X = X - Y * Y")


def squashed(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = special.expit(x[i] * 2.0)


def squashed_whole(x: Any, out: Any) -> Any:
    return special.expit(x - 1.0) + special.expit(out)


def extremes(x: Any, out: Any) -> Any:
    best = 0.0
    for i in range(len(x)):
        best = special.larger(best, special.larger(x[i], -x[i]) - 1.0)
    return best


def every_other(x: Any, out: Any) -> Any:
    s = 0.0
    for i in pairs(len(x)):
        s += x[i]
        out[i] = s
    return s


def lessened(x: Any, out: Any) -> Any:
    s = 100.0
    for v in x:
        s -= v * v
    return s


FUNCTIONS = [squashed, squashed_whole, extremes, every_other, lessened]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_same_answer(function: Any) -> None:
    fused = fuse(function)
    for x in (X, X[:1], X[:0], X * 3.0):
        args = x.copy(), np.zeros(len(x))
        assert_same(outcome(fused, args), outcome(function, args), function.__name__, ulps=8)
    assert fused.stats.compiled == 4


def test_by_another_name() -> None:
    sigmoid = special.expit

    def f(x: Any) -> Any:
        s = 0.0
        for v in x:
            s += sigmoid(v)
        return s

    assert abs(fuse(f)(X) - f(X)) < 1e-12


def test_the_name_of_the_pattern_bound_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK")
    fused = fuse(lessened_by_name, on_reject="silent")
    assert abs(fused(X) - lessened_by_name(X)) < 1e-12
    monkeypatch.setattr(special, "expit", staticmethod(lambda x: eval("x + 1.0")))
    assert fused(X) == lessened_by_name(X)


def lessened_by_name(x: Any) -> Any:
    s = 0.0
    for v in x:
        s += special.expit(v)
    return s


def test_a_hole_is_evaluated_once() -> None:
    text = fuse(extremes).emit("python", X, X)
    assert text.count("x[i]") <= 2
    assert "larger(" not in text


def test_what_shadows_a_name_of_the_expansion() -> None:
    def f(x: Any, range: Any) -> Any:
        s = 0.0
        for i in pairs(len(x)):
            s += x[i]
        return s

    report = fuse(f).report(X, 1)
    assert not report.accepted


@pytest.mark.parametrize(
    ("pattern", "expansion", "said"),
    [
        ("f(A", "A", "is not Python"),
        ("f(A); g(A)", "A", "is not one expression or statement"),
        ("f(A)", "A = 1", "not both expressions"),
        ("f(A)", "A + B", "has no B"),
    ],
)
def test_what_is_no_macro(pattern: str, expansion: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        macro(pattern, expansion)


def test_an_expansion_is_one_expression() -> None:
    def f(A: Any) -> Any:
        A += 1
        return A

    with pytest.raises(ValueError, match="`f` is not one returned expression"):
        macro("g(A)")(f)
