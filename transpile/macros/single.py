"""Slices of one element, along which others are stretched."""
from __future__ import annotations

import ast

from .context import Context
from .firing import fires_on
from .integers import integer_constant
from .liveness import left_to_python
from .nests import unless

__all__ = ["lacking", "slice_single"]


@fires_on(ast.If, when=lambda node, _: left_to_python(node))
@fires_on(ast.Assign, targets=ast.Name, value=ast.Subscript)
def slice_single(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Of an array of several axes, where there is such an element.

        u = X[:, i:i + 1]
    →
        if i < 0 or i >= X.shape[1]:
            "Python's to answer"
            u = X[:, i:i + 1]
        else:
            u = X[:, i:i + 1]
    """
    match node:
        case ast.If(body=[_, asked], orelse=[done]) if left_to_python(node) and (
            ast.dump(asked) == ast.dump(done)
        ):
            known = (i for i in ast.walk(done) if isinstance(i, ast.Slice))
            cx.facts.single |= {i for i in known if lacking(i, ast.Constant(1), cx) is not None}
            return None
        case ast.Assign(targets=[ast.Name()], value=ast.Subscript(value=ast.Name() as of) as view):
            rank, items = cx.fact(of).rank or 0, _items(view)
        case _:
            return None
    slices = [i for i in items if isinstance(i, ast.Slice)]
    new = [i for i in items if isinstance(i, ast.Constant) and i.value is None]
    if rank < 2 or cx.fact(of).array is None or len(slices) + len(new) < len(items):
        return None
    lengths = (cx.expr("X.shape[K]", X=of, K=ast.Constant(k)) for k in range(rank))
    tests = [
        test for i, n in zip(slices, lengths, strict=False)
        if i not in cx.facts.single and (test := lacking(i, n, cx)) is not None
    ]
    if len(slices) > rank or not tests:
        return None
    return unless(tests, node, [node], cx)


def _items(e: ast.Subscript) -> list[ast.expr]:
    return e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]


def lacking(item: ast.expr, length: ast.expr, cx: Context) -> ast.expr | None:
    """Where an axis of `length` has no such element, or only Python knows, if `item` is a slice of
    one at most. None for another slice.
    """
    if not isinstance(item, ast.Slice) or integer_constant(item.step, 1) != 1:
        return None
    first = integer_constant(item.lower, 0)
    if first is not None:
        last = integer_constant(item.upper, 0)
        one = last == first + 1 and (item.upper is not None or first == -1)
        least = ast.Constant(last if first >= 0 else -first)
        return cx.expr("N < LEAST", N=length, LEAST=least) if one else None
    match item.lower, item.upper:
        case ast.Name(id=name) as at, ast.BinOp(ast.Name(id=again), ast.Add(), ast.Constant(1)) if (
            name == again and cx.fact(at).is_int
        ):
            return cx.expr("I < 0 or I >= N", I=at, N=length)
    return None
