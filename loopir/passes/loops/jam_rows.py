"""Unroll-and-jam of stencil rows: neighbouring rows that load the same elements run together."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...algebra.rewrite_rules import rewrite
from ...analysis.affine import affine_form, constant_form
from ...analysis.uniformity import Uniformity, first_lane_code
from ...ir_names import FreshNames, bound_names
from ...ir_traversal import bottom_up, map_children, walk
from ...lazy_dataclass import record, replace
from ...machine_model import DEFAULT_MACHINE, Machine
from ...nodes import (
    Assign,
    Broadcast,
    Call,
    If,
    Kernel,
    Load,
    Loop,
    LoopLike,
    RangeDesc,
    Stmt,
    Store,
    VecLoop,
)
from ...op_table import OPS
from ..vector.vectorize_outer import can_run_in_lockstep
from .jam import EXPENSIVE_WEIGHT, unroll_and_jam

__all__ = ["jam_rows"]


def jam_rows(kernel: Kernel, *, machine: Machine = DEFAULT_MACHINE) -> Kernel:
    """Unroll a loop around a vector loop and fuse the copies, where they load the same elements.

    As many rows as keep all their loads in registers, and only with enough arithmetic per load:
    otherwise the stores dominate, and stores to several rows conflict. Before::

        def k(x: f64[:, ::1], n: i64, y: mut(f64[:, ::1])):
            disjoint(x, y)
            for i in loop(0, 4):
                for j in vec(0, n, width=W):
                    t = x[i, j:W] * x[i + 1, j:W]
                    y[i, j:W] = (t * t + t) * t

    after::

        def k(x: f64[:, ::1], n: i64, y: mut(f64[:, ::1])):
            disjoint(x, y)
            for i in loop(range(0, 1, 4)):
                for j in vec(0, n, width=W):
                    t = x[i, j:W] * x[i + 1, j:W]
                    t_1 = x[i + 1, j:W] * x[i + 2, j:W]
                    t_2 = x[i + 2, j:W] * x[i + 3, j:W]
                    t_3 = x[i + 3, j:W] * x[i + 4, j:W]
                    y[i, j:W] = (t * t + t) * t
                    y[i + 1, j:W] = (t_1 * t_1 + t_1) * t_1
                    y[i + 2, j:W] = (t_2 * t_2 + t_2) * t_2
                    y[i + 3, j:W] = (t_3 * t_3 + t_3) * t_3
    """
    if kernel.stops:
        return kernel
    fresh = FreshNames(kernel)

    def visit(n: Any) -> Any:
        nest = _match_stencil_nest(n) if isinstance(n, Loop) else None
        if nest is None:
            return map_children(n, visit) if isinstance(n, _ENCLOSING) else n
        rows = _jam_factor(nest, machine)
        legal = rows > 1 and can_run_in_lockstep(first_lane_code(n), kernel, rows)
        return tuple(_jammed_rows(nest, rows, fresh)) if legal else n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_ENCLOSING = (Kernel, Loop, If)

_MIN_ADDS_PER_LOAD = (
    2.0  # least additions per load, so that stores to several rows do not dominate
)


@record(frozen=True, slots=True)
class _StencilNest:
    """``rows`` around the vector loop ``lanes``; ``same``: invariant assignments in ``rows``;
    ``before``: the others.
    """

    rows: Loop
    same: tuple[Stmt, ...]
    before: tuple[Stmt, ...]
    lanes: VecLoop


def _match_stencil_nest(rows: Loop) -> _StencilNest | None:
    before, lanes = rows.body[:-1], rows.body[-1] if rows.body else None
    if rows.accs or not isinstance(lanes, VecLoop):
        return None
    if lanes.accs or lanes.until is not None or lanes.tail:
        return None
    if any(isinstance(n, LoopLike | Store) for s in before for n in walk(s)):
        return None
    if not all(isinstance(s, Assign | Store) for s in lanes.body):
        return None
    names = Uniformity(first_lane_code(rows)).names
    same = tuple(s for s in before if not bound_names(s) & names)
    return _StencilNest(rows, same, tuple(s for s in before if s not in same), lanes)


def _jam_factor(n: _StencilNest, machine: Machine) -> int:
    """How many rows to jam: their loads fit in registers, and some are shared; else 1."""
    vectors = [x for x in walk(n.lanes) if getattr(x, "lanes", 1) != 1]
    places = {_row_offset(x, n) for x in vectors if isinstance(x, Load)}
    work = sum(OPS[x.op].weight for x in vectors if isinstance(x, Call))
    known = [p for p in places if p is not None]
    if len(known) < len(places) or not _MIN_ADDS_PER_LOAD * len(
        known
    ) <= work <= EXPENSIVE_WEIGHT * len(known):
        return 1
    fixed = {x for x in vectors if isinstance(x, Broadcast)}
    for rows in (4, 2):
        loads = {(key, at + k) for key, at in known for k in range(rows)}
        if len(loads) < rows * len(known) and len(loads) + len(fixed) + 2 <= machine.registers:
            return rows
    return 1


def _row_offset(x: Load, n: _StencilNest) -> tuple[Any, int] | None:
    """The position of `x` apart from its row, and its row relative to the current one.

    None where `x` does not advance by one row with the loop.
    """
    forms = [affine_form(e, (n.rows.var, n.lanes.var)) for e in x.index]
    known = [f for f in forms if f is not None]
    moving = [k for k, f in enumerate(known) if f.coefficient(n.rows.var)]
    if len(known) < len(forms) or len(moving) != 1 or known[moving[0]].coefficient(n.rows.var) != 1:
        return None
    row = known[moving[0]]
    others = tuple(f - constant_form(f.constant) if f is row else f for f in known)
    return (x.array, x.axis, x.step, others), row.constant


def _jammed_rows(n: _StencilNest, rows: int, fresh: FreshNames) -> Iterator[Stmt]:
    """The jammed loops, with invariant assignments once at the start of the body."""
    for loop in unroll_and_jam(replace(n.rows, body=(*n.before, n.lanes)), rows, fresh):
        assert isinstance(loop, Loop)
        simple = bottom_up(loop, rewrite)
        whole = replace(simple, body=(*n.same, *simple.body))
        yield whole if isinstance(loop.range, RangeDesc) else fresh.copy(whole)
