"""Scalar conversions: truth, a common dtype, the type of a result, an array's element dtype.

`scalar_result_type` gives the type of an operation, `convert_operand` converts an operand to its
dtype, and `with_result_type` puts IR and type together. Item assignment converts by other rules
(`as_array_item`). Where Python or NumPy raises for a value that does not fit, there is a check;
where NumPy warns, a source of warnings.
"""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.implied_conditions import conjuncts
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Const, Expr

from ...frontend.refusal import refuse
from ...types.int_limits import EXACT_F64, INT64, WORD
from ...types.typed_values import (
    FALSE,
    TRUE,
    Num,
    bool_op,
    cast,
    fits_dtype,
    probe_result,
    probe_results,
)
from ...types.value_types import ScalarType
from ..state.float_exceptions import with_warnings
from ..state.guards_and_checks import add_guard, require
from ..state.ir_builder import IRBuilder, SilentException
from ..state.lowering_state import Lowering
from ..state.value_ranges import integer_num

__all__ = [
    "as_array_item", "as_int64", "as_numpy_if_loops_ran", "as_word", "constant_int",
    "convert_operand", "dual_result_types", "exact_number", "int_as_float", "is_exact_as_float",
    "joined_words", "long_constant", "refuse_either", "result_depends_on_case", "round_to_float",
    "scalar_result_type", "to_compute_dtype", "to_operand_dtype", "truth_value", "with_result_type",
]

_ROUNDS_TO_INF = {"f16": 65520.0, "f32": 2.0**128 - 2.0**103}
"""For each narrow float dtype, the least float64 that is infinite after conversion to it."""

_CONSTANT: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}
_MAX_BITS = 256
"""Longer constants are not computed."""


def long_constant(ctx: Lowering, e: ast.expr) -> int:
    """The int above the greatest int64 that `e` always is; 0 for other expressions. Who relies on
    the value of a global has to guard it, as by lowering the name.

        2**64    0xFFFF_FFFF_FFFF_FFFF    (1 << 64) - 1    MASK, a global that is such an int
    """
    value: object = None
    if not isinstance(e, ast.Name):
        value = constant_int(e)
    elif isinstance(known := ctx.b.env.get(e.id), Num):
        value = known.ir.value if known.is_word and isinstance(known.ir, Const) else None
    elif e.id not in ctx.types and e.id not in ctx.b.env:
        value = ctx.scope.resolve(e)
    return value if type(value) is int and value > INT64[1] else 0


def constant_int(e: ast.expr) -> int | None:
    """The int that `e` is: a constant, or a negation, sum, product, power or shift of constants;
    None for others, and where it may have more than some hundred bits.
    """
    match e:
        case ast.Constant(int(value)) if type(value) is int:
            return value
        case ast.UnaryOp(ast.USub(), operand):
            negated = constant_int(operand)
            return None if negated is None else -negated
        case ast.BinOp(left, op, right) if type(op) in _CONSTANT:
            a, c = constant_int(left), constant_int(right)
            if a is None or c is None or max(abs(a), abs(c)).bit_length() > _MAX_BITS:
                return None
            grows = isinstance(op, (ast.Pow, ast.LShift))
            return _CONSTANT[type(op)](a, c) if not grows or 0 <= c <= _MAX_BITS else None
    return None


def truth_value(n: Num) -> Expr:
    """``bool(n)``."""
    if n.dtype == "bool":
        return n.ir
    if isinstance(n.ir, Const):
        return TRUE if n.ir.value else FALSE
    return Call("ne", (n.ir, Const(0, n.dtype)), "bool")


def with_result_type(ir: Expr, ty: ScalarType, *operands: Num) -> Num:
    """`ir`, the result of an operation on `operands`, with its result type `ty`. If `ty` is
    Python's and an operand is Python's or NumPy's, depending on the data, so is the result, with
    the same dtype: it is Python's where all operands are.
    """
    if not ty.weak:
        return Num(ir, strong=ty.dtype)
    if any(n.either for n in operands):
        weak: Expr = TRUE
        for n in operands:
            weak = bool_op("and", weak, n.weak_now)
        return Num(ir, ty.dtype, ty.dtype, weak)
    return Num(ir, weak=ty.dtype)


