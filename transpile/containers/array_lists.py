"""Lists of arrays that become one array → a flat list of elements, and the lengths.

For the lists that `list_elements` recorded in ``cx.facts.array_lists``: the elements of all arrays
are appended to one list in C order, with the count of arrays and the greatest length along each
axis. The array is made of the flat list at the end; it is checked there that all arrays had the
same shape; else ValueError is raised, upon which Python replays the call. The macros:
`array_list_start` (the binding), `array_list_append`, `array_list_stack` (the call that makes one
array) and `array_list_length` (``len``).
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..analysis.alias_analysis import Owner
from ..frontend.ast_names import names_used
from ..frontend.iterators.comprehensions import nested_loops, with_fresh_variables
from ..frontend.macros.firing_conditions import has_array_lists
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded
from ..numpy.array_nests import allocate_array, loop_nest, product_of, row_major_index
from ..numpy.array_views import element_at, view_of
from ..types.flat_containers import ArrayList
from .list_elements import JOINING, stacked_list

__all__ = ["array_list_append", "array_list_length", "array_list_start", "array_list_stack"]


@fires_on(ast.Assign, targets=ast.Name, when=has_array_lists)
def array_list_start(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``xs = [a, b]`` of arrays → a flat list of their elements, the count of arrays, and the
    greatest length along each axis so far.

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
            array_list = cx.facts.array_lists[name]
        case _:
            return None
    text = "ITEMS = []\nCOUNT = 0"
    lines = cx.code(text, ITEMS=array_list.items, COUNT=array_list.count)
    for max_length in array_list.most:
        lines += cx.code("MOST = 0", MOST=max_length)
    match value:
        case ast.List(elts=elts):
            for e in elts:
                lines += cx.code("LIST.append(E)", LIST=name, E=e)
        case ast.ListComp():
            renamed = with_fresh_variables(value, cx)
            append = cx.code("LIST.append(E)", LIST=name, E=renamed.elt)
            lines += nested_loops(renamed.generators, append, cx)
    return lines


@fires_on(ast.Expr, value=ast.Call, when=has_array_lists)
def array_list_append(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``xs.append(a)`` → the elements of `a`, in C order, appended to the flat list; the count and
    the greatest lengths are updated.

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
            array_list = cx.facts.array_lists[name]
        case _:
            return None
    array_list.lengths = array_list.lengths or _expected_lengths(e, array_list.rank, cx)
    if not isinstance(e, ast.Name):
        row = cx.expr("NP.copy(E)", NP=cx.numpy, E=e) if isinstance(e, ast.Subscript) else e
        return cx.code("ROW = E\nLIST.append(ROW)", ROW=cx.fresh("row"), E=row, LIST=name)
    lengths = _lengths(e, array_list.rank, cx)
    array_list.lengths = array_list.lengths or lengths

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code("ITEMS.append(E)", ITEMS=array_list.items, E=element_at(e, at, cx))

    lines = loop_nest(lengths, body, cx)
    lines += cx.code("COUNT = COUNT + 1", COUNT=array_list.count)
    for max_length, n in zip(array_list.most, lengths, strict=True):
        lines += cx.code("MOST = max(MOST, N)", MOST=max_length, N=n)
    return lines


def _lengths(array: ast.expr, rank: int, cx: Context, first: int = 0) -> list[ast.expr]:
    """The lengths of `rank` axes of `array`, from the axis `first`."""
    axes = range(first, first + rank)
    return [cx.expr("X.shape[K]", X=array, K=ast.Constant(k)) for k in axes]


def _expected_lengths(e: ast.expr, rank: int, cx: Context) -> Sequence[ast.expr]:
    """The lengths that the array `e`, the first of the list, is expected to have, as expressions of
    arrays that exist before the list: `_stack` reads them after the loops that fill it. Empty where
    there is no guess. A wrong one fails the test of `_stack`, so that the call is replayed.
    """
    shape: list[ast.expr] = []

    def collect() -> None:
        view = view_of(e, cx)
        if view is not None and all(map(cx.facts.is_invariant, view.shape)):
            shape.extend(view.shape)

    names = names_used(cx.tree)
    cx.with_before(collect)
    if shape and all(names_used(n) <= names for n in shape):
        return shape
    match e:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            view = cx.fact(e)
            owner = view.owner if view.owner and view.has_named_owner else Owner(name)
            owner_name = cx.expr("X", X=owner.name)
            leading_axes = 0 if owner.members else (cx.fact(owner_name).rank or 0) - rank
            is_whole = owner == Owner(name) and not leading_axes and isinstance(e, ast.Name)
            if leading_axes > 0 or is_whole:
                return _lengths(owner_name, rank, cx, leading_axes) if view.rank == rank else []
        case ast.BinOp(left=left, right=right):
            return _expected_lengths(left, rank, cx) or _expected_lengths(right, rank, cx)
        case ast.Call(func=ast.Attribute(value=view, attr="copy" | "astype")):
            return _expected_lengths(view, rank, cx)
    return _lengths(e, rank, cx) if isinstance(e, ast.Name) and cx.fact(e).rank == rank else []


@fires_on(ast.Call, when=has_array_lists)
def array_list_stack(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.array(xs)`` and its kin → an array filled from the flat list. The call is replayed where
    the list is empty or its arrays differ in shape.

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
    array_list, result = cx.facts.array_lists[name], cx.fresh("a")
    if len(array_list.lengths) != array_list.rank:
        return None
    joins = function in JOINING and (function != "vstack" or array_list.rank > 1)
    lines = _stack(array_list, result, axis, joins, cx)
    empty_call = ast.Call(node.func, [ast.List([], ast.Load())], node.keywords)
    (original,) = cx.code("OUT = E", OUT=result, E=empty_call)
    is_empty = cx.expr("COUNT < 1", COUNT=array_list.count)
    return cx.bound_name(result, lambda: guarded([is_empty], original, lines, cx))


def _stack(
    array_list: ArrayList, result: str, axis: int, joins: bool, cx: Context
) -> list[ast.stmt]:
    """Statements that bind `result` to one array of all arrays of the list: along their first axis
    if it `joins` them, else with a new `axis` that counts them. Raises ValueError at run time where
    the arrays have different shapes; vectors that are joined may have.
    """
    lengths: list[ast.expr] = [
        n if isinstance(n, ast.Constant) else ast.Name(cx.fresh("n"), ast.Load())
        for n in array_list.lengths
    ]
    lines = [line for n, e in zip(lengths, array_list.lengths, strict=True) if n is not e
             for line in cx.code("N = E", N=n, E=e)]
    count, items = (ast.Name(n, ast.Load()) for n in (array_list.count, array_list.items))
    total = product_of([count, *lengths], cx)
    uneven = [cx.expr("N != len(ITEMS)", N=total, ITEMS=items)]
    uneven += [cx.expr("MOST != N", MOST=longest, N=n)
               for longest, n in zip(array_list.most, lengths, strict=True)]
    shape = [*lengths[:axis], count, *lengths[axis:]]
    if joins and array_list.rank > 1:
        shape = [product_of([count, lengths[0]], cx), *lengths[1:]]
    elif joins:
        shape, uneven, lines = [cx.expr("len(ITEMS)", ITEMS=items)], [], []

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        # In the flat list the axis that counts the arrays is the first.
        at_in_list = [at[axis], *at[:axis], *at[axis + 1 :]]
        shape_in_list = [shape[axis], *shape[:axis], *shape[axis + 1 :]]
        position = row_major_index(at_in_list, shape_in_list, cx)
        place = element_at(ast.Name(result, ast.Load()), at, cx)
        return cx.code("PLACE = E", PLACE=place, E=element_at(items, [position], cx))

    if uneven:
        lines += cx.code("if TEST: raise ValueError", TEST=ast.BoolOp(ast.Or(), uneven))
    allocation = allocate_array(result, shape, array_list.dtype, cx)
    return [*lines, allocation, *loop_nest(shape, body, cx)]


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
