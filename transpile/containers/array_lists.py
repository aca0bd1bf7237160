"""Lists of arrays that become one array → a flat list of elements, and the lengths."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..analysis.type_facts import ArrayList
from ..frontend.ast_names import names_used
from ..frontend.language.comprehensions import nested_loops, with_fresh_variables
from ..frontend.macros.firing_conditions import has_array_lists
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded
from ..numpy.array_nests import allocate_array, loop_nest, product_of, row_major_index
from ..numpy.array_views import element_at, view_of
from .list_elements import JOINING, stacked_list

__all__ = ["array_list_append", "array_list_length", "array_list_start", "array_list_stack"]


@fires_on(ast.Assign, targets=ast.Name, when=has_array_lists)
def array_list_start(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``xs = []`` of a list of arrays → an empty flat list of elements, a count, and the greatest
    lengths so far.

        u = [x, y]
        z = np.concatenate(u)
    →
        _u = []
        _count = 0
        _most = 0
        for _i in range(x.shape[0]):
            _u.append(x[_i])
        _count = _count + 1
        _most = max(_most, x.shape[0])
        for _i_1 in range(y.shape[0]):
            _u.append(y[_i_1])
        _count = _count + 1
        _most = max(_most, y.shape[0])
        if _count < 1:
            "Python's to answer"
            _a = np.concatenate([])
        else:
            _a = np.empty(len(_u), np.float64)
            for _i_2 in range(len(_u)):
                _a[_i_2] = _u[_i_2]
        z = _a
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in cx.facts.array_lists:
            of = cx.facts.array_lists[name]
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
            own = with_fresh_variables(value, cx)
            append = cx.code("LIST.append(E)", LIST=name, E=own.elt)
            lines += nested_loops(own.generators, append, cx)
    return lines


@fires_on(ast.Expr, value=ast.Call, when=has_array_lists)
def array_list_append(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``xs.append(a)`` → the elements of `a`, in C order, appended to the flat list; the lengths
    are noted.

        u = []
        u.append(y + 1.0)
        z = np.hstack(u)
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
            _a = np.hstack([])
        else:
            _a = np.empty(len(_u), np.float64)
            for _i_2 in range(len(_u)):
                _a[_i_2] = _u[_i_2]
        z = _a
    """
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[e])) if (
            name in cx.facts.array_lists
        ):
            of = cx.facts.array_lists[name]
        case _:
            return None
    of.lengths = of.lengths or _supposed(e, of.rank, cx)
    if not isinstance(e, ast.Name):
        own = cx.expr("NP.copy(E)", NP=cx.numpy, E=e) if isinstance(e, ast.Subscript) else e
        return cx.code("ROW = E\nLIST.append(ROW)", ROW=cx.fresh("row"), E=own, LIST=name)
    lengths = _lengths(e, of.rank, cx)
    of.lengths = of.lengths or lengths

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code("ITEMS.append(E)", ITEMS=of.items, E=element_at(e, at, cx))

    lines = loop_nest(lengths, body, cx)
    lines += cx.code("COUNT = COUNT + 1", COUNT=of.count)
    for most, n in zip(of.most, lengths, strict=True):
        lines += cx.code("MOST = max(MOST, N)", MOST=most, N=n)
    return lines


def _lengths(array: ast.expr, rank: int, cx: Context, first: int = 0) -> list[ast.expr]:
    axes = range(first, first + rank)
    return [cx.expr("X.shape[K]", X=array, K=ast.Constant(k)) for k in axes]


def _supposed(e: ast.expr, rank: int, cx: Context) -> Sequence[ast.expr]:
    """Lengths that `e` has, or is likely to have: those of arrays that are there all along."""
    found: list[ast.expr] = []

    def look() -> None:
        of = view_of(e, cx)
        if of is not None and all(map(cx.facts.lasting, of.shape)):
            found.extend(of.shape)

    names = names_used(cx.tree)
    cx.whole(look)
    if found and all(names_used(n) <= names for n in found):
        return found
    match e:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            of, owner = cx.fact(e), cx.fact(e).owner or name
            whole = cx.expr("X", X=owner)
            more = (cx.fact(whole).rank or 0) - rank
            if more > 0 or (owner == name and not more and isinstance(e, ast.Name)):
                return _lengths(whole, rank, cx, more) if of.rank == rank else []
        case ast.BinOp(left=left, right=right):
            return _supposed(left, rank, cx) or _supposed(right, rank, cx)
        case ast.Call(func=ast.Attribute(value=of, attr="copy" | "astype")):
            return _supposed(of, rank, cx)
    return _lengths(e, rank, cx) if isinstance(e, ast.Name) and cx.fact(e).rank == rank else []


