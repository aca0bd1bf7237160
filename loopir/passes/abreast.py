"""Rows abreast: neighbouring rows of a stencil are taken together, for they load the same."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..algebra.rules import rewrite
from ..analysis.affine import affine, constant
from ..analysis.varying import Varying
from ..machine import COMMON, Machine
from ..names import Fresh, bound
from ..nodes import (
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
from ..ops import OPS
from ..record import record
from ..tree import bottom_up, map_children, walk
from .jam import DEAR, jammed, one_lane
from .vectorize_outer import may_run_together

__all__ = ["abreast"]


def abreast(kernel: Kernel, *, machine: Machine = COMMON) -> Kernel:
    """Iterations of a loop around a vector loop run side by side where they load the same elements.

    As many as have registers for all that they load, where enough is done with it: otherwise stores
    count, and those of several rows are in each other's way. Before::

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
    fresh = Fresh(kernel)

    def visit(n: Any) -> Any:
        nest = _nest(n) if isinstance(n, Loop) else None
        if nest is None:
            return map_children(n, visit) if isinstance(n, _AROUND) else n
        rows = _rows(nest, machine)
        legal = rows > 1 and may_run_together(one_lane(n), kernel, rows)
        return tuple(_together(nest, rows, fresh)) if legal else n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_AROUND = (Kernel, Loop, If)

_ENOUGH = 2.0  # additions for each load from which the stores of several rows do not matter


@record(frozen=True, slots=True)
class _Nest:
    """``rows`` around ``lanes`` alone, with ``before``, of which ``same`` is so in each row."""

    rows: Loop
    same: tuple[Stmt, ...]
    before: tuple[Stmt, ...]
    lanes: VecLoop


def _nest(rows: Loop) -> _Nest | None:
    before, lanes = rows.body[:-1], rows.body[-1] if rows.body else None
    if rows.accs or not isinstance(lanes, VecLoop):
        return None
    if lanes.accs or lanes.until is not None or lanes.tail:
        return None
    if any(isinstance(n, LoopLike | Store) for s in before for n in walk(s)):
        return None
    if not all(isinstance(s, Assign | Store) for s in lanes.body):
        return None
    names = Varying(one_lane(rows)).names
    same = tuple(s for s in before if not bound(s) & names)
    return _Nest(rows, same, tuple(s for s in before if s not in same), lanes)


def _rows(n: _Nest, machine: Machine) -> int:
    """How many rows to take at once: what they load has registers, and some of it they share."""
    vectors = [x for x in walk(n.lanes) if getattr(x, "lanes", 1) != 1]
    places = {_place(x, n) for x in vectors if isinstance(x, Load)}
    work = sum(OPS[x.op].weight for x in vectors if isinstance(x, Call))
    known = [p for p in places if p is not None]
    if len(known) < len(places) or not _ENOUGH * len(known) <= work <= DEAR * len(known):
        return 1
    fixed = {x for x in vectors if isinstance(x, Broadcast)}
    for rows in (4, 2):
        loads = {(key, at + k) for key, at in known for k in range(rows)}
        if len(loads) < rows * len(known) and len(loads) + len(fixed) + 2 <= machine.registers:
            return rows
    return 1


def _place(x: Load, n: _Nest) -> tuple[Any, int] | None:
    """Where `x` lies but for its row, and which row that is, from the one at hand; None where it
    does not go from row to row.
    """
    forms = [affine(e, (n.rows.var, n.lanes.var)) for e in x.index]
    known = [f for f in forms if f is not None]
    moving = [k for k, f in enumerate(known) if f.coefficient(n.rows.var)]
    if len(known) < len(forms) or len(moving) != 1 or known[moving[0]].coefficient(n.rows.var) != 1:
        return None
    row = known[moving[0]]
    others = tuple(f - constant(f.offset) if f is row else f for f in known)
    return (x.array, x.axis, x.step, others), row.offset


def _together(n: _Nest, rows: int, fresh: Fresh) -> Iterator[Stmt]:
    """What is the same for all rows stands before those at hand, once."""
    for loop in jammed(replace(n.rows, body=(*n.before, n.lanes)), rows, fresh):
        assert isinstance(loop, Loop)
        simple = bottom_up(loop, rewrite)
        whole = replace(simple, body=(*n.same, *simple.body))
        yield whole if isinstance(loop.range, RangeDesc) else fresh.copy(whole)
