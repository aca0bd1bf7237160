"""Floating-point exceptions: where an operation raises, and which warnings NumPy would give.

`status_raised` tells it from operands and result, `in_domain` from the operands of a `math`
function; `WarningSources` keeps the account of the operations that may warn.
"""
from __future__ import annotations

import ast
import math
from dataclasses import replace
from functools import reduce

from loopir.algebra.constant_folding import index_const
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Check, Const, Expr, Guard, If, Load, Store
from loopir.op_table import OPS

from ...call_plan import StatusSource
from ...frontend.core_nodes import inlined_at, is_step
from ...frontend.source import span_of
from ...types.typed_values import FALSE, TRUE, bool_op
from .ir_builder import IRBuilder, SilentException
from .path_conditions import holds_on_path

__all__ = [
    "check_warning", "in_domain", "known_sources", "note_in_vain", "note_silent", "note_warning",
    "status_raised", "with_warnings",
]

_DIVISIONS = ("div", "floordiv", "mod")


def status_raised(status: str, op: str, operands: tuple[Expr, ...], value: Expr) -> Expr:
    """Whether `op` on `operands`, which gave `value`, raised the class `status` of np.errstate.

    A NaN out of none is invalid, an infinity out of numbers an overflow or, at a pole, a division.
    Underflow leaves no trace.
    """
    match status:
        case "invalid":
            none = (bool_op("not", _float_test("isnan", x)) for x in operands)
            return reduce(_and, none, _float_test("isnan", value))
        case "divide":
            return bool_op("and", _made_infinite(value, operands), _at_pole(op, operands))
        case "over":
            return bool_op(
                "and", _made_infinite(value, operands), bool_op("not", _at_pole(op, operands))
            )
        case _:
            return FALSE


def _made_infinite(value: Expr, operands: tuple[Expr, ...]) -> Expr:
    return reduce(_and, (_float_test("isfinite", x) for x in operands), _float_test("isinf", value))


def _at_pole(op: str, operands: tuple[Expr, ...]) -> Expr:
    """Where `op` would be infinite without limits to its numbers."""
    zero = Call("eq", (operands[-1], Const(0.0, operands[-1].dtype)), "bool")
    if op in _DIVISIONS:
        return zero
    if op == "pow":
        return Call("eq", (operands[0], Const(0.0, operands[0].dtype)), "bool")
    return TRUE if "divide" in OPS[op].raises else FALSE


def _float_test(kind: str, x: Expr) -> Expr:
    if DTYPES[x.dtype].kind != "f":
        return TRUE if kind == "isfinite" else FALSE
    return Call(kind, (x,), "bool")


def _and(a: Expr, b: Expr) -> Expr:
    return bool_op("and", a, b)


_EXP_LIMIT = 709.78  # a little below the first number whose power overflows
_INF = Const(math.inf, "f64")


