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

from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...types.typed_values import Num, bool_op, cast, constant
from ..arrays.record_arrays import as_array_or_field
from ..lists.list_builders import length_of_list
from ..loops.trip_counts import length_of_range
from ..state.float_exceptions import with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op
from ..state.symbol_values import Scalar
from ..state.value_ranges import bind_num, integer_num
from .integer_arithmetic import require_no_overflow
from .lower_expressions import compare_numbers
from .power_operator import operation_in_domain
from .scalar_arithmetic import as_numpy_if_loops_ran
from .scalar_operands import (
    convert_operand,
    result_type,
    to_compute_dtype,
    truth_value,
    with_result_type,
)
from .tagged_unions import bind_scalar, for_each_case, select_scalar, truth_of_scalar

__all__ = [
    "float_from_text", "lower_abs", "lower_bool", "lower_float", "lower_int", "lower_len",
    "lower_math_call", "lower_max", "lower_min", "lower_round", "refuse_zero_dim_arrays",
    "require_argument_count", "to_python_int",
]

_TO_INT: dict[str, Callable[..., Any]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
}
_INT_LIMIT = 2.0**63
_MAX_EXACT_POWER_OF_TEN = 22
"""The largest power of ten that a double holds exactly."""


def lower_len(ctx: Lowering, node: ast.Call) -> Num:
    """``len(x)`` of a list, a range or an array."""
    if len(node.args) == 1 and (length := length_of_list(ctx, node.args[0])) is not None:
        return length
    if len(node.args) == 1 and (trips := length_of_range(ctx, node.args[0])) is not None:
        return trips
    array = as_array_or_field(ctx, node.args[0]) if len(node.args) == 1 else None
    if array is None or array.rank == 0:
        return refuse(
            "LOWER_CALL", f"`{source_text(node)}` is not the length of an array", node
        )
    return array.shape[0]


