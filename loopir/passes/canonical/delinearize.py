"""Delinearization: a loop over flat positions becomes a loop over rows, around one over a row.

Positions are flat where a loop divides them: ``a[k // m, k % m]``, ``b[k % m]``,
``a[(k + s) % m]``.
Of the two loops the inner one advances through a row without a division, so that later passes
know its subscripts as affine forms, which they vectorise. MLIR calls the quotients and remainders
of a flat position delinearized (``affine.delinearize_index``); here the loop is strip-mined by the
divisor, and they are the variables of the two loops.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import (
    index_add,
    index_floordiv,
    index_max,
    index_min,
    index_mul,
    index_sub,
    logical_and,
)
from ...analysis.integers.affine import Affine, AffineForm, affine_form_in, variable_form
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, rename_names, substitute
from ...ir_traversal import (
    bottom_up,
    contains,
    counted_range,
    has_early_exit,
    is_innermost,
    walk,
)
from ...lazy_dataclass import record, replace
from ...nodes import (
    Assign,
    Call,
    Const,
    Dim,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Stmt,
    Var,
    Yield,
)
from ...statement_blocks import map_statements

__all__ = ["delinearize"]

MIN_ROW = 16
"""Rows of fewer iterations are too short for a loop of their own."""

MAX_SHIFT = 2**61
"""A shift of so much does not overflow for positions up to so much."""

MAX_COPIED_NODES = 700
"""A loop with more nodes is not copied."""


def delinearize(kernel: Kernel) -> Kernel:
    """Split a loop that divides its position by an invariant number into a loop over rows of so
    many iterations, and one over the iterations of a row: quotient and remainder are their
    positions. The order of the iterations is the same.

    Rows of fewer than `MIN_ROW` iterations keep their division, in a copy of the loop as it was.
    A loop that surely has only one row is left to `partition_loops`. A loop inside another one is
    left as it is: a window moves with the loop around it, and has one row or two. Before::

        def k(x: mut(f64[::1]), b: f64[::1]):
            disjoint(x, b)
            for i in loop(0, x.shape[0]):
                x[i] = x[i] * b[i % b.shape[0]]

    after::

        def k(x: mut(f64[::1]), b: f64[::1]):
            disjoint(x, b)
            if b.shape[0] >= 16:
                rows = x.shape[0] // b.shape[0]
                for row in loop(0, rows):
                    for column in loop(0, b.shape[0]):
                        x[row * b.shape[0] + column] = x[row * b.shape[0] + column] * b[column]
                for column_1 in loop(0, x.shape[0] - rows * b.shape[0]):
                    x[rows * b.shape[0] + column_1] = x[rows * b.shape[0] + column_1] * b[column_1]
            else:
                for i in loop(0, x.shape[0]):
                    x[i] = x[i] * b[i % b.shape[0]]
    """
    fresh = FreshNames(kernel)
    outermost = {id(s) for s in _outermost(kernel.body)}

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` in two versions, if it is a loop that divides its position."""
        is_alone = isinstance(s, Loop) and id(s) in outermost and is_innermost(s)
        rows = _rows_of(s) if is_alone and isinstance(s, Loop) else None
        if rows is None or sum(1 for _ in walk(s)) > MAX_COPIED_NODES:
            return s
        *before, last = rows.loops(fresh)
        assert isinstance(last, Loop)
        condition = rows.condition()
        if condition is None:
            pairs = zip(last.accs, rows.loop.accs, strict=True)
            return (*before, rename_names(last, {new.name: old.name for new, old in pairs}))
        flat = fresh.copy(rows.loop) if rows.loop.accs else rows.loop
        yields = tuple(
            Yield(a.name, p.current, q.current)
            for a, p, q in zip(rows.loop.accs, last.accs, flat.accs, strict=True)
        )
        return If(condition, (*before, last), (flat,), yields, span=rows.loop.span)

    return map_statements(kernel, edit, Loop)


