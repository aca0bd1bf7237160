"""Whether a floating-point operation has raised, told from its operands and its value."""
from __future__ import annotations

from functools import reduce

from loopir.nodes import Call, Const, Expr
from loopir.ops import OPS
from loopir.types import DTYPES

from ..infer import FALSE, TRUE, logic

__all__ = ["raised"]

_DIVISIONS = ("div", "floordiv", "mod")


def raised(status: str, op: str, operands: tuple[Expr, ...], value: Expr) -> Expr:
    """Whether `op` on `operands`, which gave `value`, raised the class `status` of np.errstate.

    A NaN out of none is invalid, an infinity out of numbers an overflow or, at a pole, a division.
    Underflow leaves no trace.
    """
    match status:
        case "invalid":
            none = (logic("not", _is("isnan", x)) for x in operands)
            return reduce(_both, none, _is("isnan", value))
        case "divide":
            return logic("and", _infinite(value, operands), _at_pole(op, operands))
        case "over":
            return logic("and", _infinite(value, operands), logic("not", _at_pole(op, operands)))
        case _:
            return FALSE


def _infinite(value: Expr, operands: tuple[Expr, ...]) -> Expr:
    return reduce(_both, (_is("isfinite", x) for x in operands), _is("isinf", value))


def _at_pole(op: str, operands: tuple[Expr, ...]) -> Expr:
    """Where `op` would be infinite without limits to its numbers."""
    zero = Call("eq", (operands[-1], Const(0.0, operands[-1].dtype)), "bool")
    if op in _DIVISIONS:
        return zero
    if op == "pow":
        return Call("eq", (operands[0], Const(0.0, operands[0].dtype)), "bool")
    return TRUE if "divide" in OPS[op].raises else FALSE


def _is(kind: str, x: Expr) -> Expr:
    if DTYPES[x.dtype].kind != "f":
        return TRUE if kind == "isfinite" else FALSE
    return Call(kind, (x,), "bool")


def _both(a: Expr, b: Expr) -> Expr:
    return logic("and", a, b)
