"""Several operands by index, with NumPy's order of computing them."""
from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import replace

from loopir.ops import OPS

from ..places import mark_step
from ..types import ScalarType
from .context import Context
from .views import View, held, view

__all__ = ["operands_by_index", "recurring"]

_DEAR = {op.run for op in OPS.values() if op.weight > 3}
"""Functions that take longer than it does to load what they give."""

_SILENT = {"abs", "bool", "float", "int", "len", "max", "min"}


def operands_by_index(
    operands: Sequence[ast.expr], cx: Context, apart: Collection[int] = ()
) -> list[View]:
    """The views of `operands`, which are viewable; those at the places of `apart` are computed
    beforehand.

    Where what is computed beforehand may warn, what is computed of the operands ahead of it are
    steps: in NumPy their warnings come first.
    """
    found: list[View] = []
    for k, operand in enumerate(operands):
        ahead = cx.lines_ahead
        of = view(held(operand, "a", cx) if k in apart else operand, cx)
        assert of is not None
        if cx.lines_ahead > ahead and _may_warn(operand, cx):
            found = [_late(earlier) for earlier in found]
        found.append(of)
    return found


def recurring(operands: Sequence[ast.expr], cx: Context) -> set[int]:
    """Which of the operands of an elementwise operation are arrays that are dear to compute, and
    would be computed anew for each row of the result: they are stretched along its first axis.
    """
    rank = max(cx.fact(e).rank or 0 for e in operands)

    def recurs(e: ast.expr) -> bool:
        own, shape = cx.fact(e).rank or 0, cx.fact(e).shape
        stretched = own < rank or (own > 1 and shape is not None and shape[0] == "1")
        return own > 0 and stretched and any(_is_dear(n, cx) for n in ast.walk(e))

    return {k for k, e in enumerate(operands) if recurs(e)}


def _is_dear(n: ast.AST, cx: Context) -> bool:
    match n:
        case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod()):
            return True
        case ast.BinOp(op=ast.Pow(), right=exponent):
            return not (isinstance(exponent, ast.Constant) and exponent.value == 2)
        case ast.Call(func=func):
            return cx.resolve(func) in _DEAR
    return False


def _may_warn(e: ast.expr, cx: Context) -> bool:
    """Whether more is done in `e` than arithmetic of Python's numbers."""
    def quiet(n: ast.AST) -> bool:
        types = cx.fact(n).types if isinstance(n, (ast.BinOp, ast.UnaryOp)) else ()
        numbers = all(isinstance(t, ScalarType) and t.weak for t in types)
        return numbers and (not isinstance(n, ast.Call) or cx.builtin(n) in _SILENT)

    return not all(map(quiet, ast.walk(e)))


def _late(of: View) -> View:
    """`of`, whose elements are computed later than NumPy computes them."""
    def at(index: Sequence[ast.expr]) -> ast.expr:
        e = of.at(index)
        for n in ast.walk(e):
            if isinstance(n, (ast.BinOp, ast.UnaryOp, ast.Call)):
                mark_step(n)
        return e

    return replace(of, at=at)
