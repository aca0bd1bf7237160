"""Lower `x ** y`: products and roots for a few constant exponents, `pow` for the others.

By the exponent and the result type, in this order (`power_operation`):

- 2 and 3: products;
- integers: repeated squaring for a constant from 1 to 64; shifts for ``2 ** k`` and ``(-1) ** k``
  of Python's ints; else ``ipow``. Of Python's ints each product has its overflow check, and other
  powers are checked to stay within 62 bits;
- floats: 0.5, -0.5 and 1.5 by the square root; else ``pow``, of which the passes make products if
  the exponent is 4, 5 or 6 (`rewrite_rules.expand_power`).
"""
from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Const, Expr

from ...frontend.refusal import refuse
from ...types.typed_values import Num, bool_op, cast
from ...types.value_types import ScalarType
from ..state.float_exceptions import WarningName, in_domain, note_silent, with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op
from ..state.value_ranges import bind_num, integer_num, linear_form, min_value
from .scalar_operands import convert_operand, scalar_result_type, with_result_type

__all__ = ["ROOTS", "Multiply", "power_by_root", "power_operation"]

_MAX_SQUARING_EXPONENT = 64
"""The largest constant exponent for which an integer power is lowered to products."""

_POWER_BITS = 60
"""The number of bits that a power of Python ints with an unknown exponent may have."""

Multiply: TypeAlias = "Callable[[Num, Num], Num]"
"""A function that lowers the product of two numbers."""

ROOTS = (0.5, -0.5, 1.5)
"""The exponents of powers that are lowered to square roots."""
_POWER_IS_SQRT = bool(np.signbit(np.power(-0.0, 0.5)))
"""Whether this version's ``np.power(x, 0.5)`` is ``np.sqrt(x)``, also for -0.0 and -inf."""


def power_operation(
    ctx: Lowering, x: Num, y: Num, node: ast.AST, spelled: WarningName, multiply: Multiply, *,
    ufunc: bool = False,
) -> Num:
    """``x ** y``; with ``ufunc``, ``np.power(x, y)``. Called by `binary_operation`.

        x ** 2      →  x * x
        k ** 5      →  s = k * k; k * (s * s)    integers: each product with its overflow check
        x ** 0.5    →  sqrt(x + 0.0)             floats: (-0.0) ** 0.5 is 0.0, but sqrt(-0.0) -0.0
        x ** y      →  pow(x, y)

    The cases are tried in the order of the module's docstring. Python's power of floats raises
    where it overflows and for 0.0 to a negative power, and is complex for a negative base with a
    fraction as exponent: where one of these happens, the call is replayed. NumPy's power warns, or
    gives NaN.

    ``spelled``: NumPy's name of the operation in warnings. ``multiply``: lowers the products of
    which a power consists, with their checks; it is `binary_operation` again, which this module
    cannot import. Raises Refused for powers of bools; a base that is Python's int or NumPy's bool,
    depending on the data, is lowered as NumPy's int64 in place of the bool.
    """
    exponent = y.ir.value if isinstance(y.ir, Const) and y.weak else None
    is_int_constant = type(exponent) is int and y.weak == "i64" and x.dtype != "bool"
    if x.boxed and x.dtype == "bool":
        refuse("LOWER_TYPE", "a power of a bool array without dimensions is not compiled", node)
    if x.types == ("bool", "i64") and y.types == (None, "i64"):
        x = replace(x, strong="i64")  # as the power of NumPy's bool and Python's int is
    if exponent in (2, 3) and x.dtype != "bool":
        return _square_or_cube(ctx, x, y, int(exponent), node, spelled, multiply)
    ty = scalar_result_type(operator.pow, (x, y), node)
    if DTYPES[ty.dtype].kind != "f":
        if is_int_constant and 1 <= int(exponent or 0) <= _MAX_SQUARING_EXPONENT:
            return _constant_integer_power(ctx, x, int(exponent or 0), ty, node, multiply)
        return _integer_power(ctx, x, y, ty, node)
    a, c = (
        convert_operand(ctx.b, x, ty.dtype, node),
        convert_operand(ctx.b, y, ty.dtype, node),
    )
    if exponent in ROOTS:
        if ufunc and exponent == 0.5 and _POWER_IS_SQRT:
            value = apply_op(ctx.b, "sqrt", a)
        else:
            value = power_by_root(ctx, a, x, exponent, node, weak=bool(ty.weak))
    else:
        a, c = ctx.b.bind(a, "base"), ctx.b.bind(c, "exponent")
        if not ty.weak and not spelled.of_scalars:
            _require_common_power(ctx, a, c, node)
        value = apply_op(ctx.b, "pow", a, c)
    if not ty.weak:
        value = with_warnings(ctx.b, "pow", (a, c), value, str(spelled), node)
        return with_result_type(value, ty, x, y)
    value = ctx.b.bind(value)
    note_silent(ctx.b, "pow", (a, c), value, node)
    if exponent != 0.5:  # of which `power_by_root` has required the domain of the square root
        require(ctx.b, in_domain("pow", (a, c), value), "GUARD_RAISES", node)
    return with_result_type(value, ty, x, y)


