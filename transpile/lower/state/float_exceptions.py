"""Floating-point exceptions: where an operation raises, and which warnings NumPy would give.

The processor accumulates exceptions in flags, which the kernel returns in its status. A
*condition*, the parameter ``status`` here, is one of the classes of np.errstate: "divide", "over",
"under" or "invalid". Lowering records for each operation what a raised flag means (`WarningState`):

- a source: NumPy warns, with a message that names the operation (`note_warning`, `with_warnings`);
- silent: the operation may raise the flag, but nobody warns (`note_silent`, `note_speculative`).

A flag that operations of both kinds may raise does not tell whether NumPy warns: a replay has to.
`sources_for_plan` marks such sources in the call plan. A recording kernel tells, too: it tests each
operation by its operands and its result (`status_raised`).
Functions of `math` raise Python exceptions; their conditions are in `in_domain`.
"""
from __future__ import annotations

import ast
import math
import sys
from functools import reduce
from typing import NamedTuple

from loopir.algebra.constant_folding import index_const
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Check, Const, Expr, Guard, If, Load, Store
from loopir.op_table import OPS

from ...call_plan import StatusSource
from ...frontend.core_nodes import inlined_at, is_operation_part
from ...frontend.source import span_of
from ...types.typed_values import FALSE, TRUE, bool_op
from .ir_builder import IRBuilder, SilentException
from .path_conditions import holds_on_path

__all__ = [
    "WarningName", "check_warning", "in_domain", "note_silent", "note_speculative", "note_warning",
    "sources_for_plan", "status_raised", "with_warnings",
]

_DIVISIONS = ("div", "floordiv", "mod")


def status_raised(status: str, op: str, operands: tuple[Expr, ...], value: Expr) -> Expr:
    """A bool: whether `op` on `operands`, with the result `value`, raised the condition `status`.

    "invalid": the result is a NaN and no operand is; of a floor division also where it overflows,
    since NumPy subtracts its infinite quotients. "divide" and "over": the result is infinite
    and all operands are finite; at a pole of the function it is "divide", elsewhere "over".
    "under": never, since it cannot be seen from the result.
    """
    match status:
        case "invalid":
            no_nans = (bool_op("not", _float_test("isnan", x)) for x in operands)
            became_nan = reduce(_and, no_nans, _float_test("isnan", value))
            if op == "floordiv":
                return _or(became_nan, _overflowed(op, operands, value))
            return became_nan
        case "divide":
            return _and(_became_infinite(value, operands), _at_pole(op, operands))
        case "over":
            return _overflowed(op, operands, value)
        case _:
            return FALSE


def _overflowed(op: str, operands: tuple[Expr, ...], value: Expr) -> Expr:
    """A bool: whether `value`, of `op` on finite `operands`, is infinite, and not for a pole."""
    return _and(_became_infinite(value, operands), bool_op("not", _at_pole(op, operands)))


def _became_infinite(value: Expr, operands: tuple[Expr, ...]) -> Expr:
    """A bool: whether `value` is infinite and all `operands` are finite."""
    return reduce(_and, (_float_test("isfinite", x) for x in operands), _float_test("isinf", value))


def _at_pole(op: str, operands: tuple[Expr, ...]) -> Expr:
    """A bool: whether the exact result of `op` is infinite: a division by zero, a power of zero, or
    any infinite result of a function, such as ``log``, that has poles and cannot overflow.
    """
    zero = Call("eq", (operands[-1], Const(0.0, operands[-1].dtype)), "bool")
    if op in _DIVISIONS:
        return zero
    if op == "pow":
        return Call("eq", (operands[0], Const(0.0, operands[0].dtype)), "bool")
    return TRUE if "divide" in OPS[op].raises else FALSE


def _float_test(kind: str, x: Expr) -> Expr:
    """``kind(x)``, for "isnan", "isinf" or "isfinite"; a constant for an int or a bool."""
    if DTYPES[x.dtype].kind != "f":
        return TRUE if kind == "isfinite" else FALSE
    return Call(kind, (x,), "bool")


def _and(a: Expr, b: Expr) -> Expr:
    return bool_op("and", a, b)


def _or(a: Expr, b: Expr) -> Expr:
    return bool_op("or", a, b)


_EXP_LIMIT = 709.78  # a little below the smallest x for which exp(x) overflows
_INF = Const(math.inf, "f64")


