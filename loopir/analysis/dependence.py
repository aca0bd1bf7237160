"""Dependence analysis: which pairs of accesses must keep their order, carried by one loop.

Decided on affine subscripts in the canonical loop variables; an access whose subscript is not
affine may touch any element.

    for i: y[i + 1] = y[i]     flow dependence of distance 1: iteration i + 1 reads what i wrote

`dependence_distance` is the test for two accesses; `dependences` applies it to all pairs of a loop,
with at least one write, whose arrays may overlap. Which arrays may overlap follows from the guards
of the kernel (`AliasTable`).
"""
from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from itertools import combinations_with_replacement
from math import gcd

from ..ir_traversal import memoized_by, memoized_per_node
from ..lazy_dataclass import record
from ..nodes import Disjoint, Guard, Interval, Kernel, Loop, Range
from .access import Access, accesses
from .integers.affine import (
    Affine,
    AffineBindings,
    affine_form,
    constant_form,
    extreme_form,
    unclamped_end,
)

__all__ = [
    "Alias", "AliasTable", "Dependence", "DependenceDistances", "Overlap", "affine_trip_count",
    "alias_relation", "alias_table", "dependence_distance", "dependences", "may_alias",
]


class Alias(Enum):
    """The alias relation of two arrays of a kernel (LLVM: NoAlias, MustAlias, MayAlias).

    Two arrays that overlap in part, one of which is written, are never in a kernel: its guards
    turn such a call down.
    """

    DISJOINT = "disjoint"
    SAME = "one array"
    SAME_OR_DISJOINT = "one array, or disjoint"


class Overlap(Enum):
    """The result of a dependence test of two accesses that gives no constant distance."""

    NEVER = "no element"  # the accesses are independent
    UNKNOWN = "perhaps an element, in any two iterations"  # the test proves nothing


@record(frozen=True, slots=True)
class Dependence:
    """``sink`` accesses the element that ``source`` accessed ``distance`` iterations before."""

    source: Access
    sink: Access
    distance: int | None
    """At least 0. At 0 both are in one iteration, ``sink`` later in the text. None: any two
    iterations may conflict, in either order."""

    @property
    def kind(self) -> str:
        """``"flow"`` (write, read), ``"anti"`` (read, write) or ``"output"`` (write, write)."""
        if self.source.is_write:
            return "output" if self.sink.is_write else "flow"
        return "anti"


def alias_relation(kernel: Kernel, a: str, b: str) -> Alias:
    """Whether the arrays `a` and `b` of `kernel` are disjoint, one array, or perhaps one: what the
    kernel's guards, which have been tested when a loop runs, leave open.

        disjoint(x, y)             Alias.DISJOINT
        disjoint_or_same(x, y)     Alias.SAME_OR_DISJOINT: one array for both is allowed
        no guard                   Alias.DISJOINT, or neither array is written

    Lowering adds a guard for every pair that may conflict (`assemble_plan.alias_guards`); a call
    whose arrays overlap in any other way is left to Python.
    """
    return alias_table(kernel).relation(a, b)


class AliasTable:
    """The alias relation of each two arrays, by the guards. Equal guards share one table, which is
    compared by identity.
    """

    __slots__ = ("_relations",)

    def __init__(self, guards: tuple[Guard | Disjoint, ...]) -> None:
        self._relations: dict[tuple[str, str], Alias] = {}
        for g in guards:
            if isinstance(g, Disjoint):  # the first guard of two arrays counts
                relation = Alias.SAME_OR_DISJOINT if g.or_same else Alias.DISJOINT
                self._relations.setdefault((g.a, g.b), relation)
                self._relations.setdefault((g.b, g.a), relation)

    def relation(self, a: str, b: str) -> Alias:
        return Alias.SAME if a == b else self._relations.get((a, b), Alias.DISJOINT)


_table_of_guards = lru_cache(maxsize=64)(AliasTable)


@memoized_per_node
def alias_table(kernel: Kernel) -> AliasTable:
    """The relations of the arrays of `kernel`."""
    return _table_of_guards(kernel.guards)


def may_alias(kernel: Kernel, a: str, b: str) -> bool:
    """Whether arrays `a` and `b` of `kernel` may have an element in common, by the kernel's guards,
    which have been tested when its code runs:

        a and a                    True
        disjoint_or_same(a, b)     True: the caller may have passed one array for both
        disjoint(a, b)             False
        no guard                   False: they are disjoint, or neither is written. Lowering adds a
                                   guard for each pair that may conflict (`alias_guards`)

    For many queries on one kernel use `mod_ref.AliasInfo`.
    """
    return alias_relation(kernel, a, b) is not Alias.DISJOINT


