"""``functools.reduce`` → a loop."""
from __future__ import annotations

import ast
import functools

from .context import Context
from .firing import fires_on
from .names import bound, rename
from .nests import unless
from .template import Part

__all__ = ["list_reduced"]


@fires_on(ast.Call, calls=[functools.reduce])
def list_reduced(node: ast.AST, cx: Context) -> ast.expr | None:
    """What a function of two makes of one item after the other.

        s = reduce(lambda a, b: a * b, x)
    →
        if len(x) < 1:
            "Python's to answer"
            _acc = reduce(lambda a, b: a * b, x)
        else:
            _acc = x[0]
            for _i in range(len(x) - 1):
                _v = x[_i + 1]
                _acc = _acc * _v
        s = _acc
    """
    match node:
        case ast.Call(func=func, args=[of, items, *start], keywords=[]) if (
            cx.resolve(func) is functools.reduce and len(start) < 2
        ):
            pass
        case _:
            return None
    acc, v = cx.fresh("acc"), cx.fresh("v")
    step = _applied(of, acc, v, cx)
    known = isinstance(items, ast.Name) and cx.fact(items).rank == 1 and not cx.fact(items).rows
    if step is None or not known or bound(*start):
        return None
    parts: dict[str, Part] = {"ACC": acc, "V": v, "X": items, "STEP": step}
    if start:
        cx.before(*cx.code("ACC = FIRST\nfor V in X: ACC = STEP", FIRST=start[0], **parts))
        return cx.expr(acc)
    (original,) = cx.code("ACC = E", ACC=acc, E=node)
    lines = cx.code("ACC = X[0]\nfor V in X[1:]: ACC = STEP", **parts)
    cx.before(*unless([cx.expr("len(X) < 1", X=items)], original, lines, cx))
    return cx.expr(acc)


def _applied(of: ast.expr, acc: str, v: str, cx: Context) -> ast.expr | None:
    """What `of` makes of the two."""
    match of:
        case ast.Lambda(args=ast.arguments(args=[a, b], defaults=[], kwonlyargs=[], vararg=None,
                                           kwarg=None, posonlyargs=[]), body=body):
            return rename(body, {a.arg: acc, b.arg: v})
        case ast.Name() | ast.Attribute():
            return cx.expr("F(ACC, V)", F=of, ACC=cx.expr(acc), V=cx.expr(v))
    return None
