"""Statements as MLIR: what changes on the way is a value that regions yield.

A `break`, a `return` or a check that stops makes a flag, and the rest of the block a branch on it.
"""
from __future__ import annotations

from loopir import nodes as ir
from loopir.exhaustive import unhandled
from loopir.ops import STATUS
from loopir.types import INDEX

from .loops import Loops
from .state import GO, OFF, ON, RETURNED, STATE, Values

__all__ = ["Statements"]


class Statements(Loops):
    """The text of a kernel's body."""

    def block(self, body: tuple[ir.Stmt, ...], done: Values, left: Values) -> list[str]:
        """What `done` gives at the end of `body`; what `left` gives where it is left before."""
        for k, s in enumerate(body):
            if isinstance(s, ir.Return):
                self.names |= {GO: self.constant(OFF), RETURNED: self.constant(ON)}
                return left()
            self.statement(s)
            if GO in self.names:
                return self.onward(body[k + 1 :], done, left)
        return done()

    def onward(self, rest: tuple[ir.Stmt, ...], done: Values, left: Values) -> list[str]:
        """The rest of a block, where it goes on."""

        def going() -> list[str]:
            del self.names[GO]
            return self.block(rest, done, left)

        return self.choose(self.names[GO], going, left)

    def statement(self, s: ir.Stmt) -> None:
        match s:
            case ir.Assign(name, value):
                self.names[name] = self.value(value)
            case ir.Store():
                self.where(s.mask, lambda: self.store(s.array, s.index, s.value), [])
            case ir.Append():
                at = ir.Var(s.count, INDEX)
                more = ir.Call("add", (at, ir.Const(1, INDEX)), INDEX)
                self.where(
                    s.mask,
                    lambda: [*self.store(s.array, (at,), s.value), self.value(more)],
                    [s.count],
                )
            case ir.Check(cond, code):
                self.check(self.value(cond), code)
            case ir.If():
                self.branch(s)
            case ir.Break(cond):
                self.names[GO] = self.negated(self.value(cond))
            case ir.Return():
                raise AssertionError("block() ends there")
            case ir.Loop():
                self.loop(s)
            case ir.Zip(var, streams, rng, body, accs):
                at = ir.Var(var, INDEX)
                reads = [ir.Assign(x.name, ir.Load(x.array, (at,), x.dtype)) for x in streams]
                self.loop(ir.Loop(var, rng, (*reads, *body), accs))
            case ir.Scan(var, rng, op, acc, init, value, array):
                dtype = value.dtype
                new = ir.Var(f"{acc}$new", dtype)
                step = ir.Assign(new.name, ir.Call(op, (ir.Var(acc, dtype), value), dtype))
                kept = ir.Store(array, (ir.Var(var, INDEX),), new)
                self.loop(ir.Loop(var, rng, (step, kept), (ir.Accum(acc, init, new),)))
            case ir.While():
                self.repeated(s)
            case ir.VecLoop() | ir.PredLoop() | ir.Prefix() | ir.Local() | ir.Bits():
                raise AssertionError(f"not scalar: {s!r}")
            case _:
                unhandled(s)

    def where(self, mask: ir.Expr | None, act: Values, names: list[str]) -> None:
        """`act`, where `mask` holds, gives these names their values."""
        kept = self.state(names)
        values = act() if mask is None else self.choose(self.value(mask), act, lambda: kept)
        self.names.update(zip(names, values, strict=True))

    def store(self, array: str, index: tuple[ir.Expr, ...], value: ir.Expr) -> list[str]:
        given = self.value(value)
        at, type_ = self.element(array, index)
        self.lines.append(f"memref.store {given}, {at} : {type_}")
        return []

    def check(self, held: str, code: str) -> None:
        status = self.names[STATE]
        gained = self.call("bitor", (status, self.integer(STATUS[code])), INDEX, INDEX)
        self.names[STATE] = self.call("select", (held, status, gained), INDEX, INDEX)
        if self.kernel.stops and code == "replay":
            self.names |= {GO: held, RETURNED: self.negated(held)}

    def branch(self, s: ir.If) -> None:
        changed = self.changed((*s.then, *s.orelse))

        def side(body: tuple[ir.Stmt, ...], given: list[ir.Expr]) -> list[str]:
            none = [ir.Const(0, e.dtype) for e in given]
            return self.block(
                body,
                lambda: [*map(self.value, given), *self.state(changed)],
                lambda: [*map(self.value, none), *self.state(changed)],
            )

        values = self.choose(
            self.value(s.cond),
            lambda: side(s.then, [y.then for y in s.yields]),
            lambda: side(s.orelse, [y.orelse for y in s.yields]),
        )
        names = [*(y.name for y in s.yields), *changed]
        self.names.update(zip(names, values, strict=True))