def in_domain(op: str, operands: tuple[Expr, ...], result: Expr) -> Expr:
    """What holds where `op` does not raise: tested ahead, not read off the flags after the loop.

    For ``pow`` and what is made of products: that a finite result comes of finite operands.
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
        case "fmod":
            special = (_compare("ne", e, e) for e in operands)
            return reduce(lambda a, b: bool_op("or", a, b), special, _compare("eq", result, result))
        case "exp":
            return bool_op(
                "or", _negate("lt", Const(_EXP_LIMIT, "f64"), x), _compare("eq", x, _INF)
            )
        case "sin" | "cos" | "tan":
            return _compare("ne", _magnitude(x), _INF)
        case _:
            infinite = (_negate("lt", _magnitude(e), _INF) for e in operands)
            return reduce(
                lambda a, b: bool_op("or", a, b), infinite, _compare("lt", _magnitude(result), _INF)
            )


def _magnitude(x: Expr) -> Expr:
    return Call("abs", (x,), "f64")


def _compare(op: str, a: Expr, b: Expr) -> Expr:
    return Call(op, (a, b), "bool")


def _negate(op: str, a: Expr, b: Expr) -> Expr:
    return bool_op("not", _compare(op, a, b))


_CLASS = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}


def check_warning(b: IRBuilder, cond: Expr, status: str) -> None:
    """Where `cond` fails NumPy would warn: `status` is a class of np.errstate."""
    cond = holds_on_path(b, cond)
    if cond != TRUE:
        b.emit(Check(cond, status))


def note_warning(
    b: IRBuilder,
    status: str,
    spelled: str | None,
    node: ast.AST,
    raised: Expr,
    *,
    certain: bool = True,
) -> None:
    """Notes that NumPy may warn, under its name for an operation; None: only Python knows how.

    ``raised`` tells whether it does; where the value may not matter, it is computed anyway.
    """
    if b.path.condition is not None:
        b.warnings.silent.append(SilentException(status))
    place = span_of(node)
    message = f"{_CLASS[status]} encountered in {spelled}" if spelled else ""
    line = place.line if place else 0
    known = certain and bool(spelled) and not is_step(node)
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
    """`value`, which is `op` on the operands and may warn: of all that `op` may, by default."""
    recording = b.warnings.raised_array is not None
    if recording:
        operands, value = tuple(map(b.bind, operands)), b.bind(value)
    for status in OPS[op].raises if statuses is None else statuses:
        by = status_raised(status, op, operands, value) if recording else TRUE
        note_warning(b, status, spelled, node, by, certain=certain)
    return value


def note_in_vain(b: IRBuilder, before: int) -> None:
    """Note that the sources from number `before` on are computed even where their values are not
    used: the flags that they raise may then belong to no operation of the program.
    """
    b.warnings.silent += [SilentException(s.status) for s in b.warnings.sources[before:]]


def _record_raised(b: IRBuilder, raised: Expr) -> None:
    """Where the latest source raises for the first time, record its rank.

    Element k + 1 of the array is the rank (from 1) at which source k first raised, 0 if it did not.
    """
    assert b.warnings.raised_array is not None
    if b.path.condition is not None:
        raised = bool_op("and", b.path.condition, raised)
    count, mine = (
        Load(b.warnings.raised_array, (index_const(k),), "i64")
        for k in (0, len(b.warnings.sources))
    )
    first = bool_op("and", raised, Call("eq", (mine, index_const(0)), "bool"))
    more = Call("add", (count, index_const(1)), "i64")
    both = (
        Store(b.warnings.raised_array, count.index, more),
        Store(b.warnings.raised_array, mine.index, count),
    )
    b.emit(If(first, both))


def note_silent(
    b: IRBuilder, op: str, operands: tuple[Expr, ...], value: Expr, node: ast.AST
) -> None:
    """Notes that `op` of Python's floats, which gave `value`, warns of nothing it may raise."""
    for status in OPS[op].raises:
        raised = status_raised(status, op, operands, value)
        b.warnings.silent.append(SilentException(status, raised, span_of(node)))


def _silence_guard(b: IRBuilder, silent: SilentException) -> Guard | None:
    """The guard that `silent` does not raise; None where the arguments do not tell."""
    if silent.raised is None:
        return None
    quiet = b.foreseen(bool_op("not", silent.raised))
    return None if quiet is None else Guard(quiet, "GUARD_FLOAT_STATUS", span=silent.span)


def known_sources(b: IRBuilder, *, rewrites: bool) -> tuple[tuple[StatusSource, ...], bool]:
    """The sources, as far as the status word tells them; and whether Python, where it does not,
    needs what a kernel that ``rewrites`` what it reads has overwritten.

    Such a kernel does not start where it can be foreseen that something raises in silence.
    """
    if b.warnings.raised_array is not None:
        return tuple(b.warnings.sources), False
    classes = {s.status for s in b.warnings.sources}
    silent = [s for s in b.warnings.silent if s.status in classes]
    mute = {s.status for s in silent}
    if rewrites:
        guards = [_silence_guard(b, s) for s in silent]
        b.guards += (g for g in dict.fromkeys(guards) if g is not None and g.cond != TRUE)
        mute = {s.status for s, g in zip(silent, guards, strict=True) if g is None}
    known = (replace(s, certain=s.certain and s.status not in mute) for s in b.warnings.sources)
    return tuple(dict.fromkeys(known)), rewrites and bool(mute - {"under"})
