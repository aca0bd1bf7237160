"""Questions that whole numbers answer by where they come from, loops included."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..algebra.rules import rewrite
from ..algebra.values import answered, raising, terms
from ..analysis.assumed import answer, assigned, assume, covers, either, holds, less, widened
from ..analysis.facts import Facts
from ..analysis.intervals import whole
from ..names import Fresh, bound, substitute
from ..nodes import (
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
from ..tree import bottom_up, map_children, walk
from ..types import DTYPES, INDEX

__all__ = ["proved"]

_ROUNDS = 7
_HIGH = 3


def proved(kernel: Kernel) -> Kernel:
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
    facts = Facts()
    for p in kernel.params:
        if p.rank is None and DTYPES[p.dtype].kind in "iu":
            facts.spans[p.name] = whole(p.dtype)
    for g in kernel.guards:
        if isinstance(g, Guard):
            assume(facts, g.cond)
    body = _Proof(Fresh(kernel)).block(kernel.body, facts)
    return kernel if body is kernel.body else replace(kernel, body=body)


class _Proof:
    """Goes through code as it runs, and gives it back without such questions.

    ``counted``: the loop around is, so that its branches may become lanes; ``lanes``: the code is
    in such a branch. What its condition proves then holds for what it asks, but not for what it
    loads: lanes do so that do not take it. ``blind``: what conditions prove is not asked at all.
    """

    def __init__(
        self, fresh: Fresh, counted: bool = False, lanes: bool = False, blind: bool = False
    ) -> None:
        self.fresh, self.counted, self.lanes, self.blind = fresh, counted, lanes, blind

    def block(self, stmts: tuple[Stmt, ...], f: Facts) -> tuple[Stmt, ...]:
        """`stmts`, after which `f` is what is known."""
        new = [x for s in stmts for x in self.stmt(s, f)]
        same = len(new) == len(stmts) and all(a is b for a, b in zip(new, stmts, strict=True))
        return stmts if same else tuple(new)

    def stmt(self, s: Stmt, f: Facts) -> tuple[Stmt, ...]:
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
                own = sorted(bound(s)) + ([s.count] if isinstance(s, Append) else [])
                done = map_children(s, lambda e: self.expr(e, f)) if not own else s
                for n in own:
                    f.forget(Var(n, INDEX))
                if isinstance(done, Check) and holds(done.cond, f):
                    flags = filter(raising, terms(done.cond))
                    return tuple(Assign(self.fresh.name("cond"), e, span=s.span) for e in flags)
                return (done,)

    def branch(self, s: If, f: Facts) -> If:
        cond = self.expr(s.cond, f)
        if self.counted and not self.lanes:  # what is so in any case, lanes may know
            s = _Proof(self.fresh, blind=True).branch(s, f.copy())
        yes, no = f.copy(), f.copy()
        if not self.blind:
            assume(yes, cond)
            assume(no, cond, False)
        inside = _Proof(self.fresh, self.counted, self.lanes or self.counted, self.blind)
        then, orelse = inside.block(s.then, yes), inside.block(s.orelse, no)
        gives = [(inside.expr(y.then, yes), inside.expr(y.orelse, no)) for y in s.yields]
        for (a, b), y in zip(gives, s.yields, strict=True):
            yes.bind(Var(y.name, a.dtype), a)
            no.bind(Var(y.name, b.dtype), b)
        taken = yes if cond == Const(True, "bool") else no
        _become(f, taken if isinstance(cond, Const) else either(yes, no))
        yields = tuple(Yield(y.name, a, b) for (a, b), y in zip(gives, s.yields, strict=True))
        new = replace(s, cond=cond, then=then, orelse=orelse, yields=yields)
        return s if new == s else new

    # -- loops

    def loop(self, s: Loop | While, f: Facts) -> Loop | While:
        """`s`; one that may be left in the middle of a turn tells less."""
        inits = [self.expr(a.init, f) for a in s.accs]
        counted = isinstance(s, Loop)
        return _Proof(self.fresh, counted, self.lanes and counted).turns(s, inits, f)

    def turns(self, s: Loop | While, inits: list[Expr], f: Facts) -> Loop | While:
        """`s`, which starts with `inits`."""
        start = _entered(s, f, inits, _first(s))
        _count(s, start)
        head = self.head(s, start)
        body, end = self.turn(s, head)
        steps = [self.expr(a.step, end) for a in s.accs]
        after = either(_entered(s, f, inits, goes=False), _entered(s, end, steps, goes=False))
        if any(_leaves(n) for x in body for n in walk(x)):
            after = either(after, head)
        for name, _ in _first(s):
            after.forget(Var(name, INDEX))
        _become(f, after)
        values = zip(s.accs, inits, steps, strict=True)
        accs = tuple(replace(a, init=i, step=e) for a, i, e in values)
        new = replace(s, body=body, accs=accs)
        return s if new == s else new

    def turn(self, s: Loop | While, head: Facts) -> tuple[tuple[Stmt, ...], Facts]:
        """The body, and what is known at its end, of `head` at its start."""
        f = head.copy()
        if isinstance(s, Loop):
            assert isinstance(s.range, Interval)
            i = Var(s.var, INDEX)
            less(f, s.range.lo, i, 0)
            less(f, i, s.range.hi, -1)
        return self.block(s.body, f), f

    def head(self, s: Loop | While, start: Facts) -> Facts:
        """What is known at the start of every turn, `start` being the first."""
        steps = [a.step for a in s.accs]

        def again(head: Facts) -> Facts:
            return either(start, _entered(s, self.turn(s, head)[1], steps, _next(s)))

        head, dtypes = start, {a.name: a.init.dtype for a in s.accs}
        dtypes |= {name: INDEX for name, _ in _first(s)}
        for k in range(_ROUNDS if _is_worth_it(s) else 0):
            new = again(head)
            if covers(head, new):
                return new if not covers(new, head) and covers(new, again(new)) else head
            head = widened(head, new, dtypes) if k else new
        head = start.copy()
        for n, dtype in dtypes.items():
            head.forget(Var(n, dtype))
        return head

    # -- expressions

    def expr(self, e: Expr, f: Facts) -> Expr:
        """`e` without what has one answer."""
        if self.lanes:
            return e

        def edit(n: Any) -> Any:
            if isinstance(n, Var) and isinstance(value := f.values.get(n.name), Const):
                return value if n.dtype == "bool" else n
            if not isinstance(n, Call) or n.lanes != 1:
                return n
            if (found := answer(n, f)) is not None:
                return answered(n, found)
            if n.op == "mod" and n.dtype == INDEX and f.span(n.args[0])[0] >= 0 > f.gap(*n.args):
                return n if raising(n.args[1]) else n.args[0]
            known = any(isinstance(x, Const) and x.dtype == "bool" for x in n.args)
            return rewrite(n) if known else n

        done: Expr = bottom_up(e, edit)
        return done


def _is_worth_it(s: Loop | While) -> bool:
    """Whether to go through `s` again and again; what loops around loops carry is dear to know:
    each of them goes through those in it as often.
    """
    return _height(s.body) < (_HIGH if isinstance(s, While) else 1)


def _height(stmts: Iterable[Stmt]) -> int:
    """How many loops stand in each other."""
    heights = [0]
    for s in stmts:
        if isinstance(s, Loop | While):
            heights.append(1 + _height(s.body))
        elif isinstance(s, If):
            heights += _height(s.then), _height(s.orelse)
    return max(heights)


def _first(s: Loop | While) -> list[tuple[str, Expr]]:
    """What a loop counts, in its first turn."""
    return [(s.var, s.range.lo)] if isinstance(s, Loop) and isinstance(s.range, Interval) else []


def _count(s: Loop | While, start: Facts) -> None:
    """Says how far what a loop carries is above its count, which it may count along with."""
    for name, _ in _first(s):
        for a in s.accs:
            if a.init.dtype == INDEX and a.init.lanes == 1:
                here, turn = Var(a.name, INDEX), Var(name, INDEX)
                less(start, here, turn, start.gap(here, turn))


def _next(s: Loop | While) -> list[tuple[str, Expr]]:
    """The same in the turn after one."""
    return [(n, Call("add", (Var(n, INDEX), Const(1, INDEX)), INDEX)) for n, _ in _first(s)]


def _entered(
    s: Loop | While, f: Facts, values: Iterable[Expr], counted: Iterable[tuple[str, Expr]] = (),
    goes: bool = True,
) -> Facts:
    """`f` when a turn starts with such values; or, unless it ``goes``, when none does."""
    names, f = [*((a.name, e) for a, e in zip(s.accs, values, strict=True)), *counted], f.copy()
    if isinstance(s, While):
        assume(f, substitute(s.cond, dict(names)), goes)
    assigned(f, names)
    return f


def _is_asked(n: Any) -> bool:
    """Whether `n` is a check that fails for good."""
    return isinstance(n, Check) and n.code == "replay"


def _leaves(n: Any) -> bool:
    """Whether `n` may end a loop around it: a ``while`` ends where a check fails for good."""
    return isinstance(n, Break) or _is_asked(n)


def _become(f: Facts, new: Facts) -> None:
    f.spans, f.most, f.values, f.named = new.spans, new.most, new.values, new.named
