"""Integer arithmetic: overflow is excluded by value ranges, or checked.

Python's ints grow and NumPy's wrap around; both are compiled to fixed-width integers.
"""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr

from ...types.int_limits import INT64
from ...types.typed_values import FALSE, TRUE, Num, bool_op, cast
from ...types.value_types import ScalarType
from ..state.float_exceptions import check_warning, note_warning
from ..state.guards_and_checks import require
from ..state.ir_builder import SilentException
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op, is_nonnegative
from ..state.value_ranges import integer_num, max_value, min_value
from .scalar_operands import dual_result_types, with_result_type

__all__ = [
    "SCALAR_PREFIX", "dual_integer_operation", "integer_operation", "python_int_operation",
    "require_no_overflow", "require_nonzero",
]

SCALAR_PREFIX = "scalar "
"""NumPy's name of an operation begins so where an operator does it, and not a ufunc."""

_INT_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}


def integer_operation(
    ctx: Lowering,
    name: str,
    a: Expr,
    c: Expr,
    ty: ScalarType,
    operands: tuple[Num, ...],
    node: ast.AST,
    spelled: str,
) -> Num:
    """The operation `name` of `a` and `c`, integers of type `ty`; overflow is proved or checked."""
    b, dtype = ctx.b, ty.dtype
    a, c = b.bind(a), b.bind(c)
    if name in ("floordiv", "mod"):
        if ty.weak:
            require_nonzero(ctx, operands[1], c, node)
            if name == "mod" and (n := _remainder_by_length(ctx, operands, a, c)) is not None:
                return n
        elif not (isinstance(c, Const) and c.value):
            some = Call("ne", (c, Const(0, dtype)), "bool")
            check_warning(b, some, "divide")
            note_warning(b, "divide", spelled, node, bool_op("not", some))
        if (
            name == "floordiv"
            and DTYPES[dtype].kind == "i"
            and not (isinstance(c, Const) and c.value != -1)
        ):
            lowest = Call("eq", (a, Const(DTYPES[dtype].low, dtype)), "bool")
            both = bool_op("and", lowest, Call("eq", (c, Const(-1, dtype)), "bool"))
            require_no_overflow(ctx, bool_op("not", both), ty, node, spelled)
        out = with_result_type(apply_op(b, name, a, c), ty, *operands)
        return _with_quotient_range(ctx, name, out, operands)
    out = with_result_type(apply_op(b, name, a, c), ty, *operands)
    if name not in _INT_FUNCTIONS:
        return out
    lo, hi = _corners(name, *operands)
    linear = _combine_linear_forms(
        name, *(_with_linear_form(n, e) for n, e in zip(operands, (a, c), strict=True))
    )
    if linear is not None:
        lo, hi = max(lo, min_value(b, linear)), min(hi, max_value(b, linear))
    if lo < DTYPES[dtype].low or hi > DTYPES[dtype].high:
        summed = any(n.ir in b.numbers.accumulators for n in operands)
        require_no_overflow(ctx, _no_overflow(name, a, c), ty, node, spelled, certain=not summed)
        return out
    return replace(out, linear=linear if dtype == "i64" else None, interval=(lo, hi))


def _with_linear_form(n: Num, e: Expr) -> Num:
    return (
        n if n.linear is not None or e.dtype != "i64" else replace(n, linear=LinearForm.of(e))
    )


def require_no_overflow(
    ctx: Lowering, ok: Expr, ty: ScalarType, node: ast.AST, spelled: str, *, certain: bool = True
) -> None:
    """An overflow: Python's ints would grow, NumPy's wrap and its operators warn.

    That of a sum is not ``certain``: its parts may be added in another order.
    """
    if ty.weak:
        require(ctx.b, ok, "GUARD_INT_RANGE", node)
    elif spelled.startswith(SCALAR_PREFIX) or spelled == "floor_divide":
        check_warning(ctx.b, ok, "over")
        if not certain:
            ctx.b.warnings.silent.append(SilentException("over"))
        certain = certain or ctx.b.warnings.raised_array is not None
        note_warning(ctx.b, "over", spelled, node, bool_op("not", ok), certain=certain)


