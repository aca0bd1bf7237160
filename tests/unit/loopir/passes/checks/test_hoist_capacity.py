"""Loops that append in each iteration: one test of their room, and the same lists."""
from __future__ import annotations

import numpy as np
import pytest

from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from loopir.passes.checks.hoist_capacity import hoist_capacity
from transpile import fuse

KERNEL = """
def k(x: f64[::1], short: mut(bool[()]), out: mut(f64[::1]), n: mut(i64[()])):
    disjoint(x, out)
    for i in loop(1, x.shape[0], k=2):
        fits = k < out.shape[0]
        if fits:
            out[k] = x[i] * 2.0
        else:
            short[()] = True
        check(fits, "replay")
        k = step(k + select(fits, 1, 0))
    n[()] = k
"""


@pytest.mark.parametrize("size", [0, 1, 2, 6])
@pytest.mark.parametrize("capacity", [2, 3, 6, 7, 8])
def test_what_has_no_room_fails_as_before(size: int, capacity: int) -> None:
    kernel = parse(KERNEL)
    hoisted = hoist_capacity(kernel)
    assert hoisted is not kernel
    outcomes = []
    for k in (kernel, hoisted):
        out, short, n = np.zeros(capacity), np.zeros((), bool), np.zeros((), np.int64)
        x = np.arange(1.0, size + 1)
        status = run_kernel(k, {"x": x, "short": short, "out": out, "n": n}).status
        outcomes.append((status, bool(short), *(() if status else (out.tolist(), int(n)))))
    assert outcomes[0] == outcomes[1]


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))]
            for i in range(len(a))]


def triangle(a, b):
    out = []
    for i in range(len(a)):
        row = []
        for j in range(i + 1):
            row.append(a[i][j % len(a[i])] + b[0][0])  # noqa: PERF401 (the program under test)
        out.append(row)
    return out


def flags(a, b):
    out = []
    for row in a:
        for v in row:
            out.append(v > b[0][0])  # noqa: PERF401 (the program under test)
        out.append(False)
    return out


@pytest.mark.parametrize("f", [product, triangle, flags])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 90])
def test_lists_are_pythons(f, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.random((n, n)).tolist(), rng.integers(0, 9, (n, n)).tolist()
    fused = fuse(f, on_reject="raise", reassociate=False)
    for other in (b, a):
        expected, result = f(a, other), fused(a, other)
        assert repr(expected) == repr(result)


def test_products_of_lists_are_computed_in_vectors() -> None:
    a = np.random.default_rng(0).random((40, 40)).tolist()
    text = fuse(product, on_reject="raise").emit("loopir", a, a)
    assert "sum=broadcast(" in text.replace("sum_1", "sum").replace("sum_2", "sum")
