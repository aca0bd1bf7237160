"""The analysis view: affine forms, accesses, dependences, operations."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import GOLDEN

from loopir.analysis.access import accesses, has_unit_stride, moving_axis
from loopir.analysis.dependence import (
    Alias,
    Overlap,
    affine_trip_count,
    alias_relation,
    dependence_distance,
    dependences,
)
from loopir.analysis.integers.affine import Affine, affine_form, constant_form, variable_form
from loopir.analysis.loop_set import loop_set
from loopir.ir_printer import parse
from loopir.ir_traversal import walk
from loopir.machine_model import DEFAULT_MACHINE
from loopir.nodes import Call, Const, Dim, Expr, Kernel, Loop, Var
from loopir.passes.nest_plans import show_nest_plans

I64 = "i64"


def expr(text: str) -> Expr:
    """An i64 expression over the loop variables i and j, the parameters n and m, and x.shape[0]."""
    k = kernel(f"for i in loop(0, n):\n    for j in loop(0, n):\n        v = {text}")
    return next(s.value for s in walk(k) if getattr(s, "name", "") == "v" and hasattr(s, "value"))


def kernel(body: str) -> Kernel:
    arrays = "x: mut(f64[::1]), y: mut(f64[::1]), z: mut(f64[:, ::1]), idx: i64[::1]"
    lines = body.strip("\n").split("\n")
    return parse(f"def k(n: i64, m: i64, {arrays}):\n" + "\n".join(f"    {x}" for x in lines))


def loop(body: str) -> Loop:
    return next(s for s in kernel(body).body if isinstance(s, Loop))


# -- affine forms


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("i", "i"),
        ("i + 1", "i + 1"),
        ("1 + i - 1", "i"),
        ("2 * i - 3", "2 * i - 3"),
        ("(i + 1) * 4 - j", "4 * i - j + 4"),
        ("-(i - n)", "-i + n"),
        ("n - 1 - i", "-i + n - 1"),
        ("x.shape[0] - i", "-i + x.shape[0]"),
        ("i - i", "0"),
        ("n // 2 + i", "i + n // 2"),
        ("n * m", "n * m"),
        ("i64(i)", "i"),
        ("max(n, 0) - 1", "max(n, 0) - 1"),
    ],
)
def test_affine(text: str, form: str) -> None:
    assert str(affine_form(expr(text), ("i", "j"))) == form


@pytest.mark.parametrize(
    "text", ["i * j", "i // 2", "idx[i]", "idx[0]", "i64(f64(i))", "i64(i32(i))", "max(i, 0)"]
)
def test_not_affine(text: str) -> None:
    assert affine_form(expr(text), ("i", "j")) is None


def test_names_stand_for_forms() -> None:
    known = {"n": variable_form("i") + constant_form(1), "m": None}
    assert str(affine_form(expr("n * 2"), (), known)) == "2 * i + 2"
    assert affine_form(expr("m + 1"), (), known) is None
    assert affine_form(expr("n // 2"), (), known) is None


def test_equal_forms_are_equal() -> None:
    one = affine_form(expr("n + 2 * i + x.shape[0]"), "i")
    other = affine_form(expr("i + x.shape[0] + i + n"), "i")
    assert one == other
    assert hash(one) == hash(other)


def test_what_is_surely_not_negative() -> None:
    assert affine_form(expr("i + 2 * x.shape[0] + 1"), "i").is_nonnegative  # type: ignore[union-attr]
    assert not affine_form(expr("x.shape[0] - 1")).is_nonnegative  # type: ignore[union-attr]
    assert not affine_form(expr("n")).is_nonnegative  # type: ignore[union-attr]


NAMES = ("i", "j", "n", "m", "length")
terms = st.recursive(
    st.one_of(
        st.integers(-9, 9).map(lambda c: Const(c, I64)),
        st.sampled_from([Var(v, I64) for v in "ijnm"] + [Dim("x", 0)]),
    ),
    lambda inner: st.tuples(st.sampled_from(["add", "sub", "mul"]), inner, inner).map(
        lambda t: Call(t[0], (t[1], t[2]), I64)
    ),
    max_leaves=8,
)


def value(e: Expr, names: dict[str, int]) -> int:
    match e:
        case Const(value=v):
            return int(v)
        case Var(name=name):
            return names[name]
        case Dim():
            return names["length"]
        case Call(op=op, args=(a, b)):
            x, y = value(a, names), value(b, names)
            return {"add": x + y, "sub": x - y, "mul": x * y}[op]
    raise AssertionError(e)


@settings(max_examples=examples(60))
@given(terms, st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(0, 99))))
def test_a_form_has_the_value_of_its_expression(e: Expr, names: dict[str, int]) -> None:
    form = affine_form(e, ("i", "j"))
    if form is not None:
        moving = sum(form.coefficient(v) * names[v] for v in form.variables)
        assert value(e, names) == moving + form.constant + sum(
            c * value(s, names) for s, c in form.symbols
        )


# -- accesses


def test_accesses_in_order_of_evaluation() -> None:
    found = accesses(
        kernel(
            """
