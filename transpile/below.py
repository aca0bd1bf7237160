"""What stands below a node of Python's tree: ``ast.walk``, for a first call that waits for it."""
from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

__all__ = ["below", "blocks", "children", "results"]

_LEAVES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment"}
"""Fields that hold contexts, operators, and what is no node."""


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a node that may hold others."""
    return tuple(f for f in kind._fields if f not in _LEAVES)


def below(*nodes: ast.AST) -> Iterator[ast.AST]:
    """`nodes` and everything below them in no order, but for contexts and operators."""
    waiting = list(nodes)
    while waiting:
        n = waiting.pop()
        yield n
        waiting += children(n)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that stand right below `node`."""
    for field in ("body", "orelse", "finalbody"):
        if isinstance(block := getattr(node, field, None), list):
            yield block


def children(node: ast.AST) -> list[ast.AST]:
    """What stands right below `node`, but for contexts and operators."""
    found: list[ast.AST] = []
    values = node.__dict__
    for field in _fields(type(node)):  # type: ignore[arg-type]  # classes are hashable
        value = values.get(field)
        if type(value) is list:
            found += [v for v in value if isinstance(v, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def results(e: ast.expr) -> Iterator[ast.expr]:
    """What a display, maybe of displays, holds, which is returned."""
    match e:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from results(part)
        case _:
            yield e
