"""Folds: accumulators whose iterations may be taken in another order."""
from __future__ import annotations

from dataclasses import replace

from ..algebra.index import negated
from ..algebra.rules import rewrite
from ..algebra.values import unit
from ..names import reads
from ..nodes import Accum, Call, Check, Expr, Loop, Var
from ..ops import OPS
from ..record import record
from ..tree import counters, walk
from ..types import DTYPES

__all__ = ["Fold", "checks_of", "fold_of", "matched"]


@record(frozen=True, slots=True)
class Fold:
    """``acc = op(acc, value)``, ``op(value, acc)`` if not ``acc_first``; where ``cond`` holds.

    Of float extrema: with ``takes_last`` the last of several equal zeros stays, else the first.
    One that ``restarts`` is a fold only as long as there is no NaN, which ``op`` shows: Python's
    ``min(value, acc)`` takes a NaN, and then whatever comes next.
    """

    acc: Accum
    op: str
    value: Expr
    acc_first: bool = True
    cond: Expr | None = None
    takes_last: bool = False
    restarts: bool = False

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
    fold = matched(acc, acc.step)
    return fold if fold and name not in reads(fold.value, fold.cond) else None


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


def matched(acc: Accum, step: Expr) -> Fold | None:
    """`step` as one of a fold; its term may still read anything."""
    match step:
        case Call(op="select", args=(Call(op="le" | "ge") as test, value, kept)) if (
            _is(acc, kept) and _is_loose(acc, test, value)
        ):
            upwards = (test.op == "ge") == (test.args[0] == value)
            return Fold(acc, "max" if upwards else "min", value, takes_last=True)
        case Call(op="select", args=(cond, taken, kept)) if _is(acc, kept):
            return _conditional(matched(acc, taken), cond)
        case Call(op="select", args=(cond, kept, taken)) if _is(acc, kept):
            return _conditional(matched(acc, taken), negated(cond))
        case Call(op="select", args=(cond, taken, other)):
            return _either(matched(acc, taken), matched(acc, other), cond)
        case Call(op="sub", args=(first, value)):
            minus = rewrite(Call("neg", (value,), value.dtype))
            return _chained(acc, "add", first, minus)
        case Call(op=op, args=(a, b)) if OPS[op].reduces:
            return _flipped(acc, op, a) if _is(acc, b) else _chained(acc, op, a, b)
        case _:
            return None


def _flipped(acc: Accum, op: str, value: Expr) -> Fold:
    """``op(value, acc)``."""
    if op in ("min", "max") and DTYPES[acc.init.dtype].kind == "f":
        return Fold(acc, _PROPAGATING[op], value, takes_last=True, restarts=True)
    return Fold(acc, op, value, acc_first=False)


_PROPAGATING = {"min": "minimum", "max": "maximum"}


def _is_loose(acc: Accum, test: Call, value: Expr) -> bool:
    """Whether `test` lets `value` take the accumulator's place where it is equal or beyond."""
    a, b = test.args
    return DTYPES[value.dtype].kind == "f" and value in (a, b) and _is(acc, b if value == a else a)


def _chained(acc: Accum, op: str, first: Expr, value: Expr) -> Fold | None:
    """``op(first, value)``: first is the accumulator, or a chain of the same fold from it."""
    if _is(acc, first):
        return Fold(acc, op, value, takes_last=op in ("minimum", "maximum"))
    inner = matched(acc, first)
    if inner is None or inner.op != op or inner.cond or not inner.acc_first:
        return None
    if inner.restarts or not _associates(op, acc):
        return None
    return replace(inner, value=rewrite(Call(op, (inner.value, value), value.dtype)))


def _conditional(fold: Fold | None, cond: Expr) -> Fold | None:
    """`fold`, only where `cond` holds: if the operation has a unit, a fold of a select."""
    if fold is None or fold.cond is not None:
        return None
    none = unit(fold.op, fold.dtype)
    if none is None:
        return replace(fold, cond=cond)
    value = rewrite(Call("select", (cond, fold.value, none), fold.dtype))
    return replace(fold, value=value)


def _either(a: Fold | None, b: Fold | None, cond: Expr) -> Fold | None:
    """`a` where `cond` holds, else `b`: a fold of a select, where they differ in the value only."""
    if a is None or b is None or a.cond is not None or replace(a, value=b.value) != b:
        return None
    return replace(a, value=rewrite(Call("select", (cond, a.value, b.value), a.dtype)))


def _is(acc: Accum, e: Expr) -> bool:
    return isinstance(e, Var) and e.name == acc.name


def _associates(op: str, acc: Accum) -> bool:
    """Whether ``op(op(acc, a), b)`` is ``op(acc, op(a, b))``: not for `min` with a NaN `a`."""
    return op not in ("min", "max") or DTYPES[acc.init.dtype].kind != "f"
