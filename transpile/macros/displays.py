"""Arrays made element by element: of a display, of a cross product."""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from .context import Context
from .firing import fires_on
from .names import free_of
from .nests import allocated, nest, unless
from .views import View, broadcast, element, held, is_one, view

__all__ = ["array_crossed", "array_displayed", "array_spelled", "display_stored"]


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[np.array, np.asarray])
def array_displayed(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Stores, after all elements are known.

        u = np.array([s, t, 1.0])
        u = np.array([u[1], u[0]])
    →
        u = np.empty(3, np.float64)
        u[0] = s
        u[1] = t
        u[2] = 1.0
        _e = u[1]
        _e_1 = u[0]
        u = np.empty(2, np.float64)
        u[0] = _e
        u[1] = _e_1
    """
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[display]) as value
        ) if cx.is_numpy(func, "array") or cx.is_numpy(func, "asarray"):
            return cx.whole(lambda: _displayed(name, value, display, cx))
    return None


@fires_on(ast.Assign, targets=ast.Subscript, value=(ast.Tuple, ast.List))
def display_stored(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Numbers that a row or a slice takes one by one.

        X[i] = s, t
    →
        _row = X[i]
        if len(_row) != 2:
            "Python's to answer"
            X[i] = (s, t)
        else:
            _row[0] = s
            _row[1] = t
    """
    match node:
        case ast.Assign(
            targets=[ast.Subscript() as target],
            value=ast.Tuple(elts=[_, _, *_] as elts) | ast.List(elts=[_, _, *_] as elts),
        ) if cx.fact(target).rank == 1 and all(cx.fact(e).rank == 0 for e in elts):
            return cx.whole(lambda: _taken(target, elts, cx))
    return None


def _taken(target: ast.Subscript, elts: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    fact = cx.fact(target)
    if fact.array is None or not fact.owner or not cx.means("len"):
        return None  # what is read there is no view of an array
    values = [e if isinstance(e, (ast.Constant, ast.Name)) else held(e, "e", cx) for e in elts]
    row = cx.expr("ROW", ROW=cx.fresh("row"))
    lines = cx.code("ROW = X[AT]", ROW=row, X=target.value, AT=target.slice)
    whole = cx.code("TARGET = E", TARGET=target, E=ast.Tuple(values, ast.Load()))
    items = [
        line
        for k, e in enumerate(values)
        for line in cx.code("ROW[K] = E", ROW=row, K=ast.Constant(k), E=e)
    ]
    other = cx.expr("len(ROW) != N", ROW=row, N=ast.Constant(len(values)))
    return [*lines, *unless([other], whole[0], items, cx)]


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[np.cross])
def array_crossed(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Of vectors of three elements; others, and what is read while it is made, are NumPy's.

        u = np.cross(x, y)
    →
        if x.shape[0] != 3 or y.shape[0] != 3:
            "Python's to answer"
            u = np.cross(x, y)
        else:
            u = np.empty(3, np.float64)
            u[0] = np.subtract(np.multiply(x[1], y[2]), np.multiply(x[2], y[1]))
            u[1] = np.subtract(np.multiply(x[2], y[0]), np.multiply(x[0], y[2]))
            u[2] = np.subtract(np.multiply(x[0], y[1]), np.multiply(x[1], y[0]))
    """
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=func, args=[a, b], keywords=[]) as value,
        ) if cx.is_numpy(func, "cross") and free_of(value, [name]):
            return cx.whole(lambda: _crossed(node, name, value, (a, b), cx))
    return None


@fires_on(ast.Call, calls=[np.array, np.asarray, np.cross])
def array_spelled(node: ast.AST, cx: Context) -> ast.expr | None:
    """Such an array has a name.

        s = len(np.array([s, t]))
    →
        _a = np.empty(2, np.float64)
        _a[0] = s
        _a[1] = t
        s = len(_a)
    """
    match node:
        case ast.Call(func=func, args=[_, *_]) if any(
            cx.is_numpy(func, name) for name in ("array", "asarray", "cross")
        ):
            name = cx.fresh("a")
            (take,) = cx.code("NAME = E", NAME=name, E=node)
            new = array_displayed(take, cx) or array_crossed(take, cx)
            return None if new is None else cx.made(name, lambda: new)
    return None


def _displayed(name: str, value: ast.Call, display: ast.expr, cx: Context) -> list[ast.stmt] | None:
    ty = cx.fact(value).array
    elements = _elements(display) if isinstance(display, (ast.List, ast.Tuple)) else None
    known = ty is not None and elements and all(cx.fact(e).rank == 0 for _, e in elements)
    if not known or ty is None or elements is None or any(k.arg != "dtype" for k in value.keywords):
        return None
    shape = [ast.Constant(max(at[k] for at, _ in elements) + 1) for k in range(ty.rank)]
    if not all(free_of(e, [name]) for _, e in elements):
        elements = [(at, held(e, "e", cx)) for at, e in elements]
    lines = [allocated(name, shape, ty.dtype, cx)]
    for at, e in elements:
        lines += _stored(name, [ast.Constant(k) for k in at], e, cx)
    return lines


def _elements(e: ast.expr) -> list[tuple[tuple[int, ...], ast.expr]]:
    """What a display, maybe of displays, has at each place; only as NumPy takes it is it asked."""
    if not isinstance(e, (ast.List, ast.Tuple)):
        return [((), e)]
    return [((k, *at), x) for k, part in enumerate(e.elts) for at, x in _elements(part)]


def _crossed(
    s: ast.Assign, name: str, value: ast.Call, operands: tuple[ast.expr, ast.expr], cx: Context
) -> list[ast.stmt] | None:
    ty, known = cx.fact(value).array, all(cx.fact(e).array for e in operands)
    if ty is None or ty.rank > 2 or not known or not all(cx.fact(e).rank for e in operands):
        return None
    views = [of for e in operands if (of := view(e, cx)) is not None]
    if len(views) < 2:
        return None
    if any(is_one(of.shape[-1]) for of in views):
        return None
    lengths = [of.shape[-1] for of in views if not _is_three(of.shape[-1])]
    a, b = views
    elements = [_component_crossed(a, b, k, cx) for k in range(3)]
    checks = [*elements[0].checks, *(cx.expr("N != 3", N=n) for n in lengths)]
    rows = elements[0].shape

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        of = enumerate(elements)
        return [s for k, e in of for s in _stored(name, [*at, ast.Constant(k)], e.at(at), cx)]

    lines = [allocated(name, [*rows, ast.Constant(3)], ty.dtype, cx), *nest(rows, body, cx)]
    return unless(checks, s, lines, cx)


def _component_crossed(a: View, b: View, k: int, cx: Context) -> View:
    """Of the products of two vectors, or of each two of several, the component `k`."""
    def product(parts: list[ast.expr]) -> ast.expr:
        text = "NP.subtract(NP.multiply(AX, BY), NP.multiply(AY, BX))"
        return cx.expr(text, NP=cx.numpy, **dict(zip(("AX", "BY", "AY", "BX"), parts, strict=True)))

    x, y = (k + 1) % 3, (k + 2) % 3
    parts = [_component(a, x), _component(b, y), _component(a, y), _component(b, x)]
    return broadcast(parts, product, cx)


def _component(of: View, k: int) -> View:
    return View(of.shape[:-1], lambda at: of.at([*at, ast.Constant(k)]), of.checks)


def _is_three(n: ast.expr) -> bool:
    return isinstance(n, ast.Constant) and n.value == 3


def _stored(name: str, at: Sequence[ast.expr], e: ast.expr, cx: Context) -> list[ast.stmt]:
    place = element(ast.Name(name, ast.Load()), at, cx)
    return cx.code("PLACE = E", PLACE=place, E=e)
