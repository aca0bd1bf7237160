"""Check elimination: comparisons and checks that follow from integer facts are removed.

The counterpart of LLVM's ConstraintElimination and inductive range check elimination. `_Prover`
walks forward over the kernel with the facts that hold at the current point
(`analysis.integers.difference_bounds`):

- `_Prover.stmt` drops a check that the facts imply; `_Prover.expr` decides a comparison;
- `_Prover.branch` adds what the condition of a branch implies (`analysis.integers.refine_facts`);
- `_Prover.fixpoint` finds the facts at the head of a loop, by join and widening.
"""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...algebra.may_raise import answer_keeping_flags, may_raise_flags, may_replay
from ...algebra.rewrite_rules import rewrite
from ...analysis.float_signs import is_never_negative, names_never_negative
from ...analysis.integers.difference_bounds import IntegerFacts
from ...analysis.integers.implied_conditions import condition_terms
from ...analysis.integers.intervals import dtype_bounds
from ...analysis.integers.refine_facts import (
    assign_names,
    assume_condition,
    assume_difference_at_most,
    decided_answer,
    is_implied,
    join_facts,
    relate_yield,
    subsumes,
    widen_facts,
)
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, changed_names, substitute
from ...ir_traversal import (
    bottom_up,
    children,
    contains,
    map_children,
    memoized_per_node,
    ops_within,
)
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Break,
    Call,
    Check,
    Const,
    Expr,
    Guard,
    If,
    Interval,
    Kernel,
    Loop,
    Node,
    Stmt,
    Var,
    While,
    Yield,
)
from ...op_table import SWAPPED_COMPARISON

__all__ = ["check_elimination"]

_MAX_ROUNDS = 7
"""Visits of the body of a loop at most, for its fixpoint."""

_MAX_LOOP_DEPTH = 3
"""Levels of loops, a ``while`` and those inside it, for which fixpoints are computed."""


def check_elimination(kernel: Kernel) -> Kernel:
    """Remove comparisons and checks whose result follows from integer facts: the ranges of
    integers, and the maximum differences of any two (`difference_bounds`), as far as the conditions
    around the place tell them (`refine_facts`).

    Square roots that are compared with constants become comparisons of squares
    (`_compare_squares`). Else the pass looks only at kernels with a check, a ``while``, or blocks
    of constant size (a quotient, and a minimum): the position tests of other kernels are decided in
    `partition_loops`, which costs less. What holds at the head of a loop is a fixpoint, which is
    computed only for innermost counted loops, and for ``while`` loops around up to two more levels
    (`_is_affordable`). Before::

        def k(x: f64[::1], v: f64, out: mut(i64[()])):
            while loop(go, lo=0, hi=x.shape[0], go=0 < x.shape[0]):
                check(~add_over(lo, hi), "replay")
                at = (lo + hi) // 2
                inside = (at >= 0) & (at < x.shape[0])
                check(inside, "replay")
                if inside & (x[select(inside, at, 0)] < v):
                    low = give(at + 1)
                    high = give(hi)
                else:
                    low = give(lo)
                    high = give(at)
                lo = step(low)
                hi = step(high)
                go = step(low < high)
            out[()] = lo

    after::

        def k(x: f64[::1], v: f64, out: mut(i64[()])):
            while loop(go, lo=0, hi=x.shape[0], go=0 < x.shape[0]):
                at = (lo + hi) // 2
                inside = True
                if x[at] < v:
                    low = give(at + 1)
                    high = give(hi)
                else:
                    low = give(lo)
                    high = give(at)
                lo = step(low)
                hi = step(high)
                go = step(low < high)
            out[()] = lo
    """
    kernel = _with_compared_squares(kernel) if "sqrt" in ops_within(kernel) else kernel
    has_blocks = {"min", "floordiv"} <= ops_within(kernel)
    if not has_blocks and not contains(kernel, While | Check):
        return kernel
    facts = IntegerFacts()
    for p in kernel.params:
        if p.rank is None and DTYPES[p.dtype].kind in "iu":
            facts.ranges[p.name] = dtype_bounds(p.dtype)
    guards = [g for g in kernel.guards if isinstance(g, Guard)]
    for g in (*guards, *guards):  # again, as a sum fits its dtype by the ranges that others tell
        assume_condition(facts, g.cond)
    choices = tuple(
        g.cond for g in kernel.guards if isinstance(g, Guard) and isinstance(g.cond, Call)
        and g.cond.op == "or"
    )
    prover = _Prover(FreshNames(kernel), names_never_negative(kernel), choices)
    body = prover.block(kernel.body, facts)
    return kernel if body is kernel.body else replace(kernel, body=body)


