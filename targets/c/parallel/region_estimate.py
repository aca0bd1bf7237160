"""The work of a parallel loop as C, in additions, and what a chunk has of it at least."""
from __future__ import annotations

from collections.abc import Callable

from loopir.analysis.parallelism import Splittable
from loopir.analysis.work_estimate import InnerWork, Work, advance, work_of
from loopir.ir_traversal import range_bounds
from loopir.nodes import Expr, Loop, RangeDesc

__all__ = ["least_chunk", "work_of_range"]


def least_chunk(n: Splittable) -> int:
    """The least iterations of a chunk, all of which are a multiple of it but the last:

    - of a vector loop its group, and at least 64 iterations: a chunk then covers whole cache lines,
      even of bytes, so that threads seldom store to the same line: at most to the one at the
      border of two chunks, where the array does not begin at a line;
    - of a scalar loop one step.
    """
    if isinstance(n.range, RangeDesc):
        return n.range.step
    if isinstance(n, Loop):
        return 1
    assert isinstance(n.width, int)
    return max(n.group or n.width, 64)


def work_of_range(n: Splittable, lo: str, hi: str, expr: Callable[[Expr], str]) -> str:
    """The work of all iterations of `n` from `lo` to `hi`, as a C double. ``expr``: the C text of
    an expression.
    """
    return f"(double)({hi} - {lo}) * ({_work(work_of(n), expr)}) * {1 / advance(n)!r}"


def _work(work: Work, expr: Callable[[Expr], str]) -> str:
    """`work` as a C double."""
    terms = [repr(work.constant)]
    terms += [f"{_trips(part, expr)} * ({_work(part.work, expr)})" for part in work.inner]
    return " + ".join(terms)


def _trips(part: InnerWork, expr: Callable[[Expr], str]) -> str:
    """How often the body of a loop in the region runs, as a C double."""
    if part.trips is not None:
        return repr(part.trips)
    assert isinstance(part.loop, Splittable)
    start, end = range_bounds(part.loop.range)
    return f"(double)({expr(end)} - {expr(start)}) * {1 / advance(part.loop)!r}"
