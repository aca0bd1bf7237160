"""Lower `x ** y`: products and roots for a few constant exponents, `pow` for the others."""
from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr

from ...frontend.refusal import refuse
from ...types.typed_values import Num, cast
from ...types.value_types import ScalarType
from ..state.float_exceptions import in_domain, note_silent, with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op
from ..state.value_ranges import bind_num, integer_num, linear_form, min_value
from .scalar_operands import convert_operand, result_type, with_result_type

__all__ = ["Multiply", "operation_in_domain", "power_operation"]

_LARGEST_POWER = 64
_POWER_BITS = 60
"""Of what Python's ints to a power that is not known may be."""

Multiply: TypeAlias = "Callable[[Num, Num], Num]"
"""Lowers the product of two numbers."""

_ROOTS = (0.5, -0.5, 1.5)
_TAKES_ROOTS = bool(np.signbit(np.power(-0.0, 0.5)))  # NumPy's power, by its version


def power_operation(
    ctx: Lowering, x: Num, y: Num, node: ast.AST, spelled: str, multiply: Multiply, *,
    ufunc: bool = False,
) -> Num:
    """``x ** y``; with `ufunc`, ``np.power(x, y)``.

    ``multiply`` lowers the products of which a constant power consists; ``spelled``: NumPy's name
    of the operation in warnings.
    """
    exponent = y.ir.value if isinstance(y.ir, Const) and y.weak else None
    whole = type(exponent) is int and y.weak == "i64" and x.dtype != "bool"
    if x.boxed and x.dtype == "bool":
        refuse("LOWER_TYPE", "a power of a bool array without dimensions is not compiled", node)
    if exponent in (2, 3) and x.dtype != "bool":
        return _square_or_cube(ctx, x, y, int(exponent), node, spelled, multiply)
    ty = result_type(ctx, operator.pow, (x, y), node)
    if DTYPES[ty.dtype].kind != "f":
        if whole and 1 <= int(exponent or 0) <= _LARGEST_POWER:
            return _constant_integer_power(ctx, x, int(exponent or 0), ty, node, multiply)
        return _integer_power(ctx, x, y, ty, node)
    a, c = (
        convert_operand(ctx.b, x, ty.dtype, node),
        convert_operand(ctx.b, y, ty.dtype, node),
    )
    if exponent in _ROOTS:
        roots = ufunc and exponent == 0.5 and _TAKES_ROOTS
        value = (
            apply_op(ctx.b, "sqrt", a) if roots else _power_by_root(ctx, a, x, ty, exponent, node)
        )
    else:
        value = apply_op(ctx.b, "pow", a, c)
    if not ty.weak:
        return with_result_type(with_warnings(ctx.b, "pow", (a, c), value, spelled, node), ty, x, y)
    value = ctx.b.bind(value)
    note_silent(ctx.b, "pow", (a, c), value, node)
    if exponent != 0.5:
        require(ctx.b, in_domain("pow", (a, c), value), "GUARD_RAISES", node)
    return with_result_type(value, ty, x, y)


def _power_by_root(
    ctx: Lowering, x: Expr, n: Num, ty: ScalarType, exponent: Any, node: ast.AST
) -> Expr:
    """Of `x`, which is `n` as a float, by the square root: closer than a power, within 0.5 ULP,
    or 1.5 with a product.

    A power knows one zero and one infinity; Python's of less than zero is complex.
    """
    x = ctx.b.bind(x, "base")
    if ty.weak:
        require(ctx.b, in_domain("sqrt", (x,), x), "GUARD_RAISES", node)
    elif DTYPES[n.dtype].kind == "f":
        infinite = Call("eq", (x, Const(-math.inf, x.dtype)), "bool")
        x = Call("select", (infinite, Const(math.inf, x.dtype), x), x.dtype)
    if DTYPES[n.dtype].kind == "f":
        x = ctx.b.bind(Call("add", (x, Const(0.0, x.dtype)), x.dtype), "base")
    root = apply_op(ctx.b, "sqrt", x)
    match exponent:
        case 0.5:
            return root
        case 1.5:
            return Call("mul", (x, root), x.dtype)
        case _:
            return Call("div", (Const(1.0, x.dtype), root), x.dtype)


def _integer_power(ctx: Lowering, x: Num, y: Num, ty: ScalarType, node: ast.AST) -> Num:
    """Integers to a power that is not known, and must not be negative: NumPy's wrap."""
    base = x.ir.value if isinstance(x.ir, Const) else None
    if ty.weak and base in (-1, 2) and y.python_int:
        return _power_of_minus_one_or_two(ctx, int(base or 0), y, node)
    if ty.weak and x.python_int and y.python_int:
        return _python_int_power(ctx, x, y, node)
    if ty.weak or DTYPES[ty.dtype].kind not in "iu":
        refuse("LOWER_UNSUPPORTED", "a power of Python's bools is not compiled", node)
    a, c = (ctx.b.bind(convert_operand(ctx.b, n, ty.dtype, node)) for n in (x, y))
    if DTYPES[ty.dtype].kind == "i":
        zero = Const(0, ty.dtype)
        require(ctx.b, Call("ge", (c, zero), "bool"), "GUARD_RAISES", node)
    return with_result_type(Call("ipow", (a, c), ty.dtype), ty, x, y)


