"""Rewrites of select and cast: a cheaper expression of exactly the same value and flags."""
from __future__ import annotations

from collections.abc import Callable

from ..nodes import Call, Const, Expr
from ..types import DTYPES, is_converted
from .values import is_lossless, raising

__all__ = ["cast_of_select", "casts", "choice", "extremum", "same_choice"]

_WINS = {("lt", 0): "min", ("gt", 1): "min", ("gt", 0): "max", ("lt", 1): "max"}
_STRICT = {"le": "lt", "ge": "gt"}  # for integers a tie makes no difference


def _is_int(dtype: str) -> bool:
    return DTYPES[dtype].kind in "iu"


def choice(e: Call) -> Expr | None:
    """A select that chooses nothing, or that is logic."""
    c, a, b = e.args
    if isinstance(c, Const):
        return a if c.value else b
    if a == b and not raising(c):
        return a
    if isinstance(c, Call) and c.op == "not":
        return Call("select", (c.args[0], b, a), e.dtype)
    return _logic(c, a, b) if e.dtype == "bool" else None


def _logic(c: Expr, a: Expr, b: Expr) -> Expr | None:
    match a, b:
        case Const(value=1), _:
            return Call("or", (c, b), "bool")
        case _, Const(value=0):
            return Call("and", (c, a), "bool")
        case Const(value=0), _:
            return Call("and", (Call("not", (c,), "bool"), b), "bool")
        case _, Const(value=1):
            return Call("or", (Call("not", (c,), "bool"), a), "bool")
        case _:
            return None


def same_choice(e: Call) -> Expr | None:
    """``select(c, select(c, a, x), b)`` → ``select(c, a, b)``; ``select(c, select(d, a, b), b)`` →
    ``select(c & d, a, b)``.
    """
    c, a, b = e.args
    if isinstance(a, Call) and a.op == "select" and a.args[0] == c:
        return Call("select", (c, a.args[1], b), e.dtype)
    if isinstance(b, Call) and b.op == "select" and b.args[0] == c:
        return Call("select", (c, a, b.args[2]), e.dtype)
    if isinstance(a, Call) and a.op == "select" and a.args[2] == b:
        return Call("select", (Call("and", (c, a.args[0]), "bool"), a.args[1], b), e.dtype)
    return None


def extremum(e: Call) -> Expr | None:
    """``select(x < a, x, a)`` → ``min(a, x)``, which keeps `a` on a NaN or a tie."""
    c, x, a = e.args
    if not isinstance(c, Call) or e.dtype == "bool":
        return None
    order = _STRICT.get(c.op, c.op) if _is_int(e.dtype) else c.op
    for position in (0, 1):
        op = _WINS.get((order, position))
        if op and c.args[position] == x and c.args[1 - position] == a:
            return Call(op, (a, x), e.dtype)
    return None


def casts(e: Call) -> Expr | None:
    """A cast to the same dtype, or of a cast that changed nothing that the outer one sees; and
    ``f32(sqrt(f64(v)))`` → ``sqrt(v)``: a root of few digits rounds twice as it does once.
    """
    (x,) = e.args
    if x.dtype == e.dtype:
        return x
    match e.dtype, x:
        case "f32", Call(op="sqrt", args=(Call(op="cast", args=(v,), dtype="f64"),)) if (
            is_lossless(v.dtype, "f32")
        ):
            return Call("sqrt", (v if v.dtype == "f32" else Call("cast", (v,), "f32"),), "f32")
    if not isinstance(x, Call) or x.op != "cast":
        return None
    (inner,) = x.args
    if inner.dtype != e.dtype and not is_converted(inner.dtype, e.dtype):
        return None
    wraps = all(_is_int(d) for d in (inner.dtype, x.dtype, e.dtype))
    kept = wraps and DTYPES[x.dtype].bits >= DTYPES[e.dtype].bits
    if is_lossless(inner.dtype, x.dtype) or kept:
        return Call("cast", (inner,), e.dtype)
    return None


def cast_of_select(e: Call, rewrite: Callable[[Expr], Expr]) -> Expr | None:
    """``f32(select(c, f64(v), 0.5))`` → ``select(c, v, f32(0.5))``: if no arm keeps a cast."""
    (x,) = e.args
    if not isinstance(x, Call) or x.op != "select" or DTYPES[e.dtype].wide is not None:
        return None
    c, *arms = x.args
    cast = [rewrite(Call("cast", (a,), e.dtype)) for a in arms]
    if any(isinstance(a, Call) and a.op == "cast" for a in cast):
        return None
    return Call("select", (c, *cast), e.dtype)
