"""``for i in range(...)``: canonical loops, lowered until their types settle."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import NoReturn

from loopir.nodes import Accum, Assign, Call, Interval, Loop, Stmt, Var
from loopir.passes.memory import loaded, written

from ..infer import Num
from ..ranges import Linear, integer
from ..rejections import Refused
from ..source import span_of
from ..types import Opaque
from .carries import Carry
from .liveness import assigned, counting, exposed
from .progressions import progression
from .refusal import refuse
from .trips import Trips
from .values import Frame, ListRef, Unbound, Value

__all__ = ["Loops"]


class Loops(Trips):
    """Lowers loops."""

    def statements(self, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
        raise NotImplementedError

    def _no_range(self, over: ast.expr) -> NoReturn:
        """Refuses; a name in it whose type has no loops is to blame before all else."""
        for name in (node for node in ast.walk(over) if isinstance(node, ast.Name)):
            ty = self.arguments.get(name.id)
            if isinstance(ty, Opaque):
                refuse(ty.code, f"`{name.id}` is of type {ty}", name)
        ty = self.arguments.get(over.id) if isinstance(over, ast.Name) else None
        which = f", which is of type {ty}," if ty else ""
        refuse(
            "LOWER_UNSUPPORTED", f"a loop over `{ast.unparse(over)}`{which} is not compiled", over
        )

    def loop(self, node: ast.For, live: frozenset[str]) -> None:
        if node.orelse:
            refuse("LOWER_UNSUPPORTED", "`for … else` is not compiled", node)
        if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
            self._no_range(node.iter)
        if self.known(node.iter.func) is not builtins.range or node.iter.keywords:
            self._no_range(node.iter)
        domain = self.range_of(node.iter)
        b, trips, count = self.b, domain.trips, domain.count
        var = Var(b.name(node.target.id), "i64")
        b.intervals[var] = (0, max(0, b.high(count) - 1))
        self._body(Frame(node, var, domain.at, trips, count), live)
        last = domain.at(count + Linear({}, -1))
        before = b.env.get(node.target.id)
        some = Call("gt", (trips, integer(0)), "bool")
        if b.low(count) >= 1:
            b.env[node.target.id] = last
        elif isinstance(before, Num) and before.python_int:
            ir = b.bind(Call("select", (some, last.ir, before.ir), "i64"), node.target.id)
            ends = (*last.interval, *before.interval)
            b.env[node.target.id] = b.integer_num(ir, (min(ends), max(ends)))
        else:
            b.env[node.target.id] = Unbound(last, some)

    def _body(self, frame: Frame, live: frozenset[str]) -> None:
        node = frame.node
        names = assigned(node.body) | self.appended(node.body)
        carried = sorted(
            n for n in names if n in live or n in exposed(node.body) or n in self.counters
        )
        carried = [n for n in carried if n != _target(node)]
        inside = live | frozenset(exposed(node.body))
        inits = {n: self._initial(n, node) for n in carried}
        carries = self._settle(frame, inits, inside)
        self._build(frame, carries, inits, inside, names - set(carried))

    def _settle(
        self, frame: Frame, inits: dict[str, Num | Unbound], live: frozenset[str]
    ) -> dict[str, Carry]:
        """The types of what the loop carries: those before it if they stay so, else a NumPy type
        that absorbs a Python constant.
        """
        problem: Refused | None = None
        python = {n for n in inits if n in self.counters or counting(n, frame.node.body)}
        for dtype in (None, *dict.fromkeys(p.dtype for p in self.b.params.values() if p.rank)):
            guess = {
                n: self._first_guess(n, init, None if n in python else dtype)
                for n, init in inits.items()
            }
            try:
                return self._fixpoint(guess, frame, inits, live)
            except Refused as refused:
                if refused.rejection.code != "LOWER_JOIN":
                    raise
                problem = problem or refused
        assert problem is not None
        raise problem

    def _fixpoint(
        self,
        carries: dict[str, Carry],
        frame: Frame,
        inits: dict[str, Num | Unbound],
        live: frozenset[str],
    ) -> dict[str, Carry]:
        for _ in range(6):
            with self.b.trial(), self.tried_lists():
                ends = self._run(frame, carries, inits, live, [])
                better = {
                    n: self._refine(n, c, inits[n], ends[n], frame) for n, c in carries.items()
                }
            if better == carries:
                return carries
            carries = better
        return refuse(
            "LOWER_JOIN", "the types of the names that the loop carries do not settle", frame.node
        )

    def _run(
        self,
        frame: Frame,
        carries: dict[str, Carry],
        inits: dict[str, Num | Unbound],
        live: frozenset[str],
        body: list[Stmt],
    ) -> dict[str, Num | Unbound]:
        """Lowers the body once; the values of the carried names at its end."""
        b = self.b
        outer = dict(b.env)
        for name, carry in carries.items():
            b.env[name] = self._entry(carry, inits[name], frame)
        b.frames.append(frame)
        with b.into(body):
            b.env[_target(frame.node)] = frame.element(Linear.of(frame.var))
            self.statements(frame.node.body, live)
        b.frames.pop()
        ends = {n: self._scalar_at_end(n) for n in carries}
        added = {k: v for k, v in b.env.items() if k not in outer and k in b.params}
        b.env.clear()
        b.env.update(outer | added)
        return ends

    def _scalar_at_end(self, name: str) -> Num | Unbound:
        end = self.b.env.get(name)
        if isinstance(end, (Num, Unbound)):
            return end
        return Unbound()

    def _build(
        self,
        frame: Frame,
        carries: dict[str, Carry],
        inits: dict[str, Num | Unbound],
        live: frozenset[str],
        forgotten: set[str],
    ) -> None:
        b = self.b
        named = {n: replace(c, var=replace(c.var, name=b.name(n))) for n, c in carries.items()}
        for c in named.values():
            if c.flagged:
                b.names.add(c.var.name + "py")
        body: list[Stmt] = []
        ends = self._run(frame, named, inits, live, body)
        accs: list[Accum] = []
        after: dict[str, Value] = {}
        for name, c in named.items():
            if c.step is not None:
                init = inits[name]
                assert isinstance(init, Num)
                after[name] = b.from_linear(progression(init, c.step, b.linear(frame.trips)))
                continue
            end = _resolved(ends[name], body, b.name)
            accs += self._accumulators(c, inits[name], end)
            after[name] = self._after(name, c, inits[name], end, frame)
        until = self._stop({n: c for n, c in named.items() if c.step is None}, accs)
        domain, place = Interval(integer(0), frame.trips), span_of(frame.node)
        b.emit(Loop(frame.var.name, domain, tuple(body), tuple(accs), until, span=place))
        for name in forgotten:
            if not isinstance(b.env.get(name), ListRef):
                b.env[name] = Unbound()
        b.env.update(after)

    def tried_lists(self) -> AbstractContextManager[None]:
        """What is learnt inside of the elements of lists is forgotten."""
        raise NotImplementedError

    def appended(self, block: Sequence[ast.stmt]) -> set[str]:
        raise NotImplementedError


def _target(node: ast.For) -> str:
    assert isinstance(node.target, ast.Name)
    return node.target.id


def _resolved(end: Num | Unbound, body: list[Stmt], name: Callable[[str], str]) -> Num | Unbound:
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
