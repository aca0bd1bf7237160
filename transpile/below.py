"""What stands below a node of Python's tree: ``ast.walk``, for a first call that waits for it."""
from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["below", "children"]

_BARE = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def below(*nodes: ast.AST) -> Iterator[ast.AST]:
    """`nodes` and everything below them in no order, but for contexts and operators."""
    waiting = list(nodes)
    while waiting:
        n = waiting.pop()
        yield n
        waiting += children(n)


def children(node: ast.AST) -> list[ast.AST]:
    """What stands right below `node`, but for contexts and operators."""
    found: list[ast.AST] = []
    for value in node.__dict__.values():
        if isinstance(value, list):
            found += [v for v in value if isinstance(v, ast.AST) and not isinstance(v, _BARE)]
        elif isinstance(value, ast.AST) and not isinstance(value, _BARE):
            found.append(value)
    return found
