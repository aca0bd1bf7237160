"""Loop partitioning (index-set splitting): the interior iterations run without position tests.

`iv_conditions.position_tests` gives comparisons that have one result from, or up to, a certain
iteration. `_Partitioner._pieces` computes where the interior begins and ends; each new loop
is a copy of the loop in which the tests that are decided there are replaced by their results, and
is split again by tests of its inner loops. Accumulators continue from one piece to the next.
An invariant element that the position is compared with gets a name before the loop
(`_Partitioner._with_named_bounds`).
A test whose interior contains the whole loop (`_is_constant_in`) is removed without a split.
A loop that its position ends (`exit_test`) becomes a counted one, and the iteration that leaves.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_add, index_max, index_min, index_mul, index_sub
from ...analysis.integers.affine import Affine, affine_form
from ...analysis.integers.iv_conditions import (
    PositionTest,
    exit_test,
    fixed_differences,
    position_tests,
)
from ...analysis.mod_ref import AliasInfo
from ...dtypes import INDEX
from ...ir_names import (
    FreshNames,
    bound_names,
    names_read,
    rename_names,
    substitute,
    values_assigned_once,
)
from ...ir_traversal import N, bottom_up, contains, map_children, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Assign,
    Break,
    Call,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Return,
    Stmt,
    Var,
    While,
    Yield,
)
from ...op_table import NEGATED_COMPARISON
from ...statement_blocks import map_statements
from ..canonical.simplify import simplify
from ..scalar.hoist import hoist_from

__all__ = ["partition_loops"]

MAX_COPIED_NODES = 1500  # size limit of the result; larger loops keep their tests


def partition_loops(kernel: Kernel) -> Kernel:
    """Split a loop that tests its position into up to three: the iterations near its ends, and the
    interior, in which the tests have one result and disappear. An interior without branches can be
    vectorised.

    `iv_conditions.position_tests` finds the tests. One that the range of the whole loop decides is
    removed without a split (`_is_constant_in`). A loop is not split if three copies of it have more
    than `MAX_COPIED_NODES` nodes. A loop that leaves at a certain position ends before it, and a
    branch does what that iteration did (`_Partitioner._without_exit`). Before::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                out[i] = select(i > 0, x[select(i > 0, i - 1, 0)], 0.0)

    after::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            end = min(x.shape[0], 1)
            for i_1 in loop(0, end):
                out[i_1] = 0.0
            for i in loop(end, x.shape[0]):
                out[i] = x[i - 1]
    """
    partitioner = _Partitioner(kernel)
    counted = map_statements(kernel, partitioner.without_exit, Loop)
    partitioned: Kernel = partitioner.all(counted)
    return kernel if partitioned is kernel else simplify(partitioned)


@record(frozen=True, slots=True)
class _Piece:
    """One of the loops into which a loop is split."""

    start: Expr  # its first iteration; it ends where the next piece starts
    outcomes: dict[Call, bool]  # the tests whose results are known in it, with these
    is_outside: bool  # of the interior: some test may have the other result there


class _Partitioner:
    """Splits the loops of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._fresh = FreshNames(kernel)
        self._kernel = kernel
        self._memory = AliasInfo(kernel)
        self._values = values_assigned_once(kernel)

    def all(self, n: Any, *, exact: bool = False) -> Any:
        """`n` with its loops split, outer ones first.

        ``exact``: only by tests that have the opposite result outside of the interior
        (`PositionTest.exact`). A piece outside of it is split again by these alone: an
        inexact test stays undecided in it, and would be found again without end.
        """
        match n:
            case Loop():
                return self._loop(n, exact)
            case If() | While() | Kernel():
                return self._inside(n, exact=exact)
            case _:
                return n

    def _inside(self, n: N, *, exact: bool) -> N:
        """`n` with the loops in it split; ``exact``: as for `all`."""
        return map_children(n, lambda c: self.all(c, exact=exact))

    def _loop(self, n: Loop, exact: bool) -> Any:
        """The loops that replace `n`; one loop if no test is left, `n` itself if the copies would
        be too large. ``exact``: as for `all`.
        """
        out: list[Stmt] = []
        if (named := self._with_named_bounds(n)) is not None:
            bindings, n = named
            out += bindings
        tests = [t for t in position_tests(n, self._kernel) if t.exact or not exact]
        constant_tests = [t for t in tests if self._is_constant_in(t, n)]
        splitting_tests = [t for t in tests if t not in constant_tests]
        if not splitting_tests:
            kept = self._inside(_with_outcomes(n, _interior_outcomes(tests)), exact=exact)
            return (*out, kept) if out else kept
        if 3 * sum(1 for _ in walk(n)) > MAX_COPIED_NODES or not isinstance(n.range, Interval):
            return (*out, n) if out else n
        pieces = self._pieces(n, splitting_tests, out)
        ends = [*(piece.start for piece in pieces[1:]), n.range.hi]
        inits = [a.init for a in n.accs]
        for piece, end in zip(pieces, ends, strict=True):
            known = (t for t in constant_tests if not (t.needs_others and piece.is_outside))
            outcomes = _interior_outcomes([*known]) | piece.outcomes
            part = self._with_lengths(_with_outcomes(n, outcomes))
            loop = self._inside(part, exact=exact or piece.is_outside)
            if end is not n.range.hi:
                loop = self._fresh.copy(loop)
            accs = tuple(replace(a, init=e) for a, e in zip(loop.accs, inits, strict=True))
            out.append(replace(loop, range=Interval(piece.start, end), accs=accs))
            inits = [a.current for a in accs]
        return tuple(out)

    def _with_named_bounds(self, n: Loop) -> tuple[tuple[Stmt, ...], Loop] | None:
        """Names for the invariant elements with which `n` compares its position, bound before it,
        and the loop with these names; None if there are none, or no split needs them.

            for j in loop(0, n): if w[i] > j: …      if 0 < n: h = give(w[i]) else: h = give(0)
                                                  →  for j in loop(0, n): if h > j: …
        """
        compared = {
            e for c in walk(n) if isinstance(c, Call) and c.op in NEGATED_COMPARISON
            for e in c.args if e.dtype == INDEX and contains(e, Load)
        }
        if not compared or not isinstance(n.range, Interval):
            return None
        elements = {e for c in compared for e in walk(c) if isinstance(e, Call | Load)}
        bindings, named = hoist_from(
            n, self._memory, self._fresh, lambda e: e in elements and contains(e, Load)
        )
        names = bound_names(*bindings)
        symbols = (
            name for t in position_tests(named, self._kernel) if t.low is not None
            for symbol, _ in t.bound.symbols for name in names_read(symbol)
        )
        return (bindings, named) if any(name in names for name in symbols) else None

    def _with_lengths(self, n: Loop) -> Loop:
        """`n` with differences of positions that are the same in all iterations, as the lengths of
        windows, written without the loop's variable (`fixed_differences`).
        """
        lengths = fixed_differences(n, self._kernel)
        if not lengths:
            return n
        values = {e: _expression_of(form) for e, form in lengths.items()}
        return bottom_up(n, lambda e: values.get(e, e) if isinstance(e, Call) else e)  # type: ignore[no-any-return]  # a Loop gives a Loop

    def without_exit(self, n: Stmt) -> Stmt | tuple[Stmt, ...]:
        """If the position alone ends the loop `n` early (`exit_test`): a counted loop that ends
        before, and a branch with the iteration that leaves, if there is one; else `n` itself.
        """
        leaves = exit_test(n, self._kernel) if isinstance(n, Loop) else None
        if leaves is None or contains(n, (Break, Return)):
            return n
        assert isinstance(n, Loop)
        assert isinstance(n.range, Interval)
        if 2 * sum(1 for _ in walk(n)) > MAX_COPIED_NODES:
            return n
        out: list[Stmt] = []
        bound = index_max(n.range.lo, _expression_of(leaves.bound))
        end = self._named(index_min(n.range.hi, bound), out)
        counted = _with_outcomes(n, {leaves.call: leaves.then})
        counted = replace(counted, range=Interval(n.range.lo, end), until=None)
        counted = self._fresh.copy(counted)
        before = {a.name: b.current for a, b in zip(n.accs, counted.accs, strict=True)}
        last = _with_outcomes(n, {leaves.call: not leaves.then})
        last = substitute(last, before | {n.var: end})
        names = self._fresh.names(*last.body)
        body = tuple(rename_names(s, names) for s in last.body)
        yields = tuple(
            Yield(a.name, rename_names(a.step, names), before[a.name]) for a in last.accs
        )
        is_left = Call("lt", (end, n.range.hi), "bool")
        return (*out, counted, If(is_left, body, (), yields, span=n.span))

    def _pieces(
        self, n: Loop, tests: Sequence[PositionTest], out: list[Stmt]
    ) -> list[_Piece]:
        """The pieces into which `n` is split, in their order. Tests that differ only in one
        iteration give three pieces around that iteration; others a first, an interior and a last
        piece. Assignments of the starts are appended to `out`.

            i > 0, i < n - 1      [0, 1): i > 0 is False     [1, n - 1): both True     [n - 1, n)
        """
        assert isinstance(n.range, Interval)
        lo, hi = n.range.lo, n.range.hi
        lows, highs = ([t for t in tests if t.low is side] for side in (True, False))
        if not lows and not highs:
            tests_at_bound = [t for t in tests if t.bound == tests[0].bound]
            position = _expression_of(tests[0].bound)
            at = self._named(index_min(hi, index_max(lo, position)), out)
            after = self._named(index_max(at, index_min(hi, index_add(position, 1))), out)
            return [
                _Piece(lo, _interior_outcomes(tests_at_bound), False),
                _Piece(at, _outcomes_if_one_fails(tests_at_bound), True),
                _Piece(after, _interior_outcomes(tests_at_bound), False),
            ]
        pieces, start = list[_Piece](), lo
        if lows:
            pieces.append(_Piece(lo, _outcomes_if_one_fails(lows), True))
            interior_start = reduce(index_max, map(_expression_of, _interior_bounds(lows)), lo)
            start = self._named(index_min(hi, interior_start), out)
        pieces.append(_Piece(start, _interior_outcomes([*lows, *highs]), False))
        if highs:
            interior_end = reduce(index_min, map(_expression_of, _interior_bounds(highs)), hi)
            end_start = self._named(index_max(start, interior_end), out)
            pieces.append(_Piece(end_start, _outcomes_if_one_fails(highs), True))
        return pieces

    def _is_constant_in(self, t: PositionTest, n: Loop) -> bool:
        """Whether the test `t` has the same result in every iteration of the loop `n`
        (`_is_constant_in`), also if the end of `n` has a name, and `t` repeats what it stands for:

            bound = x.shape[0] * f
            for i in loop(0, bound): if i < x.shape[0] * f: …                             → True
        """
        if _is_constant_in(t, n):
            return True
        assert isinstance(n.range, Interval)
        end = _end_if_nonempty(n.range)
        value = self._values.get(end.name) if isinstance(end, Var) else None
        if value is None or contains(value, Load):
            return False
        return _is_constant_in(t, replace(n, range=Interval(n.range.lo, value)))

    def _named(self, e: Expr, out: list[Stmt]) -> Expr:
        """A fresh name for `e`, whose assignment is appended to `out`; `e` itself if it is a
        constant.
        """
        if isinstance(e, Const):
            return e
        name = self._fresh.name("end")
        out.append(Assign(name, e))
        return Var(name, INDEX)


