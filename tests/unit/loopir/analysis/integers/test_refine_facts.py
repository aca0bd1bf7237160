"""What is known of whole numbers holds for all of them: the ends of 64 bits, and both ways."""
from __future__ import annotations

import copy
from importlib import import_module as module
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import GOLDEN

from loopir import nodes as ir
from loopir.analysis.integers.difference_bounds import IntegerFacts
from loopir.analysis.integers.refine_facts import (
    assign_names,
    assume_condition,
    join_facts,
    relate_yield,
)
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.ir_traversal import walk
from loopir.ir_verifier import verify
from loopir.op_table import evaluate
from loopir.passes.checks.check_elimination import check_elimination

LOW, HIGH = -(1 << 63), (1 << 63) - 1
ENDS = (LOW, LOW + 1, -3, -2, -1, 0, 1, 2, 3, 7, 1 << 31, 1 << 62, HIGH - 1, HIGH)
OPS = ("add", "sub", "mul", "floordiv", "mod", "min", "max", "bitand", "bitor", "shr")
COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
NAMES = ("a", "b", "c")

numbers = st.sampled_from(ENDS)
names = st.sampled_from(NAMES).map(lambda n: ir.Var(n, "i64"))
leaves = st.one_of(names, names, numbers.map(lambda n: ir.Const(n, "i64")))


def two(op: str, e: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda x, y: ir.Call(op, (x, y), "i64"), e, e)


near = st.builds(
    lambda x, k, op: ir.Call(op, (x, ir.Const(k, "i64")), "i64"),
    names, st.integers(-2, 3), st.sampled_from(("add", "sub", "mod", "floordiv")),
)
whole = st.one_of(leaves, near, st.sampled_from(OPS).flatmap(lambda op: two(op, leaves)))
halves = st.builds(
    lambda x, y: ir.Call("floordiv", (ir.Call("add", (x, y), "i64"), ir.Const(2, "i64")), "i64"),
    names, names,
)
values = st.one_of(whole, halves, st.sampled_from(OPS).flatmap(lambda op: two(op, whole)))
asked = st.builds(
    lambda op, x, y: ir.Call(op, (x, y), "bool"), st.sampled_from(COMPARED), whole, whole
)
conditions = st.one_of(
    asked,
    st.builds(lambda x: ir.Call("not", (x,), "bool"), asked),
    st.builds(lambda op, x, y: ir.Call(op, (x, y), "bool"), st.sampled_from(("and", "or")), asked,
              asked),
)


def value(e: ir.Expr, env: dict[str, int]) -> int:
    match e:
        case ir.Const(number):
            return int(number)
        case ir.Var(name):
            return env[name]
        case ir.Call(op, args, dtype):
            kinds = [np.int64 if x.dtype == "i64" else np.bool_ for x in args]
            given_ = tuple(kind(value(x, env)) for kind, x in zip(kinds, args, strict=True))
            with np.errstate(all="ignore"):
                return int(evaluate(op, given_, dtype))
    raise AssertionError(e)


def holds(f: IntegerFacts, env: dict[str, int]) -> bool:
    spans = all(f.ranges[n][0] <= env[n] <= f.ranges[n][1] for n in f.ranges if n in env)
    pairs = ((x, y, c) for x, row in f.max_differences.items() for y, c in row.items())
    return spans and all(
        env[x] - env[y] <= c
        for x, y, c in pairs
        if {x, y} <= env.keys()
    )


SMALL = (-3, -1, 0, 1, 2, 4)
SPANS = [(low, high) for low, high in product(SMALL, repeat=2) if low <= high]
A, B, X, Y = (ir.Var(n, "i64") for n in "abxy")
HALF = ir.Call("floordiv", (ir.Call("add", (A, B), "i64"), ir.Const(2, "i64")), "i64")


@pytest.mark.parametrize("e", [HALF, *(ir.Call(op, (A, B), "i64") for op in OPS)],
                         ids=["half", *OPS])
@pytest.mark.parametrize("ordered", [False, True])
def test_relations_hold(e: ir.Call, ordered: bool) -> None:
    for low, high in product(SPANS, repeat=2):
        f = IntegerFacts()
        f.ranges |= {"a": low, "b": high}
        below = ir.Call("lt", (A, B), "bool")
        if ordered:
            assume_condition(f, below)
        f.bind(X, e)
        for a, b in product(range(low[0], low[1] + 1), range(high[0], high[1] + 1)):
            if not ordered or a < b:
                env = {"a": a, "b": b}
                assert holds(f, env | {"x": value(e, env)}), (low, high, a, b)


def plus(e: ir.Expr, k: int) -> ir.Call:
    return ir.Call("add", (e, ir.Const(k, "i64")), "i64")


