"""Scalar replacement: an element that every iteration updates lives in a name, not in memory."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..names import bound
from ..nodes import (
    Accum,
    Assign,
    Break,
    Call,
    Check,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Return,
    Scan,
    Stmt,
    Store,
    Var,
    Yield,
)
from ..tree import bottom_up, walk
from .blocks import map_stmts
from .memory import Memory, loaded, written
from .names import Fresh, reads
from .rules import rewrite

__all__ = ["promote"]

_NOT_PLAIN = (LoopLike, Scan, Break, Return, Check)


def promote(kernel: Kernel) -> Kernel:
    """An element updated in place becomes an accumulator, stored once behind the loop. Before::

        def k(x: f64[:, ::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                for j in loop(0, x.shape[1]):
                    out[i] = out[i] + x[i, j]

    after::

        def k(x: f64[:, ::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                if 0 < x.shape[1]:
                    out_i = out[i]
                    for j in loop(0, x.shape[1], out_i_1=out_i):
                        out_1 = out_i_1 + x[i, j]
                        out_i_1 = step(out_1)
                    out[i] = out_i_1

    A kernel that may stop on its way stores as Python would, one by one; and what is checked as it
    goes, such as integers that may overflow, is summed in Python's order.
    """
    if kernel.stops:
        return kernel
    memory, fresh = Memory(kernel), Fresh(kernel)

    def edit(s: Stmt) -> Stmt:
        place = _updated(s, memory) if isinstance(s, Loop) else None
        return _Promoted(place, fresh).loop(s) if isinstance(s, Loop) and place else s

    return map_stmts(kernel, edit)


def _updated(loop: Loop, memory: Memory) -> Load | None:
    """The one element that `loop` reads and writes and that no other access in it may touch."""
    nodes = [n for s in loop.body for n in walk(s)]
    plain = not any(isinstance(n, _NOT_PLAIN) for n in nodes)
    if loop.accs or loop.until or not isinstance(loop.range, Interval) or not plain:
        return None
    stores = [n for n in nodes if isinstance(n, Store)]
    loads = {n for n in nodes if isinstance(n, Load)}
    inside = bound(*loop.body)
    for store in stores:
        place = Load(store.array, store.index, store.value.dtype)
        same = [n for n in stores if n.array == store.array]
        steady = not reads(*store.index) & (inside | {loop.var}) and not loaded(store.index)
        alone = all(n.index == store.index and n.mask is None for n in same)
        others = {n.array for n in loads if (n.array, n.index) != (place.array, place.index)}
        others |= written(loop.body) - {store.array}
        known = any((n.array, n.index) == (place.array, place.index) for n in loads)
        if steady and alone and known and not memory.overlap((store.array,), others):
            return place
    return None


class _Promoted:
    """The rewriting of one loop: ``now`` is what the element holds."""

    def __init__(self, place: Load, fresh: Fresh) -> None:
        self.place, self.fresh = place, fresh
        self.now: Expr = place

    def loop(self, s: Loop) -> Stmt:
        assert isinstance(s.range, Interval)
        name = "_".join([self.place.array, *sorted(reads(*self.place.index))])
        before, acc = self.fresh.name(name), self.fresh.name(name)
        self.now = Var(acc, self.place.dtype)
        body = self.block(s.body)
        start = Assign(before, self.place, span=s.span)
        step = Accum(acc, Var(before, self.place.dtype), self.now)
        end = Store(self.place.array, self.place.index, Var(acc, self.place.dtype), span=s.span)
        runs = rewrite(Call("lt", (s.range.lo, s.range.hi), "bool"))
        return If(runs, (start, replace(s, body=body, accs=(step,)), end), (), (), span=s.span)

    def block(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(self.stmt(s) for s in stmts)

    def stmt(self, s: Stmt) -> Stmt:
        match s:
            case Store(array=array) if array == self.place.array:
                return self.held(self.expr(s.value), s)
            case If():
                return self.branch(s)
        done: Stmt = self.expr(s)
        return done

    def held(self, value: Expr, s: Store) -> Assign:
        name = self.fresh.name(self.place.array)
        self.now = Var(name, value.dtype)
        return Assign(name, value, span=s.span)

    def branch(self, s: If) -> If:
        cond, before = self.expr(s.cond), self.now
        then = self.block(s.then)
        gives, after = [self.expr(y.then) for y in s.yields], self.now
        self.now = before
        orelse = self.block(s.orelse)
        yields = [
            replace(y, then=a, orelse=self.expr(y.orelse))
            for y, a in zip(s.yields, gives, strict=True)
        ]
        if (after, self.now) != (before, before):
            name = self.fresh.name(self.place.array)
            yields.append(Yield(name, after, self.now))
            self.now = Var(name, self.place.dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def expr(self, e: Any) -> Any:
        """`e` with the name in place of the element."""
        place = (self.place.array, self.place.index)
        return bottom_up(
            e, lambda n: self.now if isinstance(n, Load) and (n.array, n.index) == place else n
        )
