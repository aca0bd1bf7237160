"""Random loops of Loop IR with accumulators that are no folds: extrema and the places of these."""
from __future__ import annotations

from abc import abstractmethod

from hypothesis import strategies as st
from kernels_blocks import Block, Blocks
from kernels_exprs import I64, call, integer

from loopir import nodes as ir

__all__ = ["Carried"]


class Carried(Blocks):
    """Draws loops whose accumulators are no folds."""

    @abstractmethod
    def shown(self, value: ir.Expr, name: str) -> ir.Stmt:
        """A store of a result."""

    def placed(self, end: ir.Var, depth: int) -> Block:
        """A loop that looks for extrema, with what follows each."""
        outside = list(self.names)
        numbers = [d for d in self.dtypes if d != "bool"] or [I64]
        dtypes = [self.one_of(*numbers) for _ in range(self.draw(st.integers(1, 2)))]
        inits = [self.expr(d, 1) for d in dtypes]
        var, tidy = ir.Var(self.name("i"), I64), self.tidy
        self.loops.append((var, end, 0))
        self.tidy = True
        found = [self.extremum(d, init, var) for d, init in zip(dtypes, inits, strict=True)]
        self.loops.pop()
        self.tidy, self.names = tidy, outside
        body = tuple(s for stmts, _ in found for s in stmts)
        accs = tuple(a for _, several in found for a in several)
        seen = [self.shown(ir.Var(a.name, a.init.dtype), a.name) for a in accs]
        return (ir.Loop(var.name, ir.Interval(integer(0), end), body, accs), *seen)

    def extremum(
        self, dtype: str, init: ir.Expr, var: ir.Var
    ) -> tuple[list[ir.Stmt], list[ir.Accum]]:
        term = ir.Assign(self.name("t"), self.expr(dtype, 1))
        value, acc = ir.Var(term.name, dtype), ir.Var(self.name("s"), dtype)
        place = ir.Var(self.name("k"), I64)
        pair = (value, acc) if self.chance(2) else (acc, value)
        test: ir.Expr = call(self.one_of("lt", "le", "gt", "ge"), *pair)
        if self.chance(3):
            test = call("and", self.expr("bool", 1), test)
        mask = ir.Assign(self.name("m"), test)
        wins = ir.Var(mask.name, "bool")
        steps: list[ir.Expr] = [call("select", wins, *x) for x in ((value, acc), (var, place))]
        body: list[ir.Stmt] = [term, mask]
        if self.chance(2):
            names = [self.name("y") for _ in steps]
            gives = zip(names, (value, var), (acc, place), strict=True)
            body = [term, ir.If(test, (), (), tuple(ir.Yield(*g) for g in gives))]
            steps = [ir.Var(n, e.dtype) for n, e in zip(names, (acc, place), strict=True)]
        starts = (init, integer(-1))
        accs = zip((acc, place), starts, steps, strict=True)
        return body, [ir.Accum(a.name, start, step) for a, start, step in accs]

    def ran(self, end: ir.Var, depth: int) -> Block:
        """A loop that stores what folds come to on their way."""
        outside, tidy = list(self.names), self.tidy
        dtypes = [self.dtype() for _ in range(self.draw(st.integers(1, 2)))]
        accs = [ir.Var(self.name("s"), d) for d in dtypes]
        inits = [self.expr(d, 1) for d in dtypes]
        var = ir.Var(self.name("i"), I64)
        self.loops.append((var, end, 0))
        self.tidy = True
        body: list[ir.Stmt] = []
        steps: list[ir.Expr] = []
        for acc in accs:
            only = self.expr("bool", 1) if self.chance(4) else None
            taken = call(self.fold_op(acc.dtype), acc, self.expr(acc.dtype, 1))
            step = call("select", only, taken, acc) if only else taken
            now = ir.Assign(self.name("t"), step)
            value = self.one_of(ir.Var(now.name, acc.dtype), acc)
            body += [now, *self.kept(value)] if self.chance(2) else [*self.kept(acc), now]
            steps.append(ir.Var(now.name, acc.dtype))
        self.loops.pop()
        self.tidy, self.names = tidy, outside
        carried = [ir.Accum(a.name, i, s) for a, i, s in zip(accs, inits, steps, strict=True)]
        seen = [self.shown(a, a.name) for a in accs]
        rng = ir.Interval(integer(0), end)
        return (ir.Loop(var.name, rng, tuple(body), tuple(carried)), *seen)

    def kept(self, value: ir.Expr) -> Block:
        """Stores of a value, and of something that depends on it."""
        p, index = self.place(value.dtype)
        q, other = self.place(value.dtype)
        more = self.expr(value.dtype, 1)
        op = "or" if value.dtype == "bool" else "add"
        return (ir.Store(p.name, index, value), ir.Store(q.name, other, call(op, value, more)))

    @abstractmethod
    def fold_op(self, dtype: str) -> str:
        """An operation that reduces."""
