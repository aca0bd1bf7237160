"""Builders of index arithmetic and conditions that simplify as they build.

``index_add(i + 1, 2)`` is ``i + 3``: `rewrite_rules.rewrite` simplifies each result.
"""
from __future__ import annotations

from functools import reduce

from ..dtypes import INDEX
from ..nodes import Call, Dim, Expr, Interval, Param
from .constant_folding import index_const
from .rewrite_rules import rewrite

__all__ = [
    "element_count", "logical_and", "logical_or", "index_min", "index_less", "index_sub",
    "index_max", "logical_not", "index_floordiv", "index_add", "is_nonempty", "index_mul",
]


def index_add(a: Expr, b: Expr | int) -> Expr:
    """``a + b``"""
    return _index("add", a, b)


def index_sub(a: Expr, b: Expr | int) -> Expr:
    """``a - b``"""
    return _index("sub", a, b)


def index_mul(a: Expr, b: Expr | int) -> Expr:
    """``a * b``"""
    return _index("mul", a, b)


def index_floordiv(a: Expr, b: Expr | int) -> Expr:
    """``a // b``"""
    return _index("floordiv", a, b)


def index_min(a: Expr, b: Expr | int) -> Expr:
    """``min(a, b)``"""
    return _index("min", a, b)


def index_max(a: Expr, b: Expr | int) -> Expr:
    """``max(a, b)``"""
    return _index("max", a, b)


def index_less(a: Expr, b: Expr | int) -> Expr:
    """``a < b``"""
    return rewrite(Call("lt", (a, _expr(b)), "bool"))


def element_count(p: Param) -> Expr:
    """The number of elements of the array `p`."""
    lengths: list[Expr] = [Dim(p.name, axis) for axis in range(p.rank or 0)]
    return reduce(index_mul, lengths)


def is_nonempty(r: Interval) -> Expr:
    """The condition that a loop over `r` has an iteration."""
    return index_less(r.lo, r.hi)


def logical_and(p: Expr, q: Expr) -> Expr:
    """``p and q``"""
    return rewrite(Call("and", (p, q), "bool"))


def logical_or(p: Expr, q: Expr) -> Expr:
    """``p or q``"""
    return rewrite(Call("or", (p, q), "bool"))


def logical_not(mask: Expr) -> Expr:
    """``not mask``"""
    return rewrite(Call("not", (mask,), "bool"))


def _index(op: str, a: Expr, b: Expr | int) -> Expr:
    return rewrite(Call(op, (a, _expr(b)), INDEX))


def _expr(b: Expr | int) -> Expr:
    return index_const(b) if isinstance(b, int) else b
