"""Constant folding, neutral elements, lossless casts, constant trip counts.

All of this follows from an expression alone: its constants, dtypes and form. The rewrite rules
(`rewrite_rules`), the index arithmetic (`index_builder`) and the passes use it. What would raise a
floating-point flag is not folded (`fold_constants`).
"""
from __future__ import annotations

from math import inf
from typing import TypeGuard

import numpy as np

from ..dtypes import DTYPES, INDEX
from ..nodes import Call, Const, Expr, Interval
from ..op_table import OPS, evaluate
from ..process.signal_exceptions import failures

__all__ = [
    "MANTISSA_BITS", "fold_constants", "index_const", "is_constant",
    "is_lossless_cast", "literal", "max_trips_of_remainder",
    "match_aligned_down", "constant_trip_count",
    "neutral_element", "worst_value",
]


def index_const(value: int) -> Const:
    """A constant of the index dtype."""
    return Const(value, INDEX)


def is_constant(e: Expr, value: float) -> bool:
    """Whether `e` is the constant `value`; 0.0 and -0.0 compare equal."""
    return isinstance(e, Const) and e.value == value


def literal(value: float, dtype: str) -> Const:
    """`value` as a constant of `dtype`. Unsigned integers wrap; a signed one must fit."""
    match DTYPES[dtype].kind:
        case "f":
            return Const(float(value), dtype)
        case "b":
            return Const(bool(value), dtype)
        case "u":
            return Const(int(value) % (DTYPES[dtype].high + 1), dtype)
        case _:
            return Const(int(value), dtype)


def neutral_element(op: str, dtype: str) -> Const | None:
    """The neutral element of `op`, None if it has none."""
    value = OPS[op].unit
    return None if value is None else literal(value, dtype)


def worst_value(op: str, dtype: str) -> Const:
    """The value that the extremum `op` prefers every other to: -inf, or the smallest integer, for
    "max", "maximum" and "ieee_maximum".
    """
    kind, is_greatest = DTYPES[dtype], op in ("max", "maximum", "ieee_maximum")
    if kind.kind == "f":
        return literal(-inf if is_greatest else inf, dtype)
    return literal(kind.low if is_greatest else kind.high, dtype)


def fold_constants(op: str, args: tuple[Expr, ...], dtype: str) -> Const | None:
    """The value of a call on constants. None where an operand is not constant, or where evaluating
    it raises a floating-point flag: the compiled call has to raise it, as Python or NumPy warns of
    it at each call.
    """
    if not _constant_operands(args):
        return None
    values = tuple(DTYPES[a.dtype].numpy.type(a.value) for a in args)
    try:
        with np.errstate(all="raise"):
            return Const(evaluate(op, values, dtype).item(), dtype)
    except failures(FloatingPointError):
        return None


def _constant_operands(args: tuple[Expr, ...]) -> TypeGuard[tuple[Const, ...]]:
    return all(isinstance(a, Const) for a in args)


MANTISSA_BITS = {"f16": 11, "f32": 24, "f64": 53}


def is_lossless_cast(source: str, target: str) -> bool:
    """Whether `target` represents every value of dtype `source` exactly."""
    a, b = DTYPES[source], DTYPES[target]
    match a.kind, b.kind:
        case _ if source == target or a.kind == "b":
            return True
        case "f", "f":
            return a.bits <= b.bits
        case "i" | "u", "f":
            return a.bits - (a.kind == "i") <= MANTISSA_BITS[target]
        case "i" | "u", "i" | "u":
            return b.low <= a.low and a.high <= b.high
        case _:
            return False


def match_aligned_down(e: Expr) -> tuple[Expr, int] | None:
    """Match ``n - (n & 15)``, `n` rounded down to a multiple of 16: returns `n` and 15, else None.
    """
    match e:
        case Call("sub", (n, Call("bitand", (m, Const(int(mask)))))) if n == m and mask >= 0:
            return n, mask
        case _:
            return None


def max_trips_of_remainder(r: Interval) -> int | None:
    """A constant upper bound of the trip count, or None; 15 for ``[n - (n & 15), n)``, the loop
    over the remainder of `n` modulo 16. Other bounds: `max_trips_of_strip`, `constant_max_trips`.
    """
    aligned = match_aligned_down(r.lo)
    return aligned[1] if aligned and aligned[0] == r.hi else constant_trip_count(r)


def constant_trip_count(r: Interval) -> int | None:
    """The trip count of an interval whose bounds are constants, else None: ``[2, 5)`` → 3. The
    quick question; `loop_set.constant_max_trips` gives an upper bound for others.
    """
    if isinstance(r.lo, Const) and isinstance(r.hi, Const):
        return max(0, int(r.hi.value) - int(r.lo.value))
    return None
