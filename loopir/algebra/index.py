"""Bounds and conditions as passes write them: index arithmetic and logic in simplest form."""
from __future__ import annotations

from ..nodes import Call, Expr, Interval
from ..types import INDEX
from .rules import rewrite
from .values import integer

__all__ = [
    "both", "either", "least", "less", "minus", "most", "negated", "over", "plus", "runs", "times",
]


def plus(a: Expr, b: Expr | int) -> Expr:
    """``a + b``"""
    return _index("add", a, b)


def minus(a: Expr, b: Expr | int) -> Expr:
    """``a - b``"""
    return _index("sub", a, b)


def times(a: Expr, b: Expr | int) -> Expr:
    """``a * b``"""
    return _index("mul", a, b)


def over(a: Expr, b: Expr | int) -> Expr:
    """``a // b``"""
    return _index("floordiv", a, b)


def least(a: Expr, b: Expr | int) -> Expr:
    """``min(a, b)``"""
    return _index("min", a, b)


def most(a: Expr, b: Expr | int) -> Expr:
    """``max(a, b)``"""
    return _index("max", a, b)


def less(a: Expr, b: Expr | int) -> Expr:
    """``a < b``"""
    return rewrite(Call("lt", (a, _expr(b)), "bool"))


def runs(r: Interval) -> Expr:
    """Whether a loop over `r` has an iteration."""
    return less(r.lo, r.hi)


def both(p: Expr, q: Expr) -> Expr:
    """``p and q``"""
    return rewrite(Call("and", (p, q), "bool"))


def either(p: Expr, q: Expr) -> Expr:
    """``p or q``"""
    return rewrite(Call("or", (p, q), "bool"))


def negated(mask: Expr) -> Expr:
    """The complement of a mask."""
    return rewrite(Call("not", (mask,), "bool"))


def _index(op: str, a: Expr, b: Expr | int) -> Expr:
    return rewrite(Call(op, (a, _expr(b)), INDEX))


def _expr(b: Expr | int) -> Expr:
    return integer(b) if isinstance(b, int) else b