def require_nonzero(ctx: Lowering, n: Num, e: Expr, node: ast.AST) -> None:
    """Python raises where a divisor is zero."""
    if n.python_int and (n.interval[0] > 0 or n.interval[1] < 0):
        return
    if isinstance(e, Const):
        if not e.value:
            require(ctx.b, FALSE, "GUARD_DIVISION", node)
        return
    require(ctx.b, Call("ne", (e, Const(0, e.dtype)), "bool"), "GUARD_DIVISION", node)


def dual_integer_operation(
    ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST, spelled: str
) -> Num | None:
    """``+ - *`` of integers that may be NumPy's or Python's, in 64 bits.

    The two agree unless NumPy's overflows: then it warns, and wraps. None where that is not
    the case, or the values are known as Python's.
    """
    turning = any(n.ir in ctx.b.numbers.python_values for n in (x, y))
    mixed = x.either and y.either and x.strong != y.strong and x.weak_now != y.weak_now
    if turning or mixed or name not in _INT_FUNCTIONS:
        return None
    strong, weak = dual_result_types(_INT_FUNCTIONS[name], (x, y))
    if strong is None or weak is None or not weak.weak or weak.dtype != "i64":
        return None
    to = DTYPES[strong.dtype]
    lo, hi = _corners(name, x, y)
    if to.kind not in "iu" or strong.dtype in ("i64", "u64") or not _in_int64(lo, hi):
        return None
    e = ctx.b.bind(Call(name, (cast(x.ir, "i64"), cast(y.ir, "i64")), "i64"))
    is_weak = bool_op("and", x.weak_now, y.weak_now)
    for n in (x, y):
        if n.weak_now != is_weak and (n.range[0] < to.low or n.range[1] > to.high):
            either = bool_op("or", is_weak, bool_op("not", n.weak_now))
            inside = _is_inside(ctx.b.bind(cast(n.ir, "i64")), strong.dtype)
            require(ctx.b, bool_op("or", either, inside), "GUARD_INT_RANGE", node)
    if lo < to.low or hi > to.high:
        require_no_overflow(
            ctx, bool_op("or", is_weak, _is_inside(e, strong.dtype)), strong, node, spelled
        )
        wrapped = cast(cast(e, strong.dtype), "i64")
        e = ctx.b.bind(Call("select", (is_weak, e, wrapped), "i64"))
    return Num(e, strong.dtype, "i64", is_weak, interval=(lo, hi))


def _remainder_by_length(ctx: Lowering, operands: tuple[Num, ...], a: Expr, c: Expr) -> Num | None:
    """``x % y`` by a length or its like: it is below that, and where `x` is near the range, as
    ``(i + 1) % n`` is, there is nothing to divide. None: nothing is known.
    """
    b, (x, y) = ctx.b, operands
    if not (x.python_int and y.python_int and y.linear is not None and y.linear.terms):
        return None
    asked = b.path.branches == 0 and b.path.condition is None  # else the divisor may be 0 here
    asked = asked or _is_nonnegative_in_loops(ctx, y.linear + LinearForm({}, -1))
    if not (asked and b.invariant(c) and min_value(b, y.linear) >= 0):
        return None
    last = y.linear + LinearForm({}, -1)
    e: Expr = Call("mod", (a, c), "i64")
    at = x.linear
    if (
        at is not None
        and _is_nonnegative_in_loops(ctx, at + y.linear)
        and _is_nonnegative_in_loops(ctx, last + y.linear - at)
    ):
        e = a
        if not _is_nonnegative_in_loops(ctx, at):
            more = Call("add", (a, c), "i64")
            e = Call("select", (Call("lt", (a, index_const(0)), "bool"), more, e), "i64")
        if not _is_nonnegative_in_loops(ctx, last - at):
            less = Call("sub", (a, c), "i64")
            e = Call("select", (Call("ge", (a, c), "bool"), less, e), "i64")
    elif at is not None and any(abs(at.terms.get(f.var, 0)) == 1 for f in b.path.frames):
        inside = bool_op(
            "and", Call("le", (index_const(0), a), "bool"), Call("lt", (a, c), "bool")
        )
        e = Call("select", (inside, a, e), "i64")
    if e is a:
        return x
    e = b.bind(e, "wrapped")
    b.ranges.spans[e] = LinearForm(), last
    return integer_num(b, e, (0, max(0, max_value(b, last))))


def _is_nonnegative_in_loops(ctx: Lowering, margin: LinearForm) -> bool:
    """Whether `margin` is provably >= 0 in the loops around it, given that they run."""
    some = (f.trip_form + LinearForm({}, -1) for f in ctx.b.path.frames)
    return is_nonnegative(ctx.b, margin) or any(
        is_nonnegative(ctx.b, margin - m) for m in some
    )


