"""Ranges: their bounds, ``x in range(…)``, and a range under a name."""
from __future__ import annotations

import ast
from typing import TypeAlias

import numpy as np

from ..types import ELEMENTS, ScalarType
from .context import Context
from .fact import INT_TYPES
from .firing import fires_on
from .integers import integer_constant

__all__ = ["arguments", "as_int", "in_range", "named_range", "numpy_range"]

Bounds: TypeAlias = tuple[ast.expr, ast.expr, ast.expr]

_LONG = INT_TYPES | {ScalarType("i64")}
"""Of what ``np.arange`` makes int64; lengths that it computes of smaller ones may overflow."""


def _bounds(call: ast.Call, cx: Context) -> Bounds | None:
    """Start, end and step of a call with range's arguments; None unless they are surely ints."""
    bounds = arguments(call)
    return bounds if bounds and all(cx.fact(e).is_int for e in bounds) else None


def arguments(call: ast.Call) -> Bounds | None:
    """Start, end and step, as they are given."""
    start: ast.expr = ast.Constant(0)
    step: ast.expr = ast.Constant(1)
    match call:
        case ast.Call(args=[stop], keywords=[]):
            pass
        case ast.Call(args=[start, stop], keywords=[]):
            pass
        case ast.Call(args=[start, stop, step], keywords=[]):
            pass
        case _:
            return None
    return start, stop, step


def as_int(e: ast.expr, cx: Context) -> ast.expr | None:
    """`e` as the Python int that a range makes of it; None where it is surely no integer."""
    fact = cx.fact(e)
    if fact.is_int:
        return e
    known = fact.rank == 0 and fact.types and cx.means("int")
    integers = known and all(ELEMENTS[t.dtype].kind in "iu" for t in fact.types)
    return cx.expr("int(E)", E=e) if integers else None


def numpy_range(it: ast.expr, cx: Context) -> tuple[ast.expr, ast.Call] | None:
    """Of ``np.arange(a, b, c)`` of surely ints of 64 bits: ``np``, and ``range(a, b, c)``."""
    match it:
        case ast.Call(func=ast.Attribute(value=home) as f) if cx.resolve(f) is np.arange:
            bounds = arguments(it)
        case _:
            return None
    if bounds is None or not integer_constant(bounds[2]) or not cx.means("range"):
        return None
    if not all(cx.fact(e).types and cx.fact(e).types <= _LONG for e in bounds):
        return None
    numbers = cx.expr("range()")
    assert isinstance(numbers, ast.Call)
    numbers.args = list(it.args)
    return home, numbers


@fires_on(ast.Compare, ops=(ast.In, ast.NotIn), comparators=ast.Call)
def in_range(node: ast.AST, cx: Context) -> ast.expr | None:
    """Of Python ints: comparisons, and where the step is not 1 the remainder.

        a = i in range(n)
        b = i not in range(1, n, 2)
        c = i in range(n, 0, -1)
    →
        a = 0 <= i < n
        b = not (1 <= i < n and (i - 1) % 2 == 0)
        c = 0 < i <= n
    """
    match node:
        case ast.Compare(left=x, ops=[ast.In() | ast.NotIn() as how], comparators=[r]):
            found = _asked(x, r, cx)
        case _:
            return None
    if found is None or isinstance(how, ast.In):
        return found
    return cx.expr("not X", X=found)


def _asked(x: ast.expr, r: ast.expr, cx: Context) -> ast.expr | None:
    if cx.builtin(r) != "range" or not cx.fact(x).is_int:
        return None
    assert isinstance(r, ast.Call)
    bounds = _bounds(r, cx)
    by = integer_constant(bounds[2]) if bounds else None
    if bounds is None or not by:
        return None
    first, end, _ = bounds
    text = "FIRST <= X < END" if by > 0 else "END < X <= FIRST"
    if abs(by) == 1:
        return cx.expr(text, X=x, FIRST=first, END=end)
    if not isinstance(x, ast.Name) or not isinstance(first, ast.Name | ast.Constant):
        return None  # it would be evaluated twice
    whole = f"{text} and (X - FIRST) % BY == 0"
    return cx.expr(whole, X=x, FIRST=first, END=end, BY=ast.Constant(abs(by)))


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[range])
def named_range(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Bounds are taken where the range is made, once; its name stands for it from there on.

        r = range(1, n, 2)
        for i in r:
            s = s + x[i]
    →
        _end = n
        for i in range(1, _end, 2):
            s = s + x[i]
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as r):
            pass
        case _:
            return None
    if cx.builtin(r) != "range" or not cx.is_fixed(node, name):
        return None
    bounds = _bounds(r, cx)
    if bounds is None or not integer_constant(bounds[2]):
        return None
    setup: list[ast.stmt] = []
    held: list[ast.expr] = []
    for hint, e in zip(("first", "end", "step"), bounds, strict=True):
        if integer_constant(e) is not None:
            held.append(e)
            continue
        own = cx.fresh(hint)
        setup += cx.code("NAME = E", NAME=own, E=e)
        cx.facts.record(setup[-1])
        held.append(ast.Name(own, ast.Load()))
    cx.stands[name] = cx.expr("range(A, B, C)", A=held[0], B=held[1], C=held[2])
    return setup
