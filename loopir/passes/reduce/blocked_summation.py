"""Blocked summation: long float sums are summed by blocks, which bounds the rounding error.

The order of the terms of a float sum, which decides its bits, is fixed in these steps, each of
which depends on the loop and the number of terms alone, not on the target or on threads:

1. A sum of few terms keeps the order of its source (`keep_fold_order`, `vectorize.is_short_fold`).
2. One of more than 4096 terms is cut into blocks here, whose results are added in the order of the
   blocks. The pass runs just before `vectorize`, after `keep_fold_order`.
3. In a block, term k goes to partial sum k % group (`vectorize._group_lanes`).
4. The partial sums of a block are added by halving (`nodes.HReduce`).
"""
from __future__ import annotations

from collections.abc import Mapping

from ...analysis.loop_reductions import Reduction, goes_on_through, reduction_of
from ...ir_names import FreshNames
from ...ir_traversal import counted_range
from ...lazy_dataclass import replace
from ...nodes import Call, Kernel, Loop, Stmt, Var
from ...statement_blocks import map_statements
from ..loop_splitting import max_trips_of_strip, strip_mine_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["blocked_summation"]

BLOCK_ELEMENTS = 4096  # elements that one set of accumulators sums
BLOCKS_PER_GROUP = 64  # block sums that are added before they are added to the total


def blocked_summation(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Take float sums and products in blocks of 4096 elements, and these in blocks of 64 blocks.

    Each block starts at the neutral element, so that a term goes through about as many roundings as
    in a pairwise sum, which NumPy uses (Higham, The Accuracy of Floating Point Summation, 1993).
    Other accumulators pass from block to block. Nothing is done with ``reassociate=False``, nor to
    a loop that cannot be vectorised (`vectorization_obstacle`): it keeps the order of its source,
    however long it is. A loop of at most 4096 iterations is a single block, and stays as it is.
    Before::

        def k(x: f32[::1], total: mut(f32[()])):
            disjoint(x, total)
            for i in loop(0, x.shape[0], s=f32(0.0)):
                s = step(s + x[i])
            total[()] = s

    after::

        def k(x: f32[::1], total: mut(f32[()])):
            disjoint(x, total)
            for i_2 in loop(range(0, x.shape[0], 262144), s=f32(0.0)):
                for i_1 in loop(range(i_2, min(i_2 + 262144, x.shape[0]), 4096), s_2=f32(-0.0)):
                    for i in loop(i_1, min(i_1 + 4096, x.shape[0]), s_1=f32(-0.0)):
                        s_1 = step(s_1 + x[i])
                    s_2 = step(s_2 + s_1)
                s = step(s + s_2)
            total[()] = s
    """
    if not reassociate:
        return kernel
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` in blocks, if it has float folds and may be longer than one block."""
        if (
            not isinstance(s, Loop)
            or not _exceeds_one_block(s)
            or vectorization_obstacle(s, kernel)
        ):
            return s
        folds = [f for a in s.accs if (f := reduction_of(a, s)) is not None and f.is_inexact]
        return _in_blocks(s, {f.acc.name: f for f in folds}, fresh) if folds else s

    def restart(s: Stmt) -> Stmt:
        """`s` with the sums that go on in loops inside it starting anew there."""
        return _with_sums_of_runs(s, kernel) if isinstance(s, Loop) else s

    return map_statements(map_statements(kernel, restart, Loop), edit, Loop)


def _with_sums_of_runs(s: Loop, kernel: Kernel) -> Loop:
    """`s` with the float folds that go on through a loop inside it, which may be vectorised, as
    folds of the results of its runs. These do not depend on one another, so that threads may share
    them (`split_folds`). The bits are the same, if a run has no more than 64 blocks::

        for i in loop(…, s=0.0):                        for i in loop(…, s=0.0):
            for j in loop(…, t=s): t = step(t + x)  →       for j in loop(…, t=-0.0): t = …
            s = step(t)                                     s = step(s + t)
    """
    body, accs = [*s.body], {a.name: a for a in s.accs}
    for k, inner in enumerate(body):
        if not isinstance(inner, Loop) or vectorization_obstacle(inner, kernel):
            continue
        inner_accs = [*inner.accs]
        for m, a in enumerate(inner.accs):
            outer = accs.get(a.init.name) if isinstance(a.init, Var) else None
            fold = reduction_of(a, inner)
            if outer is None or fold is None or not fold.is_inexact:
                continue
            if goes_on_through(outer, a, inner, s):
                inner_accs[m] = replace(a, init=fold.start)
                step = Call(fold.op, (outer.current, a.current), fold.dtype)
                accs[outer.name] = replace(outer, step=step)
        body[k] = replace(inner, accs=tuple(inner_accs))
    changed = replace(s, body=tuple(body), accs=tuple(accs.values()))
    return s if changed == s else changed


def _exceeds_one_block(loop: Loop) -> bool:
    """Whether the loop may run for more than one block."""
    counted = counted_range(loop)
    if counted is None:
        return False
    count = max_trips_of_strip(counted)
    return count is None or count > BLOCK_ELEMENTS


def _in_blocks(loop: Loop, folds: Mapping[str, Reduction], fresh: FreshNames) -> Loop:
    """`loop` over blocks, and over blocks of blocks; the `folds` start anew in each."""
    blocks = strip_mine_loop(loop, BLOCK_ELEMENTS, folds, fresh)
    outer = {a.name: replace(folds[a.name], acc=a) for a in blocks.accs if a.name in folds}
    return strip_mine_loop(blocks, BLOCK_ELEMENTS * BLOCKS_PER_GROUP, outer, fresh)
