"""Loop IR nodes: expressions, ranges, loops, statements and the kernel, all frozen.

A tree never changes; passes build new ones. An expression has ``dtype``, a name in
``dtypes.DTYPES``, and ``lanes``: 1 for a scalar, ``"W"`` for a vector of abstract width, a number
once a target has been chosen. Operators are data: ``Call("add", …)`` names a row of
``op_table.OPS``. After ``canonicalize_loops`` every counted loop runs over an `Interval`, by steps
of 1, until passes split it into strips.
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
    """A range in the user's file; lines count from 1, columns from 0.

    ``internal`` marks a loop that the compiler has made for this place, such as the lookup of a key
    in a dict, or a copy of the user's loop; reports leave it out.
    """
    line: int
    col: int
    end_line: int
    end_col: int
    internal: bool = field(default=False, kw_only=True)


@record(frozen=True, slots=True)
class Spanned:
    """A node with a source span; spans do not take part in equality."""
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
        """The value for comparison: of a float its bits, so that -0.0 differs from 0.0."""
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
    """``array[index]``. In a vector load, ``index`` is the place of lane 0; lane ``k`` loads the
    element whose subscript on ``axis`` is greater by ``k * step``.
    """
    array: str
    index: tuple[Expr, ...]
    dtype: str
    lanes: Lanes = 1
    axis: int = 0
    step: int = 1


@record(frozen=True, slots=True)
class Call(Spanned):
    """An operation; ``dtype`` is that of the result. A cast is ``Call("cast", (x,), dtype)``."""
    op: str
    args: tuple[Expr, ...]
    dtype: str
    lanes: Lanes = 1


@record(frozen=True, slots=True)
class Broadcast(Spanned):
    """A scalar copied to every lane."""
    value: Expr
    lanes: Lanes

    @property
    def dtype(self) -> str:
        return self.value.dtype


@record(frozen=True, slots=True)
class Ramp(Spanned):
    """A vector whose lane ``k`` is ``base + k * step``."""
    base: Expr
    step: int
    lanes: Lanes

    @property
    def dtype(self) -> str:
        return self.base.dtype


@record(frozen=True, slots=True)
class HReduce(Spanned):
    """A horizontal reduction by halving: the scalar that is left when lane ``k`` has been combined
    with lane ``k + h``, for h = lanes/2, lanes/4, …, 1.

        hreduce("add", v) of 4 lanes: (v[0] + v[2]) + (v[1] + v[3])

    This order is the same for every target and register width, and so are the bits of a sum.

    With a ``place``, an integer as wide as the value, it tells where an extremum is: of the lanes
    of ``value`` that are equal to it, the least lane of ``place``; the greatest integer if no lane
    is, as the extremum is NaN.

        hreduce("max", [3.0, 7.0, 7.0, 1.0], [0, 9, 6, 3])    →    6
    """
    op: str
    value: Expr
    place: Expr | None = None
    lanes = 1

    @property
    def dtype(self) -> str:
        return self.value.dtype if self.place is None else self.place.dtype


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
    """A loop-carried scalar: ``init``, then ``step`` at the end of each iteration.

    All steps read the values from before. The name is bound after the loop, too.
    """
    name: str
    init: Expr
    step: Expr

    @property
    def current(self) -> Var:
        """The accumulator's value during an iteration."""
        return Var(self.name, self.init.dtype)


@record(frozen=True, slots=True)
class VecAccum(Spanned):
    """A loop-carried vector of the loop's ``group`` lanes, each starting as the scalar ``init``.

    Inside the loop ``Var(name, …, width)`` is the current register; after it the name has ``group``
    lanes.
    """
    name: str
    init: Expr
    step: Expr


@record(frozen=True, slots=True)
class Loop(Spanned):
    """A counted loop; it ends after an iteration whose new accumulators make ``until`` true.

    ``parallel``: the iterations may run in any order and at the same time
    (`passes.parallel.parallelize`); those of a VecLoop or PredLoop in groups of lanes. With an
    ``until`` all iterations up to the first one that makes it true run, and later ones may. Such a
    loop has no accumulators, with one exception: running totals, such as the count of a loop that
    appends. Each part of that begins with the total of the parts before it, which is computed first
    (`analysis.running_totals`).
    ``undoes``: if a check stops the kernel in this parallel loop (or VecLoop), the elements of
    parameters that the loop has stored to get their old values back (`analysis.undoable_stores`).
    ``ivdep``: no iteration reads an element that an earlier one has written, if the distance of the
    two accesses is not constant (`#pragma ivdep`; `passes.vector.version_dependences`).
    """
    var: str
    range: Range
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()
    until: Expr | None = None
    parallel: bool = False
    undoes: bool = False
    ivdep: bool = False


