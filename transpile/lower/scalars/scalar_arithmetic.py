"""Lower arithmetic operators on scalars, with the result types and errors of Python or NumPy.

`binary_operation` is the entry for real operands of one type each, or of a Python and a NumPy type
(`Num.either`). The result type comes from probing the operator on samples of the operand types, so
it follows the NumPy in use. What is then emitted depends on the type:

- Python ints: overflow is excluded by ranges or checked (`integer_arithmetic.py`);
- Python floats: where Python raises (a division by zero) there is a check;
- NumPy scalars: the operation of the dtype, with a record of the warnings that NumPy may give.
"""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr
from loopir.process.lazy_function import lazy_function

from ...frontend.refusal import refuse
from ...types.int_limits import EXACT_F64, INT64, WORD
from ...types.typed_values import ComplexPair, Num, bool_op, cast, constant, probe_result
from ...types.value_types import ScalarType
from ..state.float_exceptions import WarningName, note_silent, with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op
from ..state.value_ranges import integer_num
from .dual_semantics import in_both_semantics
from .integer_arithmetic import (
    dual_integer_operation,
    integer_operation,
    python_int_operation,
    require_no_overflow,
    require_nonzero,
)
from .power_operator import power_operation
from .scalar_operands import (
    as_int64,
    as_numpy_if_loops_ran,
    as_word,
    convert_operand,
    is_exact_as_float,
    result_depends_on_case,
    scalar_result_type,
    with_result_type,
)

word_operation = lazy_function(__package__, "word_arithmetic:word_operation")

__all__ = [
    "BINARY", "binary_operation", "bitwise_invert", "negate_real",
    "require_exact_as_float", "unary_plus",
]

class _Operator(NamedTuple):
    """A row of `BINARY`: what lowering has to know of an operator."""

    operation: str
    """Its name in Loop IR (`op_table.OPS`)."""
    function: Callable[..., Any]
    """The operator as a function, which is run on samples to find the result type."""
    ufunc: str
    """The name of NumPy's ufunc, which is also that of the operator in warnings (`WarningName`)."""


BINARY: dict[type[ast.operator], _Operator] = {
    ast.Add: _Operator("add", operator.add, "add"),
    ast.Sub: _Operator("sub", operator.sub, "subtract"),
    ast.Mult: _Operator("mul", operator.mul, "multiply"),
    ast.Div: _Operator("div", operator.truediv, "divide"),
    ast.FloorDiv: _Operator("floordiv", operator.floordiv, "floor_divide"),
    ast.Mod: _Operator("mod", operator.mod, "remainder"),
    ast.Pow: _Operator("pow", operator.pow, "power"),
    ast.BitAnd: _Operator("bitand", operator.and_, "bitwise_and"),
    ast.BitOr: _Operator("bitor", operator.or_, "bitwise_or"),
    ast.BitXor: _Operator("bitxor", operator.xor, "bitwise_xor"),
    ast.LShift: _Operator("shl", operator.lshift, "left_shift"),
    ast.RShift: _Operator("shr", operator.rshift, "right_shift"),
}
"""The operators of ``ast`` that are compiled: the name in Loop IR, the function in Python, and the
name in NumPy's warnings. (``@``, of matrices, is expanded by a macro.)
"""

_ON_BOOLS = {"add": "or", "mul": "and", "bitand": "and", "bitor": "or", "bitxor": "xor"}
"""The operation on bools for operations of NumPy whose result is a bool."""

_EXACT_SHIFT = 62
"""``1 << k`` is an int64 with room to spare for k below this."""


