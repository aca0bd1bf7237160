"""Rewrites of expressions: each is exact, on every special value, and raises the same flags."""
from __future__ import annotations

import itertools
import random
import warnings
from typing import Any

import numpy as np
import pytest
from agree import same
from example_counts import examples

from loopir import nodes as ir
from loopir.algebra.constant_folding import fold_constants, is_lossless_cast
from loopir.algebra.may_raise import call_may_raise, may_only_underflow
from loopir.algebra.rewrite_rules import rewrite
from loopir.dtypes import DTYPES
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.ir_traversal import bottom_up, walk
from loopir.op_table import OPS
from loopir.passes.vector.if_convert import MaskedRewriter
from loopir.status_bits import STATUS

FLOATS = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 1e-310, 1e300, -1e300, np.inf, -np.inf, np.nan]
INTS = [0, 1, -1, 2, 7, -8, (1 << 63) - 1, -(1 << 63)]


def expression(text: str) -> ir.Expr:
    """`text` over f64 a, b, i64 m, n, f32 h, u8 u and bool c, d."""
    head = "def k(a: f64, b: f64, m: i64, n: i64, h: f32, u: u8, c: bool, d: bool):\n    t = "
    (assign,) = parse(head + text).body
    assert isinstance(assign, ir.Assign)
    return assign.value


