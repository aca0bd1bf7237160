"""Loop splitting helpers: strip-mining of a range, and a loop as two over parts of its range."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...algebra.constant_folding import constant_trip_count, index_const
from ...algebra.index_builder import index_add, index_min
from ...ir_names import FreshNames, bound_names, rename_names
from ...ir_traversal import range_bounds, walk
from ...nodes import (
    Append,
    Break,
    Call,
    Const,
    Expr,
    Interval,
    Loop,
    LoopLike,
    Range,
    RangeDesc,
    Return,
    Var,
)

__all__ = ["max_iterations", "strip_mine", "split_loop_at", "can_split_loop"]


def strip_mine(r: Range, size: int, strip: Var) -> tuple[RangeDesc, Range]:
    """Split a range into strips: the range over strip starts, and the range within one strip.

    ``[0, n)`` → ``range(0, n, size)`` and ``[strip, min(strip + size, n))``. A range whose step
    divides `size` may be split again.
    """
    start, end = range_bounds(r)
    last = index_min(index_add(strip, size), end)
    inside = Interval(strip, last) if isinstance(r, Interval) else RangeDesc(strip, last, r.step)
    return RangeDesc(start, end, size), inside


def max_iterations(r: Interval) -> int | None:
    """An upper bound of the trip count over `r`, if it is a constant; for a strip, its size."""
    count = constant_trip_count(r)
    if count is None and isinstance(r.hi, Call) and r.hi.op == "min":
        strips = (_offset_from(r.lo, e) for e in r.hi.args)
        return min((n for n in strips if n is not None), default=None)
    return count


def _offset_from(lo: Expr, hi: Expr) -> int | None:
    """The constant ``hi - lo``, else None."""
    match hi:
        case Call(op="add", args=(base, Const(value=n))) if base == lo:
            return int(n)
        case Const(value=n) if isinstance(lo, Const):
            return int(n) - int(lo.value)
        case _:
            return None


def can_split_loop(loop: Loop) -> bool:
    """Whether `loop` is innermost, not split yet, and has no early exit and no appends."""
    nodes = (n for s in loop.body for n in walk(s))
    plain = not any(isinstance(n, LoopLike | Break | Return | Append) for n in nodes)
    whole = isinstance(loop.range, Interval) and loop.range.lo == index_const(0)
    return plain and whole and not loop.until


def split_loop_at(
    loop: Loop, at: Var, known: Callable[[Any], Any], fresh: FreshNames
) -> tuple[Loop, Loop]:
    """The iterations before `at`, rewritten by `known`, and those from `at` on."""
    assert isinstance(loop.range, Interval)
    names = {old: fresh.name(old) for old in sorted(bound_names(loop))}
    first = rename_names(known(replace(loop, range=Interval(loop.range.lo, at))), names)
    accs = tuple(replace(a, init=Var(names[a.name], a.init.dtype)) for a in loop.accs)
    return first, replace(loop, range=Interval(at, loop.range.hi), accs=accs)
