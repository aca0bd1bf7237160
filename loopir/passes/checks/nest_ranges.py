"""Range checks of loop nests: a nest over a flattened table runs without checks if its ends fit.

As `inductive_ranges` for subscripts with products of a variable and a width, ``x[i * n + j]``: they
are polynomials that grow or fall with each variable of the nest, so that their values at its ends
tell all. The end of an inner loop may depend on outer variables, as in a triangle.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from ...algebra.constant_folding import index_const, literal
from ...algebra.index_builder import index_add, index_mul, index_sub, logical_and
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.affine import unclamped_end
from ...analysis.integers.implied_conditions import conjuncts
from ...analysis.integers.polynomials import Polynomial
from ...dtypes import INDEX
from ...ir_names import (
    FreshNames,
    bound_names,
    names_read,
    values_assigned_once,
)
from ...ir_printer import show
from ...ir_traversal import bottom_up, contains, contains_nest, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Call,
    Check,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Stmt,
    Var,
    While,
    Yield,
)
from ..canonical.simplify import simplify

__all__ = ["nest_ranges"]

_LIMITS = 1 << 30, 1 << 20, 1 << 15
"""Lengths and widths are assumed to be at most the first of these, so that their products do not
wrap around; the next one where a check has products of more.
"""
_MOST = 1 << 62
"""Values that may be greater by these limits are left to checks."""
_MAX_NODES = 800  # size limit of a nest that is copied
_ZERO = index_const(0)


def nest_ranges(kernel: Kernel) -> Kernel:
    """Copy a nest of which some check holds if the ends of its subscripts, at the first and at the
    last iteration of all loops, are inside of the arrays, where a subscript has a product of a
    variable. Where they are, the copy runs. Before::

        def k(x: f64[::1], y: mut(f64[::1]), n: i64, m: i64):
            guard(m <= x.shape[0], "GUARD_LENGTH")
            disjoint(x, y)
            for i in loop(0, n):
                for j in loop(0, n):
                    check(~mul_over(i, n), "replay")
                    at = i * n + j
                    check((at >= 0 - m) & (at < m), "replay")
                    y[j] = y[j] + x[select(at < 0, at + m, at)]

    after::

        def k(x: f64[::1], y: mut(f64[::1]), n: i64, m: i64):
            guard(m <= x.shape[0], "GUARD_LENGTH")
            disjoint(x, y)
            if (n <= 1073741824) & (n >= 0) & (0 >= 0 - m) & (n * n - 1 < m):
                for i_1 in loop(0, n):
                    for j_1 in loop(0, n):
                        y[j_1] = y[j_1] + x[i_1 * n + j_1]
            else:
                for i_2 in loop(0, n):
                    for j_2 in loop(0, n):
                        check(~mul_over(i_2, n), "replay")
                        at_2 = i_2 * n + j_2
                        check((at_2 >= 0 - m) & (at_2 < m), "replay")
                        y[j_2] = y[j_2] + x[select(at_2 < 0, at_2 + m, at_2)]
    """
    body = _block(kernel.body, FreshNames(kernel))
    return kernel if body == kernel.body else simplify(replace(kernel, body=body))


def _block(body: tuple[Stmt, ...], fresh: FreshNames) -> tuple[Stmt, ...]:
    """`body` with its nests in two versions, also those in branches."""
    new: list[Stmt] = []
    for s in body:
        match s:
            case Loop():
                new.append(_versions(s, fresh))
            case If(cond, orelse=(Loop() as checked,)) if _ends_fit(checked) == cond:
                new.append(s)  # the versions of a nest
            case If(then=then, orelse=orelse):
                sides = _block(then, fresh), _block(orelse, fresh)
                same = sides == (then, orelse)
                new.append(s if same else replace(s, then=sides[0], orelse=sides[1]))
            case _:
                new.append(s)
    return tuple(new)


class _Ends(NamedTuple):
    """The first value of a loop variable, and the end before which it stops, if ``limits`` hold."""

    first: int
    end: Polynomial
    limits: dict[Expr, None]


class _Nest:
    """What is assumed of a nest, in ``conditions``, and which comparisons follow (``outcomes``).

    Integers are polynomials of the variables of the nest and of *symbols*: what it does not change.
    Both are assumed to be between 0 and ``limit``; ``is_complete`` is False if an integer might be
    too large nevertheless.
    """

    def __init__(self, nest: Loop, limit: int) -> None:
        self.limit = limit
        self.is_complete = True
        self.bound = bound_names(nest)
        self.values = values_assigned_once(nest)
        loops = [n for n in walk(nest) if isinstance(n, Loop)]
        variables = Counter(n.var for n in loops)
        self.conditions: dict[Expr, None] = {}
        self.outcomes: dict[Expr, bool] = {}
        self.has_products = False
        self.symbols: dict[str, Expr] = {}
        self.ends: dict[str, _Ends] = {}
        for loop in loops:  # outer ones first
            if isinstance(loop.range, Interval) and variables[loop.var] == 1:
                self._add_variable(loop.var, loop.range)
        for n in walk(nest):
            if isinstance(n, Check):
                self._assume(n.cond)

    def ends_fit(self) -> Expr:
        """All that is assumed, as one condition."""
        return rewrite(reduce(logical_and, self.conditions))

    def _add_variable(self, var: str, r: Interval) -> None:
        """The first value of a loop variable and its end, which may depend on outer variables."""
        if not isinstance(r.lo, Const) or not 0 <= r.lo.value <= self.limit:
            return
        value = self.values.get(r.hi.name) if isinstance(r.hi, Var) else None
        end = unclamped_end(r if value is None else Interval(r.lo, value))
        limits: dict[Expr, None] = {}
        found = self._symbol(end) if self._fixed(end) else self.of(end, limits)
        if found is not None:
            self.ends[var] = _Ends(int(r.lo.value), found, limits)

    def _fixed(self, e: Expr) -> bool:
        """Whether the nest does not change `e`, which loads nothing."""
        return names_read(e).isdisjoint(self.bound) and not contains(e, Load)

    def _symbol(self, e: Expr) -> Polynomial:
        """The number `e`, or a symbol for it."""
        if isinstance(e, Const):
            return Polynomial.constant(int(e.value))
        self.symbols[show(e)] = e
        return Polynomial.atom(show(e))

    def of(self, e: Expr, limits: dict[Expr, None]) -> Polynomial | None:
        """The polynomial of `e`, if it does not wrap around. `limits` gets what must hold for that.
        """
        if e.dtype != INDEX or e.lanes != 1:
            return None
        if self._fixed(e):
            symbol = self._symbol(e)
            return symbol if isinstance(e, Const) else self._limited(symbol, limits)
        match e:
            case Var(name) if name in self.ends:
                end = self.extreme(self.ends[name].end, highest=True)
                if end is None:
                    return None
                limits |= self.ends[name].limits
                limits[_compare("le", self.expr(end), index_const(self.limit))] = None
                return Polynomial.atom(name)
            case Var(name) if name in self.values:
                return self.of(self.values[name], limits)
            case Call("add" | "sub" | "mul" as op, (a, b)):
                return self._combined(op, a, b, limits)
        return None

    def _limited(self, symbol: Polynomial, limits: dict[Expr, None]) -> Polynomial:
        """`symbol`, of which `limits` say that it is between 0 and ``limit``."""
        limits[_compare("le", self.expr(symbol), index_const(self.limit))] = None
        limits[_compare("ge", self.expr(symbol), _ZERO)] = None
        return symbol

    def _combined(self, op: str, a: Expr, b: Expr, limits: dict[Expr, None]) -> Polynomial | None:
        """The polynomial of ``a op b``, as `of`; None also if it may be too large."""
        p, q = self.of(a, limits), self.of(b, limits)
        if p is None or q is None or not (p.is_small and q.is_small):
            return None
        found = p + q if op == "add" else p - q if op == "sub" else p * q
        self.has_products |= any(
            len(m) > 1 and not self.ends.keys().isdisjoint(m) for m in found.terms
        )
        low, high = found.bounds(lambda atom: (0, self.limit))
        fits = max(-low, high) <= _MOST
        self.is_complete &= fits
        return found if fits else None

    def extreme(self, p: Polynomial, *, highest: bool) -> Polynomial | None:
        """The highest or least value of `p` in the nest, or a bound of it, without variables; None
        if it is not known whether `p` grows with one. It holds where the loops around `p` run: a
        last value is not less than the first one.
        """
        lasts: dict[str, Polynomial] = {}
        for var in reversed(self.ends):
            if (parts := p.split(var)) is None:
                return None
            factor, rest = parts
            signs = {c > 0 for c in factor.terms.values()}
            if len(signs) > 1:
                return None
            last = self.ends[var].end - Polynomial.constant(1)
            if signs != {highest}:
                p = factor * Polynomial.constant(self.ends[var].first) + rest
            elif last.atoms.isdisjoint(self.ends):
                lasts[f"last {var}"] = last
                p = factor * Polynomial.atom(f"last {var}") + rest
            else:
                p = factor * last + rest
        for atom, last in lasts.items():
            p = p.substitute(atom, last)
        return p

    def expr(self, p: Polynomial) -> Expr:
        """`p`, which has no variables, as an expression."""
        sums: dict[bool, Expr] = {}
        for m, c in sorted(p.terms.items(), key=lambda term: (-len(term[0]), term[0])):
            factors = [self.symbols[a] for a in m]
            if abs(c) != 1 or not m:
                factors.append(index_const(abs(c)))
            term, is_added = reduce(index_mul, factors), c > 0
            sums[is_added] = index_add(sums[is_added], term) if is_added in sums else term
        positive = sums.get(True, _ZERO)
        return index_sub(positive, sums[False]) if False in sums else positive

    def _assume(self, cond: Expr) -> None:
        """Assume that the check of `cond` holds, if each of its terms can be assumed.
        ``is_complete`` becomes False if one may be too large.
        """
        limits: dict[Expr, None] = {}
        outcomes: dict[Expr, bool] = {}
        for term in self._terms(cond):
            if not self._decide(term, limits, outcomes):
                return
        self.conditions |= limits
        self.outcomes |= outcomes

    def _terms(self, cond: Expr) -> Iterator[Expr]:
        """The terms that must hold so that `cond` does, with the values of names."""
        for term in conjuncts(cond):
            value = self.values.get(term.name) if isinstance(term, Var) else None
            yield from (term,) if value is None else self._terms(value)

    def _decide(
        self, term: Expr, limits: dict[Expr, None], outcomes: dict[Expr, bool]
    ) -> bool:
        """Whether `term` holds if `limits`, to which conditions are added, do."""
        match term:
            case Call("not", (Call("add_over" | "sub_over" | "mul_over" as op, (a, b)) as over,)):
                if a.dtype != INDEX:
                    return False
                outcomes[over] = False
                return self._combined(op.removesuffix("_over"), a, b, limits) is not None
            case Call("lt" | "le" | "ge" | "gt" as op, (a, b)) if a.dtype == INDEX:
                found = self.of(a, limits)
                if found is None or not self._fixed(b):
                    return False
                low, high = (self.extreme(found, highest=h) for h in (False, True))
                if low is None or high is None:
                    return False
                limits[_compare("ge", self.expr(low), _ZERO)] = None
                limits[_compare(op, self.expr(high if op in ("lt", "le") else low), b)] = None
                outcomes[term] = True
                outcomes[_compare("lt", a, _ZERO)] = False
                return True
        return False

    def outcome(self, e: Expr) -> Expr:
        """`e`, or its value if it is a comparison that is decided by what is assumed."""
        return literal(self.outcomes[e], "bool") if e in self.outcomes else e


def _compare(op: str, a: Expr, b: Expr) -> Expr:
    """The comparison, simplified."""
    return rewrite(Call(op, (a, b), "bool"))


def _nest_of(s: Loop) -> _Nest | None:
    """The nest `s`, if it has checks of products that may be assumed to hold."""
    if not contains_nest(s) or not contains(s, Check) or contains(s, While):
        return None
    if sum(1 for _ in walk(s)) > _MAX_NODES:
        return None
    tried = [_Nest(s, _LIMITS[0])]
    while not tried[-1].is_complete and len(tried) < len(_LIMITS):
        tried.append(_Nest(s, _LIMITS[len(tried)]))
    nest = tried[-1] if tried[-1].is_complete else tried[0]
    return nest if nest.has_products and nest.conditions else None


def _ends_fit(s: Loop) -> Expr | None:
    """The condition under which the nest `s` runs without checks; None if there is none."""
    nest = _nest_of(s)
    return None if nest is None else nest.ends_fit()


def _versions(s: Loop, fresh: FreshNames) -> Stmt:
    """`s` in two versions, if it is a nest for which that pays; else `s`."""
    nest = _nest_of(s)
    if nest is None:
        return s
    fits = nest.ends_fit()

    def decided(n: Node) -> Node:
        """`n` with what is assumed."""
        return nest.outcome(n) if isinstance(n, Call) and n.lanes == 1 else n

    fast, checked = fresh.copy(bottom_up(s, decided)), fresh.copy(s)
    yields = tuple(
        Yield(a.name, p.current, q.current)
        for a, p, q in zip(s.accs, fast.accs, checked.accs, strict=True)
    )
    return If(fits, (fast,), (checked,), yields, span=s.span)
