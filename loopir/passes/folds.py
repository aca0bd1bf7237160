"""Folds: accumulators whose iterations may be taken in another order."""
from __future__ import annotations

from dataclasses import dataclass

from ..nodes import Accum, Call, Check, Expr, Loop, Var, counters, walk
from ..ops import OPS
from ..types import DTYPES
from .masks import negated
from .names import reads
from .rules import rewrite
from .values import unit

__all__ = ["Fold", "checks_of", "fold_of", "needs_reassociation"]


@dataclass(frozen=True, slots=True)
class Fold:
    """``acc = op(acc, value)``, ``op(value, acc)`` if not ``acc_first``; where ``cond`` holds."""

    acc: Accum
    op: str
    value: Expr
    acc_first: bool = True
    cond: Expr | None = None

    @property
    def dtype(self) -> str:
        return self.acc.init.dtype

    @property
    def is_inexact(self) -> bool:
        """Whether the order of the terms changes the result's rounding."""
        return DTYPES[self.dtype].kind == "f" and OPS[self.op].unit is not None

    @property
    def start(self) -> Expr:
        """What each of several partial folds starts as."""
        return unit(self.op, self.dtype) or self.acc.init

    def step(self, acc: Expr) -> Expr:
        """One step from `acc`."""
        args = (acc, self.value) if self.acc_first else (self.value, acc)
        step = rewrite(Call(self.op, args, self.dtype))
        if self.cond is None:
            return step
        return Call("select", (self.cond, step, acc), self.dtype)


def fold_of(acc: Accum, loop: Loop) -> Fold | None:
    """The fold that `acc` is in `loop`; None where it is none, or something else reads it."""
    name = acc.name
    others = [a.step for a in loop.accs if a is not acc]
    free = [s for s in loop.body if s not in checks_of(acc, loop)]
    if name in counters(loop) or name in reads(*others, *free):
        return None
    fold = _matched(acc, acc.step)
    return fold if fold and name not in reads(fold.value, fold.cond) else None


def needs_reassociation(loop: Loop) -> bool:
    """Whether some accumulator of `loop` is a fold whose result depends on the order."""
    folds = [fold_of(a, loop) for a in loop.accs]
    return any(f is not None and f.is_inexact for f in folds)


def checks_of(acc: Accum, loop: Loop) -> tuple[Check, ...]:
    """The checks in `loop` that a step of `acc` by adding does not overflow."""
    found = (s for s in loop.body if isinstance(s, Check) and acc.name in reads(s))
    return tuple(s for s in found if _is_overflow(acc.name, s.cond))


def _is_overflow(name: str, cond: Expr) -> bool:
    """Whether `cond` reads `name` only as ``add_over(name, e)`` or ``sub_over(name, e)``."""
    tests = [n for n in walk(cond) if isinstance(n, Call) and n.op in ("add_over", "sub_over")]
    ours = [t for t in tests if isinstance(t.args[0], Var) and t.args[0].name == name]
    times = sum(isinstance(n, Var) and n.name == name for n in walk(cond))
    return len(ours) == times == 1


def _matched(acc: Accum, step: Expr) -> Fold | None:
    match step:
        case Call(op="select", args=(cond, taken, kept)) if _is(acc, kept):
            return _conditional(_matched(acc, taken), cond)
        case Call(op="select", args=(cond, kept, taken)) if _is(acc, kept):
            return _conditional(_matched(acc, taken), negated(cond))
        case Call(op="sub", args=(first, value)):
            minus = rewrite(Call("neg", (value,), value.dtype))
            return _chained(acc, "add", first, minus)
        case Call(op=op, args=(a, b)) if _reduces(op):
            if _is(acc, b):
                return Fold(acc, op, a, acc_first=False) if _commutes(op, acc) else None
            return _chained(acc, op, a, b)
        case _:
            return None


def _chained(acc: Accum, op: str, first: Expr, value: Expr) -> Fold | None:
    """``op(first, value)``: first is the accumulator, or a chain of the same fold from it."""
    if _is(acc, first):
        return Fold(acc, op, value)
    inner = _matched(acc, first)
    if inner is None or inner.op != op or inner.cond or not inner.acc_first:
        return None
    if not _associates(op, acc):
        return None
    return Fold(acc, op, rewrite(Call(op, (inner.value, value), value.dtype)))


def _conditional(fold: Fold | None, cond: Expr) -> Fold | None:
    """`fold`, only where `cond` holds: if the operation has a unit, a fold of a select."""
    if fold is None or fold.cond is not None:
        return None
    none = unit(fold.op, fold.dtype)
    if none is None:
        return Fold(fold.acc, fold.op, fold.value, fold.acc_first, cond)
    value = rewrite(Call("select", (cond, fold.value, none), fold.dtype))
    return Fold(fold.acc, fold.op, value, fold.acc_first)


def _is(acc: Accum, e: Expr) -> bool:
    return isinstance(e, Var) and e.name == acc.name


def _reduces(op: str) -> bool:
    row = OPS[op]
    return row.arity == 2 and (row.unit is not None or row.idempotent)


def _commutes(op: str, acc: Accum) -> bool:
    """Whether ``op(value, acc)`` folds: Python's min and max start again at each NaN value."""
    return op not in ("min", "max") or DTYPES[acc.init.dtype].kind != "f"


def _associates(op: str, acc: Accum) -> bool:
    """Whether ``op(op(acc, a), b)`` is ``op(acc, op(a, b))``: not for `min` with a NaN `a`."""
    return _commutes(op, acc)
