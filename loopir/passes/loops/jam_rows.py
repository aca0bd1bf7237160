"""Unroll-and-jam of stencil rows: neighbouring rows that load the same elements run together.

This is for loops over rows whose inner vector loop has no accumulators, as in a stencil; `jam` is
for inner loops that are sums, as in a matrix product. `_rows_of_stencil` decides how many rows.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import (
    element_count,
    index_add,
    index_less,
    index_mul,
    logical_not,
)
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.affine import affine_form, constant_form
from ...analysis.uniformity import Uniformity, first_lane_code
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names
from ...ir_traversal import bottom_up, map_children, walk
from ...lazy_dataclass import record, replace
from ...machine_model import DEFAULT_MACHINE, Machine
from ...nodes import (
    Assign,
    Broadcast,
    Call,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    RangeDesc,
    Stmt,
    Store,
    Var,
    VecLoop,
)
from ...op_table import OPS
from ..vector.vectorize_outer import can_run_in_lockstep
from .jam import EXPENSIVE_WEIGHT, unroll_and_jam

__all__ = ["jam_rows"]


def jam_rows(kernel: Kernel, *, machine: Machine = DEFAULT_MACHINE) -> Kernel:
    """Unroll a loop around a vector loop and fuse the copies, where they load the same elements.

    So many rows are unrolled that all their loads stay in registers, and only if there is enough
    arithmetic for each load: else the stores dominate, and stores to several rows conflict. With
    very much arithmetic the loads do not matter (`_rows_of_stencil`). Rows of arrays that do not
    fit in the L2 cache run one by one (`_end_of_near_rows`): the select below. Before::

        def k(x: f64[:, ::1], n: i64, y: mut(f64[:, ::1])):
            disjoint(x, y)
            for i in loop(0, 4):
                for j in vec(0, n, width=W):
                    t = x[i, j:W] * x[i + 1, j:W]
                    y[i, j:W] = (t * t + t) * t

    after::

        def k(x: f64[:, ::1], n: i64, y: mut(f64[:, ::1])):
            disjoint(x, y)
            end = select(524288 >= x.shape[0] * x.shape[1] * 8 + y.shape[0] * y.shape[1] * 8, 4, 0)
            for i in loop(range(0, end - 3, 4)):
                for j in vec(0, n, width=W):
                    t = x[i, j:W] * x[i + 1, j:W]
                    t_1 = x[i + 1, j:W] * x[i + 2, j:W]
                    t_2 = x[i + 2, j:W] * x[i + 3, j:W]
                    t_3 = x[i + 3, j:W] * x[i + 4, j:W]
                    y[i, j:W] = (t * t + t) * t
                    y[i + 1, j:W] = (t_1 * t_1 + t_1) * t_1
                    y[i + 2, j:W] = (t_2 * t_2 + t_2) * t_2
                    y[i + 3, j:W] = (t_3 * t_3 + t_3) * t_3
            for i_2 in loop(max(end, 0) // 4 * 4, 4):
                for j_2 in vec(0, n, width=W):
                    t_5 = x[i_2, j_2:W] * x[i_2 + 1, j_2:W]
                    y[i_2, j_2:W] = (t_5 * t_5 + t_5) * t_5
    """
    if kernel.stops:  # stores would come before checks of earlier elements: see `Kernel`
        return kernel
    fresh = FreshNames(kernel)

    def visit(n: Any) -> Any:
        """`n` with the loops over rows in it jammed."""
        nest = _match_stencil_nest(n) if isinstance(n, Loop) else None
        if nest is None:
            return map_children(n, visit) if isinstance(n, _ENCLOSING) else n
        rows = _rows_of_stencil(nest, machine)
        is_legal = rows > 1 and can_run_in_lockstep(first_lane_code(n), kernel, rows)
        if not is_legal:
            return n
        return tuple(_jammed_rows(nest, rows, _end_of_near_rows(nest, kernel, machine), fresh))

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_ENCLOSING = (Kernel, Loop, If)

_MIN_ADDS_PER_LOAD = 2.0  # fewer: the stores to several rows dominate


@record(frozen=True, slots=True)
class _StencilNest:
    """A loop over rows around a vector loop along the row."""

    rows: Loop
    invariant: tuple[Stmt, ...]  # assignments in the body of `rows` that are equal in all rows
    before: tuple[Stmt, ...]  # the other assignments before the vector loop
    lanes: VecLoop


def _match_stencil_nest(rows: Loop) -> _StencilNest | None:
    """`rows` as a _StencilNest: assignments, then a vector loop of assignments and stores without
    accumulators; None if it is not one.
    """
    before, lanes = rows.body[:-1], rows.body[-1] if rows.body else None
    if rows.accs or not isinstance(lanes, VecLoop):
        return None
    if lanes.accs or lanes.until is not None or _is_remainder(rows):
        return None
    if any(isinstance(n, LoopLike | Store) for s in before for n in walk(s)):
        return None
    if not all(isinstance(s, Assign | Store) for s in lanes.body):
        return None
    names = Uniformity(first_lane_code(rows)).names
    invariant = tuple(s for s in before if not bound_names(s) & names)
    return _StencilNest(rows, invariant, tuple(s for s in before if s not in invariant), lanes)


def _is_remainder(loop: Loop) -> bool:
    """Whether `loop` starts where one over several iterations at a time ended, as at n // 4 * 4."""
    for e in walk(loop.range):
        match e:
            case Call("mul", (Call("floordiv", (_, Const() as divisor)), Const() as factor)):
                return divisor == factor
    return False


def _rows_of_stencil(n: _StencilNest, machine: Machine) -> int:
    """How many rows of a stencil to jam: 4, 2, or 1 for none.

    A stencil that reads rows i - 1, i and i + 1 loads 3 vectors for each row of results; four rows
    together load 6 in place of 12. The loads of all rows must fit in registers.
    """
    vectors = [x for x in walk(n.lanes) if getattr(x, "lanes", 1) != 1]
    offsets = {_row_offset(x, n) for x in vectors if isinstance(x, Load)}
    loads_of_row = [p for p in offsets if p is not None]
    if len(loads_of_row) < len(offsets):
        return 1  # which rows a load shares with others is not known
    # with less work the stores dominate, and those to several rows conflict; with more, the loads
    # do not matter
    work = sum(OPS[x.op].weight for x in vectors if isinstance(x, Call))
    least, most = (w * len(loads_of_row) for w in (_MIN_ADDS_PER_LOAD, EXPENSIVE_WEIGHT))
    if not least <= work <= most:
        return 1
    broadcasts = {x for x in vectors if isinstance(x, Broadcast)}
    for rows in (4, 2):
        loads = {(key, row + k) for key, row in loads_of_row for k in range(rows)}
        some_are_shared = len(loads) < rows * len(loads_of_row)
        if some_are_shared and len(loads) + len(broadcasts) + 2 <= machine.registers:
            return rows
    return 1


def _row_offset(x: Load, n: _StencilNest) -> tuple[Any, int] | None:
    """The position of `x` relative to its row (a key), and that row relative to the current one.
    None where `x` does not advance by one row with the loop.
    """
    forms = [affine_form(e, (n.rows.var, n.lanes.var)) for e in x.index]
    affine = [f for f in forms if f is not None]
    row_axes = [k for k, f in enumerate(affine) if f.coefficient(n.rows.var)]
    if (
        len(affine) < len(forms)
        or len(row_axes) != 1
        or affine[row_axes[0]].coefficient(n.rows.var) != 1
    ):
        return None
    row = affine[row_axes[0]]
    position = tuple(f - constant_form(f.constant) if f is row else f for f in affine)
    return (x.array, x.axis, x.step, position), row.constant


def _end_of_near_rows(n: _StencilNest, kernel: Kernel, machine: Machine) -> Expr | None:
    """The end of the loop over rows, or its start where its arrays don't fit in the L2 cache: from
    farther memory, rows come faster one by one, since a core's prefetchers follow few streams. None
    where it is the end for any size.
    """
    assert isinstance(n.rows.range, Interval)
    names = {x.array for x in walk(n.lanes) if isinstance(x, Load | Store)}
    arrays = [p for p in kernel.params if p.name in names and p.rank]
    if not arrays:
        return None
    size = reduce(
        index_add, (index_mul(element_count(p), DTYPES[p.dtype].bytes) for p in arrays)
    )
    is_near = logical_not(index_less(index_const(machine.caches[1]), size))
    return Call("select", (is_near, n.rows.range.hi, n.rows.range.lo), INDEX)


def _jammed_rows(
    n: _StencilNest, rows: int, end: Expr | None, fresh: FreshNames
) -> Iterator[Stmt]:
    """The jammed loops, with invariant assignments once at the start of the body."""
    whole = replace(n.rows, body=(*n.before, n.lanes))
    if end is not None:
        name = fresh.name("end")
        yield Assign(name, end)
        end = Var(name, INDEX)
    for loop in unroll_and_jam(whole, rows, fresh, end):
        assert isinstance(loop, Loop)
        simplified = bottom_up(loop, rewrite)
        complete = replace(simplified, body=(*n.invariant, *simplified.body))
        yield complete if isinstance(loop.range, RangeDesc) else fresh.copy(complete)
