"""Lists of arrays that become one array → their elements one after the other, and how many."""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from .comprehensions import nested, own_names
from .context import Context
from .itemtypes import stacked
from .nests import allocated, nest, product, row_major, unless
from .views import element

__all__ = [
    "array_appended", "arrays_counted", "arrays_listed", "arrays_stacked",
]

def arrays_listed(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The list is empty, then one array after the other comes to it.

        u = [x]
        X = np.array(u)
    →
        _u = []
        _count = 0
        _most = 0
        for _i in range(x.shape[0]):
            _u.append(x[_i])
        _count = _count + 1
        _most = max(_most, x.shape[0])
        if _count < 1:
            "Python's to answer"
            _a = np.array([])
        else:
            if _count * x.shape[0] != len(_u) or _most != x.shape[0]:
                raise ValueError
            _a = np.empty((_count, x.shape[0]), np.float64)
            for _i_1 in range(_count):
                for _i_2 in range(x.shape[0]):
                    _a[_i_1, _i_2] = _u[_i_1 * x.shape[0] + _i_2]
        X = _a
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in cx.array_lists:
            of = cx.array_lists[name]
        case _:
            return None
    text = "ITEMS = []\nCOUNT = 0"
    lines = cx.code(text, ITEMS=of.items, COUNT=of.count)
    for most in of.most:
        lines += cx.code("MOST = 0", MOST=most)
    match value:
        case ast.List(elts=elts):
            for e in elts:
                lines += cx.code("LIST.append(E)", LIST=name, E=e)
        case ast.ListComp():
            own = own_names(value, cx)
            append = cx.code("LIST.append(E)", LIST=name, E=own.elt)
            lines += nested(own.generators, append, cx)
    return lines


def array_appended(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Its elements, in C order.

        u = []
        u.append(y + 1.0)
        X = np.stack(u)
    →
        _u = []
        _count = 0
        _most = 0
        _row = np.empty(y.shape[0], np.float64)
        for _i in range(y.shape[0]):
            _row[_i] = np.add(y[_i], 1.0)
        for _i_1 in range(_row.shape[0]):
            _u.append(_row[_i_1])
        _count = _count + 1
        _most = max(_most, _row.shape[0])
        if _count < 1:
            "Python's to answer"
            _a = np.stack([])
        else:
            if _count * y.shape[0] != len(_u) or _most != y.shape[0]:
                raise ValueError
            _a = np.empty((_count, y.shape[0]), np.float64)
            for _i_2 in range(_count):
                for _i_3 in range(y.shape[0]):
                    _a[_i_2, _i_3] = _u[_i_2 * y.shape[0] + _i_3]
        X = _a
    """
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[e])) if (
            name in cx.array_lists
        ):
            of = cx.array_lists[name]
        case _:
            return None
    if not isinstance(e, ast.Name):
        of.lengths = of.lengths or _alike(e, of.rank, cx)
        own = cx.expr("NP.copy(E)", NP=cx.numpy, E=e) if isinstance(e, ast.Subscript) else e
        return cx.code("ROW = E\nLIST.append(ROW)", ROW=cx.fresh("row"), E=own, LIST=name)
    lengths = _lengths(e, of.rank, cx)
    of.lengths = of.lengths or _alike(e, of.rank, cx) or lengths

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code("ITEMS.append(E)", ITEMS=of.items, E=element(e, at, cx))

    lines = nest(lengths, body, cx)
    lines += cx.code("COUNT = COUNT + 1", COUNT=of.count)
    for most, n in zip(of.most, lengths, strict=True):
        lines += cx.code("MOST = max(MOST, N)", MOST=most, N=n)
    return lines


def _lengths(array: ast.expr, rank: int, cx: Context, first: int = 0) -> list[ast.expr]:
    axes = range(first, first + rank)
    return [cx.expr("X.shape[K]", X=array, K=ast.Constant(k)) for k in axes]


def _alike(e: ast.expr, rank: int, cx: Context) -> list[ast.expr]:
    """The lengths of an array that has a name, and which `e` is probably as long as."""
    match e:
        case ast.Name(id=name):
            fact = cx.fact(e)
            whole = cx.expr("X", X=fact.owner) if fact.owner and fact.owner != name else e
            more = (cx.fact(whole).rank or 0) - rank
            array = whole if more > 0 else e
            return _lengths(array, rank, cx, max(more, 0)) if fact.rank == rank else []
        case ast.BinOp(left=left, right=right):
            return _alike(left, rank, cx) or _alike(right, rank, cx)
        case ast.UnaryOp(operand=operand):
            return _alike(operand, rank, cx)
        case ast.Call(func=ast.Attribute(value=of, attr="copy" | "astype")):
            return _alike(of, rank, cx)
        case ast.Call(func=func, args=args) if isinstance(cx.resolve(func), np.ufunc):
            return next((n for a in args if (n := _alike(a, rank, cx))), [])
    return []


def arrays_stacked(node: ast.AST, cx: Context) -> ast.expr | None:
    """An array of them; of none, or of several lengths, Python's.

        u = [v for v in X]
        s = np.array(u)[0, 0]
    →
        _u = []
        _count = 0
        _most = 0
        for _i in range(len(X)):
            _v = X[_i]
            for _i_1 in range(_v.shape[0]):
                _u.append(_v[_i_1])
            _count = _count + 1
            _most = max(_most, _v.shape[0])
        if _count < 1:
            "Python's to answer"
            _a = np.array([])
        else:
            if _count * X.shape[1] != len(_u) or _most != X.shape[1]:
                raise ValueError
            _a = np.empty((_count, X.shape[1]), np.float64)
            for _i_2 in range(_count):
                for _i_3 in range(X.shape[1]):
                    _a[_i_2, _i_3] = _u[_i_2 * X.shape[1] + _i_3]
        s = _a[0, 0]
    """
    name, axis = stacked(node, cx.resolve)
    if name not in cx.array_lists:
        return None
    of, out = cx.array_lists[name], cx.fresh("a")
    if len(of.lengths) != of.rank:
        return None
    count, items = (ast.Name(n, ast.Load()) for n in (of.count, of.items))
    shape = [*of.lengths[:axis], count, *of.lengths[axis:]]

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        one = [at[axis], *at[:axis], *at[axis + 1 :]]
        place = row_major(one, [count, *of.lengths], cx)
        e = element(items, [place], cx)
        return cx.code("PLACE = E", PLACE=element(ast.Name(out, ast.Load()), at, cx), E=e)

    all_ = product([count, *of.lengths], cx)
    uneven = [cx.expr("N != len(ITEMS)", N=all_, ITEMS=items)]
    uneven += [cx.expr("MOST != N", MOST=m, N=n) for m, n in zip(of.most, of.lengths, strict=True)]
    lines = cx.code("if TEST: raise ValueError", TEST=ast.BoolOp(ast.Or(), uneven))
    lines += [allocated(out, shape, of.dtype, cx), *nest(shape, body, cx)]
    assert isinstance(node, ast.Call)
    none = ast.Call(node.func, [ast.List([], ast.Load())], node.keywords)
    (original,) = cx.code("OUT = E", OUT=out, E=none)
    few = cx.expr("COUNT < 1", COUNT=count)
    return cx.made(out, lambda: unless([few], original, lines, cx))


def arrays_counted(node: ast.AST, cx: Context) -> ast.expr | None:
    """How many there are.

        u = [x]
        n = len(u)
        X = np.array(u)
    →
        _u = []
        _count = 0
        _most = 0
        for _i in range(x.shape[0]):
            _u.append(x[_i])
        _count = _count + 1
        _most = max(_most, x.shape[0])
        n = _count
        if _count < 1:
            "Python's to answer"
            _a = np.array([])
        else:
            if _count * x.shape[0] != len(_u) or _most != x.shape[0]:
                raise ValueError
            _a = np.empty((_count, x.shape[0]), np.float64)
            for _i_1 in range(_count):
                for _i_2 in range(x.shape[0]):
                    _a[_i_1, _i_2] = _u[_i_1 * x.shape[0] + _i_2]
        X = _a
    """
    match node:
        case ast.Call(args=[ast.Name(id=name)]) if (
            name in cx.array_lists and cx.builtin(node) == "len"
        ):
            return cx.expr("COUNT", COUNT=cx.array_lists[name].count)
    return None
