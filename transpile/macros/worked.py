"""Functions of NumPy as the loops that they are: searched, counted, filled in."""
from __future__ import annotations

import ast

from .arguments import Arguments, arguments
from .between import WAYS as BETWEEN
from .context import Context
from .counting import PAIRS as COUNTING_IN_PAIRS
from .counting import WAYS as COUNTING
from .firing import fires_on, named
from .grids import PAIRS as PLACES_IN_PAIRS
from .grids import WAYS as PLACES
from .middle import WAYS as MIDDLE
from .pairing import PAIRS as PAIRING
from .repeats import WAYS as REPEATS
from .searching import WAYS as SEARCHING
from .searching import Way
from .sliding import PAIRS as SLIDING_IN_PAIRS
from .sliding import WAYS as SLIDING
from .stepwise import WAYS as STEPWISE

__all__ = ["SIGNATURES", "array_paired", "array_worked"]

_WAYS: dict[str, tuple[str, Way]] = {
    **SEARCHING, **BETWEEN, **COUNTING, **PLACES, **SLIDING, **STEPWISE, **MIDDLE,
    **REPEATS,
}
"""By the function: its arguments, and the statements that leave what it gives under a name."""

_PAIRS = {**COUNTING_IN_PAIRS, **PLACES_IN_PAIRS, **PAIRING, **SLIDING_IN_PAIRS}
"""Likewise, under two names."""

_SIGNATURES = {name: names for name, (names, _) in _WAYS.items()}
_OF_PAIRS = {name: names for name, (names, _) in _PAIRS.items()}
SIGNATURES = _SIGNATURES | _OF_PAIRS


@fires_on(ast.Call, calls=named(_SIGNATURES))
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
    given = arguments(node, cx, _SIGNATURES)
    if given is None or not isinstance(node, ast.Call):
        return None
    name = cx.fresh(given.name.rpartition(".")[2])
    cx.steps()
    return cx.made(name, lambda: _WAYS[given.name][1](given, name, node, cx))


@fires_on(ast.Subscript, value=ast.Call, slice=ast.Constant, calls=[divmod, *named(_OF_PAIRS)])
@fires_on(ast.Call, calls=[divmod, *named(_OF_PAIRS)])
def array_paired(node: ast.AST, cx: Context) -> ast.expr | None:
    """Two results, or one of them.

        s, t = np.divmod(s, 2.0)
        y = divmod(x, 3)[1]
    →
        _divmod = np.floor_divide(s, 2.0)
        _divmod_1 = np.remainder(s, 2.0)
        s = _divmod
        t = _divmod_1
        _divmod_2 = np.empty(x.shape[0], np.float64)
        for _i in range(x.shape[0]):
            _divmod_2[_i] = np.floor_divide(x[_i], 3)
        _divmod_3 = np.empty(x.shape[0], np.float64)
        for _i_1 in range(x.shape[0]):
            _divmod_3[_i_1] = np.remainder(x[_i_1], 3)
        y = _divmod_3
    """
    match node:
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=0 | 1 as k)):
            wanted = [0] if k == 0 else [1]
        case ast.Call() as call:
            wanted = [0, 1]
        case _:
            return None
    given = arguments(call, cx, _OF_PAIRS)
    if cx.builtin(call) == "divmod" and len(call.args) == 2:
        given = Arguments("builtins.divmod", dict(zip("ab", call.args, strict=True)))
    if given is None:
        return None
    names = [cx.fresh(given.name.rpartition(".")[2]) for _ in range(2)]
    cx.steps()
    way = _PAIRS[given.name][1]
    lines = cx.whole(lambda: way(given, names, call, cx))
    if lines is None:
        return None
    cx.before(*lines)
    results: list[ast.expr] = [ast.Name(names[k], ast.Load()) for k in wanted]
    return ast.Tuple(results, ast.Load()) if len(results) > 1 else results[0]
