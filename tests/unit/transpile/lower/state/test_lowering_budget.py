"""The budget of lowering: spent at the same statement on every machine, and never by accident."""
from __future__ import annotations

import ast

import pytest
from lowered import VECTOR, lowered

from transpile.diagnostics import Refused
from transpile.lower.state.lowering_budget import LoweringBudget


def swaps(depth: int) -> str:
    """Two arrays are swapped inside so many loops: each loop has a version for each order."""
    loops = "".join(f"{'    ' * (k + 1)}for i{k} in range(2):\n" for k in range(depth))
    space = "    " * (depth + 1)
    swap = f"{space}a[0] = b[0] * 0.5\n{space}c = a\n{space}a = b\n{space}b = c\n"
    return f"def f(a, b):\n{loops}{swap}    return a[0]\n"


def test_versions_that_multiply_are_refused() -> None:
    """The same statement exceeds the budget each time."""
    lines = set()
    for _ in range(2):
        with pytest.raises(Refused) as raised:
            lowered(swaps(9), a=VECTOR, b=VECTOR)
        rejection = raised.value.rejection
        assert rejection.code == "BUDGET_EXCEEDED"
        assert rejection.help
        lines.add(rejection.span)
    assert len(lines) == 1


def test_a_shallow_nest_is_compiled() -> None:
    lowered(swaps(3), a=VECTOR, b=VECTOR)


def test_a_long_function_has_a_larger_budget() -> None:
    def budget(statements: int) -> int:
        tree = ast.parse("def f(x):\n" + "    y = x\n" * statements).body[0]
        assert isinstance(tree, ast.FunctionDef)
        return LoweringBudget.of(tree).left

    assert budget(200) - budget(100) >= 1000
