"""Flat positions: whether the iterations of a loop touch different places of a flattened table.

    for i in loop(0, h):
        for j in loop(0, w):
            out[i * w + j] = …          row i ends before row i + 1 begins

A position is a polynomial in loop variables and names. Two iterations i < k of the outer loop touch
different elements

- if all positions of k are greater than all of i, or all are less: their ends, at the first and
  last values of inner loops, tell (``k * w - (i * w + w - 1) > 0``); or
- if positions are places in rows of one length, ``j * h + i`` with ``0 <= i < h``, and row or
  column are different (V. Maslov, Delinearization, PLDI 1992).

Subscripts are computed in 64 bits, and may wrap around. So it is also proved that no two positions
differ by 2**64 or more, from what branches, guards and ranges tell of names.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Protocol, TypeAlias

from ...dtypes import INDEX
from ...ir_names import bound_names, names_read, values_assigned_once
from ...ir_printer import show
from ...ir_traversal import contains, memoized_per_node, range_bounds, walk
from ...lazy_dataclass import record
from ...nodes import (
    Assign,
    Call,
    Const,
    Expr,
    Guard,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    PredLoop,
    Range,
    RangeDesc,
    Scan,
    Stmt,
    Var,
    VecLoop,
    While,
    Zip,
)
from .difference_bounds import IntegerFacts
from .intervals import Bounds, dtype_bounds, is_within
from .polynomials import Polynomial, Premises
from .refine_facts import assume_condition

__all__ = ["FlatPositions", "Place", "flat_positions"]

Counted: TypeAlias = "Loop | VecLoop | PredLoop | Zip | Scan"
"""The kinds of loops that have a variable."""

_MAX_ENDS = 4
"""Alternative bounds of one expression that are kept."""

_MAX_AXES = 4
"""Axes into which positions are divided."""

_I64 = dtype_bounds(INDEX)
_ONE = Polynomial.constant(1)


class Place(Protocol):
    """Where a load or store of a nest goes to."""

    @property
    def index(self) -> tuple[Expr, ...]:
        """The subscripts."""

    @property
    def loops(self) -> tuple[tuple[str, Range], ...]:
        """The variables and ranges of the loops around it in the outer loop, outermost first."""

    @property
    def lanes(self) -> str | None:
        """Of a vector the variable of the loop over its lanes; None of a scalar."""

    @property
    def axis(self) -> int:
        """Lane k of a vector is ``k * step`` further on this axis."""

    @property
    def step(self) -> int:
        """The distance of two lanes."""


def flat_positions(nest: Counted, kernel: Kernel) -> FlatPositions | None:
    """The positions of `nest`, kept with `kernel`; None if it is not in `kernel` as this very
    object, exactly once.
    """
    kept = _positions_by_nest(kernel)
    if id(nest) not in kept:
        if sum(1 for n in walk(kernel) if n is nest) != 1:
            return None
        kept[id(nest)] = FlatPositions(nest, kernel, _facts_before(nest, kernel))
    return kept[id(nest)]


@memoized_per_node
def _positions_by_nest(kernel: Kernel) -> dict[int, FlatPositions]:
    """The positions of nests in `kernel`, by the identity of the nest."""
    return {}


def _facts_before(nest: Counted, kernel: Kernel) -> IntegerFacts:
    """What guards, branches and ranges around `nest`, a loop in `kernel`, tell of integers."""
    facts = IntegerFacts()
    for g in kernel.guards:
        if isinstance(g, Guard):
            assume_condition(facts, g.cond)
    _assume_path(facts, kernel.body, nest)
    return facts


def _assume_path(facts: IntegerFacts, body: Sequence[Stmt], nest: Node) -> None:
    """Add to `facts` what holds at `nest`, if it is in `body`. Nothing is rebound on the way but
    accumulators, of which nothing is assumed.
    """
    inside = next((k for k, s in enumerate(body) if _holds(s, nest)), len(body))
    for s in body[:inside]:
        if isinstance(s, Assign) and s.value.lanes == 1 and not contains(s.value, Load):
            facts.bind(Var(s.name, s.value.dtype), s.value)
    match body[inside] if inside < len(body) else None:
        case If(cond, then, orelse):
            is_then = any(_holds(x, nest) for x in then)
            assume_condition(facts, cond, is_then)
            _assume_path(facts, then if is_then else orelse, nest)
        case Loop() as s if s is not nest:
            _assume_range(facts, s)
            _assume_path(facts, s.body, nest)
        case (While() | Zip()) as s if s is not nest:
            _assume_path(facts, s.body, nest)


def _holds(s: Node, nest: Node) -> bool:
    """Whether the statement `s` is or contains this very `nest`."""
    match s:
        case If(then=then, orelse=orelse):
            return any(_holds(x, nest) for x in (*then, *orelse))
        case Loop(body=body) | While(body=body) | Zip(body=body) if s is not nest:
            return any(_holds(x, nest) for x in body)
    return s is nest


def _assume_range(facts: IntegerFacts, loop: Loop) -> None:
    """Add to `facts` the least and the greatest value of the variable of `loop`."""
    first, end = (facts.range_of(e) for e in range_bounds(loop.range))
    if isinstance(loop.range, Interval) or loop.range.step > 0:
        facts.tighten(loop.var, first[0], max(end[1] - 1, first[0]))


@record(frozen=True, slots=True)
class _Span:
    """The values of the variable of a loop that runs: the first, and bounds of the last. ``atom``
    stands for the variable.
    """

    atom: str
    first: Polynomial
    lasts: tuple[Polynomial, ...]


class _Iteration:
    """An iteration of the nest: which polynomial each loop variable is; and the ranges of atoms, as
    far as more is known than `FlatPositions.range_of`.
    """

    def __init__(self, variable: str, value: Polynomial, ranges: dict[str, Bounds]) -> None:
        self.variables, self.ranges = {variable: value}, ranges


class FlatPositions:
    """The positions of a nest, by the iterations of its outer loop. `facts`: `facts_before` it."""

    def __init__(self, nest: Counted, kernel: Kernel, facts: IntegerFacts) -> None:
        self.nest, self._facts = nest, facts
        self.step = nest.range.step if isinstance(nest.range, RangeDesc) else 1
        self._values = values_assigned_once(kernel)
        self._bound = bound_names(nest)
        self._symbols: dict[str, Expr] = {}
        self._answers: dict[object, bool] = {}

    def are_apart(self, a: Place, b: Place) -> bool:
        """Whether `a` in one iteration, and `b` in another one, are never the same element."""
        key = tuple((p.index, p.loops, p.lanes, p.axis, p.step) for p in (a, b))
        if key not in self._answers:
            self._answers[key] = self._are_apart(a, b)
        return self._answers[key]

    def _are_apart(self, a: Place, b: Place) -> bool:
        """`are_apart`, not yet known."""
        if self.step <= 0 or len(a.index) != len(b.index):
            return False
        orders = ((a, b),) if a is b else ((a, b), (b, a))
        return all(_never_meet(self, first, later) for first, later in orders)

    def polynomial(
        self, e: Expr, variables: Mapping[str, Polynomial], *, is_plain: bool = False
    ) -> Polynomial | None:
        """A polynomial that equals `e` modulo 2**64, of `variables` of loops and of what the nest
        does not change; None if there is none. With `is_plain` no minimum or maximum is an atom.
        """
        if e.dtype != INDEX or e.lanes != 1:
            return None
        match e:
            case Const(value):
                return Polynomial.constant(int(value))
            case Var(name) if name in variables:
                return variables[name]
            case Var(name) if name in self._values:
                assigned = self._values[name]
                found = self.polynomial(assigned, variables, is_plain=is_plain)
                is_name = name not in self._bound and found == Polynomial.atom(show(assigned))
                if not is_name and (
                    found is not None or (is_plain and self.polynomial(assigned, variables))
                ):
                    return found
            case Call("add" | "sub" | "mul" as op, (x, y)):
                a = self.polynomial(x, variables, is_plain=is_plain)
                b = self.polynomial(y, variables, is_plain=is_plain)
                if a is None or b is None:
                    return None
                if op == "mul":
                    return a * b if a.is_small and b.is_small else None
                return a + b if op == "add" else a - b
            case Call("neg", (x,)):
                a = self.polynomial(x, variables, is_plain=is_plain)
                return None if a is None else Polynomial() - a
            case Call("cast", (x,)) if x.dtype == INDEX:
                return self.polynomial(x, variables, is_plain=is_plain)
            case Call("min" | "max") if is_plain:
                return None
        if contains(e, Load) or not self._bound.isdisjoint(names_read(e)):
            return None
        self._symbols[show(e)] = e
        return Polynomial.atom(show(e))

    def range_of(self, symbol: str) -> Bounds:
        """The range of an atom that the nest does not change."""
        return self._facts.range_of(self._symbols[symbol])

    def exact(self, e: Expr, at: _Iteration, *, is_plain: bool = False) -> Polynomial | None:
        """The polynomial of `e`, if it does not wrap around and so equals `e`; else None."""
        found = self.polynomial(e, at.variables, is_plain=is_plain)
        if found is None or not is_within(found.bounds(self.ranges(at.ranges)), _I64):
            return None
        return found

    def ranges(self, known: Mapping[str, Bounds]) -> Callable[[str], Bounds]:
        """The function that gives the range of an atom."""
        return lambda atom: known.get(atom) or self.range_of(atom)

    def span(self, r: Range, atom: str, at: _Iteration) -> _Span | None:
        """The values of the variable of a loop over `r`, an `atom` from here on; None where the
        first one is not known.
        """
        start, end = range_bounds(r)
        first = self.exact(start, at)
        if first is None or (isinstance(r, RangeDesc) and r.step <= 0):
            return None
        lasts = tuple(p - _ONE for p in self._ends(end, first, at))[:_MAX_ENDS]
        ranges = self.ranges(at.ranges)
        lowest = first.bounds(ranges)[0]
        highest = min((p.bounds(ranges)[1] for p in lasts), default=_I64[1])
        at.ranges[atom] = lowest, max(lowest, highest)
        for p in lasts:  # not less than the first value, since the loop runs
            if (symbol := p.one_atom) is not None:
                least, most = ranges(symbol)
                at.ranges[symbol] = max(least, min(lowest - p.terms.get((), 0), most)), most
        return _Span(atom, first, lasts)

    def _ends(self, e: Expr, least: Polynomial, at: _Iteration) -> list[Polynomial]:
        """Polynomials that are not less than `e`, wherever `e` is greater than `least`.

            max(w, 0), least 0          w
            min(b + 64, n)              b + 64 and n
            max(w, 0) - 1, least 0      w - 1
        """
        plain = self.exact(e, at, is_plain=True)
        if plain is not None:
            return [plain]
        found: list[Polynomial] = []
        match self._value_of(e):
            case Call("max", (x, y)):
                for one, other in ((x, y), (y, x)):
                    excluded = self.exact(other, at)
                    number = None if excluded is None else (excluded - least).number
                    if number is not None and number <= 0:
                        found = self._ends(one, least, at)
                        break
            case Call("min", (x, y)):
                found = [*self._ends(x, least, at), *self._ends(y, least, at)]
            case Call("add" | "sub" as op, (x, y)) as total if self._facts.fits(total):
                added = self.exact(y, at)
                if added is not None:
                    added = added if op == "add" else Polynomial() - added
                    found = [p + added for p in self._ends(x, least - added, at)]
        whole = self.exact(e, at) if not found else None
        return found if whole is None else [whole]

    def _value_of(self, e: Expr) -> Expr:
        """What the name `e` is assigned; `e` itself for anything else."""
        while isinstance(e, Var) and e.name in self._values:
            e = self._values[e.name]
        return e

    def spans(self, place: Place, at: _Iteration, mark: str) -> list[_Span] | None:
        """The spans of the loops around `place`, whose variables get names that end in `mark`; None
        if one is not known.
        """
        found = []
        for variable, r in place.loops:
            span = self.span(r, f"{variable}{mark}", at)
            if span is None:
                return None
            found.append(span)
            at.variables[variable] = Polynomial.atom(span.atom)
        return found

    def subscript(self, place: Place, axis: int, at: _Iteration, mark: str) -> Polynomial | None:
        """The subscript of `place` on `axis`; None if it is not known. Lane k belongs to the
        element k iterations further: the subscript is that of a scalar loop if the lanes advance
        as the variable does.
        """
        found = self.polynomial(place.index[axis], at.variables)
        if found is None or place.lanes is None:
            return found
        parts = found.split(place.lanes if place.lanes == self.nest.var else place.lanes + mark)
        step = place.step if axis == place.axis else 0
        return found if parts is not None and parts[0].number == step else None

    def quotients(self, symbols: Iterable[str]) -> Iterator[Polynomial]:
        """Polynomials >= 0 that tell of those `symbols` that are quotients: of ``n // m``, with m
        > 0, that ``(n // m) * m`` is at most n, and n less than 2**63.
        """
        for name in symbols:
            match self._value_of(self._symbols[name]) if name in self._symbols else None:
                case Call("floordiv", (n, m)) if self._facts.range_of(m)[0] > 0:
                    whole, divisor = (self.polynomial(x, {}) for x in (n, m))
                    limit = Polynomial.constant(_I64[1])
                    if whole is not None and divisor is not None:
                        if len(whole.terms) > 1 or whole.degree > 1:
                            whole = self._atom(n)
                        yield whole - Polynomial.atom(name) * divisor
                        yield limit - whole

    def _atom(self, e: Expr) -> Polynomial:
        """`e` as an atom."""
        self._symbols[show(e)] = e
        return Polynomial.atom(show(e))


_LATER = "later"
"""The atom for how much further than one step the later of two iterations is."""


def _never_meet(positions: FlatPositions, first: Place, later: Place) -> bool:
    """Whether `later`, in a later iteration than `first`, is never the same element."""
    nest, ranges = positions.nest, dict[str, Bounds]()
    at_first = _Iteration(nest.var, Polynomial.atom(nest.var), ranges)
    outer = positions.span(nest.range, nest.var, _Iteration("", Polynomial(), ranges))
    if outer is None:
        return False
    low, high = ranges[nest.var]
    ranges[_LATER] = 0, high - low
    further = Polynomial.atom(nest.var) + Polynomial.constant(positions.step)
    further += Polynomial.atom(_LATER)
    at_later = _Iteration(nest.var, further, ranges)
    inner = positions.spans(first, at_first, ""), positions.spans(later, at_later, "'")
    if inner[0] is None or inner[1] is None:
        return False
    premises = [p - further for p in outer.lasts]
    premises += [p - s.first for spans in inner if spans for s in spans for p in s.lasts]
    premises += positions.quotients(sorted({a for p in premises for a in p.atoms}))
    proof = _Comparison(Premises(premises, positions.ranges(ranges)), inner[0], inner[1])
    for axis in range(len(first.index)):
        a = positions.subscript(first, axis, at_first, "")
        b = positions.subscript(later, axis, at_later, "'")
        if a is not None and b is not None and proof.differ(a, b):
            return True
    return False


class _Comparison:
    """The proof that two polynomials differ, in two iterations, whatever the values of the
    variables of their inner loops are.
    """

    def __init__(
        self, premises: Premises, first: Sequence[_Span], later: Sequence[_Span]
    ) -> None:
        self._premises = premises
        self._spans = first, later

    def differ(self, a: Polynomial, b: Polynomial) -> bool:
        """Whether `a` and `b` differ modulo 2**64."""
        highs, lows = self._ends(a, b, highest=True), self._ends(a, b, highest=False)
        limit = Polynomial.constant((1 << 64) - 1)
        if not any(self._proves(limit - (p - q)) for p, q in product(highs[1], lows[0])):
            return False
        if not any(self._proves(limit - (p - q)) for p, q in product(highs[0], lows[1])):
            return False
        return self._differ(a, b, _MAX_AXES)

    def _differ(self, a: Polynomial, b: Polynomial, axes: int) -> bool:
        """Whether `a` and `b` differ."""
        highs, lows = self._ends(a, b, highest=True), self._ends(a, b, highest=False)
        for k in (0, 1):
            if any(self._proves(p - q - _ONE) for p, q in product(lows[1 - k], highs[k])):
                return True
        return axes > 1 and any(self._differ_in_rows(a, b, s, axes) for s in self._strides(a))

    def _differ_in_rows(self, a: Polynomial, b: Polynomial, stride: Polynomial, axes: int) -> bool:
        """Whether `a` and `b` are in different rows of the length `stride`, or columns of rows."""
        common = a.common(b)
        of_a, of_b = ((p - common).divided(stride) for p in (a, b))
        if of_a is None or of_b is None:
            return False
        highs = self._ends(of_a[1], of_b[1], highest=True)
        lows = self._ends(of_a[1], of_b[1], highest=False)
        return (
            all(any(self._proves(p) for p in alternatives) for alternatives in lows)
            and all(any(self._proves(stride - p - _ONE) for p in side) for side in highs)
            and any(self._differ(p, q, axes - 1) for p, q in zip(of_a, of_b, strict=True))
        )

    def _strides(self, p: Polynomial) -> Iterator[Polynomial]:
        """The factors by which variables of loops are multiplied in `p`, the largest ones first."""
        parts = (p.split(a) for a in sorted(p.atoms))
        factors = {q[0]: None for q in parts if q is not None}
        found = [f for f in factors if len(f.terms) == 1 and f.number != 1]
        yield from sorted(found, key=lambda f: -f.degree)

    def _proves(self, p: Polynomial) -> bool:
        return self._premises.prove_nonnegative(p)

    def _ends(
        self, a: Polynomial, b: Polynomial, *, highest: bool
    ) -> tuple[list[Polynomial], list[Polynomial]]:
        """Upper (``highest``) or lower bounds of `a` and of `b`, without variables of inner loops.
        """
        return self._extremes(a, 0, highest), self._extremes(b, 1, highest)

    def _extremes(self, p: Polynomial, side: int, highest: bool) -> list[Polynomial]:
        """Each variable of an inner loop replaced by its first or last value, inner ones first."""
        found = [p]
        for span in reversed(self._spans[side]):
            found = [g for f in found for g in self._at_extreme(f, span, highest)][:_MAX_ENDS]
        return found

    def _at_extreme(self, p: Polynomial, span: _Span, highest: bool) -> Iterator[Polynomial]:
        """`p` with the variable of `span` at the end that makes it greatest (or least)."""
        if span.atom not in p.atoms:
            yield p
            return
        parts = p.split(span.atom)
        if parts is None:
            return
        grows = self._proves(parts[0])
        if grows or self._proves(Polynomial() - parts[0]):
            for end in span.lasts if grows == highest else (span.first,):
                yield parts[0] * end + parts[1]
