"""Loop permutation: perfectly nested loops are ordered for memory and registers."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...analysis.dependence import dependences
from ...analysis.loop_reductions import reduction_of
from ...analysis.loop_set import loop_set
from ...ir_names import names_read
from ...ir_traversal import map_children, walk
from ...lazy_dataclass import record
from ...nodes import Assign, If, Interval, Kernel, Load, Loop, LoopLike, Stmt, Store, While, Zip
from ..canonical.simplify import simplify
from ..memory.promote import promote
from ..vector.vectorize_legality import vectorization_obstacle
from ..vector.vectorize_outer import can_run_in_lockstep

__all__ = ["has_better_order", "permute_loops"]


def permute_loops(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Loops of which all but one can run in any order are ordered anew.

    A loop that only adds to what the others choose goes inmost, where the sum has a register; each
    element still adds up in Python's order, but where only the terms of a sum are neighbours in
    memory, which then become its lanes. The loop whose iterations are neighbours in memory goes
    inmost in a map, and outmost around sums, whose loads it shares. Before::

        def k(a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, c.shape[0]):
                for k in loop(0, b.shape[0]):
                    for j in loop(0, c.shape[1]):
                        c[i, j] = c[i, j] + a[i, k] * b[k, j]

    after::

        def k(a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for j in loop(0, c.shape[1]):
                for i in loop(0, c.shape[0]):
                    for k in loop(0, b.shape[0]):
                        c[i, j] = c[i, j] + a[i, k] * b[k, j]
    """

    def visit(n: Any, outside: frozenset[str]) -> Any:
        if isinstance(n, Loop) and (nest := _match_perfect_nest(n)) is not None:
            order = _best_order(nest, kernel, outside, reassociate)
            if order is not None and [*order] != [*nest.loops]:
                return nest.in_order(order)
        inside = outside | {n.var} if isinstance(n, Loop) else outside
        return map_children(n, lambda c: visit(c, inside)) if isinstance(n, _ENCLOSING) else n

    return visit(kernel, frozenset())  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_ENCLOSING = (Kernel, Loop, If, While, Zip)


def has_better_order(
    loop: Loop, kernel: Kernel, outside: frozenset[str], reassociate: bool
) -> bool:
    """Whether `loop` is the head of a nest of which ``permute`` puts another loop outmost."""
    nest = _match_perfect_nest(loop)
    order = _best_order(nest, kernel, outside, reassociate) if nest is not None else None
    return order is not None and order[0] is not loop


@record(frozen=True, slots=True)
class _PerfectNest:
    """Loops of which each is all that the one before does, and what the last one does."""

    loops: tuple[Loop, ...]
    body: tuple[Stmt, ...]

    def in_order(self, order: Sequence[Loop]) -> Loop:
        *outer, last = order
        made = replace(last, body=self.body)
        for loop in reversed(outer):
            made = replace(loop, body=(made,))
        return made

    def around(self, first: Loop) -> Loop:
        """The nest with `first` outmost."""
        return self.in_order([first, *(s for s in self.loops if s is not first)])

    @property
    def has_loops(self) -> bool:
        return any(isinstance(n, LoopLike) for s in self.body for n in walk(s))

    def loads(self) -> list[Load]:
        return [n for s in self.body for n in walk(s) if isinstance(n, Load)]


def _match_perfect_nest(outer: Loop) -> _PerfectNest | None:
    loops, body = [outer], outer.body
    while len(body) == 1 and isinstance(body[0], Loop) and not (body[0].accs or body[0].until):
        loops.append(body[0])
        body = body[0].body
    variables = {s.var for s in loops}
    plain = not (outer.accs or outer.until) and len(variables) == len(loops) > 1
    square = all(
        isinstance(s.range, Interval) and not variables & names_read(s.range) for s in loops
    )
    known = (Assign, Store, Loop)
    simple = all(isinstance(s, known) for b in body for s in walk(b) if isinstance(s, Stmt))
    return _PerfectNest(tuple(loops), body) if plain and square and simple else None


