"""Chunk axes: what is known of each axis along which the arrays of a kernel may be cut, as data."""
from __future__ import annotations

from math import inf
from typing import Literal, TypeAlias

from ...dtypes import DTYPES
from ...lazy_dataclass import record
from .size_forms import ArrayAxis

__all__ = ["AxisKind", "ChunkAxis", "ChunkSummary", "Fold", "FoldOrder", "Reach"]

AxisKind: TypeAlias = Literal["pointwise", "offset", "fold", "whole", "serial"]

FoldOrder: TypeAlias = Literal["blocks", "items", "unknown"]
"""The order in which a fold combines floats: blocks of items, which are combined in their order
(`passes.reduce.blocked_summation`); one item after the other, each the result of a loop inside; or
one that depends on how the loops are transformed."""


@record(frozen=True, slots=True)
class Fold:
    """A result that combines all elements of a chunk axis."""

    result: str
    """The slot or the array that receives it."""
    op: str
    """The operation of `op_table.OPS` that combines two parts in their order; ``place``: it is the
    place of an extremum; ``extremum``: it is the extremum itself, found together with its place."""
    dtype: str
    starts_at: str = ""
    """The array at whose first element it starts, if a comparison never replaces a NaN there."""
    order: FoldOrder = "blocks"
    """In which order compiled code combines its terms."""

    @property
    def is_inexact(self) -> bool:
        """Whether the order in which parts are combined matters to the last bits."""
        return self.op in ("add", "mul") and DTYPES[self.dtype].kind == "f"


@record(frozen=True, slots=True)
class ChunkAxis:
    """Axes of arrays of one length n, which a kernel goes through together."""

    members: tuple[ArrayAxis, ...]
    kind: AxisKind
    before: int = 0
    """How many elements before its own a chunk needs."""
    after: int = 0
    """How many elements behind its own a chunk needs."""
    folds: tuple[Fold, ...] = ()
    reason: str | None = None
    """Why it is ``whole`` or ``serial``."""
    least: int = 0
    """The length from which on this holds, for the whole and for each chunk."""

    def __str__(self) -> str:
        names: dict[int, list[str]] = {}
        for array, axis in self.members:
            names.setdefault(axis, []).append(f"`{array}`")
        of = "; ".join(f"axis {axis} of {', '.join(a)}" for axis, a in sorted(names.items()))
        what: str = self.kind
        if self.kind == "offset":
            what = f"offset [{-self.before}, +{self.after}]"
        if self.folds:
            ops = ", ".join(dict.fromkeys(f.op for f in self.folds))
            what = f"fold ({ops})" + (f", {what}" if self.kind == "offset" else "")
        return f"{of}: {what}" + (f": {self.reason}" if self.reason else "")


@record(frozen=True, slots=True)
class ChunkSummary:
    """The chunk axes of a kernel. An axis of an array that is in none is taken as a whole."""

    axes: tuple[ChunkAxis, ...]
    constants: tuple[tuple[str, bool], ...] = ()
    """The bool slots that always get one value, in the branch that stores to them."""
    sums: FoldOrder | None = None
    """In which order floats are added, also in folds that no result is; None: nowhere."""

    def axis_of(self, array: str, axis: int) -> ChunkAxis | None:
        """The chunk axis to which this axis of an array belongs."""
        return next((a for a in self.axes if (array, axis) in a.members), None)

    def __str__(self) -> str:
        return "\n".join(map(str, self.axes))


@record(slots=True)
class Reach:
    """How the elements of an array depend on those of the arguments along a chunk axis: on those
    at distances ``low`` to ``high``; in the elements from ``left`` on and before ``n + end``, the
    others are at the edges, where other statements may have stored them.
    """

    low: float = 0
    high: float = 0
    left: float = -inf
    end: float = inf