def _with_quotient_range(ctx: Lowering, name: str, out: Num, operands: tuple[Num, ...]) -> Num:
    x, y = operands
    if not (out.python_int and y.interval[0] > 0):
        return out
    if name == "mod":
        return replace(
            out,
            linear=LinearForm.of(out.ir),
            interval=_note_interval(ctx, out.ir, (0, y.interval[1] - 1)),
        )
    lo = min(x.interval[0] // y.interval[0], x.interval[0] // y.interval[1])
    hi = max(x.interval[1] // y.interval[0], x.interval[1] // y.interval[1])
    return replace(
        out, linear=LinearForm.of(out.ir), interval=_note_interval(ctx, out.ir, (lo, hi))
    )


def _note_interval(ctx: Lowering, e: Expr, interval: tuple[int, int]) -> tuple[int, int]:
    ctx.b.ranges.intervals[e] = interval
    return interval


def python_int_operation(ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST) -> Num:
    """``+ - *`` of Python ints: unbounded, so provably in range or checked."""
    b = ctx.b
    linear = _combine_linear_forms(name, x, y)
    lo, hi = _corners(name, x, y)
    if linear is not None:
        lo, hi = max(lo, min_value(b, linear)), min(hi, max_value(b, linear))
    if INT64[0] <= lo and hi <= INT64[1]:
        if linear is not None:
            return Num(linear.expr(), weak="i64", linear=linear, interval=(lo, hi))
        return integer_num(b, Call(name, (x.ir, y.ir), "i64"), (lo, hi))
    p, q = b.bind(x.ir), b.bind(y.ir)
    require(b, bool_op("not", Call(f"{name}_over", (p, q), "bool")), "GUARD_INT_RANGE", node)
    e = Call(name, (p, q), "i64")
    return Num(e, weak="i64", linear=linear, interval=(max(lo, INT64[0]), min(hi, INT64[1])))


def _combine_linear_forms(name: str, x: Num, y: Num) -> LinearForm | None:
    if x.linear is None or y.linear is None:
        return None
    if name == "add":
        return x.linear + y.linear
    if name == "sub":
        return x.linear - y.linear
    for p, q in ((x.linear, y.linear), (y.linear, x.linear)):
        if not q.terms:
            return p * q.constant
    return None


def _no_overflow(name: str, a: Expr, c: Expr) -> Expr:
    """Whether ``a name c`` fits its dtype; with a constant, whether the other is in a range."""
    for const, other, flipped in ((c, a, False), (a, c, True)):
        if isinstance(const, Const) and const.value:
            lo, hi = _operand_range(name, int(const.value), a.dtype, flipped)
            above = Call("ge", (other, Const(lo, a.dtype)), "bool")
            below = Call("le", (other, Const(hi, a.dtype)), "bool")
            d = DTYPES[a.dtype]
            return bool_op("and", TRUE if lo == d.low else above, TRUE if hi == d.high else below)
    return bool_op("not", Call(f"{name}_over", (a, c), "bool"))


def _operand_range(name: str, k: int, dtype: str, flipped: bool) -> tuple[int, int]:
    """The operands x for which ``x name k`` (``k name x`` if flipped) fits `dtype`."""
    low, high = DTYPES[dtype].low, DTYPES[dtype].high
    match name:
        case "add":
            lo, hi = low - k, high - k
        case "sub":
            lo, hi = (k - high, k - low) if flipped else (low + k, high + k)
        case _:
            ends = (low, high) if k > 0 else (high, low)
            lo, hi = -(-ends[0] // k), ends[1] // k
    return max(lo, low), min(hi, high)


def _is_inside(e: Expr, dtype: str) -> Expr:
    to = DTYPES[dtype]
    above = Call("ge", (e, index_const(to.low)), "bool")
    return bool_op("and", above, Call("le", (e, index_const(to.high)), "bool"))


def _in_int64(lo: int, hi: int) -> bool:
    return INT64[0] <= lo and hi <= INT64[1]


def _corners(name: str, x: Num, y: Num) -> tuple[int, int]:
    """An interval of a sum, difference or product."""
    corners = [_INT_FUNCTIONS[name](p, q) for p in x.range for q in y.range]
    return min(corners), max(corners)