def lower_abs(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``abs(x)`` of a real number; an int whose absolute value overflows is checked."""
    (x,) = require_argument_count(ctx, args, 1, node)
    ty = result_type(ctx, operator.abs, (x,), node)
    if ty.dtype == "bool":
        return with_result_type(x.ir, ty, x)
    e = ctx.b.bind(convert_operand(ctx.b, x, ty.dtype, node))
    if DTYPES[ty.dtype].kind == "i":
        ok = Call("ne", (e, Const(DTYPES[ty.dtype].low, ty.dtype)), "bool")
        require_no_overflow(ctx, ok, ty, node, "scalar absolute")
    return with_result_type(Call("abs", (e,), ty.dtype), ty, x)


def _lower_extremum(ctx: Lowering, args: list[Num], node: ast.Call, op: type[ast.cmpop]) -> Scalar:
    """``min(a, b, …)``: the first operand unless a later one, of any type, strictly wins."""
    if len(args) < 2:
        refuse("LOWER_CALL", f"`{source_text(node)}` of one value", node)
    if all(n.python_int for n in args):
        name = "min" if op is ast.Lt else "max"
        whole = (n.ir if ctx.b.invariant(n.ir) else ctx.b.bind(n.ir) for n in args)
        return integer_num(
            ctx.b, functools.reduce(lambda p, q: Call(name, (p, q), "i64"), whole)
        )
    out: Scalar = bind_num(ctx.b, args[0], "best")
    for arg in args[1:]:
        arg = bind_num(ctx.b, arg, "next")
        wins = for_each_case(
            ctx, lambda p, q: compare_numbers(ctx, op(), p, q, node), node, arg, out
        )
        out = bind_scalar(
            ctx, select_scalar(ctx, truth_of_scalar(ctx, wins, node), arg, out, node), "best"
        )
    return out


def lower_min(ctx: Lowering, args: list[Num], node: ast.Call) -> Scalar:
    """``min(a, b, …)``"""
    return _lower_extremum(ctx, args, node, ast.Lt)


def lower_max(ctx: Lowering, args: list[Num], node: ast.Call) -> Scalar:
    """``max(a, b, …)``"""
    return _lower_extremum(ctx, args, node, ast.Gt)


def lower_round(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``round(x)`` and ``round(x, digits)``"""
    refuse_zero_dim_arrays(ctx, args, node)
    if len(args) == 2:
        return _round_to_digits(ctx, args[0], args[1], node)
    (x,) = require_argument_count(ctx, args, 1, node)
    return to_python_int(ctx, x, "rint", round, node)


def _round_to_digits(ctx: Lowering, x: Num, digits: Num, node: ast.Call) -> Num:
    """NumPy's floats are scaled, rounded to a whole one and scaled back; Python's exactly."""
    count = digits.ir.value if isinstance(digits.ir, Const) and digits.weak == "i64" else None
    ty = result_type(ctx, round, (x, digits), node)
    if type(count) is not int or not 0 <= count <= _MAX_EXACT_POWER_OF_TEN or x.either:
        return refuse(
            "LOWER_UNSUPPORTED",
            f"`{source_text(node)}` is compiled for a constant number of digits from 0 to "
            f"{_MAX_EXACT_POWER_OF_TEN}",
            node,
        )
    if x.weak == "f64":
        return with_result_type(_round_python_float(ctx, x, count, node), ty, x)
    if DTYPES[ty.dtype].kind != "f":
        return with_result_type(convert_operand(ctx.b, x, ty.dtype, node), ty, x)
    if count == 0:
        return with_result_type(apply_op(ctx.b, "rint", x.ir), ty, x)
    scale = Const(float(np.array(10.0**count, DTYPES[ty.dtype].numpy)), ty.dtype)
    scaled = _apply_with_warnings(ctx, "mul", (x.ir, scale), "multiply", node)
    whole = apply_op(ctx.b, "rint", scaled)
    return with_result_type(_apply_with_warnings(ctx, "div", (whole, scale), "divide", node), ty, x)


def _round_python_float(ctx: Lowering, x: Num, count: int, node: ast.Call) -> Expr:
    """What is nearest to the number that `x` is, of two the even one.

    The product with the power of ten is exact in two parts; where the first is in the middle of
    two whole numbers, the second says which it is. The quotient of a whole number below 2 ** 53
    and of a power of ten up to 10 ** 22 is that of the decimal, rounded once.
    """
    b, scale = ctx.b, Const(10.0**count, "f64")
    first = b.bind(Call("mul", (x.ir, scale), "f64"))
    second = b.bind(Call("fma", (x.ir, scale, Call("neg", (first,), "f64")), "f64"))
    size = Call("abs", (first,), "f64")
    require(b, Call("lt", (size, Const(2.0**52, "f64")), "bool"), "GUARD_INT_RANGE", node)
    whole = b.bind(Call("rint", (first,), "f64"))
    rest = b.bind(Call("sub", (first, whole), "f64"))
    for middle, beyond, step in ((0.5, "gt", 1.0), (-0.5, "lt", -1.0)):
        is_middle = Call("eq", (rest, Const(middle, "f64")), "bool")
        past = bool_op("and", is_middle, Call(beyond, (second, Const(0.0, "f64")), "bool"))
        more = Call("add", (whole, Const(step, "f64")), "f64")
        whole = b.bind(Call("select", (past, more, whole), "f64"))
    return Call("div", (whole, scale), "f64")


def _apply_with_warnings(
    ctx: Lowering, op: str, operands: tuple[Expr, ...], spelled: str, node: ast.Call
) -> Expr:
    return with_warnings(ctx.b, op, operands, apply_op(ctx.b, op, *operands), spelled, node)


def lower_int(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``int(x)``"""
    (x,) = require_argument_count(ctx, args, 1, node)
    return to_python_int(ctx, x, "trunc", int, node)


def to_python_int(
    ctx: Lowering, x: Num, op: str, function: Callable[..., Any], node: ast.Call
) -> Num:
    """A number as a Python int; NaN, infinities and what exceeds 64 bits are left to Python."""
    ty = result_type(ctx, function, (x,), node)
    if DTYPES[x.dtype].kind != "f":
        e = _widen_to_int64(ctx, x, node)
        return Num(e, weak="i64", linear=x.linear, interval=x.interval) if ty.weak else x
    e = to_compute_dtype(x.ir)
    whole = ctx.b.bind(Call(op, (e,), e.dtype))
    low, high = Const(-_INT_LIMIT, e.dtype), Const(_INT_LIMIT, e.dtype)
    ok = bool_op("and", Call("ge", (whole, low), "bool"), Call("lt", (whole, high), "bool"))
    ok = ctx.b.bind(ok, "fits")
    require(ctx.b, ok, "GUARD_INT_RANGE", node)
    safe = Call("select", (ok, whole, Const(0.0, e.dtype)), e.dtype)
    return integer_num(ctx.b, cast(safe, "i64"))


def _widen_to_int64(ctx: Lowering, x: Num, node: ast.AST) -> Expr:
    if x.dtype == "u64":
        refuse("LOWER_TYPE", "a uint64 may not fit a signed 64-bit integer", node)
    return cast(x.ir, "i64")


def lower_float(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``float(x)``"""
    (x,) = require_argument_count(ctx, args, 1, node)
    return Num(cast(x.ir, "f64"), weak="f64")


def float_from_text(text: str, node: ast.Call) -> Num:
    """``float("inf")`` and the like."""
    try:
        return constant(float(text))
    except ValueError:
        return refuse("LOWER_CALL", f"`{source_text(node)}` is not a number", node)


def lower_bool(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``bool(x)``"""
    (x,) = require_argument_count(ctx, args, 1, node)
    return Num(truth_value(x), weak="bool")


def lower_math_call(
    ctx: Lowering, args: list[Num], node: ast.Call, *, function: Any, op: Op
) -> Num:
    """``math.f`` computes in double, gives Python's number, raises where NumPy would warn."""
    require_argument_count(ctx, args, op.arity, node)
    if op.name in _TO_INT:
        x = args[0]
        if op.name == "trunc":
            refuse_zero_dim_arrays(ctx, args, node)
        elif x.strong in ("i64", "u64"):  # NumPy's integers come as floats, and are rounded
            x = Num(cast(as_numpy_if_loops_ran(ctx, x, node).ir, "f64"), strong="f64")
        return to_python_int(ctx, x, op.name, _TO_INT[op.name], node)
    operands = [cast(n.ir, "f64") for n in args]
    if op.result == "m":
        return Num(Call(op.name, tuple(operands), "bool"), weak="bool")
    if not op.raises:
        return Num(apply_op(ctx.b, op.name, *operands), weak="f64")
    bound = tuple(ctx.b.bind(e) for e in operands)
    return Num(operation_in_domain(ctx, op.name, bound, node), weak="f64")


def refuse_zero_dim_arrays(ctx: Lowering, args: list[Num], node: ast.Call) -> None:
    """Refuses what NumPy's arrays without dimensions have no method for, and numbers do."""
    if any(n.boxed for n in args):
        name = ast.unparse(node.func)
        refuse("LOWER_TYPE", f"`{name}` is not defined for arrays without dimensions", node)


def require_argument_count(ctx: Lowering, args: list[Num], n: int, node: ast.Call) -> list[Num]:
    """`args`, which must be `n`. Raises Refused for another number."""
    if len(args) != n:
        refuse(
            "LOWER_CALL",
            f"`{source_text(node.func)}` is called with {len(args)} arguments, not {n}",
            node,
        )
    return args