def _python_int_power(ctx: Lowering, x: Num, y: Num, node: ast.AST) -> Num:
    """Python's ints, where that is one of 62 bits: how large it is, floats tell."""
    a, k = ctx.b.bind(x.ir, "base"), ctx.b.bind(y.ir, "exponent")
    if min_value(ctx.b, linear_form(ctx.b, y.ir)) < 0:
        require(ctx.b, Call("ge", (k, index_const(0)), "bool"), "GUARD_RAISES", node)
    floats = cast(a, "f64"), cast(Call("max", (k, index_const(0)), "i64"), "f64")
    size = ctx.b.bind(Call("abs", (apply_op(ctx.b, "pow", *floats),), "f64"), "size")
    note_silent(ctx.b, "pow", floats, size, node)
    most = float(1 << _POWER_BITS)
    fits = Call("le", (size, Const(most, "f64")), "bool")
    require(ctx.b, fits, "GUARD_INT_RANGE", node)
    low, high = -(1 << _POWER_BITS + 1), 1 << _POWER_BITS + 1
    return integer_num(ctx.b, Call("ipow", (a, k), "i64"), (low, high))


def _power_of_minus_one_or_two(ctx: Lowering, base: int, y: Num, node: ast.AST) -> Num:
    """``(-1) ** k`` and ``2 ** k``, which are ints where `k` is not negative."""
    if base == 2:
        k = ctx.b.bind(y.ir)
        for op, limit in (("ge", 0), ("le", 61)):
            ok = Call(op, (k, index_const(limit)), "bool")
            require(ctx.b, ok, "GUARD_INT_RANGE", node)
        return integer_num(ctx.b, Call("shl", (index_const(1), k), "i64"), (0, 1 << 61))
    if min_value(ctx.b, linear_form(ctx.b, y.ir)) < 0:
        require(ctx.b, Call("ge", (y.ir, index_const(0)), "bool"), "GUARD_RAISES", node)
    odd = Call("bitand", (y.ir, index_const(1)), "i64")
    sign = Call("sub", (index_const(1), Call("shl", (odd, index_const(1)), "i64")), "i64")
    return integer_num(ctx.b, sign, (-1, 1))


def _constant_integer_power(
    ctx: Lowering, x: Num, exponent: int, ty: ScalarType, node: ast.AST, multiply: Multiply
) -> Num:
    """Squares, and products of them: Python's grow, NumPy's wrap and do not warn."""
    square, out = bind_num(ctx.b, x, "base"), None
    while True:
        if exponent & 1:
            out = square if out is None else _multiply_in_type(ctx, out, square, ty, node, multiply)
        exponent >>= 1
        if not exponent:
            assert out is not None
            return out
        square = bind_num(ctx.b, _multiply_in_type(ctx, square, square, ty, node, multiply), "base")


def _multiply_in_type(
    ctx: Lowering, x: Num, y: Num, ty: ScalarType, node: ast.AST, multiply: Multiply
) -> Num:
    if ty.weak:
        return multiply(x, y)
    a, c = (convert_operand(ctx.b, n, ty.dtype, node) for n in (x, y))
    return with_result_type(Call("mul", (a, c), ty.dtype), ty, x, y)


def _square_or_cube(
    ctx: Lowering, x: Num, y: Num, exponent: int, node: ast.AST, spelled: str, multiply: Multiply
) -> Num:
    """A square or a cube, as products. Python's floats raise where they overflow, and NumPy's
    integers wrap and do not warn.
    """
    if x.weak == "i64" and y.weak == "i64":
        n = bind_num(ctx.b, x, "base")
        whole = multiply(n, n)
        return whole if exponent == 2 else multiply(whole, n)
    ty = result_type(ctx, operator.pow, (x, y), node)
    e = ctx.b.bind(convert_operand(ctx.b, x, ty.dtype, node), "base")
    square = Call("mul", (e, e), ty.dtype)
    product: Expr = square if exponent == 2 else Call("mul", (square, e), ty.dtype)
    if ty.weak and DTYPES[ty.dtype].kind == "f":
        product = ctx.b.bind(product)
        note_silent(ctx.b, "pow", (e,), product, node)
        require(ctx.b, in_domain("pow", (e,), product), "GUARD_RAISES", node)
    elif DTYPES[ty.dtype].kind == "f":
        product = with_warnings(ctx.b, "pow", (e,), product, spelled, node, ("over", "under"))
    return with_result_type(product, ty, x, y)


def operation_in_domain(ctx: Lowering, op: str, operands: tuple[Expr, ...], node: ast.AST) -> Expr:
    """`op` on Python's floats: Python must decide where it would raise."""
    e = ctx.b.bind(apply_op(ctx.b, op, *operands))
    note_silent(ctx.b, op, operands, e, node)
    require(ctx.b, in_domain(op, operands, e), "GUARD_RAISES", node)
    return e
