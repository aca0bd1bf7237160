"""Generated names: what lowering calls the variables that it adds to a function.

They occur in `IRBuilder.env` and in the trees of lowering, together with the names of the function.
Each begins with ``#``, which no Python name can, except for those of buffers. The number of ``#``
tells the groups of names below apart, so that the counter of a list called ``go`` does not collide
with `CONTINUE_FLAG`. `IRBuilder.name` makes names of Loop IR from them, and drops the ``#``.
"""
from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "ALLOCATED_RESULT", "CONTINUE_FLAG", "TEST_NAME", "alias_state_name", "buffer_names",
    "counter_name", "is_generated", "union_flag_name", "union_value_name",
]

_MARK = "#"

TEST_NAME = "##test"
"""The variable to which `lower_test` assigns a test that it lowers as a statement."""
CONTINUE_FLAG = "##go"
"""The name by which `lower_branch` returns whether an enclosing ``while`` goes on after a branch,
among the values that names have after it.
"""
ALLOCATED_RESULT = "##made"
"""The variable to which an array is assigned that a ``return`` allocates."""


def is_generated(name: str) -> bool:
    """Whether `name` is a generated name, other than that of a buffer."""
    return name.startswith(_MARK)


def counter_name(list_name: str) -> str:
    """The variable that counts the items of a list."""
    return f"#{list_name}"


def buffer_names(list_name: str, width: int) -> list[str]:
    """The buffers of a dynamic list: for a list of numbers (width 0) one with the list's name; for
    a list of tuples with `width` items one for each item, with a dot in its name.
    """
    return [f"{list_name}.{k}" for k in range(width)] if width else [list_name]


def union_value_name(name: str, kind: str) -> str:
    """The accumulator for the value of a union where it has the type `kind`."""
    return f"##{name}_{kind}"


def union_flag_name(name: str, kind: str) -> str:
    """The bool accumulator that selects the type `kind` of a union."""
    return f"###{name}_is_{kind}"


def alias_state_name(array_names: Sequence[str], state: int) -> str:
    """The bool accumulator that selects the alias state number `state` of the arrays."""
    return f"##{'_'.join(array_names)}_{state}"
