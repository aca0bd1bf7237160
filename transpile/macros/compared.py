"""Comparisons of tuples → comparisons of their items."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence

from ..types import ScalarType
from .context import Context
from .firing import fires_on
from .nests import unless
from .tupled import is_steady, spelled
from .views import held

__all__ = ["tuple_compared"]

_ORDER: dict[type[ast.cmpop], tuple[ast.cmpop, Callable[[int, int], bool]]] = {
    ast.Lt: (ast.Lt(), operator.lt), ast.LtE: (ast.Lt(), operator.le),
    ast.Gt: (ast.Gt(), operator.gt), ast.GtE: (ast.Gt(), operator.ge),
}
"""How the first items that differ compare; how the lengths do where none differs."""

_FLOAT = (ScalarType("f64"),)


@fires_on(ast.Compare, ops=(*_ORDER, ast.Eq, ast.NotEq))
def tuple_compared(node: ast.AST, cx: Context) -> ast.expr | None:
    """By the first items that differ. What is identical is equal, even a NaN: that is Python's.

        t = (i, j) < (n, 2)
    →
        _t = i < n if i != n else j < 2 if j != 2 else False
        t = _t
    """
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if (
            type(op) in _ORDER or isinstance(op, (ast.Eq, ast.NotEq))
        ):
            first, second = cx.facts.items(left), cx.facts.items(right)
        case _:
            return None
    if not first or not second or any(cx.fact(e).rank != 0 for e in (*first, *second)):
        return None
    name = cx.fresh("t")

    def lines() -> list[ast.stmt]:
        a, b = ([e if is_steady(e) else held(e, "t", cx) for e in x] for x in (first, second))
        made = cx.code("NAME = E", NAME=name, E=_compared(op, a, b, cx))
        original = ast.Compare(spelled(a, left), [op], [spelled(b, right)])
        (left_to,) = cx.code("NAME = E", NAME=name, E=original)
        nans = [cx.expr("V != V", V=v) for v in a if _may_be_nan(v, cx)]
        return unless(nans, left_to, made, cx)

    return cx.made(name, lines)


def _may_be_nan(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return not isinstance(e, ast.Constant) and any(t.dtype[0] in "fc" for t in types or _FLOAT)


def _compared(op: ast.cmpop, a: Sequence[ast.expr], b: Sequence[ast.expr], cx: Context) -> ast.expr:
    if isinstance(op, (ast.Eq, ast.NotEq)):
        differ = isinstance(op, ast.NotEq)
        known = ast.Constant(differ)
        out: ast.expr = ast.Constant(differ is (len(a) != len(b)))
        for x, y in reversed([*zip(a, b, strict=False)]) if len(a) == len(b) else ():
            out = cx.expr("REST if X == Y else DIFFER", X=x, Y=y, REST=out, DIFFER=known)
        return out
    of_items, of_lengths = _ORDER[type(op)]
    out = ast.Constant(of_lengths(len(a), len(b)))
    for x, y in reversed([*zip(a, b, strict=False)]):
        first = ast.Compare(x, [of_items], [y])
        out = cx.expr("FIRST if X != Y else REST", FIRST=first, X=x, Y=y, REST=out)
    return out
