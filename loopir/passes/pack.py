"""Packing: what the lanes of short folds gather is laid side by side, once for some rows."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..analysis.memory import Memory, loaded, written
from ..names import Fresh, bound, reads
from ..nodes import (
    Assign,
    Expr,
    If,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Param,
    Stmt,
    Store,
    Var,
    VecLoop,
)
from ..record import record
from ..tree import map_children, walk
from ..types import INDEX
from .jam import one_lane
from .panels import Panels, gathers, is_short
from .strip_mine import strip_mine
from .vectorize_outer import may_run_together

__all__ = ["pack"]

_ROWS = 32  # for which a panel serves: few enough that the pages they write are at hand


def pack(kernel: Kernel) -> Kernel:
    """Rows take turns in strips of the vector loop, and load from a panel what all gather. Before::

        def k(x: f64[:, ::1], y: f64[:, ::1], n: i64, out: mut(f64[:, ::1])):
            disjoint(x, out)
            disjoint(y, out)
            if n < 32:
                for i in loop(0, x.shape[0]):
                    for j in vec(0, y.shape[0], width=W):
                        for k in loop(0, n, s=broadcast(0.0, W)):
                            s = step(s + broadcast(x[i, k], W) * y[j:W, k])
                        out[i, j:W] = s

    after::

        def k(x: f64[:, ::1], y: f64[:, ::1], n: i64, out: mut(f64[:, ::1])):
            disjoint(x, out)
            disjoint(y, out)
            if n < 32:
                for i_1 in loop(range(0, x.shape[0], 32)):
                    for j in vec(0, y.shape[0], width=W):
                        y_1 = local(f64, 32, W)
                        for k_1 in loop(0, min(32, n)):
                            y_1[k_1, 0:W] = y[j:W, k_1]
                        for i in loop(i_1, min(i_1 + 32, x.shape[0])):
                            for k in loop(0, min(32, n), s=broadcast(0.0, W)):
                                s = step(s + broadcast(x[i, k], W) * y_1[k, 0:W])
                            out[i, j:W] = s
    """
    if kernel.stops:
        return kernel
    memory, fresh = Memory(kernel), Fresh(kernel)
    params = {p.name: p for p in kernel.params}

    def visit(n: Any, tests: tuple[Expr, ...] = ()) -> Any:
        if isinstance(n, If):
            then = tuple(visit(s, (*tests, n.cond)) for s in n.then)
            orelse = tuple(visit(s, tests) for s in n.orelse)
            same = all(a is b for a, b in zip((*n.then, *n.orelse), (*then, *orelse), strict=True))
            return n if same else replace(n, then=then, orelse=orelse)
        if isinstance(n, Loop):
            nest = _nest(n, tests, params)
            if nest and _is_legal(nest, memory, kernel):
                return _packed(nest, fresh)
        return map_children(n, lambda c: visit(c, tests)) if isinstance(n, _AROUND) else n

    return map_children(kernel, visit)


_AROUND = (Loop, If)


@record(frozen=True, slots=True)
class _Nest:
    """``rows`` around ``lanes``, with ``before`` what is done once a row; ``gathers``: what the
    ``fold`` in these loads for each row anew.
    """

    rows: Loop
    before: tuple[Stmt, ...]
    lanes: VecLoop
    fold: Loop
    gathers: tuple[Load, ...]


def _nest(rows: Loop, tests: tuple[Expr, ...], params: dict[str, Param]) -> _Nest | None:
    before, lanes = rows.body[:-1], rows.body[-1] if rows.body else None
    if not isinstance(lanes, VecLoop) or lanes.accs or lanes.until is not None or lanes.tail:
        return None
    if any(isinstance(n, LoopLike | Store) for s in before for n in walk(s)):
        return None
    inside = [n for s in lanes.body for n in walk(s) if isinstance(n, LoopLike)]
    fold = next((s for s in lanes.body if inside == [s]), None)
    if not isinstance(fold, Loop) or not is_short(fold, tests):
        return None
    if not all(isinstance(s, Assign | Store | Loop) for s in lanes.body):
        return None
    shared = tuple(gathers(rows, lanes.body, fold, params))
    return _Nest(rows, before, lanes, fold, shared) if shared else None


def _is_legal(n: _Nest, memory: Memory, kernel: Kernel) -> bool:
    """Whether neither the rows nor what is done before each of them see what others store."""
    stores = written((n.lanes,))
    inside = bound(*n.rows.body) | {n.rows.var}
    return (
        may_run_together(one_lane(n.rows), kernel, _ROWS)
        and not inside & reads(n.lanes.range)
        and not (inside | {n.lanes.var}) & reads(n.fold.range)
        and not memory.overlap(stores, (*loaded(n.before), *(x.array for x in n.gathers)))
    )


def _packed(n: _Nest, fresh: Fresh) -> Loop:
    panels = Panels(n.fold, n.gathers, fresh)
    packing = (s for pair in zip(panels.locals, panels.filled(), strict=True) for s in pair)
    inside = tuple(panels.fold if s is n.fold else s for s in n.lanes.body)
    strip = Var(fresh.name(n.rows.var), INDEX)
    strips, some = strip_mine(n.rows.range, _ROWS, strip)
    rows = replace(n.rows, range=some, body=(*n.before, *inside))
    lanes = replace(n.lanes, body=(*packing, rows))
    return replace(n.rows, var=strip.name, range=strips, body=(lanes,))
