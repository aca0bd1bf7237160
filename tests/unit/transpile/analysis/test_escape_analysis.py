"""Escape analysis of arrays: whether a name is the only reference to its array."""
from __future__ import annotations

import ast
import builtins
import textwrap

import numpy as np
import pytest

from transpile.analysis.escape_analysis import EscapeAnalysis


def function(body: str) -> ast.FunctionDef:
    (tree,) = ast.parse("def f(x, n, g):\n" + textwrap.indent(body, " ")).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


def resolve(e: ast.expr) -> object | None:
    match e:
        case ast.Attribute(value=ast.Name(id="np"), attr=attr):
            return getattr(np, attr, None)
        case ast.Name(id=name):
            return getattr(builtins, name, None)
    return None


ALONE = {
    "a = np.zeros(n)\na = np.zeros(n)": True,
    "a = np.zeros(n)\ns = a[0] + a.sum()\nreturn a": True,
    "a = x\na = np.zeros(n)": False,
    "a = x[1:]": False,
    "a = np.zeros(n)\nb = a": False,
    "a = np.zeros(n)\nb = a[1:]": False,
    "a = np.zeros(n)\ng(a)": False,
    "a = np.zeros(n)\nb = np.sqrt(a)": True,
    "a = np.zeros(n)\nb = [a]": False,
}


@pytest.mark.parametrize("body", ALONE)
def test_arrays(body: str) -> None:
    found = EscapeAnalysis(function(body), resolve, {"x"}, sliced=False)
    assert found.is_sole_reference("a", 1) == ALONE[body]