def _interior_bounds(tests: Sequence[PositionTest]) -> list[Affine]:
    """The distinct bounds of `tests`."""
    return list(dict.fromkeys(t.bound for t in tests))


def _interior_outcomes(tests: Sequence[PositionTest]) -> dict[Call, bool]:
    """The results of `tests` in the interior."""
    return {t.call: t.then for t in tests}


def _outcomes_if_one_fails(tests: Sequence[PositionTest]) -> dict[Call, bool]:
    """The results of `tests` in a piece outside of the interior, where one of them at least fails:
    known only if all tests have one bound and are exact, since then they fail together. Else none.
    """
    known = len(_interior_bounds(tests)) == 1 and all(t.exact for t in tests)
    return {t.call: not t.then for t in tests} if known else {}


def _is_constant_in(t: PositionTest, n: Loop) -> bool:
    """Whether the test `t` has the same result in every iteration of the loop `n`, so that it needs
    no split. `_Partitioner` then puts that result, `PositionTest.then`, in its place.

    It is so if the interior of the test, the iterations in which it has that result, contains the
    whole loop: the margin between their ends is not negative.

        for i in loop(0, n): if i >= 0: …     interior: from 0 on, as the loop     → True, margin 0
        for i in loop(0, n): if i > -n: …     interior: from 1 - n on              → True, n - 1
        for i in loop(0, n): if i > 0: …      interior: from 1 on                  → False, -1
    """
    assert isinstance(n.range, Interval)
    lo, hi = affine_form(n.range.lo), affine_form(_end_if_nonempty(n.range))
    end = lo if t.low else hi
    if t.low is None or end is None:
        return False  # the interior is all iterations but one
    # how far the loop's first iteration, or its end, lies inside the interior
    margin = end - t.bound if t.low else t.bound - end
    if _at_least(margin, 0):
        return True
    # the trip count - 1 is not negative if there is an iteration, so such a margin is not, either
    trip_count = None if lo is None or hi is None else hi - lo
    return trip_count is not None and _at_least(margin - trip_count, -1)


