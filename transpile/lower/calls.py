"""Calls of known functions: builtins, ``math`` and NumPy ufuncs on scalars."""

from __future__ import annotations

import ast
import builtins
import functools
import math
import operator
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from loopir.nodes import Call, Const, Expr
from loopir.ops import OPS, Op
from loopir.types import DTYPES, dtype_of

from ..infer import Num, cast, constant, join, logic
from .builder import ArrayRef, refuse
from .expressions import Expressions
from .operands import convert, truth, typed

__all__ = ["Calls"]


def _table(module: Any, prefix: str) -> dict[Any, Op]:
    """What the rows' names stand for in `module`; not what somebody has put in their place."""
    out: dict[Any, Op] = {}
    for op in OPS.values():
        names = [s.removeprefix(prefix) for s in op.spellings if s.startswith(prefix)]
        for value in (getattr(module, name, None) for name in names):
            if getattr(value, "__name__", None) in names and _made_in_c(value):
                out[value] = op
    return out


def _made_in_c(value: object) -> bool:
    return isinstance(value, (BuiltinFunctionType, np.ufunc, type)) or (
        type(value).__module__.startswith("numpy")
    )


_UFUNCS = _table(np, "numpy.")
_MATH = _table(math, "math.")
_OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "div": ast.Div,
    "floordiv": ast.FloorDiv,
    "mod": ast.Mod,
    "bitand": ast.BitAnd,
    "bitor": ast.BitOr,
    "bitxor": ast.BitXor,
}
_COMPARISONS = {
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
    "eq": ast.Eq,
    "ne": ast.NotEq,
}
_TO_INT: dict[str, Callable[..., Any]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
}
_INT_LIMIT = 2.0**63


def _only(args: list[ast.expr]) -> object:
    """The value of a single literal argument."""
    return args[0].value if len(args) == 1 and isinstance(args[0], ast.Constant) else None