class _Prover:
    """A forward walk over the code that carries facts and removes what they imply.

    ``never_negative``: float names that are never less than zero. ``choices``: guards of which the
    facts may refute one side, such as ``n >= 1 or k.shape[0] <= 0`` in a loop over `k`, which runs
    only if that is not empty: the other side is a fact there. ``in_counted_loop``: the
    enclosing loop is a counted loop, so that its branches may be if-converted later. (Those of a
    ``while`` only by `vectorize_divergent`, which tests itself that loads in them stay in bounds.)
    ``may_be_masked``: the code is in such a branch, and may later run in lanes for which its
    condition is false. Facts then remove checks, which are masked, but simplify no expressions,
    which these lanes evaluate, too. ``ignores_conditions``: the condition of a branch adds no
    facts, so that what is proved holds in those lanes, and may simplify expressions.
    """

    def __init__(
        self,
        fresh: FreshNames,
        never_negative: frozenset[str],
        choices: tuple[Expr, ...],
        *,
        in_counted_loop: bool = False,
        may_be_masked: bool = False,
        ignores_conditions: bool = False,
    ) -> None:
        self.fresh, self.never_negative, self.choices = fresh, never_negative, choices
        self.in_counted_loop, self.may_be_masked = in_counted_loop, may_be_masked
        self.ignores_conditions = ignores_conditions

    def with_(self, **where: bool) -> _Prover:
        """A prover for other code of the same kernel, at the place that the keywords describe."""
        return _Prover(self.fresh, self.never_negative, self.choices, **where)

    def block(self, stmts: tuple[Stmt, ...], f: IntegerFacts) -> tuple[Stmt, ...]:
        """Rewrite `stmts`; `f` is updated to the facts after them."""
        new = [x for s in stmts for x in self.stmt(s, f)]
        same = len(new) == len(stmts) and all(a is b for a, b in zip(new, stmts, strict=True))
        return stmts if same else tuple(new)

    def stmt(self, s: Stmt, f: IntegerFacts) -> tuple[Stmt, ...]:
        """The statements that replace `s`; `f` is updated to the facts after it."""
        match s:
            case Assign(name, value):
                value = self.value(value, f)
                f.bind(Var(name, value.dtype, value.lanes), value)
                return (s if value is s.value else replace(s, value=value),)
            case If():
                return (self.branch(s, f),)
            case Loop(range=Interval()) | While() if not self.ignores_conditions:
                return (self.loop(s, f),)
            case _:
                assigned = sorted(changed_names(s))
                rewritten = map_children(s, lambda e: self.expr(e, f)) if not assigned else s
                for n in assigned:
                    f.forget(Var(n, INDEX))
                if isinstance(rewritten, Check) and is_implied(rewritten.cond, f):
                    # The check always holds. What its condition computes may still raise a flag.
                    flags = filter(may_raise_flags, condition_terms(rewritten.cond))
                    return tuple(Assign(self.fresh.name("cond"), e, span=s.span) for e in flags)
                return (rewritten,)

    def value(self, e: Expr, f: IntegerFacts) -> Expr:
        """Rewrite `e`, which is bound to a name: as `expr`, and a midpoint in its common form."""
        new = self.expr(e, f)
        return f.midpoint(new) or new

    def branch(self, s: If, f: IntegerFacts) -> If:
        """Rewrite a branch: each side under its condition. The facts after it hold on both sides,
        or on the only side that can be reached.
        """
        cond = self.expr(s.cond, f)
        if self.in_counted_loop and not self.may_be_masked and _may_be_improved(s):
            # first what holds in all lanes, without the condition: that may simplify expressions
            prover = self.with_(ignores_conditions=True)
            s = prover.branch(s, f.copy())
        if_true, if_false = f.copy(), f.copy()
        if not self.ignores_conditions:
            assume_condition(if_true, cond)
            assume_condition(if_false, cond, False)
        inside = self.with_(
            in_counted_loop=self.in_counted_loop,
            may_be_masked=self.may_be_masked or self.in_counted_loop,
            ignores_conditions=self.ignores_conditions,
        )
        then, orelse = inside.block(s.then, if_true), inside.block(s.orelse, if_false)
        sides = [
            (inside.value(y.then, if_true), inside.value(y.orelse, if_false)) for y in s.yields
        ]
        for (a, b), y in zip(sides, s.yields, strict=True):
            if_true.bind(Var(y.name, a.dtype), a)
            if_false.bind(Var(y.name, b.dtype), b)
            if a.dtype == INDEX and a != b and not isinstance(cond, Const):
                relate_yield(Var(y.name, INDEX), (if_true, if_false))
        reached = if_true if cond == Const(True, "bool") else if_false
        _replace_facts(f, reached if isinstance(cond, Const) else join_facts(if_true, if_false))
        yields = tuple(Yield(y.name, a, b) for (a, b), y in zip(sides, s.yields, strict=True))
        new = replace(s, cond=cond, then=then, orelse=orelse, yields=yields)
        return s if new == s else new

    # -- loops

    def loop(self, s: Loop | While, f: IntegerFacts) -> Loop | While:
        """Rewrite the loop `s`; `f` is updated to the facts after it."""
        inits = [self.expr(a.init, f) for a in s.accs]
        counted = isinstance(s, Loop)
        if isinstance(s, Loop) and isinstance(s.range, Interval):
            lo, hi = self.expr(s.range.lo, f), self.expr(s.range.hi, f)
            if lo is not s.range.lo or hi is not s.range.hi:
                s = replace(s, range=Interval(lo, hi))
        inside = self.with_(
            in_counted_loop=counted, may_be_masked=self.may_be_masked and counted
        )
        return inside.rewrite_loop(s, inits, f)

    def rewrite_loop(self, s: Loop | While, inits: list[Expr], f: IntegerFacts) -> Loop | While:
        """Rewrite the loop `s`, whose accumulators start as `inits`; `f` is updated to the facts
        after it.
        """
        start = _facts_at_entry(s, f, inits, _counter_at_start(s))
        _relate_to_counter(s, start)
        head, body, end = self.fixpoint(s, start)
        steps = [self.expr(a.step, end) for a in s.accs]
        after = join_facts(
            _facts_at_entry(s, f, inits, continues=False),  # no iteration
            _facts_at_entry(s, end, steps, continues=False),  # the last one has ended
        )
        if any(map(_may_exit, body)):  # left in the middle of one: what holds at its start
            after = join_facts(after, head)
        for name, _ in _counter_at_start(s):
            after.forget(Var(name, INDEX))
        _replace_facts(f, after)
        values = zip(s.accs, inits, steps, strict=True)
        accs = tuple(replace(a, init=i, step=e) for a, i, e in values)
        new = replace(s, body=body, accs=accs)
        return s if new == s else new

    def iteration(
        self, s: Loop | While, head: IntegerFacts
    ) -> tuple[tuple[Stmt, ...], IntegerFacts]:
        """Rewrite the body; returns it with the facts at its end, given the facts `head` at its
        start.
        """
        f = self.facts_in_body(s, head)
        return self.block(s.body, f), f

    def facts_in_body(self, s: Loop | While, head: IntegerFacts) -> IntegerFacts:
        """The facts at the start of the body: those at the head of the loop, and the range; with
        what is left of the `choices`, as the loop is not empty.
        """
        f = head.copy()
        if isinstance(s, Loop):
            assert isinstance(s.range, Interval)
            i = Var(s.var, INDEX)
            assume_difference_at_most(f, s.range.lo, i, 0)
            assume_difference_at_most(f, i, s.range.hi, -1)
            for choice in self.choices:
                assume_condition(f, choice)
        return f

    def fixpoint(
        self, s: Loop | While, start: IntegerFacts
    ) -> tuple[IntegerFacts, tuple[Stmt, ...], IntegerFacts]:
        """The facts at the start of every iteration (the fixpoint), given those of the first one;
        with the body that they allow, and the facts at its end.

        Joins the facts after an iteration with `start` until they are stable, widening from the
        second round on; if they are not stable after `_MAX_ROUNDS`, all loop-carried names are
        unknown. The body is visited only if it changes facts that hold at the start. For
        ``while loop(k < n, k=0): …; k = step(k + 1)``::

            round   facts assumed     at the start of the next iteration, joined with `start`
            0       k = 0, n ≥ 1      0 ≤ k ≤ 1, k < n, n ≥ 1
            1       these             0 ≤ k ≤ 2, k < n, n ≥ 1: not stable, widened: 0 ≤ k, k < n, …
            2       these             the same: stable
        """
        steps = [a.step for a in s.accs]
        is_body_needed = bool(s.accs) or _binds_known_names(s, start)
        # by the id of the head: the body rewritten under it, so that the last visit is not repeated
        iterations: dict[int, tuple[IntegerFacts, tuple[Stmt, ...], IntegerFacts]] = {}

        def next_head(head: IntegerFacts) -> IntegerFacts:
            """The facts at the start of the next iteration too, if `head` holds at the start of
            this one.
            """
            if is_body_needed:
                body, end = self.iteration(s, head)
                iterations[id(head)] = head, body, end
            else:
                end = self.facts_in_body(s, head)
            return join_facts(start, _facts_at_entry(s, end, steps, _next_counter(s)))

        head, dtypes = start, {a.name: a.init.dtype for a in s.accs}
        dtypes |= {name: INDEX for name, _ in _counter_at_start(s)}
        for k in range(_MAX_ROUNDS if _is_affordable(s) else 0):
            new = next_head(head)
            if subsumes(head, new):  # stable: narrowed once, if `new` is stronger and stable, too
                head = new if not subsumes(new, head) and subsumes(new, next_head(new)) else head
                break
            head = widen_facts(head, new, dtypes) if k else new
        else:
            head = start.copy()
            for n, dtype in dtypes.items():
                head.forget(Var(n, dtype))
        return iterations.get(id(head)) or (head, *self.iteration(s, head))

    # -- expressions

    def expr(self, e: Expr, f: IntegerFacts) -> Expr:
        """`e` with implied comparisons replaced by constants, and ``i % n`` by ``i`` where
        ``0 <= i < n``; unchanged if the code ``may_be_masked``.
        """
        if self.may_be_masked or not _may_be_decided(e):
            return e

        def edit(n: Any) -> Any:
            """The node that replaces `n`."""
            if isinstance(n, Var) and isinstance(value := f.values.get(n.name), Const):
                return value if n.dtype == "bool" else n
            if not isinstance(n, Call) or n.lanes != 1:
                return n
            if (found := decided_answer(n, f)) is not None:
                return answer_keeping_flags(n, found)
            if _is_never_true(n, self.never_negative):
                return answer_keeping_flags(n, False)
            if (  # i % n with 0 <= i and i - n < 0
                n.op == "mod"
                and n.dtype == INDEX
                and f.range_of(n.args[0])[0] >= 0 > f.max_difference(*n.args)
            ):
                return n if may_raise_flags(n.args[1]) else n.args[0]
            if n.op in ("min", "max") and n.dtype == INDEX:
                return _decided_extremum(n, f)
            has_constant = any(isinstance(x, Const) and x.dtype == "bool" for x in n.args)
            return rewrite(n) if has_constant else n

        rewritten: Expr = bottom_up(e, edit)
        return rewritten


