"""How a loop ends: by its trip count, by its condition, by the one way out that core Python has."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from loopir.analysis.memory import loaded, written
from loopir.nodes import Accum, Assign, Call, Expr, Interval, Loop, Stmt, Var, While
from loopir.passes.ahead import checks_of
from loopir.tree import walk

from ..infer import FALSE, Num, logic
from ..places import is_at_once
from ..ranges import INT64, Linear, integer
from ..source import span_of
from .carries import Carry
from .trips import Trips
from .values import Frame, Unbound

__all__ = ["Endings", "leaving", "resolved"]


def leaving(block: Sequence[ast.stmt]) -> int | None:
    """Where ``if …: break`` stands in the body of a loop, the one way out that core Python has."""
    for k, s in enumerate(block):
        if isinstance(s, ast.If) and not s.orelse and isinstance(s.body[0], ast.Break):
            return k
    return None


def resolved(end: Num | Unbound, body: list[Stmt], name: Callable[[str], str]) -> Num | Unbound:
    """`end` as ``max``/``min`` itself, where it is a name for one that `body` computes last.

    What that one loads, a store behind it may change: it gets a name where it stands.
    """
    if isinstance(end, Unbound):
        return end
    assigns = {s.name: s for s in body if isinstance(s, Assign)}
    ir, last = end.ir, None
    while isinstance(ir, Var) and ir.name in assigns:
        last = assigns[ir.name]
        ir = last.value
    if not (isinstance(ir, Call) and ir.op in ("max", "min")):
        return end
    if last is not None and loaded((ir,)) and written(body[body.index(last) :]):
        early = {a: Assign(name("now"), a) for a in ir.args if loaded((a,))}
        args = tuple(Var(early[a].name, a.dtype) if a in early else a for a in ir.args)
        ir, place = replace(ir, args=args), body.index(last)
        body[place : place + 1] = [*early.values(), replace(last, value=ir)]
    return replace(end, ir=ir)


class Endings(Trips):
    """Makes the node of a loop, and knows progressions that were broken off."""

    def reached(
        self, c: Carry, init: Num, end: Num | Unbound, frame: Frame, accs: list[Accum]
    ) -> Num:
        """The value of a progression that is broken off."""
        assert isinstance(end, Num)
        assert c.step is not None
        accs.append(Accum(c.var.name, init.ir, end.ir))
        reach = self.b.interval(frame.trips)[1] * c.step
        (lo, hi), (low, high) = init.interval, end.interval
        span = min(lo, lo + reach, low), max(hi, hi + reach, high)
        return self.b.integer_num(c.var, (max(span[0], INT64[0]), min(span[1], INT64[1])))

    def leaves(self, left: Expr, accs: list[Accum], frame: Frame) -> Expr:
        """The last step of a loop: it ends where `left` holds, which gets a name."""
        if isinstance(frame.node, ast.While):
            go = Var(self.b.name("go"), "bool")
            accs.append(Accum(go.name, frame.some, logic("not", left)))
            return go
        same = next((a.name for a in accs if a.step == left), None)
        name = same or self.b.name("left")
        if same is None:
            accs.append(Accum(name, FALSE, left))
        return Var(name, "bool")

    def _at_once(self, loop: Loop) -> tuple[Stmt, ...]:
        """`loop`, which NumPy does at once: where it raises, it has written nothing."""
        if written((loop,)) <= self.b.fresh:
            return (loop,)
        checks = checks_of(loop, lambda p, q: not p.isdisjoint(q), self.b.name)
        self.b.copied = self.b.copied or checks is None
        if checks:
            self.b.asked.add(loop)
        return (*(checks or ()), loop)

    def emit_loop(
        self, frame: Frame, body: list[Stmt], accs: list[Accum], until: Expr | None
    ) -> None:
        place = span_of(frame.node)
        if isinstance(frame.node, ast.For):
            domain = Interval(integer(0), frame.trips)
            loop = Loop(frame.var.name, domain, tuple(body), tuple(accs), until, span=place)
            whole = is_at_once(frame.node) and not any(is_at_once(f.node) for f in self.b.frames)
            self.b.block += self._at_once(loop) if whole else (loop,)
        else:
            counted = any(n == frame.var for part in (*body, *accs) for n in walk(part))
            k = Accum(frame.var.name, integer(0), (Linear.of(frame.var) + Linear({}, 1)).expr())
            assert until is not None
            carried = (*accs, k) if counted else tuple(accs)
            self.b.emit(While(until, tuple(body), carried, span=place))
