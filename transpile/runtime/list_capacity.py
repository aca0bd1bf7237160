"""List capacity: room for lists and arrays of unknown length, found by repeated calls.

A list that is read while it grows (`lower.lists.dynamic_lists`), and an array for whose length no
bound is known (`lower.arrays.capacity_bounds.UNKNOWN_CAPACITY`), are allocated with a capacity that
is tried. In lowering it is a `HostCapacity`; in the wrapper, the item of the list ``_tp_room``::

    kernel: a push finds no room, sets the result slot `short`, and a check fails
    wrapper: grow_capacity(status, short, capacity) multiplies the capacity by 8
             True: the wrapper makes the same call again; False: Python replays it

The capacity is kept: later calls start with what the largest one so far needed. A call in C reads
it, and leaves a call whose check failed to the wrapper.
"""
from __future__ import annotations

import numpy as np

from loopir.op_table import FIRST_GUARD_STATUS

__all__ = ["INITIAL_CAPACITY", "MAX_CAPACITY", "grow_capacity", "new_capacity"]

INITIAL_CAPACITY = 1 << 12
"""The capacity that is tried first, in items."""

MAX_CAPACITY = 1 << 28
"""The capacity from which on it is not increased: Python replays the call."""

_GROWTH = 8
"""The factor by which it is increased: each attempt that fails is lost work, so there are few."""


def new_capacity() -> np.ndarray:
    """The capacity of a kernel that has not run yet: an array of one int64, which C reads."""
    return np.array([INITIAL_CAPACITY], np.int64)


def grow_capacity(status: int, short: np.ndarray, capacity: np.ndarray) -> bool:
    """After a kernel has returned: whether it ran out of room and is to be called again, with a
    capacity 8 times as large, which is set here. The wrapper of the kernel calls it, where the
    results are not taken (`python_wrapper`).

    `status` is what the kernel returned: 0 < status < FIRST_GUARD_STATUS if it has run, and a check
    failed or a floating-point condition arose. `short` is the result slot that tells whether the
    check of a capacity failed. `capacity` has one item. At `MAX_CAPACITY` the list is no longer
    enlarged, and Python replays the call.
    """
    has_room = int(capacity[0]) < MAX_CAPACITY
    retries = 0 < status < FIRST_GUARD_STATUS and bool(short) and has_room
    if retries:
        capacity[0] *= _GROWTH
    return retries
