"""Random expressions of Loop IR, over random parameters: the lowest layer of the random kernels."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.op_table import OPS

__all__ = ["EXACT", "I64", "Exprs", "N", "ROWS", "call", "integer"]

INEXACT = {op.name for op in OPS.values() if op.ulps} | {"cast"}
EXACT = {
    "add", "sub", "neg", "abs", "min", "max", "minimum", "maximum", "select", "floor", "ceil",
    "trunc", "rint",
}

I64 = "i64"
N, ROWS = ir.Var("n", I64), ir.Var("rows", I64)


def integer(k: int) -> ir.Const:
    return ir.Const(k, I64)


def call(op: str, *args: ir.Expr) -> ir.Call:
    letters, result = OPS[op].operands, OPS[op].result
    dtype = "bool" if result == "m" else args[letters.index("a")].dtype
    return ir.Call(op, args, dtype, args[0].lanes)


class Exprs:
    """Draws expressions; parameters come into being as they are needed."""

    def __init__(self, draw: Callable[..., Any], exact: bool) -> None:
        self.draw, self.exact = draw, exact
        self.params: list[ir.Param] = [ir.Param("n", I64), ir.Param("rows", I64)]
        self.names: list[ir.Var] = []  # scalars in scope that are not subscripts
        self.loops: list[tuple[ir.Var, ir.Var, int]] = []  # around: variable, end, smallest value
        self.lanes: ir.Lanes = 1  # of every expression
        self.tidy = False  # nothing that is written is read, so that loops may be vectorised
        self.counter: ir.Var | None = None
        self.counts: dict[str, str] = {}
        self.fresh = 0
        names = ["f32", "f64"] if exact else list(DTYPES)
        self.dtypes = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        if draw(st.integers(0, 3)) == 0:
            self.dtypes.append("bool")

    # -- choices

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(1, one_in)) == one_in)

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def dtype(self) -> str:
        return str(self.one_of(*self.dtypes))

    def name(self, letter: str) -> str:
        self.fresh += 1
        return f"{letter}{self.fresh}"

    def bind(self, letter: str, value: ir.Expr) -> ir.Var:
        var = ir.Var(self.name(letter), value.dtype, value.lanes)
        self.names.append(var)
        return var

    def array(self, dtype: str, rank: int, written: bool) -> ir.Param:
        """An array parameter, an old one where there is one."""
        old = [p for p in self.params if (p.dtype, p.rank, p.written) == (dtype, rank, written)]
        old = [p for p in old if p.name not in self.counts]
        if old and (len(self.params) > 20 or not self.chance(3)):
            return self.one_of(*old)
        unit = None if rank == 0 or self.chance(3) else rank - 1
        known = self.one_of(None, 2, 3, 4) if rank and unit is None else None
        steps = (*[None] * (rank - 1), known) if known else ()
        p = ir.Param(self.name("o" if written else "x"), dtype, rank, unit, written, steps)
        self.params.append(p)
        return p

    # -- expressions

    def expr(self, dtype: str, depth: int) -> ir.Expr:
        if depth == 0 or self.chance(4):
            return self.leaf(dtype)
        if self.chance(6):
            return self.conversion(dtype, depth - 1)
        if self.chance(8) and not (self.exact and DTYPES[dtype].kind == "f"):
            return ir.Call("cast", (self.grown(depth),), dtype, self.lanes)
        op = self.one_of(*self.rows(dtype))
        letters, result = OPS[op].operands, OPS[op].result
        common = dtype
        if result == "m" and "a" in letters:
            able = [d for d in (*self.dtypes, I64) if OPS[op].accepts(d)]
            common = self.one_of(*able)
        args = (self.expr("bool" if x == "m" else common, depth - 1) for x in letters)
        return ir.Call(op, tuple(args), dtype, self.lanes)

    def rows(self, dtype: str) -> list[str]:
        """The ops whose result may be of `dtype`."""
        kind = DTYPES[dtype].kind
        if kind == "b":
            dtypes = (*self.dtypes, I64)
            logic = [o for o in OPS.values() if o.result == "m"]
            return [o.name for o in logic if "a" not in o.sig or any(map(o.accepts, dtypes))]
        able = [o.name for o in OPS.values() if o.result == "a" and o.accepts(dtype)]
        exact = self.exact and kind == "f"
        return [o for o in able if o in EXACT or (o not in INEXACT and not exact)]

    def conversion(self, dtype: str, depth: int) -> ir.Expr:
        """A cast whose value is defined: a float is clamped before it becomes an integer."""
        source = self.dtype()
        x = self.expr(source, depth)
        kinds = DTYPES[source].kind + DTYPES[dtype].kind
        if self.exact and kinds in ("if", "uf"):
            return self.leaf(dtype)
        if kinds in ("fi", "fu"):
            low = ir.Const(-100.0 if kinds == "fi" else 0.0, source)
            high = self.wide(ir.Const(100.0, source))
            x = call("min", high, call("max", self.wide(low), x))
        return ir.Call("cast", (x,), dtype, self.lanes)

    def grown(self, depth: int) -> ir.Expr:
        """An i64 that is computed from elements of fewer bits, some of them at their ends."""
        if depth == 0 or self.chance(4):
            if self.chance(3):
                return self.wide(integer(self.one_of(0, 1, -1, 2, 5, 15, 77, 179, 255, 256, 65535)))
            few = self.leaf(self.one_of("u8", "i8", "u16", "i16", "bool", "i32"))
            return ir.Call("cast", (few,), I64, self.lanes)
        op = self.one_of("add", "sub", "mul", *self.rows(I64))
        letters = OPS[op].operands
        args = (self.expr("bool", 1) if x == "m" else self.grown(depth - 1) for x in letters)
        return ir.Call(op, tuple(args), I64, self.lanes)

    def wide(self, e: ir.Expr) -> ir.Expr:
        return e if e.lanes == self.lanes else ir.Broadcast(e, self.lanes)

    def leaf(self, dtype: str) -> ir.Expr:
        names = [v for v in self.names if v.dtype == dtype]
        if names and self.chance(2):
            return self.wide(self.one_of(*names))
        if dtype == I64 and self.loops and self.chance(3):
            return self.index()
        if self.chance(4):
            return self.wide(self.constant(dtype))
        rank = self.one_of(1, 1, 2)
        p = self.array(dtype, rank, written=not self.tidy and self.chance(6))
        return self.load(p)

    def index(self) -> ir.Expr:
        """The variable of a loop around, as a value."""
        var = self.one_of(*self.loops)[0]
        if self.lanes != 1 and var == self.loops[-1][0]:
            step = self.draw(st.integers(-2, 2))
            return ir.Ramp(call("mul", var, integer(step)), step, self.lanes)
        return self.wide(var)

    def load(self, p: ir.Param) -> ir.Expr:
        assert p.rank is not None
        if self.lanes == 1 or self.chance(6):
            return self.wide(ir.Load(p.name, self.subscripts(p.rank), p.dtype))
        last, step = self.stride()
        index = (*self.subscripts(p.rank)[:-1], last)
        return ir.Load(p.name, index, p.dtype, self.lanes, p.rank - 1, step)

    def stride(self) -> tuple[ir.Expr, int]:
        """A subscript that goes with the innermost loop, and how far each lane is from the last."""
        var, end, _ = self.loops[-1]
        return self.one_of(
            (var, 1),
            (var, 1),
            (call("add", var, integer(1)), 1),
            (call("sub", call("sub", end, integer(1)), var), -1),
            (call("mul", var, integer(2)), 2),
        )

    def constant(self, dtype: str) -> ir.Const:
        d = DTYPES[dtype]
        if d.kind == "f":
            odd = () if self.exact else (math.nan, math.inf, -math.inf, -0.0, 0.1, 1e-300, 1e30)
            return ir.Const(self.one_of(0.0, 1.0, -1.0, 2.0, 3.0, *odd), dtype)
        if d.kind == "b":
            return ir.Const(self.one_of(True, False), dtype)
        return ir.Const(self.one_of(0, 1, 2, 3, 7, d.low, d.high), dtype)

    def subscripts(self, rank: int) -> tuple[ir.Expr, ...]:
        if rank == 1:
            return (self.subscript(2),)
        rows = [v for v, end, _ in self.scalars() if end == ROWS]
        first = self.one_of(*rows) if rows and not self.chance(4) else integer(self.one_of(0, 1))
        return first, self.subscript(2)

    def scalars(self) -> list[tuple[ir.Var, ir.Var, int]]:
        """The loops around whose variable is one number at a time."""
        return self.loops if self.lanes == 1 else self.loops[:-1]

    def subscript(self, most: int) -> ir.Expr:
        """Inside [0, 2 * end + 3), affine in a loop's variable."""
        if not self.scalars() or self.chance(8):
            return integer(self.draw(st.integers(0, most)))
        var, end, least = self.one_of(*self.scalars()[-2:])
        shapes: list[ir.Expr] = [var, var, var]
        shapes += [call("add", var, integer(1)), call("add", var, integer(2))]
        shapes.append(call("sub", call("sub", end, integer(1)), var))
        shapes.append(call("mul", var, integer(2)))
        if least:
            shapes.append(call("sub", var, integer(1)))
        return self.one_of(*shapes)
