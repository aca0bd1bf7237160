"""Lower arithmetic operators on scalars, with the result types and errors of Python or NumPy."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from loopir.analysis.conditions import conjuncts
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr

from ...frontend.refusal import refuse
from ...types.linear_form import int_constant
from ...types.typed_values import (
    ComplexPair,
    Num,
    bool_op,
    cast,
    constant,
    probe_result,
    probe_results,
)
from ...types.value_types import ScalarType
from .dual_semantics import in_both_semantics
from .integer_arithmetic import SCALAR_PREFIX
from .power_operator import Powers
from .scalar_operands import (
    convert_operand,
    dual_result_types,
    result_depends_on_case,
    with_result_type,
)

__all__ = ["BINARY", "Arithmetic"]

BINARY: dict[type[ast.operator], tuple[str, Callable[..., Any], str]] = {
    ast.Add: ("add", operator.add, "scalar add"),
    ast.Sub: ("sub", operator.sub, "scalar subtract"),
    ast.Mult: ("mul", operator.mul, "scalar multiply"),
    ast.Div: ("div", operator.truediv, "scalar divide"),
    ast.FloorDiv: ("floordiv", operator.floordiv, "scalar floor_divide"),
    ast.Mod: ("mod", operator.mod, "scalar remainder"),
    ast.Pow: ("pow", operator.pow, "scalar power"),
    ast.BitAnd: ("bitand", operator.and_, "scalar bitwise_and"),
    ast.BitOr: ("bitor", operator.or_, "scalar bitwise_or"),
    ast.BitXor: ("bitxor", operator.xor, "scalar bitwise_xor"),
    ast.LShift: ("shl", operator.lshift, "scalar left_shift"),
    ast.RShift: ("shr", operator.rshift, "scalar right_shift"),
}
_ON_BOOLS = {"add": "or", "mul": "and", "bitand": "and", "bitor": "or", "bitxor": "xor"}
_EXACT_F64 = 1 << 53
_EXACT_SHIFT = 62


class Arithmetic(Powers):
    """Lowers operators on numbers."""

    def binary(
        self, op: type[ast.operator], x: Num, y: Num, node: ast.AST, *, ufunc: bool = False
    ) -> Num:
        """``x op y``; with `ufunc`, by the function of NumPy that the operator stands for."""
        name, function, spelled = BINARY[op]
        spelled = spelled.removeprefix(SCALAR_PREFIX) if ufunc else spelled
        if x.python_int and y.python_int and name in ("add", "sub", "mul"):
            return self._int_linear(name, x, y, node)
        if result_depends_on_case(function, x, y):
            if (got := self._either_int(name, x, y, node, spelled)) is not None:
                return got
            got = in_both_semantics(
                self.b, (x, y), lambda p, q: self.binary(op, p, q, node, ufunc=ufunc)
            )
            if got is not None:
                return got
            x, y = self.settled(x, node), self.settled(y, node)
        common = probe_result(operator.add, x, y)
        if "bool" in (x.strong, y.strong if x.strong is None else None) or (
            common and not common.weak and common.dtype not in (x.strong, y.strong)
        ):
            spelled = spelled.removeprefix(SCALAR_PREFIX)  # such numbers have operators of arrays
        if name == "pow":
            return self.power(x, y, node, spelled, ufunc=ufunc)
        ty = self._result(function, (x, y), node)
        if name in ("shl", "shr") and ty.weak:
            return self._int_shift(name, x, y, node)
        if ty.dtype == "bool":
            if name not in _ON_BOOLS:
                refuse("LOWER_TYPE", f"`{name}` of two bools is not compiled", node)
            return with_result_type(Call(_ON_BOOLS[name], (x.ir, y.ir), "bool"), ty, x, y)
        if name == "div":
            self._exact_ints(x, y, node)
        a, c = (
            convert_operand(self.b, x, ty.dtype, node),
            convert_operand(self.b, y, ty.dtype, node),
        )
        if DTYPES[ty.dtype].kind == "f":
            return self._float(name, a, c, ty, (x, y), node, spelled)
        return self._integer(name, a, c, ty, (x, y), node, spelled)

    def settled(self, n: Num, node: ast.AST) -> Num:
        """`n` as the NumPy scalar that it is unless a loop had no iteration to make it one.

        In that case Python must decide.
        """
        if not n.either or self.b.empty.isdisjoint(conjuncts(n.weak_now)):
            return n
        assert n.strong is not None
        self.b.require(bool_op("not", n.weak_now), "GUARD_EMPTY", node)
        return Num(cast(n.ir, n.strong), strong=n.strong, boxed=n.boxed)

    def _result(
        self, function: Callable[..., Any], operands: tuple[Num, ...], node: ast.AST
    ) -> ScalarType:
        ty = probe_result(function, *operands)
        if ty is not None:
            return ty
        if any(n.either for n in operands):
            _, weak = dual_result_types(function, operands)
            if weak and {ty and ty.dtype for ty in probe_results(function, *operands)} == {
                weak.dtype
            }:
                return weak
            return refuse("LOWER_JOIN", "the type of the operation depends on the data", node)
        kinds = ", ".join(str(n.strong or n.weak) for n in operands)
        return refuse(
            "LOWER_TYPE", f"the operation on {kinds} gives a type that is not compiled", node
        )

    def _exact_ints(self, x: Num, y: Num, node: ast.AST) -> None:
        """Python divides ints exactly; converting them first is the same only up to 2**53."""
        if x.weak != "i64" or y.weak != "i64":
            return
        for n in (x, y):
            if n.dtype == "i64" and (n.range[0] < -_EXACT_F64 or n.range[1] > _EXACT_F64):
                inside = bool_op(
                    "and",
                    Call("le", (n.ir, int_constant(_EXACT_F64)), "bool"),
                    Call("ge", (n.ir, int_constant(-_EXACT_F64)), "bool"),
                )
                self.b.require(inside, "GUARD_INT_RANGE", node)

    def _float(
        self,
        name: str,
        a: Expr,
        c: Expr,
        ty: ScalarType,
        operands: tuple[Num, ...],
        node: ast.AST,
        spelled: str,
    ) -> Num:
        wide = DTYPES[ty.dtype].wide
        if name in ("div", "floordiv", "mod") and ty.weak:
            self._nonzero(operands[1], c, node)
        if name in ("floordiv", "mod") and wide:  # NumPy does more at once, and warns of that
            a, c = self.b.bind(a), self.b.bind(c)
            quotient = Call("abs", (self.b.apply("div", cast(a, wide), cast(c, wide)),), wide)
            fits = Call("le", (quotient, Const(float(np.finfo(np.float16).max), wide)), "bool")
            self.b.require(fits, "GUARD_FLOAT_STATUS", node)
        if name not in ("add", "sub", "mul", "div", "floordiv", "mod"):
            refuse("LOWER_TYPE", f"`{name}` is not defined for floats", node)
        either = any(n.either for n in operands)
        if name in ("floordiv", "mod"):
            c = self.b.bind(c)
        value = self.b.apply(name, a, c)
        if not ty.weak or either:
            folds = self.b.told is None or not spelled.startswith(SCALAR_PREFIX)  # in its own order
            summed = folds and any(n.ir in self.b.accumulators for n in operands)
            certain = not (summed or either)
            value = self.b.warned(name, (a, c), value, spelled, node, certain=certain)
        if ty.weak or either:
            self.b.silently(name, (a, c), value, node)
        return with_result_type(value, ty, *operands)

    def _int_shift(self, name: str, x: Num, y: Num, node: ast.AST) -> Num:
        """Python's ints lose no bit: a shift is a product with a power of two, or a quotient."""
        if not (x.python_int and y.python_int):
            refuse("LOWER_UNSUPPORTED", "a shift of a Python int by a number of another type", node)
        by = y.ir.value if isinstance(y.ir, Const) else -1
        if 0 <= by < _EXACT_SHIFT:
            factor = constant(1 << int(by))
            return self.binary(ast.Mult if name == "shl" else ast.FloorDiv, x, factor, node)
        e, (least, most) = self.b.bind(y.ir), y.interval
        if least < 0:
            self.b.require(Call("ge", (e, int_constant(0)), "bool"), "GUARD_RAISES", node)
        if name == "shr":
            low, high = x.interval
            shifted = Call("shr", (self.b.bind(x.ir), e), "i64")
            return self.b.integer_num(shifted, (min(low, 0), max(high, 0)))
        if most >= _EXACT_SHIFT:
            fits = Call("lt", (e, int_constant(_EXACT_SHIFT)), "bool")
            self.b.require(fits, "GUARD_INT_RANGE", node)
        power = Call("shl", (int_constant(1), e), "i64")
        factor = self.b.integer_num(power, (1, 1 << (_EXACT_SHIFT - 1)))
        return self.binary(ast.Mult, x, factor, node)

    def negative(self, x: Num, node: ast.AST) -> Num:
        if isinstance(x.ir, Const) and x.weak and not x.strong and x.dtype != "bool":
            return constant(-x.ir.value)
        if x.python_int:
            return self._int_linear("sub", constant(0), x, node)
        if result_depends_on_case(operator.neg, x):
            got = in_both_semantics(self.b, (x,), lambda p: self.negative(p, node))
            if got is not None:
                return got
        ty = self._result(operator.neg, (x,), node)
        e = convert_operand(self.b, x, ty.dtype, node)
        kind = DTYPES[ty.dtype].kind
        if kind in "iu":
            e = self.b.bind(e)
            bad = Const(DTYPES[ty.dtype].low, ty.dtype)
            ok = Call("ne" if kind == "i" else "eq", (e, bad), "bool")
            self._fits(ok, ty, node, "scalar negative")
        return with_result_type(Call("neg", (e,), ty.dtype), ty, x)

    def _plus(self, x: Num | ComplexPair, node: ast.AST) -> Num | ComplexPair:
        if isinstance(x, ComplexPair):
            return x
        ty = self._result(operator.pos, (x,), node)
        return with_result_type(convert_operand(self.b, x, ty.dtype, node), ty, x)

    def _invert(self, x: Num, node: ast.AST) -> Num:
        ty = self._result(operator.invert, (x,), node)
        if ty.dtype == "bool":
            return with_result_type(bool_op("not", x.ir), ty, x)
        return with_result_type(
            Call("invert", (convert_operand(self.b, x, ty.dtype, node),), ty.dtype), ty, x
        )
