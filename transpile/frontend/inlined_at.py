"""Inlined-at locations of AST nodes, and flags of loops and operations.

The location says which call a node was inlined from, and which line of the callee it is. The
flags say that NumPy computes the node as a step of a larger operation, all at once, in another
order of reduction, or as a search. Both are kept in the end column of a node, so that whatever
is copied with the position of a node keeps them.
"""
from __future__ import annotations

import ast
from typing import Any

from loopir.lazy_dataclass import record

__all__ = [
    "InlinedAt", "plain_column", "is_atomic", "is_fold", "is_search", "is_step", "mark_atomic",
    "mark_fold", "mark_search", "mark_step", "origin_number", "relocate", "location_node",
]

_SEARCH = 1 << 16
_FOLD = 1 << 17
_ATOMIC = 1 << 18
_STEP = 1 << 19
_COLUMNS = 1 << 20


@record(frozen=True, slots=True)
class InlinedAt:
    """A line of the helper called `name`; ``function`` is None for one that the caller defines."""

    name: str
    path: str
    line: int
    function: Any


def plain_column(end: int) -> int:
    """The column alone of a node's ``end_col_offset``."""
    return end % _SEARCH


def origin_number(node: ast.AST) -> int:
    """The number of a node's place; 0: it stands where its position says."""
    return _end(node) // _COLUMNS


def mark_step(node: ast.AST) -> None:
    """Has `node`, and what takes its position from now on, be a step of NumPy's."""
    _set_flag(node, _STEP)


def is_step(node: ast.AST) -> bool:
    """Whether NumPy, which does more at once, does not warn of `node` in its words."""
    return bool(_end(node) & _STEP)


def mark_atomic(node: ast.AST) -> None:
    """Has loops that take the position of `node` from now on write nothing where they raise."""
    _set_flag(node, _ATOMIC)


def is_atomic(node: ast.AST) -> bool:
    """Whether the loop `node` writes nothing where it raises."""
    return bool(_end(node) & _ATOMIC)


def mark_fold(node: ast.AST) -> None:
    """Has loops that take the position of `node` from now on fold what NumPy does in its order."""
    _set_flag(node, _FOLD)


def is_fold(node: ast.AST) -> bool:
    """Whether NumPy folds in another order than the loop `node` does."""
    return bool(_end(node) & _FOLD)


def mark_search(node: ast.AST) -> None:
    """Has loops that take the position of `node` from now on do nothing once their bool is set."""
    _set_flag(node, _SEARCH)


def is_search(node: ast.AST) -> bool:
    """Whether the loop `node` does nothing more once the bool that it carries has changed."""
    return bool(_end(node) & _SEARCH)


def _set_flag(node: ast.AST, mark: int) -> None:
    node.end_col_offset = _end(node) | mark  # type: ignore[attr-defined]


def _end(node: ast.AST) -> int:
    return getattr(node, "end_col_offset", None) or 0


def location_node(e: ast.AST, at: ast.AST) -> ast.AST:
    """A node that stands where `e` does; it is a step where `at`, in whose place it is made, is."""
    found = ast.copy_location(ast.Pass(), e if hasattr(e, "lineno") else at)
    if is_step(at):
        mark_step(found)
    return found


def relocate(node: ast.AST, at: ast.AST, place: int) -> None:
    """Moves `node` to where `at` is, from the place with this number."""
    marks = _end(node) & (_STEP | _ATOMIC | _FOLD | _SEARCH)
    ast.copy_location(node, at)
    if "end_col_offset" in node._attributes:
        own = _end(at) % _COLUMNS | marks
        node.end_col_offset = own + place * _COLUMNS  # type: ignore[attr-defined]
