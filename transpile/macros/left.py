"""What macros leave to Python, beside what is compiled."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..below import below

__all__ = ["PYTHON", "left_to_python", "ours", "reads"]

PYTHON = "Python's to answer"
"""Stands first in a branch that macros leave as it was, beside one that is compiled."""


def left_to_python(s: ast.If) -> bool:
    """Whether the branch that `s` takes stays as it was."""
    match s.body:
        case [ast.Expr(value=ast.Constant(value=said)), *_]:
            return said == PYTHON
    return False


def ours(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """`nodes` and what is below them, but for what is left to Python."""
    for n in nodes:
        match n:
            case ast.If(test=test, orelse=orelse) if left_to_python(n):
                yield from below(test)
                yield from ours(orelse)
            case ast.If(test=test, body=body, orelse=orelse):
                yield from below(test)
                yield from ours([*body, *orelse])
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                yield from below(target, iterable)
                yield from ours([*body, *orelse])
            case ast.While(test=test, body=body, orelse=orelse):
                yield from below(test)
                yield from ours([*body, *orelse])
            case _:
                yield from below(n)


def reads(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name read anywhere in `nodes`."""
    return {
        n.id
        for n in ours(nodes)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
