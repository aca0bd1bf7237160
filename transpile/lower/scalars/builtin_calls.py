"""Lower calls of Python's built-in functions and of `math` on scalars."""
from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr
from loopir.op_table import Op

from ...frontend.refusal import refuse
from ...types.typed_values import Num, bool_op, cast, constant
from ..state.symbol_values import ArrayRef, Scalar
from .lower_expressions import Expressions
from .scalar_operands import convert_operand, to_compute_dtype, truth_value, with_result_type

__all__ = ["PythonCalls"]

_TO_INT: dict[str, Callable[..., Any]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
}
_INT_LIMIT = 2.0**63
_MAX_EXACT_POWER_OF_TEN = 22
"""The largest power of ten that a double holds exactly."""


class PythonCalls(Expressions):
    """Lowers calls that give what Python gives."""

    def array(self, node: ast.expr) -> ArrayRef | None:
        """`node` as an array, None where it is not one."""
        raise NotImplementedError

    def extent_of(self, node: ast.expr) -> ArrayRef | None:
        """`node`, or of records any of their fields, as an array."""
        raise NotImplementedError

    def length_of_list(self, node: ast.expr) -> Num | None:
        """The length so far of a list under construction; None for anything else."""
        raise NotImplementedError

    def trips_of(self, node: ast.expr) -> Num | None:
        """The length of a range; None for anything else."""
        raise NotImplementedError

    def _len(self, node: ast.Call) -> Num:
        if len(node.args) == 1 and (length := self.length_of_list(node.args[0])) is not None:
            return length
        if len(node.args) == 1 and (trips := self.trips_of(node.args[0])) is not None:
            return trips
        array = self.extent_of(node.args[0]) if len(node.args) == 1 else None
        if array is None or array.rank == 0:
            return refuse(
                "LOWER_CALL", f"`{ast.unparse(node)}` is not the length of an array", node
            )
        return array.shape[0]

    def _abs(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        ty = self._result(operator.abs, (x,), node)
        if ty.dtype == "bool":
            return with_result_type(x.ir, ty, x)
        e = self.b.bind(convert_operand(self.b, x, ty.dtype, node))
        if DTYPES[ty.dtype].kind == "i":
            ok = Call("ne", (e, Const(DTYPES[ty.dtype].low, ty.dtype)), "bool")
            self._fits(ok, ty, node, "scalar absolute")
        return with_result_type(Call("abs", (e,), ty.dtype), ty, x)

    def _extreme(self, args: list[Num], node: ast.Call, op: type[ast.cmpop]) -> Scalar:
        """``min(a, b, …)``: the first operand unless a later one, of any type, strictly wins."""
        if len(args) < 2:
            refuse("LOWER_CALL", f"`{ast.unparse(node)}` of one value", node)
        if all(n.python_int for n in args):
            name = "min" if op is ast.Lt else "max"
            whole = (n.ir if self.b.invariant(n.ir) else self.b.bind(n.ir) for n in args)
            return self.b.integer_num(
                functools.reduce(lambda p, q: Call(name, (p, q), "i64"), whole)
            )
        out: Scalar = self.b.rebind(args[0], "best")
        for arg in args[1:]:
            arg = self.b.rebind(arg, "next")
            wins = self.each(lambda p, q: self.compare_nums(op(), p, q, node), node, arg, out)
            out = self.rebound(self.either(self.truth(wins, node), arg, out, node), "best")
        return out

    def _min(self, args: list[Num], node: ast.Call) -> Scalar:
        return self._extreme(args, node, ast.Lt)

    def _max(self, args: list[Num], node: ast.Call) -> Scalar:
        return self._extreme(args, node, ast.Gt)

    def _round(self, args: list[Num], node: ast.Call) -> Num:
        self._no_array(args, node)
        if len(args) == 2:
            return self._round_digits(args[0], args[1], node)
        (x,) = self._count(args, 1, node)
        return self._to_int(x, "rint", round, node)

    def _round_digits(self, x: Num, digits: Num, node: ast.Call) -> Num:
        """NumPy's floats are scaled, rounded to a whole one and scaled back; Python's exactly."""
        count = digits.ir.value if isinstance(digits.ir, Const) and digits.weak == "i64" else None
        ty = self._result(round, (x, digits), node)
        if type(count) is not int or not 0 <= count <= _MAX_EXACT_POWER_OF_TEN or x.either:
            return refuse(
                "LOWER_UNSUPPORTED",
                f"`{ast.unparse(node)}` is compiled for a constant number of digits from 0 to "
                f"{_MAX_EXACT_POWER_OF_TEN}",
                node,
            )
        if x.weak == "f64":
            return with_result_type(self._rounded_exactly(x, count, node), ty, x)
        if DTYPES[ty.dtype].kind != "f":
            return with_result_type(convert_operand(self.b, x, ty.dtype, node), ty, x)
        if count == 0:
            return with_result_type(self.b.apply("rint", x.ir), ty, x)
        scale = Const(float(np.array(10.0**count, DTYPES[ty.dtype].numpy)), ty.dtype)
        scaled = self._warned("mul", (x.ir, scale), "multiply", node)
        whole = self.b.apply("rint", scaled)
        return with_result_type(self._warned("div", (whole, scale), "divide", node), ty, x)

    def _rounded_exactly(self, x: Num, count: int, node: ast.Call) -> Expr:
        """What is nearest to the number that `x` is, of two the even one.

        The product with the power of ten is exact in two parts; where the first is in the middle of
        two whole numbers, the second says which it is. The quotient of a whole number below 2 ** 53
        and of a power of ten up to 10 ** 22 is that of the decimal, rounded once.
        """
        b, scale = self.b, Const(10.0**count, "f64")
        first = b.bind(Call("mul", (x.ir, scale), "f64"))
        second = b.bind(Call("fma", (x.ir, scale, Call("neg", (first,), "f64")), "f64"))
        size = Call("abs", (first,), "f64")
        b.require(Call("lt", (size, Const(2.0**52, "f64")), "bool"), "GUARD_INT_RANGE", node)
        whole = b.bind(Call("rint", (first,), "f64"))
        rest = b.bind(Call("sub", (first, whole), "f64"))
        for middle, beyond, step in ((0.5, "gt", 1.0), (-0.5, "lt", -1.0)):
            is_middle = Call("eq", (rest, Const(middle, "f64")), "bool")
            past = bool_op("and", is_middle, Call(beyond, (second, Const(0.0, "f64")), "bool"))
            more = Call("add", (whole, Const(step, "f64")), "f64")
            whole = b.bind(Call("select", (past, more, whole), "f64"))
        return Call("div", (whole, scale), "f64")

    def _warned(self, op: str, operands: tuple[Expr, ...], spelled: str, node: ast.Call) -> Expr:
        return self.b.warned(op, operands, self.b.apply(op, *operands), spelled, node)

    def _as_int(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        return self._to_int(x, "trunc", int, node)

    def _to_int(self, x: Num, op: str, function: Callable[..., Any], node: ast.Call) -> Num:
        """A number as a Python int; NaN, infinities and what exceeds 64 bits are left to Python."""
        ty = self._result(function, (x,), node)
        if DTYPES[x.dtype].kind != "f":
            e = self._widen(x, node)
            return Num(e, weak="i64", linear=x.linear, interval=x.interval) if ty.weak else x
        e = to_compute_dtype(x.ir)
        whole = self.b.bind(Call(op, (e,), e.dtype))
        low, high = Const(-_INT_LIMIT, e.dtype), Const(_INT_LIMIT, e.dtype)
        ok = bool_op("and", Call("ge", (whole, low), "bool"), Call("lt", (whole, high), "bool"))
        ok = self.b.bind(ok, "fits")
        self.b.require(ok, "GUARD_INT_RANGE", node)
        safe = Call("select", (ok, whole, Const(0.0, e.dtype)), e.dtype)
        return self.b.integer_num(cast(safe, "i64"))

    def _widen(self, x: Num, node: ast.AST) -> Expr:
        if x.dtype == "u64":
            refuse("LOWER_TYPE", "a uint64 may not fit a signed 64-bit integer", node)
        return cast(x.ir, "i64")

    def _as_float(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        return Num(cast(x.ir, "f64"), weak="f64")

    def _float_of(self, text: str, node: ast.Call) -> Num:
        """``float("inf")`` and the like."""
        try:
            return constant(float(text))
        except ValueError:
            return refuse("LOWER_CALL", f"`{ast.unparse(node)}` is not a number", node)

    def _as_bool(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        return Num(truth_value(x), weak="bool")

    def _math(self, function: Any, op: Op, args: list[Num], node: ast.Call) -> Num:
        """``math.f`` computes in double, gives Python's number, raises where NumPy would warn."""
        self._count(args, op.arity, node)
        if op.name in _TO_INT:
            x = args[0]
            if op.name == "trunc":
                self._no_array(args, node)
            elif x.strong in ("i64", "u64"):  # NumPy's integers come as floats, and are rounded
                x = Num(cast(self.settled(x, node).ir, "f64"), strong="f64")
            return self._to_int(x, op.name, _TO_INT[op.name], node)
        operands = [cast(n.ir, "f64") for n in args]
        if op.result == "m":
            return Num(Call(op.name, tuple(operands), "bool"), weak="bool")
        if not op.raises:
            return Num(self.b.apply(op.name, *operands), weak="f64")
        bound = tuple(self.b.bind(e) for e in operands)
        return Num(self.defined(op.name, bound, node), weak="f64")

    def _no_array(self, args: list[Num], node: ast.Call) -> None:
        """Refuses what NumPy's arrays without dimensions have no method for, and numbers do."""
        if any(n.boxed for n in args):
            name = ast.unparse(node.func)
            refuse("LOWER_TYPE", f"`{name}` is not defined for arrays without dimensions", node)

    def _count(self, args: list[Num], n: int, node: ast.Call) -> list[Num]:
        if len(args) != n:
            refuse(
                "LOWER_CALL",
                f"`{ast.unparse(node.func)}` is called with {len(args)} arguments, not {n}",
                node,
            )
        return args
