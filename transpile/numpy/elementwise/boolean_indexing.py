"""Boolean (mask) indexing: compress, masked stores, and the places where a mask holds.

``x[m]`` and ``X[m, j]`` on both sides, ``np.nonzero``, and values stored one after the other.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...frontend.ast_walk import same_tree, tree_key
from ...frontend.core_nodes import copy_location
from ...frontend.int_exprs import integer_constant
from ...frontend.macros.firing_conditions import picks_of_call, selects_many, stores_at_tuple
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, fresh_indices, loop_nest, product_of
from ..array_views import element_at, length_mismatches, may_read_array, view_of
from .array_assignment import converted_element, converts_elementwise, store_elements
from .elementwise_ops import is_elementwise, ufunc_for

__all__ = [
    "mask_compress", "mask_compress_temporary", "mask_store", "nonzero_argument", "masked_operand",
    "subscript_store", "truth_mask", "mask_scatter", "mask_columns", "nonzero_indices",
]


class _Masked(NamedTuple):
    """``array[mask]``, where the mask has the array's first axes."""

    array: ast.expr
    mask: ast.expr


@fires_on(ast.Assign, targets=ast.Name, value=ast.Subscript, when=selects_many)
@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[np.flatnonzero])
def mask_compress(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``y = x[m]`` → a loop that appends the selected elements, and a cut to their number.

        u = x[x > s]
    →
        _a = np.empty(x.shape[0], np.float64)
        _n = 0
        for _i in range(x.shape[0]):
            if np.greater(x[_i], s):
                _a[_n] = x[_i]
                _n = _n + 1
        _a.resize(_n, refcheck=False)
        u = _a
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
            (of := masked_operand(value, cx)) or (of := _nonzero_places(value, cx))
        ):
            return cx.whole(lambda: _compress_loop(node, name, of, cx))
    return None


@fires_on(ast.Subscript, ctx=(ast.Load, ast.Del), when=selects_many)
@fires_on(ast.Call, calls=[np.flatnonzero])
def mask_compress_temporary(node: ast.AST, cx: Context) -> ast.expr | None:
    """``x[m]`` inside of an expression → a fresh name that is bound before.

        s = len(x[x > s])
    →
        _a_1 = np.empty(x.shape[0], np.float64)
        _n = 0
        for _i in range(x.shape[0]):
            if np.greater(x[_i], s):
                _a_1[_n] = x[_i]
                _n = _n + 1
        _a_1.resize(_n, refcheck=False)
        _a = _a_1
        s = len(_a)
    """
    if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
        return None
    if masked_operand(node, cx) is None and _nonzero_places(node, cx) is None:
        return None
    name = cx.fresh("a")
    (take,) = cx.code("NAME = E", NAME=name, E=node)
    new = mask_compress(take, cx)
    return None if new is None else cx.made(name, lambda: new)