def _decided_extremum(e: Call, f: IntegerFacts) -> Expr:
    """``min(a, b)`` or ``max(a, b)`` of indices as the operand that it always is; else as it is."""
    a, b = e.args
    least, most = f.difference_range(a, b)
    if least < 0 < most or may_raise_flags(e):
        return e
    return a if (most <= 0) == (e.op == "min") else b


def _is_never_true(e: Call, never_negative: frozenset[str]) -> bool:
    """Whether `e` is a test for a negative float, such as one before a square root, and the float
    is known to be never negative.
    """
    match e:
        case Call("lt", (x, Const(limit))) if DTYPES[x.dtype].kind == "f":
            return limit <= 0 and is_never_negative(x, never_negative)
    return False


def _with_compared_squares(kernel: Kernel) -> Kernel:
    """`kernel` with square roots that are compared with constants replaced (`_compare_squares`)."""
    names = names_never_negative(kernel)

    def edit(n: Node) -> Node:
        return (_compare_squares(n, names) or n) if isinstance(n, Call) and n.lanes == 1 else n

    edited: Kernel = bottom_up(kernel, edit)
    return edited


def _compare_squares(e: Call, never_negative: frozenset[str]) -> Call | None:
    """``sqrt(s) <= 3.0`` as ``s <= 9.000000000000002``, the greatest float whose root is at most
    3.0, and the other comparisons with a constant likewise; None for all else. Of a negative number
    the root is invalid, so `s` is known to be never negative. Both forms are false of a NaN.
    """
    match e:
        case Call(op, (Const(limit) as c, Call("sqrt", (s,)))) if op in SWAPPED_COMPARISON:
            root = Call("sqrt", (s,), c.dtype)
            return _compare_squares(
                Call(SWAPPED_COMPARISON[op], (root, c), "bool"), never_negative
            )
        case Call(op, (Call("sqrt", (s,)), Const(limit))) if op in SWAPPED_COMPARISON:
            square = _greatest_square(limit, s.dtype, strict=op in ("lt", "ge"))
            if square is None or not is_never_negative(s, never_negative):
                return None
            return Call("le" if op in ("lt", "le") else "gt", (s, Const(square, s.dtype)), "bool")
    return None


