"""Lists of tuples: comprehensions of them, and arrays."""
from __future__ import annotations

import ast

import numpy as np

from .arguments import function_named
from .comprehensions import nested, own_names, waits
from .context import Context
from .firing import fires_on
from .listarrays import widened
from .liveness import reads
from .nests import allocated, unless

__all__ = ["tuples_listed", "tuples_stacked"]


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp, when=lambda _, cx: cx.facts.tuple_lists)
def tuples_listed(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The list is filled under its own name.

        w = [(v, i) for i, v in enumerate(x) if v > s]
        for u, k in w:
            s = s + u * k
    →
        w = []
        for _i in range(len(x)):
            _v = x[_i]
            if _v > s:
                w.append((_v, _i))
        for _i_1 in range(len(w)):
            u = w[_i_1][0]
            k = w[_i_1][1]
            s = s + u * k
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as made) if (
            name in cx.facts.tuple_lists and name not in reads([made]) and not waits(made)
        ):
            own = own_names(made, cx)
            append = cx.code("LIST.append(E)", LIST=name, E=own.elt)
            return [*cx.code("LIST = []", LIST=name), *nested(own.generators, append, cx)]
    return None


@fires_on(ast.Call, calls=[np.array, np.asarray], when=lambda _, cx: cx.facts.tuple_types)
def tuples_stacked(node: ast.AST, cx: Context) -> ast.expr | None:
    """Each tuple is a row; without any it would have but one axis.

        w = [(v, i) for i, v in enumerate(x) if v > s]
        X = np.array(w)
    →
        w = []
        for _i in range(len(x)):
            _v = x[_i]
            if _v > s:
                w.append((_v, _i))
        if len(w) < 1:
            "Python's to answer"
            _a = np.array(w)
        else:
            _a = np.empty((len(w), 2), np.float64)
            for _i_1 in range(len(w)):
                _a[_i_1, 0] = w[_i_1][0]
                _a[_i_1, 1] = w[_i_1][1]
        X = _a
    """
    match node:
        case ast.Call(func=func, args=[ast.Name(id=name) as of, *more], keywords=keywords) if (
            name in cx.facts.tuple_types and function_named(func, cx) in ("array", "asarray")
        ):
            given = [*more, *(k.value for k in keywords)]
        case _:
            return None
    dtype = widened(cx.facts.tuple_types[name], given, cx)
    if dtype is None or not cx.means("len", "range"):
        return None
    out, width = cx.fresh("a"), cx.facts.tuple_lists[name]
    lines = [allocated(out, [cx.expr("len(X)", X=of), ast.Constant(width)], dtype, cx)]
    i = ast.Name(cx.fresh("i"), ast.Load())
    row = [line for k in range(width) for line in cx.code(
        "OUT[I, K] = X[I][K]", OUT=out, I=i, K=ast.Constant(k), X=of)]
    lines += cx.code("for I in range(len(X)): ROW", I=i, X=of, ROW=row)
    (original,) = cx.code("OUT = E", OUT=out, E=node)
    return cx.made(out, lambda: unless([cx.expr("len(X) < 1", X=of)], original, lines, cx))
