"""Integer arithmetic: overflow is excluded by value ranges, or checked.

Python's ints grow and NumPy's wrap around; both are compiled to fixed-width integers. The interval
of the result is computed from those of the operands, and from their linear forms. If it fits the
dtype, nothing is checked. Else an overflow of Python ints leads to a replay, and one of NumPy's
scalars is a source of a warning::

    i + 1       (i in 0 … n - 1)        →  no check
    a * b       (Python ints)           →  check not mul_over(a, b), then a * b
    x[i] + y    (NumPy int32)           →  warning "overflow" where the sum does not fit, then wraps

``x % n`` by a length or another int known at kernel entry is simplified where x is close to the
range ``0 … n - 1``, as in ``x[(i + 1) % n]`` (`_remainder_by_length`).
"""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import Bounds, result_bounds
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Const, Expr

from ...types.int_limits import INT64
from ...types.typed_values import FALSE, TRUE, Num, bool_op, cast
from ...types.value_types import ScalarType
from ..state.float_exceptions import WarningName, check_warning, note_warning
from ..state.guards_and_checks import require
from ..state.ir_builder import IRBuilder, SilentException
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op, is_nonnegative
from ..state.value_ranges import integer_num, max_value, min_value
from .scalar_operands import dual_result_types, with_result_type

__all__ = [
    "dual_integer_operation", "exact_bounds", "integer_operation", "python_int_operation",
    "require_no_overflow", "require_nonzero",
]

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
    spelled: WarningName,
) -> Num:
    """The operation `name` with the integer result type `ty`. Called by `binary_operation` for
    integers, except ``+ - *`` of Python ints: those go to `python_int_operation`, which also gives
    their results linear forms.

        x[i] + y    (int32 and int32)    →    with a warning "overflow" where the sum does not fit:
                                              the check `_no_overflow`, then the wrapping ``add``

    - divisions: `_integer_division`;
    - shifts and bitwise operations: no check, since NumPy defines them for all operands;
    - ``+ - *`` whose exact result fits (`_exact_result`, `_fits`): no check;
    - other ``+ - *``: what `require_no_overflow` says of an overflow.

    `a` and `c` are `operands` converted to the dtype of `ty`; ``spelled`` is NumPy's name of the
    operation in warnings, "scalar add" or "add".
    """
    b, dtype = ctx.b, ty.dtype
    a, c = b.bind(a), b.bind(c)
    if name in ("floordiv", "mod"):
        return _integer_division(ctx, name, a, c, ty, operands, node, spelled)
    out = with_result_type(apply_op(b, name, a, c), ty, *operands)
    if name not in _INT_FUNCTIONS:
        return integer_num(b, out.ir) if out.python_int else out
    x, y = (_with_linear_form(n, e) for n, e in zip(operands, (a, c), strict=True))
    interval, linear = _exact_result(b, name, x, y)
    if not _fits(interval, dtype):
        is_reduction_step = any(n.ir in b.numbers.accumulators for n in operands)
        no_overflow = _no_overflow(name, a, c)
        require_no_overflow(
            ctx, no_overflow, ty, node, spelled, is_reduction_step=is_reduction_step
        )
        return out
    return replace(out, linear=linear if dtype == "i64" else None, interval=interval)


def _integer_division(
    ctx: Lowering,
    name: str,
    a: Expr,
    c: Expr,
    ty: ScalarType,
    operands: tuple[Num, ...],
    node: ast.AST,
    spelled: WarningName,
) -> Num:
    """``a // c`` or ``a % c``, as `name` says; the parameters are those of `integer_operation`.

        k % n    (Python ints)    →    check n != 0 (a guard, if n is a parameter), then k % n
        x // y   (NumPy ints)     →    warning "divide by zero" where y is 0; the result is 0 there

    - A divisor of 0: Python raises, so the call is replayed (`require_nonzero`, which drops the
      check if the interval has no 0). NumPy warns; no source is noted for a constant other than 0.
    - The one quotient that overflows is that of the least integer by -1 (`require_no_overflow`).
    - ``x % n`` of Python ints by a length may need no division: `_remainder_by_length`.
    """
    b, dtype = ctx.b, ty.dtype
    if ty.weak:
        require_nonzero(ctx, operands[1], c, node)
        if name == "mod" and (n := _remainder_by_length(ctx, operands, a, c)) is not None:
            return n
    elif not (isinstance(c, Const) and c.value):
        nonzero = Call("ne", (c, Const(0, dtype)), "bool")
        check_warning(b, nonzero, "divide")
        note_warning(b, "divide", str(spelled), node, bool_op("not", nonzero))
    may_be_minus_one = not (isinstance(c, Const) and c.value != -1)
    if name == "floordiv" and DTYPES[dtype].kind == "i" and may_be_minus_one:
        is_lowest = Call("eq", (a, Const(DTYPES[dtype].low, dtype)), "bool")
        overflows = bool_op("and", is_lowest, Call("eq", (c, Const(-1, dtype)), "bool"))
        require_no_overflow(ctx, bool_op("not", overflows), ty, node, spelled)
    out = with_result_type(apply_op(b, name, a, c), ty, *operands)
    return _with_quotient_range(ctx, name, out, operands)


