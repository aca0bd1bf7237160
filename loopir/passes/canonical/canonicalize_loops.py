"""Loop canonicalization: every loop has an interval and step 1; names are unique; zips are loads.

A ``while`` whose trip count follows from constants becomes a counted loop.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...algebra.constant_folding import index_const
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import AliasInfo
from ...dtypes import INDEX
from ...ir_names import FreshNames, multiply_bound_names, own_bindings, rename_names, substitute
from ...ir_traversal import advanced_accums, bottom_up, map_children, range_bounds, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Break,
    Call,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Return,
    Stmt,
    Var,
    While,
    Zip,
)
from ...statement_blocks import Block, map_blocks, map_statements

__all__ = ["canonicalize_loops", "while_to_counted_loop"]


def canonicalize_loops(kernel: Kernel) -> Kernel:
    """Rewrite every counted loop to one over an interval, with step 1, and give unique names: the
    first pass, whose result all analyses assume.

    A range with a step, even of 1, becomes ``[0, n)`` with its trip count n, and the loop variable
    in the body ``start + step * i``; an interval ``[lo, hi)`` stays as it is. A zip becomes a loop
    with loads. A ``while`` becomes a counted loop if its condition, evaluated on constants in each
    iteration, turns false within `MAX_KNOWN_TRIPS`. A name that two blocks bind gets two names, so
    that later passes may move code between them. A bound of a range that the loop itself changes
    gets a name before the loop, so that later passes may evaluate it again
    (`_with_fixed_range`). Before::

        def k(x: f64[:], out: mut(f64[:])):
            disjoint(x, out)
            for i, v in zip(range(0, x.shape[0], 2), x):
                out[i] = v

    after::

        def k(x: f64[:], out: mut(f64[:])):
            disjoint(x, out)
            for i in loop(0, max(x.shape[0] + 1, 0) // 2):
                v = x[i * 2]
                out[i * 2] = v
    """
    kernel = _with_distinct_names(kernel)
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """The loop `s` in canonical form: a zip, or a ``while`` of known trip count, as a counted
        loop.
        """
        s = _zip_to_loop(s) if isinstance(s, Zip) else s
        s = while_to_counted_loop(s, fresh) if isinstance(s, While) else s
        if not isinstance(s, Loop):
            return s
        before, loop = _with_fixed_range(s, memory, fresh)
        return (*before, _normalized_range(loop)) if before else _normalized_range(loop)

    return map_statements(kernel, edit, LoopLike)


def _with_fixed_range(
    s: Loop, memory: AliasInfo, fresh: FreshNames
) -> tuple[tuple[Assign, ...], Loop]:
    """Assignments of names for those bounds of its range that `s` changes, and `s` with the names.

        for i in loop(0, n[0]): n[i] = 1    →    end = n[0]; for i in loop(0, end): n[i] = 1
    """
    names = {
        e: Var(fresh.name(name), INDEX)
        for name, e in zip(("start", "end"), range_bounds(s.range), strict=True)
        if memory.crosses(e, (s,))
    }
    if not names:
        return (), s
    assigns = tuple(Assign(v.name, e, span=s.span) for e, v in names.items())
    return assigns, replace(s, range=map_children(s.range, lambda e: names.get(e, e)))


def _zip_to_loop(s: Zip) -> Loop:
    """The loop with a load of each stream at the start of its body."""
    index = (Var(s.var, INDEX),)
    loads = tuple(Assign(x.name, Load(x.array, index, x.dtype), span=s.span) for x in s.streams)
    return Loop(s.var, s.range, (*loads, *s.body), s.accs, span=s.span)


def _normalized_range(s: Loop) -> Loop:
    """`s` over an interval: of a range with a step, the iteration numbers; its variable becomes
    ``start + step * i``.
    """
    if isinstance(s.range, Interval):
        return s
    start, end, step = s.range.start, s.range.end, s.range.step
    length = _index_call("sub", end, start) if step > 0 else _index_call("sub", start, end)
    numerator = _index_call(
        "max", _index_call("add", length, index_const(abs(step) - 1)), index_const(0)
    )
    count = _index_call("floordiv", numerator, index_const(abs(step)))
    value = {
        s.var: _index_call("add", _index_call("mul", Var(s.var, INDEX), index_const(step)), start)
    }
    body = tuple(substitute(x, value) for x in s.body)
    accs = tuple(replace(a, step=substitute(a.step, value)) for a in s.accs)
    until = None if s.until is None else substitute(s.until, value)
    return replace(s, range=Interval(index_const(0), count), body=body, accs=accs, until=until)


def _index_call(op: str, a: Expr, b: Expr) -> Expr:
    return rewrite(Call(op, (a, b), INDEX))


def _with_distinct_names(kernel: Kernel) -> Kernel:
    """`kernel` with each name bound only once: sibling blocks get different names."""
    shared = multiply_bound_names(kernel)
    if not shared:
        return kernel
    fresh, bound = FreshNames(kernel), set[str]()

    def edit(b: Block) -> Block:
        """`b` with fresh names for those that an earlier block has bound."""
        rebound = [n for s in b.stmts for n, _ in own_bindings(s) if n in shared]
        names = {n: fresh.name(n) for n in rebound if n in bound}
        bound.update(rebound)
        if not names:
            return b
        stmts = tuple(rename_names(s, names) for s in b.stmts)
        results = tuple(rename_names(e, names) for e in b.results)
        return Block(stmts, results, rename_names(b.until, names) if b.until else None)

    return map_blocks(kernel, edit)


MAX_KNOWN_TRIPS = 64
"""Limit on the iterations evaluated; halving a 64-bit number to zero takes at most 64."""

KnownValues = Mapping[str, Expr]
"""Names with constant values."""


def while_to_counted_loop(s: While, fresh: FreshNames) -> While | Loop:
    """`s` as a counted loop, if its trip count is a constant; else `s`."""
    count = _known_trip_count(s)
    if count is None:
        return s
    range_ = Interval(index_const(0), index_const(count))
    return Loop(fresh.name("k"), range_, s.body, s.accs, span=s.span)


def _known_trip_count(s: While) -> int | None:
    """The trip count of `s`, found by evaluating its condition iteration by iteration on constants.
    None if that depends on anything else, if `s` may be left early, or if it is greater than
    `MAX_KNOWN_TRIPS`.
    """
    constants = {a.name: a.init for a in s.accs if isinstance(a.init, Const)}
    if not constants or _may_exit_early(s):
        return None
    for trips in range(MAX_KNOWN_TRIPS + 1):
        condition = _known_value(s.cond, constants)
        if not isinstance(condition, Const):
            return None
        if not condition.value:
            return trips
        values_at_end = _values_after(s.body, constants)
        steps = {a.name: _known_value(a.step, values_at_end) for a in s.accs}
        constants = {name: e for name, e in steps.items() if isinstance(e, Const)}
    return None


def _may_exit_early(s: While) -> bool:
    """Whether `s` has another exit than its condition, or an accumulator advanced within the body.
    """
    return bool(advanced_accums(s)) or any(isinstance(n, Break | Return) for n in walk(s))


def _values_after(body: Iterable[Stmt], constants: KnownValues) -> KnownValues:
    """The names with constant values at the end of a block, from the `constants` at its start."""
    values = dict(constants)
    for s in body:
        match s:
            case Assign(name, value):
                values[name] = _known_value(value, values)
            case If(cond, then, orelse, yields):
                condition = _known_value(cond, values)
                if isinstance(condition, Const):
                    inner = _values_after(then if condition.value else orelse, values)
                    taken_values = {y.name: y.then if condition.value else y.orelse for y in yields}
                    values |= {name: _known_value(e, inner) for name, e in taken_values.items()}
            case _:
                pass
        values = {name: e for name, e in values.items() if isinstance(e, Const)}
    return values


def _known_value(e: Expr, constants: KnownValues) -> Expr:
    """`e` simplified on the constants."""
    simplified: Expr = bottom_up(substitute(e, constants), rewrite)
    return simplified
