"""``np.zeros`` and its kin inside a loop or branch → one array, filled anew each time."""
from __future__ import annotations

import ast
import math
from functools import partial
from typing import Any

import numpy as np

from .context import Context
from .firing import fires_on
from .integers import integer_constant
from .nests import allocated, nest
from .views import element, leaf, scalar

__all__ = ["array_filled"]

_VALUES: dict[Any, float | None] = {
    np.zeros: 0, np.zeros_like: 0, np.ones: 1, np.ones_like: 1, np.full: None, np.full_like: None,
    np.empty: None, np.empty_like: None,
}
"""What an array is filled with; None: with the second argument, or nothing."""

_EMPTY = (np.empty, np.empty_like)
_BLANK = (*_EMPTY, np.zeros, np.zeros_like)

SMALL = 16
"""Elements of an array that may live in registers."""

_LIKE = (np.zeros_like, np.ones_like, np.full_like, np.empty_like)


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=_VALUES)
@fires_on(ast.Call, calls=_VALUES)
def array_filled(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """What is empty or zero stays what it is outside loops and branches, unless it is small.

        for i in range(n):
            u = np.full(n, 0.5)
            y[i] = u[i]
    →
        for i in range(n):
            u = np.empty(n, np.float64)
            for _i in range(n):
                u[_i] = 0.5
            y[i] = u[i]
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if (
            any(cx.resolve(call.func) is f for f in _VALUES) and not _is_plain(call, cx)
            and (of := _given(call)) is not None
            and (cx.depth or _is_small(call, of, cx) or not _is_blank(call, cx))
        ):
            return cx.whole(lambda: _filled(name, call, of, cx))
        case ast.Call() as call if (
            any(cx.resolve(call.func) is f for f in _VALUES) and not _is_blank(call, cx)
            and (like := _given(call)) is not None
        ):
            return cx.made(made := cx.fresh("full"), partial(_filled, made, call, like, cx))
    return None


def _is_blank(call: ast.Call, cx: Context) -> bool:
    """Whether nothing is filled, or it is with what new memory holds."""
    return any(cx.resolve(call.func) is f for f in _BLANK)


def _is_plain(call: ast.Call, cx: Context) -> bool:
    """Whether it is as it is to be: ``np.empty(n, np.float64)``."""
    return cx.resolve(call.func) is np.empty and not call.keywords


def _given(call: ast.Call) -> ast.expr | None:
    """The lengths, or the array that it is to be like."""
    named = (k.value for k in call.keywords if k.arg in ("shape", "a", "prototype"))
    return call.args[0] if call.args else next(named, None)


def _fill(call: ast.Call) -> list[ast.expr]:
    """What comes after the lengths, or the array."""
    given = [k.value for k in call.keywords if k.arg == "fill_value"]
    place = 0 if any(k.arg in ("shape", "a", "prototype") for k in call.keywords) else 1
    return [*call.args[place : place + 1], *given][:1]


def _is_small(call: ast.Call, of: ast.expr, cx: Context) -> bool:
    """Whether it may live in registers."""
    function = cx.resolve(call.func)
    if any(function is f for f in (*_LIKE, *_EMPTY)):
        return False
    shape = _shape(function, of, cx)
    lengths = [integer_constant(n, None) for n in shape or [None]]
    return math.prod(n if n and n > 0 else SMALL + 1 for n in lengths) <= SMALL


def _filled(name: str, call: ast.Call, of: ast.expr, cx: Context) -> list[ast.stmt] | None:
    fact, function = cx.fact(call), cx.resolve(call.func)
    value, empty = _VALUES[function], any(function is f for f in _EMPTY)
    fill = _fill(call) if value is None else [ast.Constant(value)]
    shape = _shape(function, of, cx)
    if fact.array is None or fact.order != "C" or shape is None or not (fill or empty):
        return None
    lines = [allocated(name, shape, fact.array.dtype, cx)]
    if empty:
        return lines
    each = scalar(fill[0], cx).at(())

    def body(at: Any) -> list[ast.stmt]:
        place = element(ast.Name(name, ast.Load()), at, cx)
        return cx.code("PLACE = E", PLACE=place, E=each)

    return lines + nest(shape, body, cx)


def _shape(function: Any, given: ast.expr, cx: Context) -> tuple[ast.expr, ...] | None:
    if function in _LIKE:
        known = isinstance(given, ast.Name) and cx.fact(given).array
        return leaf(given, cx).shape if known else None
    if isinstance(given, ast.Attribute) and given.attr == "shape" and cx.fact(given.value).rank:
        return leaf(given.value, cx).shape if isinstance(given.value, ast.Name) else None
    lengths = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
    return tuple(lengths) if lengths and all(cx.fact(n).is_int for n in lengths) else None
