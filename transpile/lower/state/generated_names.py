"""Generated names: what lowering calls the variables that it adds to a function.

They stand in `IRBuilder.env` and in the trees of lowering beside the names of the function. Each
begins with ``#``, which no name of Python's can; how many there are tells the groups below apart,
so that a list called ``go`` does not collide with `CONTINUE_FLAG`. Names of Loop IR are made of
them by `IRBuilder.name`, which drops the ``#``.
"""
from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "ALLOCATED_RESULT", "CONTINUE_FLAG", "TEST_NAME", "alias_state_name", "buffer_names",
    "counter_name", "is_generated", "union_flag_name", "union_value_name",
]

_MARK = "#"

TEST_NAME = "##test"
"""A test that is lowered as a statement of its own."""
CONTINUE_FLAG = "##go"
"""After a branch of a loop: whether the loop goes on."""
ALLOCATED_RESULT = "##made"
"""The array that is allocated in a ``return``."""


def is_generated(name: str) -> bool:
    """Whether `name` is none of the function's own."""
    return name.startswith(_MARK)


def counter_name(list_name: str) -> str:
    """The number of items of a list."""
    return f"#{list_name}"


def buffer_names(list_name: str, width: int) -> list[str]:
    """The buffers of a dynamic list: one of its own name; of tuples one for each place, with a dot
    in its name.
    """
    return [f"{list_name}.{k}" for k in range(width)] if width else [list_name]


def union_value_name(name: str, kind: str) -> str:
    """The value that a union has where it is of this type."""
    return f"##{name}_{kind}"


def union_flag_name(name: str, kind: str) -> str:
    """Whether a union is of this type."""
    return f"###{name}_is_{kind}"


def alias_state_name(array_names: Sequence[str], state: int) -> str:
    """Whether the names are in this one of the states that they have together."""
    return f"##{'_'.join(array_names)}_{state}"
