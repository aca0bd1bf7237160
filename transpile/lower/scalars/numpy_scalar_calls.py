"""Lower calls of NumPy's functions on scalars: ufuncs, ``np.where``, and types as ``np.int64(x)``.

Each rule gets the arguments as real numbers of one type, as `lower_calls.CALLS` says.
"""
from __future__ import annotations

import ast
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from loopir.algebra.constant_folding import is_lossless_cast
from loopir.dtypes import DTYPES, dtype_name
from loopir.nodes import Call, Const, Expr
from loopir.op_table import Op

from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...types.int_limits import INT64
from ...types.numpy_probes import orders_zeros
from ...types.typed_values import Num, bool_op, cast, fits_dtype
from ..state.float_exceptions import with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op
from .builtin_calls import refuse_zero_dim_arrays, require_argument_count, to_python_int
from .callable_ops import COMPARISONS, OPERATORS, OPS_FUNCTIONS
from .lower_expressions import compare_numbers
from .scalar_arithmetic import binary_operation
from .scalar_operands import (
    as_array_item,
    convert_operand,
    round_to_float,
    scalar_result_type,
    truth_value,
    with_result_type,
)

__all__ = [
    "lower_clip", "lower_mask_call", "lower_numpy_float", "lower_numpy_int64",
    "lower_numpy_integer", "lower_square", "lower_ufunc", "lower_where",
]


def lower_numpy_float(ctx: Lowering, args: list[Num], node: ast.Call, *, dtype: type) -> Num:
    """``np.float32(x)``, with a source of the warning where a finite number becomes infinite."""
    (x,) = require_argument_count(args, 1, node)
    name = dtype_name(np.dtype(dtype))
    assert name is not None
    return Num(round_to_float(ctx.b, x, name, node), strong=name)


def _truncate_to_dtype(ctx: Lowering, x: Num, dtype: str, node: ast.Call) -> Num:
    """``np.int64(v)`` of a float that may be Python's: truncated, and required to fit `dtype`.
    Raises Refused for a 0-d array.
    """
    refuse_zero_dim_arrays([x], node)
    n = to_python_int(ctx, x, "trunc", int, node)
    e, to = ctx.b.bind(n.ir), DTYPES[dtype]
    for op, limit in (("ge", to.low), ("le", to.high)):
        if INT64[0] < limit < INT64[1]:
            fits = Call(op, (e, Const(limit, "i64")), "bool")
            require(ctx.b, fits, "GUARD_INT_RANGE", node)
    return Num(cast(e, dtype), strong=dtype, interval=n.interval)


