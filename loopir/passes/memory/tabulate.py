"""Tabulation: what depends on the inner loop alone is computed once for many iterations around it.

Nearest pixels, bilinear interpolation and their kin load elements at subscripts that are computed
from the variables of the loops, one axis by each, with a conversion or a division. The loop over a
row cannot be vectorised, as it gathers; and it computes the subscripts of its axis, with their
checks, again in each row. `hoist` moves what depends on the outer loop alone; this pass moves what
depends on the inner loop alone, to a loop that fills a table, which can be vectorised: invariant
code motion out of the outer loop, with array expansion.
"""
from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any, TypeGuard

from ...algebra.index_builder import index_add, index_less, index_min, index_sub
from ...algebra.may_raise import may_raise_flags
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...dtypes import INDEX
from ...ir_names import FreshNames, changed_names, expand_names, names_read
from ...ir_traversal import EXPRESSIONS, contains, map_children, ops_within, walk, walk_statements
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Break,
    Call,
    Check,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    Node,
    Return,
    Stmt,
    Store,
    Var,
    While,
)
from ...op_table import OPS
from ...statement_blocks import backward_slice, map_statements
from ..loop_splitting import strip_mine

__all__ = ["tabulate"]

_ELEMENTS = 2048  # of a table, at most: longer rows are computed without
_ROWS = 64  # between fillings of the tables: threads share the rows in such blocks
_TABLES = 4
_LEAST_OF_TABLE = 3.0  # in additions, of the value of an element
_LEAST_SAVED = 6.0  # of what is no longer computed in each iteration
_MUCH = 1000.0  # a bound of weights, which add up what several names share
_LINEAR = frozenset(("add", "sub", "mul", "neg"))
_OF_BOUNDS = _LINEAR | {"min", "max", "select", "lt", "le", "gt", "ge", "eq", "ne"}
_EXITS = (Break, Return, While)