for i in loop(0, n, s=x[1]):
    a = i + 1
    if x[a] > 0.0:
        y[a] = x[idx[i]]
    s = step(s + y[i])
"""
        ).body
    )
    assert [str(a) for a in found] == ["x[1]", "x[i + 1]", "idx[i]", "x[…]", "y[i + 1]", "y[i]"]
    assert [a.is_write for a in found] == [False] * 4 + [True, False]
    assert [a.conditional for a in found] == [False, False, True, True, True, False]
    assert [a.loops for a in found] == [()] + [("i",)] * 5
    assert [a.position for a in found] == list(range(6))


def test_what_accumulators_and_branches_give_is_opaque() -> None:
    found = accesses(
        kernel(
            """
for i in loop(0, n, at=0):
    if x[i] > 0.0:
        k = give(i)
    else:
        k = give(0)
    y[at] = x[k]
    at = step(k)
"""
        ).body
    )
    assert [str(a) for a in found] == ["x[i]", "x[…]", "y[…]"]


def test_strides() -> None:
    k = kernel(
        """
for i in loop(0, n):
    for j in loop(0, n):
        z[i, j] = z[j, i] + x[2 * j + 1] + x[3] + x[idx[j]] + z[j, j]
"""
    )
    moves = {str(a): moving_axis(a, "j") for a in accesses(k.body)}
    assert moves == {
        "z[i, j]": (1, 1), "z[j, i]": (0, 1), "x[2 * j + 1]": (0, 2), "x[3]": None,
        "x[…]": None, "idx[j]": (0, 1), "z[j, j]": None,
    }
    z = next(p for p in k.params if p.name == "z")
    units = [str(a) for a in accesses(k.body) if a.array == "z" and has_unit_stride(a, z, "j")]
    assert units == ["z[i, j]"]


# -- dependences


def pairs(body: str, head: str = "disjoint(x, y)") -> list[tuple[str, str, str, int | None]]:
    k = kernel(f"{head}\n{body.strip()}")
    [top] = [s for s in k.body if isinstance(s, Loop)]
    return [(d.kind, str(d.source), str(d.sink), d.distance) for d in dependences(top, k)]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("x[i] = y[i]", []),
        ("x[i] = x[i] + 1.0", [("anti", "x[i]", "x[i]", 0)]),
        ("x[i + 1] = x[i]", [("flow", "x[i + 1]", "x[i]", 1)]),
        ("x[i] = x[i + 2]", [("anti", "x[i + 2]", "x[i]", 2)]),
        ("x[2 * i] = x[2 * i + 1]", []),
        ("x[2 * i] = x[2 * i + 4]", [("anti", "x[2 * i + 4]", "x[2 * i]", 2)]),
        ("x[i] = x[i + n]", []),
        ("x[n - i] = x[n - i - 1]", [("anti", "x[-i + n - 1]", "x[-i + n]", 1)]),
        ("x[i] = x[n - i]", [("anti", "x[-i + n]", "x[i]", None)]),
        ("x[0] = y[i]", [("output", "x[0]", "x[0]", None)]),
        ("x[i] = x[i + m]", [("anti", "x[i + m]", "x[i]", None)]),
        ("z[i, 0] = z[i, 1]", []),
        ("z[i, i] = z[i + 1, i]", []),
        ("z[i, m] = z[i + 1, m]", [("anti", "z[i + 1, m]", "z[i, m]", 1)]),
        (
            "x[idx[i]] = x[idx[i]] + 1.0",
            [("anti", "x[…]", "x[…]", None), ("output", "x[…]", "x[…]", None)],
        ),
    ],
)
def test_dependences(statement: str, found: list[Any]) -> None:
    assert pairs(f"for i in loop(0, n):\n    {statement}") == found


def test_arrays_that_may_be_one() -> None:
    body = "for i in loop(0, n):\n    x[i + 1] = y[i]"
    assert pairs(body) == []
    assert pairs(body, "disjoint_or_same(y, x)") == [("flow", "x[i + 1]", "y[i]", 1)]
    k = kernel(f"disjoint_or_same(y, x)\n{body}")
    assert [alias_relation(k, *p) for p in ("xx", "xy", "yx", "xz")] == [
        Alias.SAME, Alias.SAME_OR_DISJOINT, Alias.SAME_OR_DISJOINT, Alias.DISJOINT,
    ]


def test_the_step_of_a_fold_takes_part() -> None:
    body = "for i in loop(0, n, s=0.0):\n    x[i] = y[i]\n    s = step(s + x[i])"
    assert pairs(body) == [("flow", "x[i]", "x[i]", 0)]


def test_an_inner_loop_may_touch_all_it_runs_over() -> None:
    body = "for i in loop(0, n):\n    for j in loop(0, n):\n        {}"
    assert pairs(body.format("z[i, j] = z[i, j + 1]")) == [("anti", "z[i, j + 1]", "z[i, j]", 0)]
    assert pairs(body.format("x[j] = y[i]")) == [("output", "x[j]", "x[j]", None)]


@settings(max_examples=examples(60))
@given(
    st.tuples(*[st.integers(-3, 3)] * 2),
    st.tuples(*[st.integers(-6, 6)] * 2),
    st.integers(0, 7),
)
def test_distances_against_all_iterations(
    steps: tuple[int, int], offsets: tuple[int, int], trips: int
) -> None:
    index = [Affine({"i": s} if s else {}, o) for s, o in zip(steps, offsets, strict=True)]
    [a, b] = accesses(kernel("for i in loop(0, n):\n    x[i] = x[i]").body)
    a, b = (replace(x, index=(f,)) for x, f in zip((a, b), index, strict=True))
    found = dependence_distance(a, b, "i", constant_form(trips))
    meetings = {
        v - u
        for u, v in product(range(trips), repeat=2)
        if steps[0] * u + offsets[0] == steps[1] * v + offsets[1]
    }
    match found:
        case Overlap.NEVER:
            assert not meetings
        case int():
            assert meetings <= {found}


FORMS = st.tuples(st.integers(-1, 2), st.integers(-1, 1), st.integers(-4, 4))
"""Of the variables i and k, and an offset."""


def _form(parts: tuple[int, int, int]) -> Affine:
    i, k, offset = parts
    return variable_form("i") * i + variable_form("k") * k + constant_form(offset)


@settings(max_examples=examples(80))
@given(
    st.tuples(*[st.tuples(FORMS, FORMS)] * 2),
    st.tuples(st.integers(0, 1), st.integers(0, 2)),
    st.tuples(st.integers(-1, 1), st.integers(0, 5)),
    st.integers(1, 6),
)
def test_distances_in_nests_against_all_iterations(
    indices: Any, low: tuple[int, int], high: tuple[int, int], trips: int
) -> None:
    bounds = ", ".join(f"{c} * i + {offset}" for c, offset in (low, high))
    text = f"for i in loop(0, {trips}):\n    for k in loop({bounds}):\n        z[i, k] = z[i, k]"
    [a, b] = accesses(kernel(text).body)
    a, b = (replace(x, index=tuple(map(_form, f))) for x, f in zip((a, b), indices, strict=True))
    found = dependence_distance(a, b, "i", constant_form(trips))
    points = [
        (i, k)
        for i in range(trips)
        for k in range(low[0] * i + low[1], high[0] * i + high[1])
    ]
    elements = [
        [(i, tuple(x * i + y * k + z for x, y, z in forms)) for i, k in points] for forms in indices
    ]
    meetings = {v - u for (u, p), (v, q) in product(*elements) if p == q}
    match found:
        case Overlap.NEVER:
            assert not meetings
        case int():
            assert meetings <= {found}


@pytest.mark.parametrize(
    ("nest", "found"),
    [
        ("for k in loop(0, i):\n        z[i, i] = z[i, i] + z[i, k]", []),
        ("for k in loop(0, i + 1):\n        z[i, k] = z[k, i]", ["z[k, i]"]),
        ("for k in loop(i + 1, n):\n        z[0, i] = z[k, i]", []),
        ("z[i, m] = 0.0\n    z[m, i] = 1.0", []),
        ("z[i, m] = 0.0\n    z[m, i + 1] = 1.0", ["z[m, i + 1]"]),
        ("z[i, m] = 0.0\n    z[m + y.shape[0], i] = 1.0", ["z[i, m]"]),
        ("z[i, m] = 0.0\n    z[n, i] = 1.0", []),
    ],
)
def test_what_lies_beside_the_diagonal(nest: str, found: list[str]) -> None:
    text = f"for i in loop(0, n):\n    {nest}"
    [outer] = kernel(text).body
    carried = [d for d in dependences(outer, kernel(text)) if d.distance != 0]
    assert sorted({str(d.source) for d in carried}) == found


@pytest.mark.parametrize(
    ("bounds", "trips"),
    [
        ("0, n", "n"),
        ("1, n - 1", "n - 2"),
        ("0, max(n - 1, 0)", "n - 1"),
        ("range(0, n, 2)", "None"),
    ],
)
def test_trip_counts(bounds: str, trips: str) -> None:
    assert str(affine_trip_count(loop(f"for i in loop({bounds}):\n    x[i] = 0.0").range)) == trips


# -- the LoopSet

MATMUL = """
for i in loop(0, n):
    for j in loop(0, n):
        for k in loop(0, m, s=0.0):
            s = step(s + z[i, k] * z[k, j])
        x[j] = s
