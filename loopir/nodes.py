"""The Loop IR: frozen nodes on about one screen. A tree never changes; passes build new ones.

Here are statements and the kernel; loops.py has those that repeat others, and expressions.py what
they compute with.
"""
from __future__ import annotations

from typing import TypeAlias

from .expressions import (
    Broadcast,
    Call,
    Const,
    Dim,
    Expr,
    HReduce,
    Interval,
    Lanes,
    Load,
    Ramp,
    Range,
    RangeDesc,
    Span,
    Spanned,
    Var,
)
from .loops import (
    Accum,
    Loop,
    LoopLike,
    MaskForm,
    PredLoop,
    Scan,
    Stream,
    VecAccum,
    VecLoop,
    While,
    Zip,
)
from .record import record

__all__ = [
    "Accum", "Append", "Assign", "Bits", "Break", "Broadcast", "Call", "Check", "Const", "Dim",
    "Disjoint", "Expr", "Guard", "HReduce", "If", "Interval", "Kernel", "Lanes", "Load", "Local",
    "Loop", "LoopLike", "MaskForm", "Node", "Param", "PredLoop", "Prefix", "Ramp", "Range",
    "RangeDesc", "Return", "Scan", "Span", "Stmt", "Store", "Stream", "Var", "VecAccum", "VecLoop",
    "While", "Yield", "Zip",
]


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
