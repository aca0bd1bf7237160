"""Snapshots of arrays that a kernel overwrites, and other run-time helpers of wrappers.

`status_judgement` restores the arguments from a snapshot before Python replays a call.
Small snapshots use a pool of memory that is reused from call to call.
"""
from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any

import numpy as np

__all__ = [
    "Snapshot", "all_distinct", "copy_arrays", "greatest", "least", "any_same_memory",
    "total_bytes", "CopyPool", "CALM_COPY_BYTES",
]

Snapshot = tuple[tuple[np.ndarray, np.ndarray], ...]
"""Arrays that the kernel writes, each with a copy from before the call."""


def any_same_memory(pairs: Iterable[tuple[Any, Any]]) -> bool:
    """Whether the arrays of some pair start at the same address (guards exclude partial overlap).
    """
    arrays = ((a, b) for a, b in pairs if type(a) is type(b) is np.ndarray)
    addresses = ([x.__array_interface__["data"][0] for x in pair] for pair in arrays)
    return any(a == b for a, b in addresses)


def greatest(array: np.ndarray) -> int:
    """The maximum of an integer array, at least 0. Raises TypeError for other dtypes."""
    if array.dtype.kind not in "biu":
        raise TypeError(array.dtype)
    return int(array.max(initial=0))


def least(array: np.ndarray) -> int:
    """The minimum of an integer array, at most 0. Raises TypeError for other dtypes."""
    if array.dtype.kind not in "biu":
        raise TypeError(array.dtype)
    return int(array.min(initial=0))


def all_distinct(lists: Iterable[object]) -> bool:
    """Whether all are different objects."""
    ids = [*map(id, lists)]
    return len({*ids}) == len(ids)


def total_bytes(values: Iterable[Any]) -> int:
    """The bytes of all arrays; other objects count 0."""
    return sum(a.nbytes for a in values if type(a) is np.ndarray)


def copy_arrays(values: Iterable[Any]) -> Snapshot:
    """Copies of all arrays; other objects are skipped, since their methods may have side effects.
    """
    return tuple((a, a.copy()) for a in values if type(a) is np.ndarray)


CALM_COPY_BYTES = 1 << 11
"""The bound on a snapshot on which only the words of a warning depend, once many calls in a row
have raised nothing: copying 32 KiB takes as long as adding a multiple of another array to them.
"""

_MAX_POOL_BYTES = 1 << 24  # larger copies are allocated separately


class CopyPool:
    """Reused memory for snapshots. ``state``: its address, its bytes, whether it is in use, and how
    many calls that were copied for have raised nothing since one has. C reads all four, and sets
    the last two (``copy_buffer`` in values.c).

    The memory at the address in ``state`` is alive at any time, and is not exchanged while it is in
    use: another thread, or a signal handler, may make a call between any two steps in Python.
    """

    def __init__(self) -> None:
        self.state = np.zeros(4, np.int64)
        self._memory = {0: np.empty(0, np.uint8)}  # by address
        self._growing = Lock()

    def copies(self, arrays: tuple[Any, ...]) -> Snapshot:
        """Newly allocated copies, for a call whose arrays did not fit into the pool, or found it in
        use; enlarges the pool for the next call.
        """
        wanted = sum(a.nbytes for a in arrays)
        if self.state[1] < wanted <= _MAX_POOL_BYTES and self._growing.acquire(blocking=False):
            try:
                self._grow(wanted)
            finally:
                self._growing.release()
        return copy_arrays(arrays)

    def _grow(self, wanted: int) -> None:
        """Exchange the memory for `wanted` bytes, unless it is in use."""
        memory = np.empty(wanted, np.uint8)
        address = memory.__array_interface__["data"][0]
        self._memory[address] = memory
        choices = [np.array([address, wanted]), self.state[:2]]
        # one call of a C function, which tests and stores before any other thread can run
        self.state[2:3].choose(choices, out=self.state[:2], mode="clip")
        current = int(self.state[0])
        self._memory = {current: self._memory[current]}

    def pooled_copies(self, arrays: Iterable[np.ndarray]) -> Snapshot:
        """The snapshot in the pool, which is in use: the copies of the arrays, one after another.
        """
        copies, offset, memory = [], 0, self._memory[int(self.state[0])]
        for a in arrays:
            order: Any = "F" if a.flags.fnc else "C"
            copies.append((a, np.ndarray(a.shape, a.dtype, memory, offset, order=order)))
            offset += a.nbytes
        return tuple(copies)
