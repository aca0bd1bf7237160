"""That a loop becomes a vector loop is found out without running all passes, and once."""
from __future__ import annotations

from importlib import import_module as module
from unittest.mock import patch

import pytest
from paths import GOLDEN

from loopir import nodes as ir
from loopir.fusion.fuse_loops import fuse_kernel
from loopir.ir_printer import parse
from loopir.ir_traversal import is_innermost, walk
from loopir.passes.pass_list import PASS_LIST, run_pass

PROFIT = module("loopir.fusion.fusion_profit")
KERNELS = [
    (f"{file.parent.name}-{file.stem}", parse(file.read_text(encoding="utf-8").split("\n# b")[0]))
    for file in sorted(GOLDEN.glob("*/*.ir"))
]
FLAT = {
    name: kernel for name, kernel in KERNELS
    if not any(isinstance(n, ir.VecLoop | ir.PredLoop) for n in walk(kernel))
    and all(is_innermost(n) for n in walk(kernel) if isinstance(n, ir.Loop))
}


UNTOLD = ("parallelize",)
"""Passes after which a short loop does not show that it is: a loop over kept results."""


@pytest.mark.share(10)
@pytest.mark.parametrize("name", FLAT)
def test_answer_is_that_of_all_passes(name: str) -> None:
    kernel = optimised = FLAT[name]
    for step in PASS_LIST:
        if step.name not in UNTOLD:
            optimised = run_pass(step, optimised)
    assert PROFIT._becomes_vectors(kernel) is PROFIT._has_vectors(optimised)


TEXT = """
def k(x: f64[::1], y: f64[::1], a: mut(f64[::1]), b: mut(f64[::1]), c: mut(f64[::1])):
    disjoint(x, a)
    disjoint(x, b)
    disjoint(x, c)
    disjoint(a, b)
    disjoint(b, c)
    disjoint(a, c)
    for i in loop(1, x.shape[0]):
        if x[i] > 0.0:
            a[i] = x[i]
    for i_1 in loop(1, x.shape[0]):
        c[i_1] = c[i_1 - 1] / x[i_1]
    for i_2 in loop(1, x.shape[0]):
        if x[i_2] > 0.0:
            b[i_2] = x[i_2]
"""


def test_each_kernel_is_asked_about_once() -> None:
    asked: list[ir.Kernel] = []
    answer = PROFIT._becomes_vectors

    def recorded(kernel: ir.Kernel) -> bool:
        asked.append(kernel)
        return bool(answer(kernel))

    with patch.object(PROFIT, "_becomes_vectors", recorded):
        fuse_kernel(parse(TEXT))
    assert asked
    assert len(asked) == len(set(asked))
