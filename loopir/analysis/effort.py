"""How much work code is beside the memory it writes, for lengths that nobody knows yet."""
from __future__ import annotations

from collections.abc import Iterable

from ..nodes import Call, Kernel, LoopLike, Node
from ..ops import OPS
from ..tree import children
from ..types import DTYPES

__all__ = ["dear_to"]

_TURNS = 8
"""Of each loop, and elements of each axis."""

_COPIED = 8.0
"""Additions in the time of which an element is copied, and not noticed."""


def dear_to(kernel: Kernel, arrays: Iterable[str]) -> bool:
    """Whether copies of these arrays cost little beside what `kernel` does."""
    ranks = {p.name: p.rank or 0 for p in kernel.params}
    copied = sum(float(_TURNS) ** ranks[name] for name in arrays)
    return sum(map(_additions, kernel.body)) >= _COPIED * copied


def _additions(n: Node) -> float:
    below = sum(map(_additions, children(n)), 0.0)
    if isinstance(n, LoopLike):
        return _TURNS * below
    if isinstance(n, Call) and DTYPES[n.dtype].kind == "f":
        below += OPS[n.op].weight
    return below