@fires_on(ast.Call, when=has_array_lists)
def array_list_stack(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.array(xs)`` and its kin → an array filled from the flat list. Python answers where the
    list is empty or its arrays differ in shape.

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
            _n = X.shape[1]
            if _count * _n != len(_u) or _most != _n:
                raise ValueError
            _a = np.empty((_count, _n), np.float64)
            for _i_2 in range(_count):
                for _i_3 in range(_n):
                    _a[_i_2, _i_3] = _u[_i_2 * _n + _i_3]
        s = _a[0, 0]
    """
    name, function, axis = stacked_list(node, cx.resolve)
    if name not in cx.facts.array_lists or not isinstance(node, ast.Call):
        return None
    of, out = cx.facts.array_lists[name], cx.fresh("a")
    if len(of.lengths) != of.rank:
        return None
    joined = function in JOINING and (function != "vstack" or of.rank > 1)
    lines = _side_by_side(of, out, axis, joined, cx)
    none = ast.Call(node.func, [ast.List([], ast.Load())], node.keywords)
    (original,) = cx.code("OUT = E", OUT=out, E=none)
    few = cx.expr("COUNT < 1", COUNT=of.count)
    return cx.made(out, lambda: guarded([few], original, lines, cx))


def _side_by_side(of: ArrayList, out: str, axis: int, joined: bool, cx: Context) -> list[ast.stmt]:
    """Statements that leave one array under `out`: of the same axes, or with one more for them."""
    lengths: list[ast.expr] = [
        n if isinstance(n, ast.Constant) else ast.Name(cx.fresh("n"), ast.Load())
        for n in of.lengths
    ]
    lines = [line for n, given in zip(lengths, of.lengths, strict=True) if n is not given
             for line in cx.code("N = E", N=n, E=given)]
    count, items = (ast.Name(n, ast.Load()) for n in (of.count, of.items))
    uneven = [cx.expr("N != len(ITEMS)", N=product_of([count, *lengths], cx), ITEMS=items)]
    uneven += [cx.expr("MOST != N", MOST=m, N=n) for m, n in zip(of.most, lengths, strict=True)]
    shape = [*lengths[:axis], count, *lengths[axis:]]
    if joined and of.rank > 1:
        shape = [product_of([count, lengths[0]], cx), *lengths[1:]]
    elif joined:
        shape, uneven, lines = [cx.expr("len(ITEMS)", ITEMS=items)], [], []

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        first = [at[axis], *at[:axis], *at[axis + 1 :]]
        place = row_major_index(first, [shape[axis], *shape[:axis], *shape[axis + 1 :]], cx)
        to = element_at(ast.Name(out, ast.Load()), at, cx)
        return cx.code("PLACE = E", PLACE=to, E=element_at(items, [place], cx))

    if uneven:
        lines += cx.code("if TEST: raise ValueError", TEST=ast.BoolOp(ast.Or(), uneven))
    return [*lines, allocate_array(out, shape, of.dtype, cx), *loop_nest(shape, body, cx)]


@fires_on(ast.Call, calls=[len], when=has_array_lists)
def array_list_length(node: ast.AST, cx: Context) -> ast.expr | None:
    """``len(xs)`` → the count of arrays.

        u = [x]
        z = np.concatenate(u) * len(u)
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
            _a = np.concatenate([])
        else:
            _a = np.empty(len(_u), np.float64)
            for _i_1 in range(len(_u)):
                _a[_i_1] = _u[_i_1]
        z = np.empty(len(_u), np.float64)
        for _i_2 in range(len(_u)):
            z[_i_2] = np.multiply(_a[_i_2], _count)
    """
    match node:
        case ast.Call(args=[ast.Name(id=name)]) if (
            name in cx.facts.array_lists and cx.builtin(node) == "len"
        ):
            return cx.expr("COUNT", COUNT=cx.facts.array_lists[name].count)
    return None
