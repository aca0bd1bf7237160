"""The rank that a call gives, from the ranks of its arguments."""
from __future__ import annotations

import ast
import math
from collections.abc import Sequence

import numpy as np

__all__ = [
    "RESIZING", "VIEWING", "among", "is_of_numpy", "is_squeezed", "rank_of",
    "rank_of_method", "reshaping",
]

RESIZING = frozenset({"append", "clear", "extend", "insert", "pop", "remove", "resize"})
"""Methods that change how many elements there are."""

VIEWING = frozenset(
    {
        "asarray", "ascontiguousarray", "broadcast_to", "diag", "diagonal", "einsum", "expand_dims",
        "flip", "fliplr", "flipud", "moveaxis", "ravel", "reshape", "squeeze", "swapaxes",
        "transpose",
    }
)
"""Functions and methods that may give a view of their first operand."""

_SHAPED = (np.zeros, np.ones, np.empty, np.full)
_LIKE = (np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copy)
_CONVERT = (np.array, np.asarray, np.ascontiguousarray)
_ELEMENTWISE = (np.where, np.clip, np.round, abs, round, min, max)
_FOLDS = (
    np.sum, np.prod, np.min, np.max, np.any, np.all, np.mean, np.var, np.std, np.ptp, np.median,
    np.argmin, np.argmax, np.count_nonzero, np.linalg.norm, sum, any, all,
)
_LIKE_VECTORS = (np.cumsum, np.cumprod, np.diff, np.sort, np.argsort, np.flip, np.roll, np.gradient)
"""What gives a vector of a vector."""
_SCALAR = (int, float, bool)
_KEEPING = frozenset({"astype", "copy", "conj", "round", "clip"})
_FOLDING = frozenset(
    {"all", "any", "argmax", "argmin", "item", "max", "mean", "min", "prod", "std", "sum", "var"}
)


def is_of_numpy(function: object) -> bool:
    """Whether it is a function or ufunc of NumPy's own."""
    module = getattr(function, "__module__", None) or ""
    return isinstance(function, np.ufunc) or module.partition(".")[0] == "numpy"


def reshaping(
    call: ast.Call, function: object | None
) -> tuple[ast.expr, Sequence[ast.expr]] | None:
    """Of ``x.reshape(n, m)``, ``np.ravel(x)``: the array, and the lengths that it is to have, none
    for ``ravel``, whose elements lie side by side; the function is None where it is a method.
    """
    match call:
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=args) if function is None:
            pass
        case ast.Call(args=[array, *args]) if among(function, (np.reshape, np.ravel)):
            name = getattr(function, "__name__", "")
        case _:
            return None
    if call.keywords or (function is not None and len(args) > 1):
        return None
    match name, args:
        case "ravel", []:
            return array, []
        case "reshape", [ast.Tuple(elts=[_, *_] as elts) | ast.List(elts=[_, *_] as elts)]:
            return array, elts
        case "reshape", [_, *_]:
            return array, args
    return None


def is_squeezed(call: ast.Call, function: object | None) -> bool:
    """Whether it takes axes of one element away, of an array; the function is None where it is a
    method.
    """
    method = isinstance(call.func, ast.Attribute) and call.func.attr == "squeeze"
    return function is np.squeeze or (function is None and method)


def rank_of(function: object, call: ast.Call, ranks: Sequence[int | None]) -> int | None:
    """The rank of ``function(…)``, None where it is not known."""
    if among(function, _SHAPED):
        return _shape_rank(call, ranks)
    if among(function, _LIKE + _CONVERT):
        return ranks[0] if ranks else None
    if among(function, (np.arange, np.linspace)):
        return 1
    if among(function, _LIKE_VECTORS) and ranks[:1] == [1] and not call.keywords:
        return 1
    if among(function, _FOLDS) and ranks == [1] and not call.keywords:
        return 0
    if among(function, _SCALAR) or getattr(function, "__module__", None) == math.__name__:
        return 0 if all(r == 0 for r in ranks) else None
    return _widest(function, call, ranks)


def among(function: object, group: Sequence[object]) -> bool:
    """Whether it is one of `group`; others may have an ``==`` of their own."""
    return any(function is f for f in group)


def _widest(function: object, call: ast.Call, ranks: Sequence[int | None]) -> int | None:
    known = [r for r in ranks if r is not None]
    if not known or len(known) < len(ranks) or call.keywords:
        return None
    if among(function, (min, max)):
        return 0 if len(known) > 1 and not any(known) else None
    if isinstance(function, np.ufunc) or among(function, _ELEMENTWISE):
        return max(known)
    scalar_type = isinstance(function, type) and issubclass(function, np.generic)
    return known[0] if scalar_type and len(known) == 1 else None


def _shape_rank(call: ast.Call, ranks: Sequence[int | None]) -> int | None:
    match call.args[:1]:
        case [ast.Tuple(elts=elts)] | [ast.List(elts=elts)]:
            return len(elts)
        case [_] if ranks[0] == 0:
            return 1
    return None


def rank_of_method(name: str, call: ast.Call, rank: int | None) -> int | None:
    """The rank of ``array.name(…)`` for an array of `rank`."""
    if not rank:
        return None
    if name in _KEEPING:
        return rank
    return 0 if name in _FOLDING and not (call.args or call.keywords) else None
