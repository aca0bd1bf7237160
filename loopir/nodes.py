"""Loop IR nodes: expressions, ranges, loops, statements and the kernel, all frozen.

A tree never changes; passes build new ones. An expression has ``dtype``, a name in
``dtypes.DTYPES``, and ``lanes``: 1 for a scalar, ``"W"`` for a vector of abstract width, a
number once a target has been chosen. Operators are data: ``Call("add", …)`` names a row of
``op_table.OPS``. After ``canonicalize_loops`` every loop is ``[0, n)`` with step 1.
"""
from __future__ import annotations

import struct
from dataclasses import field
from enum import Enum
from typing import NoReturn, TypeAlias

from .dtypes import DTYPES
from .lazy_dataclass import record

__all__ = [
    "Broadcast", "Call", "Const", "Dim", "Expr", "HReduce", "Interval", "Lanes", "Load", "Ramp",
    "Range", "RangeDesc", "Span", "Spanned", "Var", "Accum", "Loop", "LoopLike", "MaskForm",
    "PredLoop", "Scan", "Stream", "VecAccum", "VecLoop", "While", "Zip", "Append", "Assign", "Bits",
    "Break", "Check", "Disjoint", "Guard", "If", "Kernel", "Local", "Node", "Param", "Prefix",
    "Return", "Stmt", "Store", "Yield", "assert_never",
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


@record(frozen=True, slots=True)
class Assign(Spanned):
    """Binds a new name; a name is bound once in its block."""
    name: str
    value: Expr


@record(frozen=True, slots=True)
class Store(Spanned):
    """``array[index] = value`` where ``mask`` (bool, same lanes) holds; vectors as in Load."""
    array: str
    index: tuple[Expr, ...]
    value: Expr
    mask: Expr | None = None
    axis: int = 0
    step: int = 1


@record(frozen=True, slots=True)
class Append(Spanned):
    """``array[count] = value; count += 1``; a vector appends its active lanes in order.

    ``count`` is an i64 accumulator of the enclosing loops. What lies behind in a register may be
    written too, for which there is room, unless it is ``only`` these.
    """
    array: str
    count: str
    value: Expr
    mask: Expr | None = None
    only: bool = False


@record(frozen=True, slots=True)
class Local(Spanned):
    """An array of the block that it stands in: ``length`` elements, or rows of ``lanes`` neighbours
    each, as wide as the vectors of the loop around. It shares no memory, and starts as anything.
    """
    name: str
    dtype: str
    length: int
    lanes: Lanes | None = None

    @property
    def param(self) -> Param:
        """It as an array like those that are given."""
        rank = 1 if self.lanes is None else 2
        return Param(self.name, self.dtype, rank, rank - 1, True)


@record(frozen=True, slots=True)
class Bits(Spanned):
    """As many bools as ``array`` has, which is the kernel's own, and LEAST_BITS or more: each is a
    bit of the same memory, in order. What ``array`` holds is gone with the first that is stored.
    """
    name: str
    array: str


@record(frozen=True, slots=True)
class Prefix(Spanned):
    """A running fold in a vector loop: ``name`` is ``acc`` by ``op`` with the lanes of ``value`` up
    to its own, ``before`` with those before it. ``acc``, one scalar, then takes in all of them.

    The lanes of a group are taken in as halves of halves: the last of a left half joins each lane
    of the right one, from pairs to the whole group; then what ``acc`` was before the group.

    With a ``factor``, ``acc = acc * factor + value``: what lanes come to are pairs of a value and a
    factor. From the first lane on whose result is not finite, or whose factors have no normal
    product, a group is taken in lane after lane instead.
    """
    name: str
    op: str
    acc: str
    value: Expr
    before: str | None = None
    factor: Expr | None = None


@record(frozen=True, slots=True)
class Check(Spanned):
    """Where ``cond`` is false the status gains ``code`` (of ``ops.STATUS``); execution goes on."""
    cond: Expr
    code: str


@record(frozen=True, slots=True)
class Yield:
    """A value that both branches of an If give."""
    name: str
    then: Expr
    orelse: Expr


@record(frozen=True, slots=True)
class If(Spanned):
    """A branch; ``yields`` are bound after it. Names assigned inside a branch end with it."""
    cond: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    yields: tuple[Yield, ...] = ()


@record(frozen=True, slots=True)
class Break(Spanned):
    """Leaves the innermost Loop, Zip or While at once, without its steps, where ``cond`` holds."""
    cond: Expr


@record(frozen=True, slots=True)
class Return(Spanned):
    """Ends the kernel; results are what has been stored."""


# -- the kernel


@record(frozen=True, slots=True)
class Param:
    """A scalar (``rank`` None) or an array; ``unit`` is the axis known to have unit stride.

    ``steps``: how many elements apart neighbours along each axis are, where that is known of other
    axes (None: it is not); empty, where it is of none. ``owned``: nobody sees it after the kernel;
    before it all elements are 0, or anything.
    """
    name: str
    dtype: str
    rank: int | None = None
    unit: int | None = None
    written: bool = False
    steps: tuple[int | None, ...] = ()
    owned: bool = False

    def step(self, axis: int) -> int | None:
        """How many elements apart neighbours along `axis` are, if that is known."""
        return 1 if axis == self.unit else self.steps[axis] if self.steps else None


@record(frozen=True, slots=True)
class Guard(Spanned):
    """Holds before the first store, or the kernel does nothing and reports ``code``."""
    cond: Expr
    code: str


@record(frozen=True, slots=True)
class Disjoint(Spanned):
    """Arrays ``a`` and ``b`` share no memory; ``or_same``: or data, shape and strides."""
    a: str
    b: str
    or_same: bool = False


@record(frozen=True, slots=True)
class Kernel:
    """One compiled region. ``strict`` names the float-status classes (``ops.STATUS``) after which
    Python must decide. One that ``stops`` ends where a check of ``"replay"`` fails: what is written
    by then, Python will write again, for the kernel has read nothing of what it writes.
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    guards: tuple[Guard | Disjoint, ...] = ()
    strict: tuple[str, ...] = ()
    stops: bool = False


Stmt: TypeAlias = (
    Assign | Local | Bits | Store | Append | Prefix | Check | If | Break | Return | LoopLike
)
Node: TypeAlias = (
    Expr | Range | Stmt | Accum | VecAccum | Yield | Stream | Param | Guard | Disjoint | Kernel
)


def assert_never(n: NoReturn) -> NoReturn:
    """Never reached: the type checker names each match that a new node needs a case in."""
    raise AssertionError(f"unhandled: {n!r}")
