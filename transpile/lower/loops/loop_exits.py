"""How a loop ends: by trip count, by its condition, or by the one `break` that core Python has."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from loopir.analysis.mod_ref import arrays_read, arrays_written
from loopir.ir_traversal import walk
from loopir.nodes import Accum, Assign, Call, Expr, Interval, Loop, Stmt, Var, While
from loopir.passes.checks.hoist_checks import hoistable_checks

from ...frontend.core_nodes import is_atomic
from ...frontend.source import span_of
from ...types.linear_form import INT64, LinearForm, int_constant
from ...types.typed_values import FALSE, Num, bool_op
from ..state.symbol_values import LoopFrame, Unbound
from .loop_carried import LoopCarried
from .trip_counts import Trips

__all__ = ["Endings", "break_index", "resolve_extremum"]


def break_index(block: Sequence[ast.stmt]) -> int | None:
    """Where ``if …: break`` stands in the body of a loop, the one way out that core Python has."""
    for k, s in enumerate(block):
        if isinstance(s, ast.If) and not s.orelse and isinstance(s.body[0], ast.Break):
            return k
    return None


def resolve_extremum(
    end: Num | Unbound, body: list[Stmt], name: Callable[[str], str]
) -> Num | Unbound:
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
    if last is not None and arrays_read((ir,)) and arrays_written(body[body.index(last) :]):
        early = {a: Assign(name("now"), a) for a in ir.args if arrays_read((a,))}
        args = tuple(Var(early[a].name, a.dtype) if a in early else a for a in ir.args)
        ir, place = replace(ir, args=args), body.index(last)
        body[place : place + 1] = [*early.values(), replace(last, value=ir)]
    return replace(end, ir=ir)


class Endings(Trips):
    """Makes the node of a loop, and knows progressions that were broken off."""

    def reached(
        self, c: LoopCarried, init: Num, end: Num | Unbound, frame: LoopFrame, accs: list[Accum]
    ) -> Num:
        """The value of a progression that is broken off."""
        assert isinstance(end, Num)
        assert c.step is not None
        accs.append(Accum(c.var.name, init.ir, end.ir))
        reach = self.b.interval(frame.trips)[1] * c.step
        (lo, hi), (low, high) = init.interval, end.interval
        span = min(lo, lo + reach, low), max(hi, hi + reach, high)
        return self.b.integer_num(c.var, (max(span[0], INT64[0]), min(span[1], INT64[1])))

    def leaves(self, left: Expr, accs: list[Accum], frame: LoopFrame) -> Expr:
        """The last step of a loop: it ends where `left` holds, which gets a name."""
        if isinstance(frame.node, ast.While):
            go = Var(self.b.name("go"), "bool")
            accs.append(Accum(go.name, frame.some, bool_op("not", left)))
            return go
        same = next((a.name for a in accs if a.step == left), None)
        name = same or self.b.name("left")
        if same is None:
            accs.append(Accum(name, FALSE, left))
        return Var(name, "bool")

    def _at_once(self, loop: Loop) -> tuple[Stmt, ...]:
        """`loop`, which NumPy does at once: where it raises, it has written nothing."""
        if arrays_written((loop,)) <= self.b.fresh:
            return (loop,)
        checks = hoistable_checks(loop, lambda p, q: not p.isdisjoint(q), self.b.name)
        self.b.copied = self.b.copied or checks is None
        if checks:
            self.b.asked.add(loop)
        return (*(checks or ()), loop)

    def emit_loop(
        self, frame: LoopFrame, body: list[Stmt], accs: list[Accum], until: Expr | None
    ) -> None:
        place = span_of(frame.node)
        if isinstance(frame.node, ast.For):
            domain = Interval(int_constant(0), frame.trips)
            loop = Loop(frame.var.name, domain, tuple(body), tuple(accs), until, span=place)
            whole = is_atomic(frame.node) and not any(is_atomic(f.node) for f in self.b.frames)
            self.b.block += self._at_once(loop) if whole else (loop,)
        else:
            counted = any(n == frame.var for part in (*body, *accs) for n in walk(part))
            k = Accum(
                frame.var.name,
                int_constant(0),
                (LinearForm.of(frame.var) + LinearForm({}, 1)).expr(),
            )
            assert until is not None
            carried = (*accs, k) if counted else tuple(accs)
            self.b.emit(While(until, tuple(body), carried, span=place))
