"""Reduction fission: inner ``while`` loops run in strips first; their results are reduced after."""
from __future__ import annotations

from ...algebra.constant_folding import constant_trip_count
from ...algebra.index_builder import index_sub
from ...analysis.intervals import Intervals
from ...analysis.loop_reductions import match_reduction, overflow_checks_of
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, own_bindings, rename_names
from ...ir_traversal import walk
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
from ..loop_splitting import tile_loop
from .vectorize_legality import MIN_TRIPS

__all__ = ["reduction_fission"]

_STRIP_LENGTH = 256
_MAX_UNCHECKED_TERM = 255
"""Largest term of a sum that needs no overflow check: no loop runs ``2 ** 54`` times."""
_MAX_START = 1 << 62


def reduction_fission(loop: Loop, fresh: FreshNames) -> Loop | None:
    """Split a loop that folds the results of an inner ``while`` into strips of two loops.

    The first has the ``while`` and stores its results, the second folds them. A sum that continues
    through the ``while`` restarts in each. None where there is no such ``while``, or where other
    statements have effects: a failing check after the ``while`` might keep Python from reaching a
    later ``while`` that does not terminate.
    """
    inner = [s for s in loop.body if isinstance(s, While)]
    if len(inner) != 1 or not loop.accs or not isinstance(loop.range, Interval) or loop.until:
        return None
    count = constant_trip_count(loop.range)
    if count is not None and count < MIN_TRIPS:
        return None
    at = loop.body.index(inner[0])
    for a in loop.accs:
        loop = _restart_sum(loop, at, a)
    ahead, rest = loop.body[: at + 1], loop.body[at + 1 :]
    overflow_checks = [c for a in loop.accs for c in overflow_checks_of(a, loop)]
    if not all(isinstance(s, Assign) or s in overflow_checks for s in rest) or not all(
        map(_writes_nothing, ahead)
    ):
        return None
    if not names_read(*ahead).isdisjoint(a.name for a in loop.accs):
        return None
    return _two_loop_strips(loop, at, fresh)


def _writes_nothing(s: Stmt) -> bool:
    """Whether `s` has no stores."""
    below = (n for n in walk(s) if isinstance(n, Stmt))
    return all(isinstance(n, Assign | If | Check | While) for n in below)


def _restart_sum(loop: Loop, at: int, acc: Accum) -> Loop:
    """If `acc` is a sum that continues through the ``while``, `loop` with a sum that restarts
    there.
    """
    inner = loop.body[at]
    assert isinstance(inner, While)
    through = [a for a in inner.accs if a.init == acc.current]
    if len(through) != 1 or acc.step != Var(through[0].name, acc.init.dtype):
        return loop
    part = through[0]
    others = [a for a in inner.accs if a is not part]
    view = Loop("", Interval(_ZERO, _ZERO), inner.body, inner.accs)
    overflow_checks = overflow_checks_of(part, view)
    outside = (*loop.body[:at], *loop.body[at + 1 :], *(a.step for a in loop.accs if a is not acc))
    bare = tuple(s for s in inner.body if s not in overflow_checks)
    if part.name in names_read(*bare, *outside, *others) or acc.name in names_read(
        *bare, *outside, *others
    ):
        return loop
    if not _cannot_overflow(part, acc):
        return loop
    anew = replace(part, init=_ZERO)
    new = replace(inner, body=bare, accs=tuple(anew if a is part else a for a in inner.accs))
    total = Call("add", (acc.current, acc.step), acc.init.dtype)
    accs = tuple(replace(a, step=total) if a is acc else a for a in loop.accs)
    return replace(loop, body=(*loop.body[:at], new, *loop.body[at + 1 :]), accs=accs)


_ZERO = Const(0, INDEX)


def _cannot_overflow(part: Accum, total: Accum) -> bool:
    """Whether `part` grows so slowly that `total` cannot overflow."""
    fold = match_reduction(part, part.step)
    if (
        fold is None
        or fold.op != "add"
        or fold.dtype != INDEX
        or part.name in names_read(fold.value)
    ):
        return False
    low, high = Intervals().of(fold.value)
    start = total.init
    small = isinstance(start, Const) and abs(int(start.value)) <= _MAX_START
    return small and low >= -_MAX_UNCHECKED_TERM and high <= _MAX_UNCHECKED_TERM


def _two_loop_strips(loop: Loop, at: int, fresh: FreshNames) -> Loop:
    strips = tile_loop(loop, _STRIP_LENGTH, {}, fresh)
    [one] = strips.body
    assert isinstance(one, Loop)
    ahead, rest = one.body[: at + 1], one.body[at + 1 :]
    read = names_read(*rest, *(a.step for a in one.accs))
    bound = (pair for s in ahead for pair in own_bindings(s))
    kept = {name: values[0].dtype for name, values in bound if name in read}
    names = {name: fresh.name(name) for name in sorted(bound_names(*ahead) | {one.var})}
    where = (index_sub(Var(one.var, INDEX), Var(strips.var, INDEX)),)
    places = {name: fresh.name(name) for name in kept}
    stores = (Store(places[n], where, Var(n, dtype)) for n, dtype in kept.items())
    first = rename_names(replace(one, body=(*ahead, *stores), accs=()), names)
    loads = (Assign(n, Load(places[n], where, dtype)) for n, dtype in kept.items())
    second = replace(one, body=(*loads, *rest))
    rows = (Local(places[n], dtype, _STRIP_LENGTH) for n, dtype in kept.items())
    return replace(strips, body=(*rows, first, second))
