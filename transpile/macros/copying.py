"""Copies of trees: several times faster than copy.deepcopy, which a first call would notice."""
from __future__ import annotations

import ast
from typing import Any, TypeVar

__all__ = ["copied"]

T = TypeVar("T", bound=ast.AST)


def copied(node: T) -> T:
    """A tree of its own, apart from the context and operator nodes, which have no content."""
    new = type(node).__new__(type(node))
    new.__dict__.update({name: _part(value) for name, value in node.__dict__.items()})
    return new


def _part(value: Any) -> Any:
    if isinstance(value, list):
        return [_part(v) for v in value]
    return copied(value) if isinstance(value, ast.AST) and value._fields else value
