"""Peeled blocks: threads share a fused loop in blocks, whose first iterations end after all others.

    for i in loop(1, n): new[i + 1, …] = t[i, …] + t[i + 2, …]; t[i, …] = new[i, …]

Fusion has shifted the second statement: row i of `t` is overwritten once iterations i - 2 to i have
read it. Blocks of rows are not independent, as the block before reads the first two rows of a
block. So these rows are stored when all blocks have run. (Manjikian and Abdelrahman, Fusion of
Loops for Parallelism and Locality, 1997; `loopir.fusion.shift_and_peel` has the fusion itself.)
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_add, index_less, index_min, index_sub
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...analysis.parallelism import conflict_distances
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, rename_names
from ...ir_traversal import contains, walk, walk_statements
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    If,
    Interval,
    Kernel,
    Loop,
    LoopLike,
    RangeDesc,
    Stmt,
    Store,
    Var,
    VecLoop,
)

__all__ = ["peel_blocks"]

_BLOCK = 64
"""Iterations of a block. One thread takes 2 to 6 % longer for the blocks than for the loop as it
was, and more for smaller blocks.
"""

_MOST_PEELED = 4
"""The most iterations of a block that store later: their arrays are gone over twice."""

_LONGEST = 300
"""The most nodes of a loop, which is then in the code three times."""


def peel_blocks(
    s: Loop, kernel: Kernel, fresh: FreshNames, obstacle: Callable[[Loop], str | None]
) -> tuple[Stmt, ...] | None:
    """The loop `s` of `kernel` as two parallel ones, if the stores to some arrays may run later
    (`_peeled`), such as those to `t`::

        for i in loop(1, n): new[i + 1, …] = t[i, …] + t[i + 2, …]; t[i, …] = new[i, …]
        →
        for b in parallel_loop(range(1, n, 64)):
            for i in loop(b, min(b + 2, n)): new[i + 1, …] = …
            for i in loop(b + 2, min(b + 64, n)): new[i + 1, …] = …; t[i, …] = new[i, …]
        for b in parallel_loop(range(1, n, 64)):
            for i in loop(b, min(b + 2, n)): t[i, …] = new[i, …]

    A range of at most two blocks is run by `s` as it was. None if there are no such arrays, or if
    ``obstacle`` says why several threads must not run one of the new loops.
    """
    is_nest = any(contains(x, LoopLike) for x in s.body)
    if not isinstance(s.range, Interval) or not is_nest or not _is_plain((s,)):
        return None
    if sum(1 for _ in walk(s)) > _LONGEST:
        return None
    stores = (n for x in s.body for n in walk_statements(x) if isinstance(n, Store))
    arrays = [*dict.fromkeys(n.array for n in stores)]
    for k in range(1, len(arrays)):
        early, late = (_alone(s, part) for part in (arrays[:k], arrays[k:]))
        count = _peeled(s, early, late, kernel)
        if count is None or not _is_early_first(s.body, arrays[:k], arrays[k:], kernel):
            continue
        split = tuple(_in_blocks(s, early, late, count, fresh))
        if all(obstacle(x) is None for x in split):
            length = index_sub(s.range.hi, s.range.lo)
            is_short = index_less(length, index_const(2 * _BLOCK + 1))
            names = {n: fresh.name(n) for n in sorted(bound_names(s))}
            parallel = tuple(replace(x, parallel=True) for x in split)
            return (If(is_short, (rename_names(s, names),), parallel, (), span=s.span),)
    return None


def _is_plain(body: Iterable[Stmt]) -> bool:
    """Whether `body` has only assignments, stores, and loops without accumulators over such."""
    return all(
        isinstance(s, Assign | Store) or (
            isinstance(s, Loop | VecLoop) and not s.accs and s.until is None and _is_plain(s.body)
        )
        for s in body
    )


def _slice(body: Sequence[Stmt], arrays: Collection[str]) -> list[Stmt | None]:
    """For each statement of `body` what of it is needed to store to `arrays`; None: nothing."""
    parts: list[Stmt | None] = []
    needed: set[str] = set()
    for s in reversed(body):
        part: Stmt | None = s
        match s:
            case Assign(name) if name not in needed:
                part = None
            case Store(array) if array not in arrays:
                part = None
            case Loop() | VecLoop():
                inside = tuple(x for x in _slice(s.body, arrays) if x is not None)
                part = replace(s, body=inside) if inside else None
        parts.append(part)
        needed |= names_read(part) if part is not None else set()
    return parts[::-1]


def _alone(s: Loop, arrays: Collection[str]) -> Loop:
    """`s` with its stores to `arrays` alone."""
    return replace(s, body=tuple(x for x in _slice(s.body, arrays) if x is not None))


def _peeled(s: Loop, early: Loop, late: Loop, kernel: Kernel) -> int | None:
    """In how many iterations of a block ``late``, the part of `s` with the later stores, has to run
    after ``early``, the other part, has run in all blocks; None if that is not possible, since

    - an iteration of ``late`` touches what ``early`` touches in a later one, or in one that is more
      than `_MOST_PEELED` before it;
    - or several iterations of ``late`` touch the same element.
    """
    between = conflict_distances(early, late, kernel)
    among = conflict_distances(late, late, kernel)
    if between is None or between[0] < 0 or not 0 < between[1] <= _MOST_PEELED:
        return None
    return int(between[1]) if among is None or among == (0, 0) else None


def _is_early_first(
    body: Sequence[Stmt], early: Collection[str], late: Collection[str], kernel: Kernel
) -> bool:
    """Whether what stores to the arrays ``early`` may run first in `body`, an iteration, and what
    stores to the arrays ``late`` after it, although they are run in turn: no statement of the
    first kind depends on one of the second that stands before it, nor overwrites what that reads.
    In a loop with both kinds an iteration must not depend so on an earlier one either.
    """
    memory, before = AliasInfo(kernel), list[Stmt]()
    parts = zip(body, _slice(body, early), _slice(body, late), strict=True)
    for s, first, second in parts:
        if first is not None and (
            memory.overlap(arrays_written(before), arrays_read((first,)) | arrays_written((first,)))
            or memory.overlap(arrays_read(before), arrays_written((first,)))
        ):
            return False
        before += [] if second is None else [second]
        if isinstance(first, Loop | VecLoop) and isinstance(second, Loop | VecLoop):
            assert isinstance(s, Loop | VecLoop)
            between = conflict_distances(first, second, kernel)
            is_backward = between is not None and between[0] < 0
            is_within = between is not None and between[0] == 0
            if is_backward or (is_within and not _is_early_first(s.body, early, late, kernel)):
                return False
    return True


def _in_blocks(
    s: Loop, early: Loop, late: Loop, count: int, fresh: FreshNames
) -> Iterator[Loop]:
    """The loops that take the place of `s`, as in `peel_blocks`: over blocks of which the first
    ``count`` iterations leave out ``late``, and over what was left out.
    """
    assert isinstance(s.range, Interval)
    end = s.range.hi
    blocks = RangeDesc(s.range.lo, end, _BLOCK)
    block = Var(fresh.name(s.var), INDEX)
    behind = index_add(block, index_const(count))
    rest = Interval(behind, index_min(index_add(block, index_const(_BLOCK)), end))
    peeled = _renamed(replace(early, range=Interval(block, index_min(behind, end))), fresh)
    yield Loop(block.name, blocks, (peeled, replace(s, range=rest)), span=s.span)
    left_out = replace(late, range=Interval(block, index_min(behind, end)))
    yield _renamed(Loop(block.name, blocks, (left_out,), span=s.span), fresh)


def _renamed(loop: Loop, fresh: FreshNames) -> Loop:
    """`loop` with fresh names for all that it binds."""
    names = {n: fresh.name(n) for n in sorted(bound_names(loop))}
    renamed: Loop = rename_names(loop, names)
    return renamed
