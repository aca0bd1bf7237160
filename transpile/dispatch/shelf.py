"""Room for copies of what kernels overwrite, kept from call to call while it is small."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .saved import Saved, copies

__all__ = ["Shelf"]

_MOST = 1 << 24  # bytes; copies that are larger have memory of their own


class Shelf:
    """``state``: its address, its bytes, and whether a call has put copies there."""

    def __init__(self) -> None:
        self.state = np.zeros(3, np.int64)
        self._room = np.empty(0, np.uint8)

    def copies(self, arrays: tuple[Any, ...]) -> Saved:
        """Copies for a call that finds no room; the next finds it."""
        wanted = sum(a.nbytes for a in arrays)
        if self.state[1] < wanted <= _MOST and not self.state[2]:
            self._room = np.empty(wanted, np.uint8)
            self.state[:2] = self._room.__array_interface__["data"][0], wanted
        return copies(arrays)

    def found(self, arrays: Iterable[np.ndarray]) -> Saved:
        """What was put there: each of the arrays as it was, one after another."""
        out, at = [], 0
        for a in arrays:
            order: Any = "C" if a.flags.c_contiguous else "F"
            out.append((a, np.ndarray(a.shape, a.dtype, self._room, at, order=order)))
            at += a.nbytes
        return tuple(out)
