"""The budget of a function and its regions: what may begin, and what it costs."""
from __future__ import annotations

from transpile.frontend.compile_budget import FUNCTION_WORK, INLINED_NODES, CompileBudget


def test_the_function_as_a_whole_may_always_begin() -> None:
    assert CompileBudget(left=0).inlined_nodes(own=10**6) == INLINED_NODES


def test_regions_must_fit_in_what_is_left() -> None:
    budget = CompileBudget()
    budget.spend_reading(800)
    budget.spend_expanding(800)
    assert budget.left == FUNCTION_WORK - 2400
    most = budget.inlined_nodes(own=100)
    assert most is not None
    assert 0 < most < INLINED_NODES
    budget.spend_reading(100 + most)
    budget.spend_expanding(100 + most)
    assert 0 <= budget.left < 3
    assert budget.inlined_nodes(own=1) is None
    assert budget.inlined_nodes(own=0) == 0
    budget.spend_kernel(1000)
    assert budget.inlined_nodes(own=0) is None
