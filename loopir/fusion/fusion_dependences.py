"""Fusion-preventing dependences: accesses of two loops whose order one loop would reverse.

The rule: where the first loop touches an element in iteration v1 and the second in v2, and at least
one of them writes it, the joined loop keeps their order if and only if v1 <= v2 for every such
element.

    for i: t[i] = x[i]          t[i + 1] is read in iteration i of the second loop, and written in
    for i: y[i] = t[i + 1]      iteration i + 1 of the first: distance -1, a conflict

With ``t[i - 1]`` the distance is 1: iteration i reads what iteration i - 1 has written, also in the
joined loop.

`fusion_conflicts` finds the pairs that break the rule, by the distance of `analysis.dependence`;
`fusion_legality` turns them into rejections, and `smallest_witness` gives the example that a
rejection shows.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ..analysis.access import Access, accesses
from ..analysis.dependence import (
    Alias,
    DependenceDistances,
    Overlap,
    affine_trip_count,
    alias_relation,
)
from ..analysis.integers.affine import Affine, AffineBindings, constant_form
from ..ir_traversal import memoized_per_node, walk_statements
from ..lazy_dataclass import record
from ..nodes import Kernel, Loop, Stmt

__all__ = ["Conflict", "Witness", "fusion_conflicts", "is_updated_in_place", "smallest_witness"]

_MAX_WITNESS_TRIPS = 9  # limit on the trip counts tried for a witness


@record(frozen=True, slots=True)
class Conflict:
    """Two accesses of one element whose order the joined loop could reverse."""

    first: Access  # in the first loop
    second: Access  # in the second loop
    alias: Alias  # of their arrays: SAME, or SAME_OR_DISJOINT
    distance: int | Overlap
    """The iteration of the second loop minus that of the first that access the same element. It is
    negative (wrong order once joined), or UNKNOWN.
    """


@record(frozen=True, slots=True)
class Witness:
    """An example of a conflict: two iterations that access ``element`` in the wrong order."""

    trips: int  # trip count of both loops in the example
    early: int  # iteration of the second loop; it is before `late`
    late: int  # iteration of the first loop
    element: str  # as text, for instance ``t[3]``


def fusion_conflicts(
    kernel: Kernel, first: Loop, second: Loop, outer: Sequence[str], bindings: AffineBindings,
    trips: Affine | None,
) -> tuple[Conflict, ...]:
    """All conflicts between two loops over one variable, inside loops over `outer`: the pairs of
    accesses, one in each loop, whose order the joined loop would reverse, or may reverse.

        for i: t[i] = x[i]
        for i: y[i] = t[i + 1]    →    (Conflict(t[i], t[i + 1], distance=-1),)
        for i: y[i] = t[i - 1]    →    ()      the distance is 1: the write comes first, as before

    Two reads, accesses of disjoint arrays, and accesses at a known distance that is not negative
    are no conflicts; those at an unknown distance are. `bindings`: affine forms of names; `trips`:
    the trip count of both loops, None if it is not known. Called for each `LoopPair`, whose
    legality it decides, and for each shift that is considered (`shift_and_peel`).
    """
    distances = DependenceDistances(first.var, trips)
    first_accesses, second_accesses = (
        [(a, distances.number(a)) for a in accesses((loop,), outer, bindings)]
        for loop in (first, second)
    )
    candidates = (
        Conflict(a, b, alias, distances.between(a, m, b, n))
        for (a, m), (b, n) in product(first_accesses, second_accesses)
        if a.is_write or b.is_write
        if (alias := alias_relation(kernel, a.array, b.array)) is not Alias.DISJOINT
    )
    return tuple(c for c in candidates if c.distance is Overlap.UNKNOWN or _is_reversed(c.distance))


def _is_reversed(distance: int | Overlap) -> bool:
    """Whether the distance is a known number, and joining the loops would reverse the dependence.
    """
    return isinstance(distance, int) and distance < 0


def is_updated_in_place(kernel: Kernel, a: str, b: str) -> bool:
    """Whether some loop of `kernel` reads one array and writes the other at the same subscripts.

    Then callers are likely to pass one array for both, for an update in place.
    """
    return any(frozenset((a, b)) in _pairs_updated_in_place(s) for s in kernel.body)


@memoized_per_node
def _pairs_updated_in_place(s: Stmt) -> frozenset[frozenset[str]]:
    """The pairs of arrays that some loop in `s` reads and writes at the same subscripts."""
    pairs = set[frozenset[str]]()
    for loop in walk_statements(s):
        if isinstance(loop, Loop):
            touched = [a for a in accesses((loop,)) if None not in a.index]
            reads = [a for a in touched if not a.is_write]
            writes = [a for a in touched if a.is_write]
            pairs.update(
                frozenset((x.array, y.array))
                for x, y in product(reads, writes) if x.index == y.index
            )
    return frozenset(pairs)


def smallest_witness(conflict: Conflict, first: Loop, bindings: AffineBindings) -> Witness | None:
    """The smallest trip count of both loops, and iterations, for which one loop would make the two
    accesses of `conflict` in the wrong order; None if there is none below `_MAX_WITNESS_TRIPS`, or
    if a subscript or the trip count is not affine. `first`: the first loop; `bindings`: affine
    forms of names.
    """
    trips = affine_trip_count(first.range, bindings)
    for n in range(1, _MAX_WITNESS_TRIPS):
        for early, late in ((e, v) for v in range(n) for e in range(v)):
            if trips is not None and _same_element(conflict, first.var, early, late, trips, n):
                return Witness(n, early, late, _element_at(conflict, first.var, early, trips, n))
    return None


def _same_element(c: Conflict, var: str, early: int, late: int, trips: Affine, n: int) -> bool:
    """Whether, with `n` trips, iteration `late` of the first loop and `early` of the second
    certainly access one element.
    """
    if len(c.first.index) != len(c.second.index):
        return False
    inner = set(c.first.loops + c.second.loops) - {var}
    for a, b in zip(c.first.index, c.second.index, strict=True):
        if a is None or b is None:
            return False
        difference = _with_trips(a.at(var, late) - b.at(var, early), trips, n)
        if difference.without(inner).number != 0:
            return False
    return True


def _with_trips(form: Affine, trips: Affine, n: int) -> Affine:
    """`form` with the trip count `trips` set to `n`; unchanged if `trips` is not one symbol, or its
    negative, plus an offset.
    """
    if len(trips.symbols) != 1 or trips.variables:
        return form
    [(symbol, factor)] = trips.symbols
    coefficient = form.coefficient(symbol)
    return form - (trips - constant_form(n)) * (coefficient * factor) if abs(factor) == 1 else form


def _element_at(c: Conflict, var: str, early: int, trips: Affine, n: int) -> str:
    """The element that the second loop accesses in iteration `early`, as text, with `n` trips."""
    forms = (f for f in c.second.index if f is not None)
    subscripts = ", ".join(str(_with_trips(f.at(var, early), trips, n)) for f in forms)
    return f"{c.second.array}[{subscripts}]"
