"""Signs of floats: what is never negative; no false claim for any operand; checks that go."""
from __future__ import annotations

import itertools
import math
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from example_counts import examples

from loopir.analysis.float_signs import is_never_negative, names_never_negative
from loopir.ir_parser import parse
from loopir.nodes import Call, Const, Expr, Var
from loopir.op_table import OPS, evaluate
from transpile import fuse

X, Y = Var("x", "f64"), Var("y", "f64")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, -5e-324, math.inf, -math.inf, math.nan, 0.5]


def random_expression(r: random.Random, depth: int) -> Expr:
    if depth == 0 or r.random() < 0.2:
        return r.choice((X, Y, Const(r.choice((0.0, -0.0, 2.0, -3.0)), "f64")))
    of_floats = [o for o in OPS.values() if "f" in o.kinds and o.result == "a"]
    ops = [o for o in of_floats if set(o.operands) <= {"a"}]
    claimed = [o for o in ops if is_never_negative(Call(o.name, (Y,) * o.arity, "f64"), ("y",))]
    op = r.choice(r.choice((ops, claimed, [OPS["div"]])))
    args = tuple(random_expression(r, depth - 1) for _ in range(op.arity))
    if op.name == "mul" and r.random() < 0.6:
        args = args[0], args[0]
    return Call(op.name, args, "f64")


def value(e: Expr, names: dict[str, float]) -> Any:
    match e:
        case Const(v):
            return np.float64(v)
        case Var(name):
            return np.float64(names[name])
        case Call(op, args):
            return evaluate(op, tuple(value(a, names) for a in args), "f64")
    raise AssertionError(e)


def test_no_value_is_less_than_zero_that_is_said_never_to_be() -> None:
    claimed = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(examples(1500)):
            e = random_expression(random.Random(seed), 3)
            if not is_never_negative(e, ("y",)):
                continue
            claimed += 1
            for x, y in itertools.product(SPECIAL, SPECIAL):
                if not y < 0:
                    assert not value(e, {"x": x, "y": y}) < 0, (e, x, y)
    assert claimed > 100


def test_names() -> None:
    kernel = parse("""
def k(x: f64[::1], out: mut(f64[::1])):
    for i in loop(0, x.shape[0], s=0.0, d=0.0, m=1.0):
        t = x[i]
        if t > 0.0:
            u = give(t * t)
        else:
            u = give(abs(t) + 1.0)
        s = step(s + u)
        d = step(d - u)
        m = step(m * s)
    out[0] = s
""")
    assert names_never_negative(kernel) == {"s", "u", "m"}


def root(x, y):
    for i in range(len(x)):
        y[i] = math.sqrt(x[i] * x[i] + 1.0)


def half_power(x, y):
    for i in range(len(x)):
        t = x[i] - 1.0
        y[i] = (t * t) ** 0.5


def of_a_sum(x, y):
    for i in range(len(x)):
        s = 0.0
        for j in range(3):
            s += x[j] ** 2
        y[i] = math.sqrt(s) + x[i]


def may_raise(x, y):
    for i in range(len(x)):
        y[i] = math.sqrt(x[i] + 1.0)


def stops_at_a_check(f: Callable[..., Any]) -> bool:
    """Whether the kernel of `f` returns at a failed check, apart from looks for signals."""
    c = fuse(f, threads=1).emit("c", np.ones(9), np.ones(9))
    return "return status | 16" in re.sub(r"TP_STOPPED.*", "", c)


@pytest.mark.parametrize("f", [root, half_power, of_a_sum])
def test_a_square_root_that_cannot_raise_is_not_checked(f: Callable[..., Any]) -> None:
    assert not stops_at_a_check(f)
    assert stops_at_a_check(may_raise)


@pytest.mark.parametrize(
    ("divisor", "is_known"),
    [
        (Const(2.0, "f64"), True),
        (Const(-0.0, "f64"), False),
        (Call("abs", (X,), "f64"), True),
        (Call("mul", (X, X), "f64"), True),
        (Call("sqrt", (X,), "f64"), False),
        (Y, False),
        (Call("add", (Y, Const(1.0, "f64")), "f64"), True),
    ],
)
def test_a_quotient_is_negative_if_its_divisor_is_negative_zero(
    divisor: Expr, is_known: bool
) -> None:
    quotient = Call("div", (Const(1.0, "f64"), divisor), "f64")
    assert is_never_negative(quotient, ("y",)) == is_known


def test_a_quotient_by_a_root_of_negative_zero_is_compared() -> None:
    def below(x: Any, at: Any, out: Any) -> None:
        for i in range(len(x)):
            w = 1.0 / np.sqrt(x[i])
            out[at[i]] = 1.0 if w < 0.0 else 2.0

    x, at = np.array([1.0, -0.0, 0.0, 4.0]), np.arange(4)
    expected, out = np.zeros(4), np.zeros(4)
    with np.errstate(all="ignore"):
        below(x, at, expected)
        fuse(below)(x, at, out)
    assert out.tolist() == expected.tolist() == [2.0, 1.0, 2.0, 2.0]
