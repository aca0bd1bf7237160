"""The budget of a function and its regions: what may begin, and what it costs."""
from __future__ import annotations

import ast

import pytest

from transpile.diagnostics import Refused
from transpile.frontend.ast_walk import walk_nodes
from transpile.frontend.inline.inlining_state import FUNCTION_WORK, INLINED_NODES, CompileBudget


def _function(lines: int) -> ast.FunctionDef:
    tree = ast.parse("def f(x):\n" + "    x = x + 1\n" * lines).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def test_the_function_as_a_whole_may_always_begin() -> None:
    assert CompileBudget(left=0).begin(_function(1000)) == INLINED_NODES


def test_regions_must_fit_in_what_is_left() -> None:
    budget, whole, region = CompileBudget(), _function(300), _function(20)
    size = sum(1 for _ in walk_nodes(whole))
    assert budget.begin(whole) == INLINED_NODES
    budget.spend_inlining(100)
    assert budget.left == FUNCTION_WORK - 3 * size - 300
    most = budget.begin(region)
    assert 0 < most < INLINED_NODES
    budget.spend_inlining(most)
    assert 0 <= budget.left < 3
    with pytest.raises(Refused) as refused:
        budget.begin(region)
    assert refused.value.rejection.code == "BUDGET_EXCEEDED"
    assert refused.value.rejection.span is None
