"""Arithmetic intensity: work per element written, estimated for unknown lengths."""
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
"""Work per copied element, in additions, compared with which the copy is negligible."""


def copies_are_cheap(kernel: Kernel, arrays: Iterable[str]) -> bool:
    """Whether copying these arrays costs little compared with the work of `kernel`."""
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
