"""Deferred overflow checks: sums of small integers run in blocks that cannot overflow.

If each term is at most t in magnitude, the sum of 2**(bits - 2) / t terms, a block, fits in an
integer of ``bits`` bits. The block is summed without checks, and its sum is added to the total with
one check.

The check comes later than in Python, but the call has the same result. If all terms have one sign,
the total moves in one direction only, so that once it is out of range, it still is at the end of
the block. Else the check is one that replays the call if it fails, which gives Python's result; if
it passes, the total is exact, even if it was out of range within the block, as a Python int may be.
"""
from __future__ import annotations

from collections.abc import Mapping

from ...algebra.constant_folding import literal
from ...algebra.may_raise import is_replay_check
from ...analysis.integers.intervals import Intervals
from ...analysis.loop_reductions import Reduction, overflow_checks_of, reduction_of
from ...dtypes import DTYPES
from ...ir_names import FreshNames
from ...ir_traversal import counted_range, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    Expr,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
)
from ...statement_blocks import map_statements
from ..loop_splitting import strip_mine_loop

__all__ = ["defer_overflow"]

_SHORT_BLOCK, _LONG_BLOCK = 1 << 12, 1 << 40
"""Smallest block that is worth a loop, and the largest one."""


def defer_overflow(kernel: Kernel) -> Kernel:
    """Run a checked integer sum in blocks that cannot overflow, with one check for each block.

    A sum qualifies if it is unconditional and checked in each iteration, and the terms have a known
    bound; besides, the terms have one sign or the check replays the call (`_term_bounds`). A block
    is as long as its sum cannot overflow. It is summed in the first of these types in which it has
    at least `_SHORT_BLOCK` iterations; if there is none, nothing changes:

    1. 32-bit integers, of which a register holds twice as many as of 64 bits; or, if the loop loads
       wider elements or none, 64-bit integers;
    2. the type of the sum.

    Before::

        def k(x: u8[::1], total: mut(i64[()])):
            disjoint(x, total)
            for i in loop(0, x.shape[0], s=5):
                v = i64(x[i])
                check(~add_over(s, v), "replay")
                s = step(s + v)
            total[()] = s

    after::

        def k(x: u8[::1], total: mut(i64[()])):
            disjoint(x, total)
            for i_1 in loop(range(0, x.shape[0], 4194304), s=5):
                for i in loop(i_1, min(i_1 + 4194304, x.shape[0]), s_1=i32(0)):
                    v = i64(x[i])
                    s_1 = step(s_1 + i32(v))
                check(~add_over(s, i64(s_1)), "replay")
                s = step(s + i64(s_1))
            total[()] = s
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` in blocks, in the narrowest lanes in which a block is long enough; `s` if there are
        none.
        """
        bounds = _term_bounds(s) if isinstance(s, Loop) else {}
        if not isinstance(s, Loop) or not bounds:
            return s
        load_bits = max((DTYPES[n.dtype].bits for n in walk(s) if isinstance(n, Load)), default=64)
        sum_bits = min(DTYPES[a.init.dtype].bits for a in s.accs)
        narrow = max(load_bits, 32)  # at least as wide as the loads, so that no lane is narrowed
        for bits in sorted({narrow, sum_bits}):
            size = min((1 << (bits - 2)) // max(bounds.values()), _LONG_BLOCK)
            if bits <= sum_bits and size >= _SHORT_BLOCK:
                power_of_two = 1 << (size.bit_length() - 1)
                return _in_blocks(s, power_of_two, f"i{bits}", fresh)
        return s

    return map_statements(kernel, edit, Loop)


def _term_bounds(loop: Loop) -> Mapping[str, int]:
    """An upper bound of the magnitude of the terms of each accumulator; empty if some accumulator
    does not qualify.

    Each must be an unconditional sum of signed integers with an overflow check; its terms have one
    sign, or its checks replay the call. `loop` must be counted, and have assignments, checks and
    stores only.
    """
    if counted_range(loop) is None:
        return {}
    if not all(isinstance(s, Assign | Check | Store) for s in loop.body):
        return {}
    intervals, bounds = Intervals(), dict[str, int]()
    for s in loop.body:
        if isinstance(s, Assign) and DTYPES[s.value.dtype].kind in "iub":
            intervals.names[s.name] = intervals.of(s.value)
    for a in loop.accs:
        fold = reduction_of(a, loop)
        checks = overflow_checks_of(a, loop)
        if fold is None or fold.op != "add" or fold.cond or DTYPES[fold.dtype].kind != "i":
            return {}
        low, high = intervals.of(fold.value)
        has_one_sign = low >= 0 or high <= 0
        if not checks or not (has_one_sign or all(map(is_replay_check, checks))):
            return {}
        bounds[a.name] = max(abs(low), abs(high), 1)
    return bounds


def _in_blocks(loop: Loop, size: int, dtype: str, fresh: FreshNames) -> Loop:
    """`loop` as a loop over blocks of `size` iterations, in which sums of `dtype` start at 0 and
    are not checked; the sum of each block is added to the total with a check.
    """
    checks = {a.name: overflow_checks_of(a, loop) for a in loop.accs}
    checked = [c for of_acc in checks.values() for c in of_acc]
    unchecked = replace(loop, body=tuple(s for s in loop.body if s not in checked))
    folds = {a.name: f for a in loop.accs if (f := reduction_of(a, loop))}
    over_blocks = strip_mine_loop(unchecked, size, folds, fresh)
    (inner,) = over_blocks.body
    assert isinstance(inner, Loop)
    pairs = list(zip(over_blocks.accs, inner.accs, strict=True))
    block_sums = {a.name: _cast_exactly(Var(b.name, dtype), a.init.dtype) for a, b in pairs}
    total_checks = (
        Check(
            Call("not", (Call("add_over", (a.current, block_sums[a.name]), "bool"),), "bool"),
            c.code,
            cause=c.cause,
        )
        for a in loop.accs
        for c in checks[a.name][:1]
    )
    accs = tuple(
        replace(a, step=Call("add", (a.current, block_sums[a.name]), a.init.dtype))
        for a in loop.accs
    )
    inner = replace(
        inner, accs=tuple(_block_accumulator(b, folds[a.name], dtype) for a, b in pairs)
    )
    return replace(over_blocks, body=(inner, *total_checks), accs=accs)


def _block_accumulator(a: Accum, fold: Reduction, dtype: str) -> Accum:
    """The accumulator of one block, in `dtype`."""
    step = Call("add", (Var(a.name, dtype), _cast_exactly(fold.value, dtype)), dtype)
    return replace(a, init=literal(0, dtype), step=step)


def _cast_exactly(e: Expr, dtype: str) -> Expr:
    """`e` in `dtype`, which is known to represent its value."""
    match e:
        case _ if e.dtype == dtype:
            return e
        case Const(value):
            return literal(int(value), dtype)
        case Call("select", (cond, a, b)):
            return Call("select", (cond, _cast_exactly(a, dtype), _cast_exactly(b, dtype)), dtype)
        case Call("cast", (x,)) if DTYPES[x.dtype].kind in "iu" and e.dtype == "i64":
            return _cast_exactly(x, dtype)
        case _:
            return Call("cast", (e,), dtype)
