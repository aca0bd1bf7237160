"""What a function relies on, though its core Python may no longer say so: names that macros took.

``for k, v in enumerate(x)`` becomes a loop over a range; should `enumerate` be bound anew, it must
not be answered by that loop.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from types import BuiltinMethodType

from .below import below
from .bindings import Captured
from .plan import Plan, Ref
from .scope import Scope

__all__ = ["relying"]


def relying(plan: Plan, tree: ast.FunctionDef, scope: Scope) -> Plan:
    """`plan`, which also asks whether the functions, types and numbers that free names of `tree`
    stand for are what they were; those that it is given at each call it need not ask.
    """
    known = {b.name for b in plan.bindings if isinstance(b, Captured)}
    known |= {ref.expr for ref in plan.refs}
    chains = {text: chain for text, chain in _chains(tree) if text not in known}
    found = (_ref(text, chain, scope) for text, chain in chains.items())
    return replace(plan, refs=(*plan.refs, *(ref for ref in found if ref is not None)))


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
    made_anew = isinstance(value, BuiltinMethodType) and isinstance(value.__self__, type)
    fixed = type(value) in (int, float, bool, tuple) or (callable(value) and not made_anew)
    return Ref(text, value) if fixed else None
