"""Folds that are split stay as they were for little work, with the same results."""
from __future__ import annotations

import numpy as np
import pytest

from loopir.analysis.loop_set import constant_max_trips
from loopir.analysis.parallelism import parallel_loops
from loopir.ir_interpreter import run_kernel
from loopir.ir_parser import parse
from loopir.ir_printer import show
from loopir.ir_traversal import walk
from loopir.ir_verifier import verify
from loopir.nodes import If, Interval, Kernel, Loop, LoopLike
from loopir.passes.parallel.parallelize import parallelize

HEAD = "def k(x: f64[:, ::1], total: mut(f64[()])):\n    disjoint(x, total)\n"
ROWS = HEAD + """
    for i in loop(0, x.shape[0], s=0.5):
        for j in loop(0, x.shape[1], t=0.0):
            t = step(t + x[i, j] * x[i, j])
        s = step(s + sqrt(t))
    total[()] = s
"""
TRIANGLE = HEAD + """
    for i in loop(0, x.shape[0], s=0.5):
        left = max(x.shape[0] - i - 1, 0)
        for j in loop(0, left, t=-0.0):
            t = step(t + (x[i, 0] - x[i + j + 1, 0]))
        s = step(s + t)
    total[()] = s
"""
BLOCKS = HEAD + """
    for g in loop(range(0, x.shape[0], 2048), s=0.5):
        for b in loop(range(g, min(g + 2048, x.shape[0]), 512), t=-0.0):
            for i in loop(b, min(b + 512, x.shape[0]), v=-0.0):
                v = step(v + x[i, 0])
            t = step(t + v)
        s = step(s + t)
    total[()] = s
"""
CONDITIONS = {
    ROWS: "(x.shape[0] < 17) & (x.shape[1] < 171)",
    TRIANGLE: "(x.shape[0] < 17) & (max(x.shape[0] - 0 - 1, 0) < 102) & "
              "(max(x.shape[0] - (x.shape[0] - 1) - 1, 0) < 102)",
    BLOCKS: "(0 < x.shape[0]) & (x.shape[0] < 513)",
}


def total(kernel: Kernel, x: np.ndarray) -> bytes:
    out = np.zeros(())
    run_kernel(kernel, {"x": x, "total": out})
    return out.tobytes()


@pytest.mark.parametrize("text", CONDITIONS)
def test_little_work_is_done_by_the_loop_as_it_was(text: str) -> None:
    serial = parse(text)
    parallel = parallelize(serial)
    verify(parallel, "vector")
    [branch] = (s for s in parallel.body if isinstance(s, If))
    assert f"if {CONDITIONS[text]}:" in show(parallel)
    assert not any(parallel_loops(*branch.then))
    assert any(parallel_loops(*branch.orelse))
    rng = np.random.default_rng(0)
    for shape in ((0, 3), (1, 0), (16, 170), (17, 3), (3, 190), (40, 2), (513, 1), (2600, 1)):
        if text is TRIANGLE and shape[0] > 500:
            continue
        x = rng.standard_normal(shape if shape[1] else (0, 1))
        assert total(parallel, x) == total(serial, x), shape


def test_one_block_is_in_no_loop() -> None:
    """Neither in one over blocks nor in one over groups of them; it is known to be short, so that
    it has no polls.
    """
    [branch] = (s for s in parallelize(parse(BLOCKS)).body if isinstance(s, If))
    [loop] = (n for s in branch.then for n in walk(s) if isinstance(n, LoopLike))
    assert isinstance(loop, Loop)
    assert isinstance(loop.range, Interval)
    assert constant_max_trips(loop.range, {}) == 512


def test_a_fold_starts_with_an_element_that_its_block_overwrites() -> None:
    serial = parse("""
def k(x: mut(f64[::1]), y: f64[::1], total: mut(f64[()])):
    guard(x.shape[0] >= 1, "GUARD_BOUNDS")
    disjoint(x, y)
    disjoint(x, total)
    disjoint(y, total)
    for b in loop(range(0, min(x.shape[0], y.shape[0]), 512), s=x[0]):
        for i in loop(b, min(b + 512, min(x.shape[0], y.shape[0])), v=-0.0):
            v = step(v + y[i])
            x[i] = y[i]
        s = step(s + v)
    total[()] = s
""")
    parallel = parallelize(serial)
    assert any(isinstance(s, If) for s in parallel.body)
    for n in (1, 7, 600):
        found = []
        for kernel in serial, parallel:
            x, y, out = np.full(n, 100.0), np.arange(n) + 0.5, np.zeros(())
            run_kernel(kernel, {"x": x, "y": y, "total": out})
            found.append((float(out), x.tolist()))
        assert found[0] == found[1]


def test_a_long_fold_is_not_repeated() -> None:
    term = " + ".join(["x[i, j] * x[i, j]"] * 30)
    parallel = parallelize(parse(ROWS.replace("x[i, j] * x[i, j]", term)))
    assert any(parallel_loops(parallel))
    assert not any(isinstance(s, If) for s in parallel.body)
