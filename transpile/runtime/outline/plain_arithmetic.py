"""Plain arithmetic: code whose floats have the same bits in compiled code, whatever its types.

Compiled code has other bits than Python where it adds floats in another order, and where it calls
another implementation of `exp`, `pow` or a NumPy function. The first can be forbidden
(``reassociate=False``); the second shows in the source. So code that calls no such functions, and
is compiled in Python's order, may be run compiled or as Python, and each call has one answer.
"""
from __future__ import annotations

import ast
import math
from collections import deque
from collections.abc import Callable, Iterable

from ...frontend.ast_walk import walk_nodes

__all__ = ["is_plain_arithmetic"]

_EXACT_FUNCTIONS = (
    math.sqrt, math.fabs, math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite,
    math.copysign, math.gcd, math.isqrt, math.fmod, math.degrees, math.radians,
)
"""Functions of `math` that every implementation rounds in the same way."""

_BUILTINS = (
    abs, all, any, bool, bytes, chr, dict, divmod, enumerate, filter, float, frozenset, int,
    isinstance, len, list, map, max, min, ord, range, repr, reversed, round, set, slice, sorted,
    str, sum, tuple, type, zip,
)
"""Builtins whose floats have the same bits in compiled code; those of ``pow`` may differ."""

_METHODS = frozenset(
    name for kind in (str, bytes, list, tuple, dict, set, deque) for name in dir(kind)
    if not name.startswith("_")
)
"""Methods of Python's containers and strs. Arrays have some of the same name, such as ``copy`` and
``sort``, but these compute no floats.
"""


def is_plain_arithmetic(
    statements: Iterable[ast.stmt], resolve: Callable[[ast.expr], object]
) -> bool:
    """Whether the floats of `statements` have Python's bits in compiled code that keeps the order
    of sums, for any types of their names, so that Python may run them instead::

        s += math.sqrt(v) * 2      →   True      # IEEE 754 says how these are rounded
        s += math.exp(v)           →   False     # vector code and the C library round otherwise

    Allowed are all operators but ``**`` and ``@``, and calls of `_EXACT_FUNCTIONS`, of `_BUILTINS`
    (``pow`` is none of them), of classes of exceptions, and of methods of Python's containers.
    `plan_outlining` asks this of each region. ``resolve``: the object that an expression is bound
    to, None if it is unknown.
    """
    for n in walk_nodes(*statements):
        match n:
            case ast.BinOp(op=operator) | ast.AugAssign(op=operator):
                if isinstance(operator, (ast.Pow, ast.MatMult)):
                    return False
            case ast.Call(func=function):
                if not _is_exact_function(function, resolve):
                    return False
    return True


def _is_exact_function(function: ast.expr, resolve: Callable[[ast.expr], object]) -> bool:
    """Whether a call of `function` gives floats the same bits in compiled code as in Python."""
    known = resolve(function)
    if known is not None:
        is_exception = isinstance(known, type) and issubclass(known, BaseException)
        return is_exception or any(known is f for f in (*_EXACT_FUNCTIONS, *_BUILTINS))
    return isinstance(function, ast.Attribute) and function.attr in _METHODS
