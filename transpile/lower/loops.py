"""``for i in range(...)``: canonical loops, lowered until their types settle."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import replace

from loopir.nodes import Accum, Assign, Call, Const, Expr, Interval, Loop, Stmt, Var
from loopir.types import DTYPES

from ..infer import Num, cast
from ..ranges import INT64, LENGTH, Linear, integer
from ..rejections import Refused
from .builder import Frame, ListRef, Unbound, Value, refuse, span
from .carries import Carry
from .liveness import assigned, counting, exposed
from .outcomes import Outcomes

__all__ = ["Loops"]


class Loops(Outcomes):
    """Lowers loops."""

    def statements(self, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
        raise NotImplementedError

    def loop(self, node: ast.For, live: frozenset[str]) -> None:
        if node.orelse:
            refuse("LOWER_UNSUPPORTED", "`for … else` is not compiled", node)
        if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
            refuse(
                "LOWER_UNSUPPORTED", f"a loop over `{ast.unparse(node.iter)}` is not compiled", node
            )
        if self.known(node.iter.func) is not builtins.range or node.iter.keywords:
            refuse(
                "LOWER_UNSUPPORTED",
                f"a loop over `{ast.unparse(node.iter)}` is not compiled",
                node.iter,
            )
        start, step, trips, count = self._range(node.iter)
        b = self.b
        var = Var(b.name(node.target.id), "i64")
        b.intervals[var] = (0, max(0, b.high(count) - 1))
        frame = Frame(var, trips, count)
        index = b.from_linear(start + Linear.of(var) * step)
        self._body(node, frame, index, live)
        last = b.from_linear(start + (count + Linear({}, -1)) * step)
        before = b.env.get(node.target.id)
        if b.low(count) >= 1:
            b.env[node.target.id] = last
        elif isinstance(before, Num) and before.python_int:
            some = Call("gt", (trips, integer(0)), "bool")
            ir = b.bind(Call("select", (some, last.ir, before.ir), "i64"), node.target.id)
            b.env[node.target.id] = b.integer_num(
                ir,
                (
                    min(last.interval[0], before.interval[0]),
                    max(last.interval[1], before.interval[1]),
                ),
            )
        else:
            b.env[node.target.id] = Unbound(last, Call("gt", (trips, integer(0)), "bool"))

    def _range(self, call: ast.Call) -> tuple[Linear, int, Expr, Linear]:
        """Start and step, the trip count as an expression, and its linear form where it is
        positive.
        """
        args = [self._range_argument(a) for a in call.args]
        if not 1 <= len(args) <= 3:
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(call)}` is not a range", call)
        start, stop = (Linear(), args[0]) if len(args) == 1 else (args[0], args[1])
        step = 1
        if len(args) == 3:
            if args[2].terms or args[2].constant == 0:
                refuse("LOWER_UNSUPPORTED", "the step of the range is not a constant", call)
            step = args[2].constant
        b = self.b
        span_ = stop - start if step > 0 else start - stop
        if abs(step) == 1:
            count, trips = span_, span_.expr()
        else:
            ceil = span_ + Linear({}, abs(step) - 1)
            trips = (
                Call("floordiv", (ceil.expr(), integer(abs(step))), "i64")
                if ceil.terms
                else integer(ceil.constant // abs(step))
            )
            lo, hi = b.low(ceil) // abs(step), b.high(ceil) // abs(step)
            if not isinstance(trips, Const):
                b.intervals[trips] = (lo, hi)
            count = Linear.of(trips)
        if b.high(count) > LENGTH[1] or b.low(count) < INT64[0]:
            self._bounded_trips(trips, call)
        if b.low(count) < 0:
            trips = (
                integer(max(0, int(trips.value)))
                if isinstance(trips, Const)
                else Call("max", (trips, integer(0)), "i64")
            )
        if not isinstance(trips, Const):
            b.intervals[trips] = (max(0, b.low(count)), min(max(0, b.high(count)), LENGTH[1]))
        return start, step, trips, count

    def _bounded_trips(self, trips: Expr, node: ast.AST) -> None:
        """Loops longer than memory are Python's."""
        self.b.require(Call("le", (trips, integer(LENGTH[1])), "bool"), "GUARD_INT_RANGE", node)

    def _range_argument(self, node: ast.expr) -> Linear:
        n = self.num(node)
        if (
            n.weak in ("f64", "bool")
            or (n.strong and DTYPES[n.strong].kind not in "iu")
            or n.dtype == "u64"
        ):
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is not an int", node)
        if n.linear is not None and n.python_int:
            return n.linear
        return Linear.of(self.b.bind(cast(n.ir, "i64"), "bound"))

    def _body(self, node: ast.For, frame: Frame, index: Num, live: frozenset[str]) -> None:
        assert isinstance(node.target, ast.Name)
        names = assigned(node.body) | self.appended(node.body)
        carried = sorted(
            n for n in names if n in live or n in exposed(node.body) or n in self.counters
        )
        carried = [n for n in carried if n != node.target.id]
        inside = live | frozenset(exposed(node.body))
        inits = {n: self._initial(n) for n in carried}
        carries = self._settle(node, frame, index, inits, inside)
        self._build(node, frame, index, carries, inits, inside, names - set(carried))

    def _settle(
        self,
        node: ast.For,
        frame: Frame,
        index: Num,
        inits: dict[str, Num | Unbound],
        live: frozenset[str],
    ) -> dict[str, Carry]:
        """The types of what the loop carries: those before it if they stay so, else a NumPy type
        that absorbs a Python constant.
        """
        problem: Refused | None = None
        python = {n for n in inits if n in self.counters or counting(n, node.body)}
        for dtype in (None, *dict.fromkeys(p.dtype for p in self.b.params.values() if p.rank)):
            guess = {
                n: self._first_guess(n, init, None if n in python else dtype)
                for n, init in inits.items()
            }
            try:
                return self._fixpoint(guess, node, frame, index, inits, live)
            except Refused as refused:
                if refused.rejection.code != "LOWER_JOIN":
                    raise
                problem = problem or refused
        assert problem is not None
        raise problem

    def _fixpoint(
        self,
        carries: dict[str, Carry],
        node: ast.For,
        frame: Frame,
        index: Num,
        inits: dict[str, Num | Unbound],
        live: frozenset[str],
    ) -> dict[str, Carry]:
        for _ in range(6):
            with self.b.trial():
                ends = self._run(node, frame, index, carries, inits, live, [])
                better = {
                    n: self._refine(n, c, inits[n], ends[n], frame, node)
                    for n, c in carries.items()
                }
            if better == carries:
                return carries
            carries = better
        return refuse(
            "LOWER_JOIN", "the types of the names that the loop carries do not settle", node
        )

    def _run(
        self,
        node: ast.For,
        frame: Frame,
        index: Num,
        carries: dict[str, Carry],
        inits: dict[str, Num | Unbound],
        live: frozenset[str],
        body: list[Stmt],
    ) -> dict[str, Num | Unbound]:
        """Lowers the body once; the values of the carried names at its end."""
        assert isinstance(node.target, ast.Name)
        b = self.b
        outer = dict(b.env)
        for name, carry in carries.items():
            b.env[name] = self._entry(carry, inits[name], frame)
        b.env[node.target.id] = index
        b.frames.append(frame)
        with b.into(body):
            self.statements(node.body, live)
        b.frames.pop()
        ends = {n: self._scalar_at_end(n, node) for n in carries}
        added = {k: v for k, v in b.env.items() if k not in outer and k in b.params}
        b.env.clear()
        b.env.update(outer | added)
        return ends

    def _scalar_at_end(self, name: str, node: ast.For) -> Num | Unbound:
        end = self.b.env.get(name)
        if isinstance(end, (Num, Unbound)):
            return end
        return Unbound()

    def _build(
        self,
        node: ast.For,
        frame: Frame,
        index: Num,
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
        ends = self._run(node, frame, index, named, inits, live, body)
        accs: list[Accum] = []
        after: dict[str, Value] = {}
        for name, c in named.items():
            end = _resolved(ends[name], body)
            accs += self._accumulators(c, inits[name], end)
            after[name] = self._after(name, c, inits[name], end, frame, node)
        until = self._stop(named, accs)
        b.emit(
            Loop(
                frame.var.name,
                Interval(integer(0), frame.trips),
                tuple(body),
                tuple(accs),
                until,
                span=span(node),
            )
        )
        for name in forgotten:
            if not isinstance(b.env.get(name), ListRef):
                b.env[name] = Unbound()
        b.env.update(after)

    def appended(self, block: Sequence[ast.stmt]) -> set[str]:
        raise NotImplementedError


def _resolved(end: Num | Unbound, body: Sequence[Stmt]) -> Num | Unbound:
    """`end` as ``max``/``min`` itself, where it is a name for one that `body` computes last."""
    if isinstance(end, Unbound):
        return end
    defined = {s.name: s.value for s in body if isinstance(s, Assign)}
    ir = end.ir
    while isinstance(ir, Var) and ir.name in defined:
        ir = defined[ir.name]
    return replace(end, ir=ir) if isinstance(ir, Call) and ir.op in ("max", "min") else end