def lower_numpy_int64(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``np.int64(x)``: keeps the linear form and the interval of an int. Raises Refused for an
    integer that is Python's or NumPy's, depending on the data, and for one that was rounded.
    """
    (x,) = require_argument_count(args, 1, node)
    if x.strong == x.dtype and not x.either and DTYPES[x.dtype].kind in "fu":
        return lower_numpy_integer(ctx, args, node, dtype="i64")
    if DTYPES[x.dtype].kind == "f":
        return _truncate_to_dtype(ctx, x, "i64", node)
    if x.either or not x.exact or not is_lossless_cast(x.dtype, "i64"):
        refuse("LOWER_TYPE", f"`{source_text(node)}` may not hold its operand", node)
    return Num(cast(x.ir, "i64"), strong="i64", linear=x.linear, interval=x.interval)


def lower_numpy_integer(ctx: Lowering, args: list[Num], node: ast.Call, *, dtype: str) -> Num:
    """``np.uint8(x)`` or another constructor of an integer or bool `dtype`. Python ints must fit,
    NumPy's integers wrap around, floats are truncated and required to fit. Raises Refused for an
    integer that is Python's or NumPy's, depending on the data, and for a float of Python as a bool
    or uint64.
    """
    (x,) = require_argument_count(args, 1, node)
    if isinstance(x.ir, Const) and fits_dtype(x.ir, dtype):
        return Num(cast(x.ir, dtype), strong=dtype)
    if x.strong == x.dtype and not x.either and DTYPES[x.dtype].kind == "f":
        return Num(as_array_item(ctx.b, x, dtype, node), strong=dtype)
    if DTYPES[x.dtype].kind == "f" and dtype not in ("bool", "u64"):
        return _truncate_to_dtype(ctx, x, dtype, node)
    if x.either or DTYPES[x.dtype].kind == "f":
        return refuse("LOWER_CALL", f"`{source_text(node)}` is not made of an integer", node)
    return Num(
        truth_value(x) if dtype == "bool" else convert_operand(ctx.b, x, dtype, node),
        strong=dtype,
    )


def lower_mask_call(
    ctx: Lowering, args: list[Num], node: ast.Call, *, compose: Callable[..., Expr]
) -> Num:
    """A function of `transpile.ops` on masks of lanes: `compose` gives its expression. Raises
    Refused for bools.
    """
    require_argument_count(args, len(signature(compose).parameters), node)
    ty = scalar_result_type(np.bitwise_and, (args[0], args[-1]), node)
    if DTYPES[ty.dtype].kind == "b":
        refuse("LOWER_TYPE", f"`{source_text(node)}` is of bools", node)
    operands = (ctx.b.bind(convert_operand(ctx.b, n, ty.dtype, node)) for n in args)
    value = compose(*operands)
    return Num(value, strong=value.dtype)


def lower_ufunc(
    ctx: Lowering, args: list[Num], node: ast.Call, *, function: Any, op: Op
) -> Num:
    """The ufunc or function of `transpile.ops` whose operation is `op`, on scalars.

    In this order: operators with an operand of NumPy (`binary_operation`), comparisons, bool
    operations, tests such as ``isnan``, and all else, such as ``np.exp(v)``, or ``np.add`` of
    Python's numbers: operands and result get the type that `function` gives for samples. Raises
    Refused for dtypes that the operation does not have.
    """
    require_argument_count(args, op.arity, node)
    if op.name in ("floordiv", "mod") and all(n.weak for n in args):
        args = _as_numpy_operands(ctx, args, node)  # a divisor of 0 warns, as of NumPy's integers
    if op.name == "pow" and not any(n.strong for n in args) and any(n.weak == "f64" for n in args):
        args = _as_numpy_operands(ctx, args, node)  # special operands, as `power_operation`
    if op.name in OPERATORS and not all(n.weak for n in args):
        return binary_operation(ctx, OPERATORS[op.name], args[0], args[1], node, ufunc=True)
    if op.name in COMPARISONS:
        left, right = _as_numpy_operands(ctx, args, node) if all(n.weak for n in args) else args
        return compare_numbers(ctx, COMPARISONS[op.name](), left, right, node)
    if op.name in ("and", "or", "xor", "not"):
        truths = tuple(map(truth_value, args))
        is_xor = op.name == "xor"
        value: Expr = Call("xor", truths, "bool") if is_xor else bool_op(op.name, *truths)
        return Num(value, strong="bool")
    ty = scalar_result_type(function, tuple(args), node)
    if op.result == "m":
        return with_result_type(_lower_test(args[0].ir, op, node), ty, *args)
    if not op.accepts(ty.dtype):
        if op.name in ("floor", "ceil", "trunc", "rint"):
            return with_result_type(cast(args[0].ir, ty.dtype), ty, *args)
        refuse("LOWER_TYPE", f"`{source_text(node)}` gives {ty}", node)
    operands = tuple(convert_operand(ctx.b, n, ty.dtype, node) for n in args)
    spelled = None if function in OPS_FUNCTIONS else function.__name__
    name = _IEEE_EXTREMA.get(op.name, op.name) if orders_zeros(ty.dtype) else op.name
    value = apply_op(ctx.b, name, *operands)
    return with_result_type(with_warnings(ctx.b, name, operands, value, spelled, node), ty, *args)


_IEEE_EXTREMA = {"minimum": "ieee_minimum", "maximum": "ieee_maximum"}
"""The operations that stand for these where -0.0 is less than 0.0."""


def _lower_test(x: Expr, op: Op, node: ast.Call) -> Expr:
    """A test such as ``isnan``, whose operation is `op`, of the scalar `x`."""
    if x.dtype in op.excluded:
        kind = DTYPES[x.dtype].numpy.name
        refuse("LOWER_TYPE", f"`{source_text(node)}` is of {kind}", node)
    return Call(op.name, (x if op.accepts(x.dtype) else cast(x, "f64"),), "bool")


def _as_numpy_operands(ctx: Lowering, args: list[Num], node: ast.Call) -> list[Num]:
    """Python numbers, converted to NumPy scalars of a common dtype, as a ufunc converts them.
    Raises Refused where one may be a NumPy scalar.
    """
    if any(n.strong for n in args):
        refuse("LOWER_TYPE", f"`{source_text(node)}` is of Python's numbers or NumPy's", node)
    dtype = next(d for d in ("f64", "i64", "bool") if any(n.weak == d for n in args))
    return [Num(convert_operand(ctx.b, n, dtype, node), strong=dtype) for n in args]


def lower_square(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``np.square(x)``"""
    (x,) = require_argument_count(args, 1, node)
    ty = scalar_result_type(np.square, (x,), node)
    e = ctx.b.bind(convert_operand(ctx.b, x, ty.dtype, node), "base")
    value: Expr = Call("mul", (e, e), ty.dtype)
    if DTYPES[ty.dtype].kind == "f":
        value = with_warnings(ctx.b, "mul", (e, e), value, "square", node)
    return with_result_type(value, ty, x)


def lower_where(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``np.where(cond, x, y)`` of scalars, whose result is a 0-d array.

        np.where(b != 0, a / b, 0.0)    →    select(b != 0, a / b, 0.0)     may warn where b is 0

    Unlike ``a / b if b != 0 else 0.0``, Python computes all arguments before the call. So `x` and
    `y` were lowered before this rule is called, without `used_only_where`, and raise their
    floating-point flags everywhere, as in NumPy.
    """
    cond, x, y = require_argument_count(args, 3, node)
    ty = scalar_result_type(np.where, (Num(truth_value(cond), strong="bool"), x, y), node)
    a, c = (
        convert_operand(ctx.b, x, ty.dtype, node),
        convert_operand(ctx.b, y, ty.dtype, node),
    )
    return Num(Call("select", (truth_value(cond), a, c), ty.dtype), strong=ty.dtype, boxed=True)


def lower_clip(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``np.clip(x, lo, hi)``: a NaN stays, and a value equal to a bound stays itself (0.0, -0.0).
    NaN if a bound is the constant NaN; requires that no other bound is NaN.
    """
    x, lo, hi = require_argument_count(args, 3, node)
    ty = scalar_result_type(np.clip, (x, lo, hi), node)
    value, low, high = (
        ctx.b.bind(convert_operand(ctx.b, n, ty.dtype, node)) for n in (x, lo, hi)
    )
    if DTYPES[ty.dtype].kind == "f":
        for bound in (low, high):
            if isinstance(bound, Const) and bound.value != bound.value:
                return with_result_type(bound, ty, x)
            if not isinstance(bound, Const):
                require(ctx.b, Call("eq", (bound, bound), "bool"), "GUARD_RAISES", node)
    at_least_low = Call("max", (value, low), ty.dtype)
    return with_result_type(Call("min", (at_least_low, high), ty.dtype), ty, x)
