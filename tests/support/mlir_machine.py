"""Runs MLIR that xDSL has parsed and verified: each function becomes a Python function on NumPy.

Values are NumPy scalars of their type (a signless integer is a signed one); arrays are as given. An
operation that is undefined on its operands (a shift too far, a division by zero) is an error.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, builtin, complex, func, memref, scf
from xdsl.dialects import math as maths
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from loopir.op_semantics import fma
from loopir.op_table import OPS

__all__ = ["Machine", "parsed"]


def parsed(text: str) -> builtin.ModuleOp:
    """The module that `text` is. Raises where xDSL does not know it, or finds it ill-formed."""
    context = Context()
    for dialect in (
        builtin.Builtin, arith.Arith, complex.Complex, func.Func, maths.Math, memref.MemRef,
        scf.Scf,
    ):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


class Machine:
    """The functions of a module, to be called by name."""

    def __init__(self, text: str) -> None:
        self.names: dict[str, Any] = dict(_HELPERS)
        self.types: dict[str, list[str]] = {}  # of parameters, as NumPy has them
        self.count = 0
        lines = [line for f in parsed(text).ops for line in self.function(f)]
        exec("\n".join(lines), self.names)

    def run(self, name: str, args: Iterable[Any]) -> int:
        """The status; arrays are mutated."""
        given = zip(self.types[name], args, strict=True)
        with np.errstate(all="ignore"):
            return int(self.names[name](*(_signless(x, to) for to, x in given)))

    def function(self, f: Any) -> Iterator[str]:
        name = f.sym_name.data
        if not f.body.blocks:
            self.names[name] = _LIBM[name]
            return
        self.values: dict[SSAValue, str] = {}
        self.types[name] = [_numpy(a.type) for a in f.body.block.args]
        yield f"def {name}({', '.join(map(self.bind, f.body.block.args))}):"
        yield from _indented(self.block(f.body.block.ops))

    def bind(self, value: SSAValue) -> str:
        name = self.values[value] = f"v{len(self.values)}"
        return name

    def used(self, values: Iterable[SSAValue]) -> str:
        return ", ".join(self.values[v] for v in values)

    def block(self, ops: Iterable[Operation]) -> Iterator[str]:
        for op in ops:
            yield from self.operation(op)

    def operation(self, op: Operation) -> Iterator[str]:
        match op:
            case scf.IfOp():
                yield from self.branch(op)
            case scf.ForOp():
                yield from self.counted(op)
            case scf.WhileOp():
                yield from self.repeated(op)
            case scf.ParallelOp():
                yield from self.parallel(op)
            case func.ReturnOp():
                yield f"return {self.used(op.operands)}"
            case memref.StoreOp():
                yield f"{self.element(op.memref, op.indices)} = {self.values[op.value]}"
            case _:
                text = self.expression(op)
                yield f"{', '.join(map(self.bind, op.results))} = {text}"

    def given(self, names: Iterable[str], values: Iterable[SSAValue]) -> Iterator[str]:
        """Binds `names` at once."""
        names = list(names)
        if names:
            yield f"{', '.join(names)} = {self.used(values)}"

    # -- values

    def expression(self, op: Any) -> str:
        match op:
            case arith.ConstantOp():
                self.count += 1
                self.names[f"c{self.count}"] = _constant(op)
                return f"c{self.count}"
            case memref.LoadOp():
                return self.element(op.memref, op.indices)
            case func.CallOp():
                return f"{op.callee.root_reference.data}({self.used(op.operands)})"
            case arith.CmpiOp() | arith.CmpfOp():
                table = _CMPI if isinstance(op, arith.CmpiOp) else _CMPF
                return table[op.predicate.value.data].format(*self.operands(op))
        text = _TEXTS.get(op.name, f"{op.name.replace('.', '_')}({{}}, {{}})")
        type_ = _numpy(op.results[-1].type)
        return text.format(*self.operands(op), type=f"np.{type_}")

    def operands(self, op: Operation) -> list[str]:
        return [self.values[v] for v in op.operands]

    def element(self, array: SSAValue, index: Iterable[SSAValue]) -> str:
        at = "".join(f"inside({self.values[i]}), " for i in index)
        return f"{self.values[array]}[{at or '()'}]"

    # -- regions

    def branch(self, op: scf.IfOp) -> Iterator[str]:
        names = [self.bind(r) for r in op.results]
        for head, region in (
            (f"if {self.values[op.cond]}:", op.true_region), ("else:", op.false_region),
        ):
            if region.blocks:
                yield head
                yield from _indented(self.region(region.block, names))

    def region(self, block: Any, names: list[str]) -> Iterator[str]:
        """A block, and `names` bound to what it yields."""
        *body, last = block.ops
        yield from self.block(body)
        yield from self.given(names, last.operands)

    def counted(self, op: scf.ForOp) -> Iterator[str]:
        index, *inside = map(self.bind, op.body.block.args)
        yield from self.given(inside, op.iter_args)
        lo, hi, step = (self.values[v] for v in (op.lb, op.ub, op.step))
        yield f"for {index} in indices({lo}, {hi}, {step}):"
        yield from _indented(self.region(op.body.block, inside))
        for result, name in zip(op.results, inside, strict=True):
            self.values[result] = name

    def repeated(self, op: scf.WhileOp) -> Iterator[str]:
        before, after = op.before_region.block, op.after_region.block
        names = [self.bind(a) for a in before.args]
        yield from self.given(names, op.arguments)
        yield "while True:"
        *test, condition = before.ops
        kept = [self.bind(a) for a in after.args]
        yield from _indented(self.block(test))
        yield from _indented(self.given(kept, condition.operands[1:]))
        yield f" if not {self.values[condition.operands[0]]}: break"
        yield from _indented(self.region(after, names))
        for result, name in zip(op.results, kept, strict=True):
            self.values[result] = name

    def parallel(self, op: scf.ParallelOp) -> Iterator[str]:
        """Backwards, for there is no order; but a fold of floats as Python would round it."""
        [index] = map(self.bind, op.body.block.args)
        names = [self.bind(r) for r in op.results]
        yield from self.given(names, op.initVals)
        lo, hi, step = (self.values[v] for v in (*op.lowerBound, *op.upperBound, *op.step))
        rounds = any("float" in _numpy(r.type) for r in op.results)
        way = "" if rounds else "reversed"
        yield f"for {index} in {way}(indices({lo}, {hi}, {step})):"
        *body, reduce = op.body.block.ops
        yield " pass"
        yield from _indented(self.block(body))
        for name, value, region in zip(names, reduce.operands, reduce.regions, strict=True):
            a, b = map(self.bind, region.block.args)
            yield f" {a}, {b} = {name}, {self.values[value]}"
            yield from _indented(self.region(region.block, [name]))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    yield " pass"
    yield from (f" {line}" for line in lines)


def _numpy(type_: Any) -> str:
    """NumPy's name of a type."""
    match type_:
        case builtin.IntegerType(width=builtin.IntAttr(data=1)):
            return "bool_"
        case builtin.IntegerType():
            return f"int{type_.width.data}"
        case builtin.IndexType():
            return "int64"
        case builtin.Float16Type() | builtin.Float32Type() | builtin.Float64Type():
            return f"float{type_.bitwidth}"
        case builtin.ComplexType():
            return "complex128" if _numpy(type_.element_type) == "float64" else "complex64"
        case _:
            return "object_"


