"""Intervals of the names of a kernel: of parameters, assigned names, loop variables, counters.

One interval for each name, wherever it is read, without a fixpoint. What holds at a certain point,
and differences of two names, `difference_bounds` tells (for `check_elimination`).
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...dtypes import INDEX
from ...ir_names import multiply_bound_names
from ...ir_traversal import memoized_per_node, range_bounds, walk_statements
from ...nodes import (
    Accum,
    Assign,
    Call,
    Const,
    Expr,
    Guard,
    If,
    Interval,
    Kernel,
    Loop,
    Node,
    Stmt,
    Var,
)
from ...op_table import NEGATED_COMPARISON
from .implied_conditions import implied_terms
from .intervals import Bounds, Intervals, dtype_bounds, is_scalar_integer

__all__ = ["largest_step", "name_intervals"]


@memoized_per_node
def name_intervals(kernel: Kernel) -> Intervals:
    """The intervals of the integers in `kernel` that are bound in one place: parameters within
    their guards, assigned names by their values, loop variables by their ranges, and counters,
    which only grow (`largest_step`). Any other name may have each value of its dtype.

        guard(m <= x.shape[0])               m: -2**63 … 2**47 (`LENGTH`)
        at = i64(b[0])         b of u8       at: 0 … 255
        for i in loop(0, n, k=0): …          i: 0 … 2**47;  k, which counts: 0 … 2**63 - 1
    """
    intervals, rebound = Intervals(), multiply_bound_names(kernel)
    for guard in kernel.guards:
        if isinstance(guard, Guard):
            for term, holds in implied_terms(guard.cond):
                intervals.names |= _guarded(term, holds, intervals)
    for s in walk_statements(kernel):
        for name, bounds in _bounds_given_by(s, intervals):
            if name not in rebound:
                intervals.names[name] = bounds
    return intervals


def _bounds_given_by(s: Node, intervals: Intervals) -> Iterator[tuple[str, Bounds]]:
    """The names that `s` binds, each with its interval."""
    match s:
        case Assign(name, value) if is_scalar_integer(value):
            yield name, intervals.of(value)
        case Loop():
            if isinstance(s.range, Interval):
                first, end = (intervals.of(e) for e in range_bounds(s.range))
                yield s.var, (first[0], max(end[1] - 1, first[0]))
            for a in s.accs:
                if a.init.dtype == INDEX and largest_step(a, s.body) is not None:
                    yield a.name, (intervals.of(a.init)[0], dtype_bounds(INDEX)[1])


def _guarded(term: Expr, holds: bool, intervals: Intervals) -> dict[str, Bounds]:
    """The name that the comparison `term` of a guard bounds, with its interval."""
    match term:
        case Call(op, (Var(name, dtype), limit)) if op in NEGATED_COMPARISON:
            low, high = intervals.names.get(name, dtype_bounds(dtype))
            least, most = intervals.of(limit)
            match op if holds else NEGATED_COMPARISON[op]:
                case "ge":
                    return {name: (max(low, least), high)}
                case "gt":
                    return {name: (max(low, least + 1), high)}
                case "le":
                    return {name: (low, min(high, most))}
                case "lt":
                    return {name: (low, min(high, most - 1))}
    return {}


def largest_step(acc: Accum, body: Iterable[Stmt]) -> int | None:
    """How much an iteration may at most add to the counter `acc` of a loop with this `body`; None
    if it may do anything else with it, such as subtract, or set it.

        k = step(k + 1)                                       1
        if c: k_1 = give(k + 1) else: k_1 = give(k)           1
        k = step(k_1)
        k = step(k + x[i])                                    None

    A counter does not overflow: that takes 2**63 iterations.
    """
    values: dict[str, tuple[Expr, ...]] = {}
    for s in body:
        for n in walk_statements(s):
            match n:
                case Assign(name, value):
                    values[name] = (*values.get(name, ()), value)
                case If(yields=yields):
                    for y in yields:
                        values[y.name] = (*values.get(y.name, ()), y.then, y.orelse)
    return _largest_sum(acc.step, values, {acc.name: 0})


_MOST_ADDED = 1 << 10
"""A larger constant might let a counter overflow after all."""


def _largest_sum(
    e: Expr, values: Mapping[str, tuple[Expr, ...]], known: dict[str, int | None]
) -> int | None:
    """The most that `e` adds to the counter, at least 0; None if it is no such sum.
    ``values``: the alternatives for each other name. ``known``: the sums of the names that were
    met before, which are looked at once: each join after a join would double the ways to them.
    """
    match e:
        case Var(name):
            if name not in known:
                known[name] = _most([_largest_sum(x, values, known) for x in values.get(name, ())])
            return known[name]
        case Call("select" | "blend", (_, *sides)):
            return _most([_largest_sum(x, values, known) for x in sides])
        case Call("add", (a, Const(int(added)))) if 0 <= added <= _MOST_ADDED:
            so_far = _largest_sum(a, values, known)
            return None if so_far is None else so_far + added
    return None


def _most(sums: list[int | None]) -> int | None:
    """The largest of `sums`; None if one is not known, or there is none."""
    known = [x for x in sums if x is not None]
    return max(known) if known and len(known) == len(sums) else None
