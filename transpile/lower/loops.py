"""``for i in range(...)``: canonical loops, and the scalars they carry from one iteration to the
next.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loopir.nodes import Accum, Assign, Call, Const, Expr, Interval, Loop, Stmt, Var
from loopir.types import DTYPES

from ..infer import FALSE, TRUE, Num, cast, exactly, logic
from ..ranges import ANY, INT64, LENGTH, Linear, integer
from ..rejections import Refused
from .builder import Frame, ListRef, Unbound, Value, refuse, span
from .liveness import assigned, exposed
from .names import Names

__all__ = ["Loops"]

_SAFE_TRIPS = 1 << 31


@dataclass(frozen=True, slots=True)
class _Carry:
    """How one name is carried: the accumulator's dtype, its types inside, and whether they change
    after the first iteration.
    """

    var: Var
    strong: str | None
    weak: str | None
    turning: bool = False
    flagged: bool = False
    exact: bool = True
    bounded: bool = True


class Loops(Names):
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

    # -- what the loop carries

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
    ) -> dict[str, _Carry]:
        """The types of what the loop carries: those before it if they stay so, else a NumPy type
        that absorbs a Python constant.
        """
        problem: Refused | None = None
        for dtype in (None, *dict.fromkeys(p.dtype for p in self.b.params.values() if p.rank)):
            guess = {n: self._first_guess(n, init, dtype) for n, init in inits.items()}
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
        carries: dict[str, _Carry],
        node: ast.For,
        frame: Frame,
        index: Num,
        inits: dict[str, Num | Unbound],
        live: frozenset[str],
    ) -> dict[str, _Carry]:
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

    def _initial(self, name: str) -> Num | Unbound:
        got: Value | None = self.b.env.get(name)
        if got is None and name in self.arguments:
            got = self._name(
                name,
                ast.Name(name, ast.Load(), lineno=0, col_offset=0, end_lineno=0, end_col_offset=0),
            )
        if isinstance(got, Unbound) and got.value is not None:
            return got
        return got if isinstance(got, Num) else Unbound()

    def _first_guess(self, name: str, init: Num | Unbound, absorbing: str | None) -> _Carry:
        var = Var(f"{name}.", init.dtype if isinstance(init, Num) else "i64")
        if (
            absorbing
            and isinstance(init, Num)
            and init.weak in ("i64", "f64")
            and exactly(init.ir, absorbing)
        ):
            return _Carry(replace(var, dtype=absorbing), absorbing, init.weak, flagged=True)
        if isinstance(init, Num):
            return _Carry(var, init.strong, init.weak, flagged=init.either, exact=init.exact)
        return _Carry(var, None, "i64")

    def _entry(self, carry: _Carry, init: Num | Unbound, frame: Frame) -> Value:
        """The name's value at the start of an iteration."""
        if isinstance(init, Unbound):
            return Unbound()
        n = Num(carry.var, carry.strong, carry.weak, exact=carry.exact)
        self.b.accumulators.add(carry.var)
        if carry.turning and carry.weak:
            first = Call("eq", (frame.var, integer(0)), "bool")
            n = replace(n, is_weak=logic("and", first, init.weak_now))
        elif carry.flagged:
            n = replace(n, is_weak=Var(carry.var.name + "py", "bool"))
        if carry.var.dtype == "i64":
            interval = ANY if carry.bounded else INT64
            self.b.intervals[carry.var] = interval
            n = replace(n, linear=Linear.of(carry.var), interval=interval)
        return n

    def _run(
        self,
        node: ast.For,
        frame: Frame,
        index: Num,
        carries: dict[str, _Carry],
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

    def _refine(
        self,
        name: str,
        carry: _Carry,
        init: Num | Unbound,
        end: Num | Unbound,
        frame: Frame,
        node: ast.For,
    ) -> _Carry:
        if isinstance(end, Unbound):
            return carry
        if end.boxed:
            refuse("LOWER_TYPE", f"`{name}` is a 0-d array, not a scalar", node)
        if isinstance(init, Unbound):
            return replace(
                carry,
                var=replace(carry.var, dtype=end.dtype),
                strong=end.strong,
                weak=end.weak,
                flagged=end.either,
            )
        carry = self._retype(name, carry, init, end, node)
        if carry.var.dtype == "i64" and carry.bounded and end.linear is not None:
            total = self._growth(end, carry.var)
            return replace(
                carry, bounded=total is not None and self._stays(total, init, frame) is not None
            )
        if carry.var.dtype == "i64" and carry.bounded and name not in self.counters:
            return replace(carry, bounded=end.ir == carry.var)
        return carry

    def _retype(self, name: str, carry: _Carry, init: Num, end: Num, node: ast.For) -> _Carry:
        if end.types == init.types and not end.either and end.dtype == init.dtype:
            return replace(
                carry, var=replace(carry.var, dtype=end.dtype), strong=end.strong, weak=end.weak
            )
        if init.strong and end.strong and init.strong != end.strong:
            refuse(
                "LOWER_JOIN",
                f"`{name}` is {init.strong} before the loop and {end.strong} after it",
                node,
            )
        if init.weak and end.weak and init.weak != end.weak:
            if exactly(init.ir, end.dtype) and not init.strong and not end.strong:
                return replace(
                    carry, var=replace(carry.var, dtype=end.dtype), weak=end.weak, turning=True
                )
            refuse("LOWER_JOIN", f"the type of `{name}` changes in the loop", node)
        strong, weak = end.strong or init.strong, end.weak or init.weak
        held = init.dtype == end.dtype or exactly(init.ir, end.dtype)
        if init.weak and not end.weak:
            return replace(
                carry,
                var=replace(carry.var, dtype=end.dtype),
                strong=strong,
                weak=weak,
                turning=True,
                flagged=False,
                exact=held,
            )
        if not held:
            refuse(
                "LOWER_JOIN",
                f"`{name}` may be a Python or a NumPy number, depending on the data",
                node,
            )
        narrow = end.strong if end.strong and exactly(init.ir, end.strong) else end.dtype
        return replace(
            carry, var=replace(carry.var, dtype=narrow), strong=strong, weak=weak, flagged=True
        )

    # -- how far an integer accumulator can go

    def growth_from(self, linear: Linear | None, base: Expr) -> tuple[int, int] | None:
        """An interval of ``linear - base``; None where it is not known."""
        if linear is None:
            return None
        lo = hi = 0
        while True:
            known = [
                a for a, c in linear.terms.items() if c == 1 and a in self.b.deltas and a != base
            ]
            if not known:
                break
            origin, (dlo, dhi) = self.b.deltas[known[0]]
            linear, lo, hi = linear.substitute(known[0], Linear.of(origin)), lo + dlo, hi + dhi
        rest = linear - Linear.of(base)
        if base in rest.terms:
            return None
        return lo + self.b.low(rest), hi + self.b.high(rest)

    def _growth(self, end: Num, var: Var) -> tuple[int, int] | None:
        return self.growth_from(end.linear, var)

    def _stays(self, step: tuple[int, int], init: Num, frame: Frame) -> int | None:
        """The trip count up to which an accumulator with these steps stays within its assumed
        interval.
        """
        lo, hi = min(0, step[0]), max(0, step[1])
        start = init.interval if init.linear is not None else INT64
        longest = min(LENGTH[1], self.b.interval(frame.trips)[1])
        for trips in (min(longest, _SAFE_TRIPS),) if self.b.frames else (longest, _SAFE_TRIPS):
            if start[0] + trips * lo >= ANY[0] and start[1] + trips * hi <= ANY[1]:
                return trips
            if (
                start == ANY and trips * max(-lo, hi) < ANY[1]
            ):  # the enclosing loop answers for the sum
                return trips
        return None

    # -- the loop itself

    def _build(
        self,
        node: ast.For,
        frame: Frame,
        index: Num,
        carries: dict[str, _Carry],
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

    @staticmethod
    def _stop(named: dict[str, _Carry], accs: list[Accum]) -> Expr | None:
        """``any`` and ``all``, whose macros carry one bool of that name, stop when it is decided.
        """
        if len(accs) != 1:
            return None
        ((name, c),) = named.items()
        if name.startswith("_any"):
            return c.var
        return logic("not", c.var) if name.startswith("_all") else None

    def _accumulators(self, c: _Carry, init: Num | Unbound, end: Num | Unbound) -> list[Accum]:
        zero = Const(DTYPES[c.var.dtype].numpy.type(0).item(), c.var.dtype)
        start = zero if isinstance(init, Unbound) else cast(init.ir, c.var.dtype)
        step = c.var if isinstance(end, Unbound) else cast(end.ir, c.var.dtype)
        out = [Accum(c.var.name, start, step)]
        if c.flagged and isinstance(end, Num) and not self._keeps_extreme(c, end):
            flag = init.weak_now if isinstance(init, Num) else FALSE
            out.append(Accum(c.var.name + "py", flag, end.weak_now))
        return out

    @staticmethod
    def _keeps_extreme(c: _Carry, end: Num) -> bool:
        """Whether the step is ``max(acc, NumPy value)``: then the final value tells whether it was
        ever replaced.
        """
        match end.ir:
            case Call("max" | "min", (first, _), _) if first == c.var:
                return True
            case _:
                return False

    def _after(
        self,
        name: str,
        c: _Carry,
        init: Num | Unbound,
        end: Num | Unbound,
        frame: Frame,
        node: ast.For,
    ) -> Value:
        b = self.b
        some = TRUE if b.low(frame.linear) >= 1 else Call("gt", (frame.trips, integer(0)), "bool")
        n = Num(c.var, c.strong, c.weak)
        if isinstance(init, Unbound):
            if isinstance(end, Unbound):
                return end
            n = replace(n, is_weak=Var(c.var.name + "py", "bool") if c.flagged else None)
            return (
                self._settled(n, c, None, end, frame)
                if some == TRUE
                else Unbound(self._settled(n, c, None, end, frame), some)
            )
        if c.turning:
            return self._turned(c, init, some)
        if c.flagged and isinstance(end, Num):
            if self._keeps_extreme(c, end):
                assert isinstance(end.ir, Call)
                better = "gt" if end.ir.op == "max" else "lt"
                replaced = Call(better, (c.var, cast(init.ir, c.var.dtype)), "bool")
                return replace(n, is_weak=logic("and", init.weak_now, logic("not", replaced)))
            return replace(n, is_weak=Var(c.var.name + "py", "bool"))
        return self._settled(n, c, init, end, frame)

    def _turned(self, c: _Carry, init: Num, some: Expr) -> Value:
        """A Python scalar before the loop that its first iteration turns into something else."""
        if c.strong is None:
            after = Num(c.var, None, c.weak)
            return after if some == TRUE else Unbound(after, some)
        if some == TRUE:
            return Num(c.var, c.strong)
        empty = logic("and", logic("not", some), init.weak_now)
        if c.exact:
            return Num(c.var, c.strong, c.weak, empty)
        wide = Call("select", (some, cast(c.var, init.dtype), init.ir), init.dtype)
        return Num(wide, c.strong, c.weak, empty)

    def _settled(
        self, n: Num, c: _Carry, init: Num | None, end: Num | Unbound, frame: Frame
    ) -> Num:
        """`n` with what is known of an integer accumulator after the loop."""
        if c.var.dtype != "i64":
            return n
        b = self.b
        b.intervals[c.var] = ANY if c.bounded else INT64
        total = self._growth(end, c.var) if isinstance(end, Num) else None
        if init is not None and total is not None and c.bounded:
            trips = self._stays(total, init, frame)
            if trips is not None:
                if b.interval(frame.trips)[1] > trips:
                    b.require(
                        Call("le", (frame.trips, integer(trips)), "bool"),
                        "GUARD_INT_RANGE",
                        ast.Pass(lineno=0, col_offset=0, end_lineno=0, end_col_offset=0),
                    )
                grown = (trips * min(0, total[0]), trips * max(0, total[1]))
                if (
                    init.linear is not None
                    and len(init.linear.terms) == 1
                    and not init.linear.constant
                ):
                    ((atom, k),) = init.linear.terms.items()
                    if k == 1:
                        b.deltas[c.var] = (atom, grown)
                elif init.linear is not None and not init.linear.terms:
                    b.intervals[c.var] = (init.interval[0] + grown[0], init.interval[1] + grown[1])
        return replace(n, linear=Linear.of(c.var), interval=b.intervals[c.var])

    counters: set[str]
    arguments: dict[str, object]

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
