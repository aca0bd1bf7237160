"""IR interpreter: the reference semantics of the IR, on NumPy; the tests compare targets with it.

A scalar is a NumPy scalar of its exact dtype; a vector is an array of the register's active lanes.
Inactive lanes (beyond the end of a loop, or switched off by a predicate) are not computed at all:
they neither store, check, accumulate nor raise a floating-point flag.
"""
from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from . import nodes as ir
from .dtypes import DTYPES, INDEX, MIN_PACKED_BOOLS
from .ir_traversal import advanced_accums, walk
from .lazy_dataclass import record, replace
from .nodes import assert_never
from .op_table import evaluate
from .status_bits import GUARD_SHIFT, STATUS, check_status

__all__ = ["Outcome", "run_kernel"]


@record(frozen=True, slots=True)
class Outcome:
    """How a kernel ended.

    ``status`` is 0, bits of `status_bits.STATUS`, or ``(i + 1) << GUARD_SHIFT`` when the guard at
    index i of `Kernel.guards` failed.
    """

    status: int


class _Break(Exception):
    """Leaves the innermost loop."""


class _Return(Exception):
    """Leaves the kernel."""


def run_kernel(kernel: ir.Kernel, args: Mapping[str, Any]) -> Outcome:
    """Run `kernel` on `args` by parameter name: NumPy arrays, which it mutates, and scalars. What
    it leaves in the arrays, and the status that it returns, is what the kernel means: the tests
    compare the code of each target with it, bit by bit.

    It runs kernels of every stage. The iterations of a parallel loop run in random order, so that a
    result that depends on their order shows. First the guards are tested, of which the first that
    fails ends the call (`Outcome`). Then the body runs, and the float flags that its operations
    raise are collected in the status.

    Raises TypeError where an argument does not match its parameter's dtype or rank, IndexError
    where a subscript is out of bounds (the kernel's guards should have prevented that).
    """
    interpreter = _Interpreter(kernel, args)
    with np.errstate(all="call", call=interpreter.record_flags):
        for number, guard in enumerate(kernel.guards):
            if not interpreter.holds(guard):
                return Outcome((number + 1) << GUARD_SHIFT)
        with suppress(_Return):
            interpreter.block(kernel.body)
    return Outcome(interpreter.status)


_UNINITIALIZED = 85  # fill value of a local array
_LANES_OF_W = 8  # lanes of a register of width "W" in a loop without a group


