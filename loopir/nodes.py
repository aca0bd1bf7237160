"""The Loop IR: frozen nodes on about one screen. A tree never changes; passes build new ones.

Scalar and vector code share the expression nodes: ``lanes`` is 1 for a scalar, ``"W"`` for a vector
of abstract width, and a number once a target has been chosen. Operators are data (``Call("add",
…)``, a row of ``ops.OPS``). Every loop is canonical after lowering: ``[0, n)``, step 1.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from .exhaustive import unhandled

__all__ = [
    "Accum", "Append", "Assign", "Break", "Broadcast", "Call", "Check", "Const", "Dim",
    "Disjoint", "Expr", "Guard", "HReduce", "If", "Interval", "Kernel", "Lanes", "Load", "Loop",
    "LoopLike", "MaskForm", "Node", "Param", "PredLoop", "Ramp", "Range", "RangeDesc", "Return",
    "Scan", "Span", "Stmt", "Store", "Stream", "Var", "VecAccum", "VecLoop", "While", "Yield",
    "Zip", "bottom_up", "children", "counters", "map_children", "unhandled", "walk",
]

Lanes: TypeAlias = "int | str"  # 1, "W", or the lanes of a register


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the user's file; lines count from 1, columns from 0."""

    line: int
    col: int
    end_line: int
    end_col: int


def _span() -> Any:
    return field(default=None, compare=False, repr=False, kw_only=True)




# -- expressions: each has .dtype (a name of types.DTYPES) and .lanes

@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A literal. Two are equal when dtype and bits are: ``0.0`` is not ``-0.0``, a NaN equals
    itself.
    """

    value: float | int | bool
    dtype: str
    span: Span | None = _span()
    lanes = 1

    def _key(self) -> tuple[str, object]:
        value = struct.pack("<d", self.value) if self.dtype in ("f32", "f64") else int(self.value)
        return self.dtype, value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


@dataclass(frozen=True, slots=True)
class Var:
    """A scalar or vector name: a scalar parameter, a loop variable, an accumulator or an assigned
    name.
    """

    name: str
    dtype: str
    lanes: Lanes = 1
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Dim:
    """The length of one axis of an array parameter."""

    array: str
    axis: int
    span: Span | None = _span()
    dtype = "i64"
    lanes = 1


@dataclass(frozen=True, slots=True)
class Load:
    """``array[index]``. A vector load reads ``lanes`` elements: ``index`` is lane 0's, and
    subscript ``axis`` advances by ``step`` a lane.
    """

    array: str
    index: tuple[Expr, ...]
    dtype: str
    lanes: Lanes = 1
    axis: int = 0
    step: int = 1
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """An operation of ``ops.OPS``; ``dtype`` is the result's. Casts are ``Call("cast", (x,),
    dtype)``.
    """

    op: str
    args: tuple[Expr, ...]
    dtype: str
    lanes: Lanes = 1
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A scalar in every lane."""

    value: Expr
    lanes: Lanes
    span: Span | None = _span()

    @property
    def dtype(self) -> str:
        return self.value.dtype


@dataclass(frozen=True, slots=True)
class Ramp:
    """Lane ``k`` holds ``base + k * step``."""

    base: Expr
    step: int
    lanes: Lanes
    span: Span | None = _span()

    @property
    def dtype(self) -> str:
        return self.base.dtype


@dataclass(frozen=True, slots=True)
class HReduce:
    """The lanes of a vector folded to a scalar by halving: lane ``k`` takes lane ``k + h``, for h =
    lanes/2, …, 1.
    """

    op: str
    value: Expr
    span: Span | None = _span()
    lanes = 1

    @property
    def dtype(self) -> str:
        return self.value.dtype


# -- ranges

@dataclass(frozen=True, slots=True)
class Interval:
    """``[lo, hi)``, step 1."""

    lo: Expr
    hi: Expr


@dataclass(frozen=True, slots=True)
class RangeDesc:
    """``start, start + step, …`` before ``end``; ``step`` is a non-zero constant."""

    start: Expr
    end: Expr
    step: int


# -- statements

@dataclass(frozen=True, slots=True)
class Assign:
    """Binds a new name; a name is bound once in its block."""

    name: str
    value: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Store:
    """``array[index] = value``; vector form as in Load. With ``mask`` (bool, same lanes) only
    active lanes are written.
    """

    array: str
    index: tuple[Expr, ...]
    value: Expr
    mask: Expr | None = None
    axis: int = 0
    step: int = 1
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Append:
    """``array[count] = value; count += 1``; a vector appends its active lanes in order. ``count``
    is an i64 accumulator of the enclosing loops.
    """

    array: str
    count: str
    value: Expr
    mask: Expr | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Check:
    """Where ``cond`` is false in an active lane the kernel's status gains ``code`` (a row of
    ``ops.STATUS``); execution goes on.
    """

    cond: Expr
    code: str
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Yield:
    """A value that both branches of an If give."""

    name: str
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class If:
    """A branch; ``yields`` are bound after it. Names assigned inside a branch end with it."""

    cond: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    yields: tuple[Yield, ...] = ()
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Accum:
    """A loop-carried scalar: ``init`` before the first iteration, ``step`` evaluated at the end of
    each; all steps see the old values. The name is bound after the loop.
    """

    name: str
    init: Expr
    step: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class VecAccum:
    """A loop-carried vector of the loop's ``group`` lanes, each starting as the scalar ``init``;
    inside, ``Var(name, …, width)`` is the current register, after the loop it has ``group`` lanes.
    """

    name: str
    init: Expr
    step: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Loop:
    """A counted loop. Leaves early after an iteration at whose end ``until`` (over the new
    accumulators) is true.
    """

    var: str
    range: Range
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()
    until: Expr | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Stream:
    """One name of a Zip, bound to ``array[var]``."""

    name: str
    array: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Zip:
    """Parallel iteration over rank-1 arrays."""

    var: str
    streams: tuple[Stream, ...]
    range: Range
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class VecLoop:
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
    span: Span | None = _span()


