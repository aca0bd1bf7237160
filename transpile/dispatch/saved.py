"""What a wrapper sees to at run time: copies of what is written, lists that are one, more room."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["LITTLE", "Saved", "apart", "copies", "greatest", "least", "more", "share", "size"]

Saved = tuple[tuple[np.ndarray, np.ndarray], ...]
"""Arrays that the kernel writes, each with a copy made before."""


def share(pairs: Iterable[tuple[Any, Any]]) -> bool:
    """Whether two arrays of a pair are one: the kernel sees to it that others share nothing."""
    arrays = ((a, b) for a, b in pairs if type(a) is type(b) is np.ndarray)
    places = ([x.__array_interface__["data"][0] for x in pair] for pair in arrays)
    return any(a == b for a, b in places)


LITTLE, MUCH = 1 << 12, 1 << 28
"""Items that lists have room for at first, and at most."""


def more(status: int, short: np.ndarray, room: list[int]) -> bool:
    """Whether a kernel had too little room for its lists, and there is more from now on."""
    wanted = 0 < status < 1 << 8 and bool(short) and room[0] < MUCH
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


def apart(lists: Iterable[object]) -> bool:
    """Whether each is another object."""
    ids = [*map(id, lists)]
    return len({*ids}) == len(ids)


def size(given: Iterable[Any]) -> int:
    """Bytes of the items of arrays; of what is none, as for `copies`, none."""
    return sum(a.nbytes for a in given if type(a) is np.ndarray)


def copies(given: Iterable[Any]) -> Saved:
    """Of arrays; what is none has not been turned down yet, and its methods may do anything."""
    return tuple((a, a.copy()) for a in given if type(a) is np.ndarray)
