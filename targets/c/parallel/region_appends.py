"""Parallel loops that append, as C: a chunk counts its elements first, then stores them.

    for i in parallel_pred(0, n, where=x[i:W] > 0.0, k=0): append(out, k, x[i:W])
    →
    beside tp_part_0, which appends from a counter on:

    tp_count_0(…, first, last)      how many elements these iterations append
    tp_only_0(…, first, last)       as tp_part_0, but stores no lane behind the last element
    tp_run_0(…, first, last)        a chunk: counts its blocks, finds its place, runs tp_part_0

and in the body of the kernel, around the region

    int64_t tp_counter[1] = {k};                  the elements before; in the end, with all chunks'
    tp_appends appends;                           what is known of the blocks (parallel_appends.h)

A vector append may overwrite a register behind its last element. In a chunk these elements may be
those of the next chunk, which another thread stores: the last blocks of a chunk use tp_only_0. One
thread runs the whole range by tp_part_0, which counts nothing first.
"""
from __future__ import annotations

from collections.abc import Iterator

from loopir import nodes as ir
from loopir.analysis.parallelism import Splittable
from loopir.ir_traversal import bottom_up, walk
from loopir.lazy_dataclass import replace
from loopir.op_table import STATUS

__all__ = [
    "APPENDED", "BLOCKS_OF_CHUNK", "COUNTER", "block_iterations", "count_of",
    "run_with_places", "started_at", "variants",
]

COUNTER, APPENDED = "tp_counter", "tp_appended"
"""The C names of the number of elements so far, and of the struct `tp_appends`, which has the
counts of blocks (``parallel_appends.h``)."""

_BLOCK = 4096
"""About how many iterations are counted at a time."""

BLOCKS_OF_CHUNK = 8
"""The most blocks of a chunk: what it has read to count them is still in the cache of its core when
it runs them."""


def count_of(n: Splittable) -> ir.Accum | ir.VecAccum:
    """The accumulator that counts the elements."""
    [count] = n.accs
    return count


def started_at(n: Splittable, start: ir.Expr) -> Splittable:
    """`n` with `start` as the number of elements before its first iteration."""
    if isinstance(n, ir.Loop):
        return replace(n, accs=tuple(replace(a, init=start) for a in n.accs))
    return replace(n, accs=tuple(replace(a, init=start) for a in n.accs))


def block_iterations(grain: int) -> int:
    """The iterations of a block, a multiple of `grain`."""
    return max(1, _BLOCK // grain) * grain


def _overwrites(n: Splittable) -> bool:
    """Whether an append of `n` may store behind its last element."""
    return any(isinstance(x, ir.Append) and x.value.lanes != 1 and not x.only for x in walk(n))


def _storing_only(n: Splittable) -> Splittable:
    """`n` with appends that store no lane behind their last element."""

    def exact(x: ir.Node) -> ir.Node:
        """An append as one that stores its elements alone."""
        return replace(x, only=True) if isinstance(x, ir.Append) else x

    new: Splittable = bottom_up(n, exact)
    return new


def _without_checks(n: Splittable) -> Splittable:
    """`n` as it is counted: without checks, which are made when it is run."""

    def checked(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """`body` without checks."""
        return tuple(
            x if not isinstance(x, ir.If) else
            replace(x, then=checked(x.then), orelse=checked(x.orelse))
            for x in body if not isinstance(x, ir.Check)
        )

    return replace(n, body=checked(n.body))


def variants(
    n: Splittable,
) -> Iterator[tuple[str, Splittable, bool, tuple[str, ...], tuple[str, ...]]]:
    """The other functions of a chunk of the loop `n`, besides tp_part: ``tp_count``, and
    ``tp_only`` if an append may store behind its last element. For each its name, its loop, whether
    it only counts, and the C before and behind the loop.
    """
    yield "tp_count", _without_checks(n), True, (), ()
    if _overwrites(n):
        head, end = ("int64_t status = 0;",), ("return status;",)
        yield "tp_only", _storing_only(n), False, head, end


def run_with_places(
    number: int, n: Splittable, size: int, whole_range: Iterator[str]
) -> Iterator[str]:
    """The body of `tp_run` for the loop `n` with this `number` and blocks of `size` iterations:
    the lines ``whole_range`` for a call with the whole range. In any other call the blocks of the
    chunk are counted, the place where they begin to store is found, and they are run. tp_part runs
    the blocks behind which at least a register of elements of this chunk follows, since it may
    overwrite so many. tp_only runs the last blocks.
    """
    yield f"struct tp_captured_{number} *const shared = captured;"
    yield from whole_range
    given = "arrays, scalars, captured"
    yield f"tp_appends *const all = shared->{APPENDED};"
    yield f"const int64_t begin = (first - all->first) / {size};"
    yield f"const int64_t end = (last - all->first + {size - 1}) / {size};"
    yield f"for (int64_t k = begin; k < end; k++) tp_count_of(all, {given}, k);"
    yield f"int64_t place = tp_place_of(all, {given}, begin);"
    yield f"const int64_t behind = tp_place_of(all, {given}, end);"
    yield f"if (last == all->last) *shared->{COUNTER} = behind;"
    yield f"struct tp_captured_{number} own = *shared;"
    yield f"own.{COUNTER} = &place;"
    if not _overwrites(n):
        yield f"return tp_part_{number}(arrays, scalars, &own, first, last);"
        return
    lanes = 1 if isinstance(n, ir.Loop) else n.width
    yield "int64_t middle = end, status = 0;"
    yield f"while (middle > begin && tp_place_of(all, {given}, middle) + {lanes} > behind)"
    yield "    middle--;"
    yield f"const int64_t cut = all->first + middle * {size};"
    yield f"if (first < cut) status = tp_part_{number}(arrays, scalars, &own, first, cut);"
    yield f"if (status & {STATUS['replay']}) return status;"
    yield f"return status | tp_only_{number}(arrays, scalars, &own, cut, last);"
