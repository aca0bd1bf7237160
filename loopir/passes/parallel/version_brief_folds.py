"""Loop versioning by work: a fold that threads share has a simple form, too, for little work.

A fold that is split (`split_folds`) keeps the results of its iterations, and adds them up after
these. Where there is so little work that one thread does it anyway, that takes up to 20 nanoseconds
longer than the loop as it was, or, of a loop over blocks, than its only block.
"""
from __future__ import annotations

from collections.abc import Mapping

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_less, index_sub, logical_and
from ...algebra.rewrite_rules import rewrite
from ...analysis.parallelism import Splittable
from ...analysis.work_estimate import most_additions
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, rename_names, substitute
from ...ir_traversal import bottom_up, contains, range_bounds, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
    Const,
    Expr,
    If,
    Interval,
    Load,
    Loop,
    LoopLike,
    RangeDesc,
    Stmt,
    Var,
    Yield,
)
from .split_folds import blocks_of_groups

__all__ = ["is_repeatable", "version_brief_fold"]

_REPEATED = 100
"""The most nodes of a loop that is also kept as it is, for little work: the C compiler then takes
10 to 20 ms longer."""

_FEW_ITERATIONS = 16
"""Iterations of a loop around loops, at most, that are little work."""

_LITTLE_WORK = 512.0
"""Additions that such an iteration takes, at most. All together are less than a microsecond, from
some of which on a second thread pays (`PAYS_AWAKE` of `targets/region_costs.py`)."""


def is_repeatable(s: Stmt) -> bool:
    """Whether the loop `s` is so short that it may be in the code twice."""
    return sum(1 for _ in walk(s)) <= _REPEATED


def version_brief_fold(
    s: Loop, block: int | None, split: tuple[Stmt, ...], fresh: FreshNames
) -> tuple[Stmt, ...]:
    """The fold `s` as it is where it has little work, and else `split`, which has accumulators of
    the same names. `split` alone if `s` is long, or what it does is not known before it runs.
    ``block``: the iterations of a block, which are little work, if `s` is over blocks: then there
    is one block, which is in no loop (`_only_block`); else None::

        for i in loop(…, s=0.0): for j in loop(0, m, t=0.0): …; s = step(s + sqrt(t))
        →
        if (n < 17) & (m < 171): for i in loop(…, s_1=0.0): …
        else: …, with s_2
        s = give(s_1, s_2)
    """
    if not is_repeatable(s) or (is_brief := _is_brief(s, block)) is None:
        return split
    of_whole = {n: fresh.name(n) for n in sorted(bound_names(s))}
    of_split = {a.name: fresh.name(a.name) for a in s.accs}
    yields = tuple(
        Yield(a.name, Var(of_whole[a.name], a.init.dtype), Var(of_split[a.name], a.init.dtype))
        for a in s.accs
    )
    renamed = rename_names(s, of_whole)
    whole = (renamed,) if block is None else _only_block(renamed, fresh)
    return (If(is_brief, whole, tuple(rename_names(x, of_split) for x in split), yields),)


def _only_block(s: Loop, fresh: FreshNames) -> tuple[Stmt, ...]:
    """The only iteration of `s`, a loop over one block, or over one group of one block, and the
    assignments of its accumulators. So there are neither these loops nor their polls in C::

        for b in loop(range(0, n, 4096), s=0.0):
            for i in vec(b, min(b + 4096, n), t=-0.0): …        for i in vec(0, min(4096, n), …): …
            s = step(s + hreduce("add", t))                 →   s = 0.0 + hreduce("add", t)
    """
    inner = blocks_of_groups(s)
    body = s.body if inner is None else _only_block(replace(inner, range=s.range), fresh)
    values, before = {s.var: range_bounds(s.range)[0]}, list[Stmt]()
    for a in s.accs:
        values[a.name] = a.init
        if not isinstance(a.init, Const | Var):  # an element, which the block may overwrite
            values[a.name] = start = Var(fresh.name(a.name), a.init.dtype)
            before.append(Assign(start.name, a.init))
    results = (Assign(a.name, substitute(a.step, values)) for a in s.accs)
    return (*before, *(_at(x, values) for x in body), *results)


def _at(s: Stmt, values: Mapping[str, Expr]) -> Stmt:
    """`s` with the names in `values` replaced, its subscripts and ends of loops simplified."""
    def simplified(e: Expr) -> Expr:
        return rewrite(e) if isinstance(e, Call) and e.dtype == INDEX else e

    done: Stmt = bottom_up(substitute(s, values), simplified)
    return done


def _is_brief(s: Loop, block: int | None) -> Expr | None:
    """The condition that `s` has little work: one ``block``; or few iterations, whose inner
    loops run for few iterations each. None if that is not known before `s` runs.
    """
    start, end = range_bounds(s.range)
    count = index_sub(end, start)
    if block is not None:
        return logical_and(index_less(index_const(0), count), index_less(count, block + 1))
    brief, work = index_less(count, _FEW_ITERATIONS + 1), _LITTLE_WORK
    loops = [x for x in s.body if contains(x, LoopLike)]
    work -= sum(most_additions(x, {}) for x in s.body if x not in loops)
    for loop in loops:
        trips = _trip_counts(loop, s)
        if trips is None or not isinstance(loop, Splittable):
            return None
        step = loop.range.step if isinstance(loop.range, RangeDesc) else 1
        one = replace(loop, range=Interval(index_const(0), index_const(1)))
        if (most := int(work / len(loops) / most_additions(one, {}) * step)) < 1:
            return None
        for n in trips:
            brief = logical_and(brief, index_less(n, most + 1))
    return brief


def _trip_counts(loop: Stmt, s: Loop) -> list[Expr] | None:
    """For how many iterations the inner ``loop`` runs in the first and the last iteration of `s`,
    once if all have the same. None if it is no counted loop, or if what it depends on is no name
    that is known before `s`.
    """
    if not isinstance(loop, Splittable):
        return None
    start, end = range_bounds(loop.range)
    values: dict[str, Expr] = {}  # of names, by the variable of `s`
    for x in s.body:
        if isinstance(x, Assign):
            values[x.name] = substitute(x.value, values)
    trips, (first, behind) = substitute(index_sub(end, start), values), range_bounds(s.range)
    inside = names_read(trips) & (bound_names(s) | {s.var})
    if not inside <= {s.var} or contains(trips, Load):
        return None
    if not inside:
        return [trips]
    return [substitute(trips, {s.var: i}) for i in (first, index_sub(behind, index_const(1)))]
