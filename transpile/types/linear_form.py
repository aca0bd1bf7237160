"""Linear form of a Python int, and an interval that holds it."""
from __future__ import annotations

from loopir.analysis.affine import LinearForm
from loopir.analysis.intervals import LENGTH
from loopir.analysis.intervals import Bounds as Interval
from loopir.nodes import Const

__all__ = [
    "ANY", "ARGUMENT", "ENDLESS", "INT64", "LENGTH", "Interval", "LinearForm", "int_constant",
]

INT64 = (-(1 << 63), (1 << 63) - 1)
ENDLESS = (0, 1 << 59)  # the iterations of a `while` that anybody lives to see
ARGUMENT = (-(1 << 61), 1 << 61)  # what a Python int argument is guarded to
ANY = (-(1 << 62), 1 << 62)  # where an accumulator is proved, or guarded, to stay


def int_constant(value: int) -> Const:
    """An i64 constant."""
    return Const(value, "i64")
