"""Bounds of a ``while`` loop: its trip count, and how far its counters grow.

A counter that starts at most at 3 and grows by at most 1 has magnitude <= 3 + n after n iterations
(`GrowthBound`). `WhileBounds.ends_within` gives the condition that the loop ends within a number of
iterations. `narrow_lanes` combines both to run counters in narrower lanes.
"""
from __future__ import annotations

from collections.abc import Iterator

from ...algebra.constant_folding import index_const
from ...algebra.rewrite_rules import rewrite
from ...ir_names import changed_names, names_read
from ...ir_traversal import walk
from ...lazy_dataclass import record, replace
from ...nodes import Accum, Assign, Broadcast, Call, Const, Expr, Var, VecLoop, While
from .implied_conditions import implied_terms

__all__ = ["GrowthBound", "WhileBounds"]


@record(frozen=True, slots=True)
class GrowthBound:
    """After n iterations the absolute value is at most ``base + rate * n``."""
    base: int
    rate: int = 0

    def max_iterations_within(self, limit: int) -> int:
        """After how many iterations the value is still within `limit`; if it does not grow, that is
        any number, and `limit` stands for it.
        """
        if self.base > limit:
            return 0
        return (limit - self.base) // self.rate if self.rate else limit


def _join_bounds(*bounds: GrowthBound) -> GrowthBound:
    """A bound that is valid for each of `bounds`."""
    return GrowthBound(max(bound.base for bound in bounds), max(bound.rate for bound in bounds))


class WhileBounds:
    """Bounds of the integers in a vector `loop`, and of the trip count of the loop `inner` in it.

    ``changed_in_loop``: the names that `loop` changes, so that all others are loop-invariant;
    ``values``: definitions of assigned names; ``bounds``: of accumulators, memoised.
    """

    def __init__(self, loop: VecLoop, inner: While) -> None:
        self.changed_in_loop = changed_names(loop)
        self.inner = inner
        self.accs = {a.name: a for a in inner.accs}
        self.values = {n.name: n.value for n in walk(loop) if isinstance(n, Assign)}
        self.bounds: dict[str, GrowthBound | None] = {}

    def resolved(self, e: Expr) -> Expr:
        """The value of a name that is assigned, followed through copies."""
        while isinstance(e, Var) and e.name in self.values:
            e = self.values[e.name]
        return e

    def of(self, e: Expr) -> GrowthBound | None:
        """The bound of `e`; None if there is none."""
        match self.resolved(e):
            case Const(int(value)):
                return GrowthBound(abs(value))
            case Broadcast(value):
                return self.of(value)
            case Var(name) if name in self.accs:
                if name not in self.bounds:
                    self.bounds[name] = None
                    self.bounds[name] = self._carried(self.accs[name])
                return self.bounds[name]
            case Call("add" | "sub", (a, b)):
                left, right = self.of(a), self.of(b)
                return (
                    left and right and GrowthBound(left.base + right.base, left.rate + right.rate)
                )
            case Call("select", (_, a, b)):
                left, right = self.of(a), self.of(b)
                return left and right and _join_bounds(left, right)
            case _:
                return None

    def _carried(self, a: Accum) -> GrowthBound | None:
        """The bound of an accumulator that starts bounded, if each of its steps leaves it as it is,
        adds or subtracts a value with a constant bound, or assigns a bounded value; else None.
        """
        bounds, growth = [self.of(a.init)], 0
        for e in self._choices(a.step):
            match e:
                case Var(a.name):
                    continue
                case Call("add" | "sub", (Var(a.name), operand)):
                    increment = self.of(operand)
                    bounds.append(increment if increment and not increment.rate else None)
                    growth = max(growth, increment.base if increment else 0)
                case _:
                    bounds.append(self.of(e))
        known_bounds = [bound for bound in bounds if bound is not None]
        if len(known_bounds) < len(bounds):
            return None
        joined = _join_bounds(*known_bounds)
        return replace(joined, rate=joined.rate + growth)

    def _choices(self, e: Expr) -> Iterator[Expr]:
        """The values among which `e` selects, through names."""
        match self.resolved(e):
            case Call("select", (_, a, b)):
                yield from (*self._choices(a), *self._choices(b))
            case value:
                yield value

    def ends_within(self, trips: int) -> Expr | None:
        """The condition that the loop ends within `trips` iterations, by a counter that is compared
        with an invariant; None where it has no such exit.
        """
        for e, holds in implied_terms(self.inner.cond, True, self.values.get):
            flag = self.accs.get(e.name) if isinstance(e, Var) and holds else None
            tests = implied_terms(flag.step, True, self.values.get) if flag else ()
            for test in (t for t, is_true in tests if is_true):
                match test:
                    case Call("lt" | "le" as op, (k, end)) if (
                        not names_read(end) & self.changed_in_loop
                    ):
                        start = self._counted_from(k)
                        if start is not None:
                            limit = index_const(start + trips - (op == "le"))
                            return rewrite(Call("le", (end, limit), "bool"))
        return None

    def _counted_from(self, e: Expr) -> int | None:
        """The initial value of a counter whose next value is `e`; None if `e` is none."""
        match self.resolved(e):
            case Call("add", (Var(name), Const(1))) as incremented if name in self.accs:
                a = self.accs[name]
                start = a.init.value if isinstance(a.init, Const) else None
                return (
                    start
                    if isinstance(start, int) and self.resolved(a.step) == incremented
                    else None
                )
            case _:
                return None