def binary_operation(
    ctx: Lowering, op: type[ast.operator], x: Num, y: Num, node: ast.AST, *, ufunc: bool = False
) -> Num:
    """Lowers ``x op y`` of two real scalars: returns the value with its type, emits the checks that
    it needs, and records which warnings NumPy would give. `apply_operator`
    (`complex_arithmetic.py`) calls it for operators, after complex numbers and unions have been
    handled. ``ufunc`` is true for a call such as ``np.add(x, y)``: its warnings say ``add`` in
    place of ``scalar add``.

        x[i] / k    (a float32 and a Python int)    →    div(x[i], f32(k)), a NumPy float32, with
                                                         "divide by zero … in scalar divide"

    The first case that applies decides:

    1. ``+ - *`` of two Python ints: an operation of 64 bits, with a check if its exact result may
       need more (`python_int_operation`);
    2. whether an operand is Python's or NumPy's depends on the data (`Num.either`), and the result
       type depends on it. These are tried in turn: one operation that is right in both cases
       (`dual_integer_operation`); both operations and a selection (`in_both_semantics`). Else an
       operand that is Python's only where a loop had no iteration is required to be NumPy's
       (`as_numpy_if_loops_ran`), and cases 3 to 5 follow;
    3. a power: what it is lowered to depends on the exponent (`power_operation`);
    4. a shift of Python ints (`_python_int_shift`), whose exact result may need more than 64 bits;
    5. any other: both operands are converted to the result type, which the operator has for samples
       of their types (`scalar_operands.scalar_result_type`). On bools the operation is another one
       (`_ON_BOOLS`: ``+`` is *or*). For ``/`` of Python ints, both are required to be exact as
       float64. Floats and integers: `_float_operation`, `integer_operation`.

    Raises Refused if the operator has no result type for these operands, as ``<<`` of floats; if
    the type depends on the data, after case 2; and for a result of bool that is not in `_ON_BOOLS`.
    """
    name, function, ufunc_name = BINARY[op]
    spelled = WarningName(ufunc_name, of_scalars=not ufunc)
    if x.is_word or y.is_word:
        if name not in ("div", "pow") and _are_ints(x, y):
            of_words: Num = word_operation(ctx, name, x, y, node)
            return of_words
        x, y = _without_words(ctx, x, y, node)
    if x.python_int and y.python_int and name in ("add", "sub", "mul"):
        return python_int_operation(ctx, name, x, y, node)
    if result_depends_on_case(function, x, y):
        if (value := dual_integer_operation(ctx, name, x, y, node, spelled)) is not None:
            return value
        value = in_both_semantics(
            ctx.b, (x, y), lambda p, q: binary_operation(ctx, op, p, q, node, ufunc=ufunc)
        )
        if value is not None:
            return value
        x, y = as_numpy_if_loops_ran(ctx.b, x, node), as_numpy_if_loops_ran(ctx.b, y, node)
    if _scalars_call_ufunc(x, y):  # NumPy's own scalars do so, and then warn as for arrays
        spelled = WarningName(ufunc_name, of_scalars=False)
    if name == "pow":
        multiply = partial(binary_operation, ctx, ast.Mult, node=node)
        return power_operation(ctx, x, y, node, spelled, multiply, ufunc=ufunc)
    ty = scalar_result_type(function, (x, y), node)
    if name in ("shl", "shr") and ty.weak:
        return _python_int_shift(ctx, name, x, y, node)
    if ty.dtype == "bool":
        if name not in _ON_BOOLS:
            refuse("LOWER_TYPE", f"`{name}` of two bools is not compiled", node)
        return with_result_type(Call(_ON_BOOLS[name], (x.ir, y.ir), "bool"), ty, x, y)
    if name == "div" and x.weak == y.weak == "i64":
        require_exact_as_float(ctx, x, node)
        require_exact_as_float(ctx, y, node)
    a, c = (
        convert_operand(ctx.b, x, ty.dtype, node),
        convert_operand(ctx.b, y, ty.dtype, node),
    )
    if DTYPES[ty.dtype].kind == "f":
        return _float_operation(ctx, name, a, c, ty, (x, y), node, spelled)
    return integer_operation(ctx, name, a, c, ty, (x, y), node, spelled)


def _are_ints(x: Num, y: Num) -> bool:
    """Whether both are Python's ints or bools."""
    return all(n.strong is None and n.weak != "f64" and not n.boxed for n in (x, y))


def _without_words(ctx: Lowering, x: Num, y: Num, node: ast.AST) -> tuple[Num, Num]:
    """The operands of an operation that knows no words. Beside a float a word is the nearest
    float64, as in Python and NumPy; beside a NumPy uint64 it is one; else it must fit an int64.
    """
    out = []
    for n, other in ((x, y), (y, x)):
        if n.is_word and DTYPES[other.dtype].kind == "f" and not other.either:
            n = Num(cast(n.ir, "f64"), weak="f64")
        elif n.is_word and other.types == ("u64", None):
            n = Num(n.ir, strong="u64")
        out.append(as_int64(ctx.b, n, node))
    return out[0], out[1]


