"""Functions of NumPy as the loops that they are: searched, counted, filled in."""
from __future__ import annotations

import ast

from .arguments import arguments
from .between import WAYS as BETWEEN
from .context import Context
from .searching import WAYS as SEARCHING
from .searching import Way

__all__ = ["SIGNATURES", "array_worked"]

_WAYS: dict[str, tuple[str, Way]] = {**SEARCHING, **BETWEEN}
"""By the function: its arguments, and the statements that leave what it gives under a name."""

SIGNATURES = {name: names for name, (names, _) in _WAYS.items()}


def array_worked(node: ast.AST, cx: Context) -> ast.expr | None:
    """The loops of NumPy itself.

        i = np.searchsorted(x, s)
    →
        _lo = 0
        _hi = x.shape[0]
        _key = np.float64(s)
        while _lo < _hi:
            _mid = _lo + (_hi - _lo >> 1)
            if x[_mid] < _key or (_key != _key and x[_mid] == x[_mid]):
                _lo = _mid + 1
            else:
                _hi = _mid
        _searchsorted = np.int64(_hi)
        i = _searchsorted
    """
    given = arguments(node, cx, SIGNATURES)
    if given is None or not isinstance(node, ast.Call):
        return None
    name = cx.fresh(given.name)
    return cx.made(name, lambda: _WAYS[given.name][1](given, name, node, cx))
