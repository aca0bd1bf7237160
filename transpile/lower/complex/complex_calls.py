"""Lower calls and attributes of complex numbers: `abs(z)`, `z.real`, `complex(a, b)`."""
from __future__ import annotations

import ast
import builtins
import cmath
import operator
from typing import Any

import numpy as np

from loopir.nodes import Call, Const

from ...frontend.refusal import refuse
from ...types.typed_values import ComplexPair, Num, bool_op, cast, probe_result
from ...types.value_types import ScalarType
from ..scalars.builtin_calls import PythonCalls
from ..scalars.callable_ops import COMPARISONS, OPERATORS, UFUNCS
from ..scalars.scalar_operands import round_to_float
from ..state.symbol_values import Scalar
from .complex_formulas import COMPLEX_FUNCTIONS, complex_function

__all__ = ["COMPLEX_CONSTRUCTORS", "ComplexCalls"]

COMPLEX_CONSTRUCTORS: tuple[Any, ...] = (complex, np.complex64, np.complex128)
"""What makes a complex number, also of real ones."""

_PART = {np.real: "real", np.imag: "imag"}
_ORDERING = (np.maximum, np.minimum, np.fmax, np.fmin, np.clip)
_LEFT_TO_LIBRARY = {
    getattr(module, name) for module in (np, cmath) for name in (
        "exp", "log", "log10", "log1p", "expm1", "exp2", "sqrt", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
        "asin", "acos", "atan", "asinh", "acosh", "atanh", "power", "phase", "polar",
    ) if hasattr(module, name)
}
_TESTS: dict[Any, str] = {np.isnan: "or", np.isinf: "or", np.isfinite: "and"}


