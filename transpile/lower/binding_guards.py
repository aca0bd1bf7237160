"""Binding guards: names that macros replaced must still mean what they did.

``for k, v in enumerate(x)`` becomes a loop over a range; if `enumerate` is bound to something
else later, that loop must not answer the call.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from types import BuiltinMethodType

from ..call_plan import Captured, IdentityGuard, Plan
from ..frontend.ast_walk import walk_nodes
from ..frontend.name_resolution import Scope
from ..host_nodes import HostExpr, HostName, from_ast

__all__ = ["with_binding_guards"]


def with_binding_guards(plan: Plan, tree: ast.FunctionDef, scope: Scope) -> Plan:
    """`plan` with a guard for each function, type or number that free names of `tree` refer to: at
    each call it must be what it was at compile time. Arguments are not guarded, they are part of
    the signature.
    """
    known = {b.name for b in plan.bindings if isinstance(b, Captured)}
    asked = {ref.expr for ref in plan.refs} | {HostName(name) for name in known}
    chains = {expr: chain for expr, chain in _attribute_chains(tree) if expr not in asked}
    found = (_identity_guard(expr, chain, scope) for expr, chain in chains.items())
    return replace(plan, refs=(*plan.refs, *(ref for ref in found if ref is not None)))


def _attribute_chains(tree: ast.FunctionDef) -> Iterator[tuple[HostExpr, ast.expr]]:
    """Names and chains of attributes, as host expressions and as they stand."""
    for node in walk_nodes(*tree.body):
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and isinstance(node, (ast.Name, ast.Attribute)):
            yield from_ast(node), node


def _identity_guard(expr: HostExpr, chain: ast.expr, scope: Scope) -> IdentityGuard | None:
    value = scope.resolve(chain)
    made_anew = isinstance(value, BuiltinMethodType) and isinstance(value.__self__, type)
    fixed = type(value) in (int, float, bool, tuple) or (callable(value) and not made_anew)
    return IdentityGuard(expr, value) if fixed else None
