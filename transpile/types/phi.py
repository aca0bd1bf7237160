"""Phi of two typed values: one value for two paths, which may be of either's type."""
from __future__ import annotations

import numpy as np

from loopir.dtypes import DTYPES, dtype_name
from loopir.nodes import Call, Expr

from .typed_values import Num, bool_op, cast, converts_exactly

__all__ = ["common_dtype", "make_select", "join_values", "with_joined_type"]


def common_dtype(a: Num, b: Num) -> str | None:
    """A dtype that holds both values exactly; the strong one's own if the other is a constant it
    can hold. None where there is none, or they are two NumPy types or two Python types.
    """
    if (a.strong and b.strong and a.strong != b.strong) or (a.weak and b.weak and a.weak != b.weak):
        return None
    if not (a.exact and b.exact):
        return None
    if a.dtype == b.dtype:
        return a.dtype
    for x, y in ((a, b), (b, a)):
        if x.strong == x.dtype and converts_exactly(y.ir, x.dtype):
            return x.dtype
    common = dtype_name(np.result_type(DTYPES[a.dtype].numpy, DTYPES[b.dtype].numpy))
    if common == "f64" and {"i64", "u64"} & {a.dtype, b.dtype}:
        return None
    return common


def join_values(cond: Expr, a: Num, b: Num) -> Num | None:
    """The value ``a if cond else b``; None where one IR value cannot stand for both types."""
    dtype = common_dtype(a, b)
    if dtype is None:
        return None
    return with_joined_type(make_select(cond, cast(a.ir, dtype), cast(b.ir, dtype)), cond, a, b)


def make_select(cond: Expr, then: Expr, orelse: Expr) -> Expr:
    """``select``, or Python's ``max``/``min`` where it is one, such as ``v if v > m else m``: on a
    tie or a NaN both keep the same operand.
    """
    if then.dtype == "bool":
        return bool_op(
            "or", bool_op("and", cond, then), bool_op("and", bool_op("not", cond), orelse)
        )
    match cond:
        case Call("gt" | "lt" as op, (p, q), "bool") if (then, orelse) == (p, q):
            return Call("max" if op == "gt" else "min", (q, p), p.dtype)
        case Call("gt" | "lt" as op, (p, q), "bool") if (then, orelse) == (q, p):
            return Call("min" if op == "gt" else "max", (p, q), p.dtype)
        case _:
            return Call("select", (cond, then, orelse), then.dtype)


def with_joined_type(value: Expr, cond: Expr, a: Num, b: Num) -> Num:
    """`value`, which is `a`'s where `cond` holds, else `b`'s, with the type of both together."""
    strong, weak = a.strong or b.strong, a.weak or b.weak
    is_weak = None
    if strong and weak:
        is_weak = bool_op(
            "or", bool_op("and", cond, a.weak_now), bool_op("and", bool_op("not", cond), b.weak_now)
        )
    interval = (min(a.range[0], b.range[0]), max(a.range[1], b.range[1]))
    return Num(value, strong, weak, is_weak, boxed=a.boxed or b.boxed, interval=interval)
