"""Tree summary: which node types, names, callees and exits occur in a function, from one walk.

`transpile.expand` and `type_tests` use it to skip whole rewrites that have nothing to rewrite.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import NamedTuple

from ..ast_walk import walk_nodes

__all__ = ["TreeSummary", "summarize_tree"]

_LOOPS = (ast.For, ast.While)
_LITERALS = (ast.Constant, ast.List, ast.Set, ast.Tuple)


class TreeSummary(NamedTuple):
    """What occurs in a function, at least once, anywhere."""

    kinds: frozenset[type[ast.AST]]
    """Types of nodes."""
    names: frozenset[str]
    """Names that are read or bound."""
    called: frozenset[str]
    """Names that are called: ``f`` of ``f(x)``."""
    methods: frozenset[str]
    """Attributes that are called: ``g`` of ``x.g()``."""
    has_call_without_args: bool
    """Whether there is a call without positional arguments."""
    has_early_exit: bool
    """Whether there is a ``break``, a ``continue``, a loop's ``else``, or a ``return`` that is not
    the last statement.
    """
    attributes: frozenset[str]
    """Attributes that are read."""
    constants: frozenset[type[object]]
    """Types of constants."""
    compares_constants: bool
    """Whether there is a comparison whose operands are all constants or displays."""

    def has(self, *kinds: type[ast.AST]) -> bool:
        """Whether there are nodes of one of `kinds`."""
        return not self.kinds.isdisjoint(kinds)

    def may_call(
        self, functions: Collection[object], resolve: Callable[[ast.expr], object | None]
    ) -> bool:
        """Whether one of `functions` may be called: by a name that resolves to it, or as an
        attribute of anything.
        """
        callees = (resolve(ast.Name(name, ast.Load())) for name in self.called)
        return bool(self.methods) or any(f is g for f in callees for g in functions)


def summarize_tree(tree: ast.FunctionDef) -> TreeSummary:
    """The summary of `tree`."""
    kinds: set[type[ast.AST]] = set()
    names: set[str] = set()
    called: set[str] = set()
    methods: set[str] = set()
    attributes: set[str] = set()
    constants: set[type[object]] = set()
    returns: list[ast.Return] = []
    has_call_without_args = has_loop_else = compares_constants = False
    for n in walk_nodes(tree):
        kinds.add(type(n))
        if isinstance(n, ast.Name):
            names.add(n.id)
        elif isinstance(n, ast.Compare):
            compares_constants = compares_constants or all(
                isinstance(e, _LITERALS) for e in (n.left, *n.comparators)
            )
        elif isinstance(n, ast.Constant):
            constants.add(type(n.value))
        elif isinstance(n, ast.Attribute):
            attributes.add(n.attr)
        elif isinstance(n, ast.Call):
            has_call_without_args = has_call_without_args or not n.args
            if isinstance(n.func, ast.Name):
                called.add(n.func.id)
            elif isinstance(n.func, ast.Attribute):
                methods.add(n.func.attr)
        elif isinstance(n, ast.Return):
            returns.append(n)
        elif isinstance(n, _LOOPS):
            has_loop_else = has_loop_else or bool(n.orelse)
    returns_early = any(r is not tree.body[-1] for r in returns)
    leaves_loop = has_loop_else or not kinds.isdisjoint((ast.Break, ast.Continue))
    return TreeSummary(
        frozenset(kinds), frozenset(names), frozenset(called), frozenset(methods),
        has_call_without_args, returns_early or leaves_loop, frozenset(attributes),
        frozenset(constants), compares_constants,
    )
