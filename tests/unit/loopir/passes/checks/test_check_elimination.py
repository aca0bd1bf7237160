"""Check elimination: comparisons of square roots, as comparisons of what the roots are of."""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from loopir import nodes as ir
from loopir.ir_printer import parse
from loopir.ir_traversal import walk
from loopir.passes.checks.check_elimination import check_elimination
from loopir.passes.pass_list import optimise
from transpile import fuse

COMPARISONS = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}
ROOTS = [
    1.0, 2.0, 3.0, 0.1, 1e-3, 7.3e5, 5e-324, 1e-170, 1.5e-162, 2.3e-154, 1e-40,
    1.3407807929942596e154, 1.4e154, 1.7976931348623157e308,
]


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("op", COMPARISONS)
def test_roots_are_compared_as_squares(op: str, dtype: str) -> None:
    kind = np.float64 if dtype == "f64" else np.float32
    random = np.random.default_rng(3)
    for root in (*ROOTS, *(10.0 ** random.uniform(-30, 30, 200))):
        with np.errstate(all="ignore"):
            limit = kind(root)
            near = [limit * limit]
            for way in (0, np.inf):
                s = near[0]
                near += [s := np.nextafter(s, kind(way)) for _ in range(4)]
        if not 0 < limit < np.inf:
            continue
        values = [*near, kind(0.0), kind(-0.0), kind(np.inf), kind(np.nan), kind(1.0), limit]
        for is_reversed in (False, True):
            answer = compared(op, dtype, float(limit), is_reversed)
            assert answer is not None
            for s in values:
                pair = (limit, np.sqrt(s)) if is_reversed else (np.sqrt(s), limit)
                assert answer(s) == COMPARISONS[op](*pair), (op, root, s)


def compared(op: str, dtype: str, limit: float, is_reversed: bool) -> Any:
    """What the pass makes of ``sqrt(abs(x)) < limit``, as a function of ``abs(x)``; None where it
    still has the root.
    """
    magnitude = ir.Call("abs", (ir.Var("x", dtype),), dtype)
    root, c = ir.Call("sqrt", (magnitude,), dtype), ir.Const(limit, dtype)
    test = ir.Call(op, (c, root) if is_reversed else (root, c), "bool")
    kernel = ir.Kernel(
        "k", (ir.Param("x", dtype), ir.Param("out", "bool", 0, None, True)),
        (ir.Store("out", (), test),),
    )
    (store,) = check_elimination(kernel).body
    value = store.value
    if any(isinstance(n, ir.Call) and n.op == "sqrt" for n in walk(value)):
        return None
    assert value.args[0] == magnitude
    return lambda s: COMPARISONS[value.op](s, type(s)(value.args[1].value))


@pytest.mark.parametrize("limit", [0.0, -1.0, math.inf, math.nan])
def test_other_limits_are_left(limit: float) -> None:
    assert compared("lt", "f64", limit, False) is None


def test_roots_of_negative_numbers_are_left() -> None:
    kernel = parse("""
def k(x: f64[::1], out: mut(i64[()])):
    for i in loop(0, x.shape[0], c=0):
        c = step(c + i64(sqrt(x[i]) < 2.0))
    out[()] = c
""")
    assert any(isinstance(n, ir.Call) and n.op == "sqrt" for n in walk(optimise(kernel)))


def near(x, y):
    c = 0
    for i in range(len(x)):
        if math.sqrt(x[i] * x[i] + y[i] * y[i]) <= 1.0:
            c += 1
    return c


def roots_above(x, y):
    out = []
    for v, u in zip(x, y, strict=True):
        if np.sqrt(abs(v) + u * u) > 0.75:
            out.append(v)
    return np.array(out)


@pytest.mark.parametrize("f", [near, roots_above])
def test_same_as_python(f: Any) -> None:
    g = fuse(f, on_reject="raise")
    assert "sqrt" not in g.emit("loopir", np.ones(3), np.ones(3))
    random = np.random.default_rng(2)
    for n in (1, 3, 40, 1000):
        angle = random.random(n) * 7
        x, y = np.cos(angle), np.sin(angle)     # on the circle, up to rounding
        x[::5] *= random.random(len(x[::5]))
        x[3::50], y[7::60] = np.nan, np.inf
        assert_same(outcome(g, (x, y)), outcome(f, (x, y)), f"{n}")


def guarded_bins(x, scale, counts):
    missed = 0
    for v in x:
        k = int(v * scale)
        if 0 <= k < len(counts):
            counts[k] += 1
        else:
            missed += 1
    return missed


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("kind", ["i8", "i4", "u1"])
def test_an_integer_that_is_tested_and_used_needs_no_check(dtype: str, kind: str) -> None:
    fused = fuse(guarded_bins, on_reject="raise")
    for n in (0, 1, 2, 3, 17, 1000):
        x = (np.random.default_rng(n).random(n) * 3 - 1).astype(dtype)
        for bins in (0, 1, 7):
            wanted, found = np.zeros((2, bins), kind)
            with np.errstate(all="ignore"):
                assert guarded_bins(x, 7.0, wanted) == fused(x, 7.0, found)
            assert wanted.tolist() == found.tolist()
    assert fused.stats.compiled
    checks = [line for line in fused.emit("loopir", x, 7.0, found).splitlines() if "check(" in line]
    assert not any("inside" in line for line in checks)
