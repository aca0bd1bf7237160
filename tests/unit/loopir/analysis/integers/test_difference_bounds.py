"""Differences are shortest paths; copies share rows, and do not see each other's changes."""
from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from loopir import nodes as ir
from loopir.analysis.integers.difference_bounds import IntegerFacts
from loopir.analysis.integers.refine_facts import assume_difference_at_most, join_facts

NAMES = "abcde"
known = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(0, 9)).filter(
        lambda fact: fact[0] != fact[1]
    ),
    max_size=8,
)


def facts(differences: list[tuple[str, str, int]]) -> IntegerFacts:
    f = IntegerFacts()
    for name in NAMES:
        f.bind(ir.Var(name, "i64"), ir.Dim("x", NAMES.index(name)))
        f.forget(ir.Var(name, "i64"))
        f.ranges[name] = -100, 100
    for x, y, c in differences:
        assume_difference_at_most(f, ir.Var(x, "i64"), ir.Var(y, "i64"), c)
    return f


def shortest(differences: list[tuple[str, str, int]]) -> dict[tuple[str, str], int]:
    """All pairs, by Floyd and Warshall."""
    far = {(x, y): 0 if x == y else 200 for x, y in product(NAMES, repeat=2)}
    for x, y, c in differences:
        far[x, y] = min(far[x, y], c)
    for k, x, y in product(NAMES, repeat=3):
        far[x, y] = min(far[x, y], far[x, k] + far[k, y])
    return far


@given(known)
def test_the_maximum_difference_is_the_shortest_path(
    differences: list[tuple[str, str, int]],
) -> None:
    f, far = facts(differences), shortest(differences)
    for x in NAMES:
        bound = f.max_term_differences_from(x)
        for y in NAMES:
            assert bound(y) == f.max_term_difference(x, y) == far[x, y]


@given(known, known)
def test_a_join_has_the_larger_of_noted_differences(
    one: list[tuple[str, str, int]], other: list[tuple[str, str, int]]
) -> None:
    a, b = facts(one), facts(other)
    both = join_facts(a, b)
    for x, y in product(NAMES, repeat=2):
        larger = max(a.max_term_difference(x, y), b.max_term_difference(x, y))
        assert both.max_term_difference(x, y) >= larger
        if y in a.max_differences.get(x, ()) or y in b.max_differences.get(x, ()):
            assert both.max_term_difference(x, y) == larger


@given(known, known)
def test_copies_do_not_see_changes(
    before: list[tuple[str, str, int]], after: list[tuple[str, str, int]]
) -> None:
    f = facts(before)
    rows = {x: dict(row) for x, row in f.max_differences.items()}
    g = f.copy()
    for x, y, c in after:
        assume_difference_at_most(g, ir.Var(x, "i64"), ir.Var(y, "i64"), c - 5)
    g.forget(ir.Var("a", "i64"))
    assert f.max_differences == rows


def test_a_rebound_name_takes_the_values_that_read_it_along() -> None:
    a, b = ir.Var("a", "i64"), ir.Var("b", "i64")
    f = IntegerFacts()
    total = ir.Call("mul", (a, b), "i64")
    f.bind(ir.Var("t", "i64"), total)
    f.bind(ir.Var("u", "i64"), ir.Call("mul", (b, b), "i64"))
    assert f.named[total].name == "t"
    g = f.copy()
    g.forget(a)
    assert (set(g.values), set(g.named.values())) == ({"u"}, {ir.Var("u", "i64")})
    g.forget(ir.Var("u", "i64"))
    assert not g.values
    assert not g.named
    assert (set(f.values), len(f.named)) == ({"t", "u"}, 2)
