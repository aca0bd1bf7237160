"""Random statements of Loop IR, of random expressions: the middle layer of the random kernels."""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TypeAlias

from hypothesis import strategies as st
from kernels_exprs import ROWS, Exprs, integer

from loopir import nodes as ir

__all__ = ["Block", "Blocks"]

Block: TypeAlias = "tuple[ir.Stmt, ...]"


class Blocks(Exprs):
    """Draws statements. Each method makes a few that belong together."""

    @abstractmethod
    def loop(self, depth: int) -> Block:
        """A loop in what has been drawn, and stores of what it came to."""

    def block(self, depth: int, most: int = 3) -> Block:
        made = [self.stmts(depth) for _ in range(self.draw(st.integers(1, most)))]
        return tuple(s for some in made for s in some)

    def stmts(self, depth: int) -> Block:
        kinds = [self.assign, self.store, self.store, self.append, self.check]
        if depth and self.lanes == 1:
            kinds += [lambda: self.branch(depth - 1)] * 2
            if len(self.loops) == 1:
                kinds.append(lambda: self.loop(0))
        return self.one_of(*kinds)()

    def assign(self) -> Block:
        value = self.expr(self.dtype(), 3)
        return (ir.Assign(self.bind("t", value).name, value),)

    def store(self) -> Block:
        value = self.expr(self.dtype(), 3)
        mask = self.expr("bool", 1) if self.chance(6) else None
        p, index = self.place(value.dtype)
        axis = 0 if self.lanes == 1 else len(index) - 1
        return (ir.Store(p.name, index, value, mask, axis),)

    def place(self, dtype: str) -> tuple[ir.Param, tuple[ir.Expr, ...]]:
        """Where to store: anywhere, or where a tidy loop's iterations are apart."""
        rank = self.one_of(1, 1, 1, 2)
        if not self.tidy:
            return self.array(dtype, rank, written=True), self.subscripts(rank)
        p = ir.Param(self.name("o"), dtype, rank, self.one_of(None, rank - 1), True)
        self.params.append(p)
        rows = [var for var, end, _ in self.loops[:-1] if end == ROWS]
        return p, (*rows, integer(0), self.loops[-1][0])[-rank:]

    def append(self) -> Block:
        if self.counter is None:
            return self.store()
        value, mask = self.expr(self.dtype(), 2), self.expr("bool", 1) if self.chance(3) else None
        p = ir.Param(self.name("kept"), value.dtype, 1, 0, True)
        self.params.append(p)
        counter, self.counter = self.counter, None  # an array has a counter of its own
        self.counts[p.name] = f"{counter.name}_out"
        return (ir.Append(p.name, counter.name, value, mask),)

    def check(self) -> Block:
        if self.loops and not self.tidy and self.chance(4):
            return (ir.Break(self.expr("bool", 1)),)
        return (ir.Check(self.expr("bool", 2), "replay"),) if self.chance(3) else self.store()

    def branch(self, depth: int) -> Block:
        cond = self.expr("bool", 2)
        gives = [self.dtype() for _ in range(self.draw(st.integers(0, 2)))]
        then, a = self.arm(depth, gives)
        orelse, b = self.arm(depth, gives) if gives or self.chance(2) else ((), [])
        if self.chance(3):
            (then, a), (orelse, b) = self.ending((then, a), (orelse, b))
        names = [self.name("y") for _ in gives]
        self.names += [ir.Var(n, d) for n, d in zip(names, gives, strict=True)]
        return (ir.If(cond, then, orelse, tuple(map(ir.Yield, names, a, b))),)

    def ending(self, *arms: tuple[Block, list[ir.Expr]]) -> Iterator[tuple[Block, list[ir.Expr]]]:
        """Both arms store to one place in the end, and may give what they stored."""
        p, index = self.place(self.dtype())
        load = ir.Load(p.name, index, p.dtype)
        for body, values in arms:
            store = ir.Store(p.name, index, self.expr(p.dtype, 2))
            stored = [load if v.dtype == p.dtype and self.chance(2) else v for v in values]
            yield (*body, store), stored

    def arm(self, depth: int, gives: list[str]) -> tuple[Block, list[ir.Expr]]:
        outside = list(self.names)
        body = self.block(depth, 2) if not gives or self.chance(2) else ()
        values = [self.expr(d, 2) for d in gives]
        self.names = outside
        return body, values
