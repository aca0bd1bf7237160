"""Count narrowing: lanes that count matches use integers as narrow as the data, in short blocks."""
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
"""Largest block by lane bytes: its count fits one lane (u8: only the count of each lane does)."""


def narrow_counts(kernel: Kernel) -> Kernel:
    """Run a vector loop that only counts in blocks short enough for narrow counter lanes. Before::

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
    fresh, totals = FreshNames(kernel), dict[Expr, Expr]()

    def edit(s: Stmt) -> Stmt:
        size = _lane_bytes(s) if isinstance(s, VecLoop) else None
        if not isinstance(s, VecLoop) or size is None:
            return s
        names = {a.name: fresh.name(a.name) for a in s.accs}
        for a in s.accs:
            lanes = HReduce("add", Var(a.name, a.init.dtype, s.group or 1))
            totals[lanes] = Var(names[a.name], a.init.dtype)
        return _in_blocks(s, size, names, fresh)

    done = map_statements(kernel, edit)
    return done if done is kernel else bottom_up(done, lambda n: totals.get(n, n))


def _lane_bytes(loop: VecLoop) -> int | None:
    """The bytes of narrow counter lanes; None if they would not be narrower, or if a fold is no
    count.
    """
    if loop.until or loop.tail or not loop.accs or not isinstance(loop.range, Interval):
        return None
    counted = [_counted_mask(a) for a in loop.accs]
    if None in counted or advanced_accums(loop):
        return None
    names = {a.name for a in loop.accs}
    if names & names_read(*loop.body, *(c for c in counted if c is not None)):
        return None
    wide = min(DTYPES[a.init.dtype].bytes for a in loop.accs)
    size = max(_lane_bytes_in((*loop.body, *(c for c in counted if c is not None))))
    return size if size < wide else None


def _lane_bytes_in(code: Iterable[Node]) -> list[int]:
    vectors = (n for part in code for n in walk(part) if getattr(n, "lanes", 1) != 1)
    return [DTYPES[n.dtype].bytes for n in vectors]  # type: ignore[union-attr]  # lanes have one


def _counted_mask(a: VecAccum) -> Expr | None:
    """The vector of bools that `a` counts; None if it is no count."""
    me = Var(a.name, a.init.dtype, "W")
    if a.init != Const(0, a.init.dtype) or DTYPES[a.init.dtype].kind not in "iu":
        return None
    match a.step:
        case Call(op="add", args=(first, Call(op="cast", args=(cond,)))) if first == me:
            return cond if cond.dtype == "bool" else None
        case Call(
            op="add",
            args=(
                first,
                Call(
                    op="select",
                    args=(cond, Broadcast(value=Const(value=1)), Broadcast(value=Const(value=0))),
                ),
            ),
        ) if first == me:
            return cond
        case _:
            return None


def _in_blocks(loop: VecLoop, size: int, names: dict[str, str], fresh: FreshNames) -> Loop:
    assert isinstance(loop.range, Interval)
    assert loop.group
    group = loop.group * DTYPES[loop.accs[0].init.dtype].bytes // size
    length = _MAX_BLOCK.get(size, 128 * group)
    block = Var(fresh.name(loop.var), INDEX)
    end = Call("add", (block, index_const(length)), INDEX)
    inside = Interval(block, Call("min", (end, loop.range.hi), INDEX))
    narrow = tuple(_narrow_accumulator(a, _COUNTER_DTYPE[size]) for a in loop.accs)
    inner = replace(loop, range=inside, group=group, accs=narrow)
    accs = tuple(
        Accum(
            names[a.name],
            a.init,
            _total_with_block(a, names[a.name], _COUNTER_DTYPE[size], group),
            span=a.span,
        )
        for a in loop.accs
    )
    outer = RangeDesc(loop.range.lo, loop.range.hi, length)
    return Loop(block.name, outer, (inner,), accs, span=loop.span)


def _narrow_accumulator(a: VecAccum, dtype: str) -> VecAccum:
    cond = _counted_mask(a)
    assert cond is not None
    one = Call("cast", (cond,), dtype, "W")
    step = Call("add", (Var(a.name, dtype, "W"), one), dtype, "W")
    return replace(a, init=Const(0, dtype), step=step)


def _total_with_block(a: VecAccum, total: str, dtype: str, group: int) -> Expr:
    """The total plus the lanes of a block; u8 lanes are widened before they are added."""
    wide, lanes = a.init.dtype, Var(a.name, dtype, group)
    if dtype == "u8":
        block: Expr = HReduce("add", Call("cast", (lanes,), wide, group))
    else:
        block = Call("cast", (HReduce("add", lanes),), wide)
    return Call("add", (Var(total, wide), block), wide)
