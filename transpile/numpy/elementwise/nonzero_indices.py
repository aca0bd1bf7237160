"""Indices of true elements: ``np.nonzero(x)``, ``np.where(x)`` and ``x.nonzero()`` → a loop.

`nonzero_indices` expands the statements that bind the indices to names; inside of expressions
`nonzero_rule` makes such a statement, and those of a vector are made by `mask_compress`.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ...frontend.macros.firing_conditions import assigns_item_of_call
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded
from ..array_nests import allocate_array, loop_nest, product_of
from ..array_views import view_of

__all__ = ["named_indices", "nonzero_argument", "nonzero_indices", "truth_mask"]


@fires_on(ast.Assign, targets=ast.Tuple, value=ast.Call, calls=[np.nonzero, np.where, ".nonzero"])
@fires_on(ast.Assign, targets=ast.Name, value=ast.Subscript, when=assigns_item_of_call)
def nonzero_indices(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``np.nonzero(x)`` → columns of one array with a row for each index, as NumPy's results are.

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
            x, columns = nonzero_argument(call, cx), [*range(len(targets))]
        case ast.Assign(
            targets=[ast.Name() as target],
            value=ast.Subscript(value=call, slice=ast.Constant(value=int(k))),
        ) if k >= 0:
            x, targets, columns = nonzero_argument(call, cx), [target], [k]
        case _:
            return None
    rank = (cx.fact(x).rank or 0) if x is not None else 0
    single = isinstance(node.targets[0], ast.Name)
    if x is None or cx.fact(x).array is None or not all(isinstance(t, ast.Name) for t in targets):
        return None
    if (single and (rank < 2 or columns[0] >= rank)) or (not single and len(targets) != rank):
        return None
    return cx.with_before(lambda: _nonzero_loop(node, x, targets, columns, cx))


def named_indices(x: ast.expr, cx: Context) -> ast.Tuple | None:
    """For a macro on an expression: a tuple of fresh names for the indices of the true elements of
    `x` along each axis, which statements before the current one bind. None where `x` has no view.
    """
    rank = cx.fact(x).rank or 0
    names: list[ast.expr] = [ast.Name(cx.fresh("place"), ast.Load()) for _ in range(rank)]
    (s,) = cx.code(
        "T = NP.nonzero(X)", T=ast.Tuple(names, ast.Store()), NP=cx.numpy, X=x
    )
    lines = cx.with_before(lambda: _nonzero_loop(s, x, names, range(rank), cx))
    if lines is None:
        return None
    cx.before(*lines)
    return ast.Tuple(names, ast.Load())


def _nonzero_loop(
    s: ast.stmt, x: ast.expr, targets: Sequence[ast.expr], columns: Sequence[int], cx: Context
) -> list[ast.stmt] | None:
    """Statements that fill an array with the subscripts of the true elements of `x`, one row for
    each, and bind each of `targets` to the column of the same position in `columns`. `s` is the
    statement that they replace. None where `x` has no view.
    """
    mask = view_of(truth_mask(x, cx), cx)
    if mask is None:
        return None
    rank = len(mask.shape)
    name, count = cx.fresh("places"), cx.fresh("n")
    rows = ast.Name(name, ast.Load())
    lengths = [product_of(mask.shape, cx), *([ast.Constant(rank)] if rank > 1 else [])]
    column = ", K" if rank > 1 else ""

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        lines = [line for k, i in enumerate(at) for line in cx.code(
            f"A[N{column}] = I", A=rows, N=count, K=ast.Constant(k), I=i)]
        text = "if C:\n    LINES\n    N = N + 1"
        return cx.code(text, C=mask.at(at), LINES=lines, N=count)

    lines = [allocate_array(name, lengths, "i64", cx), *cx.code("N = 0", N=count)]
    lines += loop_nest(mask.shape, body, cx)
    for target, k in zip(targets, columns, strict=True):
        lines += cx.code(f"T = A[:N{column}]", T=target, A=rows, N=count, K=ast.Constant(k))
    return guarded(mask.checks, s, lines, cx)


def nonzero_argument(e: ast.expr, cx: Context) -> ast.expr | None:
    """The argument of ``np.nonzero(x)``, ``np.where(x)`` or ``x.nonzero()``; None where `e` is no
    such call.
    """
    match e:
        case ast.Call(func=func, args=[x], keywords=[]) if (
            cx.resolve(func) is np.nonzero or cx.resolve(func) is np.where
        ):
            return x
        case ast.Call(func=ast.Attribute(value=x, attr="nonzero"), args=[], keywords=[]):
            return x
    return None


def truth_mask(x: ast.expr, cx: Context) -> ast.expr:
    """The array of bools that tells which elements of `x` are true: `x`, or ``x != 0``."""
    ty = cx.fact(x).array
    is_bool = ty is not None and ty.dtype == "bool"
    return x if is_bool else cx.expr("NP.not_equal(X, 0)", NP=cx.numpy, X=x)