class ComplexCalls(PythonCalls):
    """Lowers calls where an argument is complex, or the result."""

    def known(self, node: ast.expr) -> object | None:
        """The object that the name of a function stands for; from now on the call depends on it."""
        raise NotImplementedError

    def compared(self, node: ast.expr) -> Scalar:
        match node:
            case ast.Call(func=func, args=[arg], keywords=[]) if self.known(func) is builtins.abs:
                x = self.number(arg)
                if isinstance(x, ComplexPair) and x.doubtful:
                    return self.magnitude(x, node, compared=True)
        return self.scalar(node)

    def part(self, name: str, x: Num | ComplexPair, node: ast.AST) -> Num:
        """``x.real`` or ``x.imag``."""
        if isinstance(x, ComplexPair):
            if x.doubtful:
                refuse("LOWER_JOIN", "the number may be real, depending on the data", node)
            return x.re if name == "real" else x.im
        if name == "real" and x.dtype != "bool":
            return x
        ty = self._result(operator.attrgetter(name), (x,), node)
        if name == "real" or x.either:
            refuse("LOWER_COMPLEX", f"`{ast.unparse(node)}` is not compiled", node)
        zero = Const(0.0 if ty.dtype[0] == "f" else 0, ty.dtype)
        return Num(zero, weak=ty.dtype) if ty.weak else Num(zero, strong=ty.dtype)

    def method(self, node: ast.Call) -> Num | ComplexPair | None:
        """``x.conjugate()``; None for other calls."""
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]) if (
                name in ("conj", "conjugate") and self.known(node.func) is None
            ):
                x = self.number(value)
                if isinstance(x, ComplexPair):
                    ty = probe_result(operator.methodcaller(name), x)
                    if ty is not None:
                        return self.conjugate(x, ty, node)
                elif x.strong and not x.weak:
                    return x
                refuse("LOWER_COMPLEX", f"`{ast.unparse(node)}` is not compiled", node)
        return None

    def on_complex(
        self, function: Any, args: list[Num | ComplexPair], node: ast.Call
    ) -> Num | ComplexPair:
        """A call where an argument, or the result, is complex."""
        if function in COMPLEX_CONSTRUCTORS:
            return self._made_complex(function, args, node)
        if not callable(function):
            refuse("LOWER_CALL", f"`{ast.unparse(node.func)}` is not known", node)
        x = args[0]
        if function in (cmath.exp, cmath.phase) and len(args) == 1 and isinstance(x, ComplexPair):
            return self._by_python(function, x, node)
        if function is builtins.abs and isinstance(x, ComplexPair):
            return self.magnitude(x, node)
        ty = probe_result(function, *args)
        if ty is not None and len(args) == 1 and isinstance(x, ComplexPair):
            if function in (np.abs, np.absolute):
                parts = (cast(p.ir, ty.dtype) for p in (x.re, x.im))
                return Num(self.b.apply("hypot", *parts), strong=ty.dtype)
            if function in _PART:
                return self.part(_PART[function], x, node)
            if function in (np.conj, np.conjugate):
                return self.conjugate(x, ty, node)
            if function is np.square:
                return self.operated(ast.Mult, x, x, node, ufunc="square")
            if function is np.negative and ty.dtype == x.strong:
                return self.negated(x, node)
            if function is bool:
                return Num(self.truth_of(x), weak="bool")
            if function is np.angle and not x.mixed:
                given = cast(x.im.ir, ty.dtype), cast(x.re.ir, ty.dtype)
                angle = self.b.apply("atan2", *given)
                return Num(self.b.warned("atan2", given, angle, "arctan2", node), strong=ty.dtype)
            if function in COMPLEX_FUNCTIONS and not x.mixed:
                return self._by_libm(function, x, ty, node)
            if function in _TESTS:
                name = UFUNCS[function].name
                sides = (Call(name, (p.ir,), "bool") for p in (x.re, x.im))
                return Num(bool_op(_TESTS[function], *sides), strong="bool")
        if function is np.where and ty is not None:
            return self.selected(args, ty, node)
        op = UFUNCS[function].name if function in UFUNCS else ""
        if op in OPERATORS and len(args) == 2 and ty is not None and not ty.weak:
            return self.operated(
                OPERATORS[op], args[0], args[1], node, ufunc=function.__name__
            )
        if op in COMPARISONS and len(args) == 2:
            return self.compare_nums(COMPARISONS[op](), args[0], args[1], node)
        name = ast.unparse(node.func)
        if function in _ORDERING:
            why = "orders complex numbers by their parts, and stays a call"
        elif function in _LEFT_TO_LIBRARY:
            why = "of a complex number has an algorithm of its own, and stays a call"
        else:
            why = "of a complex number is not compiled"
        return refuse("LOWER_COMPLEX", f"`{name}` {why}", node)

    def _by_python(self, function: Any, x: ComplexPair, node: ast.AST) -> Num | ComplexPair:
        """``cmath.exp(x)`` and ``cmath.phase(x)``: Python must answer for what is not finite."""
        re, im = self._parts_of(x, ScalarType("c128", weak=True), node)
        if x.mixed:
            refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
        fits = bool_op("and", *(Call("isfinite", (e,), "bool") for e in (re, im)))
        if function is cmath.phase:
            self.b.require(fits, "GUARD_RAISES", node)
            return Num(self.b.apply("atan2", im, re), weak="f64")
        small = Call("le", (re, Const(708.0, "f64")), "bool")
        self.b.require(bool_op("and", fits, small), "GUARD_RAISES", node)
        parts = (self.b.bind(self.b.apply(f"cexp_{part}", re, im)) for part in ("re", "im"))
        whole, imaginary = (Num(e, weak="f64") for e in parts)
        return ComplexPair(whole, imaginary)

    def _by_libm(self, function: Any, x: ComplexPair, ty: ScalarType, node: ast.AST) -> ComplexPair:
        """``np.exp(x)``, and the like."""
        given = self._parts_of(x, ty, node)
        parts = complex_function(self.b, function, given, node, certain=not self._summed(x))
        return self._typed_pair(parts, ty, [], "", x, x, node)

    def _made_complex(
        self, function: Any, args: list[Num | ComplexPair], node: ast.Call
    ) -> ComplexPair:
        """``complex(a, b)``, ``np.complex64(z)``."""
        weak = function is complex
        dtype = "f32" if function is np.complex64 else "f64"
        parts: list[Num]
        match args:
            case [ComplexPair() as x]:
                parts = [x.re, x.im]
            case [Num() as x]:
                parts = [x, Num(Const(0.0, dtype), strong=dtype)]
            case [Num() as x, Num() as y] if weak:
                parts = [x, y]
            case _:
                return refuse("LOWER_COMPLEX", f"`{ast.unparse(node)}` is not compiled", node)
        exprs = (round_to_float(self.b, p.ir, dtype, node) for p in parts)
        re, im = (Num(e, weak=dtype) if weak else Num(e, strong=dtype) for e in exprs)
        return ComplexPair(re, im)