@fires_on(ast.Assign, targets=ast.Subscript)
@fires_on(ast.AugAssign, target=ast.Subscript)
def mask_store(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x[m] = v`` of one value, or of values under the same mask → a loop with an ``if``.

        x[x > s] = y[x > s] * 2
        x[y < 0] += 1
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            x[x > s] = y[x > s] * 2
        else:
            for _i in range(x.shape[0]):
                if np.greater(x[_i], s):
                    x[_i] = np.multiply(y[_i], 2)
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            x[y < 0] += 1
        else:
            for _i_1 in range(x.shape[0]):
                if np.less(y[_i_1], 0):
                    x[_i_1] = np.add(x[_i_1], 1)
    """
    if (put := subscript_store(node)) is None:
        return None
    s, target, op, value = put
    of = masked_operand(target, cx)
    if of is None:
        return None
    under = (
        None if _may_broadcast(value, target.slice, cx) else _without_mask(value, target.slice, cx)
    )
    rank, axes = cx.fact(of.array).rank or 0, cx.fact(of.mask).rank or 0
    if under is None and op is None and 0 < (cx.fact(value).rank or 0) <= rank - axes:
        under = value  # the same for each place
    elif under is None or (rank > axes and cx.fact(under).rank):
        return None
    if not _conversion_cannot_fail(under, of, cx):
        return None

    def make() -> list[ast.stmt] | None:
        mask = of.mask
        if rank > axes:
            mask = mask if isinstance(mask, ast.Name) else bind_fresh(mask, "m", cx)
            more = ", ".join([":"] * axes + ["None"] * (rank - axes))
            mask = cx.expr(f"M[{more}]", M=mask)
        return store_elements(s, of.array, under, cx, op=op, where=mask, exact=axes)

    return cx.whole(make)


def _conversion_cannot_fail(value: ast.expr, of: _Masked, cx: Context) -> bool:
    """Whether the conversion of one value cannot fail: NumPy's would, be there no place for it."""
    fact, to = cx.fact(value), cx.fact(of.array).array
    if to is None or fact.rank or ELEMENTS[to.dtype].kind == "f":
        return to is not None
    known, given = integer_constant(value, None), ELEMENTS[to.dtype]
    if known is not None:
        return given.kind == "b" or given.low <= known <= given.high
    return bool(fact.types) and all(
        np.can_cast(ELEMENTS[t.dtype].numpy, given.numpy) for t in fact.types
    )


def subscript_store(
    node: ast.AST,
) -> tuple[ast.stmt, ast.Subscript, ast.operator | None, ast.expr] | None:
    """For ``x[i] = v`` or ``x[i] += v``: the target, the operator (None for a plain store) and the
    value; None for other statements.
    """
    match node:
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            return node, target, None, value
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            return node, target, op, value
    return None


def masked_operand(e: ast.expr, cx: Context) -> _Masked | None:
    """`e` by its mask; ints before it, and ints and slices behind it, are taken first."""
    if not isinstance(e, ast.Subscript) or cx.fact(e.value).array is None:
        return None
    items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
    masks = [k for k, i in enumerate(items) if _is_mask(i, cx)]
    if len(masks) != 1:
        return None
    (k,) = masks
    before, after = items[:k], items[k + 1 :]
    if not all(cx.fact(i).is_int for i in before) or not all(
        isinstance(i, ast.Slice) or cx.fact(i).is_int for i in after
    ):
        return None
    if not before and not after:
        return _Masked(e.value, items[k])
    own: list[ast.expr] = [ast.Slice() for _ in range(cx.fact(items[k]).rank or 0)]
    base = cx.expr("X[I]", X=e.value, I=ast.Tuple([*before, *own, *after], ast.Load()))
    return _Masked(base, items[k]) if cx.fact(base).array else None


def _is_mask(e: ast.expr, cx: Context) -> bool:
    of = None if isinstance(e, ast.Slice) else cx.fact(e).array
    return of is not None and of.dtype == "bool"


def _nonzero_places(e: ast.expr, cx: Context) -> _Masked | None:
    """Of ``np.flatnonzero(m)``, ``np.nonzero(m)[0]`` or ``np.where(m)[0]``; by no array."""
    match e:
        case ast.Subscript(value=call, slice=ast.Constant(value=0)):
            x = nonzero_argument(call, cx)
        case ast.Call(func=func, args=[x], keywords=[]) if cx.resolve(func) is np.flatnonzero:
            pass
        case _:
            return None
    of = cx.fact(x).array if x is not None else None
    if x is None or of is None or of.rank != 1:
        return None
    return _Masked(ast.Constant(None), truth_mask(x, cx))


def nonzero_argument(e: ast.expr, cx: Context) -> ast.expr | None:
    """The array of which `e` gives the indices of true elements; None where `e` is no such call."""
    match e:
        case ast.Call(func=func, args=[x], keywords=[]) if (
            cx.resolve(func) is np.nonzero or cx.resolve(func) is np.where
        ):
            return x
        case ast.Call(func=ast.Attribute(value=x, attr="nonzero"), args=[], keywords=[]):
            return x
    return None


def truth_mask(x: ast.expr, cx: Context) -> ast.expr:
    """The bool array of which elements of `x` are true."""
    of = cx.fact(x).array
    same = of is not None and of.dtype == "bool"
    return x if same else cx.expr("NP.not_equal(X, 0)", NP=cx.numpy, X=x)


def _compress_loop(s: ast.stmt, name: str, of: _Masked, cx: Context) -> list[ast.stmt] | None:
    given = not isinstance(of.array, ast.Constant)
    array = of.array
    if given and is_elementwise(array, cx):
        array = bind_fresh(array, "a", cx)
    mask, read = view_of(of.mask, cx), view_of(array, cx) if given else None
    ty = cx.fact(array).array
    if mask is None or (given and (read is None or ty is None)):
        return None
    shape = read.shape if read is not None else mask.shape
    if len(shape) > len(mask.shape) + 1 and cx.fact(array).order != "C":
        return None  # what NumPy makes of it lies in an order of its own
    rest = shape[len(mask.shape) :]
    checks = length_mismatches(shape, mask.shape, cx)
    checks += [*mask.checks, *(read.checks if read is not None else ())]
    into, count = cx.fresh("a"), cx.fresh("n")
    room = [product_of(mask.shape, cx), *rest]
    lines = [allocate_array(into, room, ty.dtype if ty else "i64", cx)]
    lines += cx.code("K = 0", K=count)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        inner = fresh_indices(rest, cx)
        behind = [i or ast.Constant(0) for i in inner]
        e = read.at([*at, *behind]) if read is not None else at[0]
        place = element_at(ast.Name(into, ast.Load()), [ast.Name(count, ast.Load()), *behind], cx)
        keep = cx.code("PLACE = E", PLACE=place, E=e)
        for n, i in reversed([*zip(rest, inner, strict=True)]):
            keep = cx.code("for I in range(N): BODY", I=i, N=n, BODY=keep) if i else keep
        text = "if C:\n    KEEP\n    K = K + 1"
        return cx.code(text, C=mask.at(at), KEEP=keep, K=count)

    lines += loop_nest(mask.shape, body, cx)
    if read is None:  # NumPy's are views
        lines += cx.code("NAME = A[:K]", NAME=name, A=into, K=count)
        return guarded(checks, s, lines, cx)
    cut = ast.Tuple([ast.Name(count, ast.Load()), *rest], ast.Load())
    lines += cx.code(
        "A.resize(N, refcheck=False)\nNAME = A", A=into, NAME=name, N=cut if rest else cut.elts[0]
    )
    return guarded(checks, s, lines, cx)


def _without_mask(value: ast.expr, mask: ast.expr, cx: Context) -> ast.expr | None:
    """What `value`, made of scalars and of arrays under `mask`, is without it."""
    if cx.fact(value).rank == 0:
        return value
    operands: list[ast.expr]
    match value:
        case ast.Subscript(value=array, slice=index) if same_tree(index, mask):
            plain = masked_operand(value, cx) is not None and not isinstance(index, ast.Tuple)
            return array if plain else None
        case ast.BinOp(left=left, right=right):
            operands = [left, right]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            operands = [operand]
        case ast.Call(func=func, args=args, keywords=[]) if isinstance(cx.resolve(func), np.ufunc):
            operands = args
        case _:
            return None
    found = [(e, _without_mask(e, mask, cx)) for e in operands]
    known = {id(e): new for e, new in found if new is not None}
    return _with_operands(value, known) if len(known) == len({*map(id, operands)}) else None


def _may_broadcast(value: ast.expr, mask: ast.expr, cx: Context) -> bool:
    """Whether one of several arrays under `mask` might stretch another, had they none."""
    subscripts = (n for n in ast.walk(value) if isinstance(n, ast.Subscript))
    arrays = [n.value for n in subscripts if same_tree(n.slice, mask)]
    shapes = (cx.fact(a).shape or ("",) * (cx.fact(a).rank or 0) for a in arrays)
    ones = {tuple(n == "1" for n in shape) for shape in shapes}
    several = len({*map(tree_key, arrays)}) > 1
    return several and (len(ones) > 1 or not all(isinstance(a, ast.Name) for a in arrays))


def _with_operands(e: ast.expr, known: dict[int, ast.expr]) -> ast.expr:
    """`e` with other operands."""
    match e:
        case ast.BinOp(left=left, op=op, right=right):
            new: ast.expr = ast.BinOp(known[id(left)], op, known[id(right)])
        case ast.UnaryOp(op=sign, operand=operand):
            new = ast.UnaryOp(sign, known[id(operand)])
        case ast.Call(func=func, args=args):
            new = ast.Call(func, [known[id(a)] for a in args], [])
        case _:
            raise AssertionError(ast.dump(e))
    return copy_location(new, e)


@fires_on(ast.Assign, targets=ast.Tuple, value=ast.Call, calls=[np.nonzero, np.where, ".nonzero"])
@fires_on(
    ast.Assign, targets=ast.Name, value=ast.Subscript,
    when=picks_of_call,
)
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
    return cx.whole(lambda: _nonzero_loop(node, x, targets, columns, cx))


def _nonzero_loop(
    s: ast.stmt, x: ast.expr, targets: Sequence[ast.expr], columns: Sequence[int], cx: Context
) -> list[ast.stmt] | None:
    mask = view_of(truth_mask(x, cx), cx)
    if mask is None:
        return None
    rank = len(mask.shape)
    into, count = cx.fresh("places"), cx.fresh("n")
    place = ast.Name(into, ast.Load())
    lengths = [product_of(mask.shape, cx), *([ast.Constant(rank)] if rank > 1 else [])]
    column = [", K" if rank > 1 else ""][0]

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        lines = [line for k, i in enumerate(at) for line in cx.code(
            f"A[N{column}] = I", A=place, N=count, K=ast.Constant(k), I=i)]
        text = "if C:\n    LINES\n    N = N + 1"
        return cx.code(text, C=mask.at(at), LINES=lines, N=count)

    lines = [allocate_array(into, lengths, "i64", cx), *cx.code("N = 0", N=count)]
    lines += loop_nest(mask.shape, body, cx)
    for target, k in zip(targets, columns, strict=True):
        lines += cx.code(
            f"T = A[:N{column}]", T=target, A=place, N=count, K=ast.Constant(k))
    return guarded(mask.checks, s, lines, cx)


@fires_on(ast.Assign, targets=ast.Subscript)
@fires_on(ast.AugAssign, target=ast.Subscript)
def mask_scatter(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x[m] = values`` with one value for each true element, in order → a loop with a counter.
    Where the numbers differ, NumPy raises before it stores anything.

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
    if (put := subscript_store(node)) is None:
        return None
    s, target, op, value = put
    of = masked_operand(target, cx)
    if of is None or cx.fact(of.array).rank != cx.fact(of.mask).rank or cx.fact(value).rank != 1:
        return None
    if not converts_elementwise(cx.fact(of.array), op, cx.fact(value), cx):
        return None
    return cx.whole(lambda: _mask_scatter_loop(s, of.array, of.mask, op, value, cx))


@fires_on(ast.Subscript, slice=ast.Tuple, ctx=ast.Load)
@fires_on(
    ast.Assign, targets=ast.Subscript,
    when=stores_at_tuple,
)
@fires_on(
    ast.AugAssign, target=ast.Subscript,
    when=stores_at_tuple,
)
def mask_columns(node: ast.AST, cx: Context) -> ast.expr | list[ast.stmt] | None:
    """``X[:, m]`` → the rows of the transposed array under the mask, transposed back: in memory the
    selected axis comes first.

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
            turned = _transposed_mask(node, cx)
            return None if turned is None else cx.expr("X.T", X=turned)
        case ast.Assign(targets=[ast.Subscript() as target], value=value) if not cx.fact(
            value).rank and (turned := _transposed_mask(target, cx)) is not None:
            return cx.code("TARGET = E", TARGET=turned, E=value)
        case ast.AugAssign(target=ast.Subscript() as target, value=value) if not cx.fact(
            value).rank and (turned := _transposed_mask(target, cx)) is not None:
            (line,) = cx.code("TARGET += E", TARGET=turned, E=value)
            assert isinstance(line, ast.AugAssign)
            line.op = node.op
            return [line]
    return None


def _transposed_mask(e: ast.Subscript, cx: Context) -> ast.Subscript | None:
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


def _mask_scatter_loop(
    s: ast.stmt, x: ast.expr, where: ast.expr, op: ast.operator | None, value: ast.expr,
    cx: Context,
) -> list[ast.stmt] | None:
    owner = cx.fact(x).owner
    if not owner:
        return None
    x = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
    if may_read_array(value, owner, cx):
        value = bind_fresh(cx.expr("NP.copy(E)", NP=cx.numpy, E=value), "a", cx)
    elif not isinstance(value, ast.Name):
        value = bind_fresh(value, "a", cx)
    if not isinstance(where, ast.Name) or may_read_array(where, owner, cx):
        where = bind_fresh(cx.expr("NP.copy(E)", NP=cx.numpy, E=where), "m", cx)
    into, of, mask = view_of(x, cx), view_of(value, cx), view_of(where, cx)
    if into is None or of is None or mask is None:
        return None
    count = cx.fresh("n")
    total = bind_fresh(cx.expr("NP.count_nonzero(M)", NP=cx.numpy, M=where), "n", cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        place, e = into.at(at), of.at([ast.Name(count, ast.Load())])
        if op is None:
            e = converted_element(e, cx.fact(x), cx.fact(value), cx)
        else:
            e = ast.Call(ufunc_for(op, [place, value], cx), [place, e], [])
        text = "if C:\n    PLACE = E\n    N = N + 1"
        return cx.code(text, C=mask.at(at), PLACE=place, E=e, N=count)

    checks = length_mismatches(into.shape, mask.shape, cx)
    checks += [cx.expr("A != B", A=total, B=of.shape[0]), *into.checks, *of.checks, *mask.checks]
    lines = [*cx.code("N = 0", N=count), *loop_nest(mask.shape, body, cx)]
    return guarded(checks, s, lines, cx)
