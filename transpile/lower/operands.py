"""Operands: their truth, their conversion to a common dtype, and the type of a result."""
from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from loopir.nodes import Call, Const, Expr
from loopir.types import DTYPES

from ..infer import FALSE, TRUE, Num, cast, fits, logic, result, results
from ..ranges import INT64, integer
from ..types import ScalarType
from .builder import Builder
from .refusal import refuse
from .sources import Silent

__all__ = [
    "convert", "depends", "either_way", "narrowed", "rounded", "truth", "typed", "widened",
]


_ROUNDS_TO_INF = {"f16": 65520.0, "f32": 2.0**128 - 2.0**103}
"""The least double that is infinite as one of these."""


def truth(n: Num) -> Expr:
    """``bool(n)``."""
    if n.dtype == "bool":
        return n.ir
    if isinstance(n.ir, Const):
        return TRUE if n.ir.value else FALSE
    return Call("ne", (n.ir, Const(0, n.dtype)), "bool")


def typed(ir: Expr, ty: ScalarType, *operands: Num) -> Num:
    """`ir` with the type that NumPy or Python gave for `operands`."""
    if not ty.weak:
        return Num(ir, strong=ty.dtype)
    if any(n.either for n in operands):
        weak: Expr = TRUE
        for n in operands:
            weak = logic("and", weak, n.weak_now)
        return Num(ir, ty.dtype, ty.dtype, weak)
    return Num(ir, weak=ty.dtype)


def convert(b: Builder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """`n` as an operand of dtype `dtype`, as NumPy converts it.

    Where a Python int does not fit, Python raises.
    """
    if not n.exact and n.dtype != dtype:
        refuse("LOWER_JOIN", "the value is a NumPy or a Python number depending on the data", node)
    to = DTYPES[dtype]
    e: Expr
    if n.weak == "i64" and to.kind in "iu" and dtype != "i64" and n.dtype != dtype:
        lo, hi = n.range
        if lo < to.low or hi > to.high:
            if isinstance(n.ir, Const) and n.strong is None:
                refuse(
                    "LOWER_TYPE",
                    f"the Python int {n.ir.value} is out of bounds for {to.numpy}",
                    node,
                )
            e = b.bind(n.ir)
            top = TRUE if to.high > INT64[1] else Call("le", (e, integer(to.high)), "bool")
            e = cast(e, "i64")
            b.require(
                logic("and", Call("ge", (e, integer(to.low)), "bool"), top), "GUARD_INT_RANGE", node
            )
            return cast(e, dtype)
    return narrowed(b, n, dtype, node)


def rounded(b: Builder, e: Expr, dtype: str, node: ast.AST) -> Expr:
    """`e` as a float `dtype`; NumPy warns where a number is too large for it."""
    if _narrows(e.dtype, dtype) and not fits(e, dtype):
        return b.warned("mul", (e,), cast(e, dtype), "cast", node, ("over",))
    return cast(e, dtype)


def _narrows(source: str, dtype: str) -> bool:
    """Whether some numbers of `source` are too large for the float `dtype`."""
    of, to = DTYPES[source], DTYPES[dtype]
    if of.kind == "f":
        return of.bits > to.bits
    return of.high > float(np.finfo(to.numpy).max)


def widened(e: Expr) -> Expr:
    """`e` in the dtype that operations on it compute in."""
    return cast(e, DTYPES[e.dtype].wide or e.dtype)


def narrowed(b: Builder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """`n` in the dtype of its operation. A Python float that is one for the whole call, and too
    large for the dtype, is Python's to warn of.
    """
    if n.dtype != "f64" or dtype not in _ROUNDS_TO_INF or not b.invariant(n.ir):
        if DTYPES[dtype].kind == "f":
            return rounded(b, n.ir, dtype, node)
        if DTYPES[n.dtype].kind == "f":
            b.silent.append(Silent("invalid"))
        return cast(n.ir, dtype)
    if not fits(n.ir, dtype):
        size = Call("abs", (n.ir,), "f64")
        small = logic("not", Call("ge", (size, Const(_ROUNDS_TO_INF[dtype], "f64")), "bool"))
        infinite = Call("gt", (size, Const(float(np.finfo(np.float64).max), "f64")), "bool")
        b.guard(logic("or", small, infinite), "GUARD_FLOAT_STATUS", node, anyway=True)
    return cast(n.ir, dtype)


def either_way(
    function: Callable[..., Any], operands: tuple[Num, ...]
) -> tuple[ScalarType | None, ScalarType | None]:
    """The result types with every operand that may be either taken as NumPy's, and as Python's."""
    strong = result(function, *(replace(n, weak=None) if n.strong else n for n in operands))
    weak = result(function, *(replace(n, strong=None) if n.weak else n for n in operands))
    return strong, weak


def depends(function: Callable[..., Any], *operands: Num) -> bool:
    """Whether the dtype of the operation depends on which of its types an operand has."""
    if not any(n.either for n in operands):
        return False
    dtypes = {ty and ty.dtype for ty in results(function, *operands)}
    return None in dtypes or len(dtypes) > 1 or not all(n.exact for n in operands)
