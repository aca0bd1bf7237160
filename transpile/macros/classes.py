"""Classes that types decide, called or under a name: ``T = type(x[0])``, ``T(0.5)``."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..below import below
from ..scope import made_in_c
from .context import Context
from .deciding import asked, known_as
from .firing import CALLED, METHOD, fires_on, other_than

__all__ = ["class_named"]


@fires_on(ast.Name, ctx=ast.Load, when=lambda _, cx: cx.stands)
@fires_on(
    ast.Assign, targets=ast.Name,
    value=other_than(ast.BinOp, ast.Constant, ast.ListComp, ast.UnaryOp),
)
@fires_on(ast.Call, calls=[CALLED, METHOD])
def class_named(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """A name that is bound once, ahead of all that reads it, is what it stands for.

        T = type(x[0])
        root = np.sqrt
        s = T(0)
        t = x.dtype.type(s) + root(s)
    →
        type
        np.sqrt
        x
        _asked = x[0]
        s = np.float64(0)
        t = np.float64(s) + np.sqrt(s)
    """
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return cx.stands.get(name)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            meant = _spelled(value, cx) or _function(value, cx)
            if meant is None or not _leads(node, name, cx):
                return None
            cx.facts.record(node)
            cx.stands[name] = meant
            return asked(value, cx)
        case ast.Call(func=ast.Call() | ast.Attribute() as func):
            meant = _spelled(func, cx) if cx.resolve(func) is None else None
            if meant is None:
                return None
            cx.before(*asked(func, cx))
            return ast.copy_location(ast.Call(meant, node.args, node.keywords), node)
    return None


def _spelled(e: ast.expr, cx: Context) -> ast.expr | None:
    """The class of numbers, or of an array's elements, that `e` is, as what it is called by."""
    found = known_as(e, cx)
    value: Any = found.value if found else cx.resolve(e)
    if isinstance(value, np.dtype):
        value = value.type
    if not isinstance(value, type):
        return None
    name: str = value.__name__
    if any(value is t for t in (int, float, complex, bool)) and cx.means(name):
        meant: ast.expr = ast.Name(name, ast.Load())
    elif issubclass(value, np.generic) and getattr(np, name, None) is value:
        meant = ast.Attribute(cx.numpy, name, ast.Load())
    else:
        return None
    return ast.copy_location(meant, e)


def _function(e: ast.expr, cx: Context) -> ast.expr | None:
    """A function of NumPy's or Python's own, by a name that it has outside."""
    found = isinstance(e, (ast.Name, ast.Attribute)) and made_in_c(cx.resolve(e))
    return e if found else None


def _leads(assignment: ast.AST, name: str, cx: Context) -> bool:
    """Whether `assignment` alone binds `name`, and all that reads it comes after, in its block."""
    nodes = [n for n in below(cx.tree) if isinstance(n, ast.Name) and n.id == name]
    given = {a.arg for a in below(cx.tree.args) if isinstance(a, ast.arg)}
    inner = (ast.FunctionDef, ast.Lambda)
    if name in given or any(isinstance(n, inner) for s in cx.tree.body for n in below(s)):
        return False
    after = next((b[k + 1 :] for b, k in _places(cx.tree, assignment)), None)
    if after is None:
        return False
    later = {id(n) for s in after for n in below(s)}
    return sum(not isinstance(n.ctx, ast.Load) for n in nodes) == 1 and all(
        id(n) in later for n in nodes if isinstance(n.ctx, ast.Load)
    )


def _places(tree: ast.AST, statement: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """The block that `statement` stands in, and where."""
    for node in below(tree):
        for _, block in ast.iter_fields(node):
            if isinstance(block, list):
                yield from ((block, k) for k, s in enumerate(block) if s is statement)