def _scalars_call_ufunc(x: Num, y: Num) -> bool:
    """Whether the operator of NumPy's scalars leaves ``x op y`` to the ufunc, which has another
    name in warnings: for bools, and where neither operand has the dtype that both are converted to.
    """
    numpy_dtype = x.strong if x.strong is not None else y.strong
    common = probe_result(operator.add, x, y)
    converts_both = (
        common is not None and not common.weak and common.dtype not in (x.strong, y.strong)
    )
    return numpy_dtype == "bool" or converts_both


def require_exact_as_float(ctx: Lowering, n: Num, node: ast.AST) -> None:
    """Requires that `n`, if it is a Python int, is at most 2**53 in magnitude: Python divides and
    compares ints exactly, which conversion to float64 does only up to there.
    """
    if n.weak == "i64" and n.dtype == "i64" and not is_exact_as_float(n):
        low, high = map(index_const, EXACT_F64)
        is_exact = bool_op("and", Call("le", (n.ir, high), "bool"), Call("ge", (n.ir, low), "bool"))
        require(ctx.b, is_exact, "GUARD_INT_RANGE", node)


def _may_be_reassociated(ctx: Lowering, spelled: WarningName, operands: tuple[Num, ...]) -> bool:
    """Whether an operation of NumPy is the step of a reduction, ``s + x[i]`` for an accumulator
    ``s``, whose terms passes may add in another order. Then it may raise what Python's order does
    not. A recording kernel keeps the order of operations on scalars.
    """
    is_recording = ctx.b.warnings.raised_array is not None
    is_step = any(n.ir in ctx.b.numbers.accumulators for n in operands)
    return is_step and not (is_recording and spelled.of_scalars)


def _float_operation(
    ctx: Lowering,
    name: str,
    a: Expr,
    c: Expr,
    ty: ScalarType,
    operands: tuple[Num, ...],
    node: ast.AST,
    spelled: WarningName,
) -> Num:
    """The operation `name` with the float result type `ty`, on `a` and `c`, which are `operands`
    converted to its dtype. Called by `binary_operation`. ``spelled``: NumPy's name in warnings.

        a / c    Python floats    check c != 0, since Python raises; then a / c
        a / c    NumPy's scalars  a / c, with the sources "divide", "over", "invalid" of warnings

    Python gives no warnings: what its floats raise is noted as silent (`note_silent`). An operation
    whose operands are Python's or NumPy's, depending on the data, is noted as both, and is not
    ``certain`` to warn; nor is the step of a reduction, which passes may reassociate. Raises
    Refused for bit operations.
    """
    if name not in ("add", "sub", "mul", "div", "floordiv", "mod"):
        refuse("LOWER_TYPE", f"`{name}` is not defined for floats", node)
    wide = DTYPES[ty.dtype].wide
    if name in ("div", "floordiv", "mod") and ty.weak:
        require_nonzero(ctx, operands[1], c, node)
    if name in ("floordiv", "mod") and wide:
        # NumPy computes quotient and remainder together in float16, and warns where either
        # overflows. Such operands are left to it.
        a, c = ctx.b.bind(a), ctx.b.bind(c)
        quotient = Call("abs", (apply_op(ctx.b, "div", cast(a, wide), cast(c, wide)),), wide)
        fits = Call("le", (quotient, Const(float(np.finfo(np.float16).max), wide)), "bool")
        require(ctx.b, fits, "GUARD_FLOAT_STATUS", node)
    depends_on_data = any(n.either for n in operands)  # whether it is Python's or NumPy's
    if name in ("floordiv", "mod"):
        c = ctx.b.bind(c)
    value = apply_op(ctx.b, name, a, c)
    if not ty.weak or depends_on_data:
        certain = not (_may_be_reassociated(ctx, spelled, operands) or depends_on_data)
        value = with_warnings(ctx.b, name, (a, c), value, str(spelled), node, certain=certain)
    if ty.weak or depends_on_data:
        note_silent(ctx.b, name, (a, c), value, node)
    return with_result_type(value, ty, *operands)