def affine_trip_count(r: Range, bindings: AffineBindings | None = None) -> Affine | None:
    """The trip count of a loop over `r` as an affine form, negative where the range is empty; None
    if it is not affine. `bindings`: affine forms of names.
    """
    if not isinstance(r, Interval):
        return None
    lo, hi = affine_form(r.lo, (), bindings), affine_form(unclamped_end(r), (), bindings)
    return hi - lo if lo and hi else None


def dependence_distance(
    first: Access, second: Access, var: str, trips: Affine | None = None
) -> int | Overlap:
    """How many iterations of the loop over `var` after `first` the access `second` touches the same
    element; negative: before it. Both access one array.

        first    second       result
        x[i + 1] x[i]         1: iteration 1 of the second touches x[1], as iteration 0 of the first
        x[2 * i] x[2 * i + 1] NEVER: an even and an odd subscript (GCD test)
        x[i]     x[k[i]]      UNKNOWN: a subscript that is not affine

    NEVER: no two iterations touch one element, or the distance is at least the trip count `trips`.
    UNKNOWN: the distance is not one constant. Variables of loops around the one over `var` have one
    value for both; those of loops inside it may have any.

    Each test looks at one axis alone; the accesses meet only where they meet on all axes. So NEVER
    on one axis is NEVER, and so are different distances on two axes.
    """
    if len(first.index) != len(second.index):
        return Overlap.UNKNOWN  # one memory as arrays of different rank
    if any(_never_equal(first, second, axis, var) for axis in range(len(first.index))):
        return Overlap.NEVER
    inner_variables = _inner_variables(first, var) | _inner_variables(second, var)
    affine_axes = [(a, b) for a, b in zip(first.index, second.index, strict=True) if a and b]
    comparable_axes = [
        (a, b) for a, b in affine_axes if not inner_variables & (a.variables | b.variables)
    ]
    distances = [_axis_distance(a, b, var, trips) for a, b in comparable_axes]
    distances.append(_distance_of_fixed([_fixed_iterations(a, b, var) for a, b in comparable_axes]))
    if Overlap.NEVER in distances:
        return Overlap.NEVER
    constants = {d for d in distances if isinstance(d, int)}
    if len(constants) > 1:
        return Overlap.NEVER
    return constants.pop() if constants else Overlap.UNKNOWN


class DependenceDistances:
    """`dependence_distance` of the accesses of a loop over ``var``, each computed once for all
    pairs with the same subscripts: joined loops access few elements, many times.
    """

    def __init__(self, var: str, trips: Affine | None) -> None:
        self._var, self._trips = var, trips
        self._subscripts: dict[object, int] = {}  # numbers of subscripts and the loops around them
        self._distances: dict[tuple[int, int], int | Overlap] = {}

    def number(self, access: Access) -> int:
        """A number that accesses with equal subscripts in equal loops share."""
        subscripts = access.index, access.loops, access.loop_ranges
        return self._subscripts.setdefault(subscripts, len(self._subscripts))

    def between(
        self, first: Access, first_number: int, second: Access, second_number: int
    ) -> int | Overlap:
        """The distance from `first` to `second`, whose `number` is given."""
        pair = first_number, second_number
        distance = self._distances.get(pair)
        if distance is None:
            distance = dependence_distance(first, second, self._var, self._trips)
            self._distances[pair] = distance
        return distance


def dependences(loop: Loop, kernel: Kernel) -> list[Dependence]:
    """The dependences of `loop`, carried from iteration to iteration or within one: each pair of
    accesses in its body that may touch one element, with at least one write.

        for i: y[i + 1] = y[i] + x[i]      [Dependence(y[i + 1], y[i], distance=1)], kind "flow"

    Arrays that a `Disjoint` guard allows to be the same are treated as one. Vectorisation, fusion
    and permutation of loops ask which of these their change would reverse. Kept per loop, since
    many passes ask.
    """
    return [*_dependences_of(loop, alias_table(kernel))]


@memoized_by
def _dependences_of(loop: Loop, arrays: AliasTable) -> list[Dependence]:
    """The dependences of `loop`, memoised; `arrays`: the alias relations."""
    distances = DependenceDistances(loop.var, affine_trip_count(loop.range))
    accessed = [(a, distances.number(a)) for a in accesses((loop,)) if loop.var in a.loops]
    pairs = combinations_with_replacement(accessed, 2)
    return [
        d for (a, m), (b, n) in pairs
        if a.is_write or b.is_write
        if arrays.relation(a.array, b.array) is not Alias.DISJOINT
        for d in _dependence(a, b, distances.between(a, m, b, n))
    ]


