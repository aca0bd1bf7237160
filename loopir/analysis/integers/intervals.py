"""Interval analysis: bounds of an integer, from the dtypes and operations it is computed with.

`result_bounds` has one row for each operation (`_ROWS`); `expression_bounds` applies it to an
expression, given the bounds of its operands. What is known of names comes from the caller: passes
use `Intervals`, difference bounds `IntegerFacts.range_of`, lowering `value_ranges.interval_of`.
"""
from __future__ import annotations

from collections.abc import Callable, Container
from functools import cache
from itertools import product
from typing import TypeAlias

from ...algebra.constant_folding import MANTISSA_BITS
from ...dtypes import DTYPES
from ...nodes import Broadcast, Call, Const, Dim, Expr, Var

__all__ = [
    "LENGTH", "Bounds", "Intervals", "decide_comparison", "expression_bounds", "result_bounds",
    "is_scalar_integer", "dtype_bounds", "is_within",
]

Bounds: TypeAlias = tuple[int, int]
"""Least and greatest value, both inclusive."""

LENGTH: Bounds = (0, 1 << 47)
"""Of an array along an axis: no array is larger than the address space."""


class Intervals:
    """Intervals of expressions, memoised. ``names``: those of assigned names, which the caller
    fills in.
    """

    def __init__(self) -> None:
        self.names: dict[str, Bounds] = {}
        self._cache: dict[int, tuple[Expr, Bounds]] = {}  # keeps the id alive

    def of(self, e: Expr) -> Bounds:
        """The interval of the integer or bool `e`."""
        if id(e) not in self._cache:
            self._cache[id(e)] = e, self._of(e)
        return self._cache[id(e)][1]

    def converted(self, e: Expr) -> Bounds | None:
        """The interval of a float that is converted exactly from an integer; None for any other
        float.
        """
        limit = 1 << MANTISSA_BITS[e.dtype]
        match e:
            case Const(value):
                bounds = (int(value), int(value)) if float(value).is_integer() else None
            case Var(name):
                bounds = self.names.get(name)
            case Call("cast", (x,)) if DTYPES[x.dtype].kind != "f":
                bounds = self.of(x)
            case _:
                bounds = None
        return bounds if bounds and is_within(bounds, (-limit, limit)) else None

    def _of(self, e: Expr) -> Bounds:
        """The interval of `e`: that in ``names`` of a name that is there, else by its operation."""
        of_name = self.names.get(e.name) if isinstance(e, Var) else None
        return of_name or expression_bounds(e, self.of)


def expression_bounds(
    e: Expr, operand_bounds: Callable[[Expr], Bounds], unbounded: Container[str] = ()
) -> Bounds:
    """The interval of the integer or bool `e`, if each operand lies within
    ``operand_bounds(operand)``. One level of interval arithmetic: the caller's function recurses.

        a + b    u8 in 0 … 255 each, cast to i64    →    0 … 510
        a + b    two i64s of which nothing is known →    all i64s, since the sum may wrap around
        x.shape[0]                                  →    0 … 2**47 (`LENGTH`)

    A result that may leave its dtype wraps around, so it may be any number of the dtype; so may a
    converted float, a load, and the result of an operation without a row. For operations in
    ``unbounded`` the interval is that of the exact result, which may exceed the dtype: lowering,
    which passes it, proves or checks afterwards that Python's integers fit.
    """
    limits = dtype_bounds(e.dtype)
    match e:
        case Const(value):
            return int(value), int(value)
        case Dim():
            return LENGTH
        case Broadcast(value):
            return operand_bounds(value)
        case Call("cast", (x,)) if DTYPES[x.dtype].kind == "f":
            return limits
        case Call(op, args) if DTYPES[e.dtype].kind in "iu":
            operands = [operand_bounds(x) for x in args]
            if op == "mul" and args[0] == args[1]:  # a square is not negative
                operands = [_abs(a) for a in operands]
            bounds = result_bounds(op, operands)
            return bounds if bounds and (op in unbounded or is_within(bounds, limits)) else limits
        case _:
            return limits


@cache
def dtype_bounds(dtype: str) -> Bounds:
    """The interval of all values of `dtype`."""
    return DTYPES[dtype].low, DTYPES[dtype].high


def is_scalar_integer(e: Expr) -> bool:
    """Whether `e` is a scalar of an integer dtype."""
    return e.lanes == 1 and DTYPES[e.dtype].kind in "iu"


