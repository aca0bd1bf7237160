"""Generated names: none is a name of the function, and those of the groups are apart."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse
from transpile.lower.state import generated_names as generated


def test_names_of_different_groups_are_different() -> None:
    made = [
        generated.TEST_NAME, generated.CONTINUE_FLAG, generated.ALLOCATED_RESULT,
        *map(generated.counter_name, ("test", "go", "made", "x_f64", "x_is_f64", "x_0")),
        *(generated.union_value_name(n, "f64") for n in ("x", "x_is")),
        generated.union_flag_name("x", "f64"), generated.alias_state_name(["x"], 0),
    ]
    assert len(set(made)) == len(made)
    assert all(generated.is_generated(n) and not n.isidentifier() for n in made)
    assert not generated.is_generated("_x")


def test_buffers_of_a_list() -> None:
    assert generated.buffer_names("stack", 0) == ["stack"]
    assert generated.buffer_names("stack", 2) == ["stack.0", "stack.1"]


def go_is_a_list(x: Any) -> Any:
    go = []
    i = 0
    while i < len(x):
        if x[i] > 5:
            break
        go.append(x[i])
        if len(go) > 2:
            go.pop()
        i += 1
    return len(go)


def made_is_a_list(x: Any) -> Any:
    made = []
    for v in x:
        made.append(v)
        if len(made) > 2:
            made.pop()
    return np.zeros(len(made))


@pytest.mark.parametrize("function", [go_is_a_list, made_is_a_list])
def test_a_list_may_be_called_like_a_generated_name(function: Any) -> None:
    fused = fuse(function, on_reject="raise")
    for x in (np.arange(9.0), np.ones(4), np.zeros(0)):
        assert_same(outcome(fused, (x,)), outcome(function, (x,)), f"{x}")
