"""Loop distribution: the expensive independent part of a sequential loop gets a vector loop.

`_IndependentPart` finds the values that depend on the loop variable and invariants alone (free
values), and of these the largest that cost at least `MIN_WEIGHT` and that a vector loop can
compute. The first of the two loops stores them in a local array, the second loads them; both run
strip by strip.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from ...algebra.index_builder import index_sub
from ...algebra.may_raise import may_raise_flags
from ...analysis.access import accesses
from ...analysis.dependence import dependences
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, changed_names, names_read
from ...ir_traversal import (
    children,
    counted_range,
    has_early_exit,
    is_innermost,
    map_children,
    walk,
)
from ...lazy_dataclass import replace
from ...machine_model import DEFAULT_MACHINE, Machine, strip_length
from ...nodes import (
    Assign,
    Call,
    Expr,
    If,
    Kernel,
    Load,
    Local,
    Loop,
    Stmt,
    Store,
    Var,
)
from ...op_table import OPS
from ...statement_blocks import backward_slice, evaluated_by, map_statements
from ..loop_splitting import max_trips_of_strip, strip_mine_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["distribute"]

MIN_WEIGHT = 8.0
"""Least weight of a value that is stored for the second loop. The same for all machines: vector
functions may round differently from scalar ones, so the choice determines the bits of results."""
MIN_ITERATIONS = 16  # a shorter loop is left as it is


def distribute(
    kernel: Kernel, *, reassociate: bool = True, machine: Machine = DEFAULT_MACHINE
) -> Kernel:
    """Move expensive computations that carry no dependence from a sequential loop to a vector loop
    before it, which stores the values in a local array. The two loops take turns, one strip of
    iterations at a time, so that the array stays in the L1 cache.

    This is done in an innermost counted loop that cannot be vectorised as a whole
    (`vectorization_obstacle`) and may have `MIN_ITERATIONS` iterations or more, and for values that
    cost at least `MIN_WEIGHT`, such as an ``exp`` (`_IndependentPart`): the vector loop
    must save more than the additional store and load cost. Before::

        def k(x: f64[::1], at: i64[::1], h: mut(f64[::1])):
            disjoint(x, h)
            disjoint(at, h)
            for i in loop(0, x.shape[0]):
                h[at[i]] = h[at[i]] + exp(x[i])

    after::

        def k(x: f64[::1], at: i64[::1], h: mut(f64[::1])):
            disjoint(x, h)
            disjoint(at, h)
            for i_1 in loop(range(0, x.shape[0], 512)):
                v = local(f64, 512)
                for i_2 in loop(i_1, min(i_1 + 512, x.shape[0])):
                    v[i_2 - i_1] = exp(x[i_2])
                for i in loop(i_1, min(i_1 + 512, x.shape[0])):
                    h[at[i]] = h[at[i]] + v[i - i_1]
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` distributed, if it cannot be vectorised as a whole and has an expensive independent
        part.
        """
        if not isinstance(s, Loop) or not _is_candidate(s):
            return s
        if vectorization_obstacle(s, kernel, reassociate=reassociate) is None:
            return s
        independent = _IndependentPart(s, kernel)
        return _distributed(independent, machine, fresh) if independent.costly else s

    return map_statements(kernel, edit, Loop)


def _is_candidate(s: Loop) -> bool:
    """Whether `s` is an innermost counted loop of enough iterations that is not left early."""
    counted = counted_range(s)
    if counted is None or not is_innermost(s) or has_early_exit(s):
        return False
    count = max_trips_of_strip(counted)
    return count is None or count >= MIN_ITERATIONS


class _IndependentPart:
    """A loop, and the values that it computes from its variable and loop-invariant values alone.

    ``free``: the assignments of such values. ``carried``: elements (array and subscript) that an
    iteration may read from another one; a value that reads one is not free. ``costly``: expensive
    free values that other statements use and that a vector loop before this one can compute.
    """

    def __init__(self, loop: Loop, kernel: Kernel) -> None:
        self.loop = loop
        self.bound = changed_names(loop) - {loop.var}
        self.carried = _carried_elements(loop, kernel)
        self.free: dict[str, Assign] = {}
        for s in loop.body:
            if isinstance(s, Assign) and self.is_free(s.value):
                self.free[s.name] = s
        expensive = dict.fromkeys(e for root in self.roots() for e in self.expensive_parts(root))
        vectorizable = [e for e in expensive if self.is_vectorizable(e, kernel)]
        # what each of them saves: its own operations, without those that the second loop computes
        # anyway. `Load("", …)` is an element of the local array, which has no name yet
        remaining = self.second(
            dict.fromkeys(vectorizable, Load("", (Var(loop.var, INDEX),), INDEX))
        ).body
        self.costly = [e for e in vectorizable if self.weight(e, remaining) >= MIN_WEIGHT]

    def of(self, strip: Loop) -> _IndependentPart:
        """The same analysis for a loop that differs in its range and accumulators only."""
        other = copy(self)
        other.loop = strip
        return other

    def is_free(self, e: Expr) -> bool:
        """Whether `e` depends on the loop variable, invariants and free names alone, and reads no
        element that another iteration may write.
        """
        if (self.bound - self.free.keys()) & names_read(e):
            return False
        body = (*backward_slice(self.free.values(), e), Assign("", e))
        touched = accesses((replace(self.loop, body=body, accs=()),))
        return self.carried.isdisjoint((a.array, a.index) for a in touched)

    def roots(self) -> Iterator[Expr]:
        """The expressions that non-free statements evaluate once an iteration, and names used in
        branches.
        """
        for s in self.loop.body:
            if not (isinstance(s, Assign) and s.name in self.free):
                yield from evaluated_by(s)
            if isinstance(s, If):
                yield from (n for n in walk(s) if isinstance(n, Var))
        yield from (a.step for a in self.loop.accs)

    def expensive_parts(self, e: Any) -> Iterator[Expr]:
        """The largest free subexpressions of `e` that are expensive."""
        if not self.is_free(e):
            for part in children(e):
                yield from self.expensive_parts(part)
        elif isinstance(e, Call | Var) and self.weight(e) >= MIN_WEIGHT:
            yield e

    def weight(self, e: Expr, remaining: Sequence[Stmt] = ()) -> float:
        """The cost of computing `e` with the free assignments that it depends on, in additions;
        those in `remaining`, which the loop keeps anyway, cost nothing. Only arithmetic counts that
        vectors do faster on each target (`_is_faster_in_lanes`).
        """
        code = (e, *(s for s in backward_slice(self.free.values(), e) if s not in remaining))
        calls = (n for part in code for n in walk(part) if isinstance(n, Call))
        return sum(OPS[n.op].weight for n in calls if _is_faster_in_lanes(n))

    def is_vectorizable(self, e: Expr, kernel: Kernel) -> bool:
        """Whether `e` can be computed by a vector loop."""
        first = self.first({e: Load("", (Var(self.loop.var, INDEX),), e.dtype)})
        return DTYPES[e.dtype].wide is None and vectorization_obstacle(first, kernel) is None

    def first(self, elements: dict[Expr, Load]) -> Loop:
        """The loop that computes the keys of `elements` and stores each in its element."""
        stores = tuple(Store(element.array, element.index, e) for e, element in elements.items())
        return replace(
            self.loop, body=(*backward_slice(self.free.values(), *elements), *stores), accs=()
        )

    def second(self, elements: dict[Expr, Load]) -> Loop:
        """The loop that loads the values, the keys of `elements`, without the code that served only
        them. An assignment that may raise a flag stays unless the first loop executes it.
        """

        def with_loads(n: Any) -> Any:
            """`n` with the stored values replaced by loads."""
            return (
                elements[n]
                if isinstance(n, (Call, Var)) and n in elements
                else map_children(n, with_loads)
            )

        free = self.free.values()
        computed = backward_slice(free, *elements)
        accs = tuple(replace(a, step=with_loads(a.step)) for a in self.loop.accs)
        body = [s if s in free else with_loads(s) for s in self.loop.body]
        live = set(names_read(*(a.step for a in accs)))
        statements: list[Stmt] = []
        for s in reversed(body):
            if s not in free or s.name in live or (may_raise_flags(s) and s not in computed):
                live |= names_read(s)
                statements.append(s)
        return replace(self.loop, body=tuple(reversed(statements)), accs=accs)


def _is_faster_in_lanes(e: Call) -> bool:
    """Whether `e` is arithmetic of floats, or of integers of at most 32 bits: most targets have no
    products, quotients and conversions of 64-bit lanes, and a scalar condition may be skipped.
    """
    dtype = DTYPES[e.dtype]
    is_narrow = dtype.kind == "f" or dtype.bytes < 8
    return is_narrow and e.dtype != "bool" and e.op not in ("cast", "select")


def _carried_elements(loop: Loop, kernel: Kernel) -> frozenset[Any]:
    """The elements that an iteration may read from a previous one."""
    all_dependences = dependences(loop, kernel)
    read = [d.sink for d in all_dependences if d.kind == "flow"]
    read += [a for d in all_dependences if d.distance is None for a in (d.source, d.sink)]
    return frozenset((a.array, a.index) for a in read)


def _distributed(independent: _IndependentPart, machine: Machine, fresh: FreshNames) -> Loop:
    """Strips of the loop, each after a vector loop for its expensive part."""
    size = strip_length(machine.caches[0], sum(DTYPES[e.dtype].bytes for e in independent.costly))
    strips = strip_mine_loop(independent.loop, size, {}, fresh)
    [strip] = strips.body
    assert isinstance(strip, Loop)
    names = {e: fresh.name(e.name if isinstance(e, Var) else "v") for e in independent.costly}
    element = (index_sub(Var(strip.var, INDEX), Var(strips.var, INDEX)),)
    elements: dict[Expr, Load] = {e: Load(name, element, e.dtype) for e, name in names.items()}
    inner = independent.of(strip)
    first = fresh.copy(inner.first(elements))
    locals_ = tuple(Local(name, e.dtype, size) for e, name in names.items())
    return replace(strips, body=(*locals_, first, inner.second(elements)))
