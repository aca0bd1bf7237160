"""Intervals of integers hold every result, and what they decide is so: by trying all of a few."""
from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from loopir.analysis.intervals import _ROWS, Bounds, Intervals, decide_comparison
from loopir.nodes import Call, Const, Var
from loopir.op_table import OPS, evaluate

ENDS = (-7, -2, -1, 0, 1, 2, 5)
SPANS: list[Bounds] = list(combinations_with_replacement(ENDS, 2))
COMPARED = ("lt", "le", "gt", "ge", "eq", "ne", "add_over", "sub_over", "mul_over")


def every(span: Bounds) -> np.ndarray:
    return np.arange(span[0], span[1] + 1)


@pytest.mark.parametrize("op", sorted(set(_ROWS) - {"select", "clamp", "cast"}))
def test_every_result_is_inside(op: str) -> None:
    for spans in product(SPANS, repeat=OPS[op].arity):
        bounds = _ROWS[op](*spans)
        if bounds is not None:
            with np.errstate(divide="ignore"):
                results = evaluate(op, np.ix_(*map(every, spans)), "i64")
            assert bounds[0] <= results.min(), spans
            assert results.max() <= bounds[1], spans


@pytest.mark.parametrize("op", COMPARED)
def test_what_is_decided_is_so(op: str) -> None:
    for a, b in product(SPANS, repeat=2):
        answers = set(np.ravel(evaluate(op, np.ix_(every(a), every(b)), "bool")).tolist())
        found = decide_comparison(op, "i64", a, b)
        assert found is None or answers == {found}, (a, b)
    assert decide_comparison("add_over", "i8", (0, 100), (0, 27)) is False
    assert decide_comparison("add_over", "i8", (0, 100), (0, 28)) is None


def between(low: int, high: int) -> tuple[Intervals, Var]:
    found = Intervals()
    found.names["x"] = low, high
    return found, Var("x", "i64")


def test_a_square_is_not_negative() -> None:
    found, x = between(-3000, 5)
    assert found.of(Call("mul", (x, x), "i64")) == (0, 9_000_000)


@pytest.mark.parametrize(("high", "fits"), [(5, True), (2**24, True), (2**24 + 1, False)])
def test_whole_floats_are_those_that_were_converted_exactly(high: int, fits: bool) -> None:
    found, x = between(-3000, high)
    assert found.converted(Call("cast", (x,), "f32")) == ((-3000, high) if fits else None)
    assert found.converted(Const(high + 0.5, "f64")) is None
    assert found.converted(Const(float("inf"), "f64")) is None