def _constant(op: arith.ConstantOp) -> Any:
    assert isinstance(op.value, IntegerAttr | FloatAttr)
    return getattr(np, _numpy(op.result.type))(op.value.value.data)


def _signless(x: Any, to: str) -> Any:
    """An array, or a scalar of type `to`; unsigned integers as signed ones of the same bits."""
    x = x if isinstance(x, np.ndarray | np.generic) else getattr(np, to)(x)
    return x.view(f"i{x.dtype.itemsize}") if x.dtype.kind == "u" else x


def _unsigned(x: Any) -> Any:
    return x if isinstance(x, bool) or x.dtype.kind == "b" else x.view(f"u{x.dtype.itemsize}")


def _inside(i: Any) -> Any:
    assert i >= 0, "a negative subscript"
    return i


def _indices(lo: Any, hi: Any, step: Any) -> list[Any]:
    assert step > 0
    return [np.int64(i) for i in range(int(lo), int(hi), int(step))]


def _divided(op: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        value = op(int(a), int(b))
        info = np.iinfo(a.dtype)
        assert info.min <= value <= info.max, "a quotient that does not fit"
        return a.dtype.type(value)

    return run


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _paired(a: Any, b: Any, to: Any) -> Any:
    z = np.empty((), to)
    z.real, z.imag = a, b
    return z[()]


def _shifted(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(a: Any, by: Any) -> Any:
        assert 0 <= by < 8 * a.itemsize, "a shift too far"
        return op(a, by)

    return run


def _extended(view: Callable[[Any], Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    def run(a: Any, b: Any) -> tuple[Any, Any]:
        bits = 8 * a.itemsize
        product = (int(view(a)) * int(view(b))) % (1 << 2 * bits)
        halves = (product % (1 << bits), product >> bits)
        return tuple(np.array(h, f"u{a.itemsize}").view(a.dtype)[()] for h in halves)

    return run


def _extremum(best: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        first_nan = next((x for x in (a, b) if np.isnan(x)), None)
        by_sign = best(a, b, key=lambda x: (x, math.copysign(1, x)))
        return by_sign if first_nan is None else first_nan

    return run


def _power(a: Any, b: Any) -> Any:
    assert b >= 0
    bits = 8 * a.itemsize
    power = pow(int(a), int(b), 1 << bits)
    return np.array(power, f"u{a.itemsize}").view(a.dtype)[()]


def _trailing_zeros(a: Any) -> Any:
    x, bits = int(_unsigned(a)), 8 * a.itemsize
    return a.dtype.type((x & -x).bit_length() - 1 if x else bits)


def _fused(a: Any, b: Any, c: Any) -> Any:
    return fma(a, b, c)[()]


_LIBM = {op.libm + suffix: op.run for op in OPS.values() if op.libm for suffix in ("", "f")}
"""Functions of C's math library, as the rows of the operation table define them."""

_CMPI = [
    "{} == {}", "{} != {}", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "u({}) < u({})",
    "u({}) <= u({})", "u({}) > u({})", "u({}) >= u({})",
]
_CMPF = dict(enumerate([
    "false", "{} == {}", "{} > {}", "{} >= {}", "{} < {}", "{} <= {}", "ordered_ne({}, {})",
    "ordered({}, {})",
]))
_CMPF |= {9: "not {} <= {}", 10: "not {} < {}"}
_CMPF |= {13: "{} != {}", 14: "np.isnan({}) | np.isnan({})"}

_TEXTS = {
    **dict.fromkeys(("arith.addi", "arith.addf"), "{} + {}"),
    **dict.fromkeys(("arith.subi", "arith.subf"), "{} - {}"),
    **dict.fromkeys(("arith.muli", "arith.mulf"), "{} * {}"),
    "arith.divf": "{} / {}", "arith.negf": "-{}",
    "arith.andi": "{} & {}", "arith.ori": "{} | {}", "arith.xori": "{} ^ {}",
    "arith.select": "{1} if {0} else {2}",
    "arith.minsi": "min({}, {})", "arith.maxsi": "max({}, {})",
    "arith.minui": "min({}, {}, key=u)", "arith.maxui": "max({}, {}, key=u)",
    "arith.shrui": "arith_shrui({}, {}).view({type})",
    "arith.divui": "(u({}) // u({})).view({type})", "arith.remui": "(u({}) % u({})).view({type})",
    **dict.fromkeys(
        ("arith.extf", "arith.truncf", "arith.sitofp", "arith.fptosi", "arith.extsi",
         "arith.trunci"), "{type}({})",
    ),
    "arith.index_cast": "{}.astype({type})",
    "arith.uitofp": "{type}(u({}))", "arith.extui": "{type}(u({}))",
    "arith.fptoui": "unsigned_of({}, {type})",
    "math.absf": "abs({})", "math.absi": "abs({})", "math.sqrt": "np.sqrt({})",
    "math.ctpop": "np.bitwise_count(u({})).astype({type})", "math.cttz": "trailing_zeros({})",
    "math.fma": "fused({}, {}, {})", "math.erf": "{type}(math.erf({}))",
    "math.powf": "np.power([{}], [{}])[0]", "math.atan2": "np.arctan2({}, {})",
    "math.copysign": "np.copysign({}, {})", "math.roundeven": "np.rint({})",
    **{f"math.{x}": f"np.{x}({{}})" for x in (
        "floor", "ceil", "trunc", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin",
        "cos", "tan", "sinh", "cosh", "tanh", "cbrt",
    )},
    **{f"math.a{x}": f"np.arc{x}({{}})" for x in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "complex.create": "paired({}, {}, {type})",
    "complex.re": "{type}({}.real)", "complex.im": "{type}({}.imag)",
    **{f"complex.{x}": f"np.{x}({{}})" for x in ("exp", "log", "sqrt", "sin", "cos", "tan")},
    "memref.dim": "dim({}, {})",
    "memref.extract_aligned_pointer_as_index": "np.int64({}.ctypes.data)",
    "memref.extract_strided_metadata": "metadata({})",
}
"""An operation as Python: its operands in order, ``{type}`` NumPy's type of its last result."""

_HELPERS: dict[str, Any] = {
    "np": np, "math": math, "u": _unsigned, "inside": _inside, "indices": _indices,
    "paired": _paired,
    "arith_minimumf": _extremum(min), "arith_maximumf": _extremum(max),
    "arith_floordivsi": _divided(lambda a, b: a // b),
    "arith_ceildivsi": _divided(lambda a, b: -(-a // b)),
    "arith_remsi": _divided(lambda a, b: a - b * _quotient(a, b)),
    "arith_shli": _shifted(lambda a, by: a << by),
    "arith_shrsi": _shifted(lambda a, by: a >> by),
    "arith_shrui": _shifted(lambda a, by: _unsigned(a) >> _unsigned(by)),
    "arith_mulsi_extended": _extended(lambda a: a),
    "arith_mului_extended": _extended(_unsigned),
    "math_ipowi": _power, "trailing_zeros": _trailing_zeros, "fused": _fused,
    "unsigned_of": lambda x, to: x.astype(f"u{np.dtype(to).itemsize}").view(to),
    "dim": lambda x, axis: np.int64(x.shape[axis]),
    "metadata": lambda x: (
        x, np.int64(0), *map(np.int64, (*x.shape, *(s // x.itemsize for s in x.strides)))
    ),
}
