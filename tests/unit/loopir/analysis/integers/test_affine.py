"""Affine forms: arithmetic, substitution and extremes agree with evaluation."""
from __future__ import annotations

from itertools import product

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from loopir.analysis.integers.affine import (
    AffineForm,
    LinearForm,
    affine_form,
    constant_form,
    extreme_form,
    linearize,
    nonnegative_margins,
    variable_form,
)
from loopir.nodes import Call, Const, Dim, Expr, Load, Var
from loopir.op_table import NEGATED_COMPARISON

I64 = "i64"
NAMES = ("a", "b", "c")
ATOMS: tuple[Expr, ...] = (*(Var(n, I64) for n in NAMES), Dim("x", 0))
values = st.fixed_dictionaries(dict.fromkeys(ATOMS, st.integers(-9, 9)))
expressions = st.recursive(
    st.sampled_from(ATOMS) | st.integers(-9, 9).map(lambda c: Const(c, I64)),
    lambda e: st.one_of(
        st.tuples(st.sampled_from(("add", "sub", "mul")), e, e).map(
            lambda t: Call(t[0], (t[1], t[2]), I64)
        ),
        e.map(lambda x: Call("neg", (x,), I64)),
        e.map(lambda x: Call("cast", (x,), I64)),
    ),
    max_leaves=8,
)
forms = st.builds(
    AffineForm,
    st.dictionaries(st.sampled_from(NAMES), st.integers(-3, 3).filter(bool), max_size=3),
    st.integers(-9, 9),
)
names = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(-9, 9)))


def value(e: Expr, of: dict[Expr, int]) -> int:
    match e:
        case Const(number):
            return int(number)
        case Call("cast" | "neg" as op, (a,)):
            return value(a, of) * (-1 if op == "neg" else 1)
        case Call(op, (a, b)):
            x, y = value(a, of), value(b, of)
            return {"add": x + y, "sub": x - y, "mul": x * y}[op]
        case _:
            return of[e]


def at(form: AffineForm[str], of: dict[str, int]) -> int:
    return form.constant + sum(c * of[a] for a, c in form.terms.items())


def linear(e: Expr) -> LinearForm:
    form = linearize(e, LinearForm.of)
    assert form is not None
    return form


@settings(max_examples=examples(80))
@given(expressions, values)
def test_a_linear_form_has_the_value_of_its_expression(e: Expr, of: dict[Expr, int]) -> None:
    form = linear(e)
    assert form.constant + sum(c * value(a, of) for a, c in form.terms.items()) == value(e, of)
    assert value(form.expr(), of) == value(e, of)
    assert all(form.terms.values())


@given(expressions)
def test_a_form_of_the_expression_of_a_form_is_that_form(e: Expr) -> None:
    form = linear(e)
    assert linear(form.expr()) == form
    assert hash(linear(form.expr())) == hash(form)


@given(forms, forms, names, st.integers(-3, 3), st.sampled_from(NAMES))
def test_arithmetic(
    f: AffineForm[str], g: AffineForm[str], of: dict[str, int], k: int, name: str
) -> None:
    assert at(f + g, of) == at(f, of) + at(g, of)
    assert at(f - g, of) == at(f, of) - at(g, of)
    assert at(f * k, of) == at(f, of) * k
    assert at(f.substitute(name, g), of) == at(f, of | {name: at(g, of)})
    assert at(f.at(name, k), of) == at(f, of | {name: k})
    assert f - f == AffineForm()
    assert f.without(NAMES) == AffineForm({}, f.constant)


@given(forms, st.fixed_dictionaries(dict.fromkeys(NAMES, st.tuples(*[st.integers(-3, 3)] * 2))))
def test_bounds_are_the_extremes(f: AffineForm[str], ends: dict[str, tuple[int, int]]) -> None:
    spans = {n: (min(ends[n]), max(ends[n])) for n in NAMES}
    every = product(*(range(lo, hi + 1) for lo, hi in spans.values()))
    found = [at(f, dict(zip(NAMES, point, strict=True))) for point in every]
    assert f.bounds(spans.__getitem__) == (min(found), max(found))


@given(forms, st.booleans(), st.integers(0, 4))
def test_the_extreme_over_a_range(f: AffineForm[str], highest: bool, count: int) -> None:
    """``a`` in [0, b], where `b` is a number."""
    ranges = [("a", (AffineForm(), variable_form("b"))), ("b", None)]
    found = extreme_form(f, ranges[:1], highest)
    assert found is not None
    every = [at(f, {"a": a, "b": count, "c": 1}) for a in range(count + 1)]
    assert at(found, {"b": count, "c": 1}) == (max if highest else min)(every)
    if found.coefficient("b"):
        assert extreme_form(f, ranges, highest) is None


@given(forms, forms, names)
@pytest.mark.parametrize("op", [*NEGATED_COMPARISON])
def test_margins_say_what_the_comparison_does(
    op: str, f: AffineForm[str], g: AffineForm[str], of: dict[str, int]
) -> None:
    a, b = at(f, of), at(g, of)
    margins = nonnegative_margins(op, f, g)
    holds = {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b}
    if op == "ne":
        assert not margins
    else:
        assert all(at(m, of) >= 0 for m in margins) == holds[op]


@given(expressions, expressions, forms, forms)
def test_one_form_is_at_least_another_where_the_difference_is_nonnegative(
    a: Expr, b: Expr, f: AffineForm[str], g: AffineForm[str]
) -> None:
    assert linear(a).is_at_least(linear(b)) == (linear(a) - linear(b)).is_nonnegative
    assert f.is_at_least(g) == (f - g).is_nonnegative


def test_difference() -> None:
    a, b = variable_form("a"), variable_form("b")
    assert (a - b + constant_form(3)).difference() == ("a", "b")
    assert (b - a).difference() == ("a", "b")[::-1]
    assert (a + b).difference() is (a * 2 - b).difference() is a.difference() is None


def test_terms_keep_their_order_in_expressions_but_not_in_comparisons() -> None:
    a, b = (LinearForm.of(Var(n, I64)) for n in "ab")
    assert (b + a).expr() == Call("add", (Var("b", I64), Var("a", I64)), I64)
    assert b + a == a + b
    assert str(b + a) == str(a + b)


def test_a_caller_says_what_is_taken_apart() -> None:
    a = Var("a", I64)
    e = Call("add", (Call("mul", (a, Const(2, I64)), I64), Const(1, I64)), I64)
    form = linearize(e, LinearForm.of, lambda call: call.op == "add")
    assert form == LinearForm({e.args[0]: 1}, 1)


def test_what_is_loaded_has_no_affine_form() -> None:
    assert affine_form(Load("x", (Var("i", I64),), I64), ("i",)) is None
