"""Ranges that are asked instead of walked: ``x in range(…)``, and a range under a name."""
from __future__ import annotations

import ast

from .context import Context
from .integers import integer_constant
from .streams import range_bounds

__all__ = ["in_range", "named_range"]


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
    bounds = range_bounds(r, cx)
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
    bounds = range_bounds(r, cx)
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
