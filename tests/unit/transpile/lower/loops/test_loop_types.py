"""Types of loop-carried values: how often a body is lowered until they settle."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lowered import VECTOR, lowered

from transpile.lower.loops import loop_types
from transpile.lower.loops.loop_carried import CarriedLoop
from transpile.lower.state.ir_builder import IRBuilder
from transpile.lower.state.lowering_state import Lowering
from transpile.types.value_types import ArrayType


@pytest.fixture
def iterations(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The lines of the loops whose bodies are lowered, one entry for each time."""
    lines: list[int] = []
    lower = loop_types._lower_iteration_once

    def record(ctx: Lowering, loop: CarriedLoop, *rest: Any) -> Any:
        lines.append(loop.frame.node.lineno)
        return lower(ctx, loop, *rest)

    monkeypatch.setattr(loop_types, "_lower_iteration_once", record)
    return lines


def test_a_nest_of_stores_is_lowered_once(iterations: list[int]) -> None:
    lowered(
        """
        def f(x, y):
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    y[i, j] = x[i, j] * 2.0
        """,
        x=ArrayType("f64", 2, 1), y=ArrayType("f64", 2, 1),
    )
    assert iterations == [3, 4]


def test_a_type_that_changes_takes_one_more_iteration(iterations: list[int]) -> None:
    """`s` is a Python float first, and NumPy's after the first iteration."""
    lowered(
        """
        def f(x):
            s = 0.0
            for i in range(len(x)):
                s = s + x[i]
            return s
        """,
        x=VECTOR,
    )
    assert iterations == [4, 4]


def test_values_of_several_types_take_another_attempt(iterations: list[int]) -> None:
    """`s` is an int or a float, by the data: one type for each name is refused first."""
    lowered(
        """
        def f(x):
            s = 0
            for i in range(len(x)):
                if x[i] > 0.0:
                    s = 0.5
                else:
                    s = 1
            return s
        """,
        x=VECTOR,
    )
    assert len(iterations) > 2


@pytest.mark.parametrize("forbids_unions", [False, True])
def test_forbidding_unions_matters_only_where_one_is_asked_for(forbids_unions: bool) -> None:
    b = IRBuilder(forbids_unions=forbids_unions)
    assert not b.forbidding_mattered
    with b.trial():
        assert b.allows_unions is not forbids_unions
    assert b.forbidding_mattered is forbids_unions
