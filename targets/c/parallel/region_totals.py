"""Parallel loops with running totals, as C: a chunk first computes the totals with which it begins.

    for i in parallel_pred(0, n, where=x[i:W] > 0.0, k=0): append(out, k, x[i:W])
    →
beside tp_part_0, which begins with totals that it is given, and leaves those after it there:

    tp_totals_0(…, first, last, own)    what these iterations add, such as how many elements
    tp_join_0(totals, own)              adds that to totals
    tp_only_0(…, first, last)           as tp_part_0, but stores no lane behind the last element
    tp_run_0(…, first, last)            a chunk: finds the totals before it, runs tp_part_0

and in the body of the kernel, around the region

    int64_t tp_carried[1] = {k};                  the totals before; in the end, with all chunks'
    tp_totals totals;                             what is known of the blocks (parallel_totals.h)

A vector append may overwrite a register behind its last element. In a chunk these elements may be
those of the next chunk, which another thread stores: the last blocks of a chunk use tp_only_0. One
thread runs the whole range by tp_part_0, and computes no total first.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopir import nodes as ir
from loopir.analysis.parallelism import Splittable
from loopir.analysis.running_totals import (
    MOST_TOTALS,
    operation_of_total,
    totals,
    totals_only,
)
from loopir.dtypes import DTYPES
from loopir.ir_traversal import bottom_up, walk
from loopir.lazy_dataclass import replace
from loopir.status_bits import STATUS

from ..vector_ops import scalar_op

__all__ = [
    "BLOCKS_OF_CHUNK", "CARRIED", "TOTALS", "block_iterations", "join_function", "only_storing",
    "own_totals", "run_with_totals", "started_at",
]

CARRIED, TOTALS = "tp_carried", "tp_known"
"""The C names of the totals so far, and of the struct `tp_totals`, which has those of blocks
(``parallel_totals.h``)."""

_BLOCK = 4096
"""About how many iterations a block has."""

BLOCKS_OF_CHUNK = 8
"""The most blocks of a chunk: what it has read to compute their totals is still in the cache of its
core when it runs them."""


def started_at(n: Splittable, starts: Sequence[ir.Expr]) -> Splittable:
    """`n` with `starts` as the totals before its first iteration."""
    if isinstance(n, ir.Loop):
        accs = (replace(a, init=e) for a, e in zip(n.accs, starts, strict=True))
        return replace(n, accs=tuple(accs))
    vectors = (replace(a, init=e) for a, e in zip(n.accs, starts, strict=True))
    return replace(n, accs=tuple(vectors))


def block_iterations(grain: int) -> int:
    """The iterations of a block, a multiple of `grain`."""
    return max(1, _BLOCK // grain) * grain


def only_storing(n: Splittable) -> Splittable | None:
    """`n` with appends that store no lane behind their last element; None if it has none that may.
    """
    appends = [x for x in walk(n) if isinstance(x, ir.Append)]
    if all(x.value.lanes == 1 or (x.only and not x.blank) for x in appends):
        return None

    def exact(x: ir.Node) -> ir.Node:
        """An append as one that stores its elements alone."""
        return replace(x, only=True, blank=False) if isinstance(x, ir.Append) else x

    new: Splittable = bottom_up(n, exact)
    return new


def own_totals(n: Splittable) -> tuple[Splittable, tuple[ir.Expr, ...]]:
    """The loop that computes what a part of `n` adds to its totals, and the totals after it."""
    loop = totals_only(n)
    results: list[ir.Expr] = []
    for before, after in zip(totals(n), totals(loop), strict=True):
        total = ir.Var(after.name, after.init.dtype)
        if isinstance(n, ir.VecLoop) and after is not before:
            lanes = replace(total, lanes=n.group or n.width)
            results.append(ir.HReduce(operation_of_total(n, before), lanes))
        else:
            results.append(total)  # appends advance it
    return loop, tuple(results)


def join_function(number: int, n: Splittable) -> Iterator[str]:
    """The C function that adds the second totals of the loop `n` to the first."""
    yield f"static void tp_join_{number}(int64_t *totals, const int64_t *own)"
    yield "{"
    for k, a in enumerate(totals(n)):
        dtype = a.init.dtype
        kind = DTYPES[dtype].c
        operands = f"({kind})totals[{k}]", f"({kind})own[{k}]"
        joined = scalar_op(operation_of_total(n, a), operands, dtype, dtype)
        yield f"totals[{k}] = (int64_t)({kind})({joined});"
    yield "}"


def run_with_totals(
    number: int, n: Splittable, size: int, whole_range: Iterator[str]
) -> Iterator[str]:
    """The body of `tp_run` for the loop `n` with this `number` and blocks of `size` iterations:
    the lines ``whole_range`` for a call with the whole range. In any other call the totals of the
    chunk's blocks are computed, those with which it begins are found, and it is run. tp_part runs
    the blocks behind which at least a register of elements of this chunk follows, since it may
    overwrite so many. tp_only runs the last blocks.
    """
    yield f"struct tp_captured_{number} *const shared = captured;"
    yield from whole_range
    given = "arrays, scalars, captured"
    yield f"tp_totals *const all = shared->{TOTALS};"
    yield f"int64_t start[{MOST_TOTALS}], behind[{MOST_TOTALS}];"
    yield f"const int64_t begin = (first - all->first) / {size};"
    yield f"const int64_t end = (last - all->first + {size - 1}) / {size};"
    yield f"for (int64_t k = begin; k < end; k++) tp_totals_of(all, {given}, k, behind);"
    yield f"tp_start_of(all, {given}, begin, start);"
    yield f"tp_start_of(all, {given}, end, behind);"
    copied = " ".join(f"shared->{CARRIED}[{k}] = behind[{k}];" for k in range(len(n.accs)))
    yield f"if (last == all->last) {{ {copied} }}"
    yield f"struct tp_captured_{number} own = *shared;"
    yield f"own.{CARRIED} = start;"
    if only_storing(n) is None:
        yield f"return tp_part_{number}(arrays, scalars, &own, first, last);"
        return
    lanes = 1 if isinstance(n, ir.Loop) else n.width
    counters = {x.count for x in walk(n) if isinstance(x, ir.Append)}
    appended = [k for k, a in enumerate(totals(n)) if a.name in counters]
    overwrites = " || ".join(f"before[{k}] + {lanes} > behind[{k}]" for k in appended)
    yield f"int64_t middle = end, status = 0, before[{MOST_TOTALS}];"
    yield "for (; middle > begin; middle--) {"
    yield f"tp_start_of(all, {given}, middle, before);"
    yield f"if (!({overwrites})) break;"
    yield "}"
    yield f"const int64_t cut = all->first + middle * {size};"
    yield f"if (first < cut) status = tp_part_{number}(arrays, scalars, &own, first, cut);"
    yield f"if (status & {STATUS['replay']}) return status;"
    yield f"return status | tp_only_{number}(arrays, scalars, &own, cut, last);"
