"""A row's element → the array's."""
from __future__ import annotations

import ast

from .context import Context
from .indexed import may_be_bool

__all__ = ["row_element"]


def row_element(node: ast.AST, cx: Context) -> ast.expr | None:
    """One subscript instead of a row view and its subscript. Errors of range name another axis.

        s = X[i][j]
        X[i][j] = s
    →
        s = X[i, j]
        X[i, j] = s
    """
    match node:
        case ast.Subscript(value=ast.Subscript(value=array, slice=i), slice=j):
            pass
        case _:
            return None
    rows, columns = _indices(i), _indices(j)
    rank = cx.fact(array).rank
    if not rank or len(rows) + len(columns) > rank:
        return None
    if not all(cx.fact(e).rank == 0 and not may_be_bool(e) for e in (*rows, *columns)):
        return None
    both = ast.Tuple([*rows, *columns], ast.Load())
    return ast.copy_location(ast.Subscript(array, both, node.ctx), node)


def _indices(e: ast.expr) -> list[ast.expr]:
    return e.elts if isinstance(e, ast.Tuple) else [e]
