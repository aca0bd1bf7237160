"""Whether two ways of running a function agree: results, types, exceptions, mutated arguments."""
from __future__ import annotations

import copy
import math
import random
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Outcome", "assert_same", "copied", "outcome", "same"]

_NUMBERS = {int, float, bool}
_LONG = 16
"""From so many elements on, lists of numbers are handled as a whole."""


class Outcome(NamedTuple):
    """What a call gave: its value or exception, and what its arguments are afterwards."""

    value: Any
    error: tuple[type, str] | None
    arguments: tuple[Any, ...]


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A deep copy, in which what is shared stays shared: also the memory of views, which keep their
    strides.
    """
    lists = (a for a in args if type(a) is list and len(a) > _LONG)
    known: dict[int, Any] = {id(a): a[:] for a in lists if {*map(type, a)} <= _NUMBERS}
    owners: dict[int, Any] = {}
    for a in args:
        if type(a) is np.ndarray and (copy_of_view := _copied_view(a, owners)) is not None:
            known[id(a)] = copy_of_view
    known |= {number: own for number, (_, own) in owners.items()}
    return copy.deepcopy(args, known)


class _Memory:
    """What NumPy makes a view of ``owner`` of."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def _copied_view(a: Any, owners: dict[int, Any]) -> Any:
    """A view like `a`, of a copy of the array whose memory it is of; None if it is no view, or of
    other memory. ``owners``: by their ids, the arrays of memory, and their copies.
    """
    owner = a
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner is a or type(owner) is not np.ndarray or not owner.flags.forc or owner.dtype.hasobject:
        return None
    _, own = owners.setdefault(id(owner), (owner, owner.copy("K")))
    interface = dict(a.__array_interface__)
    address = interface["data"][0] - owner.ctypes.data + own.ctypes.data
    interface |= {"data": (address, not a.flags.writeable), "strides": a.strides}
    return np.asarray(_Memory(own, interface)).view(a.dtype)


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    """`fn` called on a deep copy of `args`, in which what is shared stays shared."""
    own = copied(args)
    value, error = None, None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = fn(*own)
        except Exception as e:
            error = type(e), str(e)
    return Outcome(_which_argument(value, own), error, own)


def _which_argument(value: Any, args: tuple[Any, ...]) -> Any:
    """An argument that is handed back, by its place."""
    for k, a in enumerate(args):
        if value is a and not isinstance(a, (int, float, complex, str, np.generic)):
            return f"argument {k}"
    return tuple(_which_argument(v, args) for v in value) if type(value) is tuple else value


def same(a: Any, b: Any, ulps: float = 0) -> bool:
    """The same type and bits, NaNs of any kind alike; floats within `ulps` of each other."""
    if type(a) is not type(b):
        return False
    if isinstance(a, set):
        return same([*a], [*b], ulps)  # in the order in which they give their members
    if isinstance(a, dict):
        if getattr(a, "default_factory", None) is not getattr(b, "default_factory", None):
            return False
        return same([*a.items()], [*b.items()], ulps)
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return False
        if len(a) > _LONG and len(types := {*map(type, a), *map(type, b)}) == 1:
            if types == {float}:
                return _same_bits(a, b, ulps)
            if types <= _NUMBERS:
                return [*a] == [*b]
        return all(same(x, y, ulps) for x, y in zip(a, b, strict=True))
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and _same_bits(a, b, ulps)
    if isinstance(a, (float, complex)):
        if type(a) is float and a == b and math.copysign(1, a) == math.copysign(1, b):
            return True
        return _same_bits(a, b, ulps)
    if isinstance(a, (random.Random, np.random.RandomState, np.random.Generator)):
        return same(_drawn(a), _drawn(b), ulps)
    if hasattr(a, "__dict__") and not isinstance(a, type):
        return same([*vars(a).items()], [*vars(b).items()], ulps)
    return bool(a == b)


def _drawn(generator: Any) -> list[float]:
    """What a copy of it draws next."""
    own = copy.deepcopy(generator)
    return [own.random(), own.gauss(0, 1) if isinstance(own, random.Random) else own.normal()]


def _same_bits(a: Any, b: Any, ulps: float) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.names:
        return all(_same_bits(x[name], y[name], ulps) for name in x.dtype.names)
    if x.dtype.kind == "c":
        return _same_bits(x.real, y.real, ulps) and _same_bits(x.imag, y.imag, ulps)
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    nan = np.isnan(x)
    if not np.array_equal(nan, np.isnan(y)):
        return False
    if ulps:
        near = np.isclose(x, y, rtol=ulps * np.finfo(x.dtype).eps, atol=0, equal_nan=True)
        return bool(near.all())
    return bool(np.array_equal(x[~nan], y[~nan])) and bool(
        np.array_equal(np.signbit(x[~nan]), np.signbit(y[~nan]))
    )


def assert_same(got: Outcome, wanted: Outcome, what: str, ulps: float = 0) -> None:
    """`got` is `wanted`, or an assertion that shows both."""
    assert got.error == wanted.error, f"{what}: raised {got.error}, not {wanted.error}"
    assert same(got.value, wanted.value, ulps), f"{what}: {got.value!r}, not {wanted.value!r}"
    assert same(got.arguments, wanted.arguments, ulps), (
        f"{what}: leaves {got.arguments!r}, not {wanted.arguments!r}"
    )