def _require_common_power(ctx: Lowering, x: Expr, y: Expr, node: ast.AST) -> None:
    """Requires operands for which ``np.power(x, y)`` gives the result and the warnings of C's
    ``pow``; on the others the call is replayed.

    NumPy warns of some infinite powers whose exponent is infinite (of 0.0 to -inf, of 1e308 to
    inf), where ``pow`` raises no status. It takes the square root if the exponent of all elements
    is 0.5, which differs for -0.0 and -inf (`_POWER_IS_SQRT`): an exponent that is known at kernel
    entry must not be 0.5, since a check of each base would slow the loop; else the base must have
    no sign.
    """
    if isinstance(y, Const) and math.isfinite(y.value) and y.value != 0.5:
        return
    finite = _is_other(Call("abs", (y,), y.dtype), math.inf)
    require(ctx.b, finite, "GUARD_FLOAT_STATUS", node)
    if _POWER_IS_SQRT:
        common = _is_other(y, 0.5)
        if ctx.b.path.branches or not ctx.b.known_at_entry(common):
            positive = bool_op("not", Call("signbit", (x,), "bool"))
            common = bool_op("or", common, positive)
        require(ctx.b, common, "GUARD_FLOAT_STATUS", node)


def _is_other(x: Expr, value: float) -> Expr:
    """``x != value``."""
    return Call("ne", (x, Const(value, x.dtype)), "bool")


def power_by_root(
    ctx: Lowering, x: Expr, n: Num, exponent: Any, node: ast.AST, *, weak: bool
) -> Expr:
    """``x ** exponent`` for one of `ROOTS`, by the square root: within 0.5 ULP, or 1.5 ULP with
    the product or quotient. `x` is the operand `n` converted to a float type; ``weak``: Python's.

    A power of -0.0 or -inf is that of 0.0 or inf, so these are replaced first. A power of a
    negative Python float is complex: it is required that there is none.
    """
    ctx.b.rounds_otherwise = True
    x = ctx.b.bind(x, "base")
    if weak:
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
    """``x ** y`` for integers. NumPy's wrap around. Requires that the exponent is not negative,
    where NumPy raises and Python gives a float. Raises Refused for Python's bools.
    """
    base = x.ir.value if isinstance(x.ir, Const) else None
    if ty.weak and base in (-1, 2) and y.python_int:
        return _power_of_minus_one_or_two(ctx, int(base or 0), y, node)
    if ty.weak and x.python_int and y.python_int:
        return _python_int_power(ctx, x, y, node)
    if ty.weak or DTYPES[ty.dtype].kind not in "iu":
        help = "convert the bool to an int before, by `int(...)`"
        refuse("LOWER_UNSUPPORTED", "a power of Python's bools is not compiled", node, help=help)
    a, c = (ctx.b.bind(convert_operand(ctx.b, n, ty.dtype, node)) for n in (x, y))
    if DTYPES[ty.dtype].kind == "i":
        zero = Const(0, ty.dtype)
        require(ctx.b, Call("ge", (c, zero), "bool"), "GUARD_RAISES", node)
    return with_result_type(Call("ipow", (a, c), ty.dtype), ty, x, y)


def _python_int_power(ctx: Lowering, x: Num, y: Num, node: ast.AST) -> Num:
    """``x ** y`` of Python ints, required to have at most `_POWER_BITS` bits. Its magnitude is
    estimated by a power of floats, which is why the limit is below 62 bits.
    """
    a, k = ctx.b.bind(x.ir, "base"), ctx.b.bind(y.ir, "exponent")
    if min_value(ctx.b, linear_form(ctx.b, y.ir)) < 0:
        require(ctx.b, Call("ge", (k, index_const(0)), "bool"), "GUARD_RAISES", node)
    floats = cast(a, "f64"), cast(Call("max", (k, index_const(0)), "i64"), "f64")
    magnitude = ctx.b.bind(Call("abs", (apply_op(ctx.b, "pow", *floats),), "f64"), "size")
    note_silent(ctx.b, "pow", floats, magnitude, node)
    fits = Call("le", (magnitude, Const(float(1 << _POWER_BITS), "f64")), "bool")
    require(ctx.b, fits, "GUARD_INT_RANGE", node)
    low, high = -(1 << _POWER_BITS + 1), 1 << _POWER_BITS + 1
    return integer_num(ctx.b, Call("ipow", (a, k), "i64"), (low, high))