def _end_if_nonempty(range_: Interval) -> Expr:
    """The end of a range, given that it is not empty."""
    match range_.hi:
        case Call("max", (end, least)) if least == range_.lo:
            return end
        case _:
            return range_.hi


def _at_least(form: Affine, least: int) -> bool:
    """Whether the form is a constant that is at least `least`."""
    return form.number is not None and form.number >= least


def _with_outcomes(n: Loop, outcomes: Mapping[Call, bool]) -> Loop:
    """`n` with comparisons replaced by their results, and extrema by the operand these imply."""
    if not outcomes:
        return n
    ordered_pairs = {_ordered_pair(call if holds else replace(call, op=NEGATED_COMPARISON[call.op]))
               for call, holds in outcomes.items()}

    def edit(e: Any) -> Any:
        """`e`, replaced by a constant or an operand if the outcomes decide it. The tests are those
        of expressions as they were before any of these replacements.
        """
        if isinstance(e, Call) and e in outcomes:
            return Const(outcomes[e], "bool")
        edited = map_children(e, edit)
        match edited:
            case Call("min" | "max" as op, (a, b)):
                for pair, operands in ((e.args, (a, b)), ((a, b), (a, b))):
                    if pair in ordered_pairs or pair[::-1] in ordered_pairs:
                        is_first_least = pair in ordered_pairs
                        return operands[0] if is_first_least is (op == "min") else operands[1]
                return edited
            case Call("select", (Const(bool() | int() as holds), a, b)):
                return a if holds else b
            case _:
                return edited

    simplified: Loop = edit(n)
    return simplified


def _ordered_pair(e: Call) -> tuple[Expr, Expr] | None:
    """The pair (a, b) with ``a <= b`` that follows from `e`, else None."""
    a, b = e.args
    return (a, b) if e.op in ("lt", "le") else (b, a) if e.op in ("gt", "ge") else None


# -- bounds as expressions


def _expression_of(form: Affine) -> Expr:
    """The expression of a form without loop variables."""
    out: Expr = index_const(form.constant)
    for symbol, c in sorted(form.symbols, key=lambda term: term[1] < 0):
        size = index_mul(symbol, abs(c))
        out = index_add(size, out) if c > 0 else index_sub(out, size)
    return out
