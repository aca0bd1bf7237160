"""A block that is skipped before values are numbered has nothing to name."""
from __future__ import annotations

from importlib import import_module as module
from unittest.mock import patch

from example_counts import examples
from hypothesis import given, settings
from kernels_case import Case
from kernels_strategy import cases

from loopir import nodes as ir
from loopir.ir_printer import parse, show
from loopir.passes.scalar.common_subexpressions import common_subexpressions

PASS = module("loopir.passes.scalar.common_subexpressions")


def numbering_all_blocks(kernel: ir.Kernel) -> ir.Kernel:
    with patch.object(PASS, "_computes_twice", lambda _: True):
        return common_subexpressions(kernel)


@settings(max_examples=examples(12), deadline=None)
@given(cases())
def test_skipped_blocks_have_nothing_to_name(case: Case) -> None:
    assert show(common_subexpressions(case.kernel)) == show(numbering_all_blocks(case.kernel))


TEXT = """
def k(x: f64[::1], at: i64[::1], out: mut(f64[::1])):
    disjoint(x, out)
    disjoint(at, out)
    for i in loop(0, at.shape[0]):
        STATEMENT
"""


def test_what_counts_as_computed_twice() -> None:
    """Whole subscripts do not, their operands do."""
    for statement, twice in (
        ("out[i] = x[i] * x[i]", True),
        ("out[i + 1] = x[i + 1]", False),
        ("out[i] = x[at[i]] + f64(at[i])", False),
        ("out[i] = x[at[i] + 1] + f64(at[i])", True),
        ("out[i * 2 + 1] = x[i * 2 + 2]", True),
        ("out[i] = x[i] + 1.0", False),
    ):
        kernel = parse(TEXT.replace("STATEMENT", statement))
        done = numbering_all_blocks(kernel)
        assert (done is not kernel) is twice, statement
        assert show(common_subexpressions(kernel)) == show(done)
