"""Unroll-and-jam: several iterations of an outer loop share its inner loops and their loads.

A matrix product (gemm) loads a vector of b for each multiply-add. With r rows of the result
computed together, the vector is loaded once for r rows, and r independent sums hide the latency of
the addition. `_rows_of_sums` decides how many rows; `unroll_and_jam` copies the body and fuses the
copies statement by statement. Each sum keeps its order. How many columns, in registers side by
side, `targets/legalization/vector_cost_model.py` decides for each target.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...algebra.constant_folding import constant_trip_count, index_const
from ...algebra.index_builder import index_add, index_floordiv, index_max, index_mul, index_sub
from ...analysis.uniformity import Uniformity, first_lane_code
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, rename_names, substitute
from ...ir_traversal import is_innermost, map_children, walk, walk_statements
from ...lazy_dataclass import replace
from ...machine_model import DEFAULT_MACHINE, Machine, best_register_tile, max_row_sums
from ...nodes import (
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    LoopLike,
    RangeDesc,
    Stmt,
    Store,
    Var,
    VecLoop,
)
from ...op_table import OPS
from ..loop_splitting import max_trips_of_strip
from ..reduce.version_short_reductions import SHORT_LIMIT
from ..vector.vectorize_outer import can_run_in_lockstep

__all__ = ["EXPENSIVE_WEIGHT", "jam", "unroll_and_jam", "results_stall", "sums_only_rows"]


def jam(kernel: Kernel, *, machine: Machine = DEFAULT_MACHINE) -> Kernel:
    """Unroll an outer loop and fuse the copies of its inner loops, where their sums share loads.

    So many iterations are unrolled that all their accumulators stay in registers (`_rows_of_sums`,
    `machine_model.best_register_tile`). The remaining iterations follow one by one. Before::

        def k(a: f32[:, ::1], b: f32[:, ::1], n: i64, c: mut(f32[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, 2):
                for j in vec(0, n, width=W):
                    for k in loop(0, n, s=broadcast(f32(0.0), W)):
                        s = step(s + broadcast(a[i, k], W) * b[k, j:W])
                    c[i, j:W] = s

    after::

        def k(a: f32[:, ::1], b: f32[:, ::1], n: i64, c: mut(f32[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(range(0, 1, 2)):
                for j in vec(0, n, width=W):
                    for k in loop(0, n, s=broadcast(f32(0.0), W), s_1=broadcast(f32(0.0), W)):
                        s = step(s + broadcast(a[i, k], W) * b[k, j:W])
                        s_1 = step(s_1 + broadcast(a[i + 1, k], W) * b[k, j:W])
                    c[i, j:W] = s
                    c[i + 1, j:W] = s_1
    """
    fresh = FreshNames(kernel)

    def visit(n: Any, start_next_early: bool = False) -> Any:
        """`n` with the loops in it jammed. `start_next_early`: a loop around it has expensive
        operations after its sums, during which the next sums should start.
        """
        early = start_next_early or (isinstance(n, VecLoop) and results_stall(n))
        jammed = map_children(n, lambda c: visit(c, early)) if isinstance(n, _ENCLOSING) else n
        has_jammed_loop = jammed is not n
        if not isinstance(jammed, Loop) or (has_jammed_loop and not sums_only_rows(jammed)):
            return jammed  # only sums of rows are jammed in two loops of a nest
        scalar_code = first_lane_code(jammed)
        if not _shares_loads(jammed, Uniformity(scalar_code)) or not can_run_in_lockstep(
            scalar_code, kernel, 2
        ):
            return jammed
        rows = _rows_of_sums(
            jammed, machine, is_adjacent=not has_jammed_loop, start_next_early=early
        )
        return tuple(unroll_and_jam(jammed, rows, fresh)) if rows > 1 else jammed

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_ENCLOSING = (Kernel, Loop, VecLoop, If)

MAX_ROW_SUMS = 2  # row sums jammed in the adjacent loop; more are jammed in the loop around it
EXPENSIVE_WEIGHT = 3.0  # weight above which an operation takes longer than its loads


def _vector_reduction_loops(loop: Loop) -> Iterator[Loop | VecLoop]:
    """The innermost loops in `loop` that carry vectors."""
    for n in (n for s in loop.body for n in walk_statements(s)):
        if isinstance(n, VecLoop) and n.accs and is_innermost(n):
            yield n
        if isinstance(n, Loop) and any(a.init.lanes != 1 for a in n.accs) and is_innermost(n):
            yield n


def sums_only_rows(loop: Loop) -> bool:
    """Whether all vectors that loops in `loop` carry are cheap reductions along the lanes of a
    vector loop, as of the rows in ``a @ b.T``; and there is such a loop. Then jamming two loops of
    the nest shares more loads (`jam`), and rows can be blocked (`block_rows`).
    """
    inner_loops = list(_vector_reduction_loops(loop))
    return bool(inner_loops) and all(
        isinstance(n, VecLoop) and _is_plain_sum(n) for n in inner_loops
    )


def _is_plain_sum(n: VecLoop) -> bool:
    """Whether `n` only computes reductions, of cheap terms: it has a group of lanes, runs to its
    end, and has assignments alone, of at most `EXPENSIVE_WEIGHT` additions for each reduction.
    """
    has_fixed_lanes = n.group is not None and n.until is None
    work = sum(OPS[x.op].weight for x in walk(n) if isinstance(x, Call) and x.lanes != 1)
    return (
        has_fixed_lanes
        and all(isinstance(s, Assign) for s in n.body)
        and work <= EXPENSIVE_WEIGHT * len(n.accs)
    )


def _shares_loads(loop: Loop, varying: Uniformity) -> bool:
    """Whether every reduction in `loop` loads something that is invariant in `loop`."""
    inner_loops = list(_vector_reduction_loops(loop))
    return bool(inner_loops) and all(
        any(isinstance(n, Load) and not varying.varies(*n.index) for n in walk(inner))
        for inner in inner_loops
    )


def results_stall(lanes: VecLoop) -> bool:
    """Whether the vector loop `lanes` computes short sums, from packed panels, each followed by
    expensive operations, as in ``c[i, j] = sqrt(sum of …)`` for rows of 3 terms.

    These operations wait for the last addition of the sum, and the processor could start the next
    sums meanwhile, if they are not in the same tile: so fewer rows are jammed (`_rows_of_sums`), in
    fewer registers (`vector_cost_model.registers_per_group`).
    """
    panels = [s for s in lanes.body if isinstance(s, Local)]
    row_loops = [n for s in lanes.body for n in walk(s) if isinstance(n, Loop) and not n.accs]
    uses = [s for n in row_loops for s in n.body if isinstance(s, Assign | Store)]
    is_expensive = any(
        isinstance(n, Call) and OPS[n.op].weight > EXPENSIVE_WEIGHT for s in uses for n in walk(s)
    )
    return is_expensive and bool(panels) and all(s.length <= SHORT_LIMIT for s in panels)


def _rows_of_sums(
    loop: Loop, machine: Machine, *, is_adjacent: bool, start_next_early: bool
) -> int:
    """How many iterations of `loop`, called rows, to jam; 1 for none. Two kinds of sums:

    - Vectors of sums, as in ``a @ b`` (each lane has the sum of another column, so the loops of the
      sums are scalar): as many rows as the best register tile has. Where expensive operations
      follow the sums (`start_next_early`), only as many as hide the latency of an addition, so that
      the sums of the next tile start while these operations run.
    - Sums along lanes, as in ``a @ b.T`` (vector loops): as many as have room in registers. In the
      loop next to the sums (`is_adjacent`) at most `MAX_ROW_SUMS`, which leaves room for rows of
      the loop around it: both share loads then.
    """
    assert isinstance(loop.range, Interval)
    inner_loops, max_count = list(_vector_reduction_loops(loop)), max_trips_of_strip(loop.range)
    has_vectors_of_sums = not any(isinstance(inner, VecLoop) for inner in inner_loops)
    if has_vectors_of_sums:
        accs_per_loop = max(sum(a.init.lanes != 1 for a in inner.accs) for inner in inner_loops)
        best = best_register_tile(machine, accs_per_loop, max_count).rows
        return min(machine.latency // accs_per_loop, best) if start_next_early else best
    if not sums_only_rows(loop):
        return 1
    max_rows = max_row_sums(machine, max(map(_accumulator_bytes, inner_loops)))
    return min(max_rows, MAX_ROW_SUMS if is_adjacent else max_rows, max_count or max_rows)


def _accumulator_bytes(loop: Loop | VecLoop) -> int:
    """Bytes of all accumulators of `loop`."""
    assert isinstance(loop, VecLoop)
    return sum((loop.group or 1) * DTYPES[a.init.dtype].bytes for a in loop.accs)


def unroll_and_jam(
    loop: Loop, rows: int, fresh: FreshNames, end: Expr | None = None
) -> Iterator[Stmt]:
    """The loop over `rows` iterations at a time, up to `end` (the end of the loop), then the loop
    over the remaining ones.
    """
    assert isinstance(loop.range, Interval)
    lo, hi, count = loop.range.lo, loop.range.hi, constant_trip_count(loop.range)
    end = end or hi
    copies = [_jammed_iteration(loop, k, fresh) for k in range(rows)]
    yield replace(
        loop, range=RangeDesc(lo, index_sub(end, rows - 1), rows), body=_fuse_copies(copies)
    )
    if end is not hi or count is None or count % rows:
        yield replace(fresh.copy(loop), range=Interval(_first_remaining(lo, end, rows), hi))


def _first_remaining(lo: Expr, hi: Expr, rows: int) -> Expr:
    """The first iteration of the remainder."""
    length = index_max(index_sub(hi, lo), 0)
    return index_add(lo, index_mul(index_floordiv(length, rows), rows))


def _jammed_iteration(loop: Loop, k: int, fresh: FreshNames) -> tuple[Stmt, ...]:
    """The body for iteration ``i + k``, with fresh names except for loop variables."""
    index = Call("add", (Var(loop.var, INDEX), index_const(k)), INDEX)
    counters = {n.var for s in loop.body for n in walk(s) if isinstance(n, Loop | VecLoop)}
    renaming = (
        {name: fresh.name(name) for name in sorted(bound_names(*loop.body) - counters)} if k else {}
    )
    body = tuple(rename_names(s, renaming) for s in loop.body)
    return tuple(substitute(s, {loop.var: index}) for s in body) if k else body


def _fuse_copies(copies: Sequence[tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """Fuse copies of a block that differ in names only, statement by statement."""
    return tuple(
        s
        for copies_of_statement in zip(*copies, strict=True)
        for s in _fuse_nodes(copies_of_statement)
    )


def _fuse_nodes(copies: Sequence[Any]) -> Sequence[Stmt]:
    """The copies of one statement fused: loops, and branches with loops, become one; other
    statements stay one after the other.
    """
    first = copies[0]
    match first:
        case Loop() | VecLoop():
            accs = tuple(a for s in copies for a in s.accs)
            body = _fuse_copies([s.body for s in copies])
            return (replace(first, body=body, accs=accs),)  # type: ignore[arg-type]  # as the loop's
        case If() if any(isinstance(n, LoopLike) for n in walk(first)):
            then, orelse = (
                _fuse_copies([getattr(s, f) for s in copies]) for f in ("then", "orelse")
            )
            yields = tuple(y for s in copies for y in s.yields)
            return (replace(first, then=then, orelse=orelse, yields=yields),)
        case _:
            return copies
