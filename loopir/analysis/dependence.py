"""Dependence analysis: which pairs of accesses must keep their order, carried by one loop.

Decided on affine subscripts in the canonical loop variables; an access whose subscript is not
affine may touch any element.
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
from .affine import Affine, AffineBindings, affine_form, constant_form, extreme_form, unclamped_end

__all__ = [
    "Alias", "AliasTable", "Dependence", "Overlap", "affine_trip_count", "alias_relation",
    "alias_table", "dependence_distance", "dependences", "may_alias",
]


class Alias(Enum):
    """The alias relation of two arrays."""

    DISJOINT = "disjoint"
    SAME = "one array"
    SAME_OR_DISJOINT = "one array, or disjoint"


class Overlap(Enum):
    """What two accesses share where their distance is not one constant."""

    NEVER = "no element"
    UNKNOWN = "perhaps an element, in any two iterations"


@record(frozen=True, slots=True)
class Dependence:
    """``sink`` accesses the element that ``source`` accessed ``distance`` >= 0 iterations before.

    At distance 0 both are in one iteration, ``sink`` later in the text. With ``distance`` None any
    two iterations may conflict, in either order.
    """

    source: Access
    sink: Access
    distance: int | None

    @property
    def kind(self) -> str:
        """``"flow"`` (write, read), ``"anti"`` (read, write) or ``"output"`` (write, write)."""
        if self.source.is_write:
            return "output" if self.sink.is_write else "flow"
        return "anti"


def alias_relation(kernel: Kernel, a: str, b: str) -> Alias:
    """The alias relation of arrays `a` and `b`, from the kernel's guards.

    A pair without a guard is disjoint, or neither array is written: lowering adds a guard for every
    pair that may conflict.
    """
    return alias_table(kernel).relation(a, b)


class AliasTable:
    """What guards say of each two arrays. Equal guards share one table, which is compared by
    identity.
    """

    __slots__ = ("_said",)

    def __init__(self, guards: tuple[Guard | Disjoint, ...]) -> None:
        self._said: dict[tuple[str, str], Alias] = {}
        for g in guards:
            if isinstance(g, Disjoint):  # the first guard of two arrays counts
                said = Alias.SAME_OR_DISJOINT if g.or_same else Alias.DISJOINT
                self._said.setdefault((g.a, g.b), said)
                self._said.setdefault((g.b, g.a), said)

    def relation(self, a: str, b: str) -> Alias:
        return Alias.SAME if a == b else self._said.get((a, b), Alias.DISJOINT)


_table_of_guards = lru_cache(maxsize=64)(AliasTable)


@memoized_per_node
def alias_table(kernel: Kernel) -> AliasTable:
    """The relations of the arrays of `kernel`."""
    return _table_of_guards(kernel.guards)


def may_alias(kernel: Kernel, a: str, b: str) -> bool:
    """Whether arrays `a` and `b` may have an element in common."""
    return alias_relation(kernel, a, b) is not Alias.DISJOINT


def affine_trip_count(r: Range, bindings: AffineBindings | None = None) -> Affine | None:
    """The trip count of a loop over `r` as an affine form (negative: none), else None."""
    if not isinstance(r, Interval):
        return None
    lo, hi = affine_form(r.lo, (), bindings), affine_form(unclamped_end(r), (), bindings)
    return hi - lo if lo and hi else None


def dependence_distance(
    first: Access, second: Access, var: str, trips: Affine | None = None
) -> int | Overlap:
    """How many iterations of `var` after `first` the access `second` touches the same element.

    Both index one array. ``first`` at ``[i + 1]`` and ``second`` at ``[i]``: 1. Variables of loops
    around the one over `var` have one value for both; those of loops inside it may have any.
    Returns NEVER where no two iterations conflict or the distance exceeds the trip count `trips`,
    UNKNOWN where it is not one constant.

    Each axis is decided by itself: the ranges of the subscripts are disjoint; a GCD test; equal
    coefficients give a distance; an invariant subscript meets the other in one iteration.
    """
    inner = _inner_variables(first, var) | _inner_variables(second, var)
    if len(first.index) != len(second.index):
        return Overlap.UNKNOWN
    pairs = [(a, b) for a, b in zip(first.index, second.index, strict=True) if a and b]
    if any(_never_equal(first, a, second, b, var) for a, b in pairs):
        return Overlap.NEVER
    pairs = [(a, b) for a, b in pairs if not inner & (a.variables | b.variables)]
    axes = [_axis_distance(a, b, var, trips) for a, b in pairs]
    axes.append(_distance_of_fixed([_fixed_iterations(a, b, var) for a, b in pairs]))
    if Overlap.NEVER in axes:
        return Overlap.NEVER
    exact = {d for d in axes if isinstance(d, int)}
    if len(exact) > 1:
        return Overlap.NEVER
    return exact.pop() if exact else Overlap.UNKNOWN


def dependences(loop: Loop, kernel: Kernel) -> list[Dependence]:
    """The dependences carried by `loop` or within its iterations: pairs with at least one write.

    Arrays that a `Disjoint` guard allows to be the same are treated as one.
    """
    return [*_dependences_of(loop, alias_table(kernel))]


@memoized_by
def _dependences_of(loop: Loop, arrays: AliasTable) -> list[Dependence]:
    found = [a for a in accesses((loop,)) if loop.var in a.loops]
    pairs = combinations_with_replacement(found, 2)
    trips = affine_trip_count(loop.range)
    return [d for a, b in pairs for d in _dependence(a, b, loop.var, arrays, trips)]


def _dependence(
    a: Access, b: Access, var: str, arrays: AliasTable, trips: Affine | None
) -> Iterator[Dependence]:
    if not (a.is_write or b.is_write):
        return
    if arrays.relation(a.array, b.array) is Alias.DISJOINT:
        return
    match apart := dependence_distance(a, b, var, trips):
        case Overlap.NEVER:
            return
        case Overlap.UNKNOWN:
            yield Dependence(a, b, None)
        case 0 if a is b:
            return
        case int():
            yield Dependence(a, b, apart) if apart >= 0 else Dependence(b, a, -apart)


def _inner_variables(access: Access, var: str) -> frozenset[str]:
    loops = access.loops
    return frozenset(loops[loops.index(var) + 1 :] if var in loops else ())


def _axis_distance(first: Affine, second: Affine, var: str, trips: Affine | None) -> int | Overlap:
    """The distance by one subscript that contains no variable of an inner loop."""
    step, other = first.coefficient(var), second.coefficient(var)
    gap = first.without((var,)) - second.without((var,))
    if step == other != 0 and trips is not None and _exceeds_length(gap, trips * abs(step)):
        return Overlap.NEVER
    apart = gap.number
    if apart is None:
        return Overlap.UNKNOWN
    stride = gcd(step, other)
    if apart % stride if stride else apart:
        return Overlap.NEVER
    return apart // step if step == other != 0 else Overlap.UNKNOWN


def _fixed_iterations(
    first: Affine, second: Affine, var: str
) -> tuple[Affine | None, Affine | None]:
    """The one iteration in which `first` can equal a loop-invariant `second`, and vice versa."""
    step, other = first.coefficient(var), second.coefficient(var)
    gap = second.without((var,)) - first.without((var,))
    if abs(step) == 1 and other == 0:
        return gap * step, None
    if abs(other) == 1 and step == 0:
        return None, gap * -other
    return None, None


def _distance_of_fixed(pins: list[tuple[Affine | None, Affine | None]]) -> int | Overlap:
    """The distance where each of the two accesses is confined to one iteration."""
    apart = [(q - p).number for p, _ in pins if p for _, q in pins if q]
    return next((a for a in apart if a is not None), Overlap.UNKNOWN)


def _never_equal(first: Access, a: Affine, second: Access, b: Affine, var: str) -> bool:
    """Whether the ranges of subscripts `a` and `b` over the loop are disjoint."""
    for one, form, two, other in ((first, a, second, b), (second, b, first, a)):
        least, most = _extreme_value(one, form, var, False), _extreme_value(two, other, var, True)
        if least and most and (least - most + constant_form(-1)).is_nonnegative:
            return True
    return False


def _extreme_value(access: Access, form: Affine, var: str, highest: bool) -> Affine | None:
    """The least or highest value of a subscript over the loop over `var` and the loops inside it.
    """
    spans = {v: (first, last) for v, first, last in access.loop_ranges}
    loops = access.loops[access.loops.index(var) :] if var in access.loops else ()
    return extreme_form(form, ((v, spans.get(v)) for v in reversed(loops)), highest)


def _exceeds_length(gap: Affine, length: Affine) -> bool:
    return any((gap * sign - length).is_nonnegative for sign in (1, -1))
