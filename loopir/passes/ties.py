"""The sign of a zero: which of several equal zeros a float minimum or maximum keeps."""
from __future__ import annotations

from ..names import rename
from ..nodes import (
    Accum,
    Assign,
    Call,
    Const,
    Expr,
    If,
    Interval,
    Loop,
    Stmt,
    Var,
    Yield,
)
from ..types import DTYPES, INDEX
from .blocks import needed
from .folds import Fold
from .memory import Memory, loaded, written
from .names import Fresh, substitute
from .values import integer, literal

__all__ = ["exact_zero", "has_ties", "is_repeatable"]


def has_ties(f: Fold) -> bool:
    """Whether the result of `f` may be a zero whose sign depends on the order of the terms."""
    extremum = f.op in ("min", "max", "minimum", "maximum")
    return extremum and DTYPES[f.dtype].kind == "f" and not _has_one_zero(f)


def _has_one_zero(f: Fold) -> bool:
    """Whether every zero that takes part is positive."""
    start = f.acc.init
    plain = isinstance(start, Const) and start != literal(-0.0, f.dtype)
    match f.value:
        case Call(op="abs"):
            return plain
        case Call(op="mul", args=(a, b)):
            return plain and a == b
        case Call(op="cast", args=(x,)):
            return plain and DTYPES[x.dtype].kind != "f"
        case _:
            return False


def term(f: Fold, loop: Loop) -> tuple[Assign, ...]:
    """The assignments of the body that the term and condition of `f` need."""
    return needed(loop.body, f.value, *((f.cond,) if f.cond else ()))


def exact_zero(f: Fold, result: Expr, loop: Loop, fresh: Fresh) -> If:
    """Binds the accumulator to `result`, or where that is a zero to the one of Python's order.

    `min` and `max` keep the first zero, ``minimum(acc, x)`` takes the last. The scalar loop that
    looks for it ends where it finds it.
    """
    is_zero = Call("eq", (result, literal(0, f.dtype)), "bool")
    search, found = _search(f, loop, fresh)
    return If(is_zero, (search,), (), (Yield(f.acc.name, found, result),))


def _search(f: Fold, loop: Loop, fresh: Fresh) -> tuple[Loop, Expr]:
    """The scalar loop that looks for the zero, and its answer."""
    takes_last = f.op in ("minimum", "maximum") and f.acc_first
    found = _last(f, loop) if takes_last else _first(f, loop)
    names = {n: fresh.name(n) for n in (loop.var, f.acc.name, _HIT, *_names(term(f, loop)))}
    return rename(found, names), Var(names[f.acc.name], f.dtype)


def _names(assigns: tuple[Assign, ...]) -> list[str]:
    return [s.name for s in assigns]


_HIT = "hit"


def _first(f: Fold, loop: Loop) -> Loop:
    """The fold itself, until it is zero: it stays that zero."""
    acc = Var(f.acc.name, f.dtype)
    done = Call("eq", (acc, literal(0, f.dtype)), "bool")
    step = Accum(acc.name, f.acc.init, f.step(acc))
    return Loop(loop.var, loop.range, term(f, loop), (step,), done)


def _last(f: Fold, loop: Loop) -> Loop:
    """From the end to the first term that is zero."""
    acc, hit = Var(f.acc.name, f.dtype), Var(_HIT, "bool")
    assert isinstance(loop.range, Interval)
    end = Call("sub", (Call("add", (loop.range.lo, loop.range.hi), INDEX), integer(1)), INDEX)
    mirrored = {loop.var: Call("sub", (end, Var(loop.var, INDEX)), INDEX)}
    is_zero: Expr = Call("eq", (f.value, literal(0, f.dtype)), "bool")
    if f.cond is not None:
        is_zero = Call("and", (f.cond, is_zero), "bool")
    body: tuple[Stmt, ...] = tuple(substitute(s, mirrored) for s in term(f, loop))
    is_zero, value = substitute(is_zero, mirrored), substitute(f.value, mirrored)
    accs = (
        Accum(acc.name, f.acc.init, Call("select", (is_zero, value, acc), f.dtype)),
        Accum(hit.name, literal(False, "bool"), is_zero),
    )
    return Loop(loop.var, loop.range, body, accs, hit)


def is_repeatable(f: Fold, loop: Loop, memory: Memory) -> bool:
    """Whether the terms of `f` are still there after the loop."""
    return not memory.overlap(loaded((f.value, *term(f, loop))), written((loop,)))
