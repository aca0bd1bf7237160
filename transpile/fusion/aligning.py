"""Which iteration of one loop goes with which of another: as they count, turned, or shifted.

Shifting delays the second loop until what it needs is there, and peels what one loop has more than
the other off its ends (loop shifting and peeling: Manjikian and Abdelrahman, "Fusion of loops for
parallelism and locality", 1997); turning lets a loop whose iterations may come in any order run
backwards.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from loopir.algebra.index import least, minus, most, plus
from loopir.algebra.values import integer
from loopir.analysis.access import accesses
from loopir.analysis.affine import Bindings, unclipped
from loopir.analysis.dependence import Alias, dependences
from loopir.names import rename, substitute
from loopir.nodes import Append, Expr, Interval, Kernel, Loop, Var, While
from loopir.record import record
from loopir.tree import walk
from loopir.types import INDEX

from .conflicts import Conflict, conflicts
from .domains import more
from .profit import innermost

__all__ = ["Shift", "Way", "peeled", "ways"]

_FAR = 8  # iterations that are worth peeling


@record(frozen=True, slots=True)
class Way:
    """Two loops as they are joined: each as it is or turned, and perhaps shifted."""

    first: Loop
    second: Loop
    shift: Shift | None = None


@record(frozen=True, slots=True)
class Shift:
    """Iteration ``i`` of the first loop goes with ``i - delay`` of the second, for those that both
    have; ``longer``: how many the second has behind the last of the first, None if that is not
    known.
    """

    delay: int
    longer: int | None

    def lead(self, first: Loop) -> Interval | None:
        """Iterations of the first loop ahead of those of both."""
        hi = _end(first)
        return Interval(integer(0), least(hi, self.delay)) if self.delay else None

    def both(self, first: Loop, second: Loop) -> Interval:
        """Iterations of both loops, as the first counts them."""
        return Interval(integer(self.delay), self._both_end(first, second))

    def _both_end(self, first: Loop, second: Loop) -> Expr:
        hi, delayed = _end(first), plus(_end(second), self.delay)
        if self.longer is None:
            return least(hi, delayed)
        return hi if self.longer >= 0 else delayed

    def first_alone(self, first: Loop, second: Loop) -> Interval | None:
        """Iterations of the first loop behind those of both."""
        hi = _end(first)
        if self.longer is not None and self.longer >= 0:
            return None
        return Interval(most(least(plus(_end(second), self.delay), hi), 0), hi)

    def second_alone(self, first: Loop, second: Loop) -> Interval | None:
        """Iterations of the second loop behind those of both, as it counts them itself."""
        if self.longer is not None and self.longer <= 0:
            return None
        hi = self._both_end(first, second) if self.longer is None else _end(first)
        return Interval(most(minus(hi, self.delay), 0), _end(second))

    def delayed(self, second: Loop) -> Loop:
        """The second loop as the first counts."""
        back = {second.var: minus(Var(second.var, INDEX), self.delay)} if self.delay else {}
        ends = Interval(integer(self.delay), plus(_end(second), self.delay))
        steps = tuple(replace(a, step=substitute(a.step, back)) for a in second.accs)
        body = tuple(substitute(s, back) for s in second.body)
        return replace(second, range=ends, body=body, accs=steps)


def ways(
    kernel: Kernel, first: Loop, second: Loop, outer: Sequence[str], known: Bindings
) -> Iterator[Way]:
    """How two loops over one variable may be joined, other than as they count themselves."""
    pairs = [(first, second)]
    pairs += [(first, _turned(second))] if _turns(kernel, second) else []
    pairs += [(_turned(first), second)] if _turns(kernel, first) else []
    for k, (a, b) in enumerate(pairs):
        if k:
            yield Way(a, b)
        found = conflicts(kernel, a, b, outer, known, None)
        if shift := _shift(kernel, a, b, found, known):
            yield Way(a, b, shift)


def _shift(
    kernel: Kernel, first: Loop, second: Loop, found: Sequence[Conflict], known: Bindings
) -> Shift | None:
    """The least delay after which nothing is touched too early; None where none is known, or so
    much of the loops would be peeled off that it is not worth it.
    """
    if not (_from_zero(first) and _from_zero(second)):
        return None
    same = [c.apart for c in found if c.alias is Alias.SAME]
    late = [-apart for apart in same if isinstance(apart, int)]
    if len(late) < len(same):
        return None
    delay = max(late, default=0)
    longer = more(kernel, second.range, first.range, known)
    if delay > _FAR or not _share(first, second):
        return None
    if longer is None:
        return Shift(delay, None) if innermost(first) and innermost(second) else None
    if abs(longer + delay) > _FAR:
        return None
    return Shift(delay, longer + delay) if delay or longer else None


def peeled(
    loop: Loop, way: Way, shift: Shift, names: Callable[[Loop], dict[str, str]]
) -> tuple[tuple[Loop, ...], Loop, tuple[Loop, ...]]:
    """`loop` for iterations of both, ahead of it and behind it the others of each; a fold goes from
    one to the next. `names` gives new ones for all that a loop binds.
    """
    first, second = way.first, way.second
    loop = replace(loop, range=shift.both(first, second))
    lead: tuple[Loop, ...] = ()
    rest: list[Loop] = []
    if ends := shift.lead(first):
        new = names(first)
        lead = (replace(rename(first, new), range=ends, span=None),)
        loop = _starting(loop, {a.name: new[a.name] for a in first.accs})
    for alone, ends in (
        (first, shift.first_alone(first, second)), (second, shift.second_alone(first, second)),
    ):
        if ends is not None:
            new = names(alone)
            goes_on = {a.name: new[a.name] for a in alone.accs}
            loop = rename(loop, goes_on)
            own = rename(alone, {n: m for n, m in new.items() if n not in goes_on})
            rest.append(_starting(replace(own, range=ends, span=None), goes_on))
    return lead, loop, tuple(rest)


def _starting(loop: Loop, values: Mapping[str, str]) -> Loop:
    """`loop`, whose accumulators start from what these names stand for."""
    accs = (
        replace(a, init=Var(values[a.name], a.init.dtype)) if a.name in values else a
        for a in loop.accs
    )
    return replace(loop, accs=tuple(accs))


def _share(first: Loop, second: Loop) -> bool:
    """Whether both touch some array, which is then in the cache for the second."""
    one, other = ({a.array for a in accesses((loop,))} for loop in (first, second))
    return not one.isdisjoint(other)




def _from_zero(loop: Loop) -> bool:
    return isinstance(loop.range, Interval) and loop.range.lo == integer(0)


def _end(loop: Loop) -> Expr:
    assert isinstance(loop.range, Interval)
    return loop.range.hi


def _turns(kernel: Kernel, loop: Loop) -> bool:
    """Whether the iterations of `loop` may come in any order."""
    kept = (While, Append)
    return (
        _from_zero(loop) and not loop.accs and loop.until is None
        and not any(isinstance(n, kept) for n in walk(loop))
        and all(d.distance == 0 for d in dependences(loop, kernel))
    )


def _turned(loop: Loop) -> Loop:
    """`loop` from its last iteration to its first."""
    assert isinstance(loop.range, Interval)
    last = minus(minus(unclipped(loop.range), 1), Var(loop.var, INDEX))
    return replace(loop, body=tuple(substitute(s, {loop.var: last}) for s in loop.body))
