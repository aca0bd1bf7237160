"""Check elimination: comparisons and checks whose answer follows from integer facts are removed.

The like of LLVM's constraint elimination and inductive range check elimination.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...algebra.may_raise import answer_keeping_flags, is_replay_check, may_raise_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.conditions import condition_terms
from ...analysis.difference_bounds import IntegerFacts
from ...analysis.intervals import dtype_bounds
from ...analysis.refine_facts import (
    assign_names,
    assume_condition,
    decided_answer,
    is_difference_at_most,
    is_implied,
    join_facts,
    subsumes,
    widen_facts,
)
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, substitute
from ...ir_traversal import bottom_up, map_children, walk
from ...nodes import (
    Append,
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
    Stmt,
    Var,
    While,
    Yield,
)

__all__ = ["check_elimination"]

_MAX_ROUNDS = 7
_MAX_LOOP_DEPTH = 3


def check_elimination(kernel: Kernel) -> Kernel:
    """What a loop asks again and again, and its numbers cannot but answer, is not asked. Before::

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
    if not any(isinstance(n, While | Check) for n in walk(kernel)):
        return kernel
    facts = IntegerFacts()
    for p in kernel.params:
        if p.rank is None and DTYPES[p.dtype].kind in "iu":
            facts.spans[p.name] = dtype_bounds(p.dtype)
    for g in kernel.guards:
        if isinstance(g, Guard):
            assume_condition(facts, g.cond)
    body = _Prover(FreshNames(kernel)).block(kernel.body, facts)
    return kernel if body is kernel.body else replace(kernel, body=body)


class _Prover:
    """Goes through code as it runs, and gives it back without such questions.

    ``counted``: the loop around is, so that its branches may become lanes; ``lanes``: the code is
    in such a branch. What its condition proves then holds for what it asks, but not for what it
    loads: lanes do so that do not take it. ``blind``: what conditions prove is not asked at all.
    """

    def __init__(
        self, fresh: FreshNames, counted: bool = False, lanes: bool = False, blind: bool = False
    ) -> None:
        self.fresh, self.counted, self.lanes, self.blind = fresh, counted, lanes, blind

    def block(self, stmts: tuple[Stmt, ...], f: IntegerFacts) -> tuple[Stmt, ...]:
        """`stmts`, after which `f` is what is known."""
        new = [x for s in stmts for x in self.stmt(s, f)]
        same = len(new) == len(stmts) and all(a is b for a, b in zip(new, stmts, strict=True))
        return stmts if same else tuple(new)

    def stmt(self, s: Stmt, f: IntegerFacts) -> tuple[Stmt, ...]:
        match s:
            case Assign(name, value):
                value = self.expr(value, f)
                f.bind(Var(name, value.dtype, value.lanes), value)
                return (s if value is s.value else replace(s, value=value),)
            case If():
                return (self.branch(s, f),)
            case Loop(range=Interval()) | While() if not self.blind:
                return (self.loop(s, f),)
            case _:
                own = sorted(bound_names(s)) + ([s.count] if isinstance(s, Append) else [])
                done = map_children(s, lambda e: self.expr(e, f)) if not own else s
                for n in own:
                    f.forget(Var(n, INDEX))
                if isinstance(done, Check) and is_implied(done.cond, f):
                    flags = filter(may_raise_flags, condition_terms(done.cond))
                    return tuple(Assign(self.fresh.name("cond"), e, span=s.span) for e in flags)
                return (done,)

    def branch(self, s: If, f: IntegerFacts) -> If:
        cond = self.expr(s.cond, f)
        if self.counted and not self.lanes:  # what is so in any case, lanes may know
            s = _Prover(self.fresh, blind=True).branch(s, f.copy())
        yes, no = f.copy(), f.copy()
        if not self.blind:
            assume_condition(yes, cond)
            assume_condition(no, cond, False)
        inside = _Prover(self.fresh, self.counted, self.lanes or self.counted, self.blind)
        then, orelse = inside.block(s.then, yes), inside.block(s.orelse, no)
        gives = [(inside.expr(y.then, yes), inside.expr(y.orelse, no)) for y in s.yields]
        for (a, b), y in zip(gives, s.yields, strict=True):
            yes.bind(Var(y.name, a.dtype), a)
            no.bind(Var(y.name, b.dtype), b)
        taken = yes if cond == Const(True, "bool") else no
        _replace_facts(f, taken if isinstance(cond, Const) else join_facts(yes, no))
        yields = tuple(Yield(y.name, a, b) for (a, b), y in zip(gives, s.yields, strict=True))
        new = replace(s, cond=cond, then=then, orelse=orelse, yields=yields)
        return s if new == s else new

    # -- loops

    def loop(self, s: Loop | While, f: IntegerFacts) -> Loop | While:
        """`s`; one that may be left in the middle of a turn tells less."""
        inits = [self.expr(a.init, f) for a in s.accs]
        counted = isinstance(s, Loop)
        return _Prover(self.fresh, counted, self.lanes and counted).turns(s, inits, f)

    def turns(self, s: Loop | While, inits: list[Expr], f: IntegerFacts) -> Loop | While:
        """`s`, which starts with `inits`."""
        start = _facts_at_entry(s, f, inits, _initial_values(s))
        _relate_to_counter(s, start)
        head = self.head(s, start)
        body, end = self.turn(s, head)
        steps = [self.expr(a.step, end) for a in s.accs]
        after = join_facts(
            _facts_at_entry(s, f, inits, goes=False), _facts_at_entry(s, end, steps, goes=False)
        )
        if any(_may_exit(n) for x in body for n in walk(x)):
            after = join_facts(after, head)
        for name, _ in _initial_values(s):
            after.forget(Var(name, INDEX))
        _replace_facts(f, after)
        values = zip(s.accs, inits, steps, strict=True)
        accs = tuple(replace(a, init=i, step=e) for a, i, e in values)
        new = replace(s, body=body, accs=accs)
        return s if new == s else new

    def turn(self, s: Loop | While, head: IntegerFacts) -> tuple[tuple[Stmt, ...], IntegerFacts]:
        """The body, and what is known at its end, of `head` at its start."""
        f = head.copy()
        if isinstance(s, Loop):
            assert isinstance(s.range, Interval)
            i = Var(s.var, INDEX)
            is_difference_at_most(f, s.range.lo, i, 0)
            is_difference_at_most(f, i, s.range.hi, -1)
        return self.block(s.body, f), f

    def head(self, s: Loop | While, start: IntegerFacts) -> IntegerFacts:
        """What is known at the start of every turn, `start` being the first."""
        steps = [a.step for a in s.accs]

        def again(head: IntegerFacts) -> IntegerFacts:
            return join_facts(
                start, _facts_at_entry(s, self.turn(s, head)[1], steps, _next_values(s))
            )

        head, dtypes = start, {a.name: a.init.dtype for a in s.accs}
        dtypes |= {name: INDEX for name, _ in _initial_values(s)}
        for k in range(_MAX_ROUNDS if _is_affordable(s) else 0):
            new = again(head)
            if subsumes(head, new):
                return new if not subsumes(new, head) and subsumes(new, again(new)) else head
            head = widen_facts(head, new, dtypes) if k else new
        head = start.copy()
        for n, dtype in dtypes.items():
            head.forget(Var(n, dtype))
        return head

    # -- expressions

    def expr(self, e: Expr, f: IntegerFacts) -> Expr:
        """`e` without what has one answer."""
        if self.lanes:
            return e

        def edit(n: Any) -> Any:
            if isinstance(n, Var) and isinstance(value := f.values.get(n.name), Const):
                return value if n.dtype == "bool" else n
            if not isinstance(n, Call) or n.lanes != 1:
                return n
            if (found := decided_answer(n, f)) is not None:
                return answer_keeping_flags(n, found)
            if n.op == "mod" and n.dtype == INDEX and f.span(n.args[0])[0] >= 0 > f.gap(*n.args):
                return n if may_raise_flags(n.args[1]) else n.args[0]
            known = any(isinstance(x, Const) and x.dtype == "bool" for x in n.args)
            return rewrite(n) if known else n

        done: Expr = bottom_up(e, edit)
        return done