class Calls(Expressions):
    """Lowers ``f(args)`` where `f` is a function whose meaning is known."""

    def known(self, node: ast.expr) -> object | None:
        """The object that the name of a function stands for; from now on the call depends on it."""
        raise NotImplementedError

    def array(self, node: ast.expr) -> ArrayRef | None:
        """`node` as an array, None where it is not one."""
        raise NotImplementedError

    def call(self, node: ast.Call) -> Num:
        function = self.known(node.func)
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            refuse("LOWER_CALL", f"`{ast.unparse(node.func)}` is called with keywords or `*`", node)
        if function is builtins.len:
            return self._len(node)
        if function is builtins.float and isinstance(text := _only(node.args), str):
            return self._float_of(text, node)
        args = [self.num(a) for a in node.args]
        if function in (np.float32, np.float64):
            return self._numpy_float(np.dtype(function), args, node)
        special = _SPECIAL.get(function) if callable(function) else None
        if special is not None:
            return special(self, args, node)
        if function in _UFUNCS:
            return self._ufunc(function, _UFUNCS[function], args, node)
        if function in _MATH:
            return self._math(function, _MATH[function], args, node)
        return refuse(
            "LOWER_CALL", f"`{ast.unparse(node.func)}` is not a function that can be compiled", node
        )

    # -- builtins

    def length_of_list(self, node: ast.expr) -> Num | None:
        """The length so far of a list under construction; None for anything else."""
        raise NotImplementedError

    def _len(self, node: ast.Call) -> Num:
        if len(node.args) == 1 and (length := self.length_of_list(node.args[0])) is not None:
            return length
        array = self.array(node.args[0]) if len(node.args) == 1 else None
        if array is None or array.rank == 0:
            return refuse(
                "LOWER_CALL", f"`{ast.unparse(node)}` is not the length of an array", node
            )
        return array.shape[len(array.prefix)]

    def _abs(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        ty = self._result(operator.abs, (x,), node)
        if ty.dtype == "bool":
            return typed(x.ir, ty, x)
        e = self.b.bind(convert(self.b, x, ty.dtype, node))
        if DTYPES[ty.dtype].kind == "i":
            ok = Call("ne", (e, Const(DTYPES[ty.dtype].low, ty.dtype)), "bool")
            self._fits(ok, ty, node, "scalar absolute")
        return typed(Call("abs", (e,), ty.dtype), ty, x)

    def _extreme(self, args: list[Num], node: ast.Call, op: type[ast.cmpop]) -> Num:
        """``min(a, b, …)``: the first operand unless a later one strictly wins, of whatever type
        that one has.
        """
        if len(args) < 2:
            refuse("LOWER_CALL", f"`{ast.unparse(node)}` of one value", node)
        if all(n.python_int and self.b.invariant(n.ir) for n in args):
            name = "min" if op is ast.Lt else "max"
            e = functools.reduce(lambda p, q: Call(name, (p, q), "i64"), (n.ir for n in args))
            return self.b.integer_num(e)
        out = self.b.rebind(args[0], "best")
        for arg in args[1:]:
            arg = self.b.rebind(arg, "next")
            wins = self.compare_nums(op(), arg, out, node)
            got = join(wins.ir, arg, out)
            if got is None:
                return refuse(
                    "LOWER_JOIN",
                    f"the operands of `{ast.unparse(node.func)}` have different types",
                    node,
                )
            out = self.b.rebind(got, "best")
        return out

    def _min(self, args: list[Num], node: ast.Call) -> Num:
        return self._extreme(args, node, ast.Lt)

    def _max(self, args: list[Num], node: ast.Call) -> Num:
        return self._extreme(args, node, ast.Gt)

    def _round(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        return self._to_int(x, "rint", round, node)

    def _as_int(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        return self._to_int(x, "trunc", int, node)

    def _to_int(self, x: Num, op: str, function: Callable[..., Any], node: ast.Call) -> Num:
        """A number as a Python int; NaN, infinities and values beyond 64 bits are Python's to
        handle.
        """
        ty = self._result(function, (x,), node)
        if DTYPES[x.dtype].kind != "f":
            e = self._widen(x, node)
            return Num(e, weak="i64", linear=x.linear, interval=x.interval) if ty.weak else x
        whole = self.b.bind(Call(op, (x.ir,), x.dtype))
        low, high = Const(-_INT_LIMIT, x.dtype), Const(_INT_LIMIT, x.dtype)
        ok = logic("and", Call("ge", (whole, low), "bool"), Call("lt", (whole, high), "bool"))
        ok = self.b.bind(ok, "fits")
        self.b.require(ok, "GUARD_INT_RANGE", node)
        safe = Call("select", (ok, whole, Const(0.0, x.dtype)), x.dtype)
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

    def _numpy_float(self, dtype: np.dtype[Any], args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        name = dtype_of(dtype)
        assert name is not None
        return Num(cast(x.ir, name), strong=name)

    def _as_bool(self, args: list[Num], node: ast.Call) -> Num:
        (x,) = self._count(args, 1, node)
        return Num(truth(x), weak="bool")

    # -- NumPy on scalars

    def _ufunc(self, function: Any, op: Op, args: list[Num], node: ast.Call) -> Num:
        self._count(args, op.arity, node)
        spelled = function.__name__
        if op.name in _OPERATORS and not all(n.weak for n in args):
            return self.binary(_OPERATORS[op.name], args[0], args[1], node)
        if op.name in _COMPARISONS and not all(n.weak for n in args):
            return self.compare_nums(_COMPARISONS[op.name](), args[0], args[1], node)
        if op.name in ("and", "or", "xor", "not"):
            return Num(
                logic(op.name, *map(truth, args))
                if op.name != "xor"
                else Call("xor", tuple(map(truth, args)), "bool"),
                strong="bool",
            )
        ty = self._result(function, tuple(args), node)
        if op.result == "m":
            return typed(Call(op.name, (args[0].ir,), "bool"), ty, *args)
        kind = DTYPES[ty.dtype].kind
        if kind not in op.kinds:
            if op.name in ("floor", "ceil", "trunc", "rint"):
                return typed(cast(args[0].ir, ty.dtype), ty, *args)
            refuse("LOWER_TYPE", f"`{ast.unparse(node)}` gives {ty}", node)
        if op.name in ("neg", "abs") and kind in "iu":
            x = args[0] if args[0].strong else Num(cast(args[0].ir, ty.dtype), strong=ty.dtype)
            return self.negative(x, node) if op.name == "neg" else self._abs([x], node)
        self.b.source(op.name, spelled, node)
        operands = [convert(self.b, n, ty.dtype, node) for n in args]
        return typed(self.b.apply(op.name, *operands), ty, *args)

    def _where(self, args: list[Num], node: ast.Call) -> Num:
        cond, x, y = self._count(args, 3, node)
        ty = self._result(np.where, (Num(truth(cond), strong="bool"), x, y), node)
        a, c = convert(self.b, x, ty.dtype, node), convert(self.b, y, ty.dtype, node)
        return Num(Call("select", (truth(cond), a, c), ty.dtype), strong=ty.dtype, boxed=True)

    def _clip(self, args: list[Num], node: ast.Call) -> Num:
        """``np.clip``: a NaN stays, a tie keeps the value; NaN bounds are Python's to handle."""
        x, lo, hi = self._count(args, 3, node)
        ty = self._result(np.clip, (x, lo, hi), node)
        value, low, high = (self.b.bind(convert(self.b, n, ty.dtype, node)) for n in (x, lo, hi))
        if DTYPES[ty.dtype].kind == "f":
            for bound in (low, high):
                if not isinstance(bound, Const):
                    self.b.require(Call("eq", (bound, bound), "bool"), "GUARD_RAISES", node)
        raised = Call("max", (value, low), ty.dtype)
        return typed(Call("min", (raised, high), ty.dtype), ty, x)

    # -- math

    def _math(self, function: Any, op: Op, args: list[Num], node: ast.Call) -> Num:
        """``math.f`` computes in double, returns a Python number, and raises where NumPy would
        warn.
        """
        self._count(args, op.arity, node)
        if op.name in _TO_INT:
            x = args[0]
            if x.strong in ("i64", "u64"):  # NumPy's integers come as floats, and are rounded
                x = Num(cast(self.settled(x, node).ir, "f64"), strong="f64")
            return self._to_int(x, op.name, _TO_INT[op.name], node)
        operands = [cast(n.ir, "f64") for n in args]
        if op.result == "m":
            return Num(Call(op.name, tuple(operands), "bool"), weak="bool")
        self.strict(*(c for c in op.raises if c != "under"))
        return Num(self.b.apply(op.name, *operands), weak="f64")

    def _count(self, args: list[Num], n: int, node: ast.Call) -> list[Num]:
        if len(args) != n:
            refuse(
                "LOWER_CALL",
                f"`{ast.unparse(node.func)}` is called with {len(args)} arguments, not {n}",
                node,
            )
        return args


_Special = Callable[[Calls, list[Num], ast.Call], Num]
_BY_NAME: dict[str, tuple[Any, _Special]] = {
    "abs": (builtins, Calls._abs),
    "min": (builtins, Calls._min),
    "max": (builtins, Calls._max),
    "round": (builtins, Calls._round),
    "int": (builtins, Calls._as_int),
    "float": (builtins, Calls._as_float),
    "bool": (builtins, Calls._as_bool),
    "where": (np, Calls._where),
    "clip": (np, Calls._clip),
}
_SPECIAL: dict[Any, _Special] = {
    value: special
    for name, (module, special) in _BY_NAME.items()
    if _made_in_c(value := getattr(module, name)) and value.__name__ == name
}
