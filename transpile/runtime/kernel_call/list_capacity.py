"""List capacity: room for lists and arrays of unknown length, found by repeated calls.

A list that is read while it grows (`lower.lists.dynamic_lists`), and an array for whose length no
bound is known (`lower.arrays.capacity_bounds.UNKNOWN_CAPACITY`), are allocated with a capacity that
is tried. In lowering it is a `HostCapacity`; in the wrapper, the item of the list ``_tp_room``::

    kernel: a push finds no room, sets the result slot `short`, and a check fails
    wrapper: grow_capacity(status, short, capacity) multiplies the capacity by 8
             True: the wrapper makes the same call again; False: Python replays it

The capacity is kept: later calls start with what the largest one so far needed. A call in C reads
it, too; if a check fails there, it hands the call to the wrapper, which asks `grow_capacity`.
"""
from __future__ import annotations

import numpy as np

from loopir.status_bits import FIRST_GUARD_STATUS

__all__ = ["INITIAL_CAPACITY", "MAX_CAPACITY", "grow_capacity", "new_capacity"]

INITIAL_CAPACITY = 1 << 12
"""The capacity that is tried first, in items: 32 KiB of float64s, enough for most lists. One that
is too small costs a repeated call (`grow_capacity`).
"""

MAX_CAPACITY = 1 << 28
"""The capacity from which on it is not increased: Python replays the call."""

_GROWTH = 8
"""The factor by which it is increased. An attempt that fails is lost work; with 8, all of them
together are at most 1/7 of the last one's.
"""


def new_capacity() -> np.ndarray:
    """The capacity of a kernel that has not run yet: an array of one int64, which C reads."""
    return np.array([INITIAL_CAPACITY], np.int64)


def grow_capacity(status: int, short: np.ndarray, capacity: np.ndarray) -> bool:
    """If a kernel ran out of capacity, increase it; returns whether to call the kernel again. The
    wrapper of a function with such lists asks before it lets Python replay a call.

        status 80 (checks of bounds failed), short True, capacity [4096]  →  True, capacity [32768]

    ``status``: what the kernel returned (`status_bits.FIRST_GUARD_STATUS` has the bits); ``short``:
    the result slot in which it reports that the capacity was too small; ``capacity``: an array of
    one item, which is changed. False, and Python replays the call, if

    - the kernel did not run (a negative status) or a guard failed: ``short`` has no meaning;
    - something else failed: ``short`` is not set;
    - the capacity has reached `MAX_CAPACITY`: the memory may be needed elsewhere.

    The same call can be made again: a kernel that stops at a failed check (`Kernel.stops`) writes
    the same from the start; the arrays that any other one has overwritten have been put back.
    """
    may_grow = int(capacity[0]) < MAX_CAPACITY
    repeats = 0 < status < FIRST_GUARD_STATUS and bool(short) and may_grow
    if repeats:
        capacity[0] *= _GROWTH
    return repeats
