"""Row blocking (cache blocking): each row is combined with a block of others that fits the cache.

For sums over pairs of rows (such as a @ b.T) the loop over the other rows is strip-mined, and the
loop over the strips, blocks of rows, is moved outermost, so that a block stays in the cache while
all rows are combined with it. Sums are along rows, so their order does not change.
"""
from __future__ import annotations

from typing import Any

from ...analysis.uniformity import first_lane_code
from ...dtypes import INDEX
from ...ir_names import FreshNames, names_read
from ...ir_traversal import map_children, walk
from ...lazy_dataclass import replace
from ...machine_model import DEFAULT_MACHINE, Machine, strip_length
from ...nodes import If, Interval, Kernel, Load, Loop, Var
from ..loop_splitting import max_trips_of_strip, strip_mine
from ..reduce.blocked_summation import BLOCK_ELEMENTS
from ..vector.vectorize_outer import can_run_in_lockstep
from .jam import sums_only_rows

__all__ = ["block_rows"]

CACHE_EIGHTHS = 4  # the rows of one block fill so many eighths of the L2 cache


def block_rows(kernel: Kernel, *, machine: Machine = DEFAULT_MACHINE) -> Kernel:
    """Combine each row with a block of the other rows that fits the cache, before the next block.
    The loop over blocks goes outermost; both loops must be free of dependences and nothing but sums
    along rows may be inside (`_blockable_inner`). If all rows fit in one block, the nest is not
    changed. Before::

        def k(n: i64, a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, n):
                for j in loop(0, n):
                    for k in vec(0, n, width=W, group=32, s=-0.0):
                        s = step(s + a[i, k:W] * b[j, k:W])
                    c[i, j] = hreduce("add", s)

    after::

        def k(n: i64, a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for j_1 in loop(range(0, n, 8)):
                for i in loop(0, n):
                    for j in loop(j_1, min(j_1 + 8, n)):
                        for k in vec(0, n, width=W, group=32, s=-0.0):
                            s = step(s + a[i, k:W] * b[j, k:W])
                        c[i, j] = hreduce("add", s)
    """
    fresh = FreshNames(kernel)
    # A strip fills an eighth of the cache; a row is at most one summation block of 8-byte elements.
    rows_per_block = CACHE_EIGHTHS * strip_length(machine.caches[1], BLOCK_ELEMENTS * 8)

    def visit(n: Any) -> Any:
        """`n` with the pairs of loops in it blocked, unless the inner one is short."""
        if isinstance(n, Loop) and (inner := _blockable_inner(n, kernel)) is not None:
            assert isinstance(inner.range, Interval)
            count = max_trips_of_strip(inner.range)
            if count is not None and count <= rows_per_block:
                return n
            strip = Var(fresh.name(inner.var), INDEX)
            strips, strip_range = strip_mine(inner.range, rows_per_block, strip)
            body = (replace(n, body=(replace(inner, range=strip_range),)),)
            return Loop(strip.name, strips, body, span=n.span)
        return map_children(n, visit) if isinstance(n, Kernel | Loop | If) else n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def _blockable_inner(n: Loop, kernel: Kernel) -> Loop | None:
    """The loop directly in the loop `n` that can be blocked; None if there is none.

        for i in loop(0, n):                     each row i of a is combined with each row j of b:
            for j in loop(0, m):                 the loop over j is blocked, so that some rows of b
                c[i, j] = sum of a[i] * b[j]     stay in the cache while all i use them

    It must be all that is in `n`, which reduces along rows only (`sums_only_rows`); its range must
    be the same for all i, so that the loop over blocks can go outermost; it must load rows that do
    not depend on i; and the iterations of both loops must be able to run in any order.
    """
    if len(n.body) != 1 or not isinstance(inner := n.body[0], Loop) or not sums_only_rows(n):
        return None
    if n.var in names_read(inner.range) or not isinstance(inner.range, Interval):
        return None  # strips of a range that differs from row to row cannot be moved outermost
    loads = [x for x in walk(inner) if isinstance(x, Load) and x.lanes != 1]
    shared = [
        x for x in loads if inner.var in names_read(*x.index) and n.var not in names_read(*x.index)
    ]
    if not shared:
        return None  # no row is used again
    # the iterations of both loops may run in any order
    scalar_code = first_lane_code(n)
    are_parallel = all(can_run_in_lockstep(s, kernel, 2) for s in (scalar_code, *scalar_code.body))
    return inner if are_parallel else None
