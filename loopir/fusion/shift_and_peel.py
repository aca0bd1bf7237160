"""Shift-and-peel: which iteration of a loop is joined with which of another (reversed or shifted).

Shifting delays the second loop until its operands are available, and peels the iterations that only
one loop has off its ends (Manjikian and Abdelrahman, "Fusion of loops for parallelism and
locality", 1997); a loop without loop-carried dependences may run backwards.

    for i in loop(0, n):               for i_1 in loop(0, min(n, 1)):      peeled, since the delay
        t[i] = x[i]                        t[i_1] = x[i_1]                 is 1
    for i in loop(0, n - 1):      →    for i in loop(1, n):
        y[i] = t[i + 1]                    t[i] = x[i]
                                           y[i - 1] = t[i]

`alignments` proposes, `fuse_loops` asks `fusion_legality` about each proposal, and `shift_and_peel`
builds the loops of the one that was accepted.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..algebra.constant_folding import index_const
from ..algebra.index_builder import index_add, index_max, index_min, index_sub
from ..analysis.access import accesses
from ..analysis.dependence import Alias, dependences
from ..analysis.integers.affine import AffineBindings, unclamped_end
from ..analysis.mod_ref import arrays_accessed
from ..dtypes import INDEX
from ..ir_names import rename_names, substitute
from ..ir_traversal import contains, is_innermost, memoized_per_node
from ..lazy_dataclass import record, replace
from ..nodes import Append, Const, Expr, Interval, Kernel, Loop, Var, While
from .fusion_dependences import Conflict, fusion_conflicts
from .iteration_domains import trip_count_difference

__all__ = ["Shift", "Alignment", "shift_and_peel", "alignments"]

_MAX_PEELED = 8  # limit on the iterations that are peeled


@record(frozen=True, slots=True)
class Alignment:
    """Two loops as they are joined: each original or reversed, the second possibly shifted."""

    first: Loop
    second: Loop
    shift: Shift | None = None  # None: iteration i of both is joined, and nothing is peeled


@record(frozen=True, slots=True)
class Shift:
    """Iteration ``i`` of the first loop is joined with ``i - delay`` of the second, where both
    exist: these are the common iterations. The others are peeled off the ends:

        first loop     |---earlier---|------- common -------|--- first_alone ---|
        second, delayed              |------- common -------|     or second_alone |
    """

    delay: int
    earlier: int  # iterations of the first loop before the common ones, >= 0
    ends_later_by: int | None
    """By how many iterations the delayed second loop ends later than the first; negative: earlier;
    None if unknown.
    """

    def earlier_iterations(self, first: Loop, second: Loop) -> Interval | None:
        """Iterations of the first loop before the common ones."""
        if not self.earlier:
            return None
        return Interval(_loop_ends(first)[0], index_min(_loop_ends(first)[1], self._begin(second)))

    def common(self, first: Loop, second: Loop) -> Interval:
        """The common iterations, counted as in the first loop."""
        return Interval(self._begin(second), self._common_end(first, second))

    def _begin(self, second: Loop) -> Expr:
        """The first common iteration, counted as in the first loop."""
        return index_add(_loop_ends(second)[0], self.delay)

    def _common_end(self, first: Loop, second: Loop) -> Expr:
        """The end of the common iterations, counted as in the first loop."""
        hi, delayed = _loop_ends(first)[1], index_add(_loop_ends(second)[1], self.delay)
        if self.ends_later_by is None:
            return index_min(hi, delayed)
        return hi if self.ends_later_by >= 0 else delayed

    def first_alone(self, first: Loop, second: Loop) -> Interval | None:
        """Iterations of the first loop after the common ones."""
        lo, hi = _loop_ends(first)
        if self.ends_later_by is not None and self.ends_later_by >= 0:
            return None
        return Interval(
            index_max(index_min(index_add(_loop_ends(second)[1], self.delay), hi), lo), hi
        )

    def second_alone(self, first: Loop, second: Loop) -> Interval | None:
        """Iterations of the second loop after the common ones, counted as in the second loop."""
        if self.ends_later_by is not None and self.ends_later_by <= 0:
            return None
        is_unknown = self.ends_later_by is None
        end = self._common_end(first, second) if is_unknown else _loop_ends(first)[1]
        lo, hi = _loop_ends(second)
        return Interval(index_max(index_sub(end, self.delay), lo), hi)

    def delayed(self, second: Loop) -> Loop:
        """The second loop with its variable counted as in the first loop."""
        index = index_sub(Var(second.var, INDEX), self.delay)
        original_index = {second.var: index} if self.delay else {}
        interval = Interval(self._begin(second), index_add(_loop_ends(second)[1], self.delay))
        steps = tuple(replace(a, step=substitute(a.step, original_index)) for a in second.accs)
        body = tuple(substitute(s, original_index) for s in second.body)
        return replace(second, range=interval, body=body, accs=steps)


def alignments(
    kernel: Kernel, first: Loop, second: Loop, outer: Sequence[str], bindings: AffineBindings
) -> Iterator[Alignment]:
    """Candidates for joining two loops over one variable that cannot be joined iteration by
    iteration, in this order:

    1. the second loop shifted;
    2. if the iterations of the second loop may run in any order: the second loop reversed, and
       then the same, shifted as well;
    3. if those of the first loop may: the first loop reversed, and then the same, with the second
       loop shifted.

        for i: t[i] = x[i]                for i: t[i] = x[i]
        for i: y[i] = t[i + 1]    →  1    for i: y[i] = t[n - 1 - i]    →  2: i stands for n - 1 - i

    Loops along rows of a nest are not shifted (`_are_rows_of_nest`). `fuse_loops` takes the first
    candidate that is legal. `outer`: the variables of the loops around both;
    `bindings`: affine forms of names.
    """
    directions = [(first, second)]
    directions += [(first, _reversed_loop(second))] if _is_reversible(kernel, second) else []
    directions += [(_reversed_loop(first), second)] if _is_reversible(kernel, first) else []
    for a, b in directions:
        is_original = a is first and b is second
        if not is_original:
            yield Alignment(a, b)
        # Without a trip count: the delay changes which iterations are joined, so no distance may be
        # left out for being longer than the original loops.
        conflicts = fusion_conflicts(kernel, a, b, outer, bindings, trips=None)
        # Reversing costs nothing, but a shift peels iterations: in a loop along rows it would do so
        # in every iteration of the outer loops.
        is_rows = _are_rows_of_nest(a, b, outer)
        shift = None if is_rows else _shift(a, b, conflicts, bindings)
        if shift:
            yield Alignment(a, b, shift)


def _are_rows_of_nest(first: Loop, second: Loop, outer: Sequence[str]) -> bool:
    """Whether the loops run along rows of a nest: some subscript in them reads a variable of the
    loops around, `outer`. Peeling iterations of each row costs more than joining saves.
    """
    if not outer:
        return False
    forms = (f for a in accesses((first, second), outer) for f in a.index if f)
    return any(not f.variables.isdisjoint(outer) for f in forms)


def _shift(
    first: Loop, second: Loop, conflicts: Sequence[Conflict], bindings: AffineBindings
) -> Shift | None:
    """The least delay of the second loop after which no conflict remains, with what is then peeled.

        for i in loop(0, n): t[i] = x[i]                t[i + 1] is read one iteration before it is
        for i in loop(0, n - 1): y[i] = t[i + 1]        written (distance -1): the delay is 1

    A conflict whose second access comes ``d`` iterations before the first one (its distance
    ``-d``, from `dependence.dependence_distance`) is gone if the second loop is delayed by ``d``.
    None if

    - a loop does not start at a constant, or the two share no array;
    - a conflict has no constant distance;
    - more than `_MAX_PEELED` iterations would be peeled at one end; or a number that is known at
      run time only, and a loop is not innermost;
    - nothing would change.
    """
    first_start, second_start = _loop_start(first), _loop_start(second)
    if first_start is None or second_start is None:
        return None  # which iterations are peeled would be known only at run time
    if not _share_an_array(first, second):
        return None  # joining saves no memory traffic
    # Arrays that may be one or disjoint do not count: where a delay is needed, the guard that
    # joining adds makes them disjoint (`fuse_loops._LoopFuser.tighten`).
    distances = [c.distance for c in conflicts if c.alias is Alias.SAME]
    needed_delays = [-distance for distance in distances if isinstance(distance, int)]
    if len(needed_delays) < len(distances):
        return None  # a conflict without a constant distance
    start_difference = second_start - first_start
    # at least 0, and at least so much that the second loop does not start before the first
    delay = max(0, -start_difference, *needed_delays)
    # iterations of the first loop before the delayed second one starts: they are peeled
    earlier = start_difference + delay
    if delay > _MAX_PEELED or earlier > _MAX_PEELED:
        return None
    trips_more = trip_count_difference(second.range, first.range, bindings)
    if trips_more is None:
        # The ends are then compared at run time, and the number of peeled iterations has no bound.
        # So only innermost loops are shifted: an iteration of a nest is too much to leave apart.
        # And only loops that go through elements of an array alike: rows and columns of a matrix
        # hardly have the same number of elements, and share one.
        is_flat = is_innermost(first) and is_innermost(second)
        return Shift(delay, earlier, None) if is_flat and _share_elements(first, second) else None
    # iterations of the delayed second loop after the first one has ended; negative: the other way
    later = trips_more + earlier
    if abs(later) > _MAX_PEELED:
        return None
    return Shift(delay, earlier, later) if delay or earlier or later else None  # else: no change


def shift_and_peel(
    loop: Loop, alignment: Alignment, shift: Shift, fresh_names: Callable[[Loop], dict[str, str]]
) -> tuple[tuple[Loop, ...], Loop, tuple[Loop, ...]]:
    """The joined `loop` over the common iterations, with loops over the peeled iterations before
    and after it.

    Accumulators continue from one loop to the next. `fresh_names` gives fresh names for the names
    that a loop binds.
    """
    first, second = alignment.first, alignment.second
    loop = replace(loop, range=shift.common(first, second))
    before: tuple[Loop, ...] = ()
    after: list[Loop] = []
    if interval := shift.earlier_iterations(first, second):
        fresh = fresh_names(first)
        before = (replace(rename_names(first, fresh), range=interval, span=None),)
        loop = _with_starts(loop, {a.name: fresh[a.name] for a in first.accs})
    for original, interval in (
        (first, shift.first_alone(first, second)), (second, shift.second_alone(first, second)),
    ):
        if interval is not None:
            fresh = fresh_names(original)
            carried = {a.name: fresh[a.name] for a in original.accs}
            loop = rename_names(loop, carried)
            peeled = rename_names(original, {n: m for n, m in fresh.items() if n not in carried})
            after.append(_with_starts(replace(peeled, range=interval, span=None), carried))
    return before, loop, tuple(after)


def _with_starts(loop: Loop, values: Mapping[str, str]) -> Loop:
    """`loop` with accumulators initialised from these names."""
    accs = (
        replace(a, init=Var(values[a.name], a.init.dtype)) if a.name in values else a
        for a in loop.accs
    )
    return replace(loop, accs=tuple(accs))


def _share_an_array(first: Loop, second: Loop) -> bool:
    """Whether both loops access a common array, which the joined loop keeps in the cache."""
    return not arrays_accessed((first,)).isdisjoint(arrays_accessed((second,)))


def _share_elements(first: Loop, second: Loop) -> bool:
    """Whether two loops over one variable go through a common array in the same direction, such as
    ``x[i]`` and ``x[i + 1]``, and not ``x[i, 0]`` and ``x[0, i]``.
    """
    def directions(loop: Loop) -> set[tuple[str, tuple[int | None, ...]]]:
        """The arrays, each with the factors of the loop variable in its subscripts."""
        found = accesses((loop,))
        return {
            (a.array, tuple(None if f is None else f.coefficient(loop.var) for f in a.index))
            for a in found
        }

    return any(any(factors) for _, factors in directions(first) & directions(second))


def _from_zero(loop: Loop) -> bool:
    """Whether the range of `loop` starts at 0."""
    return isinstance(loop.range, Interval) and loop.range.lo == index_const(0)


def _loop_start(loop: Loop) -> int | None:
    """The start value of `loop`, if it is a constant."""
    match loop.range:
        case Interval(Const(int(lo))):
            return lo
    return None


def _loop_ends(loop: Loop) -> tuple[Expr, Expr]:
    """Start and end of the range of `loop`, which is an interval."""
    assert isinstance(loop.range, Interval)
    return loop.range.lo, loop.range.hi


def _is_reversible(kernel: Kernel, loop: Loop) -> bool:
    """Whether `loop` can be reversed (`_reversed_loop`): its range starts at 0, and its iterations
    may run in any order, as it has no accumulator, early exit, ``while`` or append in it, and no
    dependence between iterations.
    """
    ordered_nodes = (While, Append)
    return (
        _from_zero(loop) and not loop.accs and loop.until is None
        and not contains(loop, ordered_nodes)
        and all(d.distance == 0 for d in dependences(loop, kernel))
    )


@memoized_per_node
def _reversed_loop(loop: Loop) -> Loop:
    """`loop` from its last iteration to its first."""
    assert isinstance(loop.range, Interval)
    last = index_sub(index_sub(unclamped_end(loop.range), 1), Var(loop.var, INDEX))
    return replace(loop, body=tuple(substitute(s, {loop.var: last}) for s in loop.body))
