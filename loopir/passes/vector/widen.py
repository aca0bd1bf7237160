"""Widening: the scalar statements of one iteration as vector statements of ``W`` iterations.

    y[i] = x[i] * 2.0 + b     →     y[i:W] = x[i:W] * broadcast(2.0, W) + broadcast(b, W)

A load that advances with the vector loop becomes a vector load, whose lanes lie a step apart (in C:
contiguous, reversed or gathered: `_lanes_from` of `targets.c.c_expressions`), the loop variable a
ramp, and an operation with a vector operand a vector operation. A uniform value stays scalar, and
is broadcast where a vector needs it. The callers, `vectorize`, `vectorize_outer` and
`vectorize_divergent`, have made sure that this is legal.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ...algebra.may_raise import may_raise_flags
from ...analysis.access import LoopSubscripts
from ...ir_traversal import walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Append,
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    If,
    Load,
    Loop,
    Prefix,
    Ramp,
    Stmt,
    Store,
    Var,
    Yield,
)

__all__ = ["WIDTH", "Widener", "LaneAccesses", "is_pure_select", "as_vector"]

WIDTH = "W"


def as_vector(e: Expr) -> Expr:
    """`e`, broadcast if it is a scalar."""
    return e if e.lanes != 1 else Broadcast(e, WIDTH)


def is_pure_select(s: If) -> bool:
    """Whether a branch only selects between values that may both be computed."""
    sides = [e for y in s.yields for e in (y.then, y.orelse)]
    reads = any(isinstance(n, Load) for e in sides for n in walk(e))
    return not (s.then or s.orelse or reads or any(map(may_raise_flags, sides)))


class LaneAccesses(Protocol):
    """The lane strides of accesses: `LoopSubscripts` of an innermost loop, or `Uniformity`."""

    def lane_axis_and_stride(self, n: Load | Store) -> tuple[int, int] | None:
        """``(axis, step)``: the axis along which lanes lie, and their distance; ``(0, 0)`` if
        uniform, None if irregular.
        """

    def index(self, n: Load | Store) -> tuple[Expr, ...]:
        """The subscripts of lane 0, over names that are bound outside or uniform."""


class Widener:
    """Widens the body of `loop`: `stmt` for each kind of statement, `expr` for each kind of
    expression. Uniform values stay scalar until a vector needs them.

        x[i]       x[i:W]            a contiguous load: step 1 from lane to lane
        x[2 * i]   x[2 * i:W:2]      a load of step 2 (the C printer decides how)
        x[k]       x[k]              uniform: a scalar, broadcast where a vector needs it
        i          ramp(i, 1, W)     i, i + 1, …, i + W - 1

    ``vectors`` maps the names that are vectors to the name of the vector: the reductions of the
    loop; for a loop with inner loops, every varying name. `stmt` adds the names whose value turns
    out to be a vector. ``strides`` gives the axis and the step from lane to lane of each access.
    """

    def __init__(
        self, loop: Loop, vectors: Mapping[str, str], strides: LaneAccesses | None = None
    ) -> None:
        self.loop, self.subscripts = loop, strides or LoopSubscripts(loop)
        self.vectors = dict(vectors)

    def block(self, stmts: Iterable[Stmt]) -> tuple[Stmt, ...]:
        """The widened statements."""
        return tuple(widened for s in stmts for widened in self._statements(s))

    def _statements(self, s: Stmt) -> tuple[Stmt, ...]:
        """`s` widened; a branch that only selects, with a varying condition, becomes selects."""
        if isinstance(s, If) and is_pure_select(s) and (cond := self.expr(s.cond)).lanes != 1:
            return tuple(Assign(y.name, self._select(cond, y)) for y in s.yields)
        return (self.stmt(s),)

    def _select(self, cond: Expr, y: Yield) -> Expr:
        """The select that a yield becomes; its name is a vector from here on."""
        sides = (as_vector(self.expr(e)) for e in (y.then, y.orelse))
        self.vectors[y.name] = y.name
        return Call("select", (cond, *sides), y.then.dtype, WIDTH)

    def stmt(self, s: Stmt) -> Stmt:
        """`s` widened. An inner loop or branch must be uniform: it stays one."""
        match s:
            case Assign():
                value = self._as(s.name, s.value)
                if value.lanes != 1:
                    self.vectors[s.name] = s.name
                return replace(s, value=value)
            case Store():
                axis, step = self._stride(s)
                value, mask = as_vector(self.expr(s.value)), self._mask(s.mask)
                index = self.subscripts.index(s)
                return Store(s.array, index, value, mask, axis, step, span=s.span)
            case Append():
                return replace(s, value=as_vector(self.expr(s.value)), mask=self._mask(s.mask))
            case Prefix(name=name, before=before):
                self.vectors.update({n: n for n in (name, before) if n})
                factor = None if s.factor is None else as_vector(self.expr(s.factor))
                return replace(s, value=as_vector(self.expr(s.value)), factor=factor)
            case Check():
                return replace(s, cond=self.expr(s.cond))
            case If():
                yields = tuple(self._yield(y) for y in s.yields)
                then, orelse = self.block(s.then), self.block(s.orelse)
                return replace(s, then=then, orelse=orelse, yields=yields)
            case Loop():
                accs = tuple(self.widened_accum(a) for a in s.accs)
                return replace(s, body=self.block(s.body), accs=accs)
            case _:
                raise AssertionError(f"no straight-line code: {s!r}")

    def expr(self, e: Expr) -> Expr:
        """`e` widened: a vector if it varies, else a scalar."""
        match e:
            case Const() | Dim():
                return e
            case Var(name) if name == self.loop.var:
                return Ramp(e, 1, WIDTH)
            case Var(name) if name in self.vectors:
                return replace(e, name=self.vectors[name], lanes=WIDTH)
            case Var():
                return e
            case Load():
                axis, step = self._stride(e)
                index = self.subscripts.index(e)
                if step == 0:
                    return replace(e, index=index)
                return Load(e.array, index, e.dtype, WIDTH, axis, step, span=e.span)
            case Call():
                args = tuple(self.expr(a) for a in e.args)
                if all(a.lanes == 1 for a in args):
                    return replace(e, args=args)
                return replace(e, args=tuple(as_vector(a) for a in args), lanes=WIDTH)
            case _:
                raise AssertionError(f"a vector before vectorisation: {e!r}")

    def _as(self, name: str, value: Expr) -> Expr:
        """`value` widened for `name`; broadcast if `name` is known to be a vector."""
        return as_vector(self.expr(value)) if name in self.vectors else self.expr(value)

    def widened_accum(self, a: Accum) -> Accum:
        """The accumulator of an inner loop, widened."""
        return replace(a, init=self._as(a.name, a.init), step=self._as(a.name, a.step))

    def _yield(self, y: Yield) -> Yield:
        """The yield of a uniform branch, widened."""
        return replace(y, then=self._as(y.name, y.then), orelse=self._as(y.name, y.orelse))

    def _mask(self, mask: Expr | None) -> Expr | None:
        """The mask as a vector; None if there is none."""
        return None if mask is None else as_vector(self.expr(mask))

    def _stride(self, n: Load | Store) -> tuple[int, int]:
        """Axis and step of an access, which the caller of the Widener has found to be known."""
        stride = self.subscripts.lane_axis_and_stride(n)
        assert stride is not None, "an access without a regular place"
        return stride
