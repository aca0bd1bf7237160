"""The verifier: each rule, broken once, is named; what the stages allow."""
from __future__ import annotations

import re
from dataclasses import replace

import pytest

from loopir import nodes as ir
from loopir.ir_printer import parse
from loopir.ir_verifier import Stage, VerifyError, verify

HEAD = (
    "def k(a: f64, n: i64, b: bool, x: f64[:], y: mut(f64[:]), m: mut(f64[:, :]), u: u8[:], "
    "c: mut(bool[:]), z: mut(f64[()])):"
)


def kernel(body: str) -> ir.Kernel:
    return parse("\n".join([HEAD, *("    " + line for line in body.strip("\n").split("\n"))]))


def refused(k: ir.Kernel, says: str, stage: Stage = "vector") -> None:
    with pytest.raises(VerifyError, match=re.escape(says)):
        verify(k, stage)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        # names
        ("t = 1\nt = 2", "t is bound already"),
        ("x = 1", "x is bound already"),
        ("a = 1.0", "a is bound already"),
        ("for i in loop(0, n):\n    i = 3", "i is bound already"),
        ("s = 0\nfor i in loop(0, n, s=0.0):\n    pass", "s is bound already"),
        ("if b:\n    t = 1\n    r = give(t)\nelse:\n    r = give(2)\nr = 3", "r is bound already"),
        # dtypes
        ("t = a + n", "operands differ in dtype: ['f64', 'i64']"),
        ("t = n / n", "no operand of div"),
        ("t = select(n, a, a)", "no operand of select"),
        ("t = u[0] + 1", "operands differ in dtype"),
        ("t = u8(256)", "the constant is no u8"),
        ("t = u8(-1)", "the constant is no u8"),
        ("y[0] = n", "y holds another dtype"),
        ("if n: break", "no loop to leave"),
        ("if a < 1.0:\n    t = give(1)\nelse:\n    t = give(1.0)", "the branches differ in what t"),
        ("for i in loop(0, n, s=0.0):\n    s = step(i)", "s starts and steps as different types"),
        (
            "for i in vec(0, n, width=4, group=8, s=0):\n"
            "    t = prefix(\"add\", s, ramp(i, 1, 4), ramp(i, 1, 4))",
            "factors are floats like the values that are added",
        ),
        ("for i in loop(0, a):\n    pass", "an end of a range must be one i64"),
        ("while loop(n):\n    pass", "a loop's condition must be one bool"),
        ("if n:\n    pass", "a condition must be one bool"),
        ("for i in loop(0, n):\n    until(i)", "an early exit must be one bool"),
        ('check(n, "invalid")', "a check is a bool"),
        ('guard(n, "GUARD_BOUNDS")', "a guard must be one bool"),
        # subscripts, arrays
        ("t = x[0, 1]", "a subscript for each axis"),
        ("t = m[0]", "a subscript for each axis"),
        ("t = x[u[0]]", "a subscript is one i64"),
        ("t = x.shape[1]", "no such axis"),
        ("t = a.shape[0]", "a is not an array parameter"),
        ("x[0] = 1.0", "x is not mut"),
        ("a[0] = 1.0", "a is not an array parameter"),
        ("m[0] = 1.0", "a subscript for each axis"),
        ("disjoint(x, x)", "two array parameters are needed"),
        ("disjoint(x, a)", "two array parameters are needed"),
        # appends, checks, ends
        ("append(y, n, 1.0)", "n is no i64 accumulator around"),
        ("for i in loop(0, n, s=0.0):\n    append(y, s, 1.0)", "s is no i64 accumulator around"),
        ("for i in loop(0, n, s=0):\n    append(m, s, 1.0)", "appends go to arrays of rank 1"),
        ("for i in vec(0, n, width=W, s=0):\n    append(y, s, broadcast(1.0, W))",
         "lanes are appended to arrays of unit stride"),
        ("for i in loop(0, n, s=0):\n    append(y, s, i)", "y holds another dtype"),
        ('check(b, "unlikely")', "no such status"),
        ("y[0] = where(n, 1.0)", "a mask is a bool for each lane"),
        # loops
        ("for i in loop(range(0, n, 0)):\n    pass", "a range has a step"),
        ("for i, v in zip(0, n, m):\n    pass", "m is not f64[:]"),
        ("for i in scan(0, n, s=0.0):\n    y[i] = s = s - x[i]", "the operation is no reduction"),
        ("for i in scan(0, n, s=0):\n    y[i] = s = s + x[i]", "a scan's start must be one f64"),
        ("for i in scan(0, n, s=0.0):\n    x[i] = s = s + y[i]", "a scan writes a mut array"),
        ("for i in scan(0, n, s=0.0):\n    y[i] = s = s + s", "the name is not bound here"),
        # vectors
        ("t = x[n:8]", "8 lanes in a loop of width None"),
        ("t = broadcast(a, W)", "W lanes in a loop of width None"),
        ("for i in vec(0, n, width=W):\n    y[i:8] = x[i:8]", "8 lanes in a loop of width W"),
        ("for i in vec(0, n, width=W):\n    y[i:W] = x[i:W] + a", "operands and result differ"),
        ("for i in vec(0, n, width=W):\n    t = broadcast(x[i:W], W)", "only a scalar is"),
        ("for i in vec(0, n, width=W):\n    t = ramp(a, 1, W)", "a ramp starts at an integer"),
        ("for i in vec(0, n, width=W):\n    t = x[i:W:0]", "no such axis, or no step"),
        ("for i in vec(0, n, width=W):\n    y[0] = a", "each lane of a loop stores, or none"),
        ("for i in vec(0, n, width=W):\n    y[i:W] = where(b, x[i:W])", "a mask is a bool for"),
        ("for i in vec(0, n, width=W):\n    return", "a vector loop runs to its end"),
        ("for i in vec(0, n, width=W):\n    if b: break", "no loop to leave"),
        ("for i in vec(range(0, n, 2), width=W):\n    pass", "a vector loop has step 1"),
        ("for i in vec(0, n, width=3):\n    pass", "a width is W or a power of two"),
        ("for i in vec(0, n, width=4, group=6):\n    pass", "a group is a power of two"),
        ("for i in vec(0, n, width=4, s=a):\n    pass", "an accumulator needs a group"),
        ("for i in pred(0, n, width=W, where=x[i:W]):\n    pass", "the predicate is a bool"),
        ("for i in pred(0, n, width=W, where=b):\n    pass", "the predicate is a bool"),
        (
            "for i in vec(0, n, width=W):\n    for j in vec(0, n, width=W):\n        pass",
            "a vector loop in a vector loop",
        ),
        (
            "for i in vec(0, n, width=W, group=8, s=a):\n    s = step(s - x[i:W])\n"
            "t = hreduce('sub', s)",
            "the operation has no neutral element",
        ),
        (
            "for i in vec(0, n, width=8, group=8, s=a):\n    s = step(s + x[i:8])\n"
            "for i in vec(0, n, width=8):\n    y[i:8] = s",
            "the name is not bound here",
        ),
        ("t = hreduce('add', a)", "only vectors are reduced"),
    ],
)
def test_a_broken_rule_is_named(body: str, says: str) -> None:
    refused(kernel(body), says)


