"""Canonical subscripts: ``x[i][j]`` as ``x[i, j]``, lists as index arrays, rows unpacked.

Three macros bring subscripts to the forms that `basic_indexing` and `gather_scatter` know:
`merge_subscripts`, `list_index_arrays` (``x[[i, j]]``, ``np.ix_``) and `unpack_row` (``a, b =
X[i]``).
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ...analysis.type_inference.expression_facts import may_be_bool
from ...frontend.ast_names import bound_names, mentions_none_of
from ...frontend.ast_walk import integer_constant
from ...frontend.core_nodes import copy_location
from ...frontend.macros.firing_conditions import has_attribute_argument, subscripts_flat
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded

__all__ = ["list_index_arrays", "merge_subscripts", "unpack_row"]


@fires_on(ast.Subscript, value=ast.Attribute, when=subscripts_flat)
@fires_on(ast.Subscript, value=ast.Subscript)
@fires_on(ast.Call, calls=[len], when=has_attribute_argument)
def merge_subscripts(node: ast.AST, cx: Context) -> ast.expr | None:
    """``x[i][j]`` → ``x[i, j]``, and ``X.flat[i]`` → a subscript for each axis: one access in place
    of a view and its element.

        s = X[i][j]
        X[i][j] = s
        s = X.flat[i]
    →
        s = X[i, j]
        X[i, j] = s
        s = X[i // X.shape[1], i % X.shape[1]]

    The message of an IndexError then names another axis. The user does not see it: where a
    subscript is out of range, Python replays the call.
    """
    match node:
        case ast.Subscript(value=ast.Attribute(value=array, attr="flat"), slice=k):
            return _flat_element(node, array, k, cx)
        case ast.Call(args=[ast.Attribute(value=ast.Name() as array, attr="flat")], keywords=[]):
            is_array = cx.builtin(node) == "len" and cx.fact(array).array
            return cx.expr("X.size", X=array) if is_array else None
        case ast.Subscript(value=ast.Subscript(value=array, slice=i), slice=j):
            pass
        case _:
            return None
    rows, columns = _subscript_items(i), _subscript_items(j)
    rank = cx.fact(array).rank
    if not rank or len(rows) + len(columns) > rank:
        return None
    if not all(cx.fact(e).rank == 0 and not may_be_bool(e) for e in (*rows, *columns)):
        return None
    both = ast.Tuple([*rows, *columns], ast.Load())
    return copy_location(ast.Subscript(array, both, node.ctx), node)


def _flat_element(node: ast.Subscript, x: ast.expr, k: ast.expr, cx: Context) -> ast.expr | None:
    """``x.flat[k]`` as a subscript with quotients and remainders of `k`; None where `x` is no name
    of an array or `k` no name or constant of an int. An index out of range makes the first
    subscript out of range, so that the access raises.
    """
    rank = cx.fact(x).rank or 0
    is_array = cx.fact(x).array and cx.fact(k).is_int and isinstance(x, ast.Name)
    if not is_array or not (isinstance(k, ast.Name) or integer_constant(k, None) is not None):
        return None
    inner_lengths = [cx.expr("X.shape[K]", X=x, K=ast.Constant(axis)) for axis in range(1, rank)]
    subscripts: list[ast.expr] = []
    for n in reversed(inner_lengths):
        subscripts.insert(0, cx.expr("K % N", K=k, N=n))
        k = cx.expr("K // N", K=k, N=n)
    at = ast.Tuple([k, *subscripts], ast.Load()) if subscripts else k
    return copy_location(ast.Subscript(x, at, node.ctx), node)


@fires_on(ast.AugAssign, target=ast.Subscript)
@fires_on(ast.Subscript, slice=(ast.Call, ast.List, ast.Tuple))
def list_index_arrays(node: ast.AST, cx: Context) -> ast.expr | list[ast.stmt] | None:
    """``x[[i, j]]`` → an index array; ``x[np.ix_(a, b)]`` → an index array for each axis.

        x[[i, j]] = s
        X[np.ix_(k, k)] = s
    →
        _a = np.empty(2, np.int64)
        _a[0] = i
        _a[1] = j
        for _i in range(2):
            x[_a[_i]] = s
        if k.shape[0] < 1:
            "Python's to answer"
            X[k[:, None], k] = s
        else:
            for _i_1 in range(k.shape[0]):
                for _i_2 in range(k.shape[0]):
                    X[k[_i_1], k[_i_2]] = s
    """
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        target = _index_as_arrays(node.target, cx)
        if target is None:
            return None
        new = ast.AugAssign(copy_location(target, node.target), node.op, node.value)
        return [copy_location(new, node)]
    return _index_as_arrays(node, cx) if isinstance(node, ast.Subscript) else None


def _index_as_arrays(node: ast.Subscript, cx: Context) -> ast.Subscript | None:
    """`node` with ``np.ix_`` and lists of ints in its subscript replaced by index arrays; None
    where it has none, or a list of other items.
    """
    if cx.fact(node.value).array is None:
        return None
    items = _subscript_items(node.slice)
    match node.slice:
        case ast.Call(func=func, args=[_, *_] as args, keywords=[]) if cx.resolve(func) is np.ix_:
            index_arrays = _open_mesh(args, cx)
        case _ if any(map(_is_list_index, items)):
            index_arrays = [
                cx.expr("NP.array(E)", NP=cx.numpy, E=i) if _is_list_index(i) else i for i in items
            ]
            lists = (i.elts for i in items if isinstance(i, ast.List))
            if not all(cx.fact(e).is_integer for elements in lists for e in elements):
                return None
        case _:
            return None
    if not index_arrays:
        return None
    index = ast.Tuple(index_arrays, ast.Load()) if len(index_arrays) > 1 else index_arrays[0]
    return copy_location(ast.Subscript(node.value, index, node.ctx), node)


def _is_list_index(item: ast.expr) -> bool:
    """Whether the item of a subscript is a display of a list that is not empty."""
    return isinstance(item, ast.List) and bool(item.elts)


def _open_mesh(args: Sequence[ast.expr], cx: Context) -> list[ast.expr]:
    """The index arrays of ``np.ix_(*args)``: the k-th vector along axis k. Empty where the
    arguments are not all vectors of ints.
    """
    facts = [cx.fact(a) for a in args]
    if not all(f.array and f.rank == 1 and f.is_integral for f in facts):
        return []
    last_axis = len(args) - 1
    return [cx.expr(f"A[:{', None' * (last_axis - k)}]" if k < last_axis else "A", A=a)
            for k, a in enumerate(args)]


def _subscript_items(e: ast.expr) -> list[ast.expr]:
    """The items of the index `e` of a subscript: those of a tuple, else `e` alone."""
    return e.elts if isinstance(e, ast.Tuple) else [e]


@fires_on(ast.Assign, targets=(ast.Tuple, ast.List))
def unpack_row(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``a, b = x[i]`` → a read of each element. The statement is replayed where the row has another
    number of elements than there are names.

        s, t = X[0]
        for u, v in X:
            s = s + u * v
    →
        _row = X[0]
        if len(_row) != 2:
            "Python's to answer"
            s, t = _row
        else:
            s = _row[0]
            t = _row[1]
        for _i in range(len(X)):
            _row_1 = X[_i]
            if len(_row_1) != 2:
                "Python's to answer"
                u, v = _row_1
            else:
                u = _row_1[0]
                v = _row_1[1]
            s = s + u * v
    """
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
            value=value,
        ) if all(isinstance(t, ast.Name) for t in targets) and (
            cx.fact(value).rank if isinstance(value, (ast.Name, ast.Subscript)) else
            cx.fact(value).array
        ):
            pass
        case _:
            return None
    if not cx.is_builtin("len") or cx.fact(value).items is not None:
        return None
    names = bound_names(*targets)
    row, lines = value, list[ast.stmt]()
    if not (isinstance(value, ast.Name) and mentions_none_of(value, names)):
        row = ast.Name(cx.fresh("row"), ast.Load())
        lines = cx.code("ROW = E", ROW=row, E=value)
    original = cx.code("TARGET = ROW", TARGET=node.targets[0], ROW=row)
    items = [
        line
        for k, target in enumerate(targets)
        for line in cx.code("TARGET = ROW[K]", TARGET=target, ROW=row, K=ast.Constant(k))
    ]
    wrong_length = cx.expr("len(ROW) != N", ROW=row, N=ast.Constant(len(targets)))
    return [*lines, *guarded([wrong_length], original[0], items, cx)]