def simplest(e: ir.Expr) -> ir.Expr:
    return bottom_up(e, lambda n: rewrite(n) if isinstance(n, ir.Call) else n)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a * 1.0", "a"),
        ("1.0 * a", "a"),
        ("a / 1.0", "a"),
        ("a + -0.0", "a"),
        ("a + 0.0", "a + 0.0"),
        ("a - 0.0", "a"),
        ("a - -0.0", "a - -0.0"),
        ("a * 0.0", "a * 0.0"),
        ("a - a", "a - a"),
        ("a == a", "a == a"),
        ("--a", "a"),
        ("a + -b", "a - b"),
        ("-a + b", "b - a"),
        ("a - -b", "a + b"),
        ("abs(-a)", "abs(a)"),
        ("abs(abs(a))", "abs(a)"),
        ("a ** 0.0", "1.0"),
        ("(a / b) ** 0.0", "(a / b) ** 0.0"),
        ("a ** 2.0", "a * a"),
        ("a ** -1.0", "1.0 / a"),
        ("a ** 0.5", "a ** 0.5"),
        ("select(b < a, b, a)", "min(a, b)"),
        ("select(c & (b < a), b, a)", "select(c, min(a, b), a)"),
        ("select((b > a) & c & d, b, a)", "select(d & c, max(a, b), a)"),
        ("c | (~c & d)", "c | d"),
        ("(d | ~c) & c", "c & d"),
        ("~(c | ~d)", "~c & d"),
        ("~(c | (~c & ~d))", "~c & d"),
        ("~(~c & d)", "c | ~d"),
        ("~(c | d)", "~(c | d)"),
        ("min(a, a)", "a"),
        ("maximum(a, a)", "a"),
        ("m * 0", "0"),
        ("m + 0", "m"),
        ("m // 1", "m"),
        ("m % 1", "0"),
        ("m - m", "0"),
        ("m + 3 - 5", "m - 2"),
        ("m + n - m", "n"),
        ("m + n - n", "m"),
        ("m + n + m * n - m", "n + m * n"),
        ("m + n - m * n - m", "n - m * n"),
        ("m + 3 - m", "3"),
        ("m + 3 + n - m", "n + 3"),
        ("m + n + 2 - m", "n + 2"),
        ("m - n - m", "m - n - m"),
        ("m * n - m", "m * n - m"),
        ("u + u - u", "u"),
        ("a + b - a", "a + b - a"),
        ("3 + m", "m + 3"),
        ("m + 3 - 3", "m"),
        ("m - -2", "m + 2"),
        ("m < m", "False"),
        ("m <= m", "True"),
        ("~~m", "m"),
        ("bitand(m, -1)", "m"),
        ("bitand(m, 0)", "0"),
        ("~~c", "c"),
        ("~(a < b)", "~(a < b)"),
        ("~(m < n)", "m >= n"),
        ("~(a == b)", "a != b"),
        ("c & True", "c"),
        ("c & False", "False"),
        ("c | True", "True"),
        ("select(c, a, a)", "a"),
        ("select(True, a, b)", "a"),
        ("select(~c, a, b)", "select(c, b, a)"),
        ("select(c, d, False)", "c & d"),
        ("select(c, True, d)", "c | d"),
        ("select(c, False, d)", "~c & d"),
        ("select(c, d, True)", "~c | d"),
        ("select(c, select(c, a, b), 1.0)", "select(c, a, 1.0)"),
        ("select(c, 1.0, select(c, a, b))", "select(c, 1.0, b)"),
        ("select(c, select(c, a, 1.0 / b), 1.0)", "select(c, select(c, a, 1.0 / b), 1.0)"),
        ("select(c, 1.0, select(c, 1.0 / a, b))", "select(c, 1.0, select(c, 1.0 / a, b))"),
        ("select(True, a, 1.0 / b)", "select(True, a, 1.0 / b)"),
        ("select(1.0 / a < b, a, a)", "select(1.0 / a < b, a, a)"),
        ("i64(f32(a)) - i64(f32(a))", "i64(f32(a)) - i64(f32(a))"),
        ("i64(f32(a)) % 1", "i64(f32(a)) % 1"),
        ("select(a < b, a, b)", "min(b, a)"),
        ("select(b > a, a, b)", "min(b, a)"),
        ("select(a > b, a, b)", "max(b, a)"),
        ("select(b < a, a, b)", "max(b, a)"),
        ("select(a <= b, a, b)", "select(a <= b, a, b)"),
        ("select(m <= n, m, n)", "min(n, m)"),
        ("f64(a)", "a"),
        ("f32(f64(h))", "h"),
        ("f32(sqrt(f64(h)))", "sqrt(h)"),
        ("f32(sqrt(f64(u)))", "sqrt(f32(u))"),
        ("f32(sqrt(a))", "f32(sqrt(a))"),
        ("f32(sqrt(f64(m)))", "f32(sqrt(f64(m)))"),
        ("f64(f32(a))", "f64(f32(a))"),
        ("i64(trunc(a))", "i64(a)"),
        ("i64(floor(a))", "i64(floor(a))"),
        ("f32(trunc(a))", "f32(trunc(a))"),
        ("i64(f64(u))", "i64(u)"),
        ("u8(i32(m))", "u8(m)"),
        ("u8(i32(f64(u)))", "u"),
        ("f32(select(c, f64(h), 0.5))", "select(c, h, f32(0.5))"),
        ("f32(select(c, f64(h), a))", "f32(select(c, f64(h), a))"),
        ("select(bitand(m, 1) == 0, 1, 0)", "1 - (m & 1)"),
        ("select(m % 2 != 0, 1, 0)", "m % 2"),
        ("select(m % 2 == 1, 0, 1)", "1 - m % 2"),
        ("i64(bitand(m, 1) != 0)", "m & 1"),
        ("u8(u % u8(2) == u8(1))", "u % u8(2)"),
        ("i64(u % u8(2) == u8(1))", "i64(u % u8(2) == u8(1))"),
        ("select(m % 3 != 0, 1, 0)", "select(m % 3 != 0, 1, 0)"),
        ("select(m % 2 == 2, 1, 0)", "select(m % 2 == 2, 1, 0)"),
        ("f64(m % 2 == 1)", "f64(m % 2 == 1)"),
        ("m * i64(c)", "select(c, m, 0)"),
        ("u8(c) * u", "select(c, u, u8(0))"),
        ("a * f64(c)", "a * f64(c)"),
        ("f64(i64(c) - i64(d))", "f64(c) - f64(d)"),
        ("f32(i8(c) + i8(2) - i8(d))", "f32(c) + f32(2.0) - f32(d)"),
        ("f64(i64(c) - 5)", "f64(i64(c) - 5)"),
        ("f64(i64(c) - m)", "f64(i64(c) - m)"),
        ("f64(i64(c) * -1)", "select(c, -1.0, 0.0)"),
        ("f64(u8(c) - u8(d))", "f64(u8(c) - u8(d))"),
        ("f64(h) < 0.5", "h < f32(0.5)"),
        ("f64(h) < 0.1", "f64(h) < 0.1"),
        ("i64(u) < 300", "i64(u) < 300"),
        ("i64(u) < 30", "u < u8(30)"),
        ("1.5 + 2.0", "3.5"),
        ("1.0 / 0.0", "1.0 / 0.0"),
        ("1e-200 * 1e-200", "1e-200 * 1e-200"),
        ("9223372036854775807 + 1", "-9223372036854775808"),
        ("1 // 0", "1 // 0"),
    ],
)
def test_rewrite(text: str, wanted: str) -> None:
    before = expression(text)
    after = simplest(before)
    assert show(after) == wanted
    assert simplest(after) == after
    assert_same_everywhere(before, after)


def test_random_expressions() -> None:
    """Many of their parts are equal, or constants, so that rules apply."""
    rewritten = 0
    for seed in range(examples(150)):
        r = random.Random(seed)
        before = random_expression(r, 3, r.choice(("f64", "f64", "i64", "bool")), {})
        after = simplest(before)
        if before != after:
            rewritten += 1
            assert_same_everywhere(before, after, r)
    assert rewritten > 50


