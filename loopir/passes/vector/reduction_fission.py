"""Reduction fission: inner ``while`` loops run in strips first; their results are reduced after.

    for i in loop(0, n, s=0):           for each strip of 256 iterations:
        while loop(go, k=0, …): …           local ks: i64[256]
        s = step(s + k)            →        for i in strip: while loop(…): …; ks[i - start] = k
                                            for i in strip: s = step(s + ks[i - start])

The first inner loop has no accumulators, so that `vectorize_divergent` can take it; `vectorize`
takes the second. The order of the reduction is unchanged.
"""
from __future__ import annotations

from ...algebra.constant_folding import constant_trip_count
from ...algebra.index_builder import index_sub
from ...analysis.integers.intervals import Intervals
from ...analysis.loop_reductions import match_reduction, overflow_checks_of
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, own_bindings, rename_names
from ...ir_traversal import counted_range, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    If,
    Interval,
    Load,
    Local,
    Loop,
    Stmt,
    Store,
    Var,
    While,
)
from ..loop_splitting import strip_mine_loop
from .vectorize_legality import MIN_TRIPS

__all__ = ["reduction_fission"]

_STRIP_LENGTH = 256
_MAX_UNCHECKED_TERM = 255
"""Largest term of a sum that needs no overflow check: no loop runs ``2 ** 54`` times."""
_MAX_START = 1 << 62


def reduction_fission(loop: Loop, fresh: FreshNames) -> Loop | None:
    """Split a loop that reduces the results of an inner ``while`` into strips of two loops, as at
    the top of this module: one runs the ``while`` loops, the other one reduces their results.
    `vectorize_divergent` calls it, and vectorises the first of the two. None, so that the loop
    stays, unless

    - it is counted, has accumulators, one ``while`` at the top level, and is not known to have
      fewer than `MIN_TRIPS` iterations;
    - nothing up to the ``while`` writes: the second loop of a strip runs after all of the first;
    - nothing up to it reads an accumulator, whose value it would need while the first loop runs;
    - behind it there are only assignments and overflow checks of the accumulators. Another check
      might fail before a ``while`` that does not end, which Python would then never reach.
    """
    inner = [s for s in loop.body if isinstance(s, While)]
    counted = counted_range(loop)
    if len(inner) != 1 or not loop.accs or counted is None:
        return None
    trip_count = constant_trip_count(counted)
    if trip_count is not None and trip_count < MIN_TRIPS:
        return None
    position = loop.body.index(inner[0])
    for a in loop.accs:  # a sum that continues through the `while` restarts in each iteration
        loop = _restart_sum(loop, position, a)
    first_part, second_part = loop.body[: position + 1], loop.body[position + 1 :]
    overflow_checks = [c for a in loop.accs for c in overflow_checks_of(a, loop)]
    only_reduces = all(isinstance(s, Assign) or s in overflow_checks for s in second_part)
    if not only_reduces or not all(map(_writes_nothing, first_part)):
        return None
    if not names_read(*first_part).isdisjoint(a.name for a in loop.accs):
        return None  # the `while` needs the reduction's result so far
    return _two_loop_strips(loop, position, fresh)


def _writes_nothing(s: Stmt) -> bool:
    """Whether `s` has no stores."""
    statements = (n for n in walk(s) if isinstance(n, Stmt))
    return all(isinstance(n, Assign | If | Check | While) for n in statements)


def _restart_sum(loop: Loop, position: int, acc: Accum) -> Loop:
    """`loop` with `acc` as the sum of partial sums that restart at 0 in each ``while``, the
    statement at `position`, if it is one sum that continues through them and cannot overflow; else
    `loop`::

        while loop(go, t=s): …; t = step(t + v)          while loop(go, t=0): …; t = step(t + v)
        s = step(t)                                 →    s = step(s + t)
    """
    inner = loop.body[position]
    assert isinstance(inner, While)
    continued = [a for a in inner.accs if a.init == acc.current]
    if len(continued) != 1 or acc.step != Var(continued[0].name, acc.init.dtype):
        return loop
    partial = continued[0]
    other_accs = [a for a in inner.accs if a is not partial]
    as_loop = Loop("", Interval(_ZERO, _ZERO), inner.body, inner.accs)
    overflow_checks = overflow_checks_of(partial, as_loop)
    other_code = (
        *loop.body[:position],
        *loop.body[position + 1 :],
        *(a.step for a in loop.accs if a is not acc),
    )
    unchecked_body = tuple(s for s in inner.body if s not in overflow_checks)
    if partial.name in names_read(
        *unchecked_body, *other_code, *other_accs
    ) or acc.name in names_read(*unchecked_body, *other_code, *other_accs):
        return loop
    if not _cannot_overflow(partial, acc):
        return loop
    restarted = replace(partial, init=_ZERO)
    new_while = replace(
        inner, body=unchecked_body, accs=tuple(restarted if a is partial else a for a in inner.accs)
    )
    total = Call("add", (acc.current, acc.step), acc.init.dtype)
    accs = tuple(replace(a, step=total) if a is acc else a for a in loop.accs)
    return replace(
        loop, body=(*loop.body[:position], new_while, *loop.body[position + 1 :]), accs=accs
    )


_ZERO = Const(0, INDEX)


def _cannot_overflow(partial: Accum, total: Accum) -> bool:
    """Whether each term of `partial` is at most `_MAX_UNCHECKED_TERM` in magnitude, and `total`
    starts small, so that no realistic number of iterations overflows.
    """
    reduction = match_reduction(partial, partial.step)
    if (
        reduction is None
        or reduction.op != "add"
        or reduction.dtype != INDEX
        or partial.name in names_read(reduction.value)
    ):
        return False
    low, high = Intervals().of(reduction.value)
    start = total.init
    is_small_start = isinstance(start, Const) and abs(int(start.value)) <= _MAX_START
    return is_small_start and low >= -_MAX_UNCHECKED_TERM and high <= _MAX_UNCHECKED_TERM


def _two_loop_strips(loop: Loop, position: int, fresh: FreshNames) -> Loop:
    """The loop over strips: local arrays, a loop that stores what the second part reads, and a loop
    that loads it and reduces.
    """
    strips = strip_mine_loop(loop, _STRIP_LENGTH, {}, fresh)
    [strip] = strips.body
    assert isinstance(strip, Loop)
    first_part, second_part = strip.body[: position + 1], strip.body[position + 1 :]
    read = names_read(*second_part, *(a.step for a in strip.accs))
    bindings = (pair for s in first_part for pair in own_bindings(s))
    passed_on = {name: values[0].dtype for name, values in bindings if name in read}
    names = {name: fresh.name(name) for name in sorted(bound_names(*first_part) | {strip.var})}
    subscript = (index_sub(Var(strip.var, INDEX), Var(strips.var, INDEX)),)
    arrays = {name: fresh.name(name) for name in passed_on}
    stores = (Store(arrays[n], subscript, Var(n, dtype)) for n, dtype in passed_on.items())
    first = rename_names(replace(strip, body=(*first_part, *stores), accs=()), names)
    loads = (Assign(n, Load(arrays[n], subscript, dtype)) for n, dtype in passed_on.items())
    second = replace(strip, body=(*loads, *second_part))
    local_arrays = (Local(arrays[n], dtype, _STRIP_LENGTH) for n, dtype in passed_on.items())
    return replace(strips, body=(*local_arrays, first, second))
