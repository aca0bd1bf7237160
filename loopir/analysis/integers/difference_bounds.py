"""Difference bounds: the range of each integer, and the maximum difference of any two.

The facts hold at one program point, and are those of difference bound matrices (DBM, the zone
domain of abstract interpretation; A. Miné, PADO 2001), kept sparse; LLVM's counterpart is the
constraint system of ConstraintElimination::

    while lo < hi:                       # lo - hi <= -1
        mid = (lo + hi) // 2             # lo - mid <= 0, mid - hi <= -1
        x[mid]                           # in bounds, given that 0 <= lo and hi <= len(x)

`refine_facts` adds what conditions imply; the pass `check_elimination` uses both.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice, product
from typing import TypeAlias

from ...dtypes import INDEX
from ...ir_names import names_read
from ...ir_traversal import contains
from ...nodes import Call, Const, Dim, Expr, Load, Var
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

_MAX_INTERMEDIATE = 64  # limit on the terms that one search visits
_MAX_TERMS = 4  # of a form whose pairs of terms are looked at
_MAX_STEPS = 256  # from one term to another that a search takes
_MAX_ROW = 32  # differences of one term to others; further ones are not recorded
_MAX_RELATED = 16  # terms to which the value of a branch is related
_MAX_DIFFERENCE = 1 << 62  # a larger bound of a difference is not worth recording
_NO_ROW: Mapping[str, int] = {}
_VALUE_NUMBERS = count()

Term: TypeAlias = str
"""Key of a 64-bit name or a length (``a.shape[0]``): a string, for fast lookup."""


_Relation: TypeAlias = tuple[AffineForm[Term], AffineForm[Term], int]
"""A triple (x, y, c): ``x - y <= c``."""


class IntegerFacts:
    """What is known of integers at one point of a kernel: a range of each, and upper bounds of
    differences of two. `check_elimination` carries one along as it walks over the statements: an
    assignment is recorded by `bind`, a condition by `refine_facts`; then it asks whether a check
    can fail::

        i in loop(0, n), n <= len(x)    ranges["i"] = (0, …),  max_differences["i"]["n"] = -1,
                                        max_differences["n"]["x.shape[0]"] = 0
        max_difference("i", "x.shape[0]")   →   -1, so x[i] is in bounds

    A *term* is the key of a name or of a length such as ``x.shape[0]``, a string.

    - Queries: `range_of` of an expression; `max_difference` and `difference_range` of two.
    - Updates, in place: `bind` for an assignment; `forget` if the new value is not known;
      `add_difference` and `narrow` for what a condition implies.

    Only the differences that were recorded are stored. A query looks for the shortest path between
    two terms, i to n to x.shape[0] above, and adds the bounds along it.
    """

    ranges: dict[str, Bounds]
    """The least and the greatest value of each term; of integers of any width."""
    max_differences: dict[Term, Mapping[Term, int]]
    """``max_differences[x][y]``: an upper bound of ``x - y``, for terms of 64 bits. Copies share
    the rows, so a row is never changed, but replaced."""
    values: dict[str, Expr]
    """The expression that a name is bound to, until the name, or one that it reads, is rebound."""
    named: dict[Expr, Var]
    """The inverse of ``values``, for calls without loads: a name that has this value."""

    def __init__(self) -> None:
        self.ranges, self.max_differences, self.values, self.named = {}, {}, {}, {}
        self._reads: dict[int, tuple[Expr, frozenset[str]]] = {}  # keeps the id alive
        self._read_names: set[str] = set()  # by any value so far

    def empty(self) -> IntegerFacts:
        """Empty facts that share the caches of this object."""
        new = IntegerFacts()
        new._reads, new._read_names = self._reads, self._read_names
        return new

    def copy(self) -> IntegerFacts:
        """A copy that can be extended."""
        new = self.empty()
        new.ranges, new.values, new.named = dict(self.ranges), dict(self.values), dict(self.named)
        new.max_differences = dict(self.max_differences)
        return new

    # -- queries

    def range_of(self, e: Expr) -> Bounds:
        """The range of the integer or bool `e`."""
        match e:
            case Var() | Dim() if (known := self.ranges.get(_term_of(e))) is not None:
                return known
            case Call("sub", (a, b), "i64", 1) if _is_plain_term(a) and _is_plain_term(b):
                # as of unbounded integers; if that may overflow, it may be any number
                low, high = expression_bounds(e, self.range_of, ("sub",))
                least, most = self.difference_range(a, b)
                found = max(low, least), min(high, most)
                return found if is_within(found, dtype_bounds(INDEX)) else dtype_bounds(INDEX)
            case _:
                return expression_bounds(e, self.range_of)

    def _range_of_sum(self, e: Expr) -> Bounds | None:
        """The range of a sum of several terms that does not overflow, by their known differences;
        None for all else: ``n - i - 1`` is not negative where i < n.
        """
        if not (isinstance(e, Call) and e.dtype == INDEX and e.op in ("add", "sub")):
            return None
        if all(map(_is_plain_term, e.args)) or not self.fits(e):
            return None
        form = self.form(e)
        return -self._max_of_form(form * -1), self._max_of_form(form)

    def term_range(self, t: Term) -> Bounds:
        """The range of the term `t`."""
        return self.ranges.get(t) or (LENGTH if is_length(t) else dtype_bounds(INDEX))

    def fits(self, e: Call) -> bool:
        """Whether `e` does not overflow: its value is that of unbounded integers."""
        found = result_bounds(e.op, [self.range_of(x) for x in e.args])
        return found is not None and is_within(found, dtype_bounds(e.dtype))

    def max_difference(self, a: Expr | Term, b: Expr | Term) -> int:
        """An upper bound of ``a - b``, for 64-bit integers."""
        return self._max_of_form(self.form(a) - self.form(b))

    def difference_range(self, a: Expr | Term, b: Expr | Term) -> Bounds:
        """The range of ``a - b``, for 64-bit integers."""
        difference = self.form(a) - self.form(b)
        return -self._max_of_form(difference * -1), self._max_of_form(difference)

    def _max_of_form(self, form: AffineForm[Term]) -> int:
        """An upper bound of `form`: by the ranges of its terms, or by the known difference of two
        of them and the ranges of the others (of at most `_MAX_TERMS` terms).
        """
        least = form.bounds(self.term_range)[1]
        if len(form.terms) > _MAX_TERMS:
            return least
        added, subtracted = ([t for t, c in form.terms.items() if c == sign] for sign in (1, -1))
        for x in added if subtracted else ():
            max_difference_to = self.max_term_differences_from(x)
            for y in subtracted:
                others = form.without((x, y)).bounds(self.term_range)[1]
                least = min(least, max_difference_to(y) + others)
        return least

    def _max_form_differences_from(self, p: AffineForm[Term]) -> Callable[[Term], int]:
        """The function that gives `_max_of_form` of ``p - t`` for each term `t`, by one search for
        each term of `p`.
        """
        added = [t for t, c in p.terms.items() if c == 1 and len(p.terms) < _MAX_TERMS]
        searches = [
            (self.max_term_differences_from(x), p.without((x,)).bounds(self.term_range)[1])
            for x in added
        ]
        high = p.bounds(self.term_range)[1]

        def max_difference_to(t: Term) -> int:
            """An upper bound of ``p - t``."""
            if t in p.terms:
                return self._max_of_form(p - _form_of_term(t))
            found = [max_to(t) + others for max_to, others in searches]
            return min(found, default=high - self.term_range(t)[0])

        return max_difference_to

    def _max_form_differences_to(self, p: AffineForm[Term]) -> Callable[[Term], int]:
        """The function that gives `_max_of_form` of ``t - p`` for each term `t`."""
        subtracted = [t for t, c in p.terms.items() if c == 1 and len(p.terms) < _MAX_TERMS]
        less = p * -1
        searches = [
            (self.max_term_differences_to(y), less.without((y,)).bounds(self.term_range)[1])
            for y in subtracted
        ]
        high = less.bounds(self.term_range)[1]

        def max_difference_from(t: Term) -> int:
            """An upper bound of ``t - p``."""
            if t in p.terms:
                return self._max_of_form(_form_of_term(t) - p)
            found = [max_from(t) + others for max_from, others in searches]
            return min(found, default=high + self.term_range(t)[1])

        return max_difference_from

    def max_term_difference(self, x: Term, y: Term) -> int:
        """An upper bound of ``x - y``."""
        return self.max_term_differences_from(x)(y)

    def max_term_differences_from(self, x: Term) -> Callable[[Term], int]:
        """The function that gives an upper bound of ``x - y`` for each `y`. Known differences add
        up along a path, and the shortest path gives the least bound:

            x - a <= 2,  a - y <= 3         x - y <= 5
            x - a <= 2,  a <= 7,  y >= 1    x - y <= 8, by the ranges of a and y

        The function returns the lesser of the two bounds. One search serves all `y`.
        """
        distances = _distances_from(x, self.max_differences)
        max_x = min([c + self.term_range(z)[1] for z, c in distances.items()])

        def max_difference_to(y: Term) -> int:
            """An upper bound of ``x - y``."""
            by_ranges = max_x - self.term_range(y)[0]
            return min(by_ranges, distances.get(y, by_ranges))

        return max_difference_to

    def max_term_differences_to(self, y: Term) -> Callable[[Term], int]:
        """The function that gives an upper bound of ``x - y`` for each `x`: as
        `max_term_differences_from`, by one search backwards.
        """
        above: dict[Term, dict[Term, int]] = {}
        for a, row in self.max_differences.items():
            for b, c in row.items():
                above.setdefault(b, {})[a] = c
        distances = _distances_from(y, above)
        min_y = max([self.term_range(z)[0] - c for z, c in distances.items()])

        def max_difference_from(x: Term) -> int:
            """An upper bound of ``x - y``."""
            by_ranges = self.term_range(x)[1] - min_y
            return min(by_ranges, distances.get(x, by_ranges))

        return max_difference_from

    def form(self, e: Expr | Term) -> AffineForm[Term]:
        """`e` as an affine form over terms: sums and differences that cannot overflow are expanded.
        A product is a term by itself, since the known differences are between terms.
        """
        if isinstance(e, Term):
            return _form_of_term(e)
        if isinstance(e, (Var, Dim)):
            return self._leaf(e)
        form = linearize(e, self._leaf, self._is_sum)
        assert form is not None
        return form

    def _leaf(self, e: Expr) -> AffineForm[Term]:
        """The form of an operand of sums: that of its value, if it is a name that is bound to a
        name, a constant, or a sum that does not overflow; else a term by itself.
        """
        match self.values.get(e.name) if isinstance(e, Var) else None:
            case Const() | Var() as value:
                return self.form(value)
            case Call("add" | "sub" as op, (a, b)) as value if self.fits(value):
                return self.form(a) + self.form(b) if op == "add" else self.form(a) - self.form(b)
            case _:
                return AffineForm({self._term(e): 1})

    def _is_sum(self, e: Call) -> bool:
        """Whether `e` is a sum or a difference that does not overflow."""
        return e.op in ("add", "sub") and self.fits(e)

    def _term(self, e: Expr) -> Term:
        """The term for `e`: a name, or a length. For another expression the name that has its
        value; if there is none, a new one, which is bound to it.
        """
        if isinstance(e, (Var, Dim)):
            return _term_of(e)
        if (name := self.named.get(e)) is None:  # loads are never shared: each gets a new number
            self.bind(name := Var(f"{next(_VALUE_NUMBERS)}", INDEX), e)
        return name.name

    # -- updates

    def bind(self, name: Var, e: Expr) -> None:
        """Record the assignment of `e` to `name`; `e` does not read `name`."""
        self.forget(name)
        if is_scalar_integer(name):
            self.ranges[name.name] = self._range_of_sum(e) or self.range_of(e)
        if name.dtype == e.dtype == INDEX and name.lanes == 1:
            for x, y, c in self._relations(name, e):
                self._add_form_difference(x, y, c)
            if isinstance(e, Call) and not contains(e, Load):
                self.named.setdefault(e, name)
        if name.lanes == 1 and name.dtype in (INDEX, "bool"):
            # last: the differences are those of the name, not of its value
            self.values[name.name] = e
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
                    x, (low, high) = self.form(p), self.range_of(q)
                    yield from ((v, x, high), (x, v, -low))
            case Call("sub", (a, b)) if self.fits(e):
                x, (low, high) = self.form(a), self.range_of(b)
                yield from ((v, x, -low), (x, v, high))
            case Call("mul", (a, Const(int(factor)))) if factor > 1 and self.fits(e):
                for quotient, value in [*self.values.items()]:  # factor * (n // factor) <= n
                    match value:
                        case Call("floordiv", (n, Const(divisor))) if divisor == factor:
                            most = self.max_difference(a, quotient)
                            yield v, self.form(n), factor * most
            case Call("min" | "minimum", (a, b)):
                yield from ((v, self.form(a), 0), (v, self.form(b), 0))
            case Call("max" | "maximum", (a, b)):
                yield from ((self.form(a), v, 0), (self.form(b), v, 0))
            case Call("select", (_, a, b)):
                forms = self.form(a), self.form(b)
                from_forms = [*map(self._max_form_differences_from, forms)]
                to_forms = [*map(self._max_form_differences_to, forms)]
                for t in self._related_terms(forms[0]) | self._related_terms(forms[1]):
                    x = _form_of_term(t)
                    yield v, x, max(max_to(t) for max_to in from_forms)
                    yield x, v, max(max_from(t) for max_from in to_forms)
            case Call("bitand", args):
                yield from ((v, self.form(p), 0) for p in args if self.range_of(p)[0] >= 0)
            case Call("floordiv" | "shr" | "mod" as op, (a, b)):
                yield from self._quotient_relations(v, op, a, b)

    def midpoint(self, e: Expr) -> Expr | None:
        """The sum `e` in the form of which `_quotient_relations` knows most, if it is the midpoint
        of two integers whose sum does not overflow::

            lo + (hi - lo) // 2    →    (lo + hi) // 2
        """
        match e:
            case Call("add", (low, half)) if e.dtype == INDEX and self.fits(e):
                pass
            case _:
                return None
        match self._value_of(half):
            case Call("floordiv", (distance, Const(2) as two)):
                match self._value_of(distance):
                    case Call("sub", (high, start)) as width if start == low:
                        ends = Call("add", (low, high), INDEX)
                        if self.fits(width) and self.fits(ends):
                            return Call("floordiv", (ends, two), INDEX)
        return None

    def _value_of(self, e: Expr) -> Expr:
        """The value that the name `e` was assigned; `e` itself for anything else."""
        return self.values.get(e.name, e) if isinstance(e, Var) else e

    def related_terms(self, t: Term) -> list[Term]:
        """The terms whose difference to `t` is bounded by way of at most one other term: up to
        `_MAX_RELATED`, the nearest first.
        """
        near = [*self.max_differences.get(t, ())]
        near += [x for x, row in self.max_differences.items() if t in row]
        far = [y for x in near for y in self.max_differences.get(x, ())]
        related = (x for x in dict.fromkeys((*near, *far)) if x != t)
        return [*islice(related, _MAX_RELATED)]

    def _related_terms(self, form: AffineForm[Term]) -> set[Term]:
        """The terms of `form`, and those with a known difference to one of them."""
        terms = set(form.terms)
        above = {x for x, row in self.max_differences.items() if terms & row.keys()}
        return terms.union(above, *(self.max_differences.get(t, ()) for t in terms))

    def _quotient_relations(
        self, result: AffineForm[Term], op: str, a: Expr, b: Expr
    ) -> Iterator[_Relation]:
        """Differences of a quotient, remainder or right shift to its operands; and of a midpoint
        ``(p + q) // 2`` to `p` and `q`, from their known difference.
        """
        low, form = self.range_of(b)[0], self.form(a)
        if self.range_of(a)[0] >= 0 and (low > 0 or op == "shr"):
            yield result, form, 0
        if op == "mod" and low > 0:
            yield result, self.form(b), -1
        terms = [*form.terms]
        is_half = op == "floordiv" and b == Const(2, INDEX) and form.constant == 0
        if is_half and [*form.terms.values()] == [1, 1]:
            for p, q in (terms, terms[::-1]):
                yield result, _form_of_term(p), self.max_term_difference(q, p) // 2
                yield _form_of_term(p), result, -(-self.max_term_difference(p, q) // 2)

    def add_difference(self, x: Expr | Term, y: Expr | Term, c: int) -> None:
        """Record ``x - y <= c``."""
        if isinstance(x, Term) and isinstance(y, Term) and x != y:
            self._add_term_difference(x, y, c)
        else:
            self._add_form_difference(self.form(x), self.form(y), c)

    def _add_term_difference(self, x: Term, y: Term, c: int) -> None:
        """Record ``x - y <= c`` for two terms."""
        row = self.max_differences.get(x, _NO_ROW)
        if c < row.get(y, c + 1) and (len(row) < _MAX_ROW or y in row):
            self.max_differences[x] = {**row, y: c}
        self.tighten(x, high=self.term_range(y)[1] + c)
        self.tighten(y, low=self.term_range(x)[0] - c)

    def _add_form_difference(self, p: AffineForm[Term], q: AffineForm[Term], c: int) -> None:
        """Record ``p - q <= c``."""
        difference = p - q
        c -= difference.constant
        if not q.terms and [*p.terms.values()] == [1]:
            self.tighten((*p.terms,)[0], high=c)
        elif not p.terms and [*q.terms.values()] == [1]:
            self.tighten((*q.terms,)[0], low=-c)
        if (pair := difference.difference()) is not None:
            self._add_term_difference(*pair, c)
        elif 2 < len(difference.terms) <= _MAX_TERMS:
            self._add_difference_of_many(difference, c)

    def _add_difference_of_many(self, form: AffineForm[Term], c: int) -> None:
        """Record what the sum of the terms of `form` being at most `c` tells of two of them, with
        the others at their least: ``i + k - n <= -1``, and k >= 0, is ``i - n <= -1``.
        """
        added, subtracted = ([t for t, k in form.terms.items() if k == sign] for sign in (1, -1))
        for x, y in product(added, subtracted):
            others = AffineForm({t: k for t, k in form.terms.items() if t not in (x, y)})
            most = c - others.bounds(self.term_range)[0]
            if most < _MAX_DIFFERENCE:
                self._add_form_difference(_form_of_term(x), _form_of_term(y), most)

    def tighten(self, t: Term, low: int | None = None, high: int | None = None) -> None:
        """Intersect the range of `t` with these bounds."""
        lo, hi = self.term_range(t)
        new = lo if low is None else max(lo, low), hi if high is None else min(hi, high)
        if new[0] <= new[1]:  # otherwise the point is unreachable
            self.ranges[t] = new

    def narrow(self, e: Expr, low: int, high: int) -> None:
        """Intersect the range of `e` with these bounds, if it is a name or a length (of any width);
        of other expressions no range is kept.
        """
        if isinstance(e, (Var, Dim)):
            self.ranges.setdefault(_term_of(e), self.range_of(e))
            self.tighten(_term_of(e), low, high)

    def forget(self, name: Var) -> None:
        """Drop the facts about `name`, which is rebound."""
        self.eliminate(name.name)
        self.ranges.pop(name.name, None)
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

    def eliminate(self, name: Term) -> None:
        """Remove the term `name` from the differences, after the sums x - name - y that bound x - y
        were recorded (Fourier-Motzkin elimination).
        """
        from_name = self.max_differences.pop(name, _NO_ROW)
        for x, row in self.max_differences.items():
            if name in row:
                new = dict(row)
                c = new.pop(name)
                for y, d in from_name.items():
                    if x != y:
                        new[y] = min(c + d, new.get(y, c + d))
                self.max_differences[x] = new


def _distances_from(start: Term, edges: Mapping[Term, Mapping[Term, int]]) -> dict[Term, int]:
    """The lengths of the shortest paths from `start`, of those that a bounded search finds."""
    distances, queue, steps = {start: 0}, [start], 0
    for a in islice(queue, _MAX_INTERMEDIATE):  # the list grows in the loop
        if (row := edges.get(a)) and steps < _MAX_STEPS:
            steps += len(row)
            for b, c in row.items():
                d = distances[a] + c
                if b not in distances or d < distances[b]:
                    distances[b] = d
                    queue.append(b)
    return distances


def is_length(t: Term) -> bool:
    """Whether the term `t` is the length of an axis."""
    return t.endswith("]")


def _form_of_term(t: Term) -> AffineForm[Term]:
    """The affine form of one term."""
    return AffineForm({t: 1})


def _term_of(t: Var | Dim) -> Term:
    """The term of a name or a length."""
    return t.name if isinstance(t, Var) else f"{t.array}.shape[{t.axis}]"


def _is_plain_term(e: Expr) -> bool:
    """Whether `e` is a name, a length or a constant."""
    return isinstance(e, Var | Dim | Const)
