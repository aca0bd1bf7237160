"""Shapes of loops in C: which scalar loops the C compiler is to unroll."""
from __future__ import annotations

import pytest

from loopir.ir_parser import parse
from targets.c.emit_c import emit
from targets.isa.target_registry import TARGETS

STORE = "for i in loop(0, n):\n        out[p + i * s] = False"
SUM = "for i in loop(0, n, t=0.0):\n        t = step(t + x[i] * x[i + 1] - x[i + 2])\n    x[0] = t"
LONG = "for i in loop(0, n):\n        x[i] = " + " + ".join("x[i] * 2.0" for _ in range(9))
BRANCH = "for i in loop(0, n):\n        if x[i] > 0.0:\n            out[p + i * s] = False"


@pytest.mark.parametrize(
    ("loop", "large", "is_unrolled"),
    [
        (STORE, False, True), (STORE, True, True), (SUM, False, True), (SUM, True, False),
        (LONG, False, False), (LONG, True, False), (BRANCH, False, False),
    ],
)
def test_short_loops_are_unrolled_and_in_large_kernels_the_shortest(
    loop: str, large: bool, is_unrolled: bool,
) -> None:
    """A sieve strikes out multiples by one store an iteration, however large the kernel is."""
    count = 120 if large else 0
    others = "".join(f"    x[{k}] = x[{k}] * 3.0 + x[{k + 1}]\n" for k in range(count))
    arguments = "n: i64, p: i64, s: i64, x: mut(f64[::1]), out: mut(bool[::1])"
    kernel = parse(f"def k({arguments}):\n    disjoint(x, out)\n{others}    {loop}\n")
    assert ("TP_UNROLL for" in emit(kernel, TARGETS["avx2"])) == is_unrolled
