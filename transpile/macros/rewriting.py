"""Functions of whole arrays that others say as well."""
from __future__ import annotations

import ast

import numpy as np

from .context import Context
from .firing import fires_on
from .integers import integer_constant
from .nests import dtype
from .views import held

__all__ = ["array_copied", "array_said"]


@fires_on(ast.Call, calls=[".trace", np.diff, np.trace])
def array_said(node: ast.AST, cx: Context) -> ast.expr | None:
    """Differences, the trace.

        s = np.trace(X)
    →
        _trace = np.float64(0)
        for _i in range(min(X.shape[0], X.shape[1])):
            _trace = np.add(_trace, X[_i, _i])
        s = _trace
    """
    match node:
        case ast.Call(func=func, args=[x, *_]) if cx.is_numpy(func, "diff"):
            return _differences(node, x, cx)
        case ast.Call(func=func, args=[x, k], keywords=[]) if cx.is_numpy(func, "trace") and (
            cx.fact(x).rank == 2 and integer_constant(k, None) is not None
        ):
            return cx.expr("NP.sum(NP.diagonal(X, K))", NP=cx.numpy, X=x, K=k)
        case ast.Call(func=func, args=[x], keywords=[]) if cx.is_numpy(func, "trace"):
            return _trace(node, x, cx)
        case ast.Call(func=ast.Attribute(value=x, attr="trace"), args=[], keywords=[]):
            return _trace(node, x, cx) if cx.resolve(node.func) is None else None
    return None


@fires_on(ast.Expr, value=ast.Call, calls=[np.copyto, np.put, np.putmask])
def array_copied(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Into an array that is there.

        np.copyto(x, y)
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            x[...] = y
        else:
            for _i in range(x.shape[0]):
                x[_i] = y[_i]
    """
    match node:
        case ast.Expr(value=ast.Call(func=func, args=[x, y], keywords=[])) if (
            cx.is_numpy(func, "copyto") and cx.fact(x).array and cx.fact(y).types
        ):
            types = {t.dtype for t in cx.fact(y).types}
            same = types == {t.dtype for t in cx.fact(x).types}
            return cx.code("X[...] = Y", X=x, Y=y) if same else None
        case ast.Expr(value=ast.Call(func=func, args=[x, at, y], keywords=[])) if (
            cx.fact(x).array and cx.fact(at).array and cx.fact(y).rank == 0
        ):
            masks = {t.dtype for t in cx.fact(at).types} == {"bool"}
            known = (cx.is_numpy(func, "put") and cx.fact(x).rank == 1 and not masks) or (
                cx.is_numpy(func, "putmask") and masks and cx.fact(x).rank == cx.fact(at).rank)
            return cx.code("X[AT] = Y", X=x, AT=at, Y=y) if known else None
    return None


_TIMES = 8
"""Of more, NumPy goes on with what it has."""


def _differences(node: ast.Call, x: ast.expr, cx: Context) -> ast.expr | None:
    """Of neighbours along an axis; more than once, one by one."""
    given = dict(zip(("n", "axis"), node.args[1:], strict=False))
    given |= {k.arg: k.value for k in node.keywords if k.arg}
    rank = cx.fact(x).rank
    axis = integer_constant(given.pop("axis", None), -1)
    times = integer_constant(given.pop("n", None), 1)
    if given or cx.fact(x).array is None or not rank or axis is None:
        return None
    if not times or not 1 <= times <= _TIMES:
        return None
    if not -rank <= axis < rank:
        return None
    for _ in range(times):
        function = "not_equal" if _is_bool(x, cx) else "subtract"
        x = x if isinstance(x, ast.Name) else held(x, "a", cx)
        before = ":, " * (axis % rank)
        text = f"NP.{function}(X[{before}1:], X[{before}:-1])"
        x = cx.expr(text, NP=cx.numpy, X=x)
    return x


def _is_bool(x: ast.expr, cx: Context) -> bool:
    return {t.dtype for t in cx.fact(x).types} == {"bool"}


def _trace(node: ast.expr, x: ast.expr, cx: Context) -> ast.expr | None:
    types = cx.fact(node).types
    if cx.fact(x).rank != 2 or len(types) != 1:
        return None
    (out,) = types
    x = x if isinstance(x, ast.Name) else held(x, "a", cx)
    name = cx.fresh("trace")
    text = """
        NAME = T(0)
        for I in range(min(X.shape[0], X.shape[1])):
            NAME = NP.add(NAME, X[I, I])
    """
    i, of = cx.fresh("i"), dtype(out.dtype, cx)
    cx.folds(out.dtype)
    cx.before(*cx.code(text, NAME=name, T=of, I=i, X=x, NP=cx.numpy))
    return cx.expr("NAME", NAME=name)
