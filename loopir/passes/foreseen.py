"""A ``while`` whose turns numbers alone decide is a counted loop."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..algebra.rules import rewrite
from ..algebra.values import integer
from ..names import Fresh, substitute
from ..nodes import Assign, Break, Const, Expr, If, Interval, Loop, Return, Stmt, While
from ..tree import bottom_up, counters, walk

__all__ = ["foreseen"]

TURNS = 64
"""More are not looked for: 64-bit numbers that are halved have no more."""

Known = Mapping[str, Expr]


def foreseen(s: While, fresh: Fresh) -> While | Loop:
    """`s` as a loop of as many iterations as it has turns, where these are known."""
    count = _turns(s)
    if count is None:
        return s
    range_ = Interval(integer(0), integer(count))
    return Loop(fresh.name("k"), range_, s.body, s.accs, span=s.span)


def _turns(s: While) -> int | None:
    """How often `s` runs, found by running what numbers decide."""
    known = {a.name: a.init for a in s.accs if isinstance(a.init, Const)}
    if not known or _may_leave(s):
        return None
    for turn in range(TURNS + 1):
        go = _value(s.cond, known)
        if not isinstance(go, Const):
            return None
        if not go.value:
            return turn
        inside = _after(s.body, known)
        steps = {a.name: _value(a.step, inside) for a in s.accs}
        known = {name: e for name, e in steps.items() if isinstance(e, Const)}
    return None


def _may_leave(s: While) -> bool:
    """Whether something leaves it but its condition, or counts in the middle of a turn."""
    return bool(counters(s)) or any(isinstance(n, Break | Return) for n in walk(s))


def _after(body: Iterable[Stmt], known: Known) -> Known:
    """What is known at the end of a block."""
    here = dict(known)
    for s in body:
        match s:
            case Assign(name, value):
                here[name] = _value(value, here)
            case If(cond, then, orelse, yields):
                go = _value(cond, here)
                if isinstance(go, Const):
                    inner = _after(then if go.value else orelse, here)
                    sides = {y.name: y.then if go.value else y.orelse for y in yields}
                    here |= {name: _value(e, inner) for name, e in sides.items()}
            case _:
                pass
        here = {name: e for name, e in here.items() if isinstance(e, Const)}
    return here


def _value(e: Expr, known: Known) -> Expr:
    done: Expr = bottom_up(substitute(e, known), rewrite)
    return done
