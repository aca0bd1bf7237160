"""First-order recurrences: steps that multiply an accumulator and add to it."""
from __future__ import annotations

from typing import TypeAlias

from ..algebra.rules import rewrite
from ..algebra.values import literal
from ..names import reads
from ..nodes import Accum, Call, Expr, Var
from ..tree import map_children

__all__ = ["linear"]

Pair: TypeAlias = "tuple[Expr, Expr]"


def linear(acc: Accum, step: Expr) -> Pair | None:
    """The factor and the term of ``step == acc * factor + term``, bit by bit; None where it is not.

    A fold has just one of the two, and is none.
    """
    if acc.init.dtype not in ("f32", "f64"):
        return None
    pair = _pair(acc, step)
    if pair is None or pair[0] == _one(acc) or pair[1] == _none(acc):
        return None
    return pair


def _pair(acc: Accum, e: Expr) -> Pair | None:
    match e:
        case Call(op="add", args=(a, b)):
            return _sum(acc, a, b) or _sum(acc, b, a)
        case Call(op="sub", args=(a, b)):
            less = _sum(acc, b, a)
            return _sum(acc, a, _minus(b)) or (less and (_minus(less[0]), less[1]))
        case Call(op="select", args=(cond, a, b)) if acc.name not in reads(cond):
            a, b = _chosen(acc, cond, a, 1), _chosen(acc, cond, b, 2)
            return _either(acc, cond, _pair(acc, a), _pair(acc, b))
        case _:
            return _product(acc, e)


def _sum(acc: Accum, e: Expr, term: Expr) -> Pair | None:
    """``e + term``."""
    found = _product(acc, e)
    return (found[0], term) if found and acc.name not in reads(term) else None


def _product(acc: Accum, e: Expr) -> Pair | None:
    match e:
        case Var(name=acc.name):
            return _one(acc), _none(acc)
        case Call(op="mul", args=(Var(name=acc.name), f) | (f, Var(name=acc.name))):
            return (f, _none(acc)) if acc.name not in reads(f) else None
        case _:
            return None


def _either(acc: Accum, cond: Expr, a: Pair | None, b: Pair | None) -> Pair | None:
    if a is None or b is None:
        return None
    factor, term = (
        rewrite(Call("select", (cond, *x), acc.init.dtype)) for x in zip(a, b, strict=True)
    )
    return factor, term


def _chosen(acc: Accum, cond: Expr, e: Expr, side: int) -> Expr:
    """`e` without the selects by `cond` that keep operands from raising flags where another value
    is chosen: these lanes have no such operation any more.
    """
    match e:
        case Call(op="select", args=(test, *_)) if test == cond:
            return _chosen(acc, cond, e.args[side], side)
        case Call(op="add" | "sub" | "mul") if acc.name in reads(e):
            return map_children(e, lambda x: _chosen(acc, cond, x, side))
        case _:
            return e


def _minus(e: Expr) -> Expr:
    return rewrite(Call("neg", (e,), e.dtype))


def _one(acc: Accum) -> Expr:
    return literal(1.0, acc.init.dtype)


def _none(acc: Accum) -> Expr:
    """What is added to anything, and changes nothing."""
    return literal(-0.0, acc.init.dtype)
