"""Loops, with what they carry from one iteration to the next: scalar, and over vectors.

Every loop is canonical after lowering: ``[0, n)``, step 1.
"""
from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from .expressions import Expr, Lanes, Range, Spanned, Var
from .record import record

if TYPE_CHECKING:
    from .nodes import Stmt

__all__ = [
    "Accum", "Loop", "LoopLike", "MaskForm", "PredLoop", "Scan", "Stream", "VecAccum", "VecLoop",
    "While", "Zip",
]


@record(frozen=True, slots=True)
class Accum(Spanned):
    """A loop-carried scalar: ``init``, then ``step`` at the end of each iteration; bound after it.

    All steps see the old values.
    """
    name: str
    init: Expr
    step: Expr

    @property
    def current(self) -> Var:
        """Its value in an iteration."""
        return Var(self.name, self.init.dtype)


@record(frozen=True, slots=True)
class VecAccum(Spanned):
    """A loop-carried vector of the loop's ``group`` lanes, each starting as the scalar ``init``;
    inside, ``Var(name, …, width)`` is the current register, after the loop it has ``group`` lanes.
    """
    name: str
    init: Expr
    step: Expr


@record(frozen=True, slots=True)
class Loop(Spanned):
    """A counted loop; left after an iteration whose new accumulators make ``until`` true."""
    var: str
    range: Range
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()
    until: Expr | None = None


@record(frozen=True, slots=True)
class Stream:
    """One name of a Zip, bound to ``array[var]``."""
    name: str
    array: str
    dtype: str


@record(frozen=True, slots=True)
class Zip(Spanned):
    """Parallel iteration over rank-1 arrays."""
    var: str
    streams: tuple[Stream, ...]
    range: Range
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()


@record(frozen=True, slots=True)
class VecLoop(Spanned):
    """A loop over vectors of ``width`` lanes.

    ``group`` lanes make one accumulator set: element ``lo + k`` belongs to lane ``k % group`` on
    every target, so a fold has the same bits everywhere. The remainder runs under a mask (its
    inactive lanes neither store, check nor accumulate) unless ``tail`` names a scalar loop for it.
    ``until`` as in Loop, tested after each group.
    """
    var: str
    range: Range
    width: Lanes
    body: tuple[Stmt, ...]
    accs: tuple[VecAccum, ...] = ()
    tail: Loop | None = None
    group: int | None = None
    until: Expr | None = None


class MaskForm(Enum):
    """How a PredLoop keeps inactive lanes from acting: by masks of bits, by masks of lanes, by a
    branch for each. None stores what it has read: another thread may have written there meanwhile.
    """
    AVX512Mask = "AVX512Mask"
    SelectBlend = "SelectBlend"
    BranchPerLane = "BranchPerLane"


@record(frozen=True, slots=True)
class PredLoop(Spanned):
    """A VecLoop whose stores, checks and steps act only in lanes where ``pred`` holds.

    ``skips``: the body is branched around where that is no lane of the registers side by side.
    """
    var: str
    range: Range
    width: Lanes
    pred: Expr
    body: tuple[Stmt, ...]
    accs: tuple[VecAccum, ...] = ()
    tail: Loop | None = None
    form: MaskForm | None = None
    group: int | None = None
    skips: bool = False


@record(frozen=True, slots=True)
class Scan(Spanned):
    """A prefix reduction, ``array[i] = acc = op(acc, value)`` for i in range; binds ``acc``."""
    var: str
    range: Range
    op: str
    acc: str
    init: Expr
    value: Expr
    array: str


@record(frozen=True, slots=True)
class While(Spanned):
    """Runs ``body`` and the steps while ``cond`` (over the accumulators) holds, and no check of
    ``"replay"`` has failed: what such a one has made of the names, nobody knows.
    """
    cond: Expr
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()


LoopLike: TypeAlias = Loop | Zip | VecLoop | PredLoop | Scan | While