def _best_order(
    nest: _PerfectNest, kernel: Kernel, outside: frozenset[str], reassociate: bool
) -> list[Loop] | None:
    """The loops of `nest` as they should be; `outside`: the variables of those around it."""
    free = [s for s in nest.loops if _is_parallel(nest.around(s), kernel)]
    bound = [s for s in nest.loops if s not in free]
    if bound and (len(bound) > 1 or not _only_adds(nest, bound[0])):
        return None
    if bound and len(free) < 2 and not _shares_loads(nest, outside):
        return None
    if not bound and not nest.has_loops:
        return _contiguous_loop_last(nest, kernel)
    lanes = _best_vector_loop(nest, free, bound, kernel)
    if lanes is None:
        summed = reassociate and bound and _is_best_summed(nest, free, bound[0], kernel)
        return [*free, *bound] if summed else None
    return [*_moved_outward(nest, lanes, [s for s in free if s is not lanes]), *bound]


def _is_parallel(loop: Loop, kernel: Kernel) -> bool:
    """Whether iterations of `loop` exchange nothing, whatever the loops in it do."""
    return all(d.distance == 0 for d in dependences(loop, kernel))


def _only_adds(nest: _PerfectNest, loop: Loop) -> bool:
    """Whether all that `loop` stores goes where its other iterations store, too."""
    stores = [s for s in nest.body if isinstance(s, Store)]
    fixed = not any(loop.var in names_read(*s.index) for s in stores)
    return fixed and bool(stores) and not nest.has_loops


def _shares_loads(nest: _PerfectNest, outside: frozenset[str]) -> bool:
    """Whether what the whole nest loads is the same for several of its results outside of it."""
    stored = [names_read(*n.index) for n in nest.body if isinstance(n, Store)]
    loaded = [names_read(*n.index) for n in nest.loads()]
    around = [v for v in outside if all(v in names for names in stored)]
    whole = [names for names in loaded if all(s.var in names for s in nest.loops)]
    return any(v not in names for v in around for names in whole)


def _cost(nest: _PerfectNest, order: Sequence[Loop], lanes: Loop, kernel: Kernel) -> float:
    return loop_set(nest.in_order(order), kernel).cost({lanes.var})


def _contiguous_loop_last(nest: _PerfectNest, kernel: Kernel) -> list[Loop] | None:
    """Of a map: the same order, but for the loop inmost that is the best vector loop."""
    costs = [_cost(nest, nest.loops, s, kernel) for s in nest.loops]
    if min(costs) == costs[-1]:
        return None
    best = nest.loops[costs.index(min(costs))]
    return [*(s for s in nest.loops if s is not best), best]


def _best_vector_loop(
    nest: _PerfectNest, free: list[Loop], bound: list[Loop], kernel: Kernel
) -> Loop | None:
    """The best vector loop outside of sums; None where none is better than vectors in them."""
    inside = [*bound, *(n for s in nest.body for n in walk(s) if isinstance(n, Loop))]
    others = [_cost(nest, nest.loops, s, kernel) for s in inside]
    able = [s for s in free if can_run_in_lockstep(nest.around(s), kernel)]
    costs = [_cost(nest, [*free, *bound], s, kernel) for s in able]
    if not costs or min(costs) >= min(others):
        return None
    return able[costs.index(min(costs))]


def _is_best_summed(nest: _PerfectNest, free: list[Loop], last: Loop, kernel: Kernel) -> bool:
    """Whether the terms of each sum are better lanes than the sums are, in any order."""
    order = [*free, last]
    others = [_cost(nest, o, s, kernel) for o in (nest.loops, order) for s in free]
    summed = simplify(promote(replace(kernel, body=(nest.in_order(order),))))
    loops = [n for n in walk(summed) if isinstance(n, Loop)]
    if len(loops) != len(order) or not (accs := loops[-1].accs):
        return False
    if (
        not all(reduction_of(a, loops[-1]) for a in accs)
        or vectorization_obstacle(loops[-1], kernel) is not None
    ):
        return False
    return loop_set(loops[0], kernel).cost({last.var}) < min(others)


def _moved_outward(nest: _PerfectNest, lanes: Loop, others: list[Loop]) -> list[Loop]:
    """`lanes` as far out among `others` as these share what it loads."""
    at = len(others)
    mine = [n for n in nest.loads() if lanes.var in names_read(n)]
    while at and any(others[at - 1].var not in names_read(n) for n in mine):
        at -= 1
    return [*others[:at], lanes, *others[at:]]