def _is_affordable(s: Loop | While) -> bool:
    """Whether to go through `s` again and again; what loops around loops carry is dear to know:
    each of them goes through those in it as often.
    """
    return _loop_depth(s.body) < (_MAX_LOOP_DEPTH if isinstance(s, While) else 1)


def _loop_depth(stmts: Iterable[Stmt]) -> int:
    """How many loops stand in each other."""
    heights = [0]
    for s in stmts:
        if isinstance(s, Loop | While):
            heights.append(1 + _loop_depth(s.body))
        elif isinstance(s, If):
            heights += _loop_depth(s.then), _loop_depth(s.orelse)
    return max(heights)


def _initial_values(s: Loop | While) -> list[tuple[str, Expr]]:
    """What a loop counts, in its first turn."""
    return [(s.var, s.range.lo)] if isinstance(s, Loop) and isinstance(s.range, Interval) else []


def _relate_to_counter(s: Loop | While, start: IntegerFacts) -> None:
    """Says how far what a loop carries is above its count, which it may count along with."""
    for name, _ in _initial_values(s):
        for a in s.accs:
            if a.init.dtype == INDEX and a.init.lanes == 1:
                here, turn = Var(a.name, INDEX), Var(name, INDEX)
                is_difference_at_most(start, here, turn, start.gap(here, turn))


def _next_values(s: Loop | While) -> list[tuple[str, Expr]]:
    """The same in the turn after one."""
    return [
        (n, Call("add", (Var(n, INDEX), Const(1, INDEX)), INDEX)) for n, _ in _initial_values(s)
    ]


def _facts_at_entry(
    s: Loop | While,
    f: IntegerFacts,
    values: Iterable[Expr],
    counted: Iterable[tuple[str, Expr]] = (),
    goes: bool = True,
) -> IntegerFacts:
    """`f` when a turn starts with such values; or, unless it ``goes``, when none does."""
    names, f = [*((a.name, e) for a, e in zip(s.accs, values, strict=True)), *counted], f.copy()
    if isinstance(s, While):
        assume_condition(f, substitute(s.cond, dict(names)), goes)
    assign_names(f, names)
    return f


def _may_exit(n: Any) -> bool:
    """Whether `n` may end a loop around it: a ``while`` ends where a check fails for good."""
    return isinstance(n, Break) or is_replay_check(n)


def _replace_facts(f: IntegerFacts, new: IntegerFacts) -> None:
    f.spans, f.most, f.values, f.named = new.spans, new.most, new.values, new.named
