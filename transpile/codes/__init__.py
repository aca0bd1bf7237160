"""The table of all codes, one file a family; ``transpile --explain CODE`` prints a row."""
from __future__ import annotations

from . import build, fuse_memory, fuse_order, guard_arrays, guard_values, lower, vector
from .code import Code

__all__ = ["CODES", "Code"]

_FAMILIES = (fuse_memory, fuse_order, lower, vector, guard_arrays, guard_values, build)
_ROWS = tuple(row for family in _FAMILIES for row in family.ROWS)

CODES: dict[str, Code] = {row.code: row for row in _ROWS}
"""Every code that a report, a warning or ``stats`` may name."""

assert len(CODES) == len(_ROWS), "a code stands twice"
