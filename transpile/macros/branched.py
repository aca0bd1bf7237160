"""Conditional expressions of arrays → branches."""
from __future__ import annotations

import ast

from .context import Context
from .firing import fires_on

__all__ = ["array_branched"]


@fires_on(ast.Assign, targets=ast.Name, value=ast.IfExp)
@fires_on(ast.IfExp)
def array_branched(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """Whichever of two arrays it is, under a name.

        u = x if s > 0 else y
        t = (x if s > 0 else y)[i]
    →
        if s > 0:
            u = x
        else:
            u = y
        if s > 0:
            _a = x
        else:
            _a = y
        t = _a[i]
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp() as value) if (
            _is_of_arrays(value, cx)
        ):
            return _branches(name, value, cx)
        case ast.IfExp() if _is_of_arrays(node, cx) and not _is_whole(node, cx):
            name = cx.fresh("a")
            cx.before(*_branches(name, node, cx))
            return cx.expr("NAME", NAME=name)
    return None


def _is_of_arrays(e: ast.IfExp, cx: Context) -> bool:
    return all(cx.fact(x).rank and cx.fact(x).array for x in (e.body, e.orelse))


def _is_whole(e: ast.IfExp, cx: Context) -> bool:
    """Whether it is all that a statement computes."""
    return getattr(cx.within, "value", None) is e


def _branches(name: str, e: ast.IfExp, cx: Context) -> list[ast.stmt]:
    text = "if TEST:\n    NAME = A\nelse:\n    NAME = B"
    return cx.code(text, TEST=e.test, NAME=name, A=e.body, B=e.orelse)