def _greatest_square(root: float, dtype: str, *, strict: bool) -> float | None:
    """The greatest float of this dtype whose square root, in it, is at most `root`, or less if
    ``strict``. None where there is none, or where it would be infinite.
    """
    if dtype not in ("f32", "f64") or not 0 < root < math.inf:
        return None
    kind = DTYPES[dtype].numpy.type

    def is_within(square: np.floating) -> bool:
        return bool(np.sqrt(square) < root if strict else np.sqrt(square) <= root)

    with np.errstate(all="ignore"):
        square = kind(root) * kind(root)
        while not is_within(square):
            square = np.nextafter(square, kind(0))
        while is_within(above := np.nextafter(square, kind(math.inf))):
            square = above
    return float(square)


@memoized_per_node
def _may_be_decided(e: Node) -> bool:
    """Whether `e` has a bool in it, a remainder, or an extremum of indices: nothing else is
    rewritten.
    """
    if isinstance(e, Const | Var | Call) and e.dtype == "bool":
        return True
    is_decidable = isinstance(e, Call) and e.dtype == INDEX and e.op in ("mod", "min", "max")
    return is_decidable or any(map(_may_be_decided, children(e)))


def _may_be_improved(s: If) -> bool:
    """Whether the branches of `s` have a check, or an expression that may be decided."""
    inside = (*s.then, *s.orelse, *s.yields)
    return any(contains(x, Check) or _may_be_decided(x) for x in inside)


