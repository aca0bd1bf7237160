"""Loops over a few constants → their bodies one after another."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from .context import Context
from .copying import copied

__all__ = ["few_walked"]

SIZE = 600
"""Nodes of what is made: beyond, a loop is the better code."""


def few_walked(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Each time with the constant itself, of which subscripts and tests know more than of an item.

        for d in (-1, 1):
            s = s + x[(i + d) % n]
    →
        d = -1
        s = s + x[(i + d) % n]
        d = 1
        s = s + x[(i + d) % n]
    """
    if not isinstance(node, ast.For) or not (items := _items(node)) or _size(node) > SIZE:
        return None
    out: list[ast.stmt] = []
    for item in items:
        bind = ast.Assign([copied(node.target)], copied(item))
        out += [ast.copy_location(bind, node), *map(copied, node.body)]
    return [ast.fix_missing_locations(s) for s in out]


def _items(node: ast.For) -> Sequence[ast.expr]:
    """The constants of a loop that always goes through all of them."""
    match node:
        case ast.For(iter=ast.Tuple(elts=items) | ast.List(elts=items), orelse=[]) if (
            all(map(_is_constant, items)) and all(map(_is_plain, node.body))
        ):
            return items
    return ()


def _is_constant(e: ast.expr) -> bool:
    match e:
        case ast.Constant(value=int() | float()) | ast.UnaryOp(ast.USub(), ast.Constant()):
            return True
        case ast.Tuple(elts=parts):
            return all(map(_is_constant, parts))
    return False


def _is_plain(s: ast.stmt) -> bool:
    """Whether `s` holds no other loops than such ones, and leaves none."""
    match s:
        case ast.For():
            return bool(_items(s))
        case ast.If():
            return all(map(_is_plain, (*s.body, *s.orelse)))
        case _:
            return isinstance(s, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr)


def _size(s: ast.AST) -> int:
    """The nodes of `s`, written out."""
    times = len(_items(s)) if isinstance(s, ast.For) else 0
    return max(1, times) * (1 + sum(map(_size, ast.iter_child_nodes(s))))