class _Interpreter:
    """Evaluates expressions and executes statements, one method for each kind; its state is the
    arrays and scalars by name, and the status bits so far.
    """

    shuffle = random.Random(0)

    def __init__(self, kernel: ir.Kernel, args: Mapping[str, Any]) -> None:
        bound = {p.name: _argument(p, args[p.name]) for p in kernel.params}
        self.arrays = {p.name: bound[p.name] for p in kernel.params if p.rank is not None}
        self.names = {p.name: bound[p.name] for p in kernel.params if p.rank is None}
        self.lanes: Any = None  # in a vector loop: lane numbers of the register's active lanes
        self.slots: Any = None  # their lane numbers within the group
        self.group = 0  # lanes of an accumulator of the current vector loop
        self.halves: dict[str, dict[int, list[Any]]] = {}
        """Of a `Prefix`, by accumulator and half size: the values of the last left half. The key 0
        has the value before the group, and -1 marks that lanes are computed one after the other.
        """
        self.status = 0
        self.stops, self.parameters = kernel.stops, {*self.arrays}

    def record_flags(self, kind: str, bits: int) -> None:
        """The ``np.errstate`` callback: `bits` are STATUS bits of the flags that an operation
        raised.
        """
        self.status |= bits

    def expr(self, e: ir.Expr) -> Any:
        """The value of `e`: a NumPy scalar, or an array of the active lanes."""
        match e:
            case ir.Const(value, dtype):
                with np.errstate(all="ignore"):
                    return DTYPES[dtype].numpy.type(value)
            case ir.Var(name):
                return self.names[name]
            case ir.Dim(array, axis):
                return np.int64(self.arrays[array].shape[axis])
            case ir.Load(array, index, _, lanes, axis, step):
                lane_offsets = None if lanes == 1 else self.active_lanes(lanes) * step
                return self.arrays[array][self.numpy_index(array, index, axis, lane_offsets)]
            case ir.Call():
                return self.call(e)
            case ir.Broadcast(value, lanes):
                scalar = self.expr(value)
                return scalar if lanes == 1 else np.full(len(self.active_lanes(lanes)), scalar)
            case ir.Ramp(base, step, lanes):
                start = self.expr(base)
                if lanes == 1:
                    return start
                return start + (self.active_lanes(lanes) * step).astype(start.dtype)
            case ir.HReduce(op, value, place):
                lanes = self.expr(value)
                reduced = self.reduce_by_halving(op, lanes, value.dtype)
                if place is None:
                    return reduced
                places = np.asarray(self.expr(place))
                return np.where(lanes == reduced, places, np.iinfo(places.dtype).max).min()
            case _:
                return assert_never(e)

    def call(self, e: ir.Call) -> Any:
        """The value of a call. Its float flags are recorded in the status."""
        args = tuple(self.expr(x) for x in e.args)
        before = self.status
        value = evaluate(e.op, args, e.dtype)
        if DTYPES[e.dtype].wide is None and not any(DTYPES[x.dtype].kind == "f" for x in e.args):
            self.status = before  # integer operations raise no float flag, except casts to float16
        return value

    def active_lanes(self, lanes: ir.Lanes) -> Any:
        """The numbers of the active lanes of a register of `lanes` lanes."""
        return np.arange(lanes) if self.lanes is None else self.lanes

    def numpy_index(
        self, array: str, index: tuple[ir.Expr, ...], axis: int, lane_offsets: Any
    ) -> tuple[Any, ...]:
        """The NumPy index into `array`. `lane_offsets`: each lane's offset along `axis`, None for a
        scalar.

        Raises IndexError where a subscript is out of bounds.
        """
        subscripts: list[Any] = [self.expr(i) for i in index]
        if lane_offsets is not None:
            subscripts[axis] = subscripts[axis] + lane_offsets
        for i, length in zip(subscripts, self.arrays[array].shape, strict=True):
            outside = (i < 0) | (i >= length)
            if outside.any() if outside.ndim else outside:
                raise IndexError(f"{array}: subscript {i} is outside [0, {length})")
        return tuple(subscripts)

    def prefix(self, s: ir.Prefix) -> None:
        """Execute a `Prefix` in the tree order that targets use, so that floats have the same bits.

        At each level (1, 2, 4 … lanes) the last lane of each left half is combined into every lane
        of the right half. A group may span several registers; ``halves`` keeps the left halves
        between them.
        """
        status_before, slots, dtype = self.status, self.slots, s.value.dtype
        terms = [s.value] if s.factor is None else [s.value, s.factor]
        operands = [np.array(np.atleast_1d(self.expr(e))) for e in terms]
        if slots[0] == 0:
            self.halves[s.acc] = {0: [self.names[s.acc]]}
        left_halves, running = self.halves[s.acc], [x.copy() for x in operands]
        half = 1
        while half < self.group:
            ends = np.flatnonzero(slots % (2 * half) == half - 1)
            previous = left_halves.get(half, [x[0] for x in running])  # from the previous register
            starts = [np.array([k, *x[ends]]) for k, x in zip(previous, running, strict=True)]
            left_halves[half] = [x[-1] for x in starts]
            right = slots & half != 0
            half_of_lane = np.searchsorted(slots[ends], slots[right])
            combined = _combine_lanes(
                s.op, dtype, [x[half_of_lane] for x in starts], [x[right] for x in running]
            )
            for x, new in zip(running, combined, strict=True):
                x[right] = new
            half *= 2
        (value,) = _combine_lanes(
            s.op, dtype, [np.full_like(running[0], left_halves[0][0])], running
        )
        if s.factor is not None:
            self.recompute_in_order(s, value, running[1], operands)
        exclusive = np.concatenate([[self.names[s.acc]], value[:-1]])
        self.names[s.acc] = value[-1]
        is_vector = s.value.lanes != 1
        self.names[s.name] = value if is_vector else value[0]
        if s.before:
            self.names[s.before] = exclusive if is_vector else exclusive[0]
        if DTYPES[dtype].kind != "f":
            self.status = status_before

    def recompute_in_order(
        self, s: ir.Prefix, value: Any, product: Any, operands: list[Any]
    ) -> None:
        """Recompute `value` lane by lane from the first lane of the group that is out of range."""
        in_range = np.isfinite(value) & (np.abs(product) >= np.finfo(value.dtype).tiny)
        left_halves, running = self.halves[s.acc], self.names[s.acc]
        for k in range(len(value)):
            if not in_range[k]:
                left_halves[-1] = []  # all later lanes are recomputed, too
            if -1 in left_halves:
                lane_operands = [x[k : k + 1] for x in operands]
                value[k : k + 1] = _combine_lanes(s.op, s.value.dtype, [running], lane_operands)[0]
            running = value[k]

    def reduce_by_halving(self, op: str, value: Any, dtype: str) -> Any:
        """The horizontal reduction of `value` by halving."""
        value = np.atleast_1d(value)
        if op == "or":  # the active lanes need not be a power of two
            return np.bool_(value.any())
        while (half := len(value) // 2) > 0:
            value = evaluate(op, (value[:half], value[half:]), dtype)
        return value[0]

    def holds(self, guard: ir.Guard | ir.Disjoint) -> bool:
        """Whether the guard holds."""
        match guard:
            case ir.Guard(cond):
                return bool(self.expr(cond))
            case ir.Disjoint(a, b, or_same):
                x, y = self.arrays[a], self.arrays[b]
                return (or_same and _same_memory(x, y)) or not np.shares_memory(x, y)
            case _:
                return assert_never(guard)

    # -- statements

    def block(self, body: Iterable[ir.Stmt]) -> None:
        """Execute statements in order."""
        for s in body:
            self.stmt(s)

    def stmt(self, s: ir.Stmt) -> None:
        """Execute `s`. Raises _Break and _Return to leave loops and the kernel."""
        match s:
            case ir.Assign(name, value):
                self.names[name] = self.expr(value)
            case ir.Local(name, dtype, length, lanes):
                row = () if lanes is None else (int(self.active_lanes(lanes)[-1]) + 1,)
                self.arrays[name] = np.full((length, *row), _UNINITIALIZED, DTYPES[dtype].numpy)
            case ir.Bits(name, array):
                self.arrays[name] = _packed_bools(self.arrays[array])
            case ir.Store():
                self.store(s)
            case ir.Append():
                self.append(s)
            case ir.Prefix():
                self.prefix(s)
            case ir.Check(cond, code):
                if not np.all(self.expr(cond)):
                    self.status |= check_status(code, s.cause)
                    if self.stops and code == "replay":
                        raise _Return
            case ir.If(cond, then, orelse, yields):
                taken = bool(self.expr(cond))
                self.block(then if taken else orelse)
                results = [(y.name, self.expr(y.then if taken else y.orelse)) for y in yields]
                self.names.update(results)
            case ir.Break(cond):
                if self.expr(cond):
                    raise _Break
            case ir.Return():
                raise _Return
            case _:
                self.loop(s)

    def store(self, s: ir.Store) -> None:
        """Execute a store in the active lanes whose mask is true."""
        value = self.expr(s.value)
        mask = True if s.mask is None else self.expr(s.mask)
        if s.value.lanes != 1:
            lanes = self.active_lanes(s.value.lanes)[mask]
            index = self.numpy_index(s.array, s.index, s.axis, lanes * s.step)
            self.arrays[s.array][index] = value[mask]
        elif mask:
            self.arrays[s.array][self.numpy_index(s.array, s.index, s.axis, None)] = value

    def append(self, s: ir.Append) -> None:
        """Append the selected values and advance the counter. Raises IndexError beyond the
        capacity.
        """
        values = np.atleast_1d(self.expr(s.value))
        if s.mask is not None:
            values = values[np.atleast_1d(self.expr(s.mask))]
        first, capacity = self.names[s.count], len(self.arrays[s.array])
        if first + len(values) > capacity:
            raise IndexError(f"{s.array}: has room for {capacity}, not {first + len(values)}")
        self.arrays[s.array][first : first + len(values)] = values
        self.names[s.count] = first + np.int64(len(values))

    # -- loops

    def loop(self, s: ir.LoopLike) -> None:
        """Execute a loop of any kind."""
        if isinstance(s, ir.Loop | ir.VecLoop) and s.undoes:
            self.undoable_loop(s)
            return
        match s:
            case ir.Loop() | ir.Zip() | ir.While():
                self.scalar_loop(s)
            case ir.Scan():
                self.scan(s)
            case ir.VecLoop() | ir.PredLoop():
                self.vector_loop(s)
            case _:
                assert_never(s)

    def undoable_loop(self, s: ir.Loop | ir.VecLoop) -> None:
        """Execute a loop; if it stops the kernel, put back what it has stored to parameters."""
        names = {n.array for n in walk(s) if isinstance(n, ir.Store)} & self.parameters
        stored = [self.arrays[name] for name in names]
        saved = [x.copy() for x in stored]
        try:
            self.loop(replace(s, undoes=False))
        except _Return:
            for array, old in zip(stored, saved, strict=True):
                array[...] = old
            raise

    def scalar_loop(self, s: ir.Loop | ir.Zip | ir.While) -> None:
        """Execute a scalar loop with its accumulators."""
        self.names.update({a.name: self.expr(a.init) for a in s.accs})
        with suppress(_Break):
            for _ in self.iterations(s):
                self.block(s.body)
                self.step(s.accs)
                if isinstance(s, ir.Loop) and s.until and not s.parallel and self.expr(s.until):
                    break

    def iterations(self, s: ir.Loop | ir.Zip | ir.While) -> Iterator[None]:
        """Yield once per iteration, with the loop variable and stream names bound."""
        if isinstance(s, ir.While):
            while self.expr(s.cond) and not self.status & STATUS["replay"]:
                yield
            return
        indices = self.indices(s.range)
        if isinstance(s, ir.Loop) and s.parallel:
            yield from self.parallel_iterations(s, [*indices])
            return
        for i in indices:
            self.names[s.var] = i
            for x in s.streams if isinstance(s, ir.Zip) else ():
                element = ir.Load(x.array, (ir.Var(s.var, INDEX),), x.dtype)
                self.names[x.name] = self.expr(element)
            yield

    def parallel_iterations(self, s: ir.Loop, indices: list[np.int64]) -> Iterator[None]:
        """As `iterations`, in random order. Once an iteration has made ``until`` true, those that
        come after it in the loop are left out; those before it are still run.
        """
        if s.accs:
            for i in self.with_totals(s, indices):
                self.names[s.var] = i
                yield
            return
        hit = len(indices)
        for k in self.in_any_order([*range(hit)]):
            self.names[s.var] = indices[k]
            if k > hit:
                continue
            yield
            if s.until and self.expr(s.until):
                hit = k

    def step(self, accs: tuple[ir.Accum, ...] | tuple[ir.VecAccum, ...]) -> None:
        """Advance all accumulators; each step reads the values from before."""
        self.names.update({a.name: self.expr(a.step) for a in accs})

    def indices(self, rng: ir.Range) -> Iterator[np.int64]:
        """The values of the loop variable."""
        match rng:
            case ir.Interval(lo, hi):
                return map(np.int64, range(int(self.expr(lo)), int(self.expr(hi))))
            case ir.RangeDesc(start, end, by):
                return map(np.int64, range(int(self.expr(start)), int(self.expr(end)), by))
            case _:
                return assert_never(rng)

    def in_any_order(self, iterations: list[Any]) -> list[Any]:
        """The iterations of a parallel loop, shuffled: their order must not change the result."""
        self.shuffle.shuffle(iterations)
        return iterations

    def with_totals(
        self, s: ir.Loop | ir.VecLoop | ir.PredLoop, iterations: list[Any]
    ) -> Iterator[Any]:
        """The iterations of a parallel loop with running totals: first all in order, to know the
        totals with which each begins; then again in random order, on the memory as it was before.
        """
        written = {n.array for n in walk(s) if isinstance(n, ir.Append | ir.Store)}
        before = {name: self.arrays[name].copy() for name in written}
        starts: list[dict[str, Any]] = []
        for i in iterations:
            starts.append({a.name: self.names[a.name] for a in s.accs})
            yield i
        totals = {a.name: self.names[a.name] for a in s.accs}
        for name, array in before.items():
            self.arrays[name][...] = array
        for k in self.in_any_order([*range(len(iterations))]):
            self.names.update(starts[k])
            yield iterations[k]
        self.names.update(totals)

    def scan(self, s: ir.Scan) -> None:
        """Execute a scan one element at a time."""
        acc = ir.Var(s.acc, s.value.dtype)
        self.names[s.acc] = self.expr(s.init)
        for i in self.indices(s.range):
            self.names[s.var] = i
            self.names[s.acc] = self.call(ir.Call(s.op, (acc, s.value), acc.dtype))
            self.store(ir.Store(s.array, (ir.Var(s.var, INDEX),), acc))

    def vector_loop(self, s: ir.VecLoop | ir.PredLoop) -> None:
        """Run one register at a time; between registers an accumulator is an array of its whole
        group.
        """
        width = s.width if isinstance(s.width, int) else s.group or _LANES_OF_W
        group = s.group or width
        assert isinstance(s.range, ir.Interval), "a vector loop has step 1"
        lo, hi = int(self.expr(s.range.lo)), int(self.expr(s.range.hi))
        self.group = group
        vector_accs = [a.name for a in s.accs if a.name not in advanced_accums(s)]
        self.names.update({a.name: self.expr(a.init) for a in s.accs})
        self.names.update({n: np.full(group, self.names[n]) for n in vector_accs})
        bases: Iterable[int] = range(lo, hi, group)
        if s.parallel:
            bases = self.with_totals(s, [*bases]) if s.accs else self.in_any_order([*bases])
        for base in bases:
            for first in range(0, min(group, hi - base), width):
                lanes = np.arange(min(width, hi - base - first))
                self.vector_iteration(s, np.int64(base + first), lanes, first + lanes, vector_accs)
            if isinstance(s, ir.VecLoop) and s.until and self.expr(s.until):
                return

    def vector_iteration(
        self,
        s: ir.VecLoop | ir.PredLoop,
        index: np.int64,
        lanes: Any,
        slots: Any,
        vector_accs: Iterable[str],
    ) -> None:
        """Run the body for elements ``index + lanes``; `slots` are their lanes in the group's
        accumulators.
        """
        self.lanes, self.slots, self.names[s.var] = lanes, slots, index
        groups = {n: self.names[n] for n in vector_accs}
        selected_slots: Any = (
            slots[0] if s.width == 1 else slots
        )  # a register of one lane is a scalar
        self.names.update({n: v[selected_slots] for n, v in groups.items()})
        if isinstance(s, ir.PredLoop):
            active = np.atleast_1d(self.expr(s.pred))
            self.lanes = lanes[active]
            selected_slots = selected_slots if s.width == 1 else slots[active]
            self.names.update({n: v[selected_slots] for n, v in groups.items()})
        if len(self.lanes):
            self.block(s.body)
            self.step(s.accs)
            for n, v in groups.items():
                v[selected_slots] = self.names[n]
        self.names.update(groups)
        self.lanes = None


def _combine_lanes(
    op: str, dtype: str, left_values: list[Any], right_values: list[Any]
) -> list[Any]:
    """Combine the running values `left_values` with `right_values` by ``op``.

    Both are ``[value]`` or ``[value, factor]``; with a factor the left value is multiplied by it
    first, and factors are multiplied with each other.
    """
    value, *factors = right_values
    start = left_values[0]
    if factors:
        start = evaluate("mul", (start, factors[0]), dtype)
    combined = [evaluate(op, (start, value), dtype)]
    return combined + [evaluate("mul", (x, factors[0]), dtype) for x in left_values[1:]]


def _argument(p: ir.Param, value: Any) -> Any:
    """The argument for `p` as its exact dtype. Raises TypeError for an array of another dtype or
    rank.
    """
    dtype = DTYPES[p.dtype].numpy
    if p.rank is None:
        return dtype.type(value)
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != p.rank:
        raise TypeError(f"{p.name}: an array of {p.dtype} and rank {p.rank} is needed: {value!r}")
    return value


def _packed_bools(array: Any) -> Any:
    """The packed bools (`Bits`) in the memory of a bool array, unpacked: one for each element."""
    if array.size < MIN_PACKED_BOOLS:
        raise IndexError(f"{array.size} elements are too few to be bits")
    flat = np.unpackbits(array.view(np.uint8).reshape(-1), count=array.size, bitorder="little")
    return flat.astype(bool).reshape(array.shape)


def _same_memory(a: Any, b: Any) -> bool:
    """Whether two arrays have equal data pointers, shapes and strides."""
    x, y = a.__array_interface__, b.__array_interface__
    return bool(x["data"] == y["data"] and (a.shape, a.strides) == (b.shape, b.strides))
