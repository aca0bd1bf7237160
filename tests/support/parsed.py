"""Functions as syntax trees, and a resolver of names: the input for tests of front-end analyses."""
from __future__ import annotations

import ast
import builtins
import textwrap

import numpy as np

__all__ = ["function", "resolve"]


def function(body: str) -> ast.FunctionDef:
    """A function of `x`, `n` and `g` with that body."""
    (tree,) = ast.parse("def f(x, n, g):\n" + textwrap.indent(body, " ")).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


def resolve(e: ast.expr) -> object | None:
    """The function of NumPy, or the builtin, that `e` names; None for all others."""
    match e:
        case ast.Attribute(value=ast.Name(id="np"), attr=attr):
            return getattr(np, attr, None)
        case ast.Name(id=name):
            return getattr(builtins, name, None)
    return None
