"""Scalar expressions as MLIR values."""
from __future__ import annotations

from loopir import nodes as ir
from loopir.exhaustive import unhandled
from loopir.ops import OPS
from loopir.types import DTYPES, INDEX

from .rows import CASTS, element_type, instruction
from .writer import Writer

__all__ = ["Expressions"]

_ON_INDICES = ("add", "sub", "mul", "min", "max", "minimum", "maximum")


class Expressions(Writer):
    """A function's text, and the values of Loop IR in it. An i64 may be an ``index`` instead."""

    def value(self, e: ir.Expr) -> str:
        """Of the MLIR type of its dtype."""
        match e:
            case ir.Const():
                return self.constant(e)
            case ir.Var(name):
                return self.as_integer(self.names[name])
            case ir.Dim(array, axis):
                return self.as_integer(self.dim(array, axis))
            case ir.Load(array, index):
                at, type_ = self.element(array, index)
                return self.let(f"memref.load {at} : {type_}", element_type(e.dtype), array)
            case ir.Call(op, args, dtype):
                given = tuple(self.value(a) for a in args)
                return self.call(op, given, _operand(e), dtype)
            case ir.Broadcast() | ir.Ramp() | ir.HReduce():
                raise AssertionError(f"not scalar: {e!r}")
            case _:
                return unhandled(e)

    def call(self, op: str, args: tuple[str, ...], dtype: str, result: str) -> str:
        """`op` on operands of `dtype`: an instruction, or a function of the prelude."""
        if op == "cast":
            return self.cast(args[0], dtype, result)
        type_ = element_type(result)
        text = instruction(op, dtype, args)
        if text is None:
            types = ", ".join(self.types[a] for a in args)
            text = f"func.call @tp_{op}_{dtype}({', '.join(args)}) : ({types}) -> {type_}"
        return text if text in args else self.let(text, type_)

    def cast(self, value: str, source: str, to: str) -> str:
        a, b = DTYPES[source], DTYPES[to]
        types = f"{element_type(source)} to {element_type(to)}"
        if b.kind == "b" != a.kind:
            zero = self.constant(ir.Const(0, source))
            return self.call("ne", (value, zero), source, "bool")
        if element_type(source) == element_type(to):
            return value
        text = CASTS[a.kind, b.kind][a.bits < b.bits]
        return self.let(f"{text} {value} : {types}", element_type(to))

    def as_integer(self, value: str) -> str:
        if self.types[value] != "index":
            return value
        return self.let(f"arith.index_cast {value} : index to i64", "i64", value[1:])

    def index(self, e: ir.Expr) -> str:
        """An i64 as an index."""
        match e:
            case ir.Const(value):
                return self.number(int(value))
            case ir.Var(name):
                return self.as_index(self.names[name])
            case ir.Dim(array, axis):
                return self.dim(array, axis)
            case ir.Call(op, args) if op in _ON_INDICES and e.dtype == INDEX:
                text = instruction(op, INDEX, tuple(map(self.index, args)), "index")
                assert text
                return self.let(text, "index")
            case _:
                return self.as_index(self.value(e))

    def as_index(self, value: str) -> str:
        if self.types[value] == "index":
            return value
        return self.let(f"arith.index_cast {value} : i64 to index", "index", value[1:])

    def element(self, array: str, index: tuple[ir.Expr, ...]) -> tuple[str, str]:
        """``%x[%i, %j]``, and the array's type."""
        place = self.places[array]
        return f"{place}[{', '.join(map(self.index, index))}]", self.types[place]


def _operand(e: ir.Call) -> str:
    """The dtype of the operands that share one."""
    letters = OPS[e.op].operands
    typed = [a.dtype for a, letter in zip(e.args, letters, strict=True) if letter != "m"]
    return typed[0] if typed else "bool"