@pytest.mark.parametrize("k", [-4, -1, 0, 3])
def test_both_ways_and_the_next_turn_move_what_is_known(k: int) -> None:
    f = IntegerFacts()
    f.ranges["a"] = -10, 10
    f.bind(B, A)
    g = f.copy()
    f.bind(X, plus(A, 1))
    g.bind(X, plus(A, k))
    both = join_facts(f, g)
    assert (both.max_term_difference("x", "b"), both.max_term_difference("b", "x")) == (
        max(1, k),
        max(-1, -k),
    )
    assign_names(f, [("a", plus(A, k)), ("x", A)])
    assert (
        f.max_term_difference("a", "b"),
        f.max_term_difference("b", "a"),
        f.max_term_difference("x", "a"),
    ) == (k, -k, -k)
    assert f.ranges["a"] == (k - 10, k + 10)


steps = st.lists(st.one_of(conditions, st.tuples(st.sampled_from("xz"), values)), max_size=6)


@settings(max_examples=examples(40), deadline=None)
@given(steps, steps, st.tuples(values, values),
       st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=4, max_size=4))
def test_what_is_known_holds(
    one: Any, other: Any, yielded: tuple[ir.Expr, ir.Expr], starts: list[list[int]]
) -> None:
    ways = []
    for way in (one, other):
        f = IntegerFacts()
        envs = [dict(zip(NAMES, s, strict=True)) for s in starts]
        envs += [dict(zip(NAMES, (k, k + 1, 5), strict=True)) for k in range(-2, 3)]
        for step in way:
            if isinstance(step, tuple):
                name, e = step
                f.bind(ir.Var(name, "i64"), e)
                envs = [env | {name: value(e, env)} for env in envs]
            else:
                assume_condition(f, step)
                envs = [env for env in envs if value(step, env)]
            assert all(holds(f, env) for env in envs)
            assert all(f.range_of(e)[0] <= value(e, env) <= f.range_of(e)[1] for env in envs
                       for e in [x[1] for x in way if isinstance(x, tuple)]
                       if {n.name for n in ir_names(e)} <= env.keys())
        ways.append((f, envs))
    (f, envs), (g, others) = ways
    assert all(holds(join_facts(f, g), env) for env in (*envs, *others))
    for facts, envs_of_side, e in ((f, envs, yielded[0]), (g, others, yielded[1])):
        facts.bind(Y, e)
        for env in envs_of_side:
            env["y"] = value(e, env)
    relate_yield(Y, (f, g))
    assert all(holds(x, env) for x, of in ((f, envs), (g, others)) for env in of)
    assert all(holds(join_facts(f, g), env) for env in (*envs, *others))


def ir_names(e: ir.Expr) -> list[ir.Var]:
    match e:
        case ir.Var():
            return [e]
        case ir.Call(_, args):
            return [n for x in args for n in ir_names(x)]
    return []


@st.composite
def turning(draw: Any) -> ir.Kernel:
    """A kernel with a loop that ends after some turns, within one that does; one is a ``while``,
    or what it checks is for Python.
    """
    counted = draw(st.sampled_from(((False, False), (False, True), (True, False), (True, True))))
    code = st.just("replay") if all(counted) else st.sampled_from(("over", "invalid"))
    check = st.builds(
        lambda op, x, y, code: ir.Check(
            ir.Call("not", (ir.Call(op, (x, y), "bool"),), "bool"), code
        ),
        st.sampled_from(("add_over", "sub_over", "mul_over")), whole, whole, code,
    )
    asks = st.builds(ir.Check, conditions, code)

    def branch(name: str) -> ir.If:
        gives = (ir.Yield(name, draw(values), draw(values)),)
        return ir.If(draw(conditions), tuple(draw(st.lists(asks, max_size=1))), (), gives)

    def body(depth: int) -> tuple[ir.Stmt, ...]:
        made: list[ir.Stmt] = [*draw(st.lists(st.one_of(check, asks), min_size=1, max_size=3))]
        made.append(branch(f"x{depth}"))
        turn = plus(ir.Var(f"n{depth}", "i64"), draw(st.integers(-1, 1)))
        by_turn = st.builds(lambda op, x: ir.Call(op, (x, turn), "bool"),
                            st.sampled_from(COMPARED), names)
        made += draw(st.lists(st.builds(ir.Check, by_turn, code), max_size=2))
        made += draw(st.lists(st.one_of(check, asks), max_size=2))
        return (*made, *([loop(depth + 1)] if depth == 0 and draw(st.booleans()) else []))

    def loop(depth: int) -> ir.While | ir.Loop:
        own = f"n{depth}"
        most = ir.Const(draw(st.integers(0, 4)), "i64")
        n = ir.Var(own, "i64")
        go, rest = draw(conditions), body(depth)
        accs = [ir.Accum(own, ir.Const(0, "i64"), ir.Call("add", (n, ir.Const(1, "i64")), "i64"))]
        accs = [] if counted[depth] else accs
        pool = st.one_of(values, st.just(ir.Var(f"x{depth}", "i64")), st.just(n))
        if depth == 0:
            accs += [ir.Accum(x, draw(starts), draw(pool)) for x in NAMES[:2]]
        if counted[depth]:
            until = draw(st.none() | conditions) if depth == 0 else None
            lo = draw(st.sampled_from((0, 0, -2, 3)))
            return ir.Loop(own, ir.Interval(ir.Const(lo, "i64"), most), rest, tuple(accs), until)
        less = ir.Call("lt", (n, most), "bool")
        return ir.While(ir.Call("and", (less, go), "bool"), rest, tuple(accs))

    starts = st.one_of(
        numbers.map(lambda k: ir.Const(k, "i64")),
        st.sampled_from("cp").map(lambda p: ir.Var(p, "i64")),
    )
    params = tuple(ir.Param(p, "i64") for p in "cp")
    stored = ir.Call("bitxor", (ir.Var("a", "i64"), ir.Var("b", "i64")), "i64")
    out = ir.Store("out", (), ir.Call("bitxor", (stored, ir.Var("c", "i64")), "i64"))
    after = draw(st.lists(asks, max_size=2))
    return ir.Kernel("k", (*params, ir.Param("out", "i64", 0, None, True)),
                     (loop(0), *after, out))