def _with_linear_form(n: Num, e: Expr) -> Num:
    """`n`, whose converted IR is `e`, with `e` as its linear form if it has none."""
    if n.linear is not None or e.dtype != "i64":
        return n
    return replace(n, linear=LinearForm.of(e))


def require_no_overflow(
    ctx: Lowering, no_overflow: Expr, ty: ScalarType, node: ast.AST, spelled: WarningName, *,
    is_reduction_step: bool = False,
) -> None:
    """Emits what an overflow, where the bool `no_overflow` is false, leads to in the type `ty`, of
    an operation that NumPy's warnings call ``spelled``:

        a * b          Python ints         a check that replays: Python's ints grow
        x[i] * y[j]    NumPy's scalars     a source of NumPy's warning; then the result wraps around
        x * y          NumPy's arrays      nothing: ufuncs wrap around silently, ``np.floor_divide``
                                           excepted, which warns as scalars do

    ``is_reduction_step``: it is the step of a reduction, ``s += x[i]``, whose terms passes may add
    in another order. Then the kernel has other partial sums than Python, and one of them may
    overflow where none of Python's does. So the source of the warning is not ``certain``: a replay
    decides whether to warn. Only a recording kernel keeps the order, so there it is certain.
    """
    if ty.weak:
        require(ctx.b, no_overflow, "GUARD_INT_RANGE", node)
    elif spelled.of_scalars or spelled.ufunc == "floor_divide":
        check_warning(ctx.b, no_overflow, "over")
        if is_reduction_step:
            ctx.b.warnings.silent.append(SilentException("over"))
        certain = not is_reduction_step or ctx.b.warnings.raised_array is not None
        overflow = bool_op("not", no_overflow)
        note_warning(ctx.b, "over", str(spelled), node, overflow, certain=certain)


def require_nonzero(ctx: Lowering, n: Num, e: Expr, node: ast.AST) -> None:
    """Requires that the divisor `n`, converted to `e`, is not zero, where Python raises. Emits
    nothing for a Python int whose interval has no 0, and for a constant other than 0.
    """
    if n.python_int and (n.interval[0] > 0 or n.interval[1] < 0):
        return
    if isinstance(e, Const):
        if not e.value:
            require(ctx.b, FALSE, "GUARD_DIVISION", node)
        return
    require(ctx.b, Call("ne", (e, Const(0, e.dtype)), "bool"), "GUARD_DIVISION", node)


def dual_integer_operation(
    ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST, spelled: WarningName
) -> Num | None:
    """``+``, ``-`` or ``*`` of integers that are Python's or NumPy's, depending on the data,
    computed once in 64 bits.

        s + 1    s: the Python int 0, or NumPy's int16    →    e = i64(s) + 1; where s is NumPy's,
                                                               e wraps to int16, with a warning

    Python's and NumPy's results agree unless NumPy's dtype, which must have fewer than 64 bits,
    overflows: then it warns and wraps around. A Python operand of a NumPy operation is required to
    fit that dtype. None, and the caller tries `in_both_semantics`, for another operation, and where

    - the exact result may exceed 64 bits;
    - Python's result is no int, or NumPy's no integer of fewer than 64 bits;
    - the operands are Python's or NumPy's independently, with different NumPy dtypes;
    - the Python value of an operand is known apart (`NumberState.python_values`).
    """
    has_python_value = any(n.ir in ctx.b.numbers.python_values for n in (x, y))
    # Then there are four combinations of types, whose NumPy results may differ in dtype.
    vary_apart = x.either and y.either and x.strong != y.strong and x.weak_now != y.weak_now
    if has_python_value or vary_apart or name not in _INT_FUNCTIONS:
        return None
    strong, weak = dual_result_types(_INT_FUNCTIONS[name], (x, y))
    if strong is None or weak is None or not weak.weak or weak.dtype != "i64":
        return None
    to = DTYPES[strong.dtype]
    lo, hi = exact_bounds(name, x.range, y.range)
    if to.kind not in "iu" or strong.dtype in ("i64", "u64") or not _in_int64(lo, hi):
        return None
    e = ctx.b.bind(Call(name, (cast(x.ir, "i64"), cast(y.ir, "i64")), "i64"))
    is_weak = bool_op("and", x.weak_now, y.weak_now)
    for n in (x, y):
        if n.weak_now != is_weak and (n.range[0] < to.low or n.range[1] > to.high):
            not_converted = bool_op("or", is_weak, bool_op("not", n.weak_now))
            fits = _fits_range(ctx.b.bind(cast(n.ir, "i64")), strong.dtype)
            require(ctx.b, bool_op("or", not_converted, fits), "GUARD_INT_RANGE", node)
    if lo < to.low or hi > to.high:
        require_no_overflow(
            ctx, bool_op("or", is_weak, _fits_range(e, strong.dtype)), strong, node, spelled
        )
        wrapped = cast(cast(e, strong.dtype), "i64")
        e = ctx.b.bind(Call("select", (is_weak, e, wrapped), "i64"))
    return Num(e, strong.dtype, "i64", is_weak, interval=(lo, hi))


