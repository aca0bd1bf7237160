"""Lower calls and attributes of complex numbers: `abs(z)`, `z.real`, `complex(a, b)`.

`lower_complex_call` has the callees that are compiled with a complex argument or result. Functions
whose algorithm is not reproduced to the bit, such as ``np.arcsin``, are refused: they stay calls of
the library.
"""
from __future__ import annotations

import ast
import builtins
import cmath
import operator
from typing import Any

import numpy as np

from loopir.nodes import Call, Const

from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...types.typed_values import ComplexPair, Num, bool_op, cast, probe_result
from ...types.value_types import ScalarType
from ..scalars.callable_ops import COMPARISONS, OPERATORS, UFUNCS
from ..scalars.lower_expressions import compare_numbers
from ..scalars.scalar_operands import round_to_float, scalar_result_type
from ..scalars.tagged_unions import lower_number
from ..state.float_exceptions import with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op
from .complex_arithmetic import (
    apply_operator,
    as_complex_parts,
    complex_magnitude,
    complex_reciprocal,
    complex_truth,
    complex_where,
    conjugate_complex,
    is_reassociated_fold,
    negate,
    with_complex_type,
)
from .complex_formulas import COMPLEX_FUNCTIONS, complex_function

__all__ = [
    "COMPLEX_CONSTRUCTORS", "lower_complex_call", "lower_conjugate_method",
    "real_or_imaginary_part",
]

COMPLEX_CONSTRUCTORS: tuple[Any, ...] = (complex, np.complex64, np.complex128)
"""Callees that convert numbers to complex ones."""
_PART = {np.real: "real", np.imag: "imag"}
_ORDERING = (np.maximum, np.minimum, np.fmax, np.fmin, np.clip)
"""NumPy's functions that compare complex numbers by their real, then by their imaginary parts."""

_LIBRARY_FUNCTIONS = {
    getattr(module, name) for module in (np, cmath) for name in (
        "exp", "log", "log10", "log1p", "expm1", "exp2", "sqrt", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
        "asin", "acos", "atan", "asinh", "acosh", "atanh", "power", "phase", "polar",
    ) if hasattr(module, name)
}
"""Functions of which a refusal says that NumPy or `cmath` has an algorithm of its own for complex
numbers. Those of them that are compiled do not get there.
"""
_TESTS: dict[Any, str] = {np.isnan: "or", np.isinf: "or", np.isfinite: "and"}
"""Tests of both parts, with the operator that joins them."""

_CEXP_SAFE_REAL = 708.0
"""``cexp`` of a number with this real part, or a lesser one, does not overflow."""


def real_or_imaginary_part(ctx: Lowering, name: str, x: Num | ComplexPair, node: ast.AST) -> Num:
    """``x.real`` or ``x.imag``, as `name` says, also of a real number. Raises Refused where nothing
    tells at run time whether `x` is real (`ComplexPair.doubtful`), for ``real`` of a bool, and for
    ``imag`` of a real number that is Python's or NumPy's, depending on the data.
    """
    if isinstance(x, ComplexPair):
        if x.doubtful:
            refuse("LOWER_JOIN", "the number may be real, depending on the data", node)
        return x.re if name == "real" else x.im
    if name == "real" and x.dtype != "bool":
        return x
    ty = scalar_result_type(operator.attrgetter(name), (x,), node)
    if name == "real" or x.either:
        refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    zero = Const(0.0 if ty.dtype[0] == "f" else 0, ty.dtype)
    return Num(zero, weak=ty.dtype) if ty.weak else Num(zero, strong=ty.dtype)


def lower_conjugate_method(ctx: Lowering, node: ast.Call) -> Num | ComplexPair | None:
    """The call `node` of a method of a local object, if it is ``x.conjugate()`` or ``x.conj()`` of
    a number; None for other calls. A NumPy real number is its own conjugate. Raises Refused for a
    real number that may be Python's, and where the type of a complex result is not known.
    """
    match node:
        case ast.Call(
            func=ast.Attribute(value=value, attr="conj" | "conjugate" as name), args=[], keywords=[]
        ):
            x = lower_number(ctx, value)
            if isinstance(x, ComplexPair):
                ty = probe_result(operator.methodcaller(name), x)
                if ty is not None:
                    return conjugate_complex(ctx, x, ty, node)
            elif x.strong and not x.weak:
                return x
            refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    return None


