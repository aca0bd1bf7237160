"""Loops in two versions by the direction of a dependence: both give what the loop gives."""
from __future__ import annotations

import numpy as np
import pytest

from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from loopir.ir_traversal import walk
from loopir.nodes import Loop
from loopir.passes.pass_list import optimise
from loopir.passes.vector.version_dependences import version_dependences
from transpile import fuse

KERNEL = """
def k(x: mut(f64[::1]), d: i64):
    for i in loop(10, 90):
        if x[i + d] > x[i]:
            x[i] = x[i + d] + 1.0
"""


@pytest.mark.parametrize("d", [-10, -7, -4, -1, 0, 1, 2, 7, 9])
def test_both_versions_give_what_the_loop_gives(d: int) -> None:
    kernel = parse(KERNEL)
    versions = version_dependences(kernel)
    assert [n.ivdep for n in walk(versions) if isinstance(n, Loop)] == [True, False]
    results = []
    for k in (kernel, versions, optimise(kernel)):
        x = np.random.default_rng(0).random(100)
        run_kernel(k, {"x": x, "d": d})
        results.append(x.tolist())
    assert results[0] == results[1] == results[2]


def test_a_loop_that_stores_small_elements_lane_by_lane_is_left() -> None:
    kernel = parse("""
def k(x: mut(f64[::1]), b: mut(bool[::1]), d: i64):
    disjoint(b, x)
    for i in loop(0, 100):
        if x[i + d] > x[i]:
            x[i] = x[i + d]
            b[i] = True
""")
    assert version_dependences(kernel) is kernel


FLAGS = """
def k(x: mut(f64[::1]), b: own(bool[::1]), out: mut(bool[::1]), d: i64, n: i64):
    disjoint(b, x)
    disjoint(b, out)
    disjoint(out, x)
    for i in loop(0, n):
        if x[n - 1 - i + d] > x[n - 1 - i]:
            x[n - 1 - i] = x[n - 1 - i + d]
            b[n - 1 - i] = True
    for i in loop(0, out.shape[0]):
        out[i] = b[i]
"""


@pytest.mark.parametrize("flags", [40, 43, 60, 80])
@pytest.mark.parametrize("d", [0, 2, 10])
def test_flags_that_are_blended_exist_in_all_iterations(d: int, flags: int) -> None:
    """Elements behind the end of an array are not read: those of 40 flags for 43 iterations."""
    kernel = parse(FLAGS)
    versions = version_dependences(kernel)
    assert [n.ivdep for n in walk(versions) if isinstance(n, Loop)] == [True, False, False]
    results = []
    for k in (kernel, versions, optimise(kernel)):
        x = np.random.default_rng(0).random(64)
        x[40:] = 9.0    # so that no flag behind the first 40 is stored
        b, out = np.zeros(flags, bool), np.zeros(40, bool)
        run_kernel(k, {"x": x, "b": b, "out": out, "d": d, "n": 43})
        results.append((x.tolist(), out.tolist()))
    assert results[0] == results[1] == results[2]


def test_a_sweep_over_a_row_of_a_table_is_in_vectors() -> None:
    def sweep(best, weights, values, room):
        for i in range(len(weights)):
            for c in range(room, weights[i] - 1, -1):
                best[c] = max(best[c], best[c - weights[i]] + values[i])

    fused = fuse(sweep, on_reject="raise")
    args = np.zeros(101), np.array([3, 1, 40]), np.array([1.0, 2.0, 3.0]), 100
    text = fused.emit("loopir", *args)
    fast = text.split("else:")[0]
    assert "in vec(" in text
    assert "sub_over" not in fast.split("in vec(")[1]
