"""A row taken apart: ``a, b = X[i]``."""
from __future__ import annotations

import ast

from .context import Context
from .firing import fires_on
from .names import bound, free_of
from .nests import unless

__all__ = ["row_unpacked"]


@fires_on(ast.Assign, targets=(ast.Tuple, ast.List))
def row_unpacked(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Of another length it is Python's to refuse.

        s, t = X[0]
        for u, v in X:
            s = s + u * v
    →
        _row = X[0]
        if len(_row) != 2:
            "Python's to answer"
            s, t = _row
        else:
            s = _row[0]
            t = _row[1]
        for _i in range(len(X)):
            _row_1 = X[_i]
            if len(_row_1) != 2:
                "Python's to answer"
                u, v = _row_1
            else:
                u = _row_1[0]
                v = _row_1[1]
            s = s + u * v
    """
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
            value=value,
        ) if all(isinstance(t, ast.Name) for t in targets) and (
            cx.fact(value).rank if isinstance(value, (ast.Name, ast.Subscript)) else
            cx.fact(value).array
        ):
            pass
        case _:
            return None
    if not cx.means("len") or cx.fact(value).items is not None:
        return None
    names = bound(*targets)
    row, lines = value, list[ast.stmt]()
    if not (isinstance(value, ast.Name) and free_of(value, names)):
        row = ast.Name(cx.fresh("row"), ast.Load())
        lines = cx.code("ROW = E", ROW=row, E=value)
    whole = cx.code("TARGET = ROW", TARGET=node.targets[0], ROW=row)
    items = [
        line
        for k, target in enumerate(targets)
        for line in cx.code("TARGET = ROW[K]", TARGET=target, ROW=row, K=ast.Constant(k))
    ]
    other = cx.expr("len(ROW) != N", ROW=row, N=ast.Constant(len(targets)))
    return [*lines, *unless([other], whole[0], items, cx)]