def _remainder_by_length(ctx: Lowering, operands: tuple[Num, ...], a: Expr, c: Expr) -> Num | None:
    """``x % y`` of Python ints for a divisor that is known at kernel entry, is no constant, and is
    proved to be positive where the remainder is computed; None for others. `a` and `c` are the
    bound operands.

        x[(i + 1) % len(x)]    i in 0 … len(x) - 1    →    k = i + 1; x[k - n if k >= n else k]

    A division takes some 20 cycles, and no instruction set divides vectors of integers. The result
    lies between 0 and ``y - 1``: these become its `RangeState.linear_bounds`, so that the subscript
    is proved to be in bounds. In this order:

    - ``-y <= x < 2 * y``: no division; y is added or subtracted where x may be out of the range
      (`_wrapped_once`);
    - x runs with an enclosing loop, in steps of 1: the division is skipped where x is in the range;
    - else the remainder.
    """
    b, (x, y) = ctx.b, operands
    if not (x.python_int and y.python_int and y.linear is not None and y.linear.terms):
        return None
    # `require_nonzero` has made sure that the divisor is not 0: by a guard; but in a branch by a
    # check, after which the kernel goes on, so that it may be 0 here.
    nonzero = b.path.branches == 0 and b.path.used_where is None
    nonzero = nonzero or _is_nonnegative_in_loops(ctx, y.linear + LinearForm({}, -1))
    if not (nonzero and b.known_at_entry(c) and min_value(b, y.linear) >= 0):
        return None
    last = y.linear + LinearForm({}, -1)
    remainder = _wrapped_once(ctx, a, c, x.linear, y.linear)
    if remainder is a:
        return x
    if remainder is None:
        remainder = Call("mod", (a, c), "i64")
        terms = x.linear.terms if x.linear is not None else {}
        if any(abs(terms.get(f.var, 0)) == 1 for f in b.path.frames):
            in_range = bool_op(
                "and", Call("le", (index_const(0), a), "bool"), Call("lt", (a, c), "bool")
            )
            remainder = Call("select", (in_range, a, remainder), "i64")
    remainder = b.bind(remainder, "wrapped")
    b.ranges.linear_bounds[remainder] = LinearForm(), last
    return integer_num(b, remainder, (0, max(0, max_value(b, last))))


def _wrapped_once(
    ctx: Lowering, a: Expr, c: Expr, dividend: LinearForm | None, divisor: LinearForm
) -> Expr | None:
    """``a % c`` without a division, where ``-c <= a < 2 * c`` in all iterations of the enclosing
    loops: `a` itself where it is proved to be in ``0 … c - 1``, else with `c` added where it may be
    negative, and subtracted where it may be too large. None where that is not proved. ``dividend``
    and ``divisor`` are the linear forms of `a` and `c`; None: it has none.
    """
    last = divisor + LinearForm({}, -1)
    if dividend is None or not (
        _is_nonnegative_in_loops(ctx, dividend + divisor)
        and _is_nonnegative_in_loops(ctx, last + divisor - dividend)
    ):
        return None
    wrapped = a
    if not _is_nonnegative_in_loops(ctx, dividend):
        negative = Call("lt", (a, index_const(0)), "bool")
        wrapped = Call("select", (negative, Call("add", (a, c), "i64"), wrapped), "i64")
    if not _is_nonnegative_in_loops(ctx, last - dividend):
        too_large = Call("ge", (a, c), "bool")
        wrapped = Call("select", (too_large, Call("sub", (a, c), "i64"), wrapped), "i64")
    return wrapped


