"""Gathered once: what lanes would gather again in each turn of a loop that they run together."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..algebra.index import runs
from ..analysis.memory import Memory, written
from ..names import Fresh, bound, reads
from ..nodes import Expr, If, Interval, Kernel, Loop, Stmt, VecLoop
from ..tree import map_children
from .panels import Panels, gathers, is_short
from .strip_mine import longest

__all__ = ["gathered"]

_FEW = 4  # turns for which a panel is not worth while


def gathered(kernel: Kernel) -> Kernel:
    """Short folds in a loop inside a vector loop load what does not change in the loop from a
    panel. Before::

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
    work = _Gathering(kernel)
    made: Kernel = map_children(kernel, lambda n: work.visit(n, ()))
    return made


class _Gathering:
    """Goes through a kernel, with the conditions that hold."""

    def __init__(self, kernel: Kernel) -> None:
        self.memory, self.fresh = Memory(kernel), Fresh(kernel)
        self.params = {p.name: p for p in kernel.params}

    def visit(self, n: Any, tests: tuple[Expr, ...]) -> Any:
        match n:
            case If(cond, then, orelse):
                yes = tuple(self.visit(s, (*tests, cond)) for s in then)
                no = tuple(self.visit(s, tests) for s in orelse)
                pairs = zip((*then, *orelse), (*yes, *no), strict=True)
                return n if all(a is b for a, b in pairs) else replace(n, then=yes, orelse=no)
            case VecLoop():
                body = tuple(x for s in n.body for x in self.once(s, tests))
                return n if len(body) == len(n.body) else replace(n, body=body)
            case Loop():
                return map_children(n, lambda c: self.visit(c, tests))
            case _:
                return n

    def once(self, s: Stmt, tests: tuple[Expr, ...]) -> Iterator[Stmt]:
        """`s`, ahead of which what its folds gather is gathered, if it runs at all."""
        if not isinstance(s, Loop) or not isinstance(s.range, Interval) or _is_brief(s.range):
            yield s
            return
        found = [p for x in s.body if (p := self.panels(x, s, tests))]
        if not found:
            yield s
            return
        for p in found:
            yield from p.locals
        yield If(runs(s.range), tuple(x for p in found for x in p.filled()), span=s.span)
        folds: dict[Stmt, Stmt] = {p.old: p.fold for p in found}
        yield replace(s, body=tuple(folds.get(x, x) for x in s.body))

    def panels(self, fold: Stmt, rows: Loop, tests: tuple[Expr, ...]) -> Panels | None:
        """Those of what `fold` gathers in each turn of `rows` anew."""
        if not isinstance(fold, Loop) or not is_short(fold, tests):
            return None
        if (bound(rows) | {rows.var}) & reads(fold.range):
            return None
        stores = written((rows,))
        found = gathers(rows, (rows,), fold, self.params)
        loads = tuple(n for n in found if not self.memory.overlap((n.array,), stores))
        return Panels(fold, loads, self.fresh) if loads else None


def _is_brief(r: Interval) -> bool:
    count = longest(r)
    return count is not None and count < _FEW
