"""A call run both ways, by Python on copies and by machine code, and the two compared."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import combinations
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import FuseError, call_text, place
from ..signature import call_with, parameters, type_of
from ..types import ListType, ObjectType
from ..unwarned import unwarned
from .standin import Values

__all__ = ["alike", "compared", "twins"]

MISMATCH = "VERIFY_MISMATCH"

TOLERANCE = {4: 1e-4, 8: 1e-9}
"""Relative, by bytes of a float: folds may be reassociated, and functions differ by some ULP."""


def compared(function: FunctionType, values: Values, chosen: Callable[..., Any]) -> Any:
    """The result of `chosen` on these values, after the original has run on copies.

    Raises FuseError (VERIFY_MISMATCH) where the results, or the arrays afterwards, differ. Arrays
    that overlap cannot be copied apart; such a call is not compared, nor is one that raises.
    """
    code, copies = function.__code__, twins(values)
    if copies is None:
        return call_with(chosen, code, values)
    try:
        with unwarned():  # the call itself gives them
            wanted = call_with(function, code, copies)
    except Exception:
        return call_with(chosen, code, values)
    got = call_with(chosen, code, values)
    pairs = [("the result", got, wanted)]
    pairs += zip((f"`{name}`" for name in parameters(code)), values, copies, strict=True)
    for what, ours, theirs in pairs:
        if not alike(ours, theirs):
            call = call_text(function, tuple(map(type_of, values)))
            difference = _difference(what, ours, theirs)
            message = f"{MISMATCH} at {place(function)}: {call}: {difference}"
            raise FuseError(message, MISMATCH)
    return got


def _difference(what: str, ours: Any, theirs: Any) -> str:
    """Of arrays of one kind, at the first element that differs."""
    both = isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray)
    if both and ours.shape == theirs.shape and ours.dtype == theirs.dtype:
        pairs = ((at, ours[at], theirs[at]) for at in np.ndindex(ours.shape))
        at, one, other = next(pair for pair in pairs if not alike(*pair[1:]))
        where = f"element {', '.join(map(str, at))} of {what}"
        return f"{where} is {one!r}, but {other!r} as Python"
    return f"{what} is {ours!r}, but {theirs!r} as Python"


def twins(values: Sequence[Any]) -> list[Any] | None:
    """Copies; None where arrays overlap, which copies would not, or objects hold them. An array
    given twice stays one.
    """
    if any(isinstance(type_of(v), ObjectType) for v in values):
        return None
    arrays = {id(v): v for v in values if isinstance(v, np.ndarray)}
    lists: dict[int, Any] = {}
    if any(np.may_share_memory(a, b) for a, b in combinations(arrays.values(), 2)):
        return None
    copies = {key: a.copy(order="K") for key, a in arrays.items()}
    return [
        deepcopy(v, lists) if isinstance(ty, ListType) else copies.get(id(v), v)
        for v, ty in zip(values, map(type_of, values), strict=True)
    ]


def alike(a: Any, b: Any) -> bool:
    """The same types, shapes, integers; floats within the liberties that compiled code has."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, (np.ndarray, np.generic, float)):
        x, y = np.asarray(a), np.asarray(b)
        if x.dtype != y.dtype or x.shape != y.shape:
            return False
        if x.dtype.names:  # bytes between fields may be anything
            return all(alike(x[name], y[name]) for name in x.dtype.names)
        if x.dtype.kind != "f":
            return x.tobytes() == y.tobytes() or bool(np.array_equal(x, y))
        tolerance = TOLERANCE.get(x.itemsize, 0.0)
        return bool(np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True))
    return bool(a is b or a == b)
