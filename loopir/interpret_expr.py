"""The value of an expression, on NumPy, and the names and arrays it is taken from.

A scalar is a NumPy scalar of its exact dtype; a vector holds its register's *active* lanes only.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import nodes as ir
from .exhaustive import unhandled
from .ops import evaluate
from .types import DTYPES

__all__ = ["Values"]


class Values:
    """Arrays and names by name, and the status that evaluating expressions has brought about."""

    def __init__(self, kernel: ir.Kernel, args: Mapping[str, Any]) -> None:
        bound = {p.name: _argument(p, args[p.name]) for p in kernel.params}
        self.arrays = {p.name: bound[p.name] for p in kernel.params if p.rank is not None}
        self.names = {p.name: bound[p.name] for p in kernel.params if p.rank is None}
        self.lanes: Any = None  # in a vector loop, the numbers of the register's active lanes
        self.slots: Any = None  # and their numbers in the group of so many lanes
        self.group = 0
        self.halves: dict[str, dict[int, list[Any]]] = {}  # by accumulator, those left
        self.status = 0
        self.stops = kernel.stops

    def flag(self, kind: str, bits: int) -> None:
        """NumPy calls this where an operation raised hardware flags; `bits` are STATUS bits."""
        self.status |= bits

    def expr(self, e: ir.Expr) -> Any:
        match e:
            case ir.Const(value, dtype):
                with np.errstate(all="ignore"):
                    return DTYPES[dtype].numpy.type(value)
            case ir.Var(name):
                return self.names[name]
            case ir.Dim(array, axis):
                return np.int64(self.arrays[array].shape[axis])
            case ir.Load(array, index, _, lanes, axis, step):
                along = None if lanes == 1 else self.active(lanes) * step
                return self.arrays[array][self.at(array, index, axis, along)]
            case ir.Call():
                return self.call(e)
            case ir.Broadcast(value, lanes):
                one = self.expr(value)
                return one if lanes == 1 else np.full(len(self.active(lanes)), one)
            case ir.Ramp(base, step, lanes):
                b = self.expr(base)
                return b if lanes == 1 else b + (self.active(lanes) * step).astype(b.dtype)
            case ir.HReduce(op, value):
                return self.halve(op, self.expr(value), e.dtype)
            case _:
                return unhandled(e)

    def call(self, e: ir.Call) -> Any:
        args = tuple(self.expr(x) for x in e.args)
        before = self.status
        value = evaluate(e.op, args, e.dtype)
        if DTYPES[e.dtype].wide is None and not any(DTYPES[x.dtype].kind == "f" for x in e.args):
            self.status = before  # integers raise no floating-point flag, but for becoming halves
        return value

    def active(self, lanes: ir.Lanes) -> Any:
        return np.arange(lanes) if self.lanes is None else self.lanes

    def at(
        self, array: str, index: tuple[ir.Expr, ...], axis: int, along: Any
    ) -> tuple[Any, ...]:
        """Where in `array`. `along`: each lane's distance along `axis`, None for a scalar."""
        where: list[Any] = [self.expr(i) for i in index]
        if along is not None:
            where[axis] = where[axis] + along
        for i, length in zip(where, self.arrays[array].shape, strict=True):
            if np.any(i < 0) or np.any(i >= length):
                raise IndexError(f"{array}: subscript {i} is outside [0, {length})")
        return tuple(where)

    def prefix(self, s: ir.Prefix) -> None:
        """Level by level, the last lane of each left half joins the lanes of the right one."""
        before, slots, dtype = self.status, self.slots, s.value.dtype
        terms = [s.value] if s.factor is None else [s.value, s.factor]
        given = [np.array(np.atleast_1d(self.expr(e))) for e in terms]
        if slots[0] == 0:
            self.halves[s.acc] = {0: [self.names[s.acc]]}
        left, running = self.halves[s.acc], [x.copy() for x in given]
        half = 1
        while half < self.group:
            ends = np.flatnonzero(slots % (2 * half) == half - 1)
            kept = left.get(half, [x[0] for x in running])  # of a register before
            starts = [np.array([k, *x[ends]]) for k, x in zip(kept, running, strict=True)]
            left[half] = [x[-1] for x in starts]
            right = slots & half != 0
            which = np.searchsorted(slots[ends], slots[right])
            joined = _joined(s.op, dtype, [x[which] for x in starts], [x[right] for x in running])
            for x, new in zip(running, joined, strict=True):
                x[right] = new
            half *= 2
        (value,) = _joined(s.op, dtype, [np.full_like(running[0], left[0][0])], running)
        if s.factor is not None:
            self.in_order(s, value, running[1], given)
        older = np.concatenate([[self.names[s.acc]], value[:-1]])
        self.names[s.acc] = value[-1]
        wide = s.value.lanes != 1
        self.names[s.name] = value if wide else value[0]
        if s.before:
            self.names[s.before] = older if wide else older[0]
        if DTYPES[dtype].kind != "f":
            self.status = before

    def in_order(self, s: ir.Prefix, value: Any, product: Any, given: list[Any]) -> None:
        """Corrects `value` from the first lane of the group on that is out of range."""
        fine = np.isfinite(value) & (np.abs(product) >= np.finfo(value.dtype).tiny)
        left, last = self.halves[s.acc], self.names[s.acc]
        for k in range(len(value)):
            if not fine[k]:
                left[-1] = []  # from here on
            if -1 in left:
                now = [x[k : k + 1] for x in given]
                value[k : k + 1] = _joined(s.op, s.value.dtype, [last], now)[0]
            last = value[k]

    def halve(self, op: str, value: Any, dtype: str) -> Any:
        value = np.atleast_1d(value)
        if op == "or":  # of the lanes there are, which need not be a power of two
            return np.bool_(value.any())
        while (half := len(value) // 2) > 0:
            value = evaluate(op, (value[:half], value[half:]), dtype)
        return value[0]


def _joined(op: str, dtype: str, left: list[Any], right: list[Any]) -> list[Any]:
    """What lanes have come to, then `right`: values, which ``op`` joins; perhaps with factors."""
    value, *factors = right
    start = left[0]
    if factors:
        start = evaluate("mul", (start, factors[0]), dtype)
    joined = [evaluate(op, (start, value), dtype)]
    return joined + [evaluate("mul", (x, factors[0]), dtype) for x in left[1:]]


def _argument(p: ir.Param, value: Any) -> Any:
    dtype = DTYPES[p.dtype].numpy
    if p.rank is None:
        return dtype.type(value)
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != p.rank:
        raise TypeError(f"{p.name}: an array of {p.dtype} and rank {p.rank} is needed: {value!r}")
    return value