def in_domain(op: str, operands: tuple[Expr, ...], result: Expr) -> Expr:
    """A bool that holds where the function `op` of `math`, on `operands` with the float64 `result`,
    raises no Python exception. The caller requires it (`builtin_calls.lower_math_call`, and
    `power_operation`); where it fails, Python replays the call, and raises.

        math.sqrt(x)     →    require not x < 0.0
        math.exp(x)      →    require not 709.78 < x, or x == inf        (OverflowError)

    The conditions are those of CPython's ``Modules/mathmodule.c``: ValueError outside of the domain
    of the function, OverflowError for an infinite result of finite operands.

    - By operands alone where that decides: ``sqrt`` of x >= 0 or NaN, ``log`` of x > 0 or NaN, and
      so on. Such a condition can be tested before the call, and hoisted.
    - For ``pow`` and all functions without a case: an operand is infinite or NaN, or the result is
      finite. Before Python 3.11 ``pow`` of zero and -inf raises, too.

    Comparisons are negated, ``not x < 0`` rather than ``x >= 0``, so that they hold for NaN, for
    which no function raises.
    """
    x = operands[0]
    match op:
        case "sqrt":
            return _negate("lt", x, Const(0.0, "f64"))
        case "log" | "log2" | "log10":
            return _negate("le", x, Const(0.0, "f64"))
        case "log1p":
            return _negate("le", x, Const(-1.0, "f64"))
        case "asin" | "acos":
            return _negate("lt", Const(1.0, "f64"), _magnitude(x))
        case "atanh":
            return _negate("le", Const(1.0, "f64"), _magnitude(x))
        case "acosh":
            return _negate("lt", x, Const(1.0, "f64"))
        case "atan" | "atan2" | "asinh" | "hypot":
            return TRUE
        case "fmod" | "remainder":
            nan_operands = (_compare("ne", e, e) for e in operands)
            return reduce(_or, nan_operands, _compare("eq", result, result))
        case "exp":
            return bool_op(
                "or", _negate("lt", Const(_EXP_LIMIT, "f64"), x), _compare("eq", x, _INF)
            )
        case "sin" | "cos" | "tan":
            return _compare("ne", _magnitude(x), _INF)
        case "pow" if sys.version_info < (3, 11):  # ValueError of 0.0 to the power of -inf, too
            is_zero = _compare("eq", x, Const(0.0, "f64"))
            is_minus_inf = _compare("eq", operands[1], Const(-math.inf, "f64"))
            raises = bool_op("and", is_zero, is_minus_inf)
            return bool_op("and", _is_regular(operands, result), bool_op("not", raises))
        case _:
            return _is_regular(operands, result)


def _is_regular(operands: tuple[Expr, ...], result: Expr) -> Expr:
    """A bool: whether the result is finite, or an operand is not."""
    not_finite = (_negate("lt", _magnitude(e), _INF) for e in operands)
    return reduce(_or, not_finite, _compare("lt", _magnitude(result), _INF))


def _magnitude(x: Expr) -> Expr:
    return Call("abs", (x,), "f64")


def _compare(op: str, a: Expr, b: Expr) -> Expr:
    return Call(op, (a, b), "bool")


def _negate(op: str, a: Expr, b: Expr) -> Expr:
    return bool_op("not", _compare(op, a, b))


_NUMPY_TERM = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}
"""The words of NumPy's messages for the classes of np.errstate."""


def check_warning(b: IRBuilder, cond: Expr, status: str) -> None:
    """Emits a check that adds the condition `status` to the kernel's status where `cond` is false:
    there NumPy would warn of an operation that raises no flag of the processor. The kernel runs on.

        x[i] // y[i]    (NumPy ints)    →    check(y[i] != 0, "divide"); then the division
    """
    cond = holds_on_path(b, cond)
    if cond != TRUE:
        b.emit(Check(cond, status))


class WarningName(NamedTuple):
    """NumPy's name of an operation in its warnings: ``scalar divide`` for an operator of its
    scalars, ``divide`` for the ufunc, which computes elements of arrays.
    """

    ufunc: str
    """The name of the ufunc."""
    of_scalars: bool = True
    """Whether it is the operator of NumPy's scalars."""

    def __str__(self) -> str:
        return f"scalar {self.ufunc}" if self.of_scalars else self.ufunc


def note_warning(
    b: IRBuilder,
    status: str,
    spelled: str | None,
    node: ast.AST,
    raised: Expr,
    *,
    certain: bool = True,
) -> None:
    """Records a source: what NumPy says where the operation `node` raises the floating-point
    condition `status` ("divide", "over", "under", "invalid"). It goes into the plan, with the
    message and the line of the warning; only a recording kernel gets code for it::

        y[i] = a[i] / b[i]    # line 7, status "divide", spelled "divide"
        →  StatusSource("divide", "divide by zero encountered in divide", 7, …)

    At run time `float_errors.judge_status` shows it if the kernel's status has that condition.

    - ``spelled``: NumPy's name of the operation: "scalar divide" for scalars, "divide" for elements
      of arrays. None: NumPy's message depends on more than the operation, so the call is replayed;
    - ``raised``: Loop IR of type bool, whether the operation has raised; only a recording kernel
      evaluates it;
    - ``certain``: whether NumPy warns wherever the processor's flag is raised. If not, a raised
      flag leads to a replay; so it does where `node` is a part of an operation that a macro has
      expanded (`is_operation_part`).

    An operation whose value may be unused (`path.used_where`) is recorded as silent, too: the
    kernel computes it even where Python does not, so its flag alone proves no warning. So is an
    underflow in a loop, where `if_convert` may compute both sides of a branch.
    """
    if b.path.used_where is not None or (status == "under" and b.path.frames):
        b.warnings.silent.append(SilentException(status))
    span = span_of(node)
    message = f"{_NUMPY_TERM[status]} encountered in {spelled}" if spelled else ""
    line = span.line if span else 0
    known = certain and bool(spelled) and not is_operation_part(node)
    b.warnings.sources.append(StatusSource(status, message, line, known, inlined_at(node)))
    if b.warnings.raised_array is not None:
        _record_raised(b, raised)


