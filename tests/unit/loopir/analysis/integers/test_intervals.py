"""Intervals of integers hold every result, and what they decide is so: by trying all of a few."""
from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from loopir.analysis.integers.intervals import (
    _ROWS,
    LENGTH,
    Bounds,
    Intervals,
    decide_comparison,
    dtype_bounds,
    expression_bounds,
)
from loopir.nodes import Call, Const, Dim, Expr, Var
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


LEAVES = (Var("x", "i64"), Var("y", "i64"), Const(2, "i64"), Const(-3, "i64"))
UNARY, BINARY = ("neg", "abs", "invert"), ("add", "sub", "mul", "floordiv", "mod", "min", "max")
nested = st.recursive(
    st.sampled_from(LEAVES),
    lambda e: st.one_of(
        st.tuples(st.sampled_from(UNARY), e).map(lambda t: Call(t[0], (t[1],), "i64")),
        st.tuples(st.sampled_from(BINARY), e, e).map(lambda t: Call(t[0], t[1:], "i64")),
    ),
    max_leaves=6,
)


def number(e: Expr, env: dict[str, int]) -> int:
    match e:
        case Const(value):
            return int(value)
        case Var(name):
            return env[name]
        case Call(op, args):
            operands = tuple(np.int64(number(a, env)) for a in args)
            with np.errstate(all="ignore"):
                return int(evaluate(op, operands, "i64"))
    raise AssertionError(e)


@settings(max_examples=examples(60), deadline=None)
@given(nested, st.sampled_from(SPANS), st.sampled_from(SPANS), st.booleans())
def test_every_value_of_an_expression_is_inside(
    e: Expr, x: Bounds, y: Bounds, unbounded: bool
) -> None:
    spans = {"x": x, "y": y}

    def of(part: Expr) -> Bounds:
        if isinstance(part, Var):
            return spans[part.name]
        return expression_bounds(part, of, ("add", "sub", "mul", "neg") if unbounded else ())

    low, high = of(e)
    for a, b in product(every(x), every(y)):
        assert low <= number(e, {"x": int(a), "y": int(b)}) <= high


def test_a_result_that_may_overflow_is_anywhere() -> None:
    limits = dtype_bounds("i64")
    twice = Call("add", (Var("x", "i64"), Var("x", "i64")), "i64")
    assert expression_bounds(twice, lambda _: limits) == limits
    low, high = limits
    assert expression_bounds(twice, lambda _: limits, ("add",)) == (2 * low, 2 * high)


def test_lengths_and_floats() -> None:
    assert Intervals().of(Dim("x", 0)) == LENGTH
    assert Intervals().of(Call("cast", (Var("f", "f64"),), "i8")) == (-128, 127)