def tabulate(kernel: Kernel) -> Kernel:
    """Fill tables with what an inner loop computes of its own variable, for subscripts, if the loop
    around it has it computed again in each iteration. Before::

        def k(x: f64[:, ::1], f: i64, out: mut(f64[:, ::1])):
            disjoint(x, out)
            for i in loop(0, out.shape[0]):
                for j in loop(0, out.shape[1]):
                    at = j // f
                    inside = (at >= 0) & (at < x.shape[1])
                    check(inside, "replay")
                    out[i, j] = x[i, select(inside, at, 0)]

    after::

        def k(x: f64[:, ::1], f: i64, out: mut(f64[:, ::1])):
            disjoint(x, out)
            if out.shape[1] < 2049:
                for i_1 in loop(range(0, out.shape[0], 64)):
                    table = local(i64, 2048)
                    for j_1 in loop(0, min(2048, out.shape[1])):
                        at_1 = j_1 // f
                        inside_1 = (at_1 >= 0) & (at_1 < x.shape[1])
                        check(inside_1, "replay")
                        table[j_1] = select(inside_1, at_1, 0)
                    for i in loop(i_1, min(i_1 + 64, out.shape[0])):
                        for j in loop(0, out.shape[1]):
                            out[i, j] = x[i, table[j]]
            else:
                for i_2 in loop(0, out.shape[0]):
                    for j_2 in loop(0, out.shape[1]):
                        at_2 = j_2 // f
                        inside_2 = (at_2 >= 0) & (at_2 < x.shape[1])
                        check(inside_2, "replay")
                        out[i_2, j_2] = x[i_2, select(inside_2, at_2, 0)]

    The tables are filled again for each block of rows, so that threads may share the blocks.
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)
    branches = (n for n in walk_statements(kernel) if isinstance(n, If) and contains(n, Local))
    without = {id(s) for n in branches for s in n.orelse}  # what the pass has left beside tables

    def edit(s: Stmt) -> Stmt:
        """`s` with tables, if it is a loop around one that needs them."""
        if not isinstance(s, Loop) or not isinstance(s.range, Interval) or s.accs:
            return s
        if s.until is not None or contains(s, _EXITS) or id(s) in without:
            return s
        for k, inner in enumerate(s.body):
            if isinstance(inner, Loop) and inner.until is None:
                versions = _Tables(s, k, inner, memory, fresh).versions()
                if versions is not None:
                    return versions
        return s

    return map_statements(kernel, edit, Loop)


class _Tables:
    """The tables of the loop `inner`, statement number `place` in the body of `outer`.

    A name is of the row if `inner` assigns it an expression of the row: one that reads the variable
    of `inner` or names of the row, and nothing else that `outer` changes. In the inner loop, each
    maximal expression of the row that costs enough is loaded from a table. The assignments that
    are needed for the tables alone, and the checks of the row, are only in the loop that fills
    them.
    """

    def __init__(
        self, outer: Loop, place: int, inner: Loop, memory: AliasInfo, fresh: FreshNames
    ) -> None:
        self.outer, self.place, self.inner, self._fresh = outer, place, inner, fresh
        self._memory, self._stored = memory, arrays_written((outer,))
        self._changed = changed_names(outer)
        self._invariant: set[str] = set()  # names that the loops assign
        self._weights: dict[str, float] = {inner.var: 0.0}  # of the names of the row
        self._tables: dict[Expr, str] = {}

    def versions(self) -> If | None:
        """The loops with tables where these are large enough, else the loop as it is; None if
        tables would save too little.
        """
        row = self._invariant_range()
        if row is None:
            return None
        before = [s for s in self.outer.body[: self.place] if self._is_invariant(s)]
        kept: dict[int, Stmt] = {}  # by their places in the body
        checks: dict[int, Check] = {}
        for k, s in enumerate(self.inner.body):
            self._note(s)
            if isinstance(s, Check) and self._is_of_row(s.cond):
                checks[k] = s
            elif not isinstance(s, Assign) or s.name not in self._weights:
                kept[k] = self._with_tables(s, row.lo, True)
        steps = [self._with_tables(a.step, row.lo, True) for a in self.inner.accs]
        if not 0 < len(self._tables) <= _TABLES:
            return None
        if not self._are_subscripts(*kept.values(), *steps):
            return None
        rest = [kept.get(k, s) for k, s in enumerate(self.inner.body) if k not in checks]
        again = {s.name for s in backward_slice(rest, *kept.values(), *steps)}
        needed = backward_slice((*before, *self.inner.body), *self._tables, *checks.values())
        filled = {s.name for s in needed}
        saved = [s.value for s in needed if s.name in self._weights and s.name not in again]
        saved += [*self._tables, *(s.cond for s in checks.values())]
        if sum(map(_own_weight, saved)) < _LEAST_SAVED:
            return None
        body: list[Stmt] = []
        filling: list[Stmt] = [s for s in needed if s in before]
        for k, s in enumerate(self.inner.body):
            if k in kept or (isinstance(s, Assign) and s.name in again):
                body.append(kept.get(k, s))
            if k in checks or (isinstance(s, Assign) and s.name in filled):
                filling.append(s)
        accs = tuple(replace(a, step=e) for a, e in zip(self.inner.accs, steps, strict=True))
        inner = replace(self.inner, body=tuple(body), accs=accs)
        return self._versions(row, filling, inner)

    def _invariant_range(self) -> Interval | None:
        """The range of the inner loop, by names that the outer loop does not change; None if there
        are none, or if its bounds cannot be computed before the outer loop whatever they read: a
        quotient cannot.
        """
        bounds = self.inner.range
        if not isinstance(bounds, Interval):
            return None
        before = {s.name: s.value for s in self.outer.body[: self.place] if isinstance(s, Assign)}
        lo, hi = (expand_names(e, before) for e in (bounds.lo, bounds.hi))
        if lo is None or hi is None or names_read(lo, hi) & self._changed:
            return None
        if contains(lo, Load) or contains(hi, Load):
            return None
        return Interval(lo, hi) if ops_within(lo) | ops_within(hi) <= _OF_BOUNDS else None

    def _note(self, s: Stmt) -> None:
        """Note the name that `s`, a statement of the inner loop, assigns, if it is of the row."""
        if isinstance(s, Assign) and not self._is_invariant(s) and self._is_of_row(s.value):
            self._weights[s.name] = min(self._weight(s.value), _MUCH)

    def _is_invariant(self, s: Stmt) -> TypeGuard[Assign]:
        """Whether `s` assigns what is the same in all iterations of both loops. Notes the name."""
        if not isinstance(s, Assign) or not self._is_fixed(s.value, self._invariant):
            return False
        self._invariant.add(s.name)
        return True

    def _is_of_row(self, e: Expr) -> bool:
        """Whether `e` is an expression of the row."""
        reads_row = not names_read(e).isdisjoint(self._weights)
        return reads_row and self._is_fixed(e, self._invariant.union(self._weights))

    def _is_fixed(self, e: Expr, names: Set[str]) -> bool:
        """Whether the outer loop changes nothing that `e` reads, but perhaps `names`."""
        is_same = names_read(e) & self._changed <= names
        return is_same and not self._memory.changes(e, self._stored)

    def _weight(self, n: Node) -> float:
        """What `n` costs, with the names of the row that it reads, in additions."""
        return _own_weight(n) + sum(self._weights.get(name, 0.0) for name in names_read(n))

    def _with_tables(self, n: Any, lo: Expr, is_surely_run: bool) -> Any:
        """`n` with loads from tables; `lo` is the first value of the loop's variable. An expression
        that may not be evaluated in each iteration must raise no flag.
        """
        if not isinstance(n, EXPRESSIONS):
            is_block = isinstance(n, (If, Loop))
            return map_children(
                n, lambda m: self._with_tables(m, lo, is_surely_run and not is_block)
            )
        e: Any = n
        may_move = is_surely_run or isinstance(e, Var) or e in self._tables or _is_harmless(e)
        if not may_move or not self._is_of_row(e):
            return map_children(e, lambda m: self._with_tables(m, lo, is_surely_run))
        if e.dtype == "bool" or self._weight(e) < _LEAST_OF_TABLE:
            return e
        if e not in self._tables:
            self._tables[e] = self._fresh.name("table")
        at = index_sub(Var(self.inner.var, INDEX), lo)
        return Load(self._tables[e], (at,), e.dtype)

    def _are_subscripts(self, *code: Node) -> bool:
        """Whether `code` reads subscripts from a table: else the loop might be vectorised."""
        tables = frozenset(self._tables.values())
        return any(
            isinstance(n, Load | Store) and not arrays_read(n.index).isdisjoint(tables)
            for part in code for n in walk(part)
        )

    def _versions(self, row: Interval, filling: Iterable[Stmt], inner: Loop) -> If:
        """The loops with tables, which `filling` computes, and the loop without."""
        outer, fresh = self.outer, self._fresh
        var = Var(self.inner.var, INDEX)
        stores = [Store(t, (index_sub(var, row.lo),), e) for e, t in self._tables.items()]
        some = Interval(row.lo, index_min(index_add(row.lo, _ELEMENTS), row.hi))
        span = self.inner.span and replace(self.inner.span, internal=True)
        fill = fresh.copy(Loop(var.name, some, (*filling, *stores), span=span))
        strip = Var(fresh.name(outer.var), INDEX)
        strips, rows = strip_mine(outer.range, _ROWS, strip)
        body = (*outer.body[: self.place], inner, *outer.body[self.place + 1 :])
        tables = [Local(t, e.dtype, _ELEMENTS) for e, t in self._tables.items()]
        block = Loop(
            strip.name, strips, (*tables, fill, replace(outer, range=rows, body=body)),
            span=outer.span,
        )
        fits = index_less(index_sub(row.hi, row.lo), _ELEMENTS + 1)
        return If(fits, (block,), (fresh.copy(outer),), span=outer.span)


def _own_weight(n: Node) -> float:
    """What `n` costs, in additions. The arithmetic of subscripts costs nothing: the C compiler
    reduces it to an addition in each iteration.
    """
    calls = (e for e in walk(n) if isinstance(e, Call))
    return sum(OPS[e.op].weight for e in calls if e.op not in _LINEAR or e.dtype != INDEX)


def _is_harmless(e: Expr) -> bool:
    """Whether `e` may be evaluated where the code does not: it raises no flag and loads nothing."""
    return not may_raise_flags(e) and not contains(e, Load)