@record(frozen=True, slots=True)
class Stream:
    """An element name of a Zip, bound to ``array[var]``."""
    name: str
    array: str
    dtype: str


@record(frozen=True, slots=True)
class Zip(Spanned):
    """Parallel iteration over rank-1 arrays; `canonicalize_loops` lowers it to a Loop."""
    var: str
    streams: tuple[Stream, ...]
    range: Range
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()


@record(frozen=True, slots=True)
class VecLoop(Spanned):
    """A loop over vectors of ``width`` lanes.

    Accumulators have ``group`` lanes: element ``lo + k`` belongs to lane ``k % group`` on every
    target, so a fold has the same bits everywhere. The remainder runs under a mask: its inactive
    lanes neither store, check nor accumulate. ``until`` as in Loop, tested after each group.
    """
    var: str
    range: Range
    width: Lanes
    body: tuple[Stmt, ...]
    accs: tuple[VecAccum, ...] = ()
    group: int | None = None
    until: Expr | None = None
    parallel: bool = False
    undoes: bool = False


class MaskForm(Enum):
    """How a PredLoop disables inactive lanes: mask registers, lane-wide masks with blends,
    branches.

    A masked store writes the active lanes only. No form loads the elements of inactive lanes and
    stores them back, since another thread may have written to them meanwhile.
    """
    AVX512Mask = "AVX512Mask"  # a mask register: one bit a lane
    SelectBlend = "SelectBlend"  # a vector of 0 and -1, as wide as the lanes
    BranchPerLane = "BranchPerLane"  # an `if` around the code of each lane


@record(frozen=True, slots=True)
class PredLoop(Spanned):
    """A VecLoop whose stores, checks and steps act only in lanes where ``pred`` is true.

    ``skips``: the body is branched around where no lane of the interleaved registers is active.
    """
    var: str
    range: Range
    width: Lanes
    pred: Expr
    body: tuple[Stmt, ...]
    accs: tuple[VecAccum, ...] = ()
    form: MaskForm | None = None
    group: int | None = None
    skips: bool = False
    parallel: bool = False


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
    """Runs ``body`` and the steps while ``cond`` (over the accumulators) is true.

    It also ends once a ``"replay"`` check has failed, since names are then unspecified and the loop
    might not terminate.
    """
    cond: Expr
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()


LoopLike: TypeAlias = Loop | Zip | VecLoop | PredLoop | Scan | While


@record(frozen=True, slots=True)
class Assign(Spanned):
    """Binds a name, which must be unbound here. So a block with the blocks in it is in SSA form.
    Two blocks of which neither contains the other may bind the same name.
    """
    name: str
    value: Expr


@record(frozen=True, slots=True)
class Store(Spanned):
    """``array[index] = value`` where ``mask`` (bool, same lanes) is true; vectors as in Load."""
    array: str
    index: tuple[Expr, ...]
    value: Expr
    mask: Expr | None = None
    axis: int = 0
    step: int = 1


@record(frozen=True, slots=True)
class Append(Spanned):
    """``array[count] = value; count += 1``; a vector appends its active lanes in order.

    ``count`` is an i64 accumulator of the enclosing loops. A vector append may also overwrite the
    rest of a register behind the appended elements (the array has capacity for that), unless
    ``only`` forbids it. ``blank``: nothing has been stored yet behind the appended elements of a
    new array, so that it may, as far as the array reaches.
    """
    array: str
    count: str
    value: Expr
    mask: Expr | None = None
    only: bool = False
    blank: bool = False


@record(frozen=True, slots=True)
class Local(Spanned):
    """A local array of the enclosing block, uninitialised and without aliases.

    It has ``length`` elements, or ``length`` rows of ``lanes`` elements, as wide as the vectors of
    the enclosing loop.
    """
    name: str
    dtype: str
    length: int
    lanes: Lanes | None = None

    @property
    def param(self) -> Param:
        """The local array as a `Param`."""
        rank = 1 if self.lanes is None else 2
        return Param(self.name, self.dtype, rank, rank - 1, True)


