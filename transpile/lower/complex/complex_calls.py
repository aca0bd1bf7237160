"""Lower calls and attributes of complex numbers: `abs(z)`, `z.real`, `complex(a, b)`."""
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
from ..scalars.scalar_operands import result_type, round_to_float
from ..scalars.tagged_unions import lower_number
from ..state.float_exceptions import with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_guarded
from ..state.path_conditions import apply_op
from .complex_arithmetic import (
    apply_operator,
    as_complex_parts,
    complex_magnitude,
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


def real_or_imaginary_part(ctx: Lowering, name: str, x: Num | ComplexPair, node: ast.AST) -> Num:
    """``x.real`` or ``x.imag``."""
    if isinstance(x, ComplexPair):
        if x.doubtful:
            refuse("LOWER_JOIN", "the number may be real, depending on the data", node)
        return x.re if name == "real" else x.im
    if name == "real" and x.dtype != "bool":
        return x
    ty = result_type(ctx, operator.attrgetter(name), (x,), node)
    if name == "real" or x.either:
        refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    zero = Const(0.0 if ty.dtype[0] == "f" else 0, ty.dtype)
    return Num(zero, weak=ty.dtype) if ty.weak else Num(zero, strong=ty.dtype)


def lower_conjugate_method(ctx: Lowering, node: ast.Call) -> Num | ComplexPair | None:
    """``x.conjugate()``; None for other calls."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]) if (
            name in ("conj", "conjugate") and resolve_guarded(ctx, node.func) is None
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
    """A call where an argument, or the result, is complex."""
    if function in COMPLEX_CONSTRUCTORS:
        return _construct_complex(ctx, function, args, node)
    if not callable(function):
        refuse("LOWER_CALL", f"`{source_text(node.func)}` is not known", node)
    x = args[0]
    if function in (cmath.exp, cmath.phase) and len(args) == 1 and isinstance(x, ComplexPair):
        return _cmath_function(ctx, function, x, node)
    if function is builtins.abs and isinstance(x, ComplexPair):
        return complex_magnitude(ctx, x, node)
    ty = probe_result(function, *args)
    if ty is not None and len(args) == 1 and isinstance(x, ComplexPair):
        if function in (np.abs, np.absolute):
            parts = (cast(p.ir, ty.dtype) for p in (x.re, x.im))
            return Num(apply_op(ctx.b, "hypot", *parts), strong=ty.dtype)
        if function in _PART:
            return real_or_imaginary_part(ctx, _PART[function], x, node)
        if function in (np.conj, np.conjugate):
            return conjugate_complex(ctx, x, ty, node)
        if function is np.square:
            return apply_operator(ctx, ast.Mult, x, x, node, ufunc="square")
        if function is np.negative and ty.dtype == x.strong:
            return negate(ctx, x, node)
        if function is bool:
            return Num(complex_truth(ctx, x), weak="bool")
        if function is np.angle and not x.mixed:
            given = cast(x.im.ir, ty.dtype), cast(x.re.ir, ty.dtype)
            angle = apply_op(ctx.b, "atan2", *given)
            return Num(
                with_warnings(ctx.b, "atan2", given, angle, "arctan2", node), strong=ty.dtype
            )
        if function in COMPLEX_FUNCTIONS and not x.mixed:
            return _numpy_complex_function(ctx, function, x, ty, node)
        if function in _TESTS:
            name = UFUNCS[function].name
            sides = (Call(name, (p.ir,), "bool") for p in (x.re, x.im))
            return Num(bool_op(_TESTS[function], *sides), strong="bool")
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
        why = "orders complex numbers by their parts, and stays a call"
    elif function in _LEFT_TO_LIBRARY:
        why = "of a complex number has an algorithm of its own, and stays a call"
    else:
        why = "of a complex number is not compiled"
    return refuse("LOWER_COMPLEX", f"`{name}` {why}", node)


def _cmath_function(
    ctx: Lowering, function: Any, x: ComplexPair, node: ast.AST
) -> Num | ComplexPair:
    """``cmath.exp(x)`` and ``cmath.phase(x)``: Python must answer for what is not finite."""
    re, im = as_complex_parts(ctx, x, ScalarType("c128", weak=True), node)
    if x.mixed:
        refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    fits = bool_op("and", *(Call("isfinite", (e,), "bool") for e in (re, im)))
    if function is cmath.phase:
        require(ctx.b, fits, "GUARD_RAISES", node)
        return Num(apply_op(ctx.b, "atan2", im, re), weak="f64")
    small = Call("le", (re, Const(708.0, "f64")), "bool")
    require(ctx.b, bool_op("and", fits, small), "GUARD_RAISES", node)
    parts = (ctx.b.bind(apply_op(ctx.b, f"cexp_{part}", re, im)) for part in ("re", "im"))
    whole, imaginary = (Num(e, weak="f64") for e in parts)
    return ComplexPair(whole, imaginary)


def _numpy_complex_function(
    ctx: Lowering, function: Any, x: ComplexPair, ty: ScalarType, node: ast.AST
) -> ComplexPair:
    """``np.exp(x)``, and the like."""
    given = as_complex_parts(ctx, x, ty, node)
    parts = complex_function(ctx.b, function, given, node, certain=not is_reassociated_fold(ctx, x))
    return with_complex_type(ctx, parts, ty, [], "", x, x, node)


def _construct_complex(
    ctx: Lowering, function: Any, args: list[Num | ComplexPair], node: ast.Call
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
            return refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    exprs = (round_to_float(ctx.b, p.ir, dtype, node) for p in parts)
    re, im = (Num(e, weak=dtype) if weak else Num(e, strong=dtype) for e in exprs)
    return ComplexPair(re, im)
