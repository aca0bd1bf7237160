"""Strip-mining: a range as strips of some length, and one strip of it."""
from __future__ import annotations

from ..algebra.index import least, plus
from ..algebra.values import trips
from ..nodes import Call, Const, Expr, Interval, Range, RangeDesc, Var
from ..tree import ends

__all__ = ["longest", "strip_mine"]


def strip_mine(r: Range, size: int, strip: Var) -> tuple[RangeDesc, Range]:
    """``[0, n)`` → ``range(0, n, size)``, over the starts of strips, and ``[strip, min(strip +
    size, n))``, which is one of them.

    A range that steps by a divisor of `size` may be cut once more.
    """
    start, end = ends(r)
    last = least(plus(strip, size), end)
    inside = Interval(strip, last) if isinstance(r, Interval) else RangeDesc(strip, last, r.step)
    return RangeDesc(start, end, size), inside


def longest(r: Interval) -> int | None:
    """How many iterations a loop over `r` has at most, where that is known: so of a strip."""
    count = trips(r)
    if count is None and isinstance(r.hi, Call) and r.hi.op == "min":
        strips = (_beyond(r.lo, e) for e in r.hi.args)
        return min((n for n in strips if n is not None), default=None)
    return count


def _beyond(lo: Expr, hi: Expr) -> int | None:
    """The number `n` of ``lo + n``, where that is `hi`."""
    match hi:
        case Call(op="add", args=(base, Const(value=n))) if base == lo:
            return int(n)
        case Const(value=n) if isinstance(lo, Const):
            return int(n) - int(lo.value)
        case _:
            return None
