"""Where a mask holds: the places in an array of several axes, and values one after the other."""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from .arrays import converted, converts
from .context import Context
from .elementwise import operation
from .firing import fires_on
from .masking import holding, masked, set_at, true_of
from .nests import allocated, nest, product, unless
from .views import held, reads, unlike, view

__all__ = ["array_spread", "columns_masked", "places_found"]


@fires_on(ast.Assign, targets=ast.Tuple, value=ast.Call, calls=[np.nonzero, np.where, ".nonzero"])
@fires_on(
    ast.Assign, targets=ast.Name, value=ast.Subscript,
    when=lambda node, _: isinstance(node.value.value, ast.Call),
)
def places_found(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Columns of an array that has a row for each place, as NumPy's are.

        i, j = np.nonzero(X)
    →
        _places = np.empty((X.shape[0] * X.shape[1], 2), np.int64)
        _n = 0
        for _i in range(X.shape[0]):
            for _i_1 in range(X.shape[1]):
                if np.not_equal(X[_i, _i_1], 0):
                    _places[_n, 0] = _i
                    _places[_n, 1] = _i_1
                    _n = _n + 1
        i = _places[:_n, 0]
        j = _places[:_n, 1]
    """
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=call):
            x, columns = holding(call, cx), [*range(len(targets))]
        case ast.Assign(
            targets=[ast.Name() as target],
            value=ast.Subscript(value=call, slice=ast.Constant(value=int(k))),
        ) if k >= 0:
            x, targets, columns = holding(call, cx), [target], [k]
        case _:
            return None
    rank = (cx.fact(x).rank or 0) if x is not None else 0
    single = isinstance(node.targets[0], ast.Name)
    if x is None or cx.fact(x).array is None or not all(isinstance(t, ast.Name) for t in targets):
        return None
    if (single and (rank < 2 or columns[0] >= rank)) or (not single and len(targets) != rank):
        return None
    return cx.whole(lambda: _found(node, x, targets, columns, cx))


def _found(
    s: ast.stmt, x: ast.expr, targets: Sequence[ast.expr], columns: Sequence[int], cx: Context
) -> list[ast.stmt] | None:
    mask = view(true_of(x, cx), cx)
    if mask is None:
        return None
    rank = len(mask.shape)
    into, count = cx.fresh("places"), cx.fresh("n")
    place = ast.Name(into, ast.Load())
    lengths = [product(mask.shape, cx), *([ast.Constant(rank)] if rank > 1 else [])]
    column = [", K" if rank > 1 else ""][0]

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        lines = [line for k, i in enumerate(at) for line in cx.code(
            f"A[N{column}] = I", A=place, N=count, K=ast.Constant(k), I=i)]
        text = "if C:\n    LINES\n    N = N + 1"
        return cx.code(text, C=mask.at(at), LINES=lines, N=count)

    lines = [allocated(into, lengths, "i64", cx), *cx.code("N = 0", N=count)]
    lines += nest(mask.shape, body, cx)
    for target, k in zip(targets, columns, strict=True):
        lines += cx.code(
            f"T = A[:N{column}]", T=target, A=place, N=count, K=ast.Constant(k))
    return unless(mask.checks, s, lines, cx)


@fires_on(ast.Assign, targets=ast.Subscript)
@fires_on(ast.AugAssign, target=ast.Subscript)
def array_spread(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """As many values as there are places, one after the other; else NumPy raises ahead of all.

        x[x > s] = y
    →
        _m = np.empty(x.shape[0], np.bool_)
        for _i in range(x.shape[0]):
            _m[_i] = np.greater(x[_i], s)
        _sum = np.int64(0)
        for _i_1 in range(x.shape[0]):
            _sum = np.add(_sum, np.not_equal(_m[_i_1], 0))
        _n_1 = _sum
        if _n_1 != y.shape[0]:
            "Python's to answer"
            x[x > s] = y
        else:
            _n = 0
            for _i_2 in range(x.shape[0]):
                if _m[_i_2]:
                    x[_i_2] = y[_n]
                    _n = _n + 1
    """
    if (put := set_at(node)) is None:
        return None
    s, target, op, value = put
    of = masked(target, cx)
    if of is None or cx.fact(of.array).rank != cx.fact(of.mask).rank or cx.fact(value).rank != 1:
        return None
    if not converts(cx.fact(of.array), op, cx.fact(value), cx):
        return None
    return cx.whole(lambda: _spread(s, of.array, of.mask, op, value, cx))


@fires_on(ast.Subscript, slice=ast.Tuple, ctx=ast.Load)
@fires_on(
    ast.Assign, targets=ast.Subscript,
    when=lambda node, _: isinstance(node.targets[0].slice, ast.Tuple),
)
@fires_on(
    ast.AugAssign, target=ast.Subscript,
    when=lambda node, _: isinstance(node.target.slice, ast.Tuple),
)
def columns_masked(node: ast.AST, cx: Context) -> ast.expr | list[ast.stmt] | None:
    """As the rows of what is turned. Under a mask columns come first in memory.

        X[:, x > s] *= 2.0
    →
        _m = np.empty(x.shape[0], np.bool_)
        for _i in range(x.shape[0]):
            _m[_i] = np.greater(x[_i], s)
        if X.shape[1] != x.shape[0]:
            "Python's to answer"
            X.T[x > s] *= 2.0
        else:
            for _i_2 in range(X.shape[0]):
                for _i_1 in range(X.shape[1]):
                    if _m[_i_1]:
                        X[_i_2, _i_1] = np.multiply(X[_i_2, _i_1], 2.0)
    """
    match node:
        case ast.Subscript(ctx=ast.Load()):
            turned = _turned(node, cx)
            return None if turned is None else cx.expr("X.T", X=turned)
        case ast.Assign(targets=[ast.Subscript() as target], value=value) if not cx.fact(
            value).rank and (turned := _turned(target, cx)) is not None:
            return cx.code("TARGET = E", TARGET=turned, E=value)
        case ast.AugAssign(target=ast.Subscript() as target, value=value) if not cx.fact(
            value).rank and (turned := _turned(target, cx)) is not None:
            (line,) = cx.code("TARGET += E", TARGET=turned, E=value)
            assert isinstance(line, ast.AugAssign)
            line.op = node.op
            return [line]
    return None


def _turned(e: ast.Subscript, cx: Context) -> ast.Subscript | None:
    """``X[:, m]`` as ``X.T[m]``."""
    match e.slice:
        case ast.Tuple(elts=[ast.Slice() as rows, mask]):
            of, given = cx.fact(mask).array, cx.fact(e.value).array
        case _:
            return None
    if of is None or given is None or (of.dtype, of.rank, given.rank) != ("bool", 1, 2):
        return None
    whole = rows.lower is rows.upper is rows.step is None
    text = "X.T[M]" if whole else "X[R].T[M]"
    new = cx.expr(text, X=e.value, R=rows, M=mask)
    assert isinstance(new, ast.Subscript)
    return new


def _spread(
    s: ast.stmt, x: ast.expr, where: ast.expr, op: ast.operator | None, value: ast.expr,
    cx: Context,
) -> list[ast.stmt] | None:
    owner = cx.fact(x).owner
    if not owner:
        return None
    x = x if isinstance(x, ast.Name) else held(x, "a", cx)
    if reads(value, owner, cx):
        value = held(cx.expr("NP.copy(E)", NP=cx.numpy, E=value), "a", cx)
    elif not isinstance(value, ast.Name):
        value = held(value, "a", cx)
    if not isinstance(where, ast.Name) or reads(where, owner, cx):
        where = held(cx.expr("NP.copy(E)", NP=cx.numpy, E=where), "m", cx)
    into, of, mask = view(x, cx), view(value, cx), view(where, cx)
    if into is None or of is None or mask is None:
        return None
    count = cx.fresh("n")
    total = held(cx.expr("NP.count_nonzero(M)", NP=cx.numpy, M=where), "n", cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        place, e = into.at(at), of.at([ast.Name(count, ast.Load())])
        if op is None:
            e = converted(e, cx.fact(x), cx.fact(value), cx)
        else:
            e = ast.Call(operation(op, [place, value], cx), [place, e], [])
        text = "if C:\n    PLACE = E\n    N = N + 1"
        return cx.code(text, C=mask.at(at), PLACE=place, E=e, N=count)

    checks = unlike(into.shape, mask.shape, cx)
    checks += [cx.expr("A != B", A=total, B=of.shape[0]), *into.checks, *of.checks, *mask.checks]
    lines = [*cx.code("N = 0", N=count), *nest(mask.shape, body, cx)]
    return unless(checks, s, lines, cx)