"""


def test_the_loop_set_of_a_matrix_product() -> None:
    ls = loop_set(loop(MATMUL), kernel(MATMUL))
    assert ls.loops == ("i", "j", "k")
    assert str(ls) == (
        "v0 = start | i j\n"
        "v1 = load z[i, k] | i k\n"
        "v2 = load z[k, j] | j k\n"
        "v3 = mul(v1, v2) | i j k\n"
        "v4 = add(v0, v3) | i j k\n"
        "v5 = result(v4) | i j\n"
        "v6 = store x[j](v5) | i j"
    )
    assert [o.ref.unit for o in ls.operations if o.ref] == ["k", "j", "j"]
    assert (ls.flops("k"), ls.bytes("k")) == (2.0, 16)


def test_parents_come_before_their_children() -> None:
    ls = loop_set(loop(MATMUL), kernel(MATMUL))
    assert all(p < k for k, o in enumerate(ls.operations) for p in o.parents)


def test_equal_loads_are_one_operation_until_a_store() -> None:
    body = """
for i in loop(0, n):
    y[i] = x[i] * x[i] / 2.0
    y[i + 1] = x[i]
"""
    ls = loop_set(loop(body), kernel(body))
    assert [o.op for o in ls.operations] == ["load", "mul", "div", "store", "load", "store"]
    assert (ls.flops("i"), ls.bytes("i")) == (5.0, 32)


def test_branches_gathers_and_lists() -> None:
    body = """