def _power_of_minus_one_or_two(ctx: Lowering, base: int, y: Num, node: ast.AST) -> Num:
    """``(-1) ** k`` as ``1 - 2 * (k & 1)``, or ``2 ** k`` as ``1 << k``, as `base` says. Requires
    that `k` is not negative, where the result is a float, and that the power of 2 fits.
    """
    if base == 2:
        k = ctx.b.bind(y.ir)
        for op, limit in (("ge", 0), ("le", 61)):
            in_range = Call(op, (k, index_const(limit)), "bool")
            require(ctx.b, in_range, "GUARD_INT_RANGE", node)
        return integer_num(ctx.b, Call("shl", (index_const(1), k), "i64"), (0, 1 << 61))
    if min_value(ctx.b, linear_form(ctx.b, y.ir)) < 0:
        require(ctx.b, Call("ge", (y.ir, index_const(0)), "bool"), "GUARD_RAISES", node)
    odd = Call("bitand", (y.ir, index_const(1)), "i64")
    sign = Call("sub", (index_const(1), Call("shl", (odd, index_const(1)), "i64")), "i64")
    return integer_num(ctx.b, sign, (-1, 1))


def _constant_integer_power(
    ctx: Lowering, x: Num, exponent: int, ty: ScalarType, node: ast.AST, multiply: Multiply
) -> Num:
    """``x ** exponent`` for integers by repeated squaring, with the result type `ty`. The overflow
    of Python ints is checked by each product; NumPy's wrap around without a warning.
    """
    square, product = bind_num(ctx.b, x, "base"), None
    while True:
        if exponent & 1:
            product = (
                square if product is None
                else _multiply_in_type(ctx, product, square, ty, node, multiply)
            )
        exponent >>= 1
        if not exponent:
            assert product is not None
            return product
        square = bind_num(ctx.b, _multiply_in_type(ctx, square, square, ty, node, multiply), "base")


def _multiply_in_type(
    ctx: Lowering, x: Num, y: Num, ty: ScalarType, node: ast.AST, multiply: Multiply
) -> Num:
    """The product of two integers: by `multiply` for Python ints, which checks; in the dtype of
    `ty` for NumPy's.
    """
    if ty.weak:
        return multiply(x, y)
    a, c = (convert_operand(ctx.b, n, ty.dtype, node) for n in (x, y))
    return with_result_type(Call("mul", (a, c), ty.dtype), ty, x, y)


def _square_or_cube(
    ctx: Lowering, x: Num, y: Num, exponent: int, node: ast.AST, spelled: WarningName,
    multiply: Multiply,
) -> Num:
    """``x ** 2`` or ``x ** 3``, as `exponent` says, as products; the other parameters are those of
    `power_operation`. Requires that Python floats do not overflow, where Python raises; NumPy's
    floats may warn, its integers wrap around without a warning.
    """
    if x.weak == "i64" and y.weak == "i64":
        n = bind_num(ctx.b, x, "base")
        int_square = multiply(n, n)
        return int_square if exponent == 2 else multiply(int_square, n)
    ty = scalar_result_type(operator.pow, (x, y), node)
    is_float = DTYPES[ty.dtype].kind == "f"
    is_of_array = not ty.weak and not spelled.of_scalars
    # NumPy squares arrays by products, too; of scalars it calls C's `pow`, as Python does
    ctx.b.rounds_otherwise |= is_float and not (is_of_array and exponent == 2)
    e = ctx.b.bind(convert_operand(ctx.b, x, ty.dtype, node), "base")
    square = Call("mul", (e, e), ty.dtype)
    product: Expr = square if exponent == 2 else Call("mul", (square, e), ty.dtype)
    if ty.weak and is_float:
        product = ctx.b.bind(product)
        note_silent(ctx.b, "pow", (e,), product, node)
        require(ctx.b, in_domain("mul", (e,), product), "GUARD_RAISES", node)
    elif is_float:
        product = with_warnings(ctx.b, "pow", (e,), product, str(spelled), node, ("over", "under"))
    return with_result_type(product, ty, x, y)
