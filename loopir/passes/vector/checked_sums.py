"""Checked sums: integer sums in lanes, and whether Python's sum overflows on its way.

Python adds the terms one after the other, and each partial sum is checked: it may not overflow, or
NumPy warns. Lanes have other partial sums. But if no lane ever leaves the range from ``-b`` to
``b - 1``, the sum of any of their states lies within ``group * b``, and so does each partial sum of
Python's, less what the sum starts with. So each lane is watched, by the bits that ``lane + b`` ever
has: it has left the range if one of them is worth ``2 * b`` or more.

The range is so small that lanes and start may each take half of the integers. A sum that stays
within the integers, but not within these halves, is replayed: Python has the answer.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...algebra.constant_folding import literal
from ...analysis.loop_reductions import Reduction, overflow_checks_of
from ...dtypes import DTYPES
from ...lazy_dataclass import replace
from ...nodes import Broadcast, Call, Check, Const, Expr, HReduce, Loop, Var, VecAccum
from .widen import WIDTH, as_vector

__all__ = [
    "checked_sums", "is_lane_watch", "lane_bound", "lane_watch", "range_checks", "total_watch",
    "unsigned_checks", "without_checks",
]


def checked_sums(loop: Loop, reductions: Iterable[Reduction]) -> tuple[Reduction, ...]:
    """Those of the `reductions` of `loop` that are sums of signed integers with overflow checks.

        check(~add_over(s, x[i]), "over"); s = step(s + x[i])     s, if x is signed
    """
    return tuple(
        f for f in reductions
        if f.op == "add" and DTYPES[f.dtype].kind == "i" and overflow_checks_of(f.acc, loop)
    )


def without_checks(loop: Loop, sums: Iterable[Reduction]) -> Loop:
    """`loop` without the overflow checks of `sums`."""
    checks = [c for f in sums for c in overflow_checks_of(f.acc, loop)]
    return replace(loop, body=tuple(s for s in loop.body if s not in checks)) if checks else loop


def lane_bound(dtype: str, group: int) -> int:
    """How large a lane of a checked sum may be: ``group`` lanes take half of the integers."""
    return (1 << (DTYPES[dtype].bits - 2)) // group


def lane_watch(name: str, dtype: str, step: Expr, group: int) -> VecAccum:
    """The accumulator `name`: the bits that the lanes of a sum have ever had, plus `lane_bound`.

        s_1 = step(s_1 + v)     →     w = step(w | (s_1 + v + 72057594037927936))

    ``step``: the new value of the lanes; ``group``: how many lanes there are.
    """
    bound = as_vector(literal(lane_bound(dtype, group), dtype))
    above = Call("add", (step, bound), dtype, WIDTH)
    watched = Call("bitor", (Var(name, dtype, WIDTH), above), dtype, WIDTH)
    return VecAccum(name, literal(0, dtype), watched)


def is_lane_watch(watch: VecAccum, a: VecAccum) -> bool:
    """Whether `watch` is the `lane_watch` of the sum `a`."""
    match watch.step:
        case Call("bitor", (Var(name), Call("add", (step, Broadcast(Const())))), dtype):
            return name == watch.name and step == a.step and dtype == a.init.dtype
    return False


def total_watch(total: Expr) -> Expr:
    """What a watch is to have, too, of the `total` of several blocks, each of which is summed in
    lanes of its own: a bit that `range_checks` tests, if the total leaves its half of the integers.
    """
    limit = lane_bound(total.dtype, 1)
    above = Call("add", (total, literal(limit, total.dtype)), total.dtype)
    return Call("bitand", (above, literal(-2 * limit, total.dtype)), total.dtype)


def range_checks(f: Reduction, watch: Var, loop: Loop) -> Iterator[Check]:
    """The checks after the vector loop that `loop` has become: the lanes of `f` have stayed in
    their range, by the accumulator ``watch`` (`lane_watch`), and the start of the sum is in its.
    """
    check = overflow_checks_of(f.acc, loop)[0]
    bits = literal(-2 * lane_bound(f.dtype, int(watch.lanes)), f.dtype)
    left = Call("bitand", (HReduce("bitor", watch), bits), f.dtype)
    yield replace(check, cond=Call("eq", (left, literal(0, f.dtype)), "bool"))
    limit, start = lane_bound(f.dtype, 1), f.acc.init
    if not isinstance(start, Const) or not -limit <= int(start.value) < limit:
        yield replace(check, cond=Call("le", (literal(-limit, f.dtype), start), "bool"))
        yield replace(check, cond=Call("lt", (start, literal(limit, f.dtype)), "bool"))


def unsigned_checks(f: Reduction, lanes: Var, total: Var, check: Check) -> Iterator[Check]:
    """The checks after the vector loop, for a sum `f` of unsigned integers. It only grows, so that
    its last value tells whether it has overflowed; the loop itself checks that no lane does. Here:
    adding up the lanes does not overflow, nor adding the `total` to what the sum starts with.
    """
    high = literal(DTYPES[f.dtype].high // int(lanes.lanes), f.dtype)
    yield replace(check, cond=Call("le", (HReduce("max", lanes), high), "bool"))
    over = Call("add_over", (f.acc.init, total), "bool")
    yield replace(check, cond=Call("not", (over,), "bool"))