def _dependence(a: Access, b: Access, distance: int | Overlap) -> Iterator[Dependence]:
    """The dependence of two accesses at this `distance`, from the earlier to the later iteration;
    nothing if there is none.
    """
    match distance:
        case Overlap.NEVER:
            return
        case Overlap.UNKNOWN:
            yield Dependence(a, b, None)
        case 0 if a is b:
            return
        case int():
            yield Dependence(a, b, distance) if distance >= 0 else Dependence(b, a, -distance)


def _inner_variables(access: Access, var: str) -> frozenset[str]:
    """The variables of the loops around `access` that are inside the loop over `var`."""
    loops = access.loops
    return frozenset(loops[loops.index(var) + 1 :] if var in loops else ())


def _axis_distance(first: Affine, second: Affine, var: str, trips: Affine | None) -> int | Overlap:
    """The distance by one axis, with subscripts that contain no variable of an inner loop. With
    ``first = a * i + p`` and ``second = b * j + q`` (i, j: the iterations) they are equal where
    ``b * j - a * i = p - q``.

    - No solution if the greatest common divisor of a and b does not divide p - q (GCD test), or if
      a = b and j - i would be at least the trip count.
    - If a = b, every solution has the distance ``j - i = (p - q) / a``.
    """
    a, b = first.coefficient(var), second.coefficient(var)
    difference = first.without((var,)) - second.without((var,))  # p - q
    has_one_distance = a == b != 0
    if has_one_distance and trips is not None and _exceeds_length(difference, trips * abs(a)):
        return Overlap.NEVER
    offset = difference.number
    if offset is None:
        return Overlap.UNKNOWN
    divisor = gcd(a, b)
    if offset % divisor if divisor else offset:
        return Overlap.NEVER
    return offset // a if has_one_distance else Overlap.UNKNOWN


def _fixed_iterations(
    first: Affine, second: Affine, var: str
) -> tuple[Affine | None, Affine | None]:
    """The one iteration in which `first` can equal a loop-invariant `second`, and the one in which
    `second` can equal a loop-invariant `first`; None where there is no such iteration, or it is not
    known, since the step is not 1 or -1.

        x[i - 1], x[k]    (k + 1, None)
    """
    first_step, second_step = first.coefficient(var), second.coefficient(var)
    difference = second.without((var,)) - first.without((var,))
    if abs(first_step) == 1 and second_step == 0:
        return difference * first_step, None
    if abs(second_step) == 1 and first_step == 0:
        return None, difference * -second_step
    return None, None


def _distance_of_fixed(iterations: list[tuple[Affine | None, Affine | None]]) -> int | Overlap:
    """The distance where one axis confines the first access to one iteration, and another axis the
    second; UNKNOWN if none do. `iterations`: `_fixed_iterations` of each axis.
    """
    distances = [(b - a).number for a, _ in iterations if a for _, b in iterations if b]
    return next((k for k in distances if k is not None), Overlap.UNKNOWN)


def _never_equal(first: Access, second: Access, axis: int, var: str) -> bool:
    """Whether the subscripts of `first` and `second` at `axis` lie in disjoint ranges, in whichever
    iterations of the loop over `var`.
    """
    for lower, upper in ((first, second), (second, first)):
        most, least = _subscript_range(lower, axis, var)[1], _subscript_range(upper, axis, var)[0]
        if least and most and least.is_at_least(most + constant_form(1)):
            return True
    return False


@memoized_by
def _subscript_range(access: Access, axis: int, var: str) -> tuple[Affine | None, Affine | None]:
    """The least and the highest value of a subscript over the loop over `var` and the loops inside
    it; None where it is not known. Kept, since an access is compared with many.
    """
    form = access.index[axis]
    if form is None:
        return None, None
    ranges = {v: (first, last) for v, first, last in access.loop_ranges}
    loops = access.loops[access.loops.index(var) :] if var in access.loops else ()
    spans = [(v, ranges.get(v)) for v in reversed(loops)]
    return extreme_form(form, spans, False), extreme_form(form, spans, True)


def _exceeds_length(gap: Affine, length: Affine) -> bool:
    """Whether the magnitude of `gap` is certainly at least `length`."""
    return any((gap * sign).is_at_least(length) for sign in (1, -1))