@record(frozen=True, slots=True)
class Bits(Spanned):
    """A packed bool array over the memory of ``array``, one bit for each of its elements, in order.

    ``array`` is an owned bool array of at least ``dtypes.MIN_PACKED_BOOLS`` elements; its contents
    are lost with the first store to ``name``.
    """
    name: str
    array: str


@record(frozen=True, slots=True)
class Prefix(Spanned):
    """An inclusive prefix reduction over lanes in a vector loop (``before``: the exclusive one).

    Lane ``k`` of ``name`` is ``acc op value[0] op … op value[k]``; lane ``k`` of ``before`` stops
    at ``value[k - 1]``. The scalar ``acc`` then becomes the last lane's value.

    The lanes of a group are combined as a tree: at each level, from pairs to the whole group, the
    last lane of a left half is combined into each lane of the right half; last comes the ``acc``
    from before the group.

    With a ``factor`` the recurrence is ``acc = acc * factor + value``, and the tree combines pairs
    of value and factor. From the first lane whose result is not finite, or whose product of factors
    is not a normal number, the rest of the group is computed lane after lane instead.
    """
    name: str
    op: str
    acc: str
    value: Expr
    before: str | None = None
    factor: Expr | None = None


@record(frozen=True, slots=True)
class Check(Spanned):
    """Sets the status bit ``code`` (`status_bits.STATUS`) where ``cond`` is false. Execution goes
    on, unless the code is ``"replay"`` and the kernel stops (`Kernel.stops`); compiled code stops
    at any such check, as what other kernels have overwritten is put back. ``cause`` is the guard
    code for reports; it does not take part in equality.
    """
    cond: Expr
    code: str
    cause: str = field(default="", compare=False, repr=False, kw_only=True)


@record(frozen=True, slots=True)
class Yield:
    """A name bound after an If: ``then`` or ``orelse``, by the branch that ran (a φ)."""
    name: str
    then: Expr
    orelse: Expr


@record(frozen=True, slots=True)
class If(Spanned):
    """A branch; ``yields`` are bound after it. Names assigned inside a branch are local to it."""
    cond: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    yields: tuple[Yield, ...] = ()


@record(frozen=True, slots=True)
class Break(Spanned):
    """Leaves the innermost Loop, Zip or While at once, without its steps, where ``cond`` is true.
    """
    cond: Expr


@record(frozen=True, slots=True)
class Return(Spanned):
    """Ends the kernel; its results are what it has stored."""


# -- the kernel


@record(frozen=True, slots=True)
class Param:
    """A scalar (``rank`` None) or an array; ``unit`` is the axis that has unit stride, if one does.

    ``steps``: strides in elements of the other axes, None where a stride is unknown; empty where
    all are unknown. ``owned``: an array that the caller allocates for the kernel and drops after
    it; its elements start as 0 or uninitialised. ``aligned``: all elements are aligned in memory;
    else no axis has unit stride, and all strides are unknown.
    """
    name: str
    dtype: str
    rank: int | None = None
    unit: int | None = None
    written: bool = False
    steps: tuple[int | None, ...] = ()
    owned: bool = False
    aligned: bool = True

    def step(self, axis: int) -> int | None:
        """The stride along `axis` in elements, None if it is unknown."""
        return 1 if axis == self.unit else self.steps[axis] if self.steps else None


@record(frozen=True, slots=True)
class Guard(Spanned):
    """A precondition: if ``cond`` is false at entry, the kernel does nothing and reports ``code``.
    """
    cond: Expr
    code: str


@record(frozen=True, slots=True)
class Disjoint(Spanned):
    """A precondition: ``a`` and ``b`` share no memory; ``or_same``: or have equal data, shape,
    strides.
    """
    a: str
    b: str
    or_same: bool = False


@record(frozen=True, slots=True)
class Kernel:
    """One compiled region.

    ``strict`` names the float conditions (`status_bits.STATUS`) after which the call is replayed
    in Python. With ``stops`` the kernel ends where a ``"replay"`` check fails, and Python then
    writes again what was written so far. It writes the same values, since the kernel reads nothing
    that it writes, or has all its checks before its first visible store (`checks.hoist_checks`). In
    a kernel that stops, a pass must not move a store before a check: Python may raise there, and
    the store, which Python never gets to, would remain. (A parallel loop that stops puts back
    what it has stored: `Loop.undoes`.)
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
    """Exhaustiveness check: the type checker reports each match that lacks a case for a new node.
    """
    raise AssertionError(f"unhandled: {n!r}")
