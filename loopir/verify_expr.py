"""Which expressions are well-formed: names, dtypes, lanes, subscripts."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, TypeAlias

from . import nodes as ir
from .exhaustive import unhandled
from .ops import OPS
from .text import show
from .tree import children
from .types import DTYPES, INDEX, is_converted

__all__ = ["Exprs", "Stage", "VerifyError", "need"]

Stage: TypeAlias = Literal["scalar", "vector", "legal"]


class VerifyError(AssertionError):
    """A kernel is not well-formed: a bug in what made it."""


def need(holds: object, node: ir.Node, why: str) -> None:
    """Raises VerifyError, naming `node`, unless `holds`."""
    if not holds:
        raise VerifyError(f"{why}: {show(node)}")


class Exprs:
    """Checks expressions against the names in scope."""

    def __init__(self, kernel: ir.Kernel, stage: Stage) -> None:
        self.stage = stage
        self.arrays = {p.name: p for p in kernel.params if p.rank is not None}
        self.names: dict[str, tuple[str, ir.Lanes]] = {
            p.name: (p.dtype, 1) for p in kernel.params if p.rank is None
        }
        self.width: ir.Lanes | None = None  # lanes of the vector loop around, if any

    def scalar(self, e: ir.Expr, dtype: str, what: str) -> None:
        """`e` is well-formed, and one value of `dtype`."""
        self.expr(e)
        need(e.lanes == 1 and e.dtype == dtype, e, f"{what} must be one {dtype}")

    def expr(self, e: ir.Expr) -> None:
        for child in children(e):
            self.expr(child)  # type: ignore[arg-type]  # below expressions are expressions
        match e:
            case ir.Const():
                need(_fits(e), e, f"the constant is no {e.dtype}")
            case ir.Var(name, dtype, lanes):
                bound = self.names.get(name)
                need(bound, e, "the name is not bound here")
                need(bound == (dtype, lanes), e, f"the name is {bound}, not {dtype, lanes}")
            case ir.Dim(array, axis):
                need(axis in range(self.array(e, array).rank or 0), e, "no such axis")
            case ir.Load(array, index, dtype, lanes, axis, step):
                need(self.array(e, array).dtype == dtype, e, f"the load is not of {dtype}")
                self.subscripts(e, array, index, lanes, axis, step)
            case ir.Call():
                self.call(e)
            case ir.Broadcast(value, lanes):
                need(value.lanes == 1, e, "only a scalar is broadcast")
                need(lanes == self.width, e, self.misfit(lanes))
            case ir.Ramp(base, _, lanes):
                integer = base.lanes == 1 and _kind(base) in "iu"
                need(integer, e, "a ramp starts at an integer scalar")
                need(lanes == self.width, e, self.misfit(lanes))
            case ir.HReduce(op, value):
                need(op in OPS and OPS[op].reduces, e, "the operation has no neutral element")
                need(value.lanes != 1 or self.stage == "legal", e, "only vectors are reduced")
                self.call(ir.Call(op, (value, value), value.dtype, value.lanes))
            case _:
                unhandled(e)

    def array(self, node: ir.Node, name: str) -> ir.Param:
        need(name in self.arrays, node, f"{name} is not an array parameter")
        return self.arrays[name]

    def subscripts(
        self,
        node: ir.Node,
        array: str,
        index: Iterable[ir.Expr],
        lanes: ir.Lanes,
        axis: int,
        step: int,
    ) -> None:
        index = tuple(index)
        need(len(index) == self.array(node, array).rank, node, "a subscript for each axis")
        scalars = all(i.lanes == 1 and i.dtype == INDEX for i in index)
        need(scalars, node, f"a subscript is one {INDEX}")
        if lanes != 1 or self.width == 1:
            need(lanes == 1 or lanes == self.width, node, self.misfit(lanes))
            need(axis in range(max(len(index), 1)) and step != 0, node, "no such axis, or no step")
        else:
            need((axis, step) == (0, 1), node, "only lanes go along an axis")

    def misfit(self, lanes: ir.Lanes) -> str:
        return f"{lanes} lanes in a loop of width {self.width}"

    def call(self, e: ir.Call) -> None:
        need(e.op in OPS, e, "no such operation")
        op = OPS[e.op]
        need(len(e.args) == op.arity, e, f"{op.arity} operands are needed")
        need(all(x.lanes == e.lanes for x in e.args), e, "operands and result differ in lanes")
        if self.stage == "legal":
            stored = any(DTYPES[x.dtype].wide for x in (e, *e.args))
            moved = e.op == "cast" and is_converted(e.args[0].dtype, e.dtype)
            need(moved or not stored, e, "what is merely stored is computed with")
        common = {x.dtype for x, letter in zip(e.args, op.operands, strict=True) if letter == "a"}
        need(len(common) <= 1, e, f"operands differ in dtype: {sorted(common)}")
        for x, letter in zip(e.args, op.operands, strict=True):
            need(_kind(x) in ("b" if letter == "m" else op.kinds), x, f"no operand of {op.name}")
        wanted = {"m": {"bool"}, "a": common or {e.dtype}}[op.result]
        need(e.dtype in wanted and e.dtype in DTYPES, e, f"the result is {wanted}, not {e.dtype}")


def _kind(e: ir.Expr) -> str:
    return DTYPES[e.dtype].kind


def _fits(c: ir.Const) -> bool:
    if c.dtype not in DTYPES:
        return False
    d = DTYPES[c.dtype]
    if d.kind == "f":
        return isinstance(c.value, (int, float))
    return math.isfinite(c.value) and c.value == int(c.value) and d.low <= c.value <= d.high
