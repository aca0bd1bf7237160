"""``a[i] = v``: conversion to the array's dtype, with the failures of NumPy's assignment."""
from __future__ import annotations

import ast

from loopir.nodes import Call, Const, Expr
from loopir.types import DTYPES

from ..infer import Num, cast, logic
from .builder import Builder
from .operands import convert, narrowed, truth, widened

__all__ = ["as_item"]


def as_item(b: Builder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """The value that ``a[i] = n`` stores in an array of `dtype`.

    Into an integer array NumPy converts by ``int(n)`` and raises where that does not fit; only
    unsigned arrays wrap, and only NumPy's integers.
    """
    to, kind = DTYPES[dtype], DTYPES[n.dtype].kind
    if n.dtype == dtype:
        return n.ir
    if dtype == "bool":
        return truth(n)
    if to.kind == "f":
        return narrowed(b, n, dtype, node)
    if kind == "f":
        e = widened(n.ir)
        whole = b.bind(Call("trunc", (e,), e.dtype))
        ok = logic(
            "and",
            Call("ge", (whole, Const(float(to.low), e.dtype)), "bool"),
            Call("lt", (whole, Const(float(to.high + 1), e.dtype)), "bool"),
        )
        ok = b.bind(ok, "fits")
        b.require(ok, "GUARD_INT_RANGE", node)
        return cast(Call("select", (ok, whole, Const(0.0, e.dtype)), e.dtype), dtype)
    if n.weak == "i64" or (kind == "u" and to.kind == "u"):
        return convert(b, n, dtype, node) if n.weak else cast(n.ir, dtype)
    return _between_ints(b, n, dtype, node)


def _between_ints(b: Builder, n: Num, dtype: str, node: ast.AST) -> Expr:
    to, of = DTYPES[dtype], DTYPES[n.dtype]
    if to.kind == "u" or (to.low <= of.low and of.high <= to.high):
        return cast(n.ir, dtype)
    e = b.bind(n.ir)
    if of.high > to.high:
        b.require(Call("le", (e, Const(to.high, n.dtype)), "bool"), "GUARD_INT_RANGE", node)
    if of.low < to.low:
        b.require(Call("ge", (e, Const(to.low, n.dtype)), "bool"), "GUARD_INT_RANGE", node)
    return cast(e, dtype)
