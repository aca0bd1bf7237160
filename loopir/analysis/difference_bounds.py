"""Difference bounds: the range of each integer, and the maximal difference of any two.

The facts hold at one program point. LLVM's counterpart is ConstraintElimination's constraint
system. `refine_facts` adds what conditions imply; the pass `check_elimination` uses both.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from typing import TypeAlias

from ..dtypes import INDEX
from ..ir_names import names_read
from ..ir_traversal import contains
from ..nodes import Call, Const, Dim, Expr, Load, Var
from .affine import AffineForm, linearize
from .intervals import (
    LENGTH,
    Bounds,
    dtype_bounds,
    expression_bounds,
    is_scalar_integer,
    is_within,
    result_bounds,
)

__all__ = ["IntegerFacts", "Term", "is_length"]

_MAX_INTERMEDIATE = 64  # more terms are not looked at between two
_NO_ROW: Mapping[str, int] = {}
_VALUE_NUMBERS = count()

Term: TypeAlias = str
"""Key of a 64-bit name or a length (``a.shape[0]``): a string, for fast lookup."""


_Relation: TypeAlias = tuple[AffineForm[Term], AffineForm[Term], int]
"""``x - y <= c``"""


class IntegerFacts:
    """The integer facts at one point.

    ``spans``: ranges of names and lengths. ``most[x][y]``: an upper bound of ``x - y``, for 64-bit
    integers; a row is not changed but replaced, since copies share it. ``values``: the expression
    that a name is bound to, as long as the names in it are not rebound; ``named``: the inverse.
    """

    def __init__(self) -> None:
        self.spans: dict[str, Bounds] = {}
        self.most: dict[Term, Mapping[Term, int]] = {}
        self.values: dict[str, Expr] = {}
        self.named: dict[Expr, Var] = {}
        self._reads: dict[int, tuple[Expr, frozenset[str]]] = {}  # keeps the id alive
        self._read_names: set[str] = set()  # of all values there ever were

    def nothing(self) -> IntegerFacts:
        """Empty facts that share the caches of this object."""
        new = IntegerFacts()
        new._reads, new._read_names = self._reads, self._read_names
        return new

    def copy(self) -> IntegerFacts:
        """A copy that can be extended."""
        new = self.nothing()
        new.spans, new.values, new.named = dict(self.spans), dict(self.values), dict(self.named)
        new.most = dict(self.most)
        return new

    # -- queries

    def span(self, e: Expr) -> Bounds:
        """The range of the integer or bool `e`."""
        match e:
            case Var() | Dim() if (known := self.spans.get(_term_of(e))) is not None:
                return known
            case Call("sub", (a, b), "i64", 1) if _is_term(a) and _is_term(b):
                low, high = expression_bounds(e, self.span, ("sub",))
                least, most = self.difference(a, b)
                found = max(low, least), min(high, most)
                return found if is_within(found, dtype_bounds(INDEX)) else dtype_bounds(INDEX)
            case _:
                return expression_bounds(e, self.span)

    def lies(self, t: Term) -> Bounds:
        """The range of the term `t`."""
        return self.spans.get(t) or (LENGTH if is_length(t) else dtype_bounds(INDEX))

    def fits(self, e: Call) -> bool:
        """Whether `e` does not overflow: its value is that of unbounded integers."""
        found = result_bounds(e.op, [self.span(x) for x in e.args])
        return found is not None and is_within(found, dtype_bounds(e.dtype))

    def gap(self, a: Expr | Term, b: Expr | Term) -> int:
        """An upper bound of ``a - b``, for 64-bit integers."""
        return self._greatest(self.form(a) - self.form(b))

    def difference(self, a: Expr | Term, b: Expr | Term) -> Bounds:
        """The range of ``a - b``, for 64-bit integers."""
        rest = self.form(a) - self.form(b)
        return -self._greatest(rest * -1), self._greatest(rest)

    def _greatest(self, form: AffineForm[Term]) -> int:
        """An upper bound of `form`."""
        most = form.bounds(self.lies)[1]
        pair = form.difference()
        return most if pair is None else min(most, form.constant + self.apart(*pair))

    def apart(self, x: Term, y: Term) -> int:
        """An upper bound of ``x - y``."""
        return self.apart_from(x)(y)

    def apart_from(self, x: Term) -> Callable[[Term], int]:
        """The upper bound of ``x - y`` for each `y`, by one search: the shortest path from x to y
        over known differences, or to a term whose greatest value is known.
        """
        far, waiting = {x: 0}, [x]
        for a in islice(waiting, _MAX_INTERMEDIATE):  # the list grows in the loop
            if row := self.most.get(a):
                for b, c in row.items():
                    d = far[a] + c
                    if b not in far or d < far[b]:
                        far[b] = d
                        waiting.append(b)
        high = min([c + self.lies(z)[1] for z, c in far.items()])

        def bound(y: Term) -> int:
            best = high - self.lies(y)[0]
            return min(best, far.get(y, best))

        return bound

    def form(self, e: Expr | Term) -> AffineForm[Term]:
        """`e` as a form over terms. Sums and differences that cannot overflow are taken apart. A
        multiple is a term, for relations are between terms.
        """
        if isinstance(e, Term):
            return _form_of_term(e)
        if isinstance(e, Var | Dim):
            return self._leaf(e)
        form = linearize(e, self._leaf, self._is_sum)
        assert form is not None
        return form

    def _leaf(self, e: Expr) -> AffineForm[Term]:
        match self.values.get(e.name) if isinstance(e, Var) else None:
            case Const() | Var() as value:
                return self.form(value)
            case Call("add" | "sub" as op, (a, b)) as value if self.fits(value):
                return self.form(a) + self.form(b) if op == "add" else self.form(a) - self.form(b)
            case _:
                return AffineForm({self._term(e): 1})

    def _is_sum(self, e: Call) -> bool:
        return e.op in ("add", "sub") and self.fits(e)

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
                self._note(x, y, c)
            if isinstance(e, Call) and not contains(e, Load):
                self.named.setdefault(e, name)
        if name.lanes == 1 and name.dtype in (INDEX, "bool"):
            self.values[name.name] = e  # last: `note` must see the name, not its value
            self._read_names |= self._reads_of(e)

    def _relations(self, name: Var, e: Expr) -> Iterator[_Relation]:
        """Triples (x, y, c) with ``x - y <= c`` that follow from ``name = e``."""
        v = _form_of_term(name.name)
        match e:
            case Const():
                pass
            case Var() | Dim():
                x = self.form(e)
                yield from ((v, x, 0), (x, v, 0))
            case Call("add", (a, b)) if self.fits(e):
                for p, q in ((a, b), (b, a)):
                    x, (low, high) = self.form(p), self.span(q)
                    yield from ((v, x, high), (x, v, -low))
            case Call("sub", (a, b)) if self.fits(e):
                x, (low, high) = self.form(a), self.span(b)
                yield from ((v, x, -low), (x, v, high))
            case Call("min" | "minimum", (a, b)):
                yield from ((v, self.form(a), 0), (v, self.form(b), 0))
            case Call("max" | "maximum", (a, b)):
                yield from ((self.form(a), v, 0), (self.form(b), v, 0))
            case Call("select", (_, a, b)):
                either = self.form(a), self.form(b)
                for t in self._near(either[0]) | self._near(either[1]):
                    x = _form_of_term(t)
                    yield v, x, max(self._greatest(p - x) for p in either)
                    yield x, v, max(self._greatest(x - p) for p in either)
            case Call("bitand", args):
                yield from ((v, self.form(p), 0) for p in args if self.span(p)[0] >= 0)
            case Call("floordiv" | "shr" | "mod" as op, (a, b)):
                yield from self._shares(v, op, a, b)

    def _near(self, form: AffineForm[Term]) -> set[Term]:
        """The terms of `form` and those with a known difference to one of them."""
        terms = set(form.terms)
        above = {x for x, row in self.most.items() if terms & row.keys()}
        return terms.union(above, *(self.most.get(t, ()) for t in terms))

    def _shares(self, v: AffineForm[Term], op: str, a: Expr, b: Expr) -> Iterator[_Relation]:
        """Relations of a quotient, remainder or right shift to its operands."""
        low, form = self.span(b)[0], self.form(a)
        if self.span(a)[0] >= 0 and (low > 0 or op == "shr"):
            yield v, form, 0
        if op == "mod" and low > 0:
            yield v, self.form(b), -1
        terms = [*form.terms]
        halves = op == "floordiv" and b == Const(2, INDEX) and form.constant == 0
        if halves and [*form.terms.values()] == [1, 1]:
            for p, q in (terms, terms[::-1]):
                yield v, _form_of_term(p), self.apart(q, p) // 2
                yield _form_of_term(p), v, -(-self.apart(p, q) // 2)

    def note(self, x: Expr | Term, y: Expr | Term, c: int) -> None:
        """Record ``x - y <= c``."""
        self._note(self.form(x), self.form(y), c)

    def _note(self, p: AffineForm[Term], q: AffineForm[Term], c: int) -> None:
        rest = p - q
        c -= rest.constant
        if not q.terms and [*p.terms.values()] == [1]:
            self.limit((*p.terms,)[0], high=c)
        elif not p.terms and [*q.terms.values()] == [1]:
            self.limit((*q.terms,)[0], low=-c)
        if (pair := rest.difference()) is not None:
            up, down = pair
            row = self.most.get(up, _NO_ROW)
            if c < row.get(down, c + 1):
                self.most[up] = {**row, down: c}
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
        stale = [name.name]
        if name.name in self._read_names:
            stale += [n for n, e in self.values.items() if name.name in self._reads_of(e)]
        for n in stale:
            value = self.values.pop(n, None)
            if isinstance(value, Call) and value in self.named and self.named[value].name == n:
                del self.named[value]

    def _reads_of(self, e: Expr) -> frozenset[str]:
        """The names that `e` reads."""
        if id(e) not in self._reads:
            self._reads[id(e)] = e, names_read(e)
        return self._reads[id(e)][1]

    def bridge(self, name: Term) -> None:
        """Remove `name` from the differences, keeping those between others that follow through it.
        """
        after = self.most.pop(name, _NO_ROW)
        for x, row in self.most.items():
            if name in row:
                new = dict(row)
                c = new.pop(name)
                for y, d in after.items():
                    if x != y:
                        new[y] = min(c + d, new.get(y, c + d))
                self.most[x] = new


def is_length(t: Term) -> bool:
    """Whether the term `t` is the length of an axis."""
    return t.endswith("]")


def _form_of_term(t: Term) -> AffineForm[Term]:
    return AffineForm({t: 1})


def _term_of(t: Var | Dim) -> Term:
    return t.name if isinstance(t, Var) else f"{t.array}.shape[{t.axis}]"


def _is_term(e: Expr) -> bool:
    return isinstance(e, Var | Dim | Const)
