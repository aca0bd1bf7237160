"""Loop distribution: the expensive independent part of a sequential loop gets a vector loop."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from ...algebra.index_builder import index_sub
from ...algebra.may_raise import may_raise_flags
from ...analysis.access import accesses
from ...analysis.dependence import dependences
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, names_read
from ...ir_traversal import advanced_accums, children, map_children, walk
from ...lazy_dataclass import replace
from ...machine_model import DEFAULT_MACHINE, Machine, strip_length
from ...nodes import (
    Assign,
    Break,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    LoopLike,
    Return,
    Stmt,
    Store,
    Var,
)
from ...op_table import OPS
from ...statement_blocks import backward_slice, evaluated_by, map_statements
from ..loop_splitting import max_iterations, tile_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["distribute"]

MIN_WEIGHT = 8.0
"""Least weight of a value that is stored for the second loop. The same for all machines: vector
functions may round differently from scalar ones, so the choice determines the bits of results."""
MIN_ITERATIONS = 16  # a shorter loop is left as it is


def distribute(
    kernel: Kernel, *, reassociate: bool = True, machine: Machine = DEFAULT_MACHINE
) -> Kernel:
    """Move expensive computations that carry no dependence from a sequential loop to a vector loop.

    Strip by strip, so that the values stay in the L1 cache. Before::

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
        if not isinstance(s, Loop) or not _is_candidate(s):
            return s
        if vectorization_obstacle(s, kernel, reassociate=reassociate) is None:
            return s
        parts = _IndependentPart(s, kernel)
        return _distributed(parts, machine, fresh) if parts.costly else s

    return map_statements(kernel, edit)


def _is_candidate(s: Loop) -> bool:
    """Whether `s` is an innermost counted loop of enough iterations that is not left early."""
    if not isinstance(s.range, Interval) or s.until is not None:
        return False
    count = max_iterations(s.range)
    inside = [n for x in s.body for n in walk(x)]
    leaves = any(isinstance(n, LoopLike | Break | Return) for n in inside)
    return not leaves and (count is None or count >= MIN_ITERATIONS)


class _IndependentPart:
    """A loop, and the values that it computes from its variable and loop-invariant values alone.

    ``free``: the assignments of such values. ``costly``: expensive values that other statements use
    and that a vector loop before this one can compute.
    """

    def __init__(self, loop: Loop, kernel: Kernel) -> None:
        self.loop = loop
        self.bound = (bound_names(loop) | advanced_accums(loop)) - {loop.var}
        self.moving = _carried_elements(loop, kernel)
        self.free: dict[str, Assign] = {}
        for s in loop.body:
            if isinstance(s, Assign) and self.is_free(s.value):
                self.free[s.name] = s
        found = dict.fromkeys(e for root in self.roots() for e in self.inside(root))
        going = [e for e in found if self.can_go(e, kernel)]
        left = self.second(dict.fromkeys(going, Load("", (Var(loop.var, INDEX),), INDEX))).body
        self.costly = [e for e in going if self.weight(e, left) >= MIN_WEIGHT]

    def of(self, strip: Loop) -> _IndependentPart:
        """The same analysis for a loop that differs in its range and accumulators only."""
        other = copy(self)
        other.loop = strip
        return other

    def is_free(self, e: Expr) -> bool:
        if (self.bound - self.free.keys()) & names_read(e):
            return False
        body = (*backward_slice(self.free.values(), e), Assign("", e))
        found = accesses((replace(self.loop, body=body, accs=()),))
        return self.moving.isdisjoint((a.array, a.index) for a in found)

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

    def inside(self, e: Any) -> Iterator[Expr]:
        """The largest free subexpressions of `e` that are expensive."""
        if not self.is_free(e):
            for part in children(e):
                yield from self.inside(part)
        elif isinstance(e, Call | Var) and self.weight(e) >= MIN_WEIGHT:
            yield e

    def weight(self, e: Expr, left: Sequence[Stmt] = ()) -> float:
        """The cost of computing `e`, without statements that the loop keeps (`left`) anyway."""
        code = (e, *(s for s in backward_slice(self.free.values(), e) if s not in left))
        return sum(OPS[n.op].weight for part in code for n in walk(part) if isinstance(n, Call))

    def can_go(self, e: Expr, kernel: Kernel) -> bool:
        """Whether `e` can be computed by a vector loop."""
        first = self.first({e: Load("", (Var(self.loop.var, INDEX),), e.dtype)})
        return DTYPES[e.dtype].wide is None and vectorization_obstacle(first, kernel) is None

    def first(self, places: dict[Expr, Load]) -> Loop:
        """The loop that computes these values and stores them."""
        stores = tuple(Store(at.array, at.index, e) for e, at in places.items())
        return replace(
            self.loop, body=(*backward_slice(self.free.values(), *places), *stores), accs=()
        )

    def second(self, places: dict[Expr, Load]) -> Loop:
        """The loop that loads these values, without the code that served only them."""

        def go(n: Any) -> Any:
            return places[n] if isinstance(n, Call | Var) and n in places else map_children(n, go)

        free = self.free.values()
        computed = backward_slice(free, *places)
        accs = tuple(replace(a, step=go(a.step)) for a in self.loop.accs)
        body = [s if s in free else go(s) for s in self.loop.body]
        live = set(names_read(*(a.step for a in accs)))
        kept: list[Stmt] = []
        for s in reversed(body):
            if s not in free or s.name in live or (may_raise_flags(s) and s not in computed):
                live |= names_read(s)
                kept.append(s)
        return replace(self.loop, body=tuple(reversed(kept)), accs=accs)


def _carried_elements(loop: Loop, kernel: Kernel) -> frozenset[Any]:
    """The elements that an iteration may read from a previous one."""
    found = dependences(loop, kernel)
    read = [d.sink for d in found if d.kind == "flow"]
    read += [a for d in found if d.distance is None for a in (d.source, d.sink)]
    return frozenset((a.array, a.index) for a in read)


def _distributed(parts: _IndependentPart, machine: Machine, fresh: FreshNames) -> Loop:
    """Strips of the loop, each after a vector loop for its expensive part."""
    size = strip_length(machine.caches[0], sum(DTYPES[e.dtype].bytes for e in parts.costly))
    strips = tile_loop(parts.loop, size, {}, fresh)
    [one] = strips.body
    assert isinstance(one, Loop)
    names = {e: fresh.name(e.name if isinstance(e, Var) else "v") for e in parts.costly}
    at = (index_sub(Var(one.var, INDEX), Var(strips.var, INDEX)),)
    places: dict[Expr, Load] = {e: Load(name, at, e.dtype) for e, name in names.items()}
    inner = parts.of(one)
    first = fresh.copy(inner.first(places))
    locals_ = tuple(Local(name, e.dtype, size) for e, name in names.items())
    return replace(strips, body=(*locals_, first, inner.second(places)))
