"""Callees: methods that are fused, and objects that are called, are inlined as other functions are.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.errors import FuseError

X = np.array([0.5, 2.0, -3.0])


def shifted(o, v):
    return v + o.shift


class Line:
    def __init__(self, slope: float) -> None:
        self.slope, self.shift, self.weights = slope, 1.0, np.array([2.0, 3.0])

    def __call__(self, v, scale=1.0):
        return shifted(self, v) * self.slope * scale + self.weights[1]

    @fuse
    def at(self, v):
        return v * self.slope, v + self.shift

    @staticmethod
    @fuse
    def doubled(v):
        return v * 2

    @property
    @fuse
    def steep(self):
        return self.slope * 10

    @fuse(reassociate=False)
    def in_order(self, v):
        return v * self.slope


class Pair:
    def __init__(self) -> None:
        self.first, self.second = Line(2.0), Line(3.0)


@fuse
def of_methods(o, x):
    s = 0.0
    for v in x:
        a, b = o.at(v)
        s += a * b + o.doubled(v) + o.steep
    return s


@fuse
def of_calls(o, x):
    s = 0.0
    for v in x:
        s += o(v) - o(v, scale=0.5)
    return s


@fuse
def of_members(o, x):
    s = 0.0
    for v in x:
        s += o.first(v) * o.second(v)
    return s


@pytest.mark.parametrize(("function", "argument"), [
    (of_methods, Line(2.0)), (of_calls, Line(2.0)), (of_members, Pair()),
], ids=["methods", "calls", "members"])
def test_fused_methods_and_objects_that_are_called(
    function: Any, argument: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    assert function(argument, X) == pytest.approx(function.__wrapped__(argument, X), rel=1e-14)


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_a_method_that_is_bound_again_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(2.0)
    assert of_calls(line, X) == of_calls.__wrapped__(line, X)
    assert of_methods(line, X) == of_methods.__wrapped__(line, X)
    monkeypatch.setattr(Line, "__call__", lambda self, v, scale=1.0: v + scale)
    assert of_calls(line, X) == of_calls.__wrapped__(line, X)

    @fuse
    def at(self, v):
        return v, 7.0

    monkeypatch.setattr(Line, "at", at)
    assert of_methods(line, X) == of_methods.__wrapped__(line, X)
    line.at = lambda v: (v, v)  # type: ignore[method-assign,assignment]  # hides the method
    assert of_methods(line, X) == of_methods.__wrapped__(line, X)
    line.__call__ = lambda v, scale=1.0: 0.0  # type: ignore[method-assign]  # hides nothing
    assert of_calls(line, X) == of_calls.__wrapped__(line, X)


def test_a_method_that_is_fused_with_other_options_is_named() -> None:
    def caller(o, x):
        s = 0.0
        for v in x:
            s += o.in_order(v)
        return s

    with pytest.raises(FuseError, match=r"`o\.in_order` is fused with options of its own"):
        fuse(caller, on_reject="raise")(Line(2.0), X)


def test_what_is_refused_in_a_fused_method_is_named() -> None:
    class Model:
        def __init__(self) -> None:
            self.rows = ["a", 1]

        @fuse
        def step(self, v):
            return v * len(self.rows)

        @fuse
        def solve(self, x):
            s = 0.0
            for v in x:
                s += self.step(v)
            return s

    (rejection, *_) = Model.solve.report(Model(), X).rejections
    assert rejection.message.startswith("`self.rows` is of type list, and only attributes")
    assert rejection.helper is not None
    assert rejection.helper.name == "step"


def test_names_in_a_method_are_those_of_its_source() -> None:
    class Model:
        def keyed(self, v, **options):
            return v

        @fuse
        def solve(self, x):
            s = 0.0
            for v in x:
                s += self.keyed(v, a=2)
            return s

    (rejection, *_) = Model.solve.report(Model(), X).rejections
    assert rejection.message == "`keyed` takes `**options`"


class Plain:
    def __init__(self) -> None:
        self.factor, self.part, self.rows = 2.0, None, ["a", 1]

    def scaled(self, v):
        return v * self.factor

    def of_missing(self, v):
        return v * len(self.name)  # type: ignore[attr-defined]

    def of_part(self, v):
        return self.part.scaled(v)

    def of_rows(self, v):
        return v * self.rows.index(1)


class Derived(Plain):
    def scaled(self, v):
        return super().scaled(v)


class ByName(Plain):
    def scaled(self, v):
        return Plain.scaled(self, v) + 1


def scaled_sum(o, x):
    s = 0.0
    for v in x:
        s += o.scaled(v)
    return s


def missing_sum(o, x):
    s = 0.0
    for v in x:
        s += o.of_missing(v)
    return s


def part_sum(o, x):
    s = 0.0
    for v in x:
        s += o.of_part(v)
    return s


def rows_sum(o, x):
    s = 0.0
    for v in x:
        s += o.of_rows(v)
    return s


@pytest.mark.parametrize(("function", "o", "message", "help"), [
    (scaled_sum, Derived(), "`super().scaled` is not compiled", "call the function of the class"),
    (missing_sum, Plain(), "`o` is not known to have an attribute `name`", ""),
    (part_sum, Plain(), "None has no attribute `scaled`: Python raises AttributeError", ""),
    (rows_sum, Plain(), "`o.rows` is of type list, and only attributes that are numbers, arrays or "
                        "lists of numbers are compiled", "pass `o.rows` as a parameter of its own"),
])
def test_the_reason_in_a_method_is_named(function: Any, o: Plain, message: str, help: str) -> None:
    (rejection, *_) = fuse(function, on_reject="silent").report(o, X).rejections
    assert rejection.message == message
    assert help in (rejection.help or "")
    assert rejection.helper is not None


def test_a_function_of_the_class_stands_for_super(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    assert fuse(scaled_sum)(ByName(), X) == scaled_sum(ByName(), X)


def of_a_sum(x, word):
    n = 0
    for c in (word + "a").upper():
        n += len(x) + (c == "A")
    return n


def of_a_call(x, word):
    t = 0.0
    for k in range(len(str(x[0]).split("."))):
        t += x[k]
    return t


def of_a_comprehension(x, word):
    return [v * 2 for v in x].count(2.0)


@pytest.mark.parametrize("f", [of_a_sum, of_a_call, of_a_comprehension])
def test_methods_of_any_expression_are_no_failure_of_the_compiler(f: Any) -> None:
    """What no guard can evaluate, such as an operation, is no function to inline."""
    x = np.array([1.5, 2.0, 1.0])
    assert fuse(f, on_reject="silent")(x, "bc") == f(x, "bc")