def with_warnings(
    b: IRBuilder,
    op: str,
    operands: tuple[Expr, ...],
    value: Expr,
    spelled: str | None,
    node: ast.AST,
    statuses: tuple[str, ...] | None = None,
    *,
    certain: bool = True,
) -> Expr:
    """Records sources for `value`, which is `op` on `operands`, and returns it.

    ``statuses``: what it may raise; None: all that the row of `op` lists. The other parameters are
    those of `note_warning`. In a recording kernel, operands and value are bound to names first.
    """
    recording = b.warnings.raised_array is not None
    if recording:
        operands, value = tuple(map(b.bind, operands)), b.bind(value)
    for status in OPS[op].raises if statuses is None else statuses:
        raised = status_raised(status, op, operands, value) if recording else TRUE
        note_warning(b, status, spelled, node, raised, certain=certain)
    return value


def note_speculative(b: IRBuilder, first: int) -> None:
    """Records as silent, too, the sources from number `first` on: their operations are one of
    several versions of an expression, of which the kernel computes all, and the program one. So
    their flags alone prove no warning. `for_each_case` and `in_both_semantics` call it.
    """
    b.warnings.silent += [SilentException(s.status) for s in b.warnings.sources[first:]]


def _record_raised(b: IRBuilder, raised: Expr) -> None:
    """Emits, in a recording kernel, the code that notes when the latest source raises for the first
    time; ``raised``: whether it raises now.

    Element 0 of the array counts the sources that have raised; element k + 1 is that count (from 1)
    when source k first raised, and 0 if it has not raised.
    """
    assert b.warnings.raised_array is not None
    if b.path.used_where is not None:
        raised = bool_op("and", b.path.used_where, raised)
    count, rank = (
        Load(b.warnings.raised_array, (index_const(k),), "i64")
        for k in (0, len(b.warnings.sources))
    )
    is_first = bool_op("and", raised, Call("eq", (rank, index_const(0)), "bool"))
    next_count = Call("add", (count, index_const(1)), "i64")
    stores = (
        Store(b.warnings.raised_array, count.index, next_count),
        Store(b.warnings.raised_array, rank.index, count),
    )
    b.emit(If(is_first, stores))


def note_silent(
    b: IRBuilder, op: str, operands: tuple[Expr, ...], value: Expr, node: ast.AST
) -> None:
    """Records `op` on Python floats, with the result `value`, as silent: Python gives no warning.
    """
    for status in OPS[op].raises:
        raised = status_raised(status, op, operands, value)
        b.warnings.silent.append(SilentException(status, raised, span_of(node)))


def _silence_guard(b: IRBuilder, silent: SilentException) -> Guard | None:
    """The guard that `silent` does not raise; None where that is not known at kernel entry."""
    if silent.raised is None:
        return None
    quiet = b.at_entry(bool_op("not", silent.raised))
    return None if quiet is None else Guard(quiet, "GUARD_FLOAT_STATUS", span=silent.span)


def sources_for_plan(b: IRBuilder, *, rewrites: bool) -> tuple[tuple[StatusSource, ...], bool]:
    """The sources for the call plan, and whether the arrays that the kernel overwrites must be
    copied before the call, because only a replay may tell what NumPy warns of.

    Of a recording kernel, the sources as they are, without copies: it tells which ones have raised.
    Else a source is not ``certain`` if a silent operation may raise the same status. ``rewrites``:
    the kernel overwrites arrays that it reads, so a replay needs the copies. Then a guard
    is added for each silent operation whose operands are known at kernel entry: it raises nothing
    where the guard holds. Not for "under", which no guard excludes (`status_raised`): NumPy ignores
    it by default, and the call makes the copies where it is not ignored
    (`float_errors.errors_or_underflow_observable`).
    """
    if b.warnings.raised_array is not None:
        return tuple(b.warnings.sources), False
    source_statuses = {s.status for s in b.warnings.sources}
    silent = [s for s in b.warnings.silent if s.status in source_statuses]
    uncertain = {s.status for s in silent}
    if rewrites:
        guards = [_silence_guard(b, s) for s in silent]
        b.guards += (g for g in dict.fromkeys(guards) if g is not None and g.cond != TRUE)
        unguarded = (s for s, g in zip(silent, guards, strict=True) if g is None)
        uncertain = {s.status for s in unguarded} | (uncertain & {"under"})
    sources = (
        replace(s, certain=s.certain and s.status not in uncertain) for s in b.warnings.sources
    )
    return tuple(dict.fromkeys(sources)), rewrites and bool(uncertain - {"under"})
