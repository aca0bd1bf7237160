"""``for i in range(...)``: canonical loops, lowered until their types settle."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import NoReturn

from loopir.nodes import Accum, Call, Expr, Stmt, Var
from loopir.tree import walk

from ..infer import TRUE, Num
from ..ranges import ENDLESS, Linear, integer
from ..rejections import Refused
from ..types import Opaque
from .carries import Carry
from .endings import Endings, leaving, resolved
from .implied import implied
from .liveness import assigned, counting, exposed
from .progressions import progression
from .refusal import refuse
from .values import Frame, ListRef, Unbound, Value

__all__ = ["Loops"]


class Loops(Endings):
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

    def loop(self, node: ast.For | ast.While, live: frozenset[str]) -> None:
        if node.orelse:
            refuse("LOWER_UNSUPPORTED", "an `else` of this loop is not compiled", node)
        if isinstance(node, ast.While):
            self._while(node, live)
        else:
            self._for(node, live)

    def _while(self, node: ast.While, live: frozenset[str]) -> None:
        """Its condition is known before each iteration: before the loop, and at an iteration's end.
        """
        b = self.b
        go = b.bind(self.test(node.test), "go")
        trips = Var(b.name("trips"), "i64")
        var = Var(b.name("k"), "i64")
        b.intervals[trips] = b.intervals[var] = ENDLESS
        self._body(Frame(node, var, None, trips, Linear.of(trips), go, exits=True), live)

    def _for(self, node: ast.For, live: frozenset[str]) -> None:
        if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
            self._no_range(node.iter)
        if self.known(node.iter.func) is not builtins.range or node.iter.keywords:
            self._no_range(node.iter)
        domain = self.range_of(node.iter)
        b, trips, count = self.b, domain.trips, domain.count
        var = Var(b.name(node.target.id), "i64")
        b.intervals[var] = (0, max(0, b.high(count) - 1))
        some = TRUE if b.low(count) >= 1 else Call("gt", (trips, integer(0)), "bool")
        exits = leaving(node.body) is not None
        self._body(Frame(node, var, domain.at, trips, count, some, exits), live)
        if exits:
            if node.target.id not in live:
                b.env[node.target.id] = Unbound()
            return
        last = domain.at(count + Linear({}, -1))
        before = b.env.get(node.target.id)
        if some == TRUE:
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
        target = _target(node)
        carried = [n for n in carried if n != target]
        if frame.exits and target is not None and target in live:
            carried.append(target)
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
                ends, stays, _ = self._run(frame, carries, inits, live, [])
                better = {
                    n: self._refine(n, c, inits[n], ends[n], stays[n], frame)
                    for n, c in carries.items()
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
    ) -> tuple[dict[str, Num | Unbound], dict[str, Num | Unbound], Expr | None]:
        """Lowers the body once. The values of the carried names at its end, and where that is not
        the last time; whether it was.
        """
        b = self.b
        outer = dict(b.env)
        for name, carry in carries.items():
            b.env[name] = self._entry(carry, inits[name], frame)
        b.frames.append(frame)
        with b.into(body):
            target = _target(frame.node)
            if target is not None and frame.element is not None:
                b.env[target] = frame.element(Linear.of(frame.var))
            with self._turn(frame, carries):
                left, stays = self.iteration(frame.node, live)
        b.frames.pop()
        ends = {n: _scalar(b.env.get(n)) for n in carries}
        others = {n: _scalar(stays.get(n)) for n in carries}
        added = {k: v for k, v in b.env.items() if k not in outer and k in b.params}
        b.env.clear()
        b.env.update(outer | added)
        return ends, others, left

    def _turn(self, frame: Frame, carries: dict[str, Carry]) -> AbstractContextManager[None]:
        """What the condition of a ``while`` says of the names at the start of an iteration."""
        b, node = self.b, frame.node
        if isinstance(node, ast.For):
            return nullcontext()
        facts: list[Linear] = []
        names = set(b.names)
        with b.trial(), self.tried_lists(), suppress(Refused):
            facts = [f for f in implied(b, self.test(node.test)) if not _bound(f, b.names - names)]
        return b.turn(facts, frozenset({frame.var, *(c.var for c in carries.values())}))

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
            if c.flagged or frame.exits:
                b.names.add(c.flag.name)
            if c.partial:
                b.names.add(c.bound.name)
        body: list[Stmt] = []
        ends, _, left = self._run(frame, named, inits, live, body)
        accs: list[Accum] = []
        after: dict[str, Value] = {}
        for name, c in named.items():
            if c.step is not None:
                init = inits[name]
                assert isinstance(init, Num)
                if frame.exits:
                    after[name] = self.reached(c, init, ends[name], frame, accs)
                    continue
                after[name] = b.from_linear(progression(init, c.step, b.linear(frame.trips)))
                continue
            end = resolved(ends[name], body, b.name)
            accs += self._accumulators(c, inits[name], end, frame)
            after[name] = self._after(name, c, inits[name], end, frame)
        if left is not None:
            until: Expr | None = self.leaves(left, accs, frame)
        else:
            until = self._stop({n: c for n, c in named.items() if c.step is None}, accs)
        self.emit_loop(frame, body, accs, until)
        for name in forgotten:
            if not isinstance(b.env.get(name), ListRef):
                b.env[name] = Unbound()
        b.env.update(after)

    def iteration(
        self, node: ast.For | ast.While, live: frozenset[str]
    ) -> tuple[Expr | None, dict[str, Value]]:
        raise NotImplementedError

    def tried_lists(self) -> AbstractContextManager[None]:
        """What is learnt inside of the elements of lists is forgotten."""
        raise NotImplementedError

    def appended(self, block: Sequence[ast.stmt]) -> set[str]:
        raise NotImplementedError


def _target(node: ast.For | ast.While) -> str | None:
    if isinstance(node, ast.While):
        return None
    assert isinstance(node.target, ast.Name)
    return node.target.id


def _bound(linear: Linear, names: set[str]) -> bool:
    """Whether some of `names` occur in `linear`."""
    return any(isinstance(n, Var) and n.name in names for a in linear.terms for n in walk(a))


def _scalar(v: Value | None) -> Num | Unbound:
    return v if isinstance(v, (Num, Unbound)) else Unbound()