def _binds_known_names(s: Loop | While, start: IntegerFacts) -> bool:
    """Whether the body of `s` binds a name with facts at its start."""
    bound = changed_names(*s.body)
    return not (bound.isdisjoint(start.ranges) and bound.isdisjoint(start.values))


def _is_affordable(s: Loop | While) -> bool:
    """Whether to compute the fixpoint of `s`. Each round visits the loops inside, which do the
    same: the cost is exponential in the nesting depth.
    """
    return _loop_depth(s.body) < (_MAX_LOOP_DEPTH if isinstance(s, While) else 1)


def _loop_depth(stmts: Iterable[Stmt]) -> int:
    """The nesting depth of loops."""
    heights = [0]
    for s in stmts:
        if isinstance(s, Loop | While):
            heights.append(1 + _loop_depth(s.body))
        elif isinstance(s, If):
            heights += _loop_depth(s.then), _loop_depth(s.orelse)
    return max(heights)


def _counter_at_start(s: Loop | While) -> list[tuple[str, Expr]]:
    """The loop variable, with its value in the first iteration."""
    return [(s.var, s.range.lo)] if isinstance(s, Loop) and isinstance(s.range, Interval) else []


def _relate_to_counter(s: Loop | While, start: IntegerFacts) -> None:
    """Record in `start` the difference of each accumulator to the loop variable, which is kept by
    the fixpoint if both advance together.
    """
    for name, _ in _counter_at_start(s):
        for a in s.accs:
            if a.init.dtype == INDEX and a.init.lanes == 1:
                acc, counter = Var(a.name, INDEX), Var(name, INDEX)
                assume_difference_at_most(start, acc, counter, start.max_difference(acc, counter))


def _next_counter(s: Loop | While) -> list[tuple[str, Expr]]:
    """The loop variable, with its value in the next iteration."""
    return [
        (n, Call("add", (Var(n, INDEX), Const(1, INDEX)), INDEX)) for n, _ in _counter_at_start(s)
    ]


def _facts_at_entry(
    s: Loop | While,
    f: IntegerFacts,
    values: Iterable[Expr],
    counted: Iterable[tuple[str, Expr]] = (),
    continues: bool = True,
) -> IntegerFacts:
    """The facts `f` at the start of an iteration of `s` whose accumulators have the `values` and
    whose loop variable has that in `counted`; with ``continues=False``, after the loop's exit.
    """
    names, f = [*((a.name, e) for a, e in zip(s.accs, values, strict=True)), *counted], f.copy()
    if isinstance(s, While):
        assume_condition(f, substitute(s.cond, dict(names)), continues)
    assign_names(f, names)
    return f


def _may_exit(s: Stmt) -> bool:
    """Whether `s` has a check after which the call is replayed in Python, or a `break`."""
    return contains(s, Break) or may_replay(s)


def _replace_facts(f: IntegerFacts, new: IntegerFacts) -> None:
    """Set `f` to the facts `new`."""
    f.ranges, f.max_differences, f.values, f.named = (
        new.ranges,
        new.max_differences,
        new.values,
        new.named,
    )