def lower_complex_call(
    ctx: Lowering, function: Any, args: list[Num | ComplexPair], node: ast.Call
) -> Num | ComplexPair:
    """The call `node` of `function` with `args`, of which one is complex, or which makes a complex
    number. The first case that applies decides: a constructor; a function of one complex number;
    ``np.where``; the function of an operator or a comparison.

    Raises Refused for other functions; the message tells why.
    """
    if function in COMPLEX_CONSTRUCTORS:
        return _construct_complex(ctx, function, args, node)
    if not callable(function):
        refuse("LOWER_CALL", f"`{source_text(node.func)}` is not known", node)
    ty = probe_result(function, *args)
    if len(args) == 1 and isinstance(args[0], ComplexPair):
        value = _function_of_one(ctx, function, args[0], ty, node)
        if value is not None:
            return value
    if function is np.where and ty is not None:
        return complex_where(ctx, args, ty, node)
    op = UFUNCS[function].name if function in UFUNCS else ""
    if op in OPERATORS and len(args) == 2 and ty is not None and not ty.weak:
        return apply_operator(
            ctx, OPERATORS[op], args[0], args[1], node, ufunc=function.__name__
        )
    if op in COMPARISONS and len(args) == 2:
        return compare_numbers(ctx, COMPARISONS[op](), args[0], args[1], node)
    name = ast.unparse(node.func)
    if function in _ORDERING:
        reason = "orders complex numbers by their parts, and stays a call"
    elif function in _LIBRARY_FUNCTIONS:
        reason = "of a complex number has an algorithm of its own, and stays a call"
    else:
        reason = "of a complex number is not compiled"
    return refuse("LOWER_COMPLEX", f"`{name}` {reason}", node)


def _function_of_one(
    ctx: Lowering, function: Any, x: ComplexPair, ty: ScalarType | None, node: ast.Call
) -> Num | ComplexPair | None:
    """``function(x)``, with the result type `ty`; None for a function that is not compiled, or
    whose result type is not known.
    """
    if function in (cmath.exp, cmath.phase):
        return _cmath_function(ctx, function, x, node)
    if function is builtins.abs:
        return complex_magnitude(ctx, x, node)
    if ty is None:
        return None
    if function in (np.abs, np.absolute):
        parts = (cast(p.ir, ty.dtype) for p in (x.re, x.im))
        return Num(apply_op(ctx.b, "hypot", *parts), strong=ty.dtype)
    if function in _PART:
        return real_or_imaginary_part(ctx, _PART[function], x, node)
    if function in (np.conj, np.conjugate):
        return conjugate_complex(ctx, x, ty, node)
    if function is np.square:
        return apply_operator(ctx, ast.Mult, x, x, node, ufunc="square")
    if function is np.reciprocal:
        return complex_reciprocal(ctx, x, ty, node)
    if function is np.negative and ty.dtype == x.strong:
        return negate(ctx, x, node)
    if function is bool:
        return Num(complex_truth(x), weak="bool")
    if function is np.angle and not x.mixed:
        operands = cast(x.im.ir, ty.dtype), cast(x.re.ir, ty.dtype)
        angle = apply_op(ctx.b, "atan2", *operands)
        value = with_warnings(ctx.b, "atan2", operands, angle, "arctan2", node)
        return Num(value, strong=ty.dtype)
    if function in COMPLEX_FUNCTIONS and not x.mixed:
        return _numpy_complex_function(ctx, function, x, ty, node)
    if function in _TESTS:
        test = UFUNCS[function].name
        sides = (Call(test, (p.ir,), "bool") for p in (x.re, x.im))
        return Num(bool_op(_TESTS[function], *sides), strong="bool")
    return None


def _cmath_function(
    ctx: Lowering, function: Any, x: ComplexPair, node: ast.AST
) -> Num | ComplexPair:
    """``cmath.exp(x)`` or ``cmath.phase(x)``. Requires that `x` is finite, and small enough for
    ``exp``: Python has rules of its own for other numbers, and raises.
    """
    re, im = as_complex_parts(ctx, x, ScalarType("c128", weak=True), node)
    if x.mixed:
        refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    is_finite = bool_op("and", *(Call("isfinite", (e,), "bool") for e in (re, im)))
    if function is cmath.phase:
        require(ctx.b, is_finite, "GUARD_RAISES", node)
        return Num(apply_op(ctx.b, "atan2", im, re), weak="f64")
    no_overflow = Call("le", (re, Const(_CEXP_SAFE_REAL, "f64")), "bool")
    require(ctx.b, bool_op("and", is_finite, no_overflow), "GUARD_RAISES", node)
    parts = (ctx.b.bind(apply_op(ctx.b, f"cexp_{part}", re, im)) for part in ("re", "im"))
    exp_re, exp_im = (Num(e, weak="f64") for e in parts)
    return ComplexPair(exp_re, exp_im)


def _numpy_complex_function(
    ctx: Lowering, function: Any, x: ComplexPair, ty: ScalarType, node: ast.AST
) -> ComplexPair:
    """``function(x)`` for one of `COMPLEX_FUNCTIONS`, with the result type `ty`."""
    operand = as_complex_parts(ctx, x, ty, node)
    certain = not is_reassociated_fold(ctx, x)
    parts = complex_function(ctx.b, function, operand, node, certain=certain)
    return with_complex_type(parts, ty, [], "", (x, x), node)


def _construct_complex(
    ctx: Lowering, function: Any, args: list[Num | ComplexPair], node: ast.Call
) -> ComplexPair:
    """``complex(a, b)`` of two real numbers, and ``complex(z)``, ``np.complex64(z)`` or
    ``np.complex128(z)`` of one number; if that is real, the imaginary part is 0. Raises Refused for
    other arguments.
    """
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
            return refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    exprs = (round_to_float(ctx.b, p, dtype, node) for p in parts)
    re, im = (Num(e, weak=dtype) if weak else Num(e, strong=dtype) for e in exprs)
    return ComplexPair(re, im)
