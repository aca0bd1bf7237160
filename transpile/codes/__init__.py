"""The table of all codes, one file a family; ``transpile --explain CODE`` prints a row."""
from __future__ import annotations

from . import build, fuse_memory, fuse_order, guard, lower, vector
from .code import Code

__all__ = ["CODES", "Code"]

_ROWS = (*fuse_memory.ROWS, *fuse_order.ROWS, *lower.ROWS, *vector.ROWS, *guard.ROWS, *build.ROWS)

CODES: dict[str, Code] = {row.code: row for row in _ROWS}
"""Every code that a report, a warning or ``stats`` may name."""

assert len(CODES) == len(_ROWS), "a code stands twice"