def _is_nonnegative_in_loops(ctx: Lowering, margin: LinearForm) -> bool:
    """Whether `margin` is provably >= 0 in all iterations of the enclosing loops, given that each
    of them has an iteration.
    """
    return is_nonnegative(ctx.b, margin) or any(
        is_nonnegative(ctx.b, margin - f.last) for f in ctx.b.path.frames
    )


def _with_quotient_range(ctx: Lowering, name: str, out: Num, operands: tuple[Num, ...]) -> Num:
    """`out`, the Python int ``x // y`` or ``x % y``, with its interval, if y is positive."""
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
    """Records `interval` for `e`, and returns it."""
    ctx.b.ranges.intervals[e] = interval
    return interval


def python_int_operation(ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST) -> Num:
    """``x name y`` of Python ints, where `name` is "add", "sub" or "mul". Called by
    `binary_operation`; the products of powers come here, too.

        i + 1    (i in 0 … n - 1)      →    the linear form i + 1; no check, for it is at most n
        a * b    (two arguments)       →    guard(~mul_over(a, b)), before the kernel starts; a * b
        v * w    (items of lists)      →    check(~mul_over(v, w), "replay"); v * w

    A Python int has any size, the kernel's has 64 bits. The interval of the exact result decides
    (`_exact_result`): if it fits 64 bits, no check is needed; else it is required that this result
    does not overflow, which is a guard if both operands are known at kernel entry.
    """
    b = ctx.b
    interval, linear = _exact_result(b, name, x, y)
    if _fits(interval, "i64"):
        if linear is not None:
            return Num(linear.expr(), weak="i64", linear=linear, interval=interval)
        return integer_num(b, Call(name, (x.ir, y.ir), "i64"), interval)
    a, c = b.bind(x.ir), b.bind(y.ir)
    overflow = Call(f"{name}_over", (a, c), "bool")
    require(b, bool_op("not", overflow), "GUARD_INT_RANGE", node)
    e = Call(name, (a, c), "i64")
    lo, hi = max(interval[0], INT64[0]), min(interval[1], INT64[1])
    return Num(e, weak="i64", linear=linear, interval=(lo, hi))


def _exact_result(
    b: IRBuilder, name: str, x: Num, y: Num
) -> tuple[tuple[int, int], LinearForm | None]:
    """The interval of the exact result of ``x name y``, as of unbounded integers, and its linear
    form; None if it has none, such as the product of two variables.

        (i + 3) - i    with i in 0 … 99: by the intervals -96 … 102, by the linear form 3 … 3

    The interval follows from those of the operands, and is narrowed by the bounds of the linear
    form, in which equal terms cancel. `python_int_operation` and `integer_operation` decide by it
    whether an overflow is possible.
    """
    (lo, hi), linear = exact_bounds(name, x.range, y.range), _combine_linear_forms(name, x, y)
    if linear is not None:
        lo, hi = max(lo, min_value(b, linear)), min(hi, max_value(b, linear))
    return (lo, hi), linear


def _fits(interval: tuple[int, int], dtype: str) -> bool:
    """Whether no integer of `interval` overflows `dtype`: no check is needed."""
    return DTYPES[dtype].low <= interval[0] and interval[1] <= DTYPES[dtype].high


def _combine_linear_forms(name: str, x: Num, y: Num) -> LinearForm | None:
    """The linear form of a sum, a difference, or a product with a constant; None for others."""
    if x.linear is None or y.linear is None:
        return None
    if name == "add":
        return x.linear + y.linear
    if name == "sub":
        return x.linear - y.linear
    for form, factor in ((x.linear, y.linear), (y.linear, x.linear)):
        if not factor.terms:
            return form * factor.constant
    return None


def _no_overflow(name: str, a: Expr, c: Expr) -> Expr:
    """A bool: whether ``a name c`` fits the dtype of its operands. If one of them is a constant
    other than 0, the other one is compared with limits, which is cheaper than the overflow
    operation.
    """
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


def _fits_range(e: Expr, dtype: str) -> Expr:
    """A bool: whether the int64 `e` fits `dtype`."""
    to = DTYPES[dtype]
    above = Call("ge", (e, index_const(to.low)), "bool")
    return bool_op("and", above, Call("le", (e, index_const(to.high)), "bool"))


def _in_int64(lo: int, hi: int) -> bool:
    return INT64[0] <= lo and hi <= INT64[1]


def exact_bounds(name: str, x: Bounds, y: Bounds) -> Bounds:
    """The interval of the exact result of ``x name y``, as of unbounded integers, by those of the
    operands; `name` is an operation with a rule in `result_bounds`.
    """
    bounds = result_bounds(name, [x, y])
    assert bounds is not None
    return bounds
