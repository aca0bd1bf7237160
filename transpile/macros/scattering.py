"""``np.add.at(x, idx, v)`` → a loop over index arrays: what stands there twice changes twice."""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ..types import ELEMENTS
from .context import Context
from .firing import fires_on
from .nests import nest, unless
from .views import View, broadcast, element, held, misfits, reads, view

__all__ = ["array_scattered"]

_OF_TWO = (
    np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.bitwise_or, np.bitwise_and,
    np.bitwise_xor, np.logical_or, np.logical_and,
)


@fires_on(ast.Expr, value=ast.Call, calls=[".at"])
def array_scattered(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Each element as often as the index arrays name it, in their order.

        np.add.at(x, k, y)
    →
        if k.shape[0] != y.shape[0]:
            "Python's to answer"
            np.add.at(x, k, y)
        else:
            for _i in range(k.shape[0]):
                x[k[_i]] = np.add(x[k[_i]], y[_i])
    """
    match node:
        case ast.Expr(value=ast.Call(
            func=ast.Attribute(value=func, attr="at"), args=[x, index, value], keywords=[],
        )) if any(cx.resolve(func) is f for f in _OF_TWO) and cx.fact(x).array:
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            return cx.whole(lambda: _scattered(node, func, x, items, value, cx))
    return None


def _scattered(
    s: ast.Expr, function: ast.expr, x: ast.expr, items: Sequence[ast.expr], value: ast.expr,
    cx: Context,
) -> list[ast.stmt] | None:
    into = cx.fact(x)
    known = all(_is_index(i, cx) and not reads(i, into.owner, cx) for i in items)
    if into.array is None or not into.owner or not known or len(items) > into.array.rank:
        return None
    x = x if isinstance(x, ast.Name) else held(x, "a", cx)
    if not any(cx.fact(i).rank for i in items) or not _fits(function, x, value, cx):
        return None
    if cx.fact(value).rank and reads(value, into.owner, cx):
        value = held(cx.expr("NP.copy(E)", NP=cx.numpy, E=value), "a", cx)
    parts, of, whole = [view(i, cx) for i in items], view(value, cx), view(x, cx)
    if of is None or whole is None or None in parts:
        return None
    indices = [p for p in parts if p is not None]
    along = broadcast(indices, lambda elements: elements[0], cx)
    shape = (*along.shape, *whole.shape[len(items) :])

    def place(at: Sequence[ast.expr]) -> ast.expr:
        return element(x, [*(p.at(at[: len(p.shape)]) for p in indices), *at[1:]], cx)

    both = broadcast([View(shape, place, along.checks), of], lambda pair: pair[1], cx)
    if len(both.shape) > len(shape) or ast.dump(both.shape[0]) != ast.dump(shape[0]):
        return None

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        new = ast.Call(function, [place(at), both.at(at)], [])
        return cx.code("PLACE = E", PLACE=place(at), E=new)

    checks = [*misfits(value, of, into.array.dtype, cx), *both.checks]
    return unless(checks, s, nest(shape, body, cx), cx)


def _is_index(item: ast.expr, cx: Context) -> bool:
    """Whether it is an int, or a vector of such."""
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(item).types}
    return cx.fact(item).rank in (0, 1) and kinds in ({"i"}, {"u"})


def _fits(function: ast.expr, x: ast.expr, value: ast.expr, cx: Context) -> bool:
    """Whether the result converts to elements of `x` as NumPy has it."""
    to = cx.fact(x).array
    types = cx.fact(cx.expr("F(X, V)", F=function, X=x, V=value)).types
    if to is None or not types:
        return False
    same = all(t.dtype == to.dtype or {ELEMENTS[t.dtype].kind, ELEMENTS[to.dtype].kind} == {"f"}
               for t in types)
    return same and "f16" not in {to.dtype, *(t.dtype for t in cx.fact(value).types)}
