"""Operand packing: what the lanes of short reductions gather is copied to contiguous panels.

A panel is a local array with one row of lanes for each term of the fold. `pack_operands` handles a
loop over rows around the vector loop, `pack_gathers` one inside it; both build panels with
`PackedPanels`.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_add, index_less, index_min, index_sub
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...analysis.uniformity import Uniformity, first_lane_code
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, substitute
from ...ir_traversal import bottom_up, counted_range, declared_params, map_children, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Assign,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    LoopLike,
    Param,
    Stmt,
    Store,
    Var,
    VecLoop,
)
from ..loop_splitting import max_trips_of_strip, strip_mine
from ..reduce.version_short_reductions import PANEL_LIMIT, SHORT_LIMIT
from ..vector.vectorize_outer import can_run_in_lockstep
from ..vector.widen import WIDTH

__all__ = ["PackedPanels", "gathered_loads", "max_terms", "pack_operands"]


def max_terms(fold: Loop, tests: tuple[Expr, ...]) -> int | None:
    """The limit of the terms of `fold` (`SHORT_LIMIT` or `PANEL_LIMIT`) if it is a plain reduction
    of no more, given that `tests` are true; else None.
    """
    counted = counted_range(fold)
    if counted is None or not all(isinstance(s, Assign) for s in fold.body):
        return None
    length = index_sub(counted.hi, counted.lo)
    if (max_trips_of_strip(counted) or SHORT_LIMIT + 1) <= SHORT_LIMIT:
        return SHORT_LIMIT
    return next((n for n in (SHORT_LIMIT, PANEL_LIMIT) if index_less(length, n) in tests), None)


def gathered_loads(
    rows: Loop, body: tuple[Stmt, ...], fold: Loop, params: dict[str, Param]
) -> Iterator[Load]:
    """The loads of `fold`, a loop in the vector loop with the statements `body`, that are worth a
    panel: each lane takes its element from another place in memory (a gather), and all iterations
    of the loop `rows` gather the same elements again. Each once.

        for i in loop(…):                                   y[j:W, k]: its lanes are in different
            for j in vec(…):                                rows of y, so it is a gather; and the
                for k in loop(0, n, s=…):                   same one for each i
                    s = step(s + broadcast(x[i, k], W) * y[j:W, k])

    ``params``: the parameters of the kernel, by name. `pack_operands` and `pack_gathers` ask this.
    """
    varying, row_names = Uniformity(first_lane_code(rows)), bound_names(fold, *body) - {fold.var}
    for n in dict.fromkeys(n for n in walk(fold) if isinstance(n, Load) and n.lanes != 1):
        is_gather = n.array in params and (params[n.array].unit, n.step) != (n.axis, 1)
        is_row_invariant = not varying.varies(*n.index) and not row_names & names_read(*n.index)
        differs_by_term = fold.var in names_read(*n.index)
        if is_gather and is_row_invariant and differs_by_term:
            yield n


class PackedPanels:
    """A panel for each of the `loads` of a fold of at most `limit` terms.

    ``original``: the fold as it was; ``fold``: the fold with loads from the panels; ``locals``: the
    declarations of the panels.
    """

    def __init__(
        self, fold: Loop, loads: tuple[Load, ...], limit: int, fresh: FreshNames
    ) -> None:
        assert isinstance(fold.range, Interval)
        self.original = fold
        self._terms, self._var, self._fresh = _bounded_range(fold.range, limit), fold.var, fresh
        self._panels = {x: fresh.name(x.array) for x in loads}
        self.fold = replace(bottom_up(fold, self._from_panel), range=self._terms)
        self.locals = [Local(p, x.dtype, limit, WIDTH) for x, p in self._panels.items()]

    def filled(self) -> Iterator[Loop]:
        """Loops that fill the panels."""
        for x, panel in self._panels.items():
            k = Var(self._fresh.name(self._var), INDEX)
            store = Store(panel, self._row(k), substitute(x, {self._var: k}), axis=1)
            yield Loop(k.name, self._terms, (store,))

    def _row(self, k: Expr) -> tuple[Expr, Expr]:
        """The subscripts of the first lane of term `k` in a panel."""
        return index_sub(k, self._terms.lo), index_const(0)

    def _from_panel(self, x: Any) -> Any:
        """A packed load, from its panel."""
        if not isinstance(x, Load) or x not in self._panels:
            return x
        return Load(self._panels[x], self._row(Var(self._var, INDEX)), x.dtype, x.lanes, axis=1)


def _bounded_range(r: Interval, limit: int) -> Interval:
    """The range `r`, known to have at most `limit` iterations, with an explicit bound."""
    if max_trips_of_strip(r) is not None:
        return r
    return Interval(r.lo, index_min(index_add(r.lo, limit), r.hi))


_STRIP_ROWS = 32  # rows per panel: few enough that the pages they write stay in the TLB
_LONG_STRIP_ROWS = 64  # the same for panels of many terms, which take longer to fill


def pack_operands(kernel: Kernel) -> Kernel:
    """Run short reductions in strips of rows: the vector loop goes around the rows of a strip, and
    what its lanes gather is copied to a panel once a strip, from which all its rows load. Before::

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
    if kernel.stops:  # stores would come before checks of earlier rows: see `Kernel`
        return kernel
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)
    params = declared_params(kernel)

    def visit(n: Any, tests: tuple[Expr, ...] = ()) -> Any:
        """`n` with the nests in it packed; `tests`: the conditions of the branches around it."""
        if isinstance(n, If):
            then = tuple(visit(s, (*tests, n.cond)) for s in n.then)
            orelse = tuple(visit(s, tests) for s in n.orelse)
            is_unchanged = all(
                a is b for a, b in zip((*n.then, *n.orelse), (*then, *orelse), strict=True)
            )
            return n if is_unchanged else replace(n, then=then, orelse=orelse)
        if isinstance(n, Loop):
            nest = _match_row_nest(n, tests, params)
            if nest and _is_legal(nest, memory, kernel):
                return _packed_nest(nest, fresh)
        return map_children(n, lambda c: visit(c, tests)) if isinstance(n, _ENCLOSING) else n

    return map_children(kernel, visit)


