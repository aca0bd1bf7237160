"""Count narrowing: lanes that count matches use integers as narrow as the data, in short blocks.

A count ``k += mask`` needs 64-bit lanes only for its total. In a block short enough that a narrow
lane (u8, u16 or u32, as wide as the widest data lane) cannot overflow, the loop counts in narrow
lanes, of which a register holds more; the counts of the blocks are added to the total.
"""
from __future__ import annotations

from collections.abc import Iterable

from ...algebra.constant_folding import index_const
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, names_read
from ...ir_traversal import advanced_accums, bottom_up, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Broadcast,
    Call,
    Const,
    Expr,
    HReduce,
    Interval,
    Kernel,
    Loop,
    Node,
    RangeDesc,
    Stmt,
    Var,
    VecAccum,
    VecLoop,
)
from ...statement_blocks import map_statements

__all__ = ["narrow_counts"]

_COUNTER_DTYPE = {1: "u8", 2: "u16", 4: "u32"}
_MAX_BLOCK = {2: 1 << 15, 4: 1 << 30}
"""Iterations of a block, by the bytes of a lane: one lane has room for the count of a whole block,
so that lanes can be added up as they are. Lanes of u8 are not here: each has room for its own 128
iterations of a block only, and is widened before lanes are added (`_total_with_block`)."""


def narrow_counts(kernel: Kernel) -> Kernel:
    """Run a vector loop that only counts matches in blocks short enough that a counter lane as
    narrow as the data cannot overflow; the counts of the blocks are added to the total.

    `_lane_bytes` decides: all accumulators must be counts, and their lanes wider than those of the
    data. Before::

        def k(x: bool[::1], total: mut(i64[()])):
            disjoint(x, total)
            for i in vec(0, x.shape[0], width=W, group=32, k_1=0):
                k_1 = step(k_1 + select(x[i:W], broadcast(1, W), broadcast(0, W)))
            total[()] = hreduce("add", k_1)

    after::

        def k(x: bool[::1], total: mut(i64[()])):
            disjoint(x, total)
            for i_1 in loop(range(0, x.shape[0], 32768), k_2=0):
                for i in vec(i_1, min(i_1 + 32768, x.shape[0]), width=W, group=256, k_1=u8(0)):
                    k_1 = step(k_1 + u8(x[i:W]))
                k_2 = step(k_2 + hreduce("add", i64(k_1)))
            total[()] = k_2
    """
    fresh, block_totals = FreshNames(kernel), dict[Expr, Expr]()

    def edit(s: Stmt) -> Stmt:
        """`s` in blocks, if it only counts."""
        lane_bytes = _lane_bytes(s) if isinstance(s, VecLoop) else None
        if not isinstance(s, VecLoop) or lane_bytes is None:
            return s
        names = {a.name: fresh.name(a.name) for a in s.accs}
        for a in s.accs:
            reduced = HReduce("add", Var(a.name, a.init.dtype, s.group or 1))
            block_totals[reduced] = Var(names[a.name], a.init.dtype)
        return _in_blocks(s, lane_bytes, names, fresh)

    narrowed = map_statements(kernel, edit, VecLoop)
    return narrowed if narrowed is kernel else bottom_up(narrowed, lambda n: block_totals.get(n, n))


def _lane_bytes(loop: VecLoop) -> int | None:
    """The bytes of narrow counter lanes: those of the widest data lane.

    None if they would not be narrower than the counts, a reduction is no count, a count is read, or
    the loop has an exit or appends.
    """
    if loop.until or not loop.accs or not isinstance(loop.range, Interval):
        return None
    masks = [_counted_mask(a) for a in loop.accs]
    if None in masks or advanced_accums(loop):
        return None
    names = {a.name for a in loop.accs}
    if names & names_read(*loop.body, *(c for c in masks if c is not None)):
        return None
    count_bytes = min(DTYPES[a.init.dtype].bytes for a in loop.accs)
    data_bytes = max(_lane_bytes_in((*loop.body, *(c for c in masks if c is not None))))
    return data_bytes if data_bytes < count_bytes else None


def _lane_bytes_in(code: Iterable[Node]) -> list[int]:
    """The bytes of a lane of each vector in `code`."""
    vectors = (n for part in code for n in walk(part) if getattr(n, "lanes", 1) != 1)
    return [DTYPES[n.dtype].bytes for n in vectors]  # type: ignore[union-attr]  # lanes have one


def _counted_mask(a: VecAccum) -> Expr | None:
    """The vector of bools whose true lanes `a` counts; None if it does something else."""
    accumulator = Var(a.name, a.init.dtype, "W")
    if a.init != Const(0, a.init.dtype) or DTYPES[a.init.dtype].kind not in "iu":
        return None
    match a.step:
        case Call(op="add", args=(operand, Call(op="cast", args=(cond,)))) if (
            operand == accumulator
        ):
            return cond if cond.dtype == "bool" else None
        case Call(
            op="add",
            args=(
                operand,
                Call(
                    op="select",
                    args=(cond, Broadcast(value=Const(value=1)), Broadcast(value=Const(value=0))),
                ),
            ),
        ) if operand == accumulator:
            return cond
        case _:
            return None


def _in_blocks(loop: VecLoop, lane_bytes: int, names: dict[str, str], fresh: FreshNames) -> Loop:
    """The loop over blocks, with the totals `names` as accumulators, around `loop` with lanes of
    `lane_bytes` bytes.
    """
    assert isinstance(loop.range, Interval)
    assert loop.group
    group = loop.group * DTYPES[loop.accs[0].init.dtype].bytes // lane_bytes
    length = _MAX_BLOCK.get(lane_bytes, 128 * group)
    block = Var(fresh.name(loop.var), INDEX)
    end = Call("add", (block, index_const(length)), INDEX)
    interval = Interval(block, Call("min", (end, loop.range.hi), INDEX))
    narrow_accs = tuple(_narrow_accumulator(a, _COUNTER_DTYPE[lane_bytes]) for a in loop.accs)
    inner = replace(loop, range=interval, group=group, accs=narrow_accs)
    accs = tuple(
        Accum(
            names[a.name],
            a.init,
            _total_with_block(a, names[a.name], _COUNTER_DTYPE[lane_bytes], group),
            span=a.span,
        )
        for a in loop.accs
    )
    outer = RangeDesc(loop.range.lo, loop.range.hi, length)
    return Loop(block.name, outer, (inner,), accs, span=loop.span)


def _narrow_accumulator(a: VecAccum, dtype: str) -> VecAccum:
    """The count `a` in lanes of `dtype`."""
    cond = _counted_mask(a)
    assert cond is not None
    increment = Call("cast", (cond,), dtype, "W")
    step = Call("add", (Var(a.name, dtype, "W"), increment), dtype, "W")
    return replace(a, init=Const(0, dtype), step=step)


def _total_with_block(a: VecAccum, total: str, dtype: str, group: int) -> Expr:
    """The total plus the lanes of a block; u8 lanes are widened before they are added."""
    total_dtype, lanes = a.init.dtype, Var(a.name, dtype, group)
    if dtype == "u8":
        block: Expr = HReduce("add", Call("cast", (lanes,), total_dtype, group))
    else:
        block = Call("cast", (HReduce("add", lanes),), total_dtype)
    return Call("add", (Var(total, total_dtype), block), total_dtype)
