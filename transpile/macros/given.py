"""Displays in the place of arrays: ``np.convolve(x, [1, 0, -1])``, ``np.max([s, t])``."""
from __future__ import annotations

import ast

import numpy as np

from .arguments import function_named
from .context import Context
from .firing import UFUNC, fires_on, named

__all__ = ["display_given"]

_FOLDS = """
    all amax amin any argmax argmin average count_nonzero cumprod cumsum diff ediff1d linalg.norm
    max mean min nanmax nanmean nanmin nansum prod ptp std sum var
"""
_OF_TWO = """
    convolve correlate cross digitize dot inner kron outer searchsorted take trapezoid vdot
"""
_TAKING = {
    **dict.fromkeys(_FOLDS.split(), 1), **dict.fromkeys(_OF_TWO.split(), 2), "interp": 3,
    "where": 3,
}
"""So many of the first arguments are arrays."""

_METHODS = {"convolve", "dot", "searchsorted", "take"}


@fires_on(ast.Call, calls=[UFUNC, *named(_METHODS), *named(_TAKING)])
@fires_on(ast.BinOp, left=(ast.List, ast.Tuple))
@fires_on(ast.BinOp, right=(ast.List, ast.Tuple))
def display_given(node: ast.AST, cx: Context) -> ast.expr | None:
    """An array is made of it, which NumPy does as well.

        s = np.max([s, t])
        y = np.take(x, [0, 2])
    →
        _a = np.empty(2, np.float64)
        _a[0] = s
        _a[1] = t
        _max = _a[0]
        for _i in range(2):
            _max = np.maximum(_max, _a[_i])
        s = _max
        _a_2 = np.empty(2, np.int64)
        _a_2[0] = 0
        _a_2[1] = 2
        _a_1 = np.empty(2, np.float64)
        for _i_1 in range(2):
            _a_1[_i_1] = x[_a_2[_i_1]]
        y = _a_1
    """
    match node:
        case ast.Call(args=args) if any(map(_is_display, args[: _arrays(node, cx)])):
            last = _arrays(node, cx)
            new = [_array(e, cx) if k < last else e for k, e in enumerate(args)]
            call = ast.Call(node.func, new, node.keywords)
            return ast.copy_location(call, node) if new != args else None
        case ast.BinOp(left=left, op=op, right=right) if _is_display(left) or _is_display(right):
            if not (cx.fact(left).array or cx.fact(right).array):
                return None
            sides = _array(left, cx), _array(right, cx)
            new_op = ast.copy_location(ast.BinOp(sides[0], op, sides[1]), node)
            return new_op if sides != (left, right) else None
    return None


def _arrays(call: ast.Call, cx: Context) -> int:
    """How many of the arguments are arrays."""
    name, function = function_named(call.func, cx), cx.resolve(call.func)
    if isinstance(function, np.ufunc):
        return function.nin
    if not name and isinstance(call.func, ast.Attribute) and function is None:
        of = cx.fact(call.func.value).array if call.func.attr in _METHODS else None
        return 1 if of is not None else 0
    return _TAKING.get(name, 0)


def _is_display(e: ast.expr) -> bool:
    return isinstance(e, (ast.List, ast.Tuple)) and bool(e.elts)


def _array(e: ast.expr, cx: Context) -> ast.expr:
    """What NumPy makes of `e`, if that is known."""
    made = cx.expr("NP.array(E)", NP=cx.numpy, E=e) if _is_display(e) else e
    return made if cx.fact(made).array is not None else e
