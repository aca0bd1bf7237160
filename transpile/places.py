"""Where code stands that was taken from a helper: the call's place, and which of the helper's; and
whether it is a step of a function that warns in words of its own.

The end column of a node has all: what is copied with a node's position keeps it.
"""
from __future__ import annotations

import ast
from typing import Any

from loopir.record import record

__all__ = ["Place", "column", "is_step", "mark_step", "place_of", "put"]

_STEP = 1 << 19
_COLUMNS = 1 << 20


@record(frozen=True, slots=True)
class Place:
    """A line of the helper called `name`; ``function`` is None for one that the caller defines."""

    name: str
    path: str
    line: int
    function: Any


def column(end: int) -> int:
    """The column alone of a node's ``end_col_offset``."""
    return end % _STEP


def place_of(node: ast.AST) -> int:
    """The number of a node's place; 0: it stands where its position says."""
    end = getattr(node, "end_col_offset", None) or 0
    return int(end) // _COLUMNS


def mark_step(node: ast.AST) -> None:
    """Has `node`, and what takes its position from now on, be a step of NumPy's."""
    node.end_col_offset = (getattr(node, "end_col_offset", None) or 0) | _STEP  # type: ignore[attr-defined]


def is_step(node: ast.AST) -> bool:
    """Whether NumPy, which does more at once, does not warn of `node` in its words."""
    return bool((getattr(node, "end_col_offset", None) or 0) & _STEP)


def put(node: ast.AST, at: ast.AST, place: int) -> None:
    """Moves `node` to where `at` is, from the place with this number."""
    step = is_step(node)
    ast.copy_location(node, at)
    if "end_col_offset" in node._attributes:
        end = (getattr(at, "end_col_offset", None) or 0) % _COLUMNS
        own = end | _STEP if step else end
        node.end_col_offset = own + place * _COLUMNS  # type: ignore[attr-defined]
