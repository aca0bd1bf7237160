"""Difference bounds: the range of each integer, and the maximal difference of any two.

The facts hold at one program point. LLVM's counterpart is ConstraintElimination's constraint
system. `refine_facts` adds what conditions imply; the pass `check_elimination` uses both.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import TypeAlias

from ..dtypes import DTYPES, INDEX
from ..ir_names import names_read
from ..ir_traversal import walk
from ..nodes import Call, Const, Dim, Expr, Load, Var
from .intervals import Bounds, dtype_bounds, is_scalar_integer, is_within, result_bounds

__all__ = ["IntegerFacts", "Term", "is_length"]

_LENGTH_BOUNDS: Bounds = (0, 1 << 47)  # no axis is longer than the address space
_MAX_INTERMEDIATE = 64  # limit on the terms that a search for a path visits
_VALUE_NUMBERS = count()

Term: TypeAlias = str
"""Key of a 64-bit name or a length (``a.shape[0]``): a string, for fast lookup."""


class IntegerFacts:
    """The integer facts at one point.

    ``spans``: ranges of names and lengths. ``most[x][y]``: an upper bound of ``x - y``, for 64-bit
    integers. ``values``: the expression that a name is bound to, as long as the names in it are not
    rebound; ``named``: the inverse.
    """

    def __init__(self) -> None:
        self.spans: dict[str, Bounds] = {}
        self.most: dict[Term, dict[Term, int]] = {}
        self.values: dict[str, Expr] = {}
        self.named: dict[Expr, Var] = {}
        self._reads: dict[int, tuple[Expr, frozenset[str]]] = {}  # keeps the id alive

    def nothing(self) -> IntegerFacts:
        """Empty facts that share the cache of this object."""
        new = IntegerFacts()
        new._reads = self._reads
        return new

    def copy(self) -> IntegerFacts:
        """A copy that can be extended."""
        new = self.nothing()
        new.spans, new.values, new.named = dict(self.spans), dict(self.values), dict(self.named)
        new.most = {x: dict(row) for x, row in self.most.items()}
        return new

    # -- queries

    def span(self, e: Expr) -> Bounds:
        """The range of the integer or bool `e`."""
        match e:
            case Const(value):
                return int(value), int(value)
            case Dim():
                return self.spans.get(_term_of(e), _LENGTH_BOUNDS)
            case Var(name, dtype):
                return self.spans.get(name, dtype_bounds(dtype))
            case Call("cast", (x,)) if DTYPES[x.dtype].kind == "f" or x.lanes != 1:
                return dtype_bounds(e.dtype)
            case Call() if is_scalar_integer(e):
                return self._of_call(e)
            case _:
                return dtype_bounds(e.dtype)

    def lies(self, t: Term) -> Bounds:
        """The range of the term `t`."""
        return self.spans.get(t) or (_LENGTH_BOUNDS if is_length(t) else dtype_bounds(INDEX))

    def _of_call(self, e: Call) -> Bounds:
        limits, found = dtype_bounds(e.dtype), result_bounds(e.op, [self.span(x) for x in e.args])
        if found and e.op == "sub" and e.dtype == INDEX and all(map(_is_term, e.args)):
            a, b = e.args
            found = max(found[0], -self.gap(b, a)), min(found[1], self.gap(a, b))
        return found if found and is_within(found, limits) else limits

    def fits(self, e: Call) -> bool:
        """Whether `e` does not overflow: its value is that of unbounded integers."""
        found = result_bounds(e.op, [self.span(x) for x in e.args])
        return found is not None and is_within(found, dtype_bounds(e.dtype))

    def gap(self, a: Expr | Term, b: Expr | Term) -> int:
        """An upper bound of ``a - b``, for 64-bit integers."""
        (p, k), (q, m) = self.form(a), self.form(b)
        rest = {t: c for t in p | q if (c := p.get(t, 0) - q.get(t, 0))}
        best = k - m + sum(max(c * end for end in self.lies(t)) for t, c in rest.items())
        ups, downs = ([t for t, c in rest.items() if c == sign] for sign in (1, -1))
        if len(ups) == len(downs) == 1 and len(rest) == 2:
            return min(best, k - m + self.apart(ups[0], downs[0]))
        return best

    def apart(self, x: Term, y: Term) -> int:
        """An upper bound of ``x - y``: the shortest path from x to y over known differences."""
        far, waiting = {x: 0}, [x]
        for a in islice(waiting, _MAX_INTERMEDIATE):  # the list grows in the loop
            for b, c in self.most.get(a, {}).items():
                if b not in far or far[a] + c < far[b]:
                    far[b] = far[a] + c
                    waiting.append(b)
        low = self.lies(y)[0]
        best = min(c + self.lies(z)[1] - low for z, c in far.items())
        return min(best, far.get(y, best))

    def form(self, e: Expr | Term) -> tuple[dict[Term, int], int]:
        """`e` as a linear form: coefficients by term, and a constant."""
        if isinstance(e, Term):
            return {e: 1}, 0
        if isinstance(e, Const):
            return {}, int(e.value)
        value = self.values.get(e.name) if isinstance(e, Var) else None
        if isinstance(value, Const | Var) or (value is not None and self._is_sum(value)):
            return self.form(value)
        if isinstance(e, Call) and self._is_sum(e):
            (p, k), (q, m) = map(self.form, e.args)
            sign = 1 if e.op == "add" else -1
            return {t: c for t in p | q if (c := p.get(t, 0) + sign * q.get(t, 0))}, k + sign * m
        return {self._term(e): 1}, 0

    def _is_sum(self, e: Expr) -> bool:
        return isinstance(e, Call) and e.op in ("add", "sub") and self.fits(e)

    def _term(self, e: Expr) -> Term:
        if isinstance(e, Var | Dim):
            return _term_of(e)
        if (name := self.named.get(e)) is None:  # loads are never shared: each gets a new number
            self.bind(name := Var(f"{next(_VALUE_NUMBERS)}", INDEX), e)
        return name.name

    # -- updates

    def bind(self, name: Var, e: Expr) -> None:
        """Record the assignment of `e` to `name`; `e` does not read `name`."""
        self.forget(name)
        if is_scalar_integer(name):
            self.spans[name.name] = self.span(e)
        if name.dtype == e.dtype == INDEX and name.lanes == 1:
            for x, y, c in self._relations(name, e):
                self.note(x, y, c)
            if isinstance(e, Call) and not any(isinstance(n, Load) for n in walk(e)):
                self.named.setdefault(e, name)
        if name.lanes == 1 and name.dtype in (INDEX, "bool"):
            self.values[name.name] = e  # last: `note` must see the name, not its value

    def _relations(self, v: Var, e: Expr) -> Iterator[tuple[Expr | Term, Expr | Term, int]]:
        """Triples (x, y, c) with ``x - y <= c`` that follow from ``v = e``."""
        match e:
            case Const():
                pass
            case Var() | Dim():
                yield from ((v, e, 0), (e, v, 0))
            case Call("add", (a, b)) if self.fits(e):
                for p, q in ((a, b), (b, a)):
                    low, high = self.span(q)
                    yield from ((v, p, high), (p, v, -low))
            case Call("sub", (a, b)) if self.fits(e):
                low, high = self.span(b)
                yield from ((v, a, -low), (a, v, high))
            case Call("min" | "minimum", (a, b)):
                yield from ((v, a, 0), (v, b, 0))
            case Call("max" | "maximum", (a, b)):
                yield from ((a, v, 0), (b, v, 0))
            case Call("select", (_, a, b)):
                for x in self._near(a) | self._near(b):
                    yield v, x, max(self.gap(a, x), self.gap(b, x))
                    yield x, v, max(self.gap(x, a), self.gap(x, b))
            case Call("bitand", args):
                yield from ((v, p, 0) for p in args if self.span(p)[0] >= 0)
            case Call("floordiv" | "shr" | "mod" as op, (a, b)):
                yield from self._shares(v, op, a, b)

    def _near(self, e: Expr) -> set[Term]:
        """The terms of `e` and those with a known difference to one of them."""
        terms = set(self.form(e)[0])
        above = {x for x, row in self.most.items() if terms & row.keys()}
        return terms.union(above, *(self.most.get(t, ()) for t in terms))

    def _shares(
        self, v: Var, op: str, a: Expr, b: Expr
    ) -> Iterator[tuple[Expr | Term, Expr | Term, int]]:
        """Relations of a quotient, remainder or right shift to its operands."""
        low = self.span(b)[0]
        if self.span(a)[0] >= 0 and (low > 0 or op == "shr"):
            yield v, a, 0
        if op == "mod" and low > 0:
            yield v, b, -1
        terms, k = self.form(a)
        if op == "floordiv" and b == Const(2, INDEX) and k == 0 and [*terms.values()] == [1, 1]:
            for p, q in (tuple(terms), (*terms,)[::-1]):
                yield v, p, self.apart(q, p) // 2
                yield p, v, -(-self.apart(p, q) // 2)

    def note(self, x: Expr | Term, y: Expr | Term, c: int) -> None:
        """Record ``x - y <= c``."""
        (p, k), (q, m) = self.form(x), self.form(y)
        c += m - k
        if len(p) == 1 and not q and [*p.values()] == [1]:
            self.limit((*p,)[0], high=c)
        elif len(q) == 1 and not p and [*q.values()] == [1]:
            self.limit((*q,)[0], low=-c)
        rest = {t: n for t in p | q if (n := p.get(t, 0) - q.get(t, 0))}
        ups, downs = ([t for t, n in rest.items() if n == sign] for sign in (1, -1))
        if len(ups) == len(downs) == 1 and len(rest) == 2:
            up, down = ups[0], downs[0]
            row = self.most.setdefault(up, {})
            row[down] = min(c, row.get(down, c))
            self.limit(up, high=self.lies(down)[1] + c)
            self.limit(down, low=self.lies(up)[0] - c)

    def limit(self, t: Term, low: int | None = None, high: int | None = None) -> None:
        """Intersect the range of `t` with these bounds."""
        lo, hi = self.lies(t)
        new = lo if low is None else max(lo, low), hi if high is None else min(hi, high)
        if new[0] <= new[1]:  # otherwise the point is unreachable
            self.spans[t] = new

    def narrow(self, e: Expr, low: int, high: int) -> None:
        """Intersect the range of `e` with these bounds."""
        if isinstance(e, Var | Dim):
            self.spans.setdefault(_term_of(e), self.span(e))
            self.limit(_term_of(e), low, high)

    def forget(self, name: Var) -> None:
        """Drop the facts about `name`, which is rebound."""
        self.bridge(name.name)
        self.spans.pop(name.name, None)
        self.values.pop(name.name, None)
        self.values = {n: e for n, e in self.values.items() if name.name not in self._reads_of(e)}
        self.named = {
            e: n for e, n in self.named.items() if n != name and name.name not in self._reads_of(e)
        }

    def _reads_of(self, e: Expr) -> frozenset[str]:
        """The names that `e` reads."""
        if id(e) not in self._reads:
            self._reads[id(e)] = e, names_read(e)
        return self._reads[id(e)][1]

    def bridge(self, name: Term) -> None:
        """Remove `name` from the differences, keeping those between others that follow through it.
        """
        after = self.most.pop(name, {})
        for x, row in self.most.items():
            if (c := row.pop(name, None)) is not None:
                for y, d in after.items():
                    if x != y:
                        row[y] = min(c + d, row.get(y, c + d))


def is_length(t: Term) -> bool:
    """Whether the term `t` is the length of an axis."""
    return t.endswith("]")


def _term_of(t: Var | Dim) -> Term:
    return t.name if isinstance(t, Var) else f"{t.array}.shape[{t.axis}]"


def _is_term(e: Expr) -> bool:
    return isinstance(e, Var | Dim | Const)
