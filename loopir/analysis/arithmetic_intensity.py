"""Arithmetic intensity: whether a kernel computes much more than copies of its arrays would cost.

Lengths and trip counts are not known at compile time, so each is assumed to be the same number.
"""
from __future__ import annotations

from collections.abc import Iterable

from ..dtypes import DTYPES
from ..ir_traversal import children
from ..nodes import Call, Kernel, LoopLike, Node
from ..op_table import OPS

__all__ = ["copies_are_cheap"]

_ASSUMED_TRIPS = 8
"""Assumed trip count of each loop and length of each axis."""

_COPY_COST = 8.0
"""Additions for each copied element from which on the time of the copy does not matter."""


def copies_are_cheap(kernel: Kernel, arrays: Iterable[str]) -> bool:
    """Whether copying `arrays`, parameters of `kernel`, costs little compared with its work: there
    are at least `_COPY_COST` additions for each element. `decide_copies.with_copies_decided` asks.
    """
    ranks = {p.name: p.rank or 0 for p in kernel.params}
    copied = sum(float(_ASSUMED_TRIPS) ** ranks[name] for name in arrays)
    return sum(map(_cost_in_additions, kernel.body)) >= _COPY_COST * copied


def _cost_in_additions(n: Node) -> float:
    """The estimated floating-point work of `n`, each loop run `_ASSUMED_TRIPS` times."""
    below = sum(map(_cost_in_additions, children(n)), 0.0)
    if isinstance(n, LoopLike):
        return _ASSUMED_TRIPS * below
    if isinstance(n, Call) and DTYPES[n.dtype].kind == "f":
        below += OPS[n.op].weight
    return below