class MaskForm(Enum):
    """How a PredLoop keeps inactive lanes from acting."""

    AVX512Mask = "AVX512Mask"
    SelectBlend = "SelectBlend"
    BranchPerLane = "BranchPerLane"


@dataclass(frozen=True, slots=True)
class PredLoop:
    """A VecLoop whose body, checks, stores and accumulator steps act only in lanes where ``pred``
    holds.
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
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Scan:
    """``array[i] = acc = op(acc, value)`` for i in range: a prefix reduction; ``acc`` is bound
    after it.
    """

    var: str
    range: Range
    op: str
    acc: str
    init: Expr
    value: Expr
    array: str
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class While:
    """Runs ``body`` and the steps while ``cond`` (over the accumulators) holds."""

    cond: Expr
    body: tuple[Stmt, ...]
    accs: tuple[Accum, ...] = ()
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Break:
    """Leaves the innermost Loop, Zip or While at once, without its steps, where ``cond`` holds."""

    cond: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Return:
    """Ends the kernel; results are what has been stored."""

    span: Span | None = _span()


# -- the kernel

@dataclass(frozen=True, slots=True)
class Param:
    """A scalar (``rank`` None) or an array. ``unit`` is the axis whose stride is one element, None
    when no axis is known to be.
    """

    name: str
    dtype: str
    rank: int | None = None
    unit: int | None = None
    written: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """Holds before the first store, or the kernel does nothing and reports ``code``."""

    cond: Expr
    code: str
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Disjoint:
    """Arrays ``a`` and ``b`` share no memory; with ``or_same`` they may also be one array (same
    data, shape, strides).
    """

    a: str
    b: str
    or_same: bool = False
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One compiled region. ``strict`` names the float-status classes (``ops.STATUS``) after which
    Python must decide.
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    guards: tuple[Guard | Disjoint, ...] = ()
    strict: tuple[str, ...] = ()


Expr: TypeAlias = Const | Var | Dim | Load | Call | Broadcast | Ramp | HReduce
Range: TypeAlias = Interval | RangeDesc
LoopLike: TypeAlias = Loop | Zip | VecLoop | PredLoop | Scan | While
Stmt: TypeAlias = Assign | Store | Append | Check | If | Break | Return | LoopLike
Node: TypeAlias = (
    Expr | Range | Stmt | Accum | VecAccum | Yield | Stream | Param | Guard | Disjoint | Kernel
)

_NODES = (
    Const, Var, Dim, Load, Call, Broadcast, Ramp, HReduce, Interval, RangeDesc, Assign, Store,
    Append, Check, Yield, If, Accum, VecAccum, Loop, Stream, Zip, VecLoop, PredLoop, Scan,
    While, Break, Return, Param, Guard, Disjoint, Kernel,
)
N = TypeVar("N", bound=Node)


_PLAIN = frozenset((
    "str", "int", "bool", "float | int | bool", "int | None", "Lanes", "MaskForm | None",
    "Span | None", "tuple[str, ...]",
))
_BELOW: dict[type, tuple[str, ...]] = {  # the fields that hold nodes
    t: tuple(f.name for f in fields(t) if f.type not in _PLAIN) for t in _NODES
}


def children(n: Node) -> Iterator[Node]:
    """The nodes directly below `n`, in field order."""
    for name in _BELOW[type(n)]:
        value = getattr(n, name)
        if type(value) is tuple:
            yield from value
        elif value is not None:
            yield value


def walk(n: Node) -> Iterator[Node]:
    """`n` and everything below it, outer before inner."""
    waiting = [n]
    while waiting:
        n = waiting.pop()
        yield n
        for name in reversed(_BELOW[type(n)]):
            value = getattr(n, name)
            if type(value) is tuple:
                waiting.extend(reversed(value))
            elif value is not None:
                waiting.append(value)


def map_children(n: N, f: Callable[[Any], Any]) -> N:
    """`n` with `f` applied to each child; `f` may turn a statement into a tuple of statements. `n`
    itself when nothing changed.
    """
    changed: dict[str, Any] = {}
    for name in _BELOW[type(n)]:
        old = getattr(n, name)
        if type(old) is tuple:
            parts = [f(x) for x in old]
            if any(a is not b for a, b in zip(parts, old, strict=True)):
                changed[name] = tuple(y for x in parts for y in (x if type(x) is tuple else (x,)))
        elif old is not None and (new := f(old)) is not old:
            changed[name] = new
    return replace(n, **changed) if changed else n


def bottom_up(n: N, f: Callable[[Any], Any]) -> Any:
    """`f` applied to every node, inner before outer."""
    return f(map_children(n, lambda child: bottom_up(child, f)))


def counters(n: Node) -> frozenset[str]:
    """The accumulators that an Append below `n` advances: scalars, in vector loops too."""
    return frozenset(x.count for x in walk(n) if isinstance(x, Append))
