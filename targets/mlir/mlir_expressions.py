"""MLIR builder, and scalar expressions as MLIR values.

The builder has the text of one function: values and their types, regions, constants at its head.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from loopir import nodes as ir
from loopir.dtypes import DTYPES, INDEX
from loopir.nodes import Const, Kernel, assert_never
from loopir.op_table import OPS

from .mlir_ops import CASTS, element_type, instruction
from .mlir_prelude import INFINITY, prelude_function

__all__ = ["MlirBuilder"]


_ON_INDICES = ("add", "sub", "mul", "min", "max", "minimum", "maximum")
"""The operations that `MlirBuilder.index` computes on values of type ``index``."""


class MlirBuilder:
    """The text of one function that is being written: its lines, and the values that they define,
    ``%name`` with its type. `value` writes an expression.

    Constants and lengths are defined once, at the head of the function. An i64 may be represented
    as an ``index``. ``reassociate``: sums of floats may be added in any order.
    """

    def __init__(self, kernel: Kernel, reassociate: bool) -> None:
        self.kernel, self.reassociate = kernel, reassociate
        self.lines: list[str] = []
        self.head: list[str] = []
        self.firsts: dict[str, str] = {}  # text → value, of lines at the head
        self.types: dict[str, str] = {}
        self.taken: dict[str, int] = {}
        self.arrays = {p.name: p for p in kernel.params if p.rank is not None}
        self.places: dict[str, str] = {}  # array → value
        self.names: dict[str, str] = {}  # scalar → value

    def name(self, base: str, type_: str) -> str:
        """A fresh value name similar to `base`; a number if `base` is empty."""
        plain = re.sub(r"\W", "_", base.replace("-", "m"), flags=re.ASCII).lstrip("_0123456789")
        count = self.taken[plain] = self.taken.get(plain, -1) + 1
        value = f"%{plain}_{count}" if plain and count else f"%{plain or count}"
        if value in self.types:
            return self.name(base, type_)
        self.types[value] = type_
        return value

    def let(self, text: str, type_: str, base: str = "") -> str:
        """Append a line that defines one value."""
        value = self.name(base, type_)
        self.lines.append(f"{value} = {text}")
        return value

    def first(self, text: str, type_: str, base: str) -> str:
        """As `let`, at the head of the function, once for equal text."""
        if text not in self.firsts:
            with self.at_head():
                self.firsts[text] = self.let(text, type_, base)
        return self.firsts[text]

    @contextmanager
    def at_head(self) -> Iterator[None]:
        """Lines are appended to the head of the function."""
        lines, self.lines = self.lines, self.head
        yield
        self.lines = lines

    def constant(self, c: Const) -> str:
        """The value of a constant."""
        type_ = element_type(c.dtype)
        text = _constant_text(c)
        if type_ == "i1":
            return self.first(f"arith.constant {text}", type_, text)
        return self.first(f"arith.constant {text} : {type_}", type_, f"c{text}_{type_}")

    def integer(self, value: int) -> str:
        """The value of an i64 constant."""
        return self.constant(Const(value, INDEX))

    def number(self, value: int) -> str:
        """A constant of type index."""
        return self.first(f"arith.constant {value} : index", "index", f"c{value}")

    def dim(self, array: str, axis: int) -> str:
        """The length of an axis, of type index."""
        place = self.places[array]
        text = f"memref.dim {place}, {self.number(axis)} : {self.types[place]}"
        return self.first(text, "index", f"{array}_n{axis}")

    def typed(self, values: list[str]) -> str:
        """Values with their types: ``%a, %b : f64, i64``."""
        return f"{', '.join(values)} : {', '.join(self.types[v] for v in values)}"

    @contextmanager
    def region(self) -> Iterator[list[str]]:
        """Within, lines go to a list of their own, the one that is given: those of a region. At the
        end names mean again what they meant before.
        """
        lines, names = self.lines, dict(self.names)
        inside: list[str] = []
        self.lines = inside
        yield inside
        self.lines, self.names = lines, names

    def choose(
        self,
        cond: str,
        then: Callable[[], list[str]],
        orelse: Callable[[], list[str]],
    ) -> list[str]:
        """``scf.if``: the values of one region or of the other."""
        with self.region() as then_lines:
            then_values = then()
            then_lines += [f"scf.yield {self.typed(then_values)}"] if then_values else []
        with self.region() as else_lines:
            else_values = orelse()
            else_lines += [f"scf.yield {self.typed(else_values)}"] if else_values else []
        types = [self.types[v] for v in then_values]
        assert types == [self.types[v] for v in else_values], "branches give values of other types"
        results = [self.name("", t) for t in types]
        shown = f"{', '.join(results)} = " if results else ""
        result_types = f" -> ({', '.join(types)})" if types else ""
        self.lines += [f"{shown}scf.if {cond}{result_types} {{", *then_lines]
        self.lines += [*(["} else {", *else_lines] if else_lines else []), "}"]
        return results

    def value(self, e: ir.Expr) -> str:
        """The value of `e`, of the MLIR type of its dtype."""
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
                return self.call(op, given, OPS[e.op].operand_dtype(e.args), dtype)
            case ir.Broadcast() | ir.Ramp() | ir.HReduce():
                raise AssertionError(f"not scalar: {e!r}")
            case _:
                return assert_never(e)

    def call(self, op: str, args: tuple[str, ...], dtype: str, result: str) -> str:
        """`op` on operands of `dtype`: an instruction, or a call of a prelude function. Raises
        `NoMlirForm` where there is neither.
        """
        if op == "cast":
            return self.cast(args[0], dtype, result)
        type_ = element_type(result)
        text = instruction(op, dtype, args)
        if text is None:
            types = ", ".join(self.types[a] for a in args)
            name = prelude_function(op, dtype)
            text = f"func.call @{name}({', '.join(args)}) : ({types}) -> {type_}"
        return text if text in args else self.let(text, type_)

    def cast(self, value: str, source: str, to: str) -> str:
        """`value`, converted from dtype `source` to dtype `to`."""
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
        """`value`, converted from index to i64 if it is an index."""
        if self.types[value] != "index":
            return value
        return self.let(f"arith.index_cast {value} : index to i64", "i64", value[1:])

    def index(self, e: ir.Expr) -> str:
        """An i64 expression as an index."""
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
        """`value`, converted from i64 to index if it is no index yet."""
        if self.types[value] == "index":
            return value
        return self.let(f"arith.index_cast {value} : i64 to index", "index", value[1:])

    def element(self, array: str, index: tuple[ir.Expr, ...]) -> tuple[str, str]:
        """``%x[%i, %j]``, and the array's type."""
        place = self.places[array]
        return f"{place}[{', '.join(map(self.index, index))}]", self.types[place]


def _constant_text(c: Const) -> str:
    """The literal of a constant; unsigned integers as signed ones."""
    d = DTYPES[c.dtype]
    if d.kind == "b":
        return "true" if c.value else "false"
    if d.kind != "f":
        return str(int(c.value) - ((int(c.value) > d.high // 2) << d.bits if d.kind == "u" else 0))
    with np.errstate(all="ignore"):
        value = float(d.numpy.type(c.value))
    if math.isfinite(value):
        digits, _, power = repr(value).partition("e")
        whole = digits if "." in digits else f"{digits}.0"
        return f"{whole}e{power}" if power else whole
    infinity = INFINITY[d.bits]
    sign = math.copysign(1, value) < 0
    return hex(infinity | infinity >> 1 if math.isnan(value) else infinity | sign << d.bits - 1)
