"""The operations of a loop nest, and how they depend on loops and on one another."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from .analysis.access import Access, subscripted, unit_stride
from .analysis.affine import Affine, affine, variable
from .analysis.dependence import trip_count
from .analysis.lengths import longest
from .exhaustive import unhandled
from .nodes import (
    Append,
    Assign,
    Bits,
    Break,
    Call,
    Check,
    Expr,
    If,
    Interval,
    Load,
    Local,
    Loop,
    Node,
    Param,
    PredLoop,
    Prefix,
    Return,
    Scan,
    Stmt,
    Store,
    Var,
    VecLoop,
    While,
    Zip,
)
from .ops import OPS
from .record import record
from .tree import children
from .types import DTYPES

__all__ = ["Builder", "Operation", "Reference"]


@record(frozen=True, slots=True)
class Reference:
    """The element that a load or store touches; ``unit``: the loop that walks it one by one."""

    array: str
    index: tuple[Affine | None, ...]
    unit: str | None

    def __str__(self) -> str:
        return subscripted(self.array, self.index)


@record(frozen=True, slots=True)
class Operation:
    """One operation: a row of ``ops.OPS``, or load, store, append, check, start, step, result.

    ``loops``: those whose iterations tell its values apart, outermost first. ``parents``: the
    numbers of the operations it uses. ``around``: the loops around it in the text.
    """

    op: str
    dtype: str
    loops: tuple[str, ...]
    parents: tuple[int, ...] = ()
    ref: Reference | None = None
    around: tuple[str, ...] = field(default=(), compare=False)

    @property
    def flops(self) -> float:
        """Floating-point work, in additions."""
        is_work = self.op in OPS and DTYPES[self.dtype].kind == "f" and self.op != "cast"
        return OPS[self.op].weight if is_work else 0.0

    @property
    def bytes(self) -> int:
        """Bytes it moves between memory and registers."""
        return DTYPES[self.dtype].bytes if self.op in ("load", "store", "append") else 0


@record(frozen=True, slots=True)
class _Value:
    """What an expression stands for: the operations it comes from, the loops it changes with."""

    operations: tuple[int, ...] = ()
    loops: frozenset[str] = frozenset()


class Builder:
    """A walk in order of evaluation that gives each operation a number."""

    def __init__(
        self, params: Mapping[str, Param], names: Mapping[str, Expr] | None = None
    ) -> None:
        self.params, self.names = params, names or {}
        self.order: list[str] = []  # all loops so far
        self.trips: dict[str, int] = {}  # how often they run at most, where that is a number
        self.around: list[str] = []  # those around the statement at hand
        self.operations: list[Operation] = []
        self.values: dict[str, _Value] = {}
        self.known: dict[str, Affine | None] = {}
        self.seen: dict[Operation, _Value] = {}

    # -- statements

    def block(self, stmts: Iterable[Stmt]) -> None:
        for s in stmts:
            self.stmt(s)

    def stmt(self, s: Stmt) -> None:
        match s:
            case Assign():
                self.values[s.name] = self.expr(s.value)
                self.known[s.name] = affine(s.value, (), self.known)
            case Store():
                ref, place = self.reference(s.array, s.index)
                parts = [self.expr(e) for e in (s.value, s.mask) if e is not None]
                self.add("store", s.value.dtype, [*parts, place], ref=ref)
                self.seen.clear()
            case Append():
                parts = [self.expr(e) for e in (s.value, s.mask) if e is not None]
                place = _Value(loops=frozenset(self.around))
                ref = Reference(s.array, (None,), None)
                self.add("append", s.value.dtype, [*parts, place], ref=ref)
                self.seen.clear()
            case Check() | Break():
                self.add("check", "bool", [self.expr(s.cond)])
            case If():
                self.branch(s)
            case Loop():
                self.loop(s)
            case Return():
                pass
            case Zip() | VecLoop() | PredLoop() | Scan() | While() | Prefix() | Local() | Bits():
                raise ValueError(f"a LoopSet has no {type(s).__name__}")
            case _:
                unhandled(s)

    def branch(self, s: If) -> None:
        cond = self.expr(s.cond)
        self.block((*s.then, *s.orelse))
        for y in s.yields:
            parts = [cond, self.expr(y.then), self.expr(y.orelse)]
            self.values[y.name] = self.add("select", y.then.dtype, parts)
            self.known[y.name] = None

    def loop(self, s: Loop) -> None:
        outside = frozenset(self.around)
        self.seen.clear()
        for a in s.accs:
            self.values[a.name] = self.add("start", a.init.dtype, [self.expr(a.init)], outside)
            self.known[a.name] = None
        self.around.append(s.var)
        if s.var not in self.order:
            self.order.append(s.var)
        count = trip_count(s.range)
        if count is not None and count.number is not None:
            self.trips[s.var] = max(count.number, 0)
        elif isinstance(s.range, Interval) and (most := longest(s.range, self.names)) is not None:
            self.trips[s.var] = most
        self.known[s.var] = variable(s.var)
        self.values[s.var] = _Value(loops=frozenset((s.var,)))
        self.block(s.body)
        steps = [(a, self.step(a.step, s.var)) for a in s.accs]
        self.around.pop()
        self.seen.clear()
        for a, step in steps:
            self.values[a.name] = self.add("result", a.init.dtype, [step], step.loops - {s.var})

    def step(self, e: Expr, var: str) -> _Value:
        """The last operation of a step, which is another one in each iteration."""
        value = self.expr(e)
        loops = value.loops | {var}
        if isinstance(e, Call) and value.operations:
            [number] = value.operations
            self.operations[number] = replace(self.operations[number], loops=self.ordered(loops))
            return _Value((number,), loops)
        return self.add("step", e.dtype, [value], loops)

    # -- expressions

    def expr(self, e: Node) -> _Value:
        match e:
            case Var():
                return self.values.get(e.name, _Value())
            case Load():
                ref, place = self.reference(e.array, e.index)
                return self.add("load", e.dtype, [place], ref=ref)
            case Call():
                return self.add(e.op, e.dtype, [self.expr(a) for a in e.args])
        parts = [self.expr(c) for c in children(e)]
        return _Value(_joined(parts), frozenset(v for p in parts for v in p.loops))

    def reference(self, array: str, index: tuple[Expr, ...]) -> tuple[Reference, _Value]:
        """An element, and what its opaque subscripts are computed from."""
        forms = tuple(affine(e, (), self.known) for e in index)
        access = Access(array, forms, False, 0, False, tuple(self.around))
        param = self.params[array]
        unit = next((v for v in self.around if unit_stride(access, param, v)), None)
        opaque = [self.expr(e) for e, f in zip(index, forms, strict=True) if f is None]
        moving: frozenset[str] = frozenset()
        moving = moving.union(*(f.variables for f in forms if f), *(v.loops for v in opaque))
        return Reference(array, forms, unit), _Value(_joined(opaque), moving)

    def add(
        self,
        op: str,
        dtype: str,
        parts: Iterable[_Value],
        loops: frozenset[str] | None = None,
        ref: Reference | None = None,
    ) -> _Value:
        """A new operation, or the equal one before; `loops`: if not those of its `parts`."""
        parts = tuple(parts)
        if loops is None:
            loops = frozenset(v for p in parts for v in p.loops)
        new = Operation(op, dtype, self.ordered(loops), _joined(parts), ref, tuple(self.around))
        if new in self.seen:
            return self.seen[new]
        self.operations.append(new)
        value = _Value((len(self.operations) - 1,), loops)
        if op in OPS or op == "load":
            self.seen[new] = value
        return value

    def ordered(self, loops: frozenset[str]) -> tuple[str, ...]:
        return tuple(v for v in self.order if v in loops)


def _joined(parts: Iterable[_Value]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(k for p in parts for k in p.operations))