ONE = ir.Const(1, "i64")


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (ir.Assign("t", ir.Var("nowhere", "i64")), "the name is not bound here: nowhere"),
        (ir.Assign("t", ir.Var("a", "f32")), "the name is ('f64', 1), not ('f32', 1)"),
        (ir.Assign("t", ir.Var("x", "f64")), "the name is not bound here"),
        (ir.Assign("t", ir.Call("frob", (ONE,), "i64")), "no such operation"),
        (ir.Assign("t", ir.Call("add", (ONE,), "i64")), "2 operands are needed"),
        (ir.Assign("t", ir.Call("add", (ONE, ONE), "i32")), "the result is {'i64'}, not i32"),
        (ir.Assign("t", ir.Call("lt", (ONE, ONE), "i64")), "the result is {'bool'}, not i64"),
        (ir.Assign("t", ir.Call("cast", (ONE,), "f128")), "not f128"),
        (ir.Assign("t", ir.Const(0.5, "i64")), "the constant is no i64"),
        (ir.Assign("t", ir.Const(1, "f128")), "the constant is no f128"),
        (ir.Assign("t", ir.Const(2, "bool")), "the constant is no bool"),
        (ir.Assign("t", ir.Load("x", (ONE,), "f32")), "the load is not of f32"),
        (ir.Assign("t", ir.Load("m", (ONE, ONE), "f64", 1, 1)), "only lanes go along an axis"),
        (ir.Assign("t", ir.Load("nowhere", (ONE,), "f64")), "nowhere is not an array parameter"),
        (ir.Zip("i", (), ir.Interval(ONE, ONE), ()), "a zip has streams"),
        (ir.Zip("i", (ir.Stream("v", "x", "f32"),), ir.Interval(ONE, ONE), ()), "x is not f32[:]"),
    ],
)
def test_what_the_text_cannot_say_is_named_too(statement: ir.Stmt, says: str) -> None:
    refused(replace(kernel("pass"), body=(statement,)), says, "scalar")


