"""The state of one lowering: blocks being filled, what is known of names, guards collected."""
from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace

from loopir.nodes import (
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Disjoint,
    Expr,
    Guard,
    If,
    Load,
    Param,
    Stmt,
    Store,
    Var,
)
from loopir.ops import OPS
from loopir.record import record
from loopir.tree import walk
from loopir.types import DTYPES

from ..infer import TRUE, Num, logic
from ..plan import Binding, Fresh, StatusSource
from ..ranges import Linear, integer
from ..source import span_of
from ..types import PARTS, ArrayType
from .implied import implied
from .known import Known
from .raised import raised
from .values import Frame, Value

__all__ = ["Builder", "param_of"]


_CLASS = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}


@record
class Builder(Known):
    """Everything that lowering writes to; `trial` undoes it. ``starts``: what a value that may be a
    NumPy scalar is where it is Python's.
    """

    env: dict[str, Value] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    reshaped: dict[str, str] = field(default_factory=dict)
    block: list[Stmt] = field(default_factory=list)
    guards: list[Guard | Disjoint] = field(default_factory=list)
    sources: list[StatusSource] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    accumulators: set[Expr] = field(default_factory=set)
    starts: dict[Expr, Num] = field(default_factory=dict)
    values: dict[str, Expr] = field(default_factory=dict)
    facts: list[Linear] = field(default_factory=list)
    strict: set[str] = field(default_factory=set)
    varied: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    sure: set[Expr] = field(default_factory=set)
    turning: frozenset[Expr] = frozenset()
    going: list[Linear] = field(default_factory=list)
    path: Expr | None = None
    branches: int = 0
    told: str | None = None

    @contextmanager
    def trial(self) -> Iterator[None]:
        """What is built inside is dropped again."""
        kept = [(k, v, copy.copy(v)) for k, v in vars(self).items()]
        try:
            yield
        finally:
            for k, v, before in kept:
                if isinstance(v, list):
                    v[:] = before
                elif isinstance(v, (dict, set)):
                    v.clear()
                    v.update(before)
                setattr(self, k, v)

    @contextmanager
    def into(self, block: list[Stmt]) -> Iterator[None]:
        """Statements go to `block`."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    @contextmanager
    def under(self, cond: Expr) -> Iterator[None]:
        """Expressions lowered inside matter only where `cond` holds."""
        outer, self.path = self.path, cond if self.path is None else logic("and", self.path, cond)
        try:
            with self.where(cond):
                yield
        finally:
            self.path = outer

    @contextmanager
    def where(self, cond: Expr) -> Iterator[None]:
        """What is lowered inside is computed, or matters, only where `cond` holds."""
        outer = self.facts
        self.facts = [*outer, *implied(self, cond)]
        try:
            yield
        finally:
            self.facts = outer

    @contextmanager
    def turn(self, facts: list[Linear], turning: frozenset[Expr]) -> Iterator[None]:
        """What is lowered inside is an iteration of a ``while`` whose condition says `facts`.

        Used are those of the names ``turning`` in it alone, for no pass computes what depends on
        them where the condition has failed.
        """
        outer = self.going, self.turning
        facts = [f for f in facts if turning & f.terms.keys()]
        self.going, self.turning = [*self.going, *facts], self.turning | turning
        known = {a: self.interval(a) for f in facts for a in f.terms if a in turning}
        for fact in facts:
            self.narrow(fact, turning)
        try:
            yield
        finally:
            self.going, self.turning = outer
            self.intervals.update(known)

    # -- names and statements

    def name(self, hint: str) -> str:
        """A name that the kernel does not have yet."""
        base = hint.lstrip("_#") or "t"
        out, k = base, 0
        while out in self.names:
            k += 1
            out = f"{base}_{k}"
        self.names.add(out)
        return out

    def allocate(self, name: str, text: str, ty: ArrayType) -> None:
        """An array that the caller makes for each call by evaluating `text`."""
        self.params[name] = param_of(name, ty)
        self.bindings[name] = Fresh(name, text, ty)
        self.fresh.add(name)

    def emit(self, stmt: Stmt) -> None:
        self.block.append(stmt)

    def bind(self, e: Expr, hint: str = "t") -> Expr:
        """`e` under a name, so that using it twice does not compute it twice."""
        if isinstance(e, (Const, Var, Dim)):
            return e
        name = self.name(hint)
        self.emit(Assign(name, e))
        self.values[name] = e
        return Var(name, e.dtype)

    def once(self, e: Expr, hint: str) -> Expr:
        """`e` under the name that it has just been given, else under a new one."""
        for s in reversed(self.block if not any(isinstance(n, Load) for n in walk(e)) else []):
            match s:
                case Assign(name=name, value=value) if value == e:
                    return Var(name, e.dtype)
                case Assign() | Check() | Store():
                    continue
            break
        return self.bind(e, hint)

    def linear(self, e: Expr) -> Linear:
        """As of `Known`, and through the names of sums and multiples."""
        value = self.values.get(e.name) if isinstance(e, Var) else None
        if isinstance(value, Call) and value.op in ("add", "sub", "mul"):
            return self.linear(value)
        return super().linear(e)

    # -- what must hold

    def invariant(self, e: Expr) -> bool:
        """Whether `e` can be evaluated before the first statement."""
        return all(
            isinstance(n, (Const, Dim, Call)) or (isinstance(n, Var) and n.name in self.params)
            for n in walk(e)
        )

    @property
    def lazy(self) -> bool:
        """Whether what is lowered now may never run, and no vectors are to be had from it: an
        element of doubtful place is then read in a branch of its own.
        """
        waiting = any(isinstance(f.node, ast.While) for f in self.frames)
        return waiting or (not self.frames and (self.branches > 0 or self.path is not None))

    def require(self, cond: Expr, code: str, node: ast.AST) -> None:
        """Python must decide unless `cond` holds here.

        If possible it is a guard before the first store, else a check on the spot.
        """
        if self.path is not None:
            cond = logic("or", logic("not", self.path), cond)
        if cond == TRUE:
            return
        if self.branches == 0 and self.invariant(cond):
            self.guard(cond, code, node)
        elif not (isinstance(cond, Var) and self._has_checked(cond)):
            self.emit(Check(cond, "replay", span=span_of(node)))

    def _has_checked(self, name: Var) -> bool:
        return any(isinstance(s, Check) and s.cond == name for s in self.block)

    def guard(self, cond: Expr, code: str, node: ast.AST) -> None:
        """`cond` must hold before the kernel starts, unless an enclosing loop has no iteration."""
        for frame in self.frames:
            if self.invariant(frame.trips) and self.low(Linear.of(frame.trips)) < 1:
                cond = logic("or", cond, Call("le", (frame.trips, integer(0)), "bool"))
        if cond != TRUE and not any(isinstance(g, Guard) and g.cond == cond for g in self.guards):
            self.guards.append(Guard(cond, code, span=span_of(node)))
            self.learn(cond)

    def check(self, cond: Expr, status: str) -> None:
        """Where `cond` fails NumPy would warn: `status` is a class of np.errstate."""
        if self.path is not None:
            cond = logic("or", logic("not", self.path), cond)
        if cond != TRUE:
            self.emit(Check(cond, status))

    def source(
        self, status: str, spelled: str | None, node: ast.AST, raised: Expr, *, certain: bool = True
    ) -> None:
        """Notes that NumPy may warn, under its name for an operation; None: only Python knows how.

        ``raised`` tells whether it does.
        """
        place = span_of(node)
        message = f"{_CLASS[status]} encountered in {spelled}" if spelled else ""
        line, known = place.line if place else 0, certain and bool(spelled)
        self.sources.append(StatusSource(status, message, line, known))
        if self.told is not None:
            self._tell(raised)

    def warned(
        self,
        op: str,
        operands: tuple[Expr, ...],
        value: Expr,
        spelled: str | None,
        node: ast.AST,
        statuses: tuple[str, ...] | None = None,
        *,
        certain: bool = True,
    ) -> Expr:
        """`value`, which is `op` on the operands and may warn: of all that `op` may, by default."""
        telling = self.told is not None
        if telling:
            operands, value = tuple(map(self.bind, operands)), self.bind(value)
        for status in OPS[op].raises if statuses is None else statuses:
            by = raised(status, op, operands, value) if telling else TRUE
            self.source(status, spelled, node, by, certain=certain)
        return value

    def _tell(self, raised: Expr) -> None:
        """Notes when the latest source raised first: as the how-manieth of all."""
        assert self.told is not None
        if self.path is not None:
            raised = logic("and", self.path, raised)
        count, mine = (Load(self.told, (integer(k),), "i64") for k in (0, len(self.sources)))
        first = logic("and", raised, Call("eq", (mine, integer(0)), "bool"))
        more = Call("add", (count, integer(1)), "i64")
        both = Store(self.told, count.index, more), Store(self.told, mine.index, count)
        self.emit(If(first, both))

    def apply(self, op: str, *args: Expr, dtype: str | None = None) -> Expr:
        """``Call(op, …)``.

        Where the value may not matter, an operand that could raise gives way to a safe one.
        """
        row = OPS[op]
        if self.path is not None and row.safe is not None:
            k = 1 if op in ("div", "floordiv", "mod") else 0
            dt = args[k].dtype
            value = row.safe if DTYPES[dt].kind == "f" else int(row.safe)
            safe = Call("select", (self.path, args[k], Const(value, dt)), dt)
            args = (*args[:k], safe, *args[k + 1 :])
        return Call(op, args, dtype or ("bool" if row.result == "m" else args[-1].dtype))

    def rebind(self, n: Num, hint: str) -> Num:
        """`n` under a name of its own; a Python int keeps its linear form."""
        e = self.bind(n.ir, hint)
        if e is not n.ir and n.python_int and n.linear is None:
            return self.integer_num(e, n.interval)
        return replace(n, ir=e)


def param_of(name: str, ty: ArrayType) -> Param:
    """An array as the kernel has it: complex numbers are an axis of two floats."""
    if ty.dtype in PARTS:
        return Param(name, PARTS[ty.dtype], ty.rank + 1, ty.rank)
    return Param(name, ty.dtype, ty.rank, ty.unit)
