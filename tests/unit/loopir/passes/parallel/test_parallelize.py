"""Parallelize: loops that append, which are marked with their count; shuffled, they give the same.
"""
from __future__ import annotations

import numpy as np
import pytest

from loopir.ir_interpreter import run_kernel
from loopir.ir_parser import parse
from loopir.ir_printer import show
from loopir.ir_verifier import verify
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