@record(frozen=True, slots=True)
class _Rows:
    """A loop that divides ``position + shift`` by `length`."""

    loop: Loop
    range: Interval
    length: Expr
    shift: Affine  # without the position
    divisions: dict[Call, bool]  # whether each is the quotient, not the remainder

    def condition(self) -> Expr | None:
        """The condition, tested before the loop, that rows are long enough, and that no position of
        a row overflows; None if both are certain.
        """
        conditions: list[Expr] = []
        if not isinstance(self.length, Const):
            conditions.append(Call("ge", (self.length, index_const(MIN_ROW)), "bool"))
        shifted = (self.shift_expr, self.range.lo, self.range.hi)
        for e in shifted if shifted[0] != index_const(0) else ():
            if not isinstance(e, Dim) and not (isinstance(e, Const) and abs(e.value) <= MAX_SHIFT):
                conditions.append(Call("ge", (e, index_const(-MAX_SHIFT)), "bool"))
                conditions.append(Call("le", (e, index_const(MAX_SHIFT)), "bool"))
        out: Expr | None = None
        for c in conditions:
            out = c if out is None else logical_and(out, c)
        return out

    @property
    def shift_expr(self) -> Expr:
        return AffineForm(dict(self.shift.symbols), self.shift.constant).expr()

    @property
    def starts_row(self) -> bool:
        """Whether the first position is 0, which begins a row."""
        return self.range.lo == self.shift_expr == index_const(0)

    def loops(self, fresh: FreshNames) -> tuple[Stmt, ...]:
        """The loop over rows around the loop over one row. Where the first position begins a row,
        all rows of it are whole, and the loop over the rest follows; else each row is cut to the
        range.
        """
        row, column = (Var(fresh.name(n), INDEX) for n in ("row", "column"))
        lo, hi, shift = self.range.lo, self.range.hi, self.shift_expr
        start = index_sub(index_mul(row, self.length), shift)  # the position at column 0
        if not self.starts_row:
            rows = Interval(
                index_floordiv(index_add(lo, shift), self.length),
                index_add(index_floordiv(index_sub(index_add(hi, shift), 1), self.length), 1),
            )
            first, end = index_max(index_sub(lo, start), 0), index_sub(hi, start)
            inside = Interval(first, index_min(self.length, end))
            inner = self.over_columns(row, column, inside, fresh)
            return (self.over_rows(row, rows, inner, fresh),)
        count = hi if isinstance(hi, Dim) else index_max(hi, 0)
        whole = Var(fresh.name("rows"), INDEX)
        inner = self.over_columns(row, column, Interval(lo, self.length), fresh)
        nest = self.over_rows(row, Interval(lo, whole), inner, fresh)
        rest = Interval(lo, index_sub(count, index_mul(whole, self.length)))
        last = self.over_columns(whole, Var(fresh.name("column"), INDEX), rest, fresh)
        last_accs = tuple(
            replace(a, init=old.current) for a, old in zip(last.accs, nest.accs, strict=True)
        )
        last = replace(last, accs=last_accs)
        return Assign(whole.name, index_floordiv(count, self.length)), nest, last

    def over_rows(self, row: Var, rows: Interval, inner: Loop, fresh: FreshNames) -> Loop:
        """The loop over `rows` around the loop over one row, to which accumulators pass."""
        accs = tuple(
            replace(a, step=new.current) for a, new in zip(self.loop.accs, inner.accs, strict=True)
        )
        nest = Loop(row.name, rows, (inner,), accs, span=self.loop.span)
        renamed: Loop = rename_names(nest, {a.name: fresh.name(a.name) for a in accs})
        return renamed

    def over_columns(self, row: Var, column: Var, columns: Interval, fresh: FreshNames) -> Loop:
        """The loop over the `columns` of one row. Its accumulators begin with those around it."""
        inner = fresh.copy(self.without_divisions(row, column))
        start = index_sub(index_mul(row, self.length), self.shift_expr)
        position = {inner.var: index_add(start, column)}
        accs = tuple(
            replace(a, init=old.current, step=substitute(a.step, position))
            for a, old in zip(inner.accs, self.loop.accs, strict=True)
        )
        body = tuple(substitute(s, position) for s in inner.body)
        return replace(inner, var=column.name, range=columns, body=body, accs=accs)

    def without_divisions(self, row: Var, column: Var) -> Loop:
        """The loop with `row` for the quotients, and `column` for the remainders; also for one that
        is not computed where the position is in the first row::

            select((0 <= k) & (k < m), k, k % m)    →    column
        """
        positions = {call.args[0] for call in self.divisions}

        def edit(n: Any) -> Any:
            match n:
                case Call("floordiv" | "mod") if n in self.divisions:
                    return row if self.divisions[n] else column
                case Call("select", (test, position, other)) if (
                    other == column and position in positions and self.is_first_row(test, position)
                ):
                    return column
            return n

        edited: Loop = bottom_up(self.loop, edit)
        return edited

    def is_first_row(self, test: Any, position: Expr) -> bool:
        """Whether `test` is ``(0 <= position) & (position < length)``, as lowering writes it, or
        the second condition alone if no position is negative.
        """
        below = Call("lt", (position, self.length), "bool")
        match test:
            case Call("and", (Call("le", (Const(0), at)), other)):
                return at == position and other == below
        return test == below and self.starts_row