@pytest.mark.parametrize(
    ("param", "says"),
    [
        (ir.Param("p", "f128"), "no such dtype"),
        (ir.Param("p", "f64", 6), "an array has at most 5 axes"),
        (ir.Param("p", "f64", 2, unit=2), "the unit axis is no axis"),
        (ir.Param("p", "f64", 1, steps=(3, 3)), "one step for each axis"),
        (ir.Param("p", "f64", 2, steps=(1, None)), "known steps are larger than one"),
        (ir.Param("p", "f64", 2, steps=(None, None)), "known steps are larger than one"),
        (ir.Param("p", "f64", None, written=True), "a scalar has no axes and is not written"),
        (ir.Param("x", "f64"), "two parameters have one name"),
    ],
)
def test_parameters(param: ir.Param, says: str) -> None:
    k = kernel("pass")
    refused(replace(k, params=(*k.params, param)), says, "scalar")


def test_strict_names_classes() -> None:
    refused(replace(kernel("pass"), strict=("sometimes",)), "strict has a name")


VECTOR = "for i in vec(0, n, width=W):\n    y[i:W] = x[i:W]"
PRED = "for i in pred(0, n, width=8, where=x[i:8] < broadcast(a, 8)):\n    y[i:8] = x[i:8]"


@pytest.mark.parametrize(
    ("body", "stage", "says"),
    [
        (VECTOR, "scalar", "no vectors yet"),
        (VECTOR, "legal", "the width is not chosen"),
        (PRED, "legal", "the mask form is not chosen"),
        ("for i in vec(0, n, width=8, group=4, s=a):\n    pass", "legal", "a group is whole"),
    ],
)
def test_stages(body: str, stage: Stage, says: str) -> None:
    verify(kernel(body), "vector")
    refused(kernel(body), says, stage)


@pytest.mark.parametrize(
    "body",
    [
        "for i in loop(0, n):\n    t = i\nfor i in loop(0, n):\n    t = a",
        "if b:\n    t = 1\nelse:\n    t = 2.0\nt = a",
        "for i in loop(0, n, k=0):\n    for j in loop(0, n):\n        append(y, k, where(b, a))",
        "for i in loop(0, n):\n    while loop(j < 3, j=0):\n        if b: break\n"
        "        j = step(j + 1)",
        "return",
        "z[()] = z[()] + 1.0",
    ],
)
def test_scopes_end(body: str) -> None:
    verify(kernel(body), "scalar")


def test_a_register_of_one_lane_is_a_scalar() -> None:
    body = """
for i in pred(0, n, width=1, group=4, form=BranchPerLane, where=x[i] < broadcast(a, 1), s=a, k=0):
    m[0, i:1] = f64(ramp(i, 1, 1))
    append(y, k, x[i])
    s = step(s + x[i:1:-1])
z[()] = hreduce("add", s)
"""
    verify(kernel(body), "legal")
