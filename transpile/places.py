"""Where code stands that was taken from a helper: the call's place, and which of the helper's.

The end column of a node has both: what is copied with a node's position keeps it.
"""
from __future__ import annotations

import ast
from typing import Any

from loopir.record import record

__all__ = ["Place", "column", "place_of", "put"]

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
    return end % _COLUMNS


def place_of(node: ast.AST) -> int:
    """The number of a node's place; 0: it stands where its position says."""
    end = getattr(node, "end_col_offset", None) or 0
    return int(end) // _COLUMNS


def put(node: ast.AST, at: ast.AST, place: int) -> None:
    """Moves `node` to where `at` is, from the place with this number."""
    ast.copy_location(node, at)
    if "end_col_offset" in node._attributes:
        end = getattr(at, "end_col_offset", None) or 0
        node.end_col_offset = column(end) + place * _COLUMNS  # type: ignore[attr-defined]
