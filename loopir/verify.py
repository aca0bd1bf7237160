"""What is well-formed at each stage: kernels and statements. The tests run it after every pass."""
from __future__ import annotations

from collections.abc import Iterable

from . import nodes as ir
from .exhaustive import unhandled
from .ops import OPS, STATUS
from .types import DTYPES, INDEX, MAX_RANK
from .verify_expr import Stage, VerifyError, need
from .verify_loops import Loops

__all__ = ["Stage", "VerifyError", "verify"]


def verify(kernel: ir.Kernel, stage: Stage) -> None:
    """Raises VerifyError, naming the node, where `kernel` is not well-formed.

    At every stage names are bound before use and once in their scope, operands fit the rows of
    `ops.OPS`, subscripts fit ranks, what is stored to is ``mut``. ``"scalar"``: no vectors yet.
    ``"vector"``: vectors of any width. ``"legal"``: every width is a number, every form is chosen.
    """
    _params(kernel)
    checks = _Stmts(kernel, stage)
    for guard in kernel.guards:
        checks.guard(guard)
    need(set(kernel.strict) <= set(STATUS), kernel, "strict names no class of STATUS")
    checks.block(kernel.body)


def _params(kernel: ir.Kernel) -> None:
    need(len({p.name for p in kernel.params}) == len(kernel.params), kernel, "parameters differ")
    for p in kernel.params:
        need(p.dtype in DTYPES, p, "no such dtype")
        if p.rank is None:
            need(p.unit is None and not p.written, p, "a scalar has no axes and is not written")
        else:
            need(p.rank in range(MAX_RANK + 1), p, f"an array has at most {MAX_RANK} axes")
            need(p.unit is None or p.unit in range(p.rank), p, "the unit axis is no axis")
            need(p.written or not p.owned, p, "what is owned may be written")
            need(len(p.steps) in (0, p.rank), p, "an axis has a step, or may have")
            known = [step for step in p.steps if step is not None]
            need(bool(known) == bool(p.steps) and min(known, default=2) > 1, p,
                 "known steps are larger than one")


class _Stmts(Loops):
    """Checks statements."""

    def guard(self, g: ir.Guard | ir.Disjoint) -> None:
        match g:
            case ir.Guard(cond):
                self.scalar(cond, "bool", "a guard")
            case ir.Disjoint(a, b):
                need(a != b and {a, b} <= set(self.arrays), g, "two array parameters are needed")
            case _:
                unhandled(g)

    def block(self, body: Iterable[ir.Stmt]) -> None:
        for s in body:
            self.stmt(s)

    def stmt(self, s: ir.Stmt) -> None:
        match s:
            case ir.Assign(name, value):
                self.value(value)
                self.bind(s, name, value.dtype, value.lanes)
            case ir.Local(name, dtype, length, lanes):
                need(dtype in DTYPES and length > 0, s, "rows of some dtype are needed")
                need(lanes is None or lanes == self.width, s, "rows are as wide as vectors")
                self.unbound(s, name)
                self.arrays = {**self.arrays, name: s.param}
            case ir.Bits(name, array):
                p = self.array(s, array)
                need(p.owned and p.dtype == "bool", s, f"{array} is not own(bool[...])")
                self.unbound(s, name)
                self.arrays = {**self.arrays, name: p}
            case ir.Store(array, index, value, _, axis, step):
                self.stored(s, array)
                for i in index:
                    self.expr(i)
                self.subscripts(s, array, index, value.lanes, axis, step)
            case ir.Append(array, count):
                self.stored(s, array)
                need(self.arrays[array].rank == 1, s, "appends go to arrays of rank 1")
                need(count in self.counts, s, f"{count} is no {INDEX} accumulator around")
            case ir.Prefix():
                self.prefix(s)
            case ir.Check(cond, code):
                self.value(cond)
                need(cond.dtype == "bool", s, "a check is a bool")
                need(code in STATUS, s, "no such status")
            case ir.If():
                self.branches(s)
            case ir.Break(cond):
                need(self.loops, s, "no loop to leave")
                self.scalar(cond, "bool", "a break's condition")
            case ir.Return():
                need(self.width is None, s, "a vector loop runs to its end")
            case _:
                self.loop(s)

    def stored(self, s: ir.Store | ir.Append, array: str) -> None:
        self.value(s.value)
        need(self.array(s, array).written, s, f"{array} is not mut")
        need(self.arrays[array].dtype == s.value.dtype, s, f"{array} holds another dtype")
        need(s.value.lanes == (self.width or 1), s, "each lane of a loop stores, or none")
        if s.mask:
            self.value(s.mask)
            alike = s.mask.dtype == "bool" and s.mask.lanes == s.value.lanes
            need(alike, s, "a mask is a bool for each lane")

    def prefix(self, s: ir.Prefix) -> None:
        self.value(s.value)
        need(self.width is not None and s.value.lanes == self.width, s, "a prefix is of lanes")
        need(self.names.get(s.acc) == (s.value.dtype, 1), s, f"{s.acc} is no accumulator of it")
        self.call(ir.Call(s.op, (s.value, s.value), s.value.dtype, s.value.lanes))
        need(OPS[s.op].reduces, s, "the operation is no reduction")
        if s.factor is not None:
            self.value(s.factor)
            like = (s.factor.dtype, s.factor.lanes) == (s.value.dtype, s.value.lanes)
            is_sum = s.op == "add" and DTYPES[s.value.dtype].kind == "f"
            need(like and is_sum, s, "factors are floats like the values that are added")
        for name in (s.name, s.before) if s.before else (s.name,):
            self.bind(s, name, s.value.dtype, s.value.lanes)

    def branches(self, s: ir.If) -> None:
        self.scalar(s.cond, "bool", "a condition")
        for body, given in (
            (s.then, [y.then for y in s.yields]),
            (s.orelse, [y.orelse for y in s.yields]),
        ):
            with self.scope():
                self.block(body)
                for e in given:
                    self.value(e)
        for y in s.yields:
            alike = (y.then.dtype, y.then.lanes) == (y.orelse.dtype, y.orelse.lanes)
            need(alike, s, f"the branches differ in what {y.name} is")
            self.bind(s, y.name, y.then.dtype, y.then.lanes)
