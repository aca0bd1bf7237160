"""What stands below a node of Python's tree: ``ast.walk``, for a first call that waits for it."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["below"]

_BARE = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def below(*nodes: ast.AST) -> Iterator[ast.AST]:
    """`nodes` and everything below them in no order, but for contexts and operators."""
    waiting = list(nodes)
    while waiting:
        n = waiting.pop()
        yield n
        for value in n.__dict__.values():
            if isinstance(value, list):
                waiting += _nodes(value)
            elif isinstance(value, ast.AST) and not isinstance(value, _BARE):
                waiting.append(value)


def _nodes(values: Iterable[object]) -> list[ast.AST]:
    return [v for v in values if isinstance(v, ast.AST) and not isinstance(v, _BARE)]
