"""Fusion-preventing dependences: accesses of two loops whose order one loop would reverse.

The rule: where the first loop touches an element in iteration v1 and the second in v2, and at least
one of them writes it, one loop keeps their order if and only if v1 <= v2 for every such element.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from ..analysis.access import Access, accesses
from ..analysis.affine import Affine, AffineBindings, constant_form
from ..analysis.dependence import (
    Alias,
    Overlap,
    affine_trip_count,
    alias_relation,
    dependence_distance,
)
from ..ir_traversal import walk
from ..lazy_dataclass import record
from ..nodes import Kernel, Loop

__all__ = ["Conflict", "Witness", "fusion_conflicts", "is_updated_in_place", "smallest_witness"]

_MAX_WITNESS_TRIPS = 9  # limit on the trip counts tried for a witness


@record(frozen=True, slots=True)
class Conflict:
    """``first`` and ``second`` may access one element in the wrong order.

    ``apart``: the distance of the dependence, the iteration of the second loop minus that of the
    first that access the same element (negative: the wrong order once joined), or UNKNOWN.
    """

    first: Access
    second: Access
    alias: Alias
    apart: int | Overlap


@record(frozen=True, slots=True)
class Witness:
    """An example: with ``trips`` iterations, iteration ``early`` of the second loop and ``late`` of
    the first access ``element``.
    """

    trips: int
    early: int
    late: int
    element: str


def fusion_conflicts(
    kernel: Kernel, first: Loop, second: Loop, outer: Sequence[str], known: AffineBindings,
    trips: Affine | None,
) -> tuple[Conflict, ...]:
    """All conflicts between two loops over one variable, inside loops over `outer`.

    `trips`: the trip count of both, if it is known.
    """
    before = accesses((first,), outer, known)
    after = accesses((second,), outer, known)
    found = (
        Conflict(a, b, known_alias, dependence_distance(a, b, first.var, trips))
        for a, b in product(before, after)
        if a.is_write or b.is_write
        if (known_alias := alias_relation(kernel, a.array, b.array)) is not Alias.DISJOINT
    )
    return tuple(c for c in found if c.apart is Overlap.UNKNOWN or _is_reversed(c.apart))


def _is_reversed(apart: int | Overlap) -> bool:
    """Whether this distance is known, and of a dependence that joining the loops would reverse."""
    return isinstance(apart, int) and apart < 0


def is_updated_in_place(kernel: Kernel, a: str, b: str) -> bool:
    """Whether some loop of `kernel` reads one array and writes the other at the same subscripts.

    Then callers are likely to pass one array for both, for an update in place.
    """
    loops = (n for s in kernel.body for n in walk(s) if isinstance(n, Loop))
    return any(
        x.index == y.index and x.is_write != y.is_write and None not in x.index
        for loop in loops
        for x, y in product(_accesses_of(loop, a), _accesses_of(loop, b))
    )


def _accesses_of(loop: Loop, array: str) -> Iterator[Access]:
    return (a for a in accesses((loop,)) if a.array == array)


def smallest_witness(conflict: Conflict, first: Loop, known: AffineBindings) -> Witness | None:
    """The smallest example in which one loop would access an element in the wrong order; None if
    none is found.
    """
    trips = affine_trip_count(first.range, known)
    for n in range(1, _MAX_WITNESS_TRIPS):
        for early, late in ((e, v) for v in range(n) for e in range(v)):
            if trips is not None and _meet(conflict, first.var, early, late, trips, n):
                return Witness(n, early, late, _element_at(conflict, first.var, early, trips, n))
    return None


def _meet(c: Conflict, var: str, early: int, late: int, trips: Affine, n: int) -> bool:
    """Whether iteration `late` of the first and `early` of the second access one element, with `n`
    trips.
    """
    if len(c.first.index) != len(c.second.index):
        return False
    inner = set(c.first.loops + c.second.loops) - {var}
    for a, b in zip(c.first.index, c.second.index, strict=True):
        if a is None or b is None:
            return False
        gap = _with_trips(a.at(var, late) - b.at(var, early), trips, n)
        if gap.without(inner).number != 0:
            return False
    return True


def _with_trips(form: Affine, trips: Affine, n: int) -> Affine:
    """`form` with the trip count set to `n`, if `trips` is a symbol plus an offset."""
    if len(trips.symbols) != 1 or trips.variables:
        return form
    [(symbol, factor)] = trips.symbols
    times = form.coefficient(symbol)
    return form - (trips - constant_form(n)) * (times * factor) if abs(factor) == 1 else form


def _element_at(c: Conflict, var: str, early: int, trips: Affine, n: int) -> str:
    forms = (f for f in c.second.index if f is not None)
    shown = ", ".join(str(_with_trips(f.at(var, early), trips, n)) for f in forms)
    return f"{c.second.array}[{shown}]"