_ENCLOSING = (Loop, If)


@record(frozen=True, slots=True)
class _RowNest:
    """A loop over rows around a vector loop that has a short fold."""

    rows: Loop
    before: tuple[Stmt, ...]  # the statements of a row before the vector loop
    lanes: VecLoop
    fold: Loop  # in the body of `lanes`
    gathers: tuple[Load, ...]  # what the fold gathers, invariant in `rows`
    limit: int  # the fold has no more terms


def _match_row_nest(
    rows: Loop, tests: tuple[Expr, ...], params: dict[str, Param]
) -> _RowNest | None:
    """`rows` as a _RowNest that has something to pack; None unless all of this holds:

    - its last statement is a vector loop without accumulators and exit, with no loop or store
      before it;
    - the vector loop has one loop in it, a short reduction, among assignments and stores;
    - that reduction gathers what all rows need (`gathered_loads`).
    """
    before, lanes = rows.body[:-1], rows.body[-1] if rows.body else None
    if not isinstance(lanes, VecLoop) or lanes.accs or lanes.until is not None:
        return None
    if any(isinstance(n, LoopLike | Store) for s in before for n in walk(s)):
        return None
    inner_loops = [n for s in lanes.body for n in walk(s) if isinstance(n, LoopLike)]
    fold = next((s for s in lanes.body if inner_loops == [s]), None)
    limit = max_terms(fold, tests) if isinstance(fold, Loop) else None
    if not isinstance(fold, Loop) or limit is None:
        return None
    if not all(isinstance(s, Assign | Store | Loop) for s in lanes.body):
        return None
    gathers = tuple(gathered_loads(rows, lanes.body, fold, params))
    return _RowNest(rows, before, lanes, fold, gathers, limit) if gathers else None


def _is_legal(n: _RowNest, memory: AliasInfo, kernel: Kernel) -> bool:
    """Whether rows may be interleaved, and what they read is not stored by other rows."""
    stores = arrays_written((n.lanes,))
    row_names = bound_names(*n.rows.body) | {n.rows.var}
    return (
        can_run_in_lockstep(first_lane_code(n.rows), kernel, _STRIP_ROWS)
        and not row_names & names_read(n.lanes.range)
        and not (row_names | {n.lanes.var}) & names_read(n.fold.range)
        and not memory.overlap(stores, (*arrays_read(n.before), *(x.array for x in n.gathers)))
    )


def _packed_nest(n: _RowNest, fresh: FreshNames) -> Loop:
    """The loop over strips of rows around the vector loop, which fills the panels and runs the rows
    of the strip.
    """
    panels = PackedPanels(n.fold, n.gathers, n.limit, fresh)
    packing = (s for pair in zip(panels.locals, panels.filled(), strict=True) for s in pair)
    lane_body = tuple(panels.fold if s is n.fold else s for s in n.lanes.body)
    strip = Var(fresh.name(n.rows.var), INDEX)
    strip_rows = _STRIP_ROWS if n.limit == SHORT_LIMIT else _LONG_STRIP_ROWS
    strips, rows_of_strip = strip_mine(n.rows.range, strip_rows, strip)
    rows = replace(n.rows, range=rows_of_strip, body=(*n.before, *lane_body))
    lanes = replace(n.lanes, body=(*packing, rows))
    return replace(n.rows, var=strip.name, range=strips, body=(lanes,))
