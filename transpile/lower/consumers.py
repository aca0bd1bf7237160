"""Who takes a list: where a single call does, its elements can have that call's dtype at once."""

from __future__ import annotations

import ast

__all__ = ["consumer"]


def consumer(tree: ast.AST, name: str) -> ast.Call | None:
    """The call whose first argument is all that the list `name`, once filled, is used for."""
    nodes = list(ast.walk(tree))
    grown = {
        n.func.value
        for n in nodes
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "append"
    }
    uses = [
        n
        for n in nodes
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        if n not in grown
    ]
    if len(uses) != 1:
        return None
    for n in nodes:
        match n:
            case ast.Call(args=[first, *_]) if first is uses[0]:
                return n
            case ast.Assign(targets=[ast.Name(id=other)], value=value) if value is uses[0]:
                bound = [m for m in nodes if isinstance(m, ast.Name) and m.id == other]
                again = sum(isinstance(m.ctx, ast.Store) for m in bound)
                return consumer(tree, other) if again == 1 else None
    return None