def convert_operand(b: IRBuilder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """`n` converted to `dtype`, the dtype of an operation, by NumPy's rules for operands.

        x[i] + k      x: int8, k: an int argument →    guard(-128 <= k <= 127); i8(k)
        x[i] + 0.5    x: float32                  →    the constant f32(0.5)

    Requires that a Python int fits the dtype, since NumPy raises OverflowError otherwise. Raises
    Refused for a constant int that does not fit, and for a value that was rounded to a dtype which
    does not hold Python's value exactly (`Num.exact`).
    """
    if not n.exact and n.dtype != dtype:
        refuse_either(node)
    to = DTYPES[dtype]
    is_int = n.weak == "i64" and to.kind in "iu" and dtype != "i64" and n.dtype != dtype
    if not is_int or (to.low <= n.range[0] and n.range[1] <= to.high):
        return to_operand_dtype(b, n, dtype, node)
    if isinstance(n.ir, Const) and n.strong is None:
        message = f"the Python int {n.ir.value} is out of bounds for {to.numpy}"
        help = f"NumPy raises OverflowError: widen the {to.numpy} first, as by `int(…)`"
        refuse("LOWER_TYPE", message, node, help=help)
    e = b.bind(n.ir)
    unsigned = e.dtype == "u64"
    top = (e, Const(to.high, "u64")) if unsigned else (cast(e, "i64"), index_const(to.high))
    not_above = TRUE if to.high > INT64[1] else Call("le", top, "bool")
    e = cast(e, "i64")
    not_below = Call("ge", (e, index_const(to.low)), "bool")
    require(b, bool_op("and", not_below, not_above), "GUARD_INT_RANGE", node)
    return cast(e, dtype)


def as_int64(b: IRBuilder, n: Num, node: ast.AST) -> Num:
    """`n` itself; of a word (`Num.is_word`) the int in an int64, which it is required to fit."""
    if not n.is_word:
        return n
    word = b.bind(n.ir, "word")
    if n.range[1] > INT64[1]:
        fits = Call("le", (word, Const(INT64[1], "u64")), "bool")
        require(b, fits, "GUARD_INT_RANGE", node)
    interval = n.range if n.range[1] <= INT64[1] else INT64  # also where the check fails
    return integer_num(b, b.bind(cast(word, "i64"), "int"), interval)


def as_word(b: IRBuilder, n: Num, node: ast.AST) -> Num:
    """The Python int or bool `n` as a word (`Num.is_word`); it is required not to be negative."""
    if n.is_word:
        return n
    if n.range[0] >= 0:
        return Num(cast(n.ir, "u64"), weak="u64", interval=n.range)
    e = b.bind(n.ir, "part")
    require(b, Call("ge", (e, index_const(0)), "bool"), "GUARD_INT_RANGE", node)
    return Num(cast(e, "u64"), weak="u64", interval=WORD)


def joined_words(
    b: IRBuilder, cond: Expr, then: Num, other: Num, node: ast.AST,
    known: Callable[[Num], bool] = lambda n: True,
) -> tuple[Num, Num]:
    """The values ``then if cond else other``, of which one is a word, both as words if the other
    one is a Python int that is `known` at this place: where it is selected, it is required not to
    be negative. Else the values as they are.
    """
    n = other if then.is_word else then
    if not n.python_int or n.range[0] >= 0 or not known(n):
        return then, other
    is_other = cond if n is other else bool_op("not", cond)
    value = b.bind(n.ir, "part")
    is_word = Call("ge", (value, index_const(0)), "bool")
    require(b, bool_op("or", is_other, is_word), "GUARD_INT_RANGE", node)
    word = Num(cast(value, "u64"), weak="u64", interval=WORD)
    return (word, other) if n is then else (then, word)


def as_numpy_if_loops_ran(b: IRBuilder, n: Num, node: ast.AST) -> Num:
    """`n` as a NumPy scalar, if it is Python's only where a loop had no iteration; the loop is then
    required to have one. Any other `n` is returned as it is.
    """
    if not n.either or b.numbers.zero_trip.isdisjoint(conjuncts(n.weak_now)):
        return n
    assert n.strong is not None
    require(b, bool_op("not", n.weak_now), "GUARD_EMPTY", node)
    return Num(cast(n.ir, n.strong), strong=n.strong, boxed=n.boxed)


def exact_number(b: IRBuilder, n: Num, node: ast.AST) -> Num:
    """`n` as a number whose Loop IR has its exact value (`Num.exact`). If it may be rounded, but
    only where it is Python's int because a loop had no iteration, it is required to be NumPy's.
    Raises Refused for any other number that may be rounded.

        s = k; for v in x: s += v         x of float32, k an int    →    float(s): x is not empty
    """
    if n.exact:
        return n
    n = as_numpy_if_loops_ran(b, n, node)
    if not n.exact:
        refuse_either(node)
    return n


def refuse_either(node: ast.AST) -> NoReturn:
    """Refuses an operation of which lowering would have to know whether its operand is Python's or
    NumPy's. Where it can be lowered for each of the two types, `for_each_case` does so instead.
    """
    refuse("LOWER_JOIN", "the value is a NumPy or a Python number depending on the data", node)


def is_exact_as_float(n: Num) -> bool:
    """Whether a float64 surely holds the integer `n` exactly: by its interval, it is at most 2**53
    in magnitude.
    """
    return EXACT_F64[0] <= n.range[0] and n.range[1] <= EXACT_F64[1]


def int_as_float(n: Num, dtype: str) -> Expr:
    """`n` converted to the float `dtype`. A Python int becomes a float64 first, as in NumPy, which
    may round twice; NumPy's integers are rounded once.

        np.float32(2**60 + 2**36 + 1)    →    f32(f64(k)) = 2**60, but f32(k) = 2**60 + 2**37
    """
    rounded_once = cast(n.ir, dtype)
    # In float16 an int that is no float64 is infinite, however often it is rounded.
    is_long = n.weak in ("i64", "u64") and n.dtype in ("i64", "u64")
    if not is_long or dtype != "f32" or is_exact_as_float(n):
        return rounded_once
    rounded_twice = cast(cast(n.ir, "f64"), dtype)
    if n.strong is None:
        return rounded_twice
    return Call("select", (n.weak_now, rounded_twice, rounded_once), dtype)


def round_to_float(b: IRBuilder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """`n` converted to the float `dtype`, with sources of the warnings that NumPy gives where a
    finite number becomes infinite, or NumPy's float is too small for `dtype`.
    """
    converted = int_as_float(n, dtype)
    if _may_overflow_to_inf(n.dtype, dtype) and not fits_dtype(n.ir, dtype):
        converted = with_warnings(b, "mul", (n.ir,), converted, "cast", node, ("over",))
    return _with_underflow(b, n, converted, node)


def _with_underflow(b: IRBuilder, n: Num, converted: Expr, node: ast.AST) -> Expr:
    """`converted`, which is `n` as a float, with a source of NumPy's warning where a number too
    small for the dtype is rounded. NumPy does not warn of Python's floats, whose conversion is
    recorded as silent.
    """
    of, to = DTYPES[n.dtype], DTYPES[converted.dtype]
    if of.kind != "f" or of.bits <= to.bits or isinstance(n.ir, Const):
        return converted
    if n.weak:
        b.warnings.silent.append(SilentException("under"))
    if n.strong is None:
        return converted
    return with_warnings(b, "mul", (n.ir,), converted, "cast", node, ("under",), certain=False)


def _may_overflow_to_inf(source: str, dtype: str) -> bool:
    """Whether some numbers of `source` are too large for the float `dtype`."""
    of, to = DTYPES[source], DTYPES[dtype]
    if of.kind == "f":
        return of.bits > to.bits
    return of.high > float(np.finfo(to.numpy).max)


def to_compute_dtype(e: Expr) -> Expr:
    """`e` converted to the dtype in which operations on its dtype are computed: float32 for
    float16.
    """
    return cast(e, DTYPES[e.dtype].wide or e.dtype)


def to_operand_dtype(b: IRBuilder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """`n` converted to `dtype`, without a check that ints fit.

        x[i] + k    x: float32, k: a float argument    →    guard that f32(k) is finite if k is

    A float64 that is known at kernel entry is guarded not to become infinite in a narrower float:
    NumPy warns of that, but from another place than of the operation, so that no source is noted.
    """
    if n.dtype != "f64" or dtype not in _ROUNDS_TO_INF or not b.known_at_entry(n.ir):
        if DTYPES[dtype].kind == "f":
            return round_to_float(b, n, dtype, node)
        if DTYPES[n.dtype].kind == "f":
            b.warnings.silent.append(SilentException("invalid"))
        return cast(n.ir, dtype)
    if not fits_dtype(n.ir, dtype):
        magnitude = Call("abs", (n.ir,), "f64")
        limit = Const(_ROUNDS_TO_INF[dtype], "f64")
        fits = bool_op("not", Call("ge", (magnitude, limit), "bool"))  # true for NaN
        infinite = Call("gt", (magnitude, Const(float(np.finfo(np.float64).max), "f64")), "bool")
        add_guard(b, bool_op("or", fits, infinite), "GUARD_FLOAT_STATUS", node, even_if_empty=True)
    # The kernel may convert the number more or less often than NumPy, so a replay shows warnings.
    b.warnings.silent.append(SilentException("under"))
    return _with_underflow(b, n, cast(n.ir, dtype), node)


def dual_result_types(
    function: Callable[..., Any], operands: tuple[Num, ...]
) -> tuple[ScalarType | None, ScalarType | None]:
    """The result types of ``function(*operands)`` in two cases: each operand that may be Python's
    or NumPy's is NumPy's; each of them is Python's. None for a case that has no result type.
    """
    strong = probe_result(function, *(replace(n, weak=None) if n.strong else n for n in operands))
    weak = probe_result(function, *(replace(n, strong=None) if n.weak else n for n in operands))
    return strong, weak


def result_depends_on_case(function: Callable[..., Any], *operands: Num) -> bool:
    """Whether an operand is Python's or NumPy's, depending on the data, and the dtype of the result
    depends on which it is; also where an operand was rounded, so that its Python value is lost.
    """
    if not any(n.either for n in operands):
        return False
    dtypes = {ty and ty.dtype for ty in probe_results(function, *operands)}
    return None in dtypes or len(dtypes) > 1 or not all(n.exact for n in operands)


def as_array_item(b: IRBuilder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """The value that ``a[i] = n`` stores in an array of `dtype`.

    A float is converted to an integer array's dtype by ``int(n)``. Requires that the integer fits,
    since NumPy raises otherwise; NumPy's integers wrap around in unsigned arrays.
    """
    n = exact_number(b, n, node)
    to = DTYPES[dtype]
    if n.dtype == dtype:
        return n.ir
    if to.kind in "iu":
        n = as_int64(b, n, node)
    kind = DTYPES[n.dtype].kind
    if dtype == "bool":
        return truth_value(n)
    if to.kind == "f":
        return to_operand_dtype(b, n, dtype, node)
    if kind == "f":
        e = to_compute_dtype(n.ir)
        truncated = b.bind(Call("trunc", (e,), e.dtype))
        fits = bool_op(
            "and",
            Call("ge", (truncated, Const(float(to.low), e.dtype)), "bool"),
            Call("lt", (truncated, Const(float(to.high + 1), e.dtype)), "bool"),
        )
        fits = b.bind(fits, "fits")
        require(b, fits, "GUARD_INT_RANGE", node)
        # The kernel goes on after a failed check: only a number that fits may be converted.
        return cast(Call("select", (fits, truncated, Const(0.0, e.dtype)), e.dtype), dtype)
    if n.weak == "i64" or (kind == "u" and to.kind == "u"):
        return convert_operand(b, n, dtype, node) if n.weak else cast(n.ir, dtype)
    return _convert_int(b, n, dtype, node)


def _convert_int(b: IRBuilder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """The NumPy integer `n` as an item of an integer array: wrapped for an unsigned `dtype`,
    required to fit a signed one.
    """
    to, of = DTYPES[dtype], DTYPES[n.dtype]
    if to.kind == "u" or (to.low <= of.low and of.high <= to.high):
        return cast(n.ir, dtype)
    e = b.bind(n.ir)
    if of.high > to.high:
        require(b, Call("le", (e, Const(to.high, n.dtype)), "bool"), "GUARD_INT_RANGE", node)
    if of.low < to.low:
        require(b, Call("ge", (e, Const(to.low, n.dtype)), "bool"), "GUARD_INT_RANGE", node)
    return cast(e, dtype)


def scalar_result_type(
    function: Callable[..., Any], operands: tuple[Num, ...], node: ast.AST
) -> ScalarType:
    """The type of ``function(*operands)``. An operand may be Python's or NumPy's, depending on the
    data, as ``s`` after ``s = 0.0; for v in x: s = s + v``, which is a float if ``x`` is empty.
    Where the result has the same dtype in all cases, Python's type stands for all of them::

        s * 2.0, ``x`` of float64    Python's float, also where it is NumPy's float64
        s * 2.0, ``x`` of float32    raises: Python's float (64 bits), or NumPy's float32

    Raises Refused where the dtype depends on the data, for which `binary_operation` first tries
    other ways, or where there is no result.
    """
    ty = probe_result(function, *operands)
    if ty is not None:
        return ty
    if any(n.either for n in operands):
        _, weak = dual_result_types(function, operands)
        dtypes = {ty and ty.dtype for ty in probe_results(function, *operands)}
        if weak and dtypes == {weak.dtype}:
            return weak
        return refuse("LOWER_JOIN", "the type of the operation depends on the data", node)
    kinds = ", ".join(str(n.strong or n.weak) for n in operands)
    return refuse(
        "LOWER_TYPE", f"the operation on {kinds} gives a type that is not compiled", node
    )
