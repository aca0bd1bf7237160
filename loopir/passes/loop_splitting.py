"""Loop splitting helpers: strip-mining of ranges and loops; one loop as two, split at a point."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..algebra.constant_folding import constant_trip_count, index_const
from ..algebra.index_builder import index_add, index_min
from ..analysis.loop_reductions import Reduction
from ..dtypes import INDEX
from ..ir_names import FreshNames, bound_names, rename_names
from ..ir_traversal import contains, counted_range, has_early_exit, is_innermost, range_bounds
from ..lazy_dataclass import replace
from ..nodes import (
    Accum,
    Append,
    Call,
    Const,
    Expr,
    Interval,
    Loop,
    Range,
    RangeDesc,
    Var,
)

__all__ = ["max_trips_of_strip", "strip_mine", "strip_mine_loop", "split_loop_at", "can_split_loop"]


def strip_mine(r: Range, size: int, strip: Var) -> tuple[RangeDesc, Range]:
    """Split a range into strips: the range over strip starts, and the range within one strip.

    ``[0, n)`` → ``range(0, n, size)`` and ``[strip, min(strip + size, n))``. A range whose step
    divides `size` may be split again.
    """
    start, end = range_bounds(r)
    strip_end = index_min(index_add(strip, size), end)
    within = (
        Interval(strip, strip_end)
        if isinstance(r, Interval)
        else RangeDesc(strip, strip_end, r.step)
    )
    return RangeDesc(start, end, size), within


def strip_mine_loop(
    loop: Loop, size: int, partial: Mapping[str, Reduction], fresh: FreshNames
) -> Loop:
    """Strip-mine a loop with its accumulators: a loop over strips of `size` iterations around the
    loop over one strip.

        for i in loop(0, n, s=a): s = step(s + x[i])
        →   for i_1 in loop(range(0, n, size), s=a):
                for i in loop(i_1, min(i_1 + size, n), s_1=s): s_1 = step(s_1 + x[i])
                s = step(s_1)

    So accumulators pass from strip to strip, except for the folds in `partial` (by name): these
    start anew in each strip, at `Reduction.start`, and their results are folded: above,
    ``s_1=-0.0`` and ``s = step(s + s_1)``. A loop whose step divides `size` may be split again.
    """
    names = {a.name: fresh.name(a.name) for a in loop.accs}
    strip = Var(fresh.name(loop.var), INDEX)
    strips, inside = strip_mine(loop.range, size, strip)
    inner = rename_names(loop, names)
    inner_accs = tuple(
        replace(a, init=partial[old.name].start if old.name in partial else old.current)
        for a, old in zip(inner.accs, loop.accs, strict=True)
    )
    inner = replace(inner, range=inside, accs=inner_accs)
    accs = tuple(_outer_accumulator(a, names[a.name], partial.get(a.name)) for a in loop.accs)
    return Loop(strip.name, strips, (inner,), accs, span=loop.span)


def _outer_accumulator(a: Accum, inner: str, partial: Reduction | None) -> Accum:
    """The accumulator `a` of the loop over strips. Its step is the value at the end of a strip,
    whose name is `inner`; for a `partial` fold, the operation of the fold on `a` and that value.
    """
    strip_result = Var(inner, a.init.dtype)
    if partial is None:
        return replace(a, step=strip_result)
    return replace(a, step=Call(partial.op, (a.current, strip_result), strip_result.dtype))


def max_trips_of_strip(r: Interval) -> int | None:
    """An upper bound of the trip count over `r`, if it is a constant: 512 for the strip
    ``[i, min(i + 512, n))``, as `strip_mine` makes it. (More forms, by affine arithmetic, are known
    to `analysis.loop_set.constant_max_trips`; remainders to `max_trips_of_remainder`.)
    """
    constant_count = constant_trip_count(r)
    if constant_count is None and isinstance(r.hi, Call) and r.hi.op == "min":
        lengths = (_offset_from(r.lo, e) for e in r.hi.args)
        return min((n for n in lengths if n is not None), default=None)
    return constant_count


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
    """Whether `split_loop_at` may split `loop`: it is innermost, without early exit and appends,
    and starts at 0, which the second part of a loop that has been split already does not.
    """
    counted = counted_range(loop)
    if counted is None or counted.lo != index_const(0):
        return False
    has_appends = any(contains(s, Append) for s in loop.body)
    return is_innermost(loop) and not has_early_exit(loop) and not has_appends


def split_loop_at(
    loop: Loop, at: Var, simplify: Callable[[Any], Any], fresh: FreshNames
) -> tuple[Loop, Loop]:
    """`loop` as two loops: over the iterations before `at`, rewritten by `simplify`, with fresh
    names; and over those from `at` on, whose accumulators start with the values from the first.
    """
    assert isinstance(loop.range, Interval)
    names = {old: fresh.name(old) for old in sorted(bound_names(loop))}
    first = rename_names(simplify(replace(loop, range=Interval(loop.range.lo, at))), names)
    accs = tuple(replace(a, init=Var(names[a.name], a.init.dtype)) for a in loop.accs)
    return first, replace(loop, range=Interval(at, loop.range.hi), accs=accs)