def is_within(inner: Bounds, outer: Bounds) -> bool:
    """Whether `inner` is a subinterval of `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


# -- by operation


def result_bounds(op: str, args: list[Bounds]) -> Bounds | None:
    """The interval of the exact result of `op` on integers in the intervals `args`; None for an
    operation without a rule.
    """
    row = _ROWS.get(op)
    return row(*args) if row else None


def _corners(f: Callable[[int, int], int]) -> Callable[[Bounds, Bounds], Bounds]:
    """The rule of an operation that is monotonic in each operand."""

    def row(a: Bounds, b: Bounds) -> Bounds:
        """The hull of `f` at the ends of both intervals."""
        ends = [f(x, y) for x, y in product(a, b)]
        return min(ends), max(ends)

    return row


def _hull(*parts: Bounds) -> Bounds:
    """The least interval that contains all `parts`."""
    return min(p[0] for p in parts), max(p[1] for p in parts)


def _abs(a: Bounds) -> Bounds:
    """The interval of the magnitude."""
    ends = sorted(map(abs, a))
    return (0 if a[0] < 0 < a[1] else ends[0]), ends[1]


def _floordiv(a: Bounds, b: Bounds) -> Bounds:
    """Division by zero gives 0, as in the kernel."""
    if b[0] > 0:
        return _corners(lambda x, y: x // y)(a, b)
    magnitude = _abs(a)[1]
    return -magnitude, magnitude


def _mod(a: Bounds, b: Bounds) -> Bounds:
    """A remainder has the sign of its divisor; by zero it is 0."""
    if a[0] >= 0 and b[0] > 0:
        return 0, min(a[1], b[1] - 1)
    return min(0, b[0] + 1), max(0, b[1] - 1)


def _shl(a: Bounds, b: Bounds) -> Bounds | None:
    return _corners(lambda x, y: x << y)(a, b) if b[0] >= 0 and b[1] < 64 else None


def _shr(a: Bounds, b: Bounds) -> Bounds | None:
    return _corners(lambda x, y: x >> y)(a, b) if b[0] >= 0 and b[1] < 64 else None


def _bits(*parts: Bounds) -> Bounds:
    """All integers with at most as many bits as the operands."""
    high = (1 << max(x.bit_length() if x >= 0 else (~x).bit_length() for p in parts for x in p)) - 1
    return (0 if min(p[0] for p in parts) >= 0 else ~high), high


def _bitand(a: Bounds, b: Bounds) -> Bounds:
    """Not greater than a non-negative operand; else by the number of bits."""
    highs = [p[1] for p in (a, b) if p[0] >= 0]
    return (0, min(highs)) if highs else _bits(a, b)


_min, _max = _corners(min), _corners(max)
_ROWS: dict[str, Callable[..., Bounds | None]] = {
    "cast": lambda a: a,
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _corners(lambda x, y: x * y),
    "neg": lambda a: (-a[1], -a[0]),
    "abs": _abs,
    "invert": lambda a: (~a[1], ~a[0]),
    "min": _min, "max": _max, "minimum": _min, "maximum": _max,
    "clamp": lambda a, low, high: _min(_max(a, low), high),
    "select": lambda _, a, b: _hull(a, b),
    "floordiv": _floordiv, "mod": _mod,
    "popcount": lambda _: (0, 64),
    "shl": _shl, "shr": _shr,
    "bitand": _bitand, "bitor": _bits, "bitxor": _bits,
}


def decide_comparison(op: str, dtype: str, a: Bounds, b: Bounds) -> bool | None:
    """The result of the integer comparison or overflow predicate `op`, if all operands in the
    intervals `a` and `b`, of `dtype`, give the same; else None.
    """
    match op:
        case "lt" | "ge" if a[1] < b[0] or a[0] >= b[1]:
            return (a[1] < b[0]) == (op == "lt")
        case "le" | "gt" if a[1] <= b[0] or a[0] > b[1]:
            return (a[1] <= b[0]) == (op == "le")
        case "eq" | "ne" if a[1] < b[0] or b[1] < a[0]:
            return op == "ne"
        case "eq" | "ne" if a == b and a[0] == a[1]:
            return op == "eq"
        case "add_over" | "sub_over" | "mul_over":
            bounds = result_bounds(op.removesuffix("_over"), [a, b])
            fits = bounds and is_within(bounds, dtype_bounds(dtype))
            return False if fits else None
        case _:
            return None
