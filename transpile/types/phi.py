"""Phi of two typed values: one IR value for two paths, which may have the type of either.

    a if c else b      # a: float32 of NumPy, b: Python float
→   Num(select(c, a, b), strong="f32", weak="f64", is_weak=not c)

One dtype holds both values, and a bool tells which type the value has. Lowering calls `join_values`
for expressions, `common_dtype` and `with_joined_type` where branches meet (`lower_if.merge_name`).
Where no dtype holds both, a tagged union may (``transpile/lower/scalars/tagged_unions.py``).
"""
from __future__ import annotations

import numpy as np

from loopir.dtypes import DTYPES, dtype_name
from loopir.nodes import Call, Expr

from .typed_values import Num, bool_op, cast, converts_exactly

__all__ = ["common_dtype", "make_select", "join_values", "with_joined_type"]


def common_dtype(a: Num, b: Num) -> str | None:
    """A dtype that holds both values exactly, as the carrier of a value that is one of them; None
    if there is none. In this order:

    - uint64 for two Python ints that are not negative, of which one is a word (`Num.is_word`);
    - None if both are NumPy's and of different types, as an int32 and a float64, or both Python's
      and of different types: a `Num` has at most one type of each kind;
    - None if one of them was rounded already (`Num.exact`), so that its carrier is not exact;
    - their own dtype if it is the same;
    - the NumPy dtype of one if the other is a constant that is exact in it, as 0 is in int8: no
      wider dtype is needed;
    - NumPy's promotion of both; None where that is the float64 of a 64-bit integer, which rounds.
    """
    if _are_words(a, b):
        return "u64"
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


def _are_words(a: Num, b: Num) -> bool:
    """Whether both are words, or one is, and the other a Python int that is not negative."""
    is_word = a.is_word or b.is_word
    return is_word and all(n.is_word or (n.python_int and n.range[0] >= 0) for n in (a, b))


def join_values(cond: Expr, a: Num, b: Num) -> Num | None:
    """The value ``a if cond else b`` in one dtype; None where no dtype holds both (`common_dtype`):

        a: float64 of NumPy, b: Python float    →  float64 of NumPy or Python float, by `cond`
        a: Python int,       b: Python float    →  None: the result is an int or a float
        a: int64 of NumPy,   b: Python float    →  None: a float64 does not hold every int64

    Called by `tagged_unions.select_scalar`, which makes a union where the answer is None, and by
    `complex_arithmetic` for the parts of complex numbers.
    """
    dtype = common_dtype(a, b)
    if dtype is None:
        return None
    return with_joined_type(make_select(cond, cast(a.ir, dtype), cast(b.ir, dtype)), cond, a, b)


def make_select(cond: Expr, then: Expr, orelse: Expr) -> Expr:
    """IR of ``then if cond else orelse``: logic for bools; ``max`` or ``min`` for a form such as
    ``v if v > m else m``, which takes the same operand on a tie or a NaN; else ``select``.
    """
    if then.dtype == "bool":
        return bool_op(
            "or", bool_op("and", cond, then), bool_op("and", bool_op("not", cond), orelse)
        )
    match cond:
        case Call("gt" | "lt" as op, (left, right), "bool") if (then, orelse) == (left, right):
            return Call("max" if op == "gt" else "min", (right, left), left.dtype)
        case Call("gt" | "lt" as op, (left, right), "bool") if (then, orelse) == (right, left):
            return Call("min" if op == "gt" else "max", (left, right), left.dtype)
        case _:
            return Call("select", (cond, then, orelse), then.dtype)


def with_joined_type(value: Expr, cond: Expr, a: Num, b: Num) -> Num:
    """`value`, that of `a` where `cond` holds, else that of `b`, as a Num with the types of both.
    If one is NumPy's and one Python's, ``is_weak`` tells at run time which type holds:

        a: float32 of NumPy, b: Python float    →    float32 where `cond` holds, else Python float

    The interval is the smallest one that contains those of `a` and `b`.
    """
    strong, weak = a.strong or b.strong, a.weak or b.weak
    if a.is_word or b.is_word:
        weak = "u64"
    is_weak = None
    if strong and weak:
        is_weak = bool_op(
            "or", bool_op("and", cond, a.weak_now), bool_op("and", bool_op("not", cond), b.weak_now)
        )
    interval = (min(a.range[0], b.range[0]), max(a.range[1], b.range[1]))
    return Num(value, strong, weak, is_weak, boxed=a.boxed or b.boxed, interval=interval)
