"""Full loop unrolling of few constant iterations; `unroll_loop` also peels first iterations.

The pass runs early, so that the loop around may be vectorised (`pass_list.PASS_LIST`).
"""
from __future__ import annotations

from collections.abc import Iterator

from ...algebra.constant_folding import constant_trip_count, index_const
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, rename_names, substitute
from ...ir_traversal import advanced_accums, contains, has_early_exit, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
    Const,
    Expr,
    Interval,
    Kernel,
    Loop,
    LoopLike,
    Stmt,
    Var,
)
from ...statement_blocks import map_statements

__all__ = ["is_fully_unrolled", "unroll", "unroll_loop"]

MAX_TRIPS = 8  # the same on all machines: an unrolled fold runs in order, not in lanes
MAX_NODES = 600  # size limit of the unrolled code


def unroll(kernel: Kernel) -> Kernel:
    """Unroll loops of few constant iterations (`is_fully_unrolled`). The loop around one becomes an
    innermost loop, and may be vectorised; a fold is then done in the order of the source. Before::

        def k(x: f64[:, ::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                for j in loop(0, 2, s=0.0):
                    s = step(s + x[i, j])
                out[i] = s

    after::

        def k(x: f64[:, ::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                s_1 = 0.0 + x[i, 0]
                s = s_1 + x[i, 1]
                out[i] = s
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` unrolled, if it is short."""
        if not isinstance(s, Loop) or not isinstance(s.range, Interval) or not is_fully_unrolled(s):
            return s
        return unroll_loop(s, constant_trip_count(s.range) or 0, fresh)

    return map_statements(kernel, edit, Loop)


def is_fully_unrolled(loop: Loop) -> bool:
    """Whether `unroll` replaces `loop` by copies of its body: its trip count is a constant of at
    most `MAX_TRIPS`, all copies together have at most `MAX_NODES` nodes, and `_can_unroll` holds.
    A loop that only repeats other loops stays, such as one over time steps: its copies would be the
    same code, and no loop around it becomes an innermost one.
    Fusion asks this as well, since such a loop will not be there when loops are permuted.
    """
    count = constant_trip_count(loop.range) if isinstance(loop.range, Interval) else None
    if count is None or count > MAX_TRIPS or not _can_unroll(loop):
        return False
    is_repetition = not loop.accs and loop.var not in names_read(*loop.body)
    if is_repetition and count > 1 and any(contains(s, LoopLike) for s in loop.body):
        return False
    return count * sum(1 for _ in walk(loop)) <= MAX_NODES


def _can_unroll(loop: Loop) -> bool:
    """Whether each iteration is the same code on other names: the loop has no early exit, which
    would have to skip later copies, and no counter of appends, which the body advances itself.
    """
    return not has_early_exit(loop) and not advanced_accums(loop)


def unroll_loop(loop: Loop, factor: int, fresh: FreshNames) -> tuple[Stmt, ...]:
    """The first `factor` iterations of `loop`, then the loop over the others.

    Assumes a canonical loop of at least `factor` iterations, without early exits and counters of
    appends.
    """
    assert isinstance(loop.range, Interval), "canonical loops are unrolled"
    assert _can_unroll(loop), "the loop may be left in the middle"
    count, lo = constant_trip_count(loop.range), loop.range.lo
    assert count is None or count >= factor, "there are not so many iterations"
    values: dict[str, Expr] = {a.name: a.init for a in loop.accs}
    out: list[Stmt] = []
    for k in range(factor):
        is_last = count is not None and k == count - 1
        out += _unrolled_iteration(loop, _plus_constant(lo, k), values, fresh, is_last)
    if count == factor:
        return tuple(out) if factor else tuple(Assign(a.name, a.init) for a in loop.accs)
    remaining = Interval(_plus_constant(lo, factor), loop.range.hi)
    accs = tuple(replace(a, init=values[a.name]) for a in loop.accs)
    return (*out, replace(loop, range=remaining, accs=accs))


def _unrolled_iteration(
    loop: Loop, index: Expr, values: dict[str, Expr], fresh: FreshNames, is_last: bool
) -> Iterator[Stmt]:
    """One iteration with fresh names; `values` maps accumulators to their values, and is updated.
    After the last iteration of all (`is_last`) the accumulators have their own names.
    """
    renaming = {name: fresh.name(name) for name in sorted(bound_names(*loop.body))}
    values_here = {loop.var: index, **values}
    for s in loop.body:
        yield substitute(rename_names(s, renaming), values_here)
    for a in loop.accs:
        name = a.name if is_last else fresh.name(a.name)
        yield Assign(name, substitute(rename_names(a.step, renaming), values_here), span=a.span)
        values[a.name] = Var(name, a.init.dtype)


def _plus_constant(e: Expr, k: int) -> Expr:
    """``e + k``."""
    if isinstance(e, Const):
        return index_const(int(e.value) + k)
    return Call("add", (e, index_const(k)), INDEX) if k else e
