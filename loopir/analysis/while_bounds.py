"""Bounds of a ``while`` loop: its trip count, and how far its counters grow.

`narrow_lanes` uses them to run counters in narrower lanes.
"""
from __future__ import annotations

from collections.abc import Iterator

from ..algebra.constant_folding import index_const
from ..algebra.rewrite_rules import rewrite
from ..ir_names import bound_names, names_read
from ..ir_traversal import walk
from ..lazy_dataclass import record, replace
from ..nodes import Accum, Assign, Broadcast, Call, Const, Expr, Var, VecLoop, While
from .conditions import implied_terms

__all__ = ["GrowthBound", "WhileBounds"]


@record(frozen=True, slots=True)
class GrowthBound:
    """After `n` iterations the absolute value is at most ``base + turns * n``."""
    base: int
    turns: int = 0

    def turns_within(self, limit: int) -> int:
        """How many iterations stay within `limit`."""
        if self.base > limit:
            return 0
        return (limit - self.base) // self.turns if self.turns else limit


def _join_bounds(*parts: GrowthBound) -> GrowthBound:
    return GrowthBound(max(p.base for p in parts), max(p.turns for p in parts))


class WhileBounds:
    """Bounds of the integers in a vector `loop`, and of the trip count of the loop `inner` in it.
    """

    def __init__(self, loop: VecLoop, inner: While) -> None:
        self.outside = bound_names(loop)
        self.inner = inner
        self.accs = {a.name: a for a in inner.accs}
        self.values = {n.name: n.value for n in walk(loop) if isinstance(n, Assign)}
        self.known: dict[str, GrowthBound | None] = {}

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
                if name not in self.known:
                    self.known[name] = None
                    self.known[name] = self._carried(self.accs[name])
                return self.known[name]
            case Call("add" | "sub", (a, b)):
                one, two = self.of(a), self.of(b)
                return one and two and GrowthBound(one.base + two.base, one.turns + two.turns)
            case Call("select", (_, a, b)):
                one, two = self.of(a), self.of(b)
                return one and two and _join_bounds(one, two)
            case _:
                return None

    def _carried(self, a: Accum) -> GrowthBound | None:
        """The bound of an accumulator that starts bounded and is then incremented or reassigned."""
        parts, grows = [self.of(a.init)], 0
        for e in self._choices(a.step):
            match e:
                case Var(a.name):
                    continue
                case Call("add" | "sub", (Var(a.name), by)):
                    more = self.of(by)
                    parts.append(more if more and not more.turns else None)
                    grows = max(grows, more.base if more else 0)
                case _:
                    parts.append(self.of(e))
        known = [p for p in parts if p is not None]
        if len(known) < len(parts):
            return None
        whole = _join_bounds(*known)
        return replace(whole, turns=whole.turns + grows)

    def _choices(self, e: Expr) -> Iterator[Expr]:
        match self.resolved(e):
            case Call("select", (_, a, b)):
                yield from (*self._choices(a), *self._choices(b))
            case plain:
                yield plain

    def ends_within(self, turns: int) -> Expr | None:
        """The condition that the loop ends within `turns` iterations; None where it has no counted
        exit.
        """
        for e, holds in implied_terms(self.inner.cond, True, self.values.get):
            a = self.accs.get(e.name) if isinstance(e, Var) and holds else None
            tests = implied_terms(a.step, True, self.values.get) if a else ()
            for test in (t for t, known in tests if known):
                match test:
                    case Call("lt" | "le" as op, (k, end)) if not names_read(end) & self.outside:
                        first = self._counted_from(k)
                        if first is not None:
                            last = index_const(first + turns - (op == "le"))
                            return rewrite(Call("le", (end, last), "bool"))
        return None

    def _counted_from(self, e: Expr) -> int | None:
        """The initial value of a counter whose next value is `e`; None if `e` is none."""
        match self.resolved(e):
            case Call("add", (Var(name), Const(1))) as on if name in self.accs:
                a = self.accs[name]
                start = a.init.value if isinstance(a.init, Const) else None
                return start if isinstance(start, int) and self.resolved(a.step) == on else None
            case _:
                return None
