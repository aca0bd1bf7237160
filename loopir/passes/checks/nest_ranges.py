"""Range checks of loop nests: a nest over a flattened table runs without checks if its ends fit.

As `inductive_ranges` for subscripts with products of a variable and a width, ``x[i * n + j]``: they
grow with each variable of the nest, so that their first and their last value tell all.
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
from ...dtypes import INDEX
from ...ir_names import (
    FreshNames,
    bound_names,
    names_read,
    values_assigned_once,
)
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

_LIMIT = 1 << 30
"""Lengths and widths are assumed to be at most this, so that their products do not wrap around."""
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
            if (n <= 1073741824) & (n >= 0) & (0 >= 0 - m) & ((n - 1) * n + (n - 1) < m):
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
    fresh = FreshNames(kernel)
    body = tuple(_versions(s, fresh) if isinstance(s, Loop) else s for s in kernel.body)
    return kernel if body == kernel.body else simplify(replace(kernel, body=body))


class _Ends(NamedTuple):
    """The values of an integer at the first and at the last iteration of all loops around it, and a
    number that its magnitude does not exceed, if what is assumed of lengths and widths holds.
    """

    first: Expr
    last: Expr
    most: int


class _Nest:
    """What is assumed of a nest, in ``conditions``, and which comparisons follow (``outcomes``)."""

    def __init__(self, nest: Loop) -> None:
        self.bound = bound_names(nest)
        self.values = values_assigned_once(nest)
        loops = [n for n in walk(nest) if isinstance(n, Loop)]
        variables = Counter(n.var for n in loops)
        self.conditions: dict[Expr, None] = {}
        self.outcomes: dict[Expr, bool] = {}
        self.has_products = False
        self.ends: dict[str, _Ends] = {}
        for loop in loops:
            if isinstance(loop.range, Interval) and variables[loop.var] == 1:
                self._add_variable(loop.var, loop.range)
        for n in walk(nest):
            if isinstance(n, Check):
                self._assume(n.cond)

    def _add_variable(self, var: str, r: Interval) -> None:
        """The ends of a loop variable, if its range does not depend on the nest."""
        end = unclamped_end(r)
        if not isinstance(r.lo, Const) or not 0 <= r.lo.value <= _LIMIT or not self._fixed(end):
            return
        self.ends[var] = _Ends(r.lo, index_sub(end, 1), _LIMIT)

    def _fixed(self, e: Expr) -> bool:
        """Whether the nest does not change `e`, which loads nothing."""
        return names_read(e).isdisjoint(self.bound) and not contains(e, Load)

    def of(self, e: Expr, limits: dict[Expr, None]) -> _Ends | None:
        """The ends of `e`, if it never falls from an iteration to the next of any loop. `limits`
        gets what must hold for that.
        """
        if e.dtype != INDEX or e.lanes != 1:
            return None
        if self._fixed(e):
            if isinstance(e, Const):
                return _Ends(e, e, abs(int(e.value)))
            limits[_compare("le", e, index_const(_LIMIT))] = None
            limits[_compare("ge", e, _ZERO)] = None
            return _Ends(e, e, _LIMIT)
        match e:
            case Var(name) if name in self.ends:
                last = index_add(self.ends[name].last, 1)
                limits[_compare("le", last, index_const(_LIMIT))] = None
                return self.ends[name]
            case Var(name) if name in self.values:
                return self.of(self.values[name], limits)
            case Call("add" | "sub" | "mul" as op, (a, b)):
                return self._combined(op, a, b, limits)
        return None

    def _combined(self, op: str, a: Expr, b: Expr, limits: dict[Expr, None]) -> _Ends | None:
        """The ends of ``a op b``, as `of`; None also if it may be too large, or if it wraps."""
        p, q = self.of(a, limits), self.of(b, limits)
        if p is None or q is None:
            return None
        if op == "add":
            ends = index_add(p.first, q.first), index_add(p.last, q.last)
            most = p.most + q.most
        elif op == "sub":
            if q.first != q.last:
                return None
            ends = index_sub(p.first, q.first), index_sub(p.last, q.first)
            most = p.most + q.most
        else:
            if q.first != q.last:
                p, q = q, p
            if q.first != q.last:  # the product of two that grow grows, if neither is negative
                if any(isinstance(e, Const) and e.value < 0 for e in (p.first, q.first)):
                    return None
                limits[_compare("ge", p.first, _ZERO)] = None
            limits[_compare("ge", q.first, _ZERO)] = None
            self.has_products |= p.first != p.last and not isinstance(q.first, Const)
            self.has_products |= q.first != q.last
            ends = index_mul(p.first, q.first), index_mul(p.last, q.last)
            most = p.most * q.most
        return _Ends(*ends, most) if most <= _MOST else None

    def _assume(self, cond: Expr) -> None:
        """Assume that the check of `cond` holds, if each of its terms can be assumed."""
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
                ends = self._combined(op.removesuffix("_over"), a, b, limits)
                outcomes[over] = False
                return ends is not None
            case Call("lt" | "le" | "ge" | "gt" as op, (a, b)) if a.dtype == INDEX:
                ends = self.of(a, limits)
                if ends is None or not self._fixed(b):
                    return False
                limits[_compare("ge", ends.first, _ZERO)] = None
                limits[_compare(op, ends.last if op in ("lt", "le") else ends.first, b)] = None
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


def _versions(s: Loop, fresh: FreshNames) -> Stmt:
    """`s` in two versions, if it is a nest for which that pays; else `s`."""
    if not contains_nest(s) or not contains(s, Check) or contains(s, While):
        return s
    if sum(1 for _ in walk(s)) > _MAX_NODES:
        return s
    nest = _Nest(s)
    if not nest.has_products or not nest.conditions:
        return s
    fits = rewrite(reduce(logical_and, nest.conditions))

    def decided(n: Node) -> Node:
        """`n` with what is assumed."""
        return nest.outcome(n) if isinstance(n, Call) and n.lanes == 1 else n

    fast, checked = fresh.copy(bottom_up(s, decided)), fresh.copy(s)
    yields = tuple(
        Yield(a.name, p.current, q.current)
        for a, p, q in zip(s.accs, fast.accs, checked.accs, strict=True)
    )
    return If(fits, (fast,), (checked,), yields, span=s.span)
