"""Lower calls of Python's built-in functions and of `math` on scalars.

Each function takes the lowered arguments, real numbers, and returns the result with the type that
Python gives it. Where Python raises (``int`` of a NaN, ``math.log`` of a negative number), or its
int does not fit 64 bits, there is a check. The table of callees is `CALLS` in `lower_calls.py`.
"""
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
from loopir.process.signal_exceptions import failures

from ...codes.lowering_codes import HELP_FOR_ARGUMENTS, HELP_FOR_LENGTHS
from ...diagnostics import counted
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...types.int_limits import EXACT_POWER_OF_TEN_F64
from ...types.typed_values import Num, bool_op, cast, constant
from ..arrays.record_arrays import array_with_shape_of
from ..lists.list_builders import length_of_list
from ..loops.trip_counts import length_of_range
from ..state.float_exceptions import WarningName, in_domain, note_silent, with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_value, refuse_iterated_number, refuse_number
from ..state.outer_names import refuse_member
from ..state.path_conditions import apply_op
from ..state.symbol_values import Scalar, Unbound
from ..state.value_ranges import bind_num, integer_num
from .integer_arithmetic import require_no_overflow
from .lower_expressions import compare_numbers
from .power_operator import ROOTS, power_by_root
from .scalar_operands import (
    as_numpy_if_loops_ran,
    convert_operand,
    refuse_either,
    scalar_result_type,
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
"""For each rounding operation, the Python function that gives an int."""

_INT64_LIMIT = 2.0**63
"""The least float that is too large for an int64."""


def lower_len(ctx: Lowering, node: ast.Call) -> Num:
    """``len(x)`` of a list, a range or an array. Raises Refused for anything else."""
    if len(node.args) == 1 and (length := length_of_list(ctx, node.args[0])) is not None:
        return length
    if len(node.args) == 1 and (trips := length_of_range(ctx, node.args[0])) is not None:
        return trips
    array = array_with_shape_of(ctx, node.args[0]) if len(node.args) == 1 else None
    if array is None or array.rank == 0:
        match node.args:
            case [ast.Name(id=name)] if isinstance(ctx.b.env.get(name), Unbound):
                lower_value(ctx, node.args[0])  # refuses it: the arrays of branches were not merged
        if len(node.args) == 1:
            help = "take the length of an array or a list, or use the number itself"
            refuse_number(ctx, node.args[0], "LOWER_CALL", "has no length", help=help)
        help = "pass the string as an array, such as `np.array([*map(ord, text)])`"
        is_text = any(isinstance(a, ast.Constant) and isinstance(a.value, str) for a in node.args)
        message = f"`{source_text(node)}` is the length of a str"
        if not is_text and len(node.args) == 1:
            help = HELP_FOR_LENGTHS
            message = f"the length of `{source_text(node.args[0])}` is not compiled"
        elif not is_text:
            help = HELP_FOR_ARGUMENTS
            message = f"`{source_text(node)}`: `len` takes one argument"
        if len(node.args) == 1 and isinstance(node.args[0], ast.Attribute):
            return refuse_member(ctx, node.args[0])
        return refuse("LOWER_CALL", message, node, help=help)
    return array.shape[0]


def lower_abs(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``abs(x)`` of a real number. The least int of its dtype, whose absolute value overflows,
    leads to a replay (Python's int) or a warning (NumPy's), by `require_no_overflow`.
    """
    (x,) = require_argument_count(args, 1, node)
    ty = scalar_result_type(operator.abs, (x,), node)
    if ty.dtype == "bool":
        return with_result_type(x.ir, ty, x)
    if x.is_word:
        return x
    e = ctx.b.bind(convert_operand(ctx.b, x, ty.dtype, node))
    if DTYPES[ty.dtype].kind == "i":
        no_overflow = Call("ne", (e, Const(DTYPES[ty.dtype].low, ty.dtype)), "bool")
        require_no_overflow(ctx, no_overflow, ty, node, WarningName("absolute"))
    return with_result_type(Call("abs", (e,), ty.dtype), ty, x)


def _lower_extremum(ctx: Lowering, args: list[Num], node: ast.Call, op: type[ast.cmpop]) -> Scalar:
    """``min(a, b, …)`` where `op` is ``ast.Lt``, ``max`` where it is ``ast.Gt``: the first
    argument, replaced by each later one that is less, or greater, than the best so far. Arguments
    may have different types; the result is a union then. Python ints need no comparisons: each
    step is the operation "min" or "max". Raises Refused for a single argument.
    """
    if len(args) < 2:
        refuse_iterated_number(ctx, node, min)
        refuse("LOWER_CALL", f"`{source_text(node)}` of one value", node)
    if all(n.python_int for n in args):
        name = "min" if op is ast.Lt else "max"
        # An operand that can be evaluated at kernel entry is not bound to a local name: the result
        # could then not be evaluated there, as guards, allocated lengths and trip counts may need.
        operands = (n.ir if ctx.b.known_at_entry(n.ir) else ctx.b.bind(n.ir) for n in args)
        return integer_num(
            ctx.b, functools.reduce(lambda p, q: Call(name, (p, q), "i64"), operands)
        )
    best: Scalar = bind_num(ctx.b, args[0], "best")
    for arg in args[1:]:
        arg = bind_num(ctx.b, arg, "next")
        is_better = for_each_case(
            ctx, lambda p, q: compare_numbers(ctx, op(), p, q, node), node, arg, best,
            takes_words=True,
        )
        cond = truth_of_scalar(ctx, is_better, node)
        best = bind_scalar(ctx, select_scalar(ctx, cond, arg, best, node), "best")
    return best


def lower_min(ctx: Lowering, args: list[Num], node: ast.Call) -> Scalar:
    """``min(a, b, …)``"""
    return _lower_extremum(ctx, args, node, ast.Lt)


def lower_max(ctx: Lowering, args: list[Num], node: ast.Call) -> Scalar:
    """``max(a, b, …)``"""
    return _lower_extremum(ctx, args, node, ast.Gt)


def lower_round(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``round(x)`` and ``round(x, digits)``"""
    refuse_zero_dim_arrays(args, node)
    if len(args) == 2:
        return _round_to_digits(ctx, args[0], args[1], node)
    (x,) = require_argument_count(args, 1, node)
    return to_python_int(ctx, x, "rint", round, node)


def _round_to_digits(ctx: Lowering, x: Num, digits: Num, node: ast.Call) -> Num:
    """``round(x, digits)`` for a constant number of digits from 0 to 22.

    NumPy multiplies a float by a power of ten, rounds and divides, with an error; Python rounds the
    exact decimal value. Ints stay as they are. Raises Refused for other digits, and for a number
    that is Python's or NumPy's, depending on the data.
    """
    count = digits.ir.value if isinstance(digits.ir, Const) and digits.weak == "i64" else None
    ty = scalar_result_type(round, (x, digits), node)
    if type(count) is not int or not 0 <= count <= EXACT_POWER_OF_TEN_F64 or x.either:
        return refuse(
            "LOWER_UNSUPPORTED",
            f"`{source_text(node)}` is compiled for a constant number of digits from 0 to "
            f"{EXACT_POWER_OF_TEN_F64}",
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
    rounded = apply_op(ctx.b, "rint", scaled)
    value = _apply_with_warnings(ctx, "div", (rounded, scale), "divide", node)
    return with_result_type(value, ty, x)


def _round_python_float(ctx: Lowering, x: Num, count: int, node: ast.Call) -> Expr:
    """``round(x, count)`` of a Python float: the float nearest to the decimal that is nearest to
    the exact value of `x`, with ties to even.

    ``x * 10**count`` is computed exactly, as the sum of its rounded value `product` and the
    rounding error. `product` is rounded to an integer; if it lies in the middle between two
    integers, the sign of the error decides which is nearer. The quotient of an integer below 2**53
    and a power of ten up to 10**22, which are both exact floats, is the correctly rounded decimal.
    Requires that the product is below 2**52; Python replays for greater ones.
    """
    b, scale = ctx.b, Const(10.0**count, "f64")
    product = b.bind(Call("mul", (x.ir, scale), "f64"))
    error = b.bind(Call("fma", (x.ir, scale, Call("neg", (product,), "f64")), "f64"))
    magnitude = Call("abs", (product,), "f64")
    require(b, Call("lt", (magnitude, Const(2.0**52, "f64")), "bool"), "GUARD_INT_RANGE", node)
    rounded = b.bind(Call("rint", (product,), "f64"))
    rest = b.bind(Call("sub", (product, rounded), "f64"))
    for middle, compare, step in ((0.5, "gt", 1.0), (-0.5, "lt", -1.0)):
        is_middle = Call("eq", (rest, Const(middle, "f64")), "bool")
        is_beyond = bool_op(
            "and", is_middle, Call(compare, (error, Const(0.0, "f64")), "bool")
        )
        corrected = Call("add", (rounded, Const(step, "f64")), "f64")
        rounded = b.bind(Call("select", (is_beyond, corrected, rounded), "f64"))
    return Call("div", (rounded, scale), "f64")


def _apply_with_warnings(
    ctx: Lowering, op: str, operands: tuple[Expr, ...], spelled: str, node: ast.Call
) -> Expr:
    """``op`` on `operands`, with its warnings recorded under NumPy's name `spelled`."""
    return with_warnings(ctx.b, op, operands, apply_op(ctx.b, op, *operands), spelled, node)


def lower_int(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``int(x)`` of a number."""
    (x,) = require_argument_count(args, 1, node)
    return to_python_int(ctx, x, "trunc", int, node)


def to_python_int(
    ctx: Lowering, x: Num, op: str, function: Callable[..., Any], node: ast.Call
) -> Num:
    """``function(x)``, by the rounding operation `op` if `x` is a float: a Python int, which is
    required to fit 64 bits (NaN and infinities do not, Python raises for them). `x` itself where
    `function` of an integer is that integer, as ``round`` of a NumPy integer.

        int(v)    →    r = trunc(v); fits = -2.0**63 <= r < 2.0**63; check(fits)
                       cast(r if fits else 0.0, i64)
    """
    ty = scalar_result_type(function, (x,), node)
    if x.is_word or (ty.weak and x.types == ("u64", None)):
        return Num(x.ir, weak="u64", interval=x.range)
    if DTYPES[x.dtype].kind != "f":
        e = _widen_to_int64(x, node)
        return Num(e, weak="i64", linear=x.linear, interval=x.interval) if ty.weak else x
    e = to_compute_dtype(x.ir)
    rounded = ctx.b.bind(Call(op, (e,), e.dtype))
    low, high = Const(-_INT64_LIMIT, e.dtype), Const(_INT64_LIMIT, e.dtype)
    fits = bool_op("and", Call("ge", (rounded, low), "bool"), Call("lt", (rounded, high), "bool"))
    fits = ctx.b.bind(fits, "fits")
    require(ctx.b, fits, "GUARD_INT_RANGE", node)
    # The kernel goes on after a failed check: only a number that fits may be converted.
    safe = Call("select", (fits, rounded, Const(0.0, e.dtype)), e.dtype)
    return integer_num(ctx.b, cast(safe, "i64"))


def _widen_to_int64(x: Num, node: ast.AST) -> Expr:
    """The integer or bool `x` as an int64. Raises Refused for a uint64, which may not fit."""
    if x.dtype == "u64":
        refuse("LOWER_TYPE", "a uint64 may not fit a signed 64-bit integer", node)
    return cast(x.ir, "i64")


def lower_float(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``float(x)`` of a number."""
    (x,) = require_argument_count(args, 1, node)
    return Num(cast(x.ir, "f64"), weak="f64")


def float_from_text(text: str, node: ast.Call) -> Num:
    """``float("inf")`` and other calls with a constant string. Raises Refused where Python raises.
    """
    try:
        return constant(float(text))
    except failures(ValueError):
        return refuse("LOWER_CALL", f"`{source_text(node)}` is not a number", node)


def lower_bool(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``bool(x)`` of a number."""
    (x,) = require_argument_count(args, 1, node)
    return Num(truth_value(x), weak="bool")


def lower_math_call(
    ctx: Lowering, args: list[Num], node: ast.Call, *, function: Any, op: Op
) -> Num:
    """A call of the `function` of ``math`` whose operation is `op`: computed in float64, a Python
    number, and an int for ``floor``, ``ceil`` and ``trunc``. It is required that the function does
    not raise (`in_domain`).

        math.sqrt(v)    →    r = sqrt(v); check(not v < 0.0)
    """
    require_argument_count(args, op.arity, node)
    if op.name in _TO_INT:
        x = args[0]
        if op.name == "trunc":
            refuse_zero_dim_arrays(args, node)
        elif x.strong in ("i64", "u64"):  # math.floor converts a NumPy integer to float first
            x = as_numpy_if_loops_ran(ctx.b, x, node)
            if x.either:  # of which Python's int is not converted: `for_each_case` does it for both
                refuse_either(node)
            x = Num(cast(x.ir, "f64"), strong="f64")
        return to_python_int(ctx, x, op.name, _TO_INT[op.name], node)
    operands = [cast(n.ir, "f64") for n in args]
    if op.result == "m":
        return Num(Call(op.name, tuple(operands), "bool"), weak="bool")
    if not op.raises:
        return Num(apply_op(ctx.b, op.name, *operands), weak="f64")
    bound_operands = tuple(ctx.b.bind(e) for e in operands)
    exponent = bound_operands[-1].value if isinstance(bound_operands[-1], Const) else None
    if op.name == "pow" and exponent in ROOTS:
        e = power_by_root(ctx, bound_operands[0], args[0], exponent, node, weak=True)
    else:
        e = apply_op(ctx.b, op.name, *bound_operands)
    value = ctx.b.bind(e)
    note_silent(ctx.b, op.name, bound_operands, value, node)
    # where the function would raise ValueError or OverflowError, the call is replayed
    if op.name != "pow" or exponent != 0.5:  # of which `power_by_root` has required the domain
        require(ctx.b, in_domain(op.name, bound_operands, value), "GUARD_RAISES", node)
    return Num(value, weak="f64")


def refuse_zero_dim_arrays(args: list[Num], node: ast.Call) -> None:
    """Refuses a 0-d array among `args`. For ``round`` and ``math.trunc`` Python raises TypeError,
    since arrays have no ``__round__`` and ``__trunc__``; ``np.int64`` of one is not compiled.
    """
    if any(n.boxed for n in args):
        name = ast.unparse(node.func)
        refuse("LOWER_TYPE", f"`{name}` is not defined for arrays without dimensions", node)


def require_argument_count(args: list[Num], n: int, node: ast.Call) -> list[Num]:
    """Returns `args`. Raises Refused unless there are `n` of them."""
    if len(args) != n:
        refuse(
            "LOWER_CALL",
            f"`{source_text(node.func)}` is called with {counted(len(args), 'argument')}, not {n}",
            node,
        )
    return args
