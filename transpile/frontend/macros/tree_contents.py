"""Summary of a function's tree from one walk: kinds of nodes, names, callees.

Passes over the whole function ask it whether they have anything to do.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import NamedTuple

from ..ast_walk import walk_nodes

__all__ = ["Contents", "contents"]

_LOOPS = (ast.For, ast.While)
_SPELLED = (ast.Constant, ast.List, ast.Set, ast.Tuple)


class Contents(NamedTuple):
    """What occurs in a function.

    ``kinds``: the types of nodes. ``names`` that are read or bound. ``called``: names that are
    called. ``methods``: attributes that are called. ``attributes`` that are read. ``constants``:
    the types of constants. ``bare``: whether there is a call without positional arguments.
    ``leaving``: whether the function, or a loop in it, has an exit other than its end. ``fixed``:
    whether constants or displays are compared with each other.
    """

    kinds: frozenset[type[ast.AST]]
    names: frozenset[str]
    called: frozenset[str]
    methods: frozenset[str]
    bare: bool
    leaving: bool
    attributes: frozenset[str]
    constants: frozenset[type[object]]
    fixed: bool

    def has(self, *kinds: type[ast.AST]) -> bool:
        """Whether there are nodes of one of `kinds`."""
        return not self.kinds.isdisjoint(kinds)

    def may_call(
        self, functions: Collection[object], resolve: Callable[[ast.expr], object | None]
    ) -> bool:
        """Whether one of `functions` may be called, by any name, or as an attribute."""
        found = (resolve(ast.Name(name, ast.Load())) for name in self.called)
        return bool(self.methods) or any(f is g for f in found for g in functions)


def contents(tree: ast.FunctionDef) -> Contents:
    """What occurs in `tree`."""
    kinds: set[type[ast.AST]] = set()
    names: set[str] = set()
    called: set[str] = set()
    methods: set[str] = set()
    attributes: set[str] = set()
    constants: set[type[object]] = set()
    returns: list[ast.Return] = []
    bare = orelse = fixed = False
    for n in walk_nodes(tree):
        kinds.add(type(n))
        if isinstance(n, ast.Name):
            names.add(n.id)
        elif isinstance(n, ast.Compare):
            fixed = fixed or all(isinstance(e, _SPELLED) for e in (n.left, *n.comparators))
        elif isinstance(n, ast.Constant):
            constants.add(type(n.value))
        elif isinstance(n, ast.Attribute):
            attributes.add(n.attr)
        elif isinstance(n, ast.Call):
            bare = bare or not n.args
            if isinstance(n.func, ast.Name):
                called.add(n.func.id)
            elif isinstance(n.func, ast.Attribute):
                methods.add(n.func.attr)
        elif isinstance(n, ast.Return):
            returns.append(n)
        elif isinstance(n, _LOOPS):
            orelse = orelse or bool(n.orelse)
    early = any(r is not tree.body[-1] for r in returns)
    leaving = orelse or early or not kinds.isdisjoint((ast.Break, ast.Continue))
    return Contents(
        frozenset(kinds), frozenset(names), frozenset(called), frozenset(methods), bare, leaving,
        frozenset(attributes), frozenset(constants), fixed,
    )
