"""Limits of Python ints: the ranges that lowering assumes for ints, and proves or guards.

A Python int is computed as an int64; where a result does not fit, the call must be replayed. Rather
than check each operation, lowering assumes smaller ranges, makes sure of them once, and derives
from them that most operations fit::

    def f(x, k):                     k: guarded at kernel entry to lie in ARGUMENT
        s = 0
        for i in range(len(x)):      i: less than 2**47, the most elements of an array (`LENGTH`)
            if x[i] > 0:
                s += 1               s: stays in SAFE_RANGE, for it grows by at most 1 an iteration
            y[i] = s + k             no check: 2**62 + 2**61 fits an int64

Intervals of expressions are computed in `loopir.analysis.integers.intervals`, linear forms in
`loopir.analysis.integers.affine`.
"""
from __future__ import annotations

from loopir.dtypes import DTYPES

__all__ = [
    "ARGUMENT", "ENDLESS", "EXACT_F64", "EXACT_POWER_OF_TEN_F64", "INT64", "SAFE_RANGE", "WORD",
    "help_for_long_int",
]

INT64 = DTYPES["i64"].low, DTYPES["i64"].high
"""All values of the carrier of a Python int."""

WORD = DTYPES["u64"].low, DTYPES["u64"].high
"""All values of a word, a Python int in a uint64 (`typed_values.Num.is_word`)."""

ENDLESS = (0, 1 << 59)
"""The number of iterations of a ``while``: more cannot run in a lifetime. Not guarded."""

ARGUMENT = (-(1 << 61), 1 << 61)
"""A Python int that is an argument: calls with other ints are replayed by the guard of
`lower_names.guard_int_params`. So the sum of three arguments fits an int64 without a check.
"""

SAFE_RANGE = (-(1 << 62), 1 << 62)
"""An int that a loop accumulates: a bound on the trip count proves that it stays inside
(`loop_carried.trips_within_range`), so that an argument or a length can be added to it without a
check. Where no such bound is known, it may be any int64, and each addition to it is checked.
"""

EXACT_F64 = (-(1 << 53), 1 << 53)
"""Every int in this range is a float64; beyond it most ints are rounded."""

EXACT_POWER_OF_TEN_F64 = 22
"""The greatest exponent whose power of ten is a float64; greater ones are rounded."""


def help_for_long_int(value: int) -> str:
    """What to do about the int `value`, which is outside of `INT64`."""
    if 0 <= value < 1 << 64:
        return "beside unsigned numbers give `np.uint64(...)` of it a name, before the loop or " \
               "outside; or compute with floats, if 53 bits are enough"
    return "compute with floats, if 53 bits are enough; larger exact ints are Python's alone"
