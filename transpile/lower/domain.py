"""Where a function of Python's floats has a value: elsewhere it raises, and NumPy's would warn."""
from __future__ import annotations

import math
from functools import reduce

from loopir.nodes import Call, Const, Expr

from ..infer import TRUE, logic

__all__ = ["defined"]

_EXP_LIMIT = 709.78  # a little below the first number whose power overflows

_INF = Const(math.inf, "f64")


def defined(op: str, operands: tuple[Expr, ...], result: Expr) -> Expr:
    """What holds where `op` does not raise: tested ahead, not read off the flags after the loop.

    For ``pow`` and what is made of products: that a finite result comes of finite operands.
    """
    x = operands[0]
    match op:
        case "sqrt":
            return _not("lt", x, Const(0.0, "f64"))
        case "log" | "log2" | "log10":
            return _not("le", x, Const(0.0, "f64"))
        case "log1p":
            return _not("le", x, Const(-1.0, "f64"))
        case "asin" | "acos":
            return _not("lt", Const(1.0, "f64"), _size(x))
        case "atanh":
            return _not("le", Const(1.0, "f64"), _size(x))
        case "acosh":
            return _not("lt", x, Const(1.0, "f64"))
        case "atan" | "atan2" | "asinh" | "hypot":
            return TRUE
        case "fmod":
            special = (_is("ne", e, e) for e in operands)
            return reduce(lambda a, b: logic("or", a, b), special, _is("eq", result, result))
        case "exp":
            return logic("or", _not("lt", Const(_EXP_LIMIT, "f64"), x), _is("eq", x, _INF))
        case "sin" | "cos" | "tan":
            return _is("ne", _size(x), _INF)
        case _:
            infinite = (_not("lt", _size(e), _INF) for e in operands)
            return reduce(lambda a, b: logic("or", a, b), infinite, _is("lt", _size(result), _INF))


def _size(x: Expr) -> Expr:
    return Call("abs", (x,), "f64")


def _is(op: str, a: Expr, b: Expr) -> Expr:
    return Call(op, (a, b), "bool")


def _not(op: str, a: Expr, b: Expr) -> Expr:
    return logic("not", _is(op, a, b))
