"""The state of one lowering: the blocks being filled, what is known of names, and the guards
collected.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeAlias

from loopir.nodes import (
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Disjoint,
    Expr,
    Guard,
    Param,
    Span,
    Stmt,
    Var,
)
from loopir.ops import OPS
from loopir.tree import walk

from ..infer import TRUE, Num, logic
from ..plan import Binding, Returned, StatusSource
from ..ranges import ARGUMENT, INT64, LENGTH, Interval, Linear, integer
from ..rejections import Refused, Rejection

__all__ = ["ArrayRef", "Builder", "Frame", "ListRef", "Made", "Unbound", "Value", "refuse", "span"]


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """An array parameter of the kernel, or with ``prefix`` a view of it along its first axes;
    ``shape`` is the whole array's.
    """

    name: str
    dtype: str
    unit: int | None
    shape: tuple[Num, ...]
    prefix: tuple[Num, ...] = ()
    weak: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape) - len(self.prefix)


@dataclass(frozen=True, slots=True)
class ListRef:
    """A list under construction."""

    name: str


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of a finished list: how it is returned, and the array that it can be read as.
    """

    returned: Returned
    array: ArrayRef | None


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name that Python might find without a value here; ``needed`` (a bool), if given, says when
    it has ``value``.
    """

    value: Num | None = None
    needed: Expr | None = None


Value: TypeAlias = "Num | ArrayRef | ListRef | Made | Unbound | tuple[Any, ...]"


@dataclass(frozen=True, slots=True)
class Frame:
    """An enclosing loop: its variable, trip count, and the linear form of the count where it is
    positive.
    """

    var: Var
    trips: Expr
    linear: Linear


def span(node: ast.AST) -> Span:
    """The place of `node` in the user's file."""
    n: Any = node
    return Span(n.lineno, n.col_offset, n.end_lineno or n.lineno, n.end_col_offset or n.col_offset)


def refuse(code: str, message: str, node: ast.AST | None, help: str | None = None) -> NoReturn:
    """Gives the region back to Python."""
    raise Refused(Rejection(code, message, span(node) if node is not None else None, help=help))


_CLASS = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}


