"""Limits of Python ints: the ranges that lowering assumes for ints, and proves or guards.

Ranges of expressions are computed in `loopir.analysis.intervals`, linear forms in
`loopir.analysis.affine`.
"""
from __future__ import annotations

from loopir.analysis.intervals import dtype_bounds

__all__ = ["SAFE_RANGE", "ARGUMENT", "ENDLESS", "INT64"]

INT64 = dtype_bounds("i64")
"""All values of the carrier of a Python int."""

ENDLESS = (0, 1 << 59)
"""The number of iterations of a ``while``: more cannot run in a lifetime. Not guarded."""

ARGUMENT = (-(1 << 61), 1 << 61)
"""A Python int that is an argument: a guard replays other calls."""

SAFE_RANGE = (-(1 << 62), 1 << 62)
"""An int that a loop accumulates: lowering proves, or checks, that it stays inside, so that one
more operation cannot overflow.
"""
