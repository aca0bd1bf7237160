"""Where code stands that was taken from a helper: the call's place, and which of the helper's; and
whether it is a step of a function that warns in words of its own, or of what NumPy does at once, or
in an order of its own, or of a search.

The end column of a node has all: what is copied with a node's position keeps it.
"""
from __future__ import annotations

import ast
from typing import Any

from loopir.record import record

__all__ = [
    "Place", "column", "is_at_once", "is_fold", "is_search", "is_step", "mark_at_once", "mark_fold",
    "mark_search", "mark_step", "place_of", "put", "spot",
]

_SEARCH = 1 << 16
_FOLD = 1 << 17
_AT_ONCE = 1 << 18
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
    return end % _SEARCH


def place_of(node: ast.AST) -> int:
    """The number of a node's place; 0: it stands where its position says."""
    return _end(node) // _COLUMNS


def mark_step(node: ast.AST) -> None:
    """Has `node`, and what takes its position from now on, be a step of NumPy's."""
    _mark(node, _STEP)


def is_step(node: ast.AST) -> bool:
    """Whether NumPy, which does more at once, does not warn of `node` in its words."""
    return bool(_end(node) & _STEP)


def mark_at_once(node: ast.AST) -> None:
    """Has loops that take the position of `node` from now on write nothing where they raise."""
    _mark(node, _AT_ONCE)


def is_at_once(node: ast.AST) -> bool:
    """Whether the loop `node` writes nothing where it raises."""
    return bool(_end(node) & _AT_ONCE)


def mark_fold(node: ast.AST) -> None:
    """Has loops that take the position of `node` from now on fold what NumPy does in its order."""
    _mark(node, _FOLD)


def is_fold(node: ast.AST) -> bool:
    """Whether NumPy folds in another order than the loop `node` does."""
    return bool(_end(node) & _FOLD)


def mark_search(node: ast.AST) -> None:
    """Has loops that take the position of `node` from now on do nothing once their bool is set."""
    _mark(node, _SEARCH)


def is_search(node: ast.AST) -> bool:
    """Whether the loop `node` does nothing more once the bool that it carries has changed."""
    return bool(_end(node) & _SEARCH)


def _mark(node: ast.AST, mark: int) -> None:
    node.end_col_offset = _end(node) | mark  # type: ignore[attr-defined]


def _end(node: ast.AST) -> int:
    return getattr(node, "end_col_offset", None) or 0


def spot(e: ast.AST, at: ast.AST) -> ast.AST:
    """A node that stands where `e` does; it is a step where `at`, in whose place it is made, is."""
    found = ast.copy_location(ast.Pass(), e if hasattr(e, "lineno") else at)
    if is_step(at):
        mark_step(found)
    return found


def put(node: ast.AST, at: ast.AST, place: int) -> None:
    """Moves `node` to where `at` is, from the place with this number."""
    marks = _end(node) & (_STEP | _AT_ONCE | _FOLD | _SEARCH)
    ast.copy_location(node, at)
    if "end_col_offset" in node._attributes:
        own = _end(at) % _COLUMNS | marks
        node.end_col_offset = own + place * _COLUMNS  # type: ignore[attr-defined]
