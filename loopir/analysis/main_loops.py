"""Main loops: of the loops that one loop of the source has become, those that do its work.

    for v in x: out[int(v)] += 1    →    for i in vec(0, n): check(…)          # checks alone
                                         for i in loop(0, n): out[…] = …       # the main loop

Passes make checks a loop of their own, and split off the first or the last iterations. What a
report says of the loop of the source is said of its main loops.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..ir_traversal import EXPRESSIONS, children, walk
from ..nodes import (
    Append,
    Expr,
    Kernel,
    Local,
    LoopLike,
    Node,
    Prefix,
    Scan,
    Span,
    Store,
    While,
)
from .loop_set import index_definitions, max_trips
from .work_estimate import GUESSED_TRIPS

__all__ = ["checks_only", "iteration_counts", "main_loops"]


def main_loops(
    loops: Sequence[tuple[LoopLike, Sequence[Span]]], kernel: Kernel
) -> Iterator[tuple[LoopLike, list[Span]]]:
    """Those of the `loops` of `kernel` that are the main loop of one of the source, each with the
    places of the loops of the source whose statements it runs; those whose main loop it is come
    first. Not yielded are, if another one runs more of the same loop of the source,

    - a loop of checks alone (`checks_only`);
    - a loop that only folds, as the one for the greatest item in ``np.bincount(x)``, or that fills
      a local array, where another one stores;
    - iterations that were split off, such as the first and the last one of a stencil, of which
      there are fewer (`iteration_counts`).

    Several loops of one rank are all main loops, such as the two versions of a loop.
    """
    counts = iteration_counts(kernel)
    local = frozenset(n.name for n in walk(kernel) if isinstance(n, Local))
    ranks = [(_stores(n, local), not checks_only(n), counts[id(n)]) for n, _ in loops]
    best: dict[Span, tuple[bool, bool, float]] = {}
    for rank, (_, origins) in zip(ranks, loops, strict=True):
        best |= {span: max(rank, best.get(span, rank)) for span in origins}
    for rank, (loop, origins) in zip(ranks, loops, strict=True):
        if main := [span for span in origins if rank == best[span]]:
            yield loop, [*main, *(span for span in origins if span not in main)]


def _stores(loop: LoopLike, local: frozenset[str]) -> bool:
    """Whether `loop` stores to another array than the local ones."""
    return any(
        isinstance(n, (Append, Scan)) or (isinstance(n, Store) and n.array not in local)
        for n in walk(loop)
    )


def checks_only(loop: LoopLike) -> bool:
    """Whether `loop` has no effect but its checks."""
    return not any(
        isinstance(n, (Store, Append, Prefix, Scan)) or getattr(n, "accs", ()) for n in walk(loop)
    )


def iteration_counts(kernel: Kernel) -> dict[int, float]:
    """About how many iterations each loop of `kernel` runs in a call, by the ``id`` of a loop: the
    product of the trip counts of the loops around it, its own, and those of the loops in it, of
    which the ones with the most count. So the main part of a split loop has more than what was
    peeled off::

        for i in vec(0, end): ...           # 64, a guess
        for i in loop(end, n): ...          # 1, if end = min(n, n - 1)

    A trip count without a constant upper bound is guessed (`GUESSED_TRIPS`), and none is taken to
    be higher. Lanes count as iterations.
    """
    definitions = index_definitions(kernel)
    counts: dict[int, float] = {}

    def visit(n: Node, around: float) -> float:
        """Notes the loops in `n`, which runs `around` times; returns the highest count."""
        if isinstance(n, EXPRESSIONS):
            return 0.0
        if not isinstance(n, LoopLike):
            return max((visit(c, around) for c in children(n)), default=0.0)
        around *= _trips_up_to_guess(n, definitions)
        most = max(around, *(visit(c, around) for c in children(n)))
        counts[id(n)] = max(most, counts.get(id(n), 0.0))  # one node may stand in two places
        return most

    visit(kernel, 1.0)
    return counts


def _trips_up_to_guess(n: LoopLike, definitions: Mapping[str, Expr]) -> float:
    """The trip count of `n` for `iteration_counts`, lanes counted."""
    most = None if isinstance(n, While) else max_trips(n.range, definitions)
    return GUESSED_TRIPS if most is None else min(most, GUESSED_TRIPS)
