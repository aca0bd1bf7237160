"""What a function relies on, though its core Python may no longer say so: names that macros took.

``for k, v in enumerate(x)`` becomes a loop over a range; should `enumerate` be bound anew, it must
not be answered by that loop.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator

from .below import below
from .plan import Ref
from .scope import Scope, made_in_c

__all__ = ["relied"]


def relied(tree: ast.FunctionDef, scope: Scope) -> tuple[Ref, ...]:
    """The functions, types and numbers that free names of `tree` stand for."""
    found = (_ref(text, chain, scope) for text, chain in dict(_chains(tree)).items())
    return tuple(ref for ref in found if ref is not None)


def _chains(tree: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Names and chains of attributes, by their text."""
    for node in below(*tree.body):
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and isinstance(node, (ast.Name, ast.Attribute)):
            yield ast.unparse(node), node


def _ref(text: str, chain: ast.expr, scope: Scope) -> Ref | None:
    value = scope.resolve(chain)
    fixed = type(value) in (int, float, bool) or (callable(value) and made_in_c(value))
    return Ref(text, value) if fixed else None
