"""Shift-and-peel: which iteration of a loop goes with which of another (reversed or shifted).

Shifting delays the second loop until its operands are available, and peels the iterations that only
one loop has off its ends (Manjikian and Abdelrahman, "Fusion of loops for parallelism and
locality", 1997); a loop without loop-carried dependences may run backwards.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..algebra.constant_folding import index_const
from ..algebra.index_builder import index_add, index_max, index_min, index_sub
from ..analysis.access import accesses
from ..analysis.affine import AffineBindings, unclamped_end
from ..analysis.dependence import Alias, dependences
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
    shift: Shift | None = None


@record(frozen=True, slots=True)
class Shift:
    """Iteration ``i`` of the first loop goes with ``i - delay`` of the second, where both exist.

    ``earlier``: how many iterations the first loop has before these; ``longer``: how many more the
    second has after the first loop's last one, None if unknown.
    """

    delay: int
    earlier: int
    longer: int | None

    def lead(self, first: Loop, second: Loop) -> Interval | None:
        """Iterations of the first loop before the common ones."""
        if not self.earlier:
            return None
        return Interval(_loop_ends(first)[0], index_min(_loop_ends(first)[1], self._begin(second)))

    def both(self, first: Loop, second: Loop) -> Interval:
        """The common iterations, counted as in the first loop."""
        return Interval(self._begin(second), self._both_end(first, second))

    def _begin(self, second: Loop) -> Expr:
        return index_add(_loop_ends(second)[0], self.delay)

    def _both_end(self, first: Loop, second: Loop) -> Expr:
        hi, delayed = _loop_ends(first)[1], index_add(_loop_ends(second)[1], self.delay)
        if self.longer is None:
            return index_min(hi, delayed)
        return hi if self.longer >= 0 else delayed

    def first_alone(self, first: Loop, second: Loop) -> Interval | None:
        """Iterations of the first loop after the common ones."""
        lo, hi = _loop_ends(first)
        if self.longer is not None and self.longer >= 0:
            return None
        return Interval(
            index_max(index_min(index_add(_loop_ends(second)[1], self.delay), hi), lo), hi
        )

    def second_alone(self, first: Loop, second: Loop) -> Interval | None:
        """Iterations of the second loop after the common ones, counted as in the second loop."""
        if self.longer is not None and self.longer <= 0:
            return None
        end = self._both_end(first, second) if self.longer is None else _loop_ends(first)[1]
        lo, hi = _loop_ends(second)
        return Interval(index_max(index_sub(end, self.delay), lo), hi)

    def delayed(self, second: Loop) -> Loop:
        """The second loop counted as the first."""
        back = {second.var: index_sub(Var(second.var, INDEX), self.delay)} if self.delay else {}
        ends = Interval(self._begin(second), index_add(_loop_ends(second)[1], self.delay))
        steps = tuple(replace(a, step=substitute(a.step, back)) for a in second.accs)
        body = tuple(substitute(s, back) for s in second.body)
        return replace(second, range=ends, body=body, accs=steps)


def alignments(
    kernel: Kernel, first: Loop, second: Loop, outer: Sequence[str], known: AffineBindings
) -> Iterator[Alignment]:
    """The alignments in which two loops over one variable may be joined, other than the original
    one.
    """
    pairs = [(first, second)]
    pairs += [(first, _reversed_loop(second))] if _is_reversible(kernel, second) else []
    pairs += [(_reversed_loop(first), second)] if _is_reversible(kernel, first) else []
    for k, (a, b) in enumerate(pairs):
        if k:
            yield Alignment(a, b)
        found = fusion_conflicts(kernel, a, b, outer, known, None)
        shift = None if _are_rows_of_nest(a, b, outer) else _shift(kernel, a, b, found, known)
        if shift:
            yield Alignment(a, b, shift)


def _are_rows_of_nest(first: Loop, second: Loop, outer: Sequence[str]) -> bool:
    """Whether the loops process rows within loops over `outer`: peeling each row costs more than it
    saves.
    """
    touched = (f for a in accesses((first, second), outer) for f in a.index if f)
    return any(not f.variables.isdisjoint(outer) for f in touched)


def _shift(
    kernel: Kernel, first: Loop, second: Loop, found: Sequence[Conflict], known: AffineBindings
) -> Shift | None:
    """The least delay after which no conflict remains; None if none is known, or too much is
    peeled.
    """
    start, other = _loop_start(first), _loop_start(second)
    if start is None or other is None or not _share_an_array(first, second):
        return None
    begins = other - start
    same = [c.apart for c in found if c.alias is Alias.SAME]
    late = [-apart for apart in same if isinstance(apart, int)]
    if len(late) < len(same):
        return None
    delay = max(-begins, max(late, default=-begins), 0)
    earlier, longer = (
        begins + delay,
        trip_count_difference(kernel, second.range, first.range, known),
    )
    if delay > _MAX_PEELED or earlier > _MAX_PEELED:
        return None
    if longer is None:
        return Shift(delay, earlier, None) if is_innermost(first) and is_innermost(second) else None
    longer += earlier
    if abs(longer) > _MAX_PEELED:
        return None
    return Shift(delay, earlier, longer) if delay or earlier or longer else None


def shift_and_peel(
    loop: Loop, alignment: Alignment, shift: Shift, names: Callable[[Loop], dict[str, str]]
) -> tuple[tuple[Loop, ...], Loop, tuple[Loop, ...]]:
    """The joined `loop` over the common iterations, with the peeled iterations of each before and
    after it. Accumulators continue from one to the next. `names` gives fresh names for a loop.
    """
    first, second = alignment.first, alignment.second
    loop = replace(loop, range=shift.both(first, second))
    lead: tuple[Loop, ...] = ()
    rest: list[Loop] = []
    if ends := shift.lead(first, second):
        new = names(first)
        lead = (replace(rename_names(first, new), range=ends, span=None),)
        loop = _with_starts(loop, {a.name: new[a.name] for a in first.accs})
    for alone, ends in (
        (first, shift.first_alone(first, second)), (second, shift.second_alone(first, second)),
    ):
        if ends is not None:
            new = names(alone)
            goes_on = {a.name: new[a.name] for a in alone.accs}
            loop = rename_names(loop, goes_on)
            own = rename_names(alone, {n: m for n, m in new.items() if n not in goes_on})
            rest.append(_with_starts(replace(own, range=ends, span=None), goes_on))
    return lead, loop, tuple(rest)


def _with_starts(loop: Loop, values: Mapping[str, str]) -> Loop:
    """`loop` with accumulators initialised from these names."""
    accs = (
        replace(a, init=Var(values[a.name], a.init.dtype)) if a.name in values else a
        for a in loop.accs
    )
    return replace(loop, accs=tuple(accs))


def _share_an_array(first: Loop, second: Loop) -> bool:
    """Whether both access a common array, which fusion keeps in the cache."""
    one, other = ({a.array for a in accesses((loop,))} for loop in (first, second))
    return not one.isdisjoint(other)


def _from_zero(loop: Loop) -> bool:
    return isinstance(loop.range, Interval) and loop.range.lo == index_const(0)


def _loop_start(loop: Loop) -> int | None:
    match loop.range:
        case Interval(Const(int(lo))):
            return lo
    return None


def _loop_ends(loop: Loop) -> tuple[Expr, Expr]:
    assert isinstance(loop.range, Interval)
    return loop.range.lo, loop.range.hi


def _is_reversible(kernel: Kernel, loop: Loop) -> bool:
    """Whether the iterations of `loop` may run in any order."""
    kept = (While, Append)
    return (
        _from_zero(loop) and not loop.accs and loop.until is None
        and not contains(loop, kept)
        and all(d.distance == 0 for d in dependences(loop, kernel))
    )


@memoized_per_node
def _reversed_loop(loop: Loop) -> Loop:
    """`loop` from its last iteration to its first."""
    assert isinstance(loop.range, Interval)
    last = index_sub(index_sub(unclamped_end(loop.range), 1), Var(loop.var, INDEX))
    return replace(loop, body=tuple(substitute(s, {loop.var: last}) for s in loop.body))