for i in loop(0, n, c=0):
    if x[i] > 0.0:
        v = give(x[idx[i]])
    else:
        v = give(1.0)
    check(v > 0.0, "replay")
    append(y, c, v)
"""
    ls = loop_set(loop(body), kernel(body))
    ops = [o.op for o in ls.operations]
    before, after = ["start", "load", "gt", "load", "load", "select"], ["append", "step", "result"]
    assert ops == [*before, "gt", "check", *after]
    gather = ls.operations[4]
    assert (str(gather.ref), gather.parents, gather.loops) == ("x[…]", (3,), ("i",))


def test_printed_with_what_is_chosen(golden: Callable[[Path, str], None]) -> None:
    k = parse("""
def nests(a: f64[:, ::1], b: f64[:, ::1], at: i64[::1], c: mut(f64[:, ::1]), y: mut(f64[::1])):
    for i in loop(0, c.shape[0]):
        for j in loop(0, c.shape[1]):
            for k in loop(0, b.shape[0], s=0.0):
                s = step(s + a[i, k] * b[k, j])
            c[i, j] = s
    for i in loop(0, at.shape[0]):
        y[i] = a[0, at[i]]
    while loop(n < 9, n=1):
        n = step(n * 2)
""")
    golden(
        GOLDEN / "loopset" / "nests.txt",
        show_nest_plans(k, DEFAULT_MACHINE) + "\n",
    )
