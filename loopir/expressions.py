"""What Loop IR computes with: expressions, and the ranges that loops run over.

An expression has ``dtype``, a name of ``types.DTYPES``, and ``lanes``: 1 for a scalar, ``"W"`` for
a vector of abstract width, a number once a target has been chosen. Operators are data:
``Call("add", …)``, a row of ``ops.OPS``.
"""
from __future__ import annotations

import struct
from dataclasses import field
from typing import TypeAlias

from .record import record
from .types import DTYPES

__all__ = [
    "Broadcast", "Call", "Const", "Dim", "Expr", "HReduce", "Interval", "Lanes", "Load", "Ramp",
    "Range", "RangeDesc", "Span", "Spanned", "Var",
]

Lanes: TypeAlias = "int | str"  # 1, "W", or the lanes of a register


@record(frozen=True, slots=True)
class Span:
    """A place in the user's file; lines count from 1, columns from 0."""
    line: int
    col: int
    end_line: int
    end_col: int


@record(frozen=True, slots=True)
class Spanned:
    """What came from a place in the user's file; two nodes are equal wherever they came from."""
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@record(frozen=True, slots=True, eq=False)
class Const(Spanned):
    """A literal, equal by dtype and bits: ``0.0`` is not ``-0.0``, a NaN equals itself."""
    value: float | int | bool
    dtype: str
    lanes = 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const) or self.dtype != other.dtype:
            return False
        return self.value is other.value or self._bits() == other._bits()

    def __hash__(self) -> int:
        return hash((self.dtype, self.value if self.value == self.value else None))

    def _bits(self) -> object:
        is_float = DTYPES[self.dtype].kind == "f"
        return struct.pack("<d", self.value) if is_float else int(self.value)


@record(frozen=True, slots=True)
class Var(Spanned):
    """A name: a scalar parameter, a loop variable, an accumulator or an assigned name."""
    name: str
    dtype: str
    lanes: Lanes = 1


@record(frozen=True, slots=True)
class Dim(Spanned):
    """The length of one axis of an array parameter."""
    array: str
    axis: int
    dtype = "i64"
    lanes = 1


@record(frozen=True, slots=True)
class Load(Spanned):
    """``array[index]``; in a vector, lane 0's, and subscript ``axis`` grows by ``step`` a lane."""
    array: str
    index: tuple[Expr, ...]
    dtype: str
    lanes: Lanes = 1
    axis: int = 0
    step: int = 1


@record(frozen=True, slots=True)
class Call(Spanned):
    """An operation; ``dtype`` is the result's. A cast is ``Call("cast", (x,), dtype)``."""
    op: str
    args: tuple[Expr, ...]
    dtype: str
    lanes: Lanes = 1


@record(frozen=True, slots=True)
class Broadcast(Spanned):
    """A scalar in every lane."""
    value: Expr
    lanes: Lanes

    @property
    def dtype(self) -> str:
        return self.value.dtype


@record(frozen=True, slots=True)
class Ramp(Spanned):
    """Lane ``k`` holds ``base + k * step``."""
    base: Expr
    step: int
    lanes: Lanes

    @property
    def dtype(self) -> str:
        return self.base.dtype


@record(frozen=True, slots=True)
class HReduce(Spanned):
    """A vector folded to a scalar by halving: lane ``k`` takes ``k + h``, for h = lanes/2, …, 1."""
    op: str
    value: Expr
    lanes = 1

    @property
    def dtype(self) -> str:
        return self.value.dtype


@record(frozen=True, slots=True)
class Interval:
    """``[lo, hi)``, step 1."""
    lo: Expr
    hi: Expr


@record(frozen=True, slots=True)
class RangeDesc:
    """``start, start + step, …`` before ``end``; ``step`` is a non-zero constant."""
    start: Expr
    end: Expr
    step: int


Expr: TypeAlias = Const | Var | Dim | Load | Call | Broadcast | Ramp | HReduce
Range: TypeAlias = Interval | RangeDesc
