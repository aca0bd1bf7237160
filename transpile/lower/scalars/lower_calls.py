"""Lower calls of functions whose meaning is known: built-ins, `math`, NumPy ufuncs on scalars."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from loopir.algebra.constant_folding import is_lossless_cast
from loopir.dtypes import DTYPES, dtype_name
from loopir.nodes import Call, Const, Expr
from loopir.op_table import Op

from ... import ops
from ...frontend.name_resolution import is_native
from ...frontend.refusal import refuse
from ...types.linear_form import INT64
from ...types.typed_values import ComplexPair, Num, bool_op, cast, fits_dtype
from ..complex.complex_calls import COMPLEX_CONSTRUCTORS, ComplexCalls
from ..state.symbol_values import Scalar
from .callable_ops import (
    COMPARISONS,
    LIBRARY_METHODS,
    MASK_OPS,
    MATH,
    OPERATORS,
    OPS_FUNCTIONS,
    UFUNCS,
    library_of,
)
from .scalar_operands import (
    as_array_item,
    convert_operand,
    round_to_float,
    truth_value,
    with_result_type,
)

__all__ = ["Calls"]


def _only_literal(args: list[ast.expr]) -> object:
    """The value of a single literal argument."""
    return args[0].value if len(args) == 1 and isinstance(args[0], ast.Constant) else None


class Calls(ComplexCalls):
    """Lowers ``f(args)`` where `f` is a function whose meaning is known."""

    def call(self, node: ast.Call) -> Scalar:
        if (method := self.method(node)) is not None:
            return method
        function = self.known(node.func)
        self.no_library(node, function)
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            refuse("LOWER_CALL", f"`{ast.unparse(node.func)}` is called with keywords or `*`", node)
        if function is builtins.len:
            return self._len(node)
        if function is builtins.float and isinstance(text := _only_literal(node.args), str):
            return self._float_of(text, node)
        given = [self.scalar(a) for a in node.args]
        return self.each(partial(self._called, function, node), node, *given)

    def _called(self, function: Any, node: ast.Call, *given: Num | ComplexPair) -> Scalar:
        """``function(*given)``"""
        args = [n for n in given if isinstance(n, Num)]
        if len(args) < len(given) or function in COMPLEX_CONSTRUCTORS:
            return self.on_complex(function, list(given), node)
        if function in (np.float16, np.float32, np.float64):
            return self._numpy_float(np.dtype(function), args, node)
        if function is np.int64:
            return self._numpy_int(args, node)
        if function in _INTEGER_SCALARS:
            return self._numpy_whole(_INTEGER_SCALARS[function], args, node)
        special = _SPECIAL.get(function) if callable(function) else None
        if special is not None:
            return special(self, args, node)
        if function in MASK_OPS:
            return self._mask(function, args, node)
        if function in UFUNCS:
            return self._ufunc(function, UFUNCS[function], args, node)
        if function in MATH:
            return self._math(function, MATH[function], args, node)
        return refuse(
            "LOWER_CALL", f"`{ast.unparse(node.func)}` is not a function that can be compiled", node
        )

    def no_library(self, node: ast.Call, function: object | None) -> None:
        """Refuses what a library computes."""
        who = library_of(function)
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in LIBRARY_METHODS
            and function is None
        ):
            who = "NumPy" if self.array(node.func.value) is not None else None
        if who is not None:
            said = f"`{ast.unparse(node.func)}` is {who}'s to compute and stays a NumPy call"
            refuse("LOWER_LIBRARY", said, node)

    def _numpy_float(self, dtype: np.dtype[Any], args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        name = dtype_name(dtype)
        assert name is not None
        return Num(round_to_float(self.b, x.ir, name, node), strong=name)

    def _cut(self, x: Num, dtype: str, node: ast.Call) -> Num:
        """``np.int64(1.5)``: what the type cannot hold is Python's to answer."""
        self._no_array([x], node)
        n = self._to_int(x, "trunc", int, node)
        e, to = self.b.bind(n.ir), DTYPES[dtype]
        for op, limit in (("ge", to.low), ("le", to.high)):
            if INT64[0] < limit < INT64[1]:
                ok = Call(op, (e, Const(limit, "i64")), "bool")
                self.b.require(ok, "GUARD_INT_RANGE", node)
        return Num(cast(e, dtype), strong=dtype, interval=n.interval)

    def _key(self, args: list[Num], node: ast.Call) -> Num:
        """An int that is the key of a dict or a set."""
        (x,) = self._count(args, 1, node)
        if DTYPES[x.dtype].kind == "f" or x.boxed:
            refuse("LOWER_TYPE", "a key of a dict or a set is no int here", node)
        return self._as_int(args, node)

    def _numpy_int(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        if x.strong == x.dtype and not x.either and DTYPES[x.dtype].kind in "fu":
            return self._numpy_whole("i64", args, node)
        if DTYPES[x.dtype].kind == "f":
            return self._cut(x, "i64", node)
        if x.either or not x.exact or not is_lossless_cast(x.dtype, "i64"):
            refuse("LOWER_TYPE", f"`{ast.unparse(node)}` may not hold its operand", node)
        return Num(cast(x.ir, "i64"), strong="i64", linear=x.linear, interval=x.interval)

    def _numpy_whole(self, dtype: str, args: list[Num], node: ast.Call) -> Num:
        """``np.uint8(i)``: of a literal, a bool or an integer; Python's must fit, NumPy's wrap."""
        (x,) = self._count(args, 1, node)
        if isinstance(x.ir, Const) and fits_dtype(x.ir, dtype):
            return Num(cast(x.ir, dtype), strong=dtype)
        if x.strong == x.dtype and not x.either and DTYPES[x.dtype].kind == "f":
            return Num(as_array_item(self.b, x, dtype, node), strong=dtype)
        if DTYPES[x.dtype].kind == "f" and dtype not in ("bool", "u64"):
            return self._cut(x, dtype, node)
        if x.either or DTYPES[x.dtype].kind == "f":
            return refuse("LOWER_CALL", f"`{ast.unparse(node)}` is not made of an integer", node)
        return Num(
            truth_value(x) if dtype == "bool" else convert_operand(self.b, x, dtype, node),
            strong=dtype,
        )

    def _mask(self, function: Any, args: list[Num], node: ast.Call) -> Num:
        """A function of `transpile.ops` on masks."""
        compose = MASK_OPS[function]
        self._count(args, len(signature(compose).parameters), node)
        ty = self._result(np.bitwise_and, (args[0], args[-1]), node)
        if DTYPES[ty.dtype].kind == "b":
            refuse("LOWER_TYPE", f"`{ast.unparse(node)}` is of bools", node)
        operands = (self.b.bind(convert_operand(self.b, n, ty.dtype, node)) for n in args)
        value = compose(*operands)
        return Num(value, strong=value.dtype)

    # -- NumPy on scalars

    def _ufunc(self, function: Any, op: Op, args: list[Num], node: ast.Call) -> Num:
        self._count(args, op.arity, node)
        if op.name in OPERATORS and not all(n.weak for n in args):
            return self.binary(OPERATORS[op.name], args[0], args[1], node, ufunc=True)
        if op.name in COMPARISONS:
            left, right = self._of_numpy(args, node) if all(n.weak for n in args) else args
            return self.compare_nums(COMPARISONS[op.name](), left, right, node)
        if op.name in ("and", "or", "xor", "not"):
            return Num(
                bool_op(op.name, *map(truth_value, args))
                if op.name != "xor"
                else Call("xor", tuple(map(truth_value, args)), "bool"),
                strong="bool",
            )
        ty = self._result(function, tuple(args), node)
        if op.result == "m":
            x = args[0].ir
            x = x if DTYPES[x.dtype].kind in op.kinds else cast(x, "f64")
            return with_result_type(Call(op.name, (x,), "bool"), ty, *args)
        kind = DTYPES[ty.dtype].kind
        if kind not in op.kinds:
            if op.name in ("floor", "ceil", "trunc", "rint"):
                return with_result_type(cast(args[0].ir, ty.dtype), ty, *args)
            refuse("LOWER_TYPE", f"`{ast.unparse(node)}` gives {ty}", node)
        operands = tuple(convert_operand(self.b, n, ty.dtype, node) for n in args)
        spelled = None if function in OPS_FUNCTIONS else function.__name__
        value = self.b.apply(op.name, *operands)
        return with_result_type(self.b.warned(op.name, operands, value, spelled, node), ty, *args)

    def _of_numpy(self, args: list[Num], node: ast.Call) -> list[Num]:
        """Python's numbers, as NumPy takes them together."""
        if any(n.strong for n in args):
            refuse("LOWER_TYPE", f"`{ast.unparse(node)}` is of Python's numbers or NumPy's", node)
        dtype = next(d for d in ("f64", "i64", "bool") if any(n.weak == d for n in args))
        return [Num(convert_operand(self.b, n, dtype, node), strong=dtype) for n in args]

    def _square(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        ty = self._result(np.square, (x,), node)
        e = self.b.bind(convert_operand(self.b, x, ty.dtype, node), "base")
        value: Expr = Call("mul", (e, e), ty.dtype)
        if DTYPES[ty.dtype].kind == "f":
            value = self.b.warned("mul", (e, e), value, "square", node)
        return with_result_type(value, ty, x)

    def _where(self, args: list[Num], node: ast.Call) -> Num:
        cond, x, y = self._count(args, 3, node)
        ty = self._result(np.where, (Num(truth_value(cond), strong="bool"), x, y), node)
        a, c = (
            convert_operand(self.b, x, ty.dtype, node),
            convert_operand(self.b, y, ty.dtype, node),
        )
        return Num(Call("select", (truth_value(cond), a, c), ty.dtype), strong=ty.dtype, boxed=True)

    def _clip(self, args: list[Num], node: ast.Call) -> Num:
        """``np.clip``: a NaN stays, a tie keeps the value; NaN bounds are Python's to handle."""
        x, lo, hi = self._count(args, 3, node)
        ty = self._result(np.clip, (x, lo, hi), node)
        value, low, high = (
            self.b.bind(convert_operand(self.b, n, ty.dtype, node)) for n in (x, lo, hi)
        )
        if DTYPES[ty.dtype].kind == "f":
            for bound in (low, high):
                if not isinstance(bound, Const):
                    self.b.require(Call("eq", (bound, bound), "bool"), "GUARD_RAISES", node)
        raised = Call("max", (value, low), ty.dtype)
        return with_result_type(Call("min", (raised, high), ty.dtype), ty, x)


_INTEGER_SCALARS = {d.numpy.type: d.name for d in DTYPES.values() if d.kind != "f"}
_Special = Callable[[Calls, list[Num], ast.Call], Scalar]
_BY_NAME: dict[str, tuple[Any, _Special]] = {
    "abs": (builtins, Calls._abs),
    "min": (builtins, Calls._min),
    "max": (builtins, Calls._max),
    "round": (builtins, Calls._round),
    "int": (builtins, Calls._as_int),
    "float": (builtins, Calls._as_float),
    "bool": (builtins, Calls._as_bool),
    "square": (np, Calls._square),
    "where": (np, Calls._where),
    "clip": (np, Calls._clip),
}
_SPECIAL: dict[Any, _Special] = {ops.key: Calls._key} | {
    value: special
    for name, (module, special) in _BY_NAME.items()
    if is_native(value := getattr(module, name)) and value.__name__ == name
}