OPERATIONS = {
    "f64": ("add", "sub", "mul", "div", "min", "max", "neg", "abs", "sqrt", "select", "select"),
    "i64": ("add", "sub", "mul", "mod", "min", "neg", "bitand", "select", "select"),
    "bool": ("lt", "le", "eq", "ne", "and", "or", "not", "select"),
}


def random_expression(
    r: random.Random, depth: int, dtype: str, made: dict[str, list[ir.Expr]]
) -> ir.Expr:
    """An expression of at most so many operations below each other; at times one of those `made`
    for others.
    """
    known = made.setdefault(dtype, [])
    if known and r.random() < 0.3:
        return r.choice(known)
    if depth == 0 or r.random() < 0.15:
        names = {"f64": "ab", "i64": "mn", "bool": "cd"}[dtype]
        constants = {"f64": (0.0, -0.0, 1.0, 2.0), "i64": (0, 1, 2), "bool": (False, True)}[dtype]
        leaves = [ir.Var(name, dtype) for name in names]
        return r.choice((*leaves, *(ir.Const(c, dtype) for c in constants)))
    op = r.choice(OPERATIONS[dtype])
    of = r.choice(("f64", "i64")) if op in ("lt", "le", "eq", "ne") else dtype
    dtypes = ("bool", dtype, dtype) if op == "select" else (of,) * len(OPS[op].operands)
    args = tuple(random_expression(r, depth - 1, d, made) for d in dtypes)
    known.append(ir.Call(op, args, dtype))
    return known[-1]


def assert_same_everywhere(
    before: ir.Expr, after: ir.Expr, r: random.Random | None = None
) -> None:
    """The same value and flags, whatever the names stand for; with `r`, of 20 values that it draws.
    """
    grid: dict[str, list[Any]] = {
        "a": FLOATS, "b": FLOATS, "m": INTS, "n": INTS, "h": FLOATS, "u": [0, 7, 30, 44, 255],
        "c": [False, True], "d": [False, True],
    }
    read = {n.name for e in (before, after) for n in walk(e) if isinstance(n, ir.Var)}
    names = sorted(read)
    every = itertools.product(*(grid[n] for n in names))
    drawn = (tuple(r.choice(grid[n]) for n in names) for _ in range(20)) if r else every
    for values in drawn:
        env = dict(zip(names, values, strict=True))
        got, wanted = (value(e, env) for e in (after, before))
        assert same(got[1], wanted[1]), (env, got, wanted)
        assert got[0] == wanted[0], (env, got, wanted)


def value(e: ir.Expr, env: dict[str, Any]) -> tuple[int, Any]:
    """The status that evaluating `e` brings about, and its value."""
    kinds = {"a": "f64", "b": "f64", "m": "i64", "n": "i64", "h": "f32", "u": "u8"}
    kinds |= {n.name: n.dtype for n in walk(e) if isinstance(n, ir.Var)}
    params = tuple(ir.Param(n, kinds.get(n, "bool")) for n in env)
    out = ir.Param("out", e.dtype, 0, None, True)
    kernel = ir.Kernel("k", (*params, out), (ir.Store("out", (), e),))
    result = np.zeros((), DTYPES[e.dtype].numpy)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = {p.name: DTYPES[p.dtype].numpy.type(env[p.name]) for p in params}
        return run_kernel(kernel, {**args, "out": result}).status, result


# -- masks


@pytest.mark.parametrize(
    "text",
    [
        "a * b", "a + b", "a - b", "a / b", "a // b", "a % b", "a ** b", "a * a", "sqrt(a)",
        "log(a)", "exp(a)", "sin(a)", "tan(a)", "f64(f32(a)) + b", "i64(f32(a))", "1.0 / 0.0 + a",
        "log(a - b) / (a + 1e308)", "(a * 2.0 + 1.0) * (a - 3.0)", "sqrt(a * 1e308 - b * 1e308)",
    ],
)
def test_masked_code_raises_nothing_where_the_mask_does_not_hold(text: str) -> None:
    e = expression(text)
    masked = MaskedRewriter(ir.Var("c", "bool"))(e)
    for a, b in itertools.product(FLOATS, FLOATS):
        env = {"a": a, "b": b, "c": True}
        got, wanted = value(masked, env), value(e, env)
        assert same(got[1], wanted[1])
        assert got[0] == wanted[0]
        status, _ = value(masked, {**env, "c": False})
        assert status == 0, (show(masked), a, b)