def _outermost(body: Iterable[Stmt]) -> Iterator[Loop]:
    """The loops that no other loop contains, without those that have their other version."""
    for s in body:
        if isinstance(s, Loop):
            yield s
        elif isinstance(s, If):
            yield from _outermost(s.then)
            yield from (x for x in _outermost(s.orelse) if not _is_for_short_rows(x, s))


def _is_for_short_rows(flat: Loop, choice: If) -> bool:
    """Whether `flat` is the version for short rows of a loop that `delinearize` has split."""
    rows = _rows_of(flat) if choice.orelse == (flat,) else None
    return rows is not None and rows.condition() == choice.cond


def _rows_of(loop: Loop) -> _Rows | None:
    """The rows into which the divisions in `loop` cut it; None if it has none, may leave early, or
    has one row only. Of several divisors it is that of most divisions; the first of those.
    """
    counted = counted_range(loop)
    if counted is None or not any(_is_division(n) for s in loop.body for n in walk(s)):
        return None
    if has_early_exit(loop):
        return None
    found: dict[tuple[Expr, Affine], dict[Call, bool]] = {}
    for call, shift in _divisions(loop):
        found.setdefault((call.args[1], shift), {})[call] = call.op == "floordiv"
    counts = Counter({key: len(calls) for key, calls in found.items()})
    for (length, shift), _ in counts.most_common():
        if not _is_one_row(counted, length, shift):
            return _Rows(loop, counted, length, shift, found[length, shift])
    return None


def _is_division(n: object) -> bool:
    """Whether `n` is the quotient or remainder of two scalar integers."""
    return isinstance(n, Call) and n.op in ("floordiv", "mod") and n.dtype == INDEX


def _divisions(loop: Loop) -> Iterator[tuple[Call, Affine]]:
    """The divisions of the position of `loop`, plus a shift, by an invariant number that may be at
    least `MIN_ROW`; each with that shift.
    """
    bound = bound_names(loop) | {loop.var}
    forms: dict[str, Affine | None] = {name: None for name in bound}
    forms[loop.var] = variable_form(loop.var)
    for s in loop.body:
        if isinstance(s, Assign) and s.value.dtype == INDEX:
            forms[s.name] = affine_form_in(s.value, forms)
    for n in (n for s in (*loop.body, *(a.step for a in loop.accs)) for n in walk(s)):
        if not isinstance(n, Call) or not _is_division(n):
            continue
        divided, length = n.args
        if names_read(length) & bound or contains(length, (Load, Call)):
            continue
        if isinstance(length, Const) and length.value < MIN_ROW:
            continue
        form = affine_form_in(divided, forms)
        if form is not None and form.coefficient(loop.var) == 1 and form.variables == {loop.var}:
            yield n, form.without((loop.var,))


def _is_one_row(r: Interval, length: Expr, shift: Affine) -> bool:
    """Whether the range certainly is one row, with a neighbour on either side at most: positions
    differ by less than `length`, and a number is added to them.
    """
    lo, hi, m = (affine_form_in(e, {}) for e in (r.lo, r.hi, length))
    if lo is None or hi is None or m is None or shift.terms:
        return False
    more = (hi - lo - m).number
    return more is not None and more <= 0