@dataclass
class Builder:
    """Everything that lowering writes to; `trial` undoes it."""

    env: dict[str, Value] = field(default_factory=dict)
    params: dict[str, Param] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    block: list[Stmt] = field(default_factory=list)
    guards: list[Guard | Disjoint] = field(default_factory=list)
    strict: set[str] = field(default_factory=set)
    sources: list[StatusSource] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    intervals: dict[Expr, Interval] = field(default_factory=dict)
    deltas: dict[Expr, tuple[Expr, Interval]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    accumulators: set[Expr] = field(default_factory=set)
    path: Expr | None = None
    branches: int = 0
    raises: bool = False

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
            yield
        finally:
            self.path = outer

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

    def emit(self, stmt: Stmt) -> None:
        self.block.append(stmt)

    def bind(self, e: Expr, hint: str = "t") -> Expr:
        """`e` under a name, so that using it twice does not compute it twice."""
        if isinstance(e, (Const, Var, Dim)):
            return e
        name = self.name(hint)
        self.emit(Assign(name, e))
        return Var(name, e.dtype)

    # -- what must hold

    def invariant(self, e: Expr) -> bool:
        """Whether `e` can be evaluated before the first statement."""
        return all(
            isinstance(n, (Const, Dim, Call)) or (isinstance(n, Var) and n.name in self.params)
            for n in walk(e)
        )

    def require(self, cond: Expr, code: str, node: ast.AST) -> None:
        """Python must decide unless `cond` holds here: a guard before the first store if possible,
        else a check on the spot.
        """
        if self.path is not None:
            cond = logic("or", logic("not", self.path), cond)
        if cond == TRUE:
            return
        if self.branches == 0 and self.invariant(cond):
            self.guard(cond, code, node)
        else:
            self.raises = True
            self.emit(Check(cond, "replay", span=span(node)))

    def guard(self, cond: Expr, code: str, node: ast.AST) -> None:
        """`cond` must hold before the kernel starts, unless an enclosing loop has no iteration."""
        for frame in self.frames:
            if self.invariant(frame.trips) and self.low(Linear.of(frame.trips)) < 1:
                cond = logic("or", cond, Call("le", (frame.trips, integer(0)), "bool"))
        if cond != TRUE and not any(isinstance(g, Guard) and g.cond == cond for g in self.guards):
            self.guards.append(Guard(cond, code, span=span(node)))

    def check(self, cond: Expr, status: str) -> None:
        """Where `cond` fails NumPy would warn: `status` is a class of np.errstate."""
        if self.path is not None:
            cond = logic("or", logic("not", self.path), cond)
        if cond != TRUE:
            self.emit(Check(cond, status))

    def source(
        self,
        op: str,
        spelled: str,
        node: ast.AST,
        classes: tuple[str, ...] | None = None,
        *,
        certain: bool = True,
    ) -> None:
        """Notes that `op` may warn, under NumPy's name for it."""
        for status in OPS[op].raises if classes is None else classes:
            message = f"{_CLASS[status]} encountered in {spelled}"
            self.sources.append(StatusSource(status, message, span(node).line, certain))

    def apply(self, op: str, *args: Expr, dtype: str | None = None) -> Expr:
        """``Call(op, …)``; where the value may not matter, an operand that could raise is replaced
        by a safe one.
        """
        row = OPS[op]
        if self.path is not None and row.safe is not None:
            k = 1 if op in ("div", "floordiv", "mod") else 0
            dt = args[k].dtype
            value = row.safe if dt in ("f32", "f64") else int(row.safe)
            safe = Call("select", (self.path, args[k], Const(value, dt)), dt)
            args = (*args[:k], safe, *args[k + 1 :])
        return Call(op, args, dtype or ("bool" if row.result == "m" else args[-1].dtype))

    # -- integers

    def interval(self, atom: Expr) -> Interval:
        """An interval of an i64 expression."""
        if atom in self.intervals:
            return self.intervals[atom]
        match atom:
            case Const(value):
                return int(value), int(value)
            case Dim():
                return LENGTH
            case Var(name) if name in self.params:
                return ARGUMENT
            case Call("max" | "min" as op, (p, q), "i64"):
                pick = max if op == "max" else min
                (a, c), (d, e) = self.interval(p), self.interval(q)
                return pick(a, d), pick(c, e)
            case Call("add" | "sub" | "mul" | "neg", args, "i64"):
                return self._arithmetic(atom.op, [self.interval(a) for a in args])
            case _:
                return INT64

    @staticmethod
    def _arithmetic(op: str, parts: list[Interval]) -> Interval:
        a, b = parts[0], parts[-1]
        if op == "add":
            return a[0] + b[0], a[1] + b[1]
        if op == "sub":
            return a[0] - b[1], a[1] - b[0]
        if op == "neg":
            return -a[1], -a[0]
        corners = [x * y for x in a for y in b]
        return min(corners), max(corners)

    def linear(self, e: Expr) -> Linear:
        """The linear form of an i64 expression made of sums and multiples."""
        match e:
            case Call("add", (p, q), "i64"):
                return self.linear(p) + self.linear(q)
            case Call("sub", (p, q), "i64"):
                return self.linear(p) - self.linear(q)
            case Call("mul", (p, Const(value)), "i64"):
                return self.linear(p) * int(value)
            case _:
                return Linear.of(e)

    def low(self, linear: Linear) -> int:
        """The least value that `linear` can have."""
        return linear.bounds(self.interval)[0]

    def high(self, linear: Linear) -> int:
        """The greatest value that `linear` can have."""
        return linear.bounds(self.interval)[1]

    def from_linear(self, linear: Linear) -> Num:
        """A Python int with a known linear form."""
        lo, hi = linear.bounds(self.interval)
        return Num(linear.expr(), weak="i64", linear=linear, interval=(lo, hi))

    def integer_num(self, e: Expr, interval: Interval | None = None) -> Num:
        """A Python int with `e` as its only atom."""
        if interval is not None:
            self.intervals[e] = interval
        return Num(e, weak="i64", linear=Linear.of(e), interval=self.interval(e))

    def rebind(self, n: Num, hint: str) -> Num:
        """`n` under a name of its own; a Python int keeps its linear form."""
        e = self.bind(n.ir, hint)
        if e is not n.ir and n.python_int and n.linear is None:
            return self.integer_num(e, n.interval)
        return replace(n, ir=e)
