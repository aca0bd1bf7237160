"""Conditions: what is said to follow from one does follow, on all assignments."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from loopir.analysis.integers.implied_conditions import (
    condition_terms,
    conjuncts,
    implied_comparisons,
    implied_terms,
)
from loopir.nodes import Call, Const, Expr, Var
from loopir.op_table import NEGATED_COMPARISON, evaluate

NAMES = ("a", "b", "c")
A, B, C = (Var(n, "i64") for n in NAMES)
P, Q, R = (Var(n, "bool") for n in "pqr")
comparisons = st.tuples(
    st.sampled_from(sorted(NEGATED_COMPARISON)),
    st.sampled_from((A, B, C)), st.sampled_from((A, B, C, Const(1, "i64"))),
).map(lambda t: Call(t[0], t[1:], "bool"))  # fmt: skip
conditions = st.recursive(
    comparisons | st.sampled_from((P, Q)),
    lambda e: st.one_of(
        st.tuples(st.sampled_from(("and", "or")), e, e).map(lambda t: Call(t[0], t[1:], "bool")),
        e.map(lambda x: Call("not", (x,), "bool")),
    ),
    max_leaves=6,
)
VALUES = {"q": Call("lt", (A, B), "bool")}
"""The values of names: of q alone."""


def value(e: Expr, env: dict[str, int]) -> int:
    match e:
        case Const(number):
            return int(number)
        case Var(name):
            return env[name]
        case Call(op, args, dtype):
            kinds = [np.int64 if x.dtype == "i64" else np.bool_ for x in args]
            given_ = tuple(kind(value(x, env)) for kind, x in zip(kinds, args, strict=True))
            return int(evaluate(op, given_, dtype))
    raise AssertionError(e)


def every() -> Iterator[dict[str, int]]:
    for a, b, c, p in product(range(3), range(3), range(3), range(2)):
        yield {"a": a, "b": b, "c": c, "p": p, "q": int(a < b)}


@settings(max_examples=examples(40), deadline=None)
@given(conditions, st.booleans())
def test_implied_terms_hold(cond: Expr, holds: bool) -> None:
    terms = list(implied_terms(cond, holds, VALUES.get))
    compared = list(implied_comparisons(cond, holds, VALUES.get))
    for env in every():
        if value(cond, env) == holds:
            assert all(value(e, env) == known for e, known in terms)
            assert all(value(Call(op, (p, q), "bool"), env) for op, p, q in compared)


@settings(max_examples=examples(40), deadline=None)
@given(conditions)
def test_a_refuted_side_decides_the_other(cond: Expr) -> None:
    """What is refuted does not hold where the condition is asked, and is not always refuted."""
    asked = []

    def refuted(e: Expr) -> bool:
        asked.append(e)
        return e == P

    compared = list(implied_comparisons(cond, True, VALUES.get, refuted))
    for env in every():
        if value(cond, env) and not env["p"]:
            assert all(value(Call(op, (p, q), "bool"), env) for op, p, q in compared)


@settings(max_examples=examples(40), deadline=None)
@given(conditions)
def test_conjuncts_hold_exactly_where_the_condition_does(cond: Expr) -> None:
    parts = list(conjuncts(cond))
    assert all(bool(value(cond, e)) == all(value(x, e) for x in parts) for e in every())


@pytest.mark.parametrize(
    ("cond", "holds", "terms"),
    [
        (Call("and", (P, Call("not", (R,), "bool")), "bool"), True, [(P, True), (R, False)]),
        (Call("or", (P, R), "bool"), False, [(P, False), (R, False)]),
        (Call("or", (P, R), "bool"), True, [(Call("or", (P, R), "bool"), True)]),
        (Q, False, [(VALUES["q"], False)]),
    ],
)
def test_examples(cond: Expr, holds: bool, terms: list[tuple[Expr, bool]]) -> None:
    assert list(implied_terms(cond, holds, VALUES.get)) == terms


def test_floats_are_not_compared() -> None:
    """Where ``x < y`` does not hold, one may be a NaN."""
    x = Var("x", "f64")
    assert not list(implied_comparisons(Call("lt", (x, x), "bool"), False))


def test_terms_of_a_condition() -> None:
    inner = Call("or", (Call("not", (P,), "bool"), Const(True, "bool")), "bool")
    assert list(condition_terms(Call("and", (Q, inner), "bool"))) == [Q, P]
