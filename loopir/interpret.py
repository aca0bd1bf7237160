"""What the IR means, on NumPy: the oracle of every test.

Lanes beyond the end of a loop, and those that a predicate switches off, are not computed at all: so
they can neither store, check, accumulate nor raise a floating-point flag.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from . import nodes as ir
from .exhaustive import unhandled
from .interpret_expr import Values
from .ops import STATUS
from .record import record
from .tree import counters
from .types import DTYPES, INDEX, LEAST_BITS

__all__ = ["Outcome", "run"]

_ANYTHING = 85  # what a local array starts as
_ABSTRACT = 8  # lanes of a register of width "W" in a loop without a group


@record(frozen=True, slots=True)
class Outcome:
    """How a kernel ended.

    ``status`` is 0, bits of `ops.STATUS`, or ``(i + 1) << 8`` when guard number i failed.
    """

    status: int


class _Break(Exception):
    """Leaves the innermost loop."""


class _Return(Exception):
    """Leaves the kernel."""


def run(kernel: ir.Kernel, args: Mapping[str, Any]) -> Outcome:
    """Run `kernel` on `args` by parameter name: NumPy arrays, which it mutates, and scalars.

    Raises TypeError when an argument is not what its parameter says, IndexError when a subscript is
    out of bounds (the kernel's guards should have kept it from that).
    """
    machine = _Machine(kernel, args)
    with np.errstate(all="call", call=machine.flag):
        for number, guard in enumerate(kernel.guards):
            if not machine.holds(guard):
                return Outcome((number + 1) << 8)
        with suppress(_Return):
            machine.block(kernel.body)
    return Outcome(machine.status)


class _Machine(Values):
    def holds(self, guard: ir.Guard | ir.Disjoint) -> bool:
        match guard:
            case ir.Guard(cond):
                return bool(self.expr(cond))
            case ir.Disjoint(a, b, or_same):
                x, y = self.arrays[a], self.arrays[b]
                return (or_same and _same(x, y)) or not np.shares_memory(x, y)
            case _:
                return unhandled(guard)

    # -- statements

    def block(self, body: Iterable[ir.Stmt]) -> None:
        for s in body:
            self.stmt(s)

    def stmt(self, s: ir.Stmt) -> None:
        match s:
            case ir.Assign(name, value):
                self.names[name] = self.expr(value)
            case ir.Local(name, dtype, length, lanes):
                row = () if lanes is None else (int(self.active(lanes)[-1]) + 1,)
                self.arrays[name] = np.full((length, *row), _ANYTHING, DTYPES[dtype].numpy)
            case ir.Bits(name, array):
                self.arrays[name] = _bits(self.arrays[array])
            case ir.Store():
                self.store(s)
            case ir.Append():
                self.append(s)
            case ir.Prefix():
                self.prefix(s)
            case ir.Check(cond, code):
                if not np.all(self.expr(cond)):
                    self.status |= STATUS[code]
                    if self.stops and code == "replay":
                        raise _Return
            case ir.If(cond, then, orelse, yields):
                taken = bool(self.expr(cond))
                self.block(then if taken else orelse)
                given = [(y.name, self.expr(y.then if taken else y.orelse)) for y in yields]
                self.names.update(given)
            case ir.Break(cond):
                if self.expr(cond):
                    raise _Break
            case ir.Return():
                raise _Return
            case _:
                self.loop(s)

    def store(self, s: ir.Store) -> None:
        value = self.expr(s.value)
        mask = True if s.mask is None else self.expr(s.mask)
        if s.value.lanes != 1:
            lanes = self.active(s.value.lanes)[mask]
            self.arrays[s.array][self.at(s.array, s.index, s.axis, lanes * s.step)] = value[mask]
        elif mask:
            self.arrays[s.array][self.at(s.array, s.index, s.axis, None)] = value

    def append(self, s: ir.Append) -> None:
        values = np.atleast_1d(self.expr(s.value))
        if s.mask is not None:
            values = values[np.atleast_1d(self.expr(s.mask))]
        first, room = self.names[s.count], len(self.arrays[s.array])
        if first + len(values) > room:
            raise IndexError(f"{s.array}: has room for {room}, not {first + len(values)}")
        self.arrays[s.array][first : first + len(values)] = values
        self.names[s.count] = first + np.int64(len(values))

    # -- loops

    def loop(self, s: ir.LoopLike) -> None:
        match s:
            case ir.Loop() | ir.Zip() | ir.While():
                self.scalar(s)
            case ir.Scan():
                self.scan(s)
            case ir.VecLoop() | ir.PredLoop():
                self.vector(s)
            case _:
                unhandled(s)

    def scalar(self, s: ir.Loop | ir.Zip | ir.While) -> None:
        self.names.update({a.name: self.expr(a.init) for a in s.accs})
        with suppress(_Break):
            for _ in self.iterations(s):
                self.block(s.body)
                self.step(s.accs)
                if isinstance(s, ir.Loop) and s.until and self.expr(s.until):
                    break

    def iterations(self, s: ir.Loop | ir.Zip | ir.While) -> Iterator[None]:
        """Comes back once before each iteration, its names bound."""
        if isinstance(s, ir.While):
            while self.expr(s.cond) and not self.status & STATUS["replay"]:
                yield
            return
        for i in self.indices(s.range):
            self.names[s.var] = i
            for x in s.streams if isinstance(s, ir.Zip) else ():
                element = ir.Load(x.array, (ir.Var(s.var, INDEX),), x.dtype)
                self.names[x.name] = self.expr(element)
            yield

    def step(self, accs: tuple[ir.Accum, ...] | tuple[ir.VecAccum, ...]) -> None:
        self.names.update({a.name: self.expr(a.step) for a in accs})

    def indices(self, rng: ir.Range) -> Iterator[np.int64]:
        match rng:
            case ir.Interval(lo, hi):
                return map(np.int64, range(int(self.expr(lo)), int(self.expr(hi))))
            case ir.RangeDesc(start, end, by):
                return map(np.int64, range(int(self.expr(start)), int(self.expr(end)), by))
            case _:
                return unhandled(rng)

    def scan(self, s: ir.Scan) -> None:
        acc = ir.Var(s.acc, s.value.dtype)
        self.names[s.acc] = self.expr(s.init)
        for i in self.indices(s.range):
            self.names[s.var] = i
            self.names[s.acc] = self.call(ir.Call(s.op, (acc, s.value), acc.dtype))
            self.store(ir.Store(s.array, (ir.Var(s.var, INDEX),), acc))

    def vector(self, s: ir.VecLoop | ir.PredLoop) -> None:
        """Register after register; between registers an accumulator is its whole group."""
        width = s.width if isinstance(s.width, int) else s.group or _ABSTRACT
        group = s.group or width
        assert isinstance(s.range, ir.Interval), "a vector loop has step 1"
        lo, hi = int(self.expr(s.range.lo)), int(self.expr(s.range.hi))
        end = hi if s.tail is None else lo + max(hi - lo, 0) // group * group
        self.group = group
        vectors = [a.name for a in s.accs if a.name not in counters(s)]
        self.names.update({a.name: self.expr(a.init) for a in s.accs})
        self.names.update({n: np.full(group, self.names[n]) for n in vectors})
        for base in range(lo, end, group):
            for first in range(0, min(group, end - base), width):
                lanes = np.arange(min(width, end - base - first))
                self.register(s, np.int64(base + first), lanes, first + lanes, vectors)
            if isinstance(s, ir.VecLoop) and s.until and self.expr(s.until):
                return
        if s.tail:
            rest = ir.Interval(ir.Const(end, INDEX), ir.Const(hi, INDEX))
            self.scalar(replace(s.tail, range=rest))

    def register(
        self,
        s: ir.VecLoop | ir.PredLoop,
        index: np.int64,
        lanes: Any,
        slots: Any,
        vectors: Iterable[str],
    ) -> None:
        """Elements ``index + lanes``; their accumulators are lanes `slots` of the group."""
        self.lanes, self.slots, self.names[s.var] = lanes, slots, index
        groups = {n: self.names[n] for n in vectors}
        mine: Any = slots[0] if s.width == 1 else slots  # a register of one lane is a scalar
        self.names.update({n: v[mine] for n, v in groups.items()})
        if isinstance(s, ir.PredLoop):
            active = np.atleast_1d(self.expr(s.pred))
            self.lanes = lanes[active]
            mine = mine if s.width == 1 else slots[active]
            self.names.update({n: v[mine] for n, v in groups.items()})
        if len(self.lanes):
            self.block(s.body)
            self.step(s.accs)
            for n, v in groups.items():
                v[mine] = self.names[n]
        self.names.update(groups)
        self.lanes = None


def _bits(array: Any) -> Any:
    """The bits that the memory of an array of bytes starts with, one for each of its elements."""
    if array.size < LEAST_BITS:
        raise IndexError(f"{array.size} elements are too few to be bits")
    flat = np.unpackbits(array.view(np.uint8).reshape(-1), count=array.size, bitorder="little")
    return flat.astype(bool).reshape(array.shape)


def _same(a: Any, b: Any) -> bool:
    x, y = a.__array_interface__, b.__array_interface__
    return bool(x["data"] == y["data"] and (a.shape, a.strides) == (b.shape, b.strides))