def _python_int_shift(ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST) -> Num:
    """``x << y`` or ``x >> y`` of Python ints.

    A shift to the left is a product with a power of 2, whose overflow is checked, for it loses no
    bits in Python; a shift to the right by a constant of at most 61 is a floor division. Requires
    that the count is not negative, where Python raises, and at most 61 for a shift to the left. A
    shift to the left that may need 64 bits, and no more, gives a word (`Num.is_word`).
    Raises Refused where an operand is a bool, or may be NumPy's.
    """
    if not (x.python_int and y.python_int):
        refuse("LOWER_UNSUPPORTED", "a shift of a Python int by a number of another type", node)
    if name == "shl" and min(x.range[0], y.range[0]) >= 0 and y.range[1] < 64:
        most = x.range[1] << y.range[1]
        if INT64[1] < most <= WORD[1]:
            word: Num = word_operation(ctx, name, as_word(ctx.b, x, node), y, node)
            return word
    constant_count = y.ir.value if isinstance(y.ir, Const) else -1
    if 0 <= constant_count < _EXACT_SHIFT:
        factor = constant(1 << int(constant_count))
        return binary_operation(ctx, ast.Mult if name == "shl" else ast.FloorDiv, x, factor, node)
    count, (min_count, max_count) = ctx.b.bind(y.ir), y.interval
    if min_count < 0:
        require(ctx.b, Call("ge", (count, index_const(0)), "bool"), "GUARD_RAISES", node)
    if name == "shr":
        low, high = x.interval
        shifted = Call("shr", (ctx.b.bind(x.ir), count), "i64")
        return integer_num(ctx.b, shifted, (min(low, 0), max(high, 0)))
    if max_count >= _EXACT_SHIFT:
        fits = Call("lt", (count, index_const(_EXACT_SHIFT)), "bool")
        require(ctx.b, fits, "GUARD_INT_RANGE", node)
    power = Call("shl", (index_const(1), count), "i64")
    factor = integer_num(ctx.b, power, (1, 1 << (_EXACT_SHIFT - 1)))
    return binary_operation(ctx, ast.Mult, x, factor, node)


def negate_real(ctx: Lowering, x: Num, node: ast.AST) -> Num:
    """``-x`` of a real number. For the least int of a signed dtype, and for all of an unsigned one
    but 0, it overflows: a replay for Python's int, a warning for NumPy's (`require_no_overflow`).
    """
    if isinstance(x.ir, Const) and x.weak and not x.strong and x.dtype != "bool":
        return constant(-x.ir.value)
    if x.python_int:
        return python_int_operation(ctx, "sub", constant(0), x, node)
    if result_depends_on_case(operator.neg, x):
        value = in_both_semantics(ctx.b, (x,), lambda p: negate_real(ctx, p, node))
        if value is not None:
            return value
    ty = scalar_result_type(operator.neg, (x,), node)
    e = convert_operand(ctx.b, x, ty.dtype, node)
    kind = DTYPES[ty.dtype].kind
    if kind in "iu":
        e = ctx.b.bind(e)
        lowest = Const(DTYPES[ty.dtype].low, ty.dtype)  # of unsigned ints 0, the only one that fits
        no_overflow = Call("ne" if kind == "i" else "eq", (e, lowest), "bool")
        require_no_overflow(ctx, no_overflow, ty, node, WarningName("negative"))
    return with_result_type(Call("neg", (e,), ty.dtype), ty, x)


def unary_plus(ctx: Lowering, x: Num | ComplexPair, node: ast.AST) -> Num | ComplexPair:
    """``+x``, which converts Python's bool to an int. Raises Refused for NumPy's bool, for which
    NumPy raises TypeError.
    """
    if isinstance(x, ComplexPair) or x.is_word:
        return x
    ty = scalar_result_type(operator.pos, (x,), node)
    return with_result_type(convert_operand(ctx.b, x, ty.dtype, node), ty, x)


def bitwise_invert(ctx: Lowering, x: Num | ComplexPair, node: ast.AST) -> Num:
    """``~x`` of an integer or a bool. Raises Refused for other numbers: Python raises TypeError."""
    if isinstance(x, ComplexPair):
        refuse("LOWER_TYPE", "`~` of a complex number raises TypeError", node)
    ty = scalar_result_type(operator.invert, (x,), node)
    if ty.dtype == "bool":
        return with_result_type(bool_op("not", x.ir), ty, x)
    return with_result_type(
        Call("invert", (convert_operand(ctx.b, x, ty.dtype, node),), ty.dtype), ty, x
    )
