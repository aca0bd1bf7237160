"""Limits of Python ints: ranges in which lowering proves, or guards, that an integer lies.

Ranges of expressions are computed in `loopir.analysis.intervals`, linear forms in
`loopir.analysis.affine`.
"""
from __future__ import annotations

from loopir.analysis.intervals import dtype_bounds

__all__ = ["ANY", "ARGUMENT", "ENDLESS", "INT64"]

INT64 = dtype_bounds("i64")
ENDLESS = (0, 1 << 59)  # the iterations of a ``while``: more cannot run in a lifetime
ARGUMENT = (-(1 << 61), 1 << 61)  # a Python int argument: a guard refuses others
ANY = (-(1 << 62), 1 << 62)  # an accumulator: lowering proves or guards that it stays inside
