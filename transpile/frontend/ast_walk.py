"""AST traversal and copying: ``ast.walk`` and ``copy.deepcopy``, several times faster."""
from __future__ import annotations

import ast
import functools
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeVar

__all__ = [
    "walk_nodes", "walk_statements", "child_blocks", "child_nodes", "display_leaves", "copy_tree",
    "is_none",
]

_LEAVES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment"}
"""Fields that hold contexts, operators, and what is no node."""


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a node that may hold others."""
    return tuple(f for f in kind._fields if f not in _LEAVES)


def walk_nodes(*nodes: ast.AST) -> Iterator[ast.AST]:
    """`nodes` and all their descendants in no particular order, without contexts and operators."""
    waiting = list(nodes)
    while waiting:
        n = waiting.pop()
        yield n
        waiting += child_nodes(n)


def child_blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that are fields of `node` itself."""
    for field in ("body", "orelse", "finalbody"):
        if isinstance(block := getattr(node, field, None), list):
            yield block


def walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """`tree` and all statements in its blocks, breadth first, as ``ast.walk`` finds them."""
    waiting = deque([tree])
    while waiting:
        n = waiting.popleft()
        yield n
        for block in child_blocks(n):
            waiting += block


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """The children of `node`, without contexts and operators."""
    found: list[ast.AST] = []
    values = node.__dict__
    for field in _fields(type(node)):  # type: ignore[arg-type]  # classes are hashable
        value = values.get(field)
        if type(value) is list:
            found += [v for v in value if isinstance(v, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def display_leaves(e: ast.expr) -> Iterator[ast.expr]:
    """The items of a display, with nested displays flattened."""
    match e:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from display_leaves(part)
        case _:
            yield e


_Tree = TypeVar("_Tree", bound=ast.AST)


def copy_tree(node: _Tree) -> _Tree:
    """A deep copy of a tree. Contexts and operators are shared, since they hold nothing."""
    new = type(node).__new__(type(node))
    new.__dict__.update({name: _copy_part(value) for name, value in node.__dict__.items()})
    return new


def _copy_part(value: Any) -> Any:
    if isinstance(value, list):
        return [_copy_part(v) for v in value]
    return copy_tree(value) if isinstance(value, ast.AST) and value._fields else value


def is_none(e: ast.expr) -> bool:
    """Whether `e` is the constant None."""
    return isinstance(e, ast.Constant) and e.value is None
