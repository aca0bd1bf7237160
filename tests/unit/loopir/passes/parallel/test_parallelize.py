"""Parallelize: loops that append, which are marked with their count; reductions of few elements."""
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
from loopir.nodes import If, VecLoop
from loopir.passes.parallel.parallelize import parallelize

HEAD = "def k(x: f64[::1], w: mut(f64[::1]), n: mut(i64[()])):\n    disjoint(x, w)\n"
END = "    n[()] = c\n"
MARKED = {
    "predicated": "pred(0, x.shape[0], width=W, where=x[i:W] > broadcast(0.0, W), c=0):\n"
    "        append(w, c, x[i:W])\n",
    "vector": "vec(0, x.shape[0], width=W, group=32, c=2):\n"
    "        append(w, c, where(x[i:W] > broadcast(0.0, W), x[i:W]))\n",
    "scalar": "loop(0, x.shape[0], c=0):\n        if x[i] > 0.0:\n            append(w, c, x[i])\n"
    "        append(w, c, -x[i])\n",
}


@pytest.mark.parametrize("kind", MARKED)
def test_a_loop_that_appends(kind: str) -> None:
    loop = MARKED[kind]
    serial = parse(f"{HEAD}    for i in {loop}{END}")
    marked = parallelize(serial)
    assert marked == parse(f"{HEAD}    for i in parallel_{loop}{END}")
    assert parse(show(marked)) == marked
    verify(marked, "vector")
    for size in (0, 1, 31, 32, 33, 100):
        x = np.random.default_rng(size).integers(-3, 4, size).astype(float)
        results = []
        for kernel in (serial, marked):
            w, n = np.full(2 * size + 40, 9.0), np.zeros((), np.int64)
            run_kernel(kernel, {"x": x, "w": w, "n": n})
            results.append((w[: int(n)].tolist(), int(n)))
        assert results[0] == results[1]


REDUCTION = """
def k(x: i64[::1], total: mut(i64[()]), most: mut(i64[()])):
    disjoint(x, total)
    disjoint(x, most)
    for i in vec(0, x.shape[0], width=W, group=32, s=0, m=-9):
        v = {term}
        s = step(s + v)
        m = step(max(m, v))
    total[()] = hreduce("add", s)
    most[()] = hreduce("max", m)
"""


def test_few_elements_are_reduced_by_the_loop_as_it_was() -> None:
    """Up to one block there is neither a parallel loop, nor room for the results of blocks."""
    serial = parse(REDUCTION.format(term="x[i:W]"))
    parallel = parallelize(serial)
    verify(parallel, "vector")
    (branch,) = (n for n in parallel.body if isinstance(n, If))
    (loop,) = branch.then
    (before,) = (n for n in walk(serial) if isinstance(n, VecLoop))
    assert isinstance(loop, VecLoop)
    assert loop.range.lo == before.range.lo
    assert constant_max_trips(loop.range, {}) == 16384  # so that it has no polls
    assert not [*parallel_loops(*branch.then)]
    assert len([*parallel_loops(*branch.orelse)]) == 1
    for size in (0, 1, 33, 16384, 16385, 40000):
        x = np.random.default_rng(size).integers(-1000, 1000, size)
        total, most = np.zeros((), np.int64), np.zeros((), np.int64)
        run_kernel(parallel, {"x": x, "total": total, "most": most})
        assert (total, most) == (x.sum(), max([-9, *x.tolist()]))


def test_a_long_loop_is_not_repeated_for_few_elements() -> None:
    term = " + ".join(["x[i:W] * x[i:W]"] * 30)
    parallel = parallelize(parse(REDUCTION.format(term=term)))
    assert len([n for n in walk(parallel) if isinstance(n, VecLoop)]) == 1
    assert len([*parallel_loops(parallel)]) == 1
