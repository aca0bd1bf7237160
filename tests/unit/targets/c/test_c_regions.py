"""Parallel loops as C: tables of a chunk's own, and what a worker's stack has room for."""
from __future__ import annotations

import pytest

from loopir.ir_parser import parse
from loopir.passes.loops.parallelize import parallelize
from targets.c.emit_c import emit
from targets.isa.target_registry import TARGETS


@pytest.mark.parametrize("tables", [1, 4, 5])
def test_as_many_tables_as_the_stack_of_a_worker_holds(tables: int) -> None:
    names = [f"h{n}" for n in range(tables)]
    text = f"def k(k: i64[::1], {', '.join(f'{h}: mut(i64[::1])' for h in names)}):\n"
    arrays = ["k", *names]
    pairs = [(a, b) for n, a in enumerate(arrays) for b in arrays[n + 1 :]]
    text += "".join(f"    disjoint({a}, {b})\n" for a, b in pairs)
    text += "    for i in loop(0, k.shape[0]):\n"
    text += "".join(f"        {h}[k[i]] = {h}[k[i]] + 1\n" for h in names)
    c = emit(parallelize(parse(text)), TARGETS["sse2"])
    assert c.count("tp_own_h0[2048]") == (tables <= 4)
    assert ("tp_run_region(&" in c) == (tables <= 4)
