"""Gather packing: loads that lanes would gather again in each iteration are gathered once."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...algebra.index_builder import is_nonempty
from ...analysis.mod_ref import AliasInfo, arrays_written
from ...ir_names import FreshNames, bound_names, names_read
from ...ir_traversal import declared_params, map_children
from ...lazy_dataclass import replace
from ...nodes import Expr, If, Interval, Kernel, Loop, Stmt, VecLoop
from ..loop_splitting import max_trips_of_strip
from .pack_operands import PackedPanels, gathered_loads, max_terms

__all__ = ["pack_gathers"]

_MIN_ITERATIONS = 4  # fewer iterations do not repay a panel


def pack_gathers(kernel: Kernel) -> Kernel:
    """Copy the elements that a short fold gathers to a panel, if the loop around the fold would
    gather the same ones in each iteration (`_GatherPacker.panels` decides). The panel is filled
    before that loop, in the vector loop around it. Before::

        def k(x: f64[:, ::1], q: f64[:, ::1], n: i64, out: mut(f64[::1])):
            disjoint(x, out)
            disjoint(q, out)
            if n < 32:
                for j in vec(0, q.shape[0], width=W):
                    for i in loop(0, x.shape[0], best=broadcast(f64("inf"), W)):
                        for k in loop(0, n, s=broadcast(0.0, W)):
                            s = step(s + broadcast(x[i, k], W) * q[j:W, k])
                        best = step(min(best, s))
                    out[j:W] = best

    after::

        def k(x: f64[:, ::1], q: f64[:, ::1], n: i64, out: mut(f64[::1])):
            disjoint(x, out)
            disjoint(q, out)
            if n < 32:
                for j in vec(0, q.shape[0], width=W):
                    q_1 = local(f64, 32, W)
                    if 0 < x.shape[0]:
                        for k_1 in loop(0, min(32, n)):
                            q_1[k_1, 0:W] = q[j:W, k_1]
                    for i in loop(0, x.shape[0], best=broadcast(f64("inf"), W)):
                        for k in loop(0, min(32, n), s=broadcast(0.0, W)):
                            s = step(s + broadcast(x[i, k], W) * q_1[k, 0:W])
                        best = step(min(best, s))
                    out[j:W] = best
    """
    packer = _GatherPacker(kernel)
    packed: Kernel = map_children(kernel, lambda n: packer.visit(n, ()))
    return packed


class _GatherPacker:
    """A walk over the kernel that tracks the conditions known to be true."""

    def __init__(self, kernel: Kernel) -> None:
        self.memory, self.fresh = AliasInfo(kernel), FreshNames(kernel)
        self.params = declared_params(kernel)

    def visit(self, n: Any, tests: tuple[Expr, ...]) -> Any:
        """`n` with the folds in vector loops packed; `tests`: the conditions known to be true."""
        match n:
            case If(cond, then, orelse):
                new_then = tuple(self.visit(s, (*tests, cond)) for s in then)
                new_orelse = tuple(self.visit(s, tests) for s in orelse)
                pairs = zip((*then, *orelse), (*new_then, *new_orelse), strict=True)
                return (
                    n
                    if all(a is b for a, b in pairs)
                    else replace(n, then=new_then, orelse=new_orelse)
                )
            case VecLoop():
                body = tuple(x for s in n.body for x in self.with_panels(s, tests))
                return n if len(body) == len(n.body) else replace(n, body=body)
            case Loop():
                return map_children(n, lambda c: self.visit(c, tests))
            case _:
                return n

    def with_panels(self, s: Stmt, tests: tuple[Expr, ...]) -> Iterator[Stmt]:
        """`s`, after loops that fill the panels of its folds, if it has an iteration."""
        if (
            not isinstance(s, Loop)
            or not isinstance(s.range, Interval)
            or _has_few_iterations(s.range)
        ):
            yield s
            return
        all_panels = [p for x in s.body if (p := self.panels(x, s, tests))]
        if not all_panels:
            yield s
            return
        for p in all_panels:
            yield from p.locals
        yield If(
            is_nonempty(s.range), tuple(x for p in all_panels for x in p.filled()), span=s.span
        )
        folds: dict[Stmt, Stmt] = {p.original: p.fold for p in all_panels}
        yield replace(s, body=tuple(folds.get(x, x) for x in s.body))

    def panels(self, fold: Stmt, rows: Loop, tests: tuple[Expr, ...]) -> PackedPanels | None:
        """Panels for the loads that `fold` gathers anew in each iteration of `rows`. None unless
        `fold` is short (`max_terms`) and has the same range in all these iterations, and
        there are such loads (`gathered_loads`) of arrays that `rows` does not store to.
        """
        limit = max_terms(fold, tests) if isinstance(fold, Loop) else None
        if not isinstance(fold, Loop) or limit is None:
            return None
        if (bound_names(rows) | {rows.var}) & names_read(fold.range):
            return None
        stores = arrays_written((rows,))
        gathers = gathered_loads(rows, (rows,), fold, self.params)
        loads = tuple(n for n in gathers if not self.memory.overlap((n.array,), stores))
        return PackedPanels(fold, loads, limit, self.fresh) if loads else None


def _has_few_iterations(r: Interval) -> bool:
    """Whether the trip count is a constant too small to repay a panel."""
    count = max_trips_of_strip(r)
    return count is not None and count < _MIN_ITERATIONS
