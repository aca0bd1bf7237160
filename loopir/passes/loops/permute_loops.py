"""Loop permutation: the loops of a perfect nest are ordered for memory access and registers.

`_best_order` decides, by the cost model in `analysis.loop_set`. A loop of the nest is parallel if
it carries no dependence, sequential if it does.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algebra.may_raise import may_raise_flags
from ...analysis.access import accesses, count_strided, has_unit_stride
from ...analysis.dependence import dependences
from ...analysis.loop_reductions import reduction_of
from ...analysis.loop_set import loop_set
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import names_read
from ...ir_traversal import map_children, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Assign,
    Call,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Stmt,
    Store,
    While,
    Zip,
)
from ...op_table import OPS
from ..canonical.simplify import simplify
from ..memory.promote import promote
from ..vector.vectorize_legality import vectorization_obstacle
from ..vector.vectorize_outer import can_run_in_lockstep

__all__ = ["has_better_order", "is_cheap_to_repeat", "permute_loops"]


def permute_loops(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Reorder a perfect nest of which all loops but at most one are parallel.

    - A loop that only adds to elements that the other loops select goes innermost, where the sum is
      kept in a register. Each element is still summed in Python's order, except where vectors of
      the terms of each sum cost least.
    - In a map, the loop with the cheapest vectors goes innermost.
    - Around sums, the vector loop goes outside of the loops that load the same elements again: here
      j outside of i, since b[k, j] is the same for all i.
    - Sums that share no loads, as in a matrix times a vector, go innermost only if fewer accesses
      then have a stride.

    `_best_order` has the cases in their order. Before::

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
        """`n` with its perfect nests reordered; `outside` has the variables of the loops around it.
        """
        if isinstance(n, Loop) and (nest := _match_perfect_nest(n, kernel)) is not None:
            order = _best_order(nest, kernel, outside, reassociate)
            if order is not None and [*order] != [*nest.loops]:
                return nest.in_order(order)
        inner_outside = outside | {n.var} if isinstance(n, Loop) else outside
        return (
            map_children(n, lambda c: visit(c, inner_outside)) if isinstance(n, _ENCLOSING) else n
        )

    return visit(kernel, frozenset())  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_ENCLOSING = (Kernel, Loop, If, While, Zip)


def has_better_order(
    loop: Loop, kernel: Kernel, outside: frozenset[str], reassociate: bool
) -> bool:
    """Whether `permute_loops` would put another loop outermost in the nest of `loop`. ``outside``:
    the variables of the loops around it. The pass `fission` asks this.
    """
    nest = _match_perfect_nest(loop, kernel)
    order = _best_order(nest, kernel, outside, reassociate) if nest is not None else None
    return order is not None and order[0] is not loop


@record(frozen=True, slots=True)
class _PerfectNest:
    """A nest in which each inner loop is the last statement of the body around it; the statements
    before it are assignments that may be moved into it.
    """

    loops: tuple[Loop, ...]  # outermost first
    body: tuple[Stmt, ...]  # of the innermost of `loops`, after the assignments of those around it

    def in_order(self, order: Sequence[Loop]) -> Loop:
        """The nest with its loops in `order`, outermost first."""
        *outer, last = order
        nest = replace(last, body=self.body)
        for loop in reversed(outer):
            nest = replace(loop, body=(nest,))
        return nest

    def around(self, first: Loop) -> Loop:
        """The nest with `first` outermost."""
        return self.in_order([first, *(s for s in self.loops if s is not first)])

    @property
    def has_loops(self) -> bool:
        return any(isinstance(n, LoopLike) for s in self.body for n in walk(s))

    def loads(self) -> list[Load]:
        return [n for s in self.body for n in walk(s) if isinstance(n, Load)]


def _match_perfect_nest(outer: Loop, kernel: Kernel) -> _PerfectNest | None:
    """`outer` as a _PerfectNest of at least two counted loops with invariant ranges, no
    accumulators or exits, and only assignments, stores and loops inside; None if it is not one.

    Assignments before an inner loop count as part of its body, if they are cheap and raise no flag,
    no range reads them, and the nest does not store what they load:

        for j: t = x[j]; for i: y[i] += a[i, j] * t    →    j i: t = x[j]; y[i] += a[i, j] * t
    """
    loops, body = [outer], outer.body
    sunk: tuple[Stmt, ...] = ()
    while body and isinstance(inner := body[-1], Loop) and not (inner.accs or inner.until):
        before = (*sunk, *body[:-1])
        if before and not _can_sink(before, inner, kernel):
            break
        loops.append(inner)
        sunk, body = before, inner.body
    variables = {s.var for s in loops}
    is_plain = not (outer.accs or outer.until) and len(variables) == len(loops) > 1
    has_invariant_ranges = all(
        isinstance(s.range, Interval) and not variables & names_read(s.range) for s in loops
    )
    supported = (Assign, Store, Loop)
    has_simple_body = all(
        isinstance(s, supported) for b in body for s in walk(b) if isinstance(s, Stmt)
    )
    return (
        _PerfectNest(tuple(loops), (*sunk, *body))
        if is_plain and has_invariant_ranges and has_simple_body
        else None
    )


_MAX_SUNK_WEIGHT = 1.0  # limit on the weight of an operation that each inner iteration may repeat


def is_cheap_to_repeat(s: Stmt) -> bool:
    """Whether the assignment `s` before an inner loop may be computed again in each iteration of
    that loop: its operations are cheap and raise no flag. `permute_reductions` asks, too.
    """
    calls = (n for n in walk(s) if isinstance(n, Call))
    return all(OPS[n.op].weight <= _MAX_SUNK_WEIGHT for n in calls) and not may_raise_flags(s)


def _can_sink(before: tuple[Stmt, ...], loop: Loop, kernel: Kernel) -> bool:
    """Whether the statements `before`, which stand before `loop` in the bodies of the loops around
    it, may be moved into it: they are then computed in each of its iterations, if there are any.
    """
    assigned = {s.name for s in before if isinstance(s, Assign)}
    return (
        all(isinstance(s, Assign) for s in before)
        and not assigned & names_read(loop.range)
        and all(map(is_cheap_to_repeat, before))
        and not AliasInfo(kernel).overlap(arrays_read(before), arrays_written((loop,)))
    )


def _best_order(
    nest: _PerfectNest, kernel: Kernel, outside: frozenset[str], reassociate: bool
) -> list[Loop] | None:
    """The best order of the loops of `nest`, outermost first; None to keep the order. This is where
    the order of loops is decided.

        c[i, j] += a[i, k] * b[k, j]      i k j → j i k: vectors along j, which is outside of i,
                                          since the loads of b do not depend on i; the sum over k
                                          innermost, where it stays in a register

    The first case that applies decides:

    1. Two loops are sequential; or one is, and the nest does more than update elements that are the
       same in all its iterations, such as sums (`_updates_fixed_elements`): the order stays.
    2. A map, with no sequential loop and no loop in its body: the loop with the cheapest vectors
       goes innermost.
    3. Several loops are parallel, or none is sequential, or a loop around the nest can share loads
       (`_shares_loads`), or the sums are of neighbours (`_sums_neighbours`) or load nothing that
       their loop selects (`_sums_without_loads`). And vectors along a parallel loop are legal, and
       cheaper than vectors in the sums (`_best_vector_loop`): the sequential loop goes innermost,
       and the vector loop as far out as `_moved_outward` says.
    4. As 3, but without such a vector loop, and sums may be reordered (``reassociate``): the sum
       goes innermost if vectors of its terms cost least (`_is_best_summed`).
    5. Any other nest with a sequential loop: the sum goes innermost if fewer accesses then have a
       stride in the innermost loop (`_contiguous_sum_last`).
    6. Any other nest: the order stays.

    ``outside``: the variables of the loops around the nest.
    """
    parallel = [s for s in nest.loops if _is_parallel(nest.around(s), kernel)]
    sequential = [s for s in nest.loops if s not in parallel]
    if sequential and (len(sequential) > 1 or not _updates_fixed_elements(nest, sequential[0])):
        return None  # the order of iterations that depend on each other must stay
    is_map = not sequential and not nest.has_loops
    if is_map:
        return _contiguous_loop_last(nest, kernel)
    if (
        len(parallel) > 1 or not sequential or _shares_loads(nest, outside)
        or _sums_without_loads(nest, sequential[0]) or _sums_neighbours(nest, sequential[0], kernel)
    ):
        vector_loop = _best_vector_loop(nest, parallel, sequential, kernel)
        if vector_loop is not None:
            others = [s for s in parallel if s is not vector_loop]
            return [*_moved_outward(nest, vector_loop, others), *sequential]
        # vectors of neighbouring sums do not pay; the terms of each sum may become lanes
        if reassociate and sequential and _is_best_summed(nest, parallel, sequential[0], kernel):
            return [*parallel, *sequential]
    # such as a matrix times a vector: nothing is loaded again, and only the strides count
    return _contiguous_sum_last(nest, parallel, sequential, kernel) if sequential else None


def _is_parallel(loop: Loop, kernel: Kernel) -> bool:
    """Whether `loop` carries no dependence."""
    return all(d.distance == 0 for d in dependences(loop, kernel))


def _updates_fixed_elements(nest: _PerfectNest, loop: Loop) -> bool:
    """Whether `loop`, which is sequential, only updates elements that are the same in all its
    iterations. Each of these gets its updates in the same order, wherever the other loops stand.
    """
    stores = [s for s in nest.body if isinstance(s, Store)]
    is_invariant = not any(loop.var in names_read(*s.index) for s in stores)
    return is_invariant and bool(stores) and not nest.has_loops


def _shares_loads(nest: _PerfectNest, outside: frozenset[str]) -> bool:
    """Whether a loop around the nest stores other elements in each iteration, but some load of the
    nest is the same in all of them. It can share that load, so that reordering pays even with one
    parallel loop.

        for b: …; for i: for k: y[b, i] += a[i, k] * x[b, k]     True: all b share a[i, k]

    Only loads that depend on all loops of the nest count, as a[i, k] does.
    """
    stored = [names_read(*n.index) for n in nest.body if isinstance(n, Store)]
    loaded = [names_read(*n.index) for n in nest.loads()]
    result_loops = [v for v in outside if all(v in names for names in stored)]
    using_all_loops = [names for names in loaded if all(s.var in names for s in nest.loops)]
    return any(v not in names for v in result_loops for names in using_all_loops)


def _sums_without_loads(nest: _PerfectNest, sum_loop: Loop) -> bool:
    """Whether the terms of a sum are computed from elements that are the same for all of them, so
    that nothing is loaded or stored in the loop of the sums, if it is innermost.

        for k: for i: y[i] += x[i] >> k & 1     True
        for k: for i: y[i] += x[i] * w[k]       False: w[k] is another element for each term
    """
    return not any(sum_loop.var in names_read(*n.index) for n in nest.loads())


def _sums_neighbours(nest: _PerfectNest, sum_loop: Loop, kernel: Kernel) -> bool:
    """Whether each sum takes elements that are neighbours in memory, and others take the same ones:
    they stay in the caches, whichever loop is innermost.

        for k: for i: y[i] += x[i + k]      True
        for k: for i: y[i] += a[k, i]       False: an element of `a` is taken once
    """
    params = {p.name: p for p in kernel.params}
    reads = [
        a for a in accesses(nest.body, [s.var for s in nest.loops])
        if any(f is None or f.coefficient(sum_loop.var) for f in a.index)
    ]
    return bool(reads) and all(
        a.array in params and has_unit_stride(a, params[a.array], s.var)
        for a in reads for s in nest.loops
    )


def _cost(nest: _PerfectNest, order: Sequence[Loop], lanes: Loop, kernel: Kernel) -> float:
    """The `LoopSet` cost of the nest in this order with vectors along `lanes`."""
    return loop_set(nest.in_order(order), kernel).cost({lanes.var})


def _contiguous_loop_last(nest: _PerfectNest, kernel: Kernel) -> list[Loop] | None:
    """For a map: the loop with the cheapest vectors moved innermost; None if it is already."""
    costs = [_cost(nest, nest.loops, s, kernel) for s in nest.loops]
    if min(costs) == costs[-1]:
        return None
    best = nest.loops[costs.index(min(costs))]
    return [*(s for s in nest.loops if s is not best), best]


def _contiguous_sum_last(
    nest: _PerfectNest, parallel: list[Loop], sequential: list[Loop], kernel: Kernel
) -> list[Loop] | None:
    """The loop of the sums moved innermost, if fewer accesses have a stride along it than along the
    innermost loop; else None. Recurrences that are no reductions keep their order: each step waits
    for the one before, and meanwhile the independent steps of neighbouring elements can run.

        for j: for i: y[i] += a[i, j] * x[j]          j i → i j: a is contiguous along j
        for i: for j: y[j] += a[i, j]                 as it is: along i, a would have a stride
        for j: for i: y[i] = y[i] * 0.5 + a[i, j]     as it is
    """
    params = {p.name: p for p in kernel.params}
    of_body = accesses(nest.body, [s.var for s in nest.loops])
    [sum_loop] = sequential
    order = [*parallel, sum_loop]
    strided, strided_now = (
        count_strided(of_body, params, s.var) for s in (sum_loop, nest.loops[-1])
    )
    if strided >= strided_now:
        return None
    return order if _with_sums_in_registers(nest, order, kernel) is not None else None


def _best_vector_loop(
    nest: _PerfectNest, parallel: list[Loop], sequential: list[Loop], kernel: Kernel
) -> Loop | None:
    """The best vector loop outside of sums; None where vectors within the sums are cheaper."""
    sum_loops = [*sequential, *(n for s in nest.body for n in walk(s) if isinstance(n, Loop))]
    inner_costs = [_cost(nest, nest.loops, s, kernel) for s in sum_loops]
    legal = [s for s in parallel if can_run_in_lockstep(nest.around(s), kernel)]
    costs = [_cost(nest, [*parallel, *sequential], s, kernel) for s in legal]
    if not costs or min(costs) >= min(inner_costs):
        return None
    return legal[costs.index(min(costs))]


def _is_best_summed(
    nest: _PerfectNest, parallel: list[Loop], sum_loop: Loop, kernel: Kernel
) -> bool:
    """Whether vectors of the terms of each sum are cheaper than vectors of sums, in any order."""
    order = [*parallel, sum_loop]
    other_costs = [
        _cost(nest, candidate_order, s, kernel)
        for candidate_order in (nest.loops, order)
        for s in parallel
    ]
    loops = _with_sums_in_registers(nest, order, kernel)
    if loops is None or vectorization_obstacle(loops[-1], kernel) is not None:
        return False
    return loop_set(loops[0], kernel).cost({sum_loop.var}) < min(other_costs)


def _with_sums_in_registers(
    nest: _PerfectNest, order: Sequence[Loop], kernel: Kernel
) -> list[Loop] | None:
    """The loops of the nest in this order as `promote` will make them; None if an accumulator of
    the innermost loop is then no reduction.
    """
    promoted = simplify(promote(replace(kernel, body=(nest.in_order(order),))))
    loops = [n for n in walk(promoted) if isinstance(n, Loop)]
    if len(loops) != len(order) or not (accs := loops[-1].accs):
        return None
    return loops if all(reduction_of(a, loops[-1]) for a in accs) else None


def _moved_outward(nest: _PerfectNest, vector_loop: Loop, others: list[Loop]) -> list[Loop]:
    """The loops `others` with `vector_loop` among them. It starts innermost, and moves outward past
    each loop in which a load that it makes a vector is invariant: for ``b[k, j]`` j moves past i.
    """
    position = len(others)
    varying_loads = [n for n in nest.loads() if vector_loop.var in names_read(n)]
    while position and any(others[position - 1].var not in names_read(n) for n in varying_loads):
        position -= 1
    return [*others[:position], vector_loop, *others[position:]]
