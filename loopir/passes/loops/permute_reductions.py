"""Loop permutation for scalar reductions: the loop with unit stride of a nest goes innermost.

A sum of all elements of a matrix has an accumulator in each loop, so that its nest is no perfect
nest of `permute_loops`. The nest stores nothing, and the order of its iterations is the order of
the terms; `_may_permute` decides whether that may change.
"""
from __future__ import annotations

from typing import Any

from ...algebra.constant_folding import index_const, is_constant
from ...algebra.index_builder import index_sub
from ...algebra.rewrite_rules import rewrite
from ...analysis.access import accesses, count_strided
from ...analysis.loop_reductions import reduction_of
from ...ir_names import FreshNames, bound_names, names_read, rename_names
from ...ir_traversal import declared_params, map_children, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Loop,
    Stmt,
    Var,
    While,
    Yield,
    Zip,
)
from ..vector.exact_extrema import is_order_independent
from ..vector.vectorize_legality import vectorization_obstacle
from .permute_loops import is_cheap_to_repeat

__all__ = ["permute_reductions"]

_MIN_TRIPS = 32
"""Iterations below which the innermost loop is too short for vectors. The same on all machines,
since the order of the terms is decided by it."""


def permute_reductions(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Put the loop innermost along which the fewest accesses have a stride, in a nest of loops that
    only reduce to scalars. The terms get another order (float sums only with `reassociate`). The
    nest as it was runs where that loop is short (`_has_long_rows`). Before::

        def k(a: f64[:, ::1], total: mut(f64[()])):
            disjoint(a, total)
            for j in loop(0, a.shape[1], s=0.0):
                for i in loop(0, a.shape[0], s_1=s):
                    s_1 = step(s_1 + a[i, j])
                s = step(s_1)
            total[()] = s

    after::

        def k(a: f64[:, ::1], total: mut(f64[()])):
            disjoint(a, total)
            if a.shape[1] >= 32:
                for i_1 in loop(0, a.shape[0], s_2=0.0):
                    for j_1 in loop(0, a.shape[1], s_3=s_2):
                        s_3 = step(s_3 + a[i_1, j_1])
                    s_2 = step(s_3)
                s = give(s_2)
            else:
                for j_2 in loop(0, a.shape[1], s_4=0.0):
                    for i_2 in loop(0, a.shape[0], s_5=s_4):
                        s_5 = step(s_5 + a[i_2, j_2])
                    s_4 = step(s_5)
                s = give(s_4)
            total[()] = s
    """
    fresh = FreshNames(kernel)

    def permuted(n: Loop) -> Loop | None:
        """The nest `n` in its best order; None if it has that already, or must keep its own."""
        nest = _match_reduction_nest(n) if n.accs else None
        last = _best_last(nest, kernel) if nest is not None else None
        if nest is None or last is None or last is nest.loops[-1]:
            return None
        loops = nest.with_last(last)
        return loops[0] if _may_permute(nest, loops, kernel, reassociate) else None

    def visit(n: Any) -> Any:
        """`n` with its nests of reductions permuted; what an earlier run has versioned is left
        alone.
        """
        match n:
            case If(cond, _, (Loop() as short,)) if (
                (better := permuted(short)) is not None and cond == _has_long_rows(better)
            ):
                return n
            case Loop() if (better := permuted(n)) is not None:
                return _versioned(n, better, fresh)
            case Kernel() | Loop() | If() | While() | Zip():
                return map_children(n, visit)
            case _:
                return n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def _has_long_rows(nest: Loop) -> Expr:
    """The condition that the innermost loop of `nest` has at least `_MIN_TRIPS` iterations."""
    last = [n for n in walk(nest) if isinstance(n, Loop)][-1]
    assert isinstance(last.range, Interval)
    length = index_sub(last.range.hi, last.range.lo)
    return rewrite(Call("ge", (length, index_const(_MIN_TRIPS)), "bool"))


def _versioned(nest: Loop, better: Loop, fresh: FreshNames) -> If | tuple[Stmt, ...]:
    """`better` where its innermost loop is long, else `nest`."""
    test = _has_long_rows(better)
    if is_constant(test, True):
        return (better,)
    long, short = ({name: fresh.name(name) for name in sorted(bound_names(nest))} for _ in range(2))
    yields = tuple(
        Yield(a.name, Var(long[a.name], a.init.dtype), Var(short[a.name], a.init.dtype))
        for a in nest.accs
    )
    sides = (rename_names(better, long),), (rename_names(nest, short),)
    return If(test, *sides, yields, span=nest.span)


@record(frozen=True, slots=True)
class _ReductionNest:
    """Loops each of which hands its accumulators to the one after, and takes them back."""

    loops: tuple[Loop, ...]  # outermost first
    body: tuple[Assign, ...]  # of the innermost, after the assignments of those around it

    def with_last(self, last: Loop) -> tuple[Loop, ...]:
        """The nest with `last` innermost, as the loops of it. The accumulators stay at their depth:
        only the variables and ranges change places.
        """
        order = [*(s for s in self.loops if s is not last), last]
        body: tuple[Stmt, ...] = self.body
        nest: list[Loop] = []
        for ranges, depth in zip(reversed(order), reversed(self.loops), strict=True):
            nest.append(replace(ranges, accs=depth.accs, body=body))
            body = (nest[-1],)
        return tuple(reversed(nest))


def _match_reduction_nest(outer: Loop) -> _ReductionNest | None:
    """`outer` as a _ReductionNest of at least two counted loops with invariant ranges and nothing
    but cheap assignments that raise no flag around the innermost loop; None if it is not one.
    """
    loops, body = [outer], outer.body
    before: tuple[Stmt, ...] = ()
    while body and isinstance(inner := body[-1], Loop):
        if not _hands_over(loops[-1], inner):
            return None
        before = (*before, *body[:-1])
        loops.append(inner)
        body = inner.body
    assigns = tuple(s for s in (*before, *body) if isinstance(s, Assign))
    accumulators = {a.name for s in loops for a in s.accs}
    variant = accumulators | {s.name for s in assigns} | {s.var for s in loops}
    is_counted = all(
        isinstance(s.range, Interval) and s.until is None and not variant & names_read(s.range)
        for s in loops
    )
    handed_over = {a.name for s in loops[:-1] for a in s.accs}
    steps = [a.step for a in loops[-1].accs]
    if (
        len(loops) < 2
        or not is_counted
        or len(assigns) != len(before) + len(body)
        or accumulators & names_read(*before)
        or handed_over & names_read(*body, *steps)
        or not all(map(is_cheap_to_repeat, before))
    ):
        return None
    return _ReductionNest(tuple(loops), assigns)


def _hands_over(outer: Loop, inner: Loop) -> bool:
    """Whether each accumulator of `inner` starts with one of `outer`, which ends with it."""
    ends = {a.step: a.current for a in outer.accs}
    return len(outer.accs) == len(inner.accs) == len(ends) and all(
        ends.get(a.current) == a.init for a in inner.accs
    )


def _best_last(nest: _ReductionNest, kernel: Kernel) -> Loop:
    """The loop along which the fewest accesses have a stride; of equal ones the innermost."""
    params = declared_params(kernel)
    touched = accesses((nest.loops[0],))
    return min(reversed(nest.loops), key=lambda s: count_strided(touched, params, s.var))


def _may_permute(
    nest: _ReductionNest, permuted: tuple[Loop, ...], kernel: Kernel, reassociate: bool
) -> bool:
    """Whether the nest may become `permuted`. Required:

    - every accumulator is a reduction, of which another order of the terms gives the same result,
      or a float sum or product and `reassociate`;
    - the innermost loop can be vectorised, and is not known to be short: a fold that stays scalar
      must keep the order of the source (`keep_fold_order`).
    """
    last = permuted[-1]
    if is_constant(_has_long_rows(last), False):
        return False
    starts = {a.current: a.init for a in nest.loops[0].accs}
    for loop in nest.loops[1:]:
        starts |= {a.current: starts[a.init] for a in loop.accs}  # type: ignore[index]  # a Var
    folds = [reduction_of(a, last) for a in last.accs]
    if any(
        f is None
        or (f.is_inexact and not reassociate)
        or not is_order_independent(replace(f, acc=_started(f.acc, starts)))
        for f in folds
    ):
        return False
    return vectorization_obstacle(last, kernel, reassociate=reassociate) is None


def _started(acc: Accum, starts: Any) -> Accum:
    """`acc` with the initial value of the outermost loop."""
    return replace(acc, init=starts[acc.current])
