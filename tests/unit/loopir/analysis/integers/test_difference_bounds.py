"""Differences are shortest paths; copies share rows, and do not see each other's changes."""
from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from loopir import nodes as ir
from loopir.analysis.integers.affine import AffineForm
from loopir.analysis.integers.difference_bounds import IntegerFacts
from loopir.analysis.integers.intervals import dtype_bounds
from loopir.analysis.integers.refine_facts import (
    assume_condition,
    assume_difference_at_most,
    join_facts,
    relate_yield,
)

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
            assert f.max_term_differences_to(y)(x) == far[x, y]


@given(known, st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), st.integers(-3, 3))
def test_one_search_for_all_terms_finds_what_one_for_each_does(
    differences: list[tuple[str, str, int]], names: list[str], constant: int
) -> None:
    f = facts(differences)
    form = sum((f.form(name) for name in names), AffineForm[str]({}, constant))
    for t in NAMES:
        x = f.form(t)
        assert f._max_form_differences_from(form)(t) == f._max_of_form(form - x)
        assert f._max_form_differences_to(form)(t) == f._max_of_form(x - form)


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


A, B, C, D = (ir.Var(n, "i64") for n in "abcd")


def added(x: ir.Expr, y: ir.Expr, op: str = "add") -> ir.Call:
    return ir.Call(op, (x, y), "i64")


def test_a_bound_of_three_terms_bounds_two_of_them() -> None:
    """The others are at their least: ``a + b < c``, and b >= 5, gives ``a - c <= -6``."""
    f = facts([])
    f.ranges["b"] = 5, 9
    assume_condition(f, ir.Call("lt", (added(A, B), C), "bool"))
    assert f.max_term_difference("a", "c") == -6
    assert f.max_term_difference("b", "c") == 100 - 1
    assert f.max_term_difference("c", "a") == 200
    assume_condition(f, ir.Call("lt", (added(A, B), C), "bool"), False)
    assert f.max_term_difference("c", "a") == 9


def test_a_sum_is_bounded_by_the_differences_of_its_terms() -> None:
    """``a - b - 1`` is not negative where b < a; if it may overflow, it may be any number."""
    for most, low in ((100, 0), ((1 << 63) - 1, dtype_bounds("i64")[0])):
        f = facts([])
        f.ranges["a"], f.ranges["b"] = (-most, most), (-most, most)
        assume_difference_at_most(f, B, A, -1)
        f.bind(D, added(added(A, B, "sub"), ir.Const(1, "i64"), "sub"))
        assert f.ranges["d"][0] == low


def test_a_join_relates_what_a_branch_yields() -> None:
    """It is below a term on both sides, each time by way of another bound."""
    f = facts([])
    g = f.copy()
    assume_difference_at_most(f, A, B, -2)
    f.bind(D, added(A, ir.Const(1, "i64")))
    assume_difference_at_most(g, A, B, -3)
    g.bind(D, added(A, ir.Const(2, "i64")))
    relate_yield(D, (f, g))
    assert join_facts(f, g).max_term_difference("d", "b") == -1


class _CountedRow(dict[str, int]):
    """The known differences of a term, which counts how many of them are read."""

    read = 0

    def items(self):  # type: ignore[no-untyped-def]
        type(self).read += len(self)
        return super().items()


def test_of_many_names_a_bounded_number_of_differences_is_kept_and_read() -> None:
    """Of 200 names of which each is related to all others, as chains of branches relate them."""
    names = [f"k{n}" for n in range(200)]
    f = IntegerFacts()
    for n, x in enumerate(names):
        for m, y in enumerate(names[:n]):
            f.add_difference(x, y, n - m)
            f.add_difference(y, x, m - n)
    assert max(map(len, f.max_differences.values())) <= 32
    assert len(f.related_terms("k150")) <= 16
    f.max_differences = {x: _CountedRow(row) for x, row in f.max_differences.items()}
    bound = f.max_term_differences_from("k199")
    assert _CountedRow.read <= 256 + 32
    assert all(bound(x) >= 199 - n for n, x in enumerate(names))
    assert bound("k0") == 199