@pytest.mark.parametrize("op", [op.name for op in OPS.values() if "f" in op.kinds and op.raises])
def test_masked_operations_raise_nothing_where_the_mask_does_not_hold(op: str) -> None:
    """Every operation that may raise a flag; also where some of its operands are constants, which
    may leave it only that of an underflow.
    """
    names = [ir.Var(x, "f64") for x in "abcd"[: OPS[op].arity]]
    constants = [ir.Const(x, "f64") for x in FLOATS]
    for first in (names[0], *constants):
        for last in (names[-1], *constants) if len(names) > 1 else (first,):
            e = ir.Call(op, (first, *names[1:-1], last)[: len(names)], "f64")
            masked = MaskedRewriter(ir.Var("m", "bool"))(e)
            free = sorted({n.name for n in walk(e) if isinstance(n, ir.Var)})
            for values in itertools.product(FLOATS, repeat=min(len(free), 2)):
                env = dict(itertools.zip_longest(free, values, fillvalue=np.inf))
                status, _ = value(masked, {**env, "m": False})
                allowed = (0, STATUS["under"]) if may_only_underflow(e) else (0,)
                assert status in allowed, (show(masked), env)


def test_a_mask_needs_few_selects() -> None:
    """What is known in idle lanes stays known, and a select of the same mask is one already."""
    masked = MaskedRewriter(ir.Var("c", "bool"))
    for text, wanted in (
        ("sqrt(a)", "sqrt(select(c, a, 1.0))"),
        ("atanh(a)", "atanh(select(c, a, 0.0))"),
        ("exp(a * 2.0 + 1.0)", "exp(select(c, a, 1.0) * 2.0 + 1.0)"),
        ("a * a", "select(c, a, 1.0) * select(c, a, 1.0)"),
        ("a / 0.3", "select(c, a, 1.0) / 0.3"),
        ("a / 3.0", "a / 3.0"),
        ("exp((a - 3.0) * 0.5)", "exp(select(c, a - 3.0, 1.0) * 0.5)"),
        ("sqrt(select(c, a, 1.0)) * 2.0", "sqrt(select(c, a, 1.0)) * 2.0"),
        ("m // n", "m // n"),
        ("min(a, b) < 2.0", "min(a, b) < 2.0"),
    ):
        assert show(masked(expression(text))) == wanted


# -- the tables behind them


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_lossless_casts_come_back(source: str, target: str) -> None:
    a, b = DTYPES[source].numpy, DTYPES[target].numpy
    ends: list[Any] = [0, 1]
    if DTYPES[source].kind == "f":
        ends += [float(np.finfo(a).max), float(np.finfo(a).smallest_subnormal), 0.1, np.inf]
    elif source != "bool":
        ends += [DTYPES[source].low, DTYPES[source].high]
    values = np.array(ends, a)
    with np.errstate(all="ignore"):
        back = values.astype(b).astype(a)
        unchanged = np.array_equal(back, values) and all(
            int(x) == int(y) for x, y in zip(values, values.astype(b), strict=True)
            if DTYPES[source].kind != "f" and DTYPES[target].kind != "f"
        )
    if is_lossless_cast(source, target):
        assert unchanged


def test_constants_fold_only_where_nothing_is_raised() -> None:
    def f64(x: float) -> ir.Const:
        return ir.Const(x, "f64")

    assert fold_constants("add", (f64(1.0), f64(2.0)), "f64") == f64(3.0)
    assert fold_constants("div", (f64(1.0), f64(0.0)), "f64") is None
    assert fold_constants("sqrt", (f64(-1.0),), "f64") is None
    assert fold_constants("cast", (f64(1e300),), "f32") is None
    assert call_may_raise(ir.Call("cast", (f64(1e300),), "f32"))
    assert not call_may_raise(ir.Call("min", (f64(1.0), f64(2.0)), "f64"))


@pytest.mark.parametrize(("text", "wanted"), [
    ("min(x.shape[0], 0)", "0"), ("max(0, x.shape[0])", "x.shape[0]"),
    ("min(-1, x.shape[0])", "-1"),
    ("max(x.shape[0], -3)", "x.shape[0]"), ("max(0, min(x.shape[0], 0))", "0"),
    ("min(x.shape[0], 1)", "min(x.shape[0], 1)"), ("max(n, 0)", "max(n, 0)"),
    ("max(x.shape[0] - max(x.shape[0] - 9, 0), 0)", "min(x.shape[0], 9)"),
    ("x.shape[0] - max(n - 9, 0)", "x.shape[0] - max(n - 9, 0)"),
    ("max(min(x.shape[0], n), 0)", "max(min(x.shape[0], n), 0)"),
])
def test_no_length_is_negative(text: str, wanted: str) -> None:
    head = "def k(x: f64[::1], n: i64):\n    t = "
    (assign,) = parse(head + text).body
    assert isinstance(assign, ir.Assign)
    assert show(simplest(assign.value)) == wanted