@settings(max_examples=examples(25), deadline=None)
@given(turning(), st.lists(st.tuples(numbers, numbers), min_size=6, max_size=6),
       st.sampled_from((7, 7, 0)))
def test_whiles_mean_the_same(
    kernel: ir.Kernel, given_: list[tuple[int, int]], rounds: int
) -> None:
    verify(kernel, "scalar")
    with patch.object(module("loopir.passes.checks.check_elimination"), "_MAX_ROUNDS", rounds):
        done = check_elimination(kernel)
    verify(done, "scalar")
    for c, p in given_:
        args: dict[str, Any] = {"c": np.int64(c), "p": np.int64(p), "out": np.zeros((), np.int64)}
        other = copy.deepcopy(args)
        with np.errstate(all="ignore"):
            before, after = run_kernel(kernel, args), run_kernel(done, other)
        assert before.status == after.status, show(done)
        assert args["out"] == other["out"], show(done)


COUNTED = """
def k(x: f64[::1], y: f64[::1], out: mut(i64[::1])):
    guard(out.shape[0] >= y.shape[0], "GUARD_BOUNDS")
    for i in loop(0, y.shape[0]):
        for j in loop(0, x.shape[0], c=START):
            t = i64(x[j] < y[i])
            check(~add_over(c, t), "over")
            c = step(c + t)
        out[i] = c
"""


@pytest.mark.parametrize(("start", "asks"), [(0, False), (1 << 61, False), (HIGH, True)])
def test_counts_do_not_overflow(start: int, asks: bool) -> None:
    done = check_elimination(parse(COUNTED.replace("START", str(start))))
    assert any(isinstance(n, ir.Check) for n in walk(done)) is asks


GUARDED = """
def k(x: f64[::1], far: i64, y: mut(f64[::1])):
    guard(x.shape[0] >= 1, "GUARD_BOUNDS")
    for i in loop(0, y.shape[0]):
        check(i >= 0, "replay")
        v = i + far
        if (v >= 0) & (v < x.shape[0]):
            inside = v < x.shape[0]
            check(inside, "replay")
            y[i] = x[select(inside, v, 0)]
"""


def test_loads_of_a_branch_stay_within() -> None:
    """All lanes may load what one of them is to have."""
    done = check_elimination(parse(GUARDED))
    assert not any(isinstance(n, ir.Check) for n in walk(done))
    clamped = [n for n in walk(done) if isinstance(n, ir.Call) and n.op == "select"]
    assert [n.args[0] for n in clamped] == [ir.Var("inside", "bool")], show(done)
    assert "inside = v < x.shape[0]" in show(done)


@settings(max_examples=examples(20), deadline=None)
@given(turning())
def test_what_is_skipped_is_not_improved(kernel: ir.Kernel) -> None:
    """Expressions and branches in which nothing can be decided are not looked at."""
    checks = module("loopir.passes.checks.check_elimination")
    done = show(check_elimination(kernel))
    with (
        patch.object(checks, "_may_be_decided", lambda _: True),
        patch.object(checks, "_may_be_improved", lambda _: True),
    ):
        assert show(check_elimination(kernel)) == done


CHECKED = [
    kernel for file in sorted(GOLDEN.glob("*/*.ir"))
    for kernel in map(parse, file.read_text(encoding="utf-8").split("\n# becomes\n\n"))
    if any(isinstance(n, ir.Check | ir.While) for n in walk(kernel))
]


def test_a_loop_without_accumulators_is_not_turned_to_find_its_facts() -> None:
    """The facts are the same as if its body were looked at in every round."""
    checks = module("loopir.passes.checks.check_elimination")
    for kernel in CHECKED:
        done = show(check_elimination(kernel))
        with patch.object(checks, "_binds_known_names", lambda *_: True):
            assert show(check_elimination(kernel)) == done
