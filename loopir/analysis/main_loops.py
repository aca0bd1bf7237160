"""Main loops: of the loops that one loop of the source has become, those that do its work.

    for v in x: out[int(v)] += 1    →    for i in vec(0, n): check(…)          # checks alone
                                         for i in loop(0, n): out[…] = …       # the main loop

Passes make checks a loop of their own, and split off the first or the last iterations. What a
report says of the loop of the source is said of its main loops.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..ir_names import names_read
from ..ir_traversal import EXPRESSIONS, children, range_bounds, walk
from ..nodes import (
    Accum,
    Append,
    Assign,
    Break,
    Expr,
    If,
    Kernel,
    Local,
    LoopLike,
    Node,
    Prefix,
    Scan,
    Span,
    Store,
    VecAccum,
    While,
    Yield,
)
from .loop_set import index_definitions, max_trips
from .work_estimate import GUESSED_TRIPS

__all__ = ["checks_only", "iteration_counts", "main_loops", "names_with_effects"]


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
    counts, used = iteration_counts(kernel), names_with_effects(kernel)
    local = frozenset(n.name for n in walk(kernel) if isinstance(n, Local))
    ranks = [(*_work(loop, local, used), counts[id(loop)]) for loop, _ in loops]
    best: dict[Span, tuple[bool, bool, bool, float]] = {}
    for rank, (_, origins) in zip(ranks, loops, strict=True):
        best |= {span: max(rank, best.get(span, rank)) for span in origins}
    for rank, (loop, origins) in zip(ranks, loops, strict=True):
        if main := [span for span in origins if rank == best[span]]:
            yield loop, [*main, *(span for span in origins if span not in main)]


def _work(
    loop: LoopLike, local: frozenset[str], used: frozenset[str]
) -> tuple[bool, bool, bool]:
    """What `loop` does, as a rank: whether it stores to another array than the `local` ones; has
    results, such as sums, that are `used`; has any effect but checks.
    """
    nodes = [*walk(loop)]
    stored = {n.array for n in nodes if isinstance(n, (Store, Append, Scan))}
    results = {n.name for n in nodes if isinstance(n, (Accum, VecAccum, Prefix))}
    has_results = not used.isdisjoint(results)
    return bool(stored - local), has_results, bool(stored) or has_results


def checks_only(loop: LoopLike, used: frozenset[str]) -> bool:
    """Whether `loop` has no effect but checks, also those behind it of what it folds. ``used``:
    the names that something else reads (`names_with_effects`).
    """
    return not any(_work(loop, frozenset(), used))


def names_with_effects(kernel: Kernel) -> frozenset[str]:
    """The names on which something else than checks depends: a store, a branch, a range, directly
    or by other names. Without `least` in::

        for i in loop(0, n, least=0): least = step(min(least, k[i]))
        check(least >= 0, "replay")
    """
    values: dict[str, set[str]] = {}
    used = set[str]()
    for n in walk(kernel):
        if isinstance(n, (Assign, Accum, VecAccum, Yield, Prefix)):
            values.setdefault(n.name, set()).update(names_read(*children(n)))
        elif isinstance(n, (Store, Append, Break)):
            used |= names_read(n)
        elif isinstance(n, (If, While)):
            used |= names_read(n.cond)
        elif isinstance(n, LoopLike) and not isinstance(n, While):
            used |= names_read(*range_bounds(n.range), *(
                part for part in (getattr(n, "until", None), getattr(n, "pred", None)) if part
            ))
    waiting = [*used]
    while waiting:
        new = values.get(waiting.pop(), set()) - used
        used |= new
        waiting += new
    return frozenset(used)


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
