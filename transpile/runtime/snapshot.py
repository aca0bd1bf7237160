"""Snapshots of arrays that a kernel overwrites, and other run-time helpers of wrappers.

A snapshot restores the arguments before Python replays a call. Small snapshots come from a
pool of memory that is kept from call to call.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    "INITIAL_CAPACITY", "Snapshot", "all_distinct", "copy_arrays", "greatest", "least",
    "grow_capacity", "any_same_memory", "total_bytes", "CopyPool",
]

Snapshot = tuple[tuple[np.ndarray, np.ndarray], ...]
"""Arrays that the kernel writes, each with a copy made before."""


def any_same_memory(pairs: Iterable[tuple[Any, Any]]) -> bool:
    """Whether two arrays of a pair are one: the kernel sees to it that others share nothing."""
    arrays = ((a, b) for a, b in pairs if type(a) is type(b) is np.ndarray)
    places = ([x.__array_interface__["data"][0] for x in pair] for pair in arrays)
    return any(a == b for a, b in places)


INITIAL_CAPACITY, MAX_CAPACITY = 1 << 12, 1 << 28
"""Items that lists have room for at first, and at most."""


def grow_capacity(status: int, short: np.ndarray, room: list[int]) -> bool:
    """Whether a kernel had too little room for its lists, and there is more from now on."""
    wanted = 0 < status < 1 << 8 and bool(short) and room[0] < MAX_CAPACITY
    if wanted:
        room[0] *= 8
    return wanted


def greatest(array: np.ndarray) -> int:
    """The greatest element of ints, or 0 where that is less. Raises TypeError of others."""
    if array.dtype.kind not in "biu":
        raise TypeError(array.dtype)
    return int(array.max(initial=0))


def least(array: np.ndarray) -> int:
    """The least element of ints, or 0 where that is more. Raises TypeError of others."""
    if array.dtype.kind not in "biu":
        raise TypeError(array.dtype)
    return int(array.min(initial=0))


def all_distinct(lists: Iterable[object]) -> bool:
    """Whether each is another object."""
    ids = [*map(id, lists)]
    return len({*ids}) == len(ids)


def total_bytes(given: Iterable[Any]) -> int:
    """Bytes of the items of arrays; of what is none, as for `copy_arrays`, none."""
    return sum(a.nbytes for a in given if type(a) is np.ndarray)


def copy_arrays(given: Iterable[Any]) -> Snapshot:
    """Of arrays; what is none has not been turned down yet, and its methods may do anything."""
    return tuple((a, a.copy()) for a in given if type(a) is np.ndarray)


_MAX_POOL_BYTES = 1 << 24  # bytes; copies that are larger have memory of their own


class CopyPool:
    """``state``: its address, its bytes, and whether a call has put copies there."""

    def __init__(self) -> None:
        self.state = np.zeros(3, np.int64)
        self._room = np.empty(0, np.uint8)

    def copies(self, arrays: tuple[Any, ...]) -> Snapshot:
        """Copies for a call that finds no room; the next finds it."""
        wanted = sum(a.nbytes for a in arrays)
        if self.state[1] < wanted <= _MAX_POOL_BYTES and not self.state[2]:
            self._room = np.empty(wanted, np.uint8)
            self.state[:2] = self._room.__array_interface__["data"][0], wanted
        return copy_arrays(arrays)

    def found(self, arrays: Iterable[np.ndarray]) -> Snapshot:
        """What was put there: each of the arrays as it was, one after another."""
        out, at = [], 0
        for a in arrays:
            order: Any = "C" if a.flags.c_contiguous else "F"
            out.append((a, np.ndarray(a.shape, a.dtype, self._room, at, order=order)))
            at += a.nbytes
        return tuple(out)
