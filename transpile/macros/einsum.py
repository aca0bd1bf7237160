"""``np.einsum`` with letters that stand there → loop nests that sum up products."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..types import ELEMENTS, PARTS, ScalarType
from .context import Context
from .nests import allocated, dtype, nest, unless
from .views import View, element, is_one, view

__all__ = ["array_einsum"]


def array_einsum(node: ast.AST, cx: Context) -> ast.expr | None:
    """Letters that the result does not have are summed over.

        s = np.einsum("i,i->", x, y)
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            _einsum = np.einsum('i,i->', x, y)
        else:
            _einsum = np.float64(0)
            for _k in range(x.shape[0]):
                _einsum = np.add(_einsum, np.multiply(x[_k], y[_k]))
        s = _einsum
    """
    match node:
        case ast.Call(func=func, args=[ast.Constant(value=str(text)), *operands], keywords=[]) if (
            cx.is_numpy(func, "einsum")
        ):
            letters = _letters(text, len(operands))
        case _:
            return None
    types = cx.fact(node).types
    if letters is None or len(types) != 1:
        return None
    (out,) = types
    for e, own in zip(operands, letters[0], strict=True):
        of = cx.fact(e).array
        if of is None or (of.rank, of.dtype) != (len(own), out.dtype):
            return None
    if out.dtype in PARTS or ELEMENTS[out.dtype].kind == "b" or out.dtype == "f16":
        return None
    name = cx.fresh("einsum")
    return cx.made(name, lambda: _lines(name, node, *letters, operands, cx))


def _letters(text: str, count: int) -> tuple[list[str], str] | None:
    """Those of the operands and of the result; None where it would be a view, or lie otherwise."""
    left, arrow, right = text.replace(" ", "").partition("->")
    parts = left.split(",")
    every = "".join(parts)
    if not every.isalpha() or len(parts) != count or count > 3 or not all(parts):
        return None
    if not arrow:
        right = "".join(sorted(c for c in set(every) if every.count(c) == 1))
    known = set(right) <= set(every) and len(set(right)) == len(right)
    in_order = right == "".join(c for c in dict.fromkeys(every) if c in right)
    sums = count > 1 or set(every) != set(right)
    repeated = any(len(set(p)) < len(p) for p in parts)
    return (parts, right) if known and in_order and sums and not (repeated and right) else None


def _lines(
    name: str, node: ast.expr, parts: Sequence[str], result: str, operands: Sequence[ast.expr],
    cx: Context,
) -> list[ast.stmt] | None:
    views = [v for e in operands if (v := view(e, cx)) is not None]
    if len(views) < len(operands) or (len(result) > 1 and {v.order for v in views} != {"C"}):
        return None
    lengths: dict[str, ast.expr] = {}
    checks = [c for v in views for c in v.checks]
    for own, v in zip(parts, views, strict=True):
        for c, n in zip(own, v.shape, strict=True):
            first = lengths.setdefault(c, n)
            if is_one(n) or is_one(first):
                return None
            if ast.dump(first) != ast.dump(n):
                checks.append(cx.expr("A != B", A=first, B=n))
    (out,) = cx.fact(node).types
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    if isinstance(out, ScalarType):
        lines = _sum(ast.Name(name, ast.Load()), {}, parts, lengths, views, out.dtype, cx)
        return unless(checks, original, lines, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        acc = ast.Name(cx.fresh("acc"), ast.Load())
        given = dict(zip(result, at, strict=True))
        place = element(ast.Name(name, ast.Load()), at, cx)
        lines = _sum(acc, given, parts, lengths, views, out.dtype, cx)
        return [*lines, *cx.code("PLACE = ACC", PLACE=place, ACC=acc)]

    shape = [lengths[c] for c in result]
    lines = [allocated(name, shape, out.dtype, cx), *nest(shape, body, cx)]
    return unless(checks, original, lines, cx)


def _sum(
    acc: ast.expr, given: dict[str, ast.expr], parts: Sequence[str],
    lengths: dict[str, ast.expr], views: Sequence[View], type_: str, cx: Context,
) -> list[ast.stmt]:
    """Over all letters but those that are `given`."""
    rest = [c for c in lengths if c not in given]
    at = given | {c: ast.Name(cx.fresh("k"), ast.Load()) for c in rest}
    product: ast.expr | None = None
    for own, v in zip(parts, views, strict=True):
        e = v.at([at[c] for c in own])
        product = e if product is None else cx.expr(
            "NP.multiply(A, B)", NP=cx.numpy, A=product, B=e)
    assert product is not None
    start = cx.expr("T(0)", T=dtype(type_, cx))
    lines = cx.code("ACC = NP.add(ACC, E)", ACC=acc, NP=cx.numpy, E=product)
    for c in reversed(rest):
        lines = cx.code("for K in range(N): BODY", K=at[c], N=lengths[c], BODY=lines)
    return [*cx.code("ACC = START", ACC=acc, START=start), *lines]
