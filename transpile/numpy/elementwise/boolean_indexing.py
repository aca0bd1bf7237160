"""Boolean (mask) indexing: compress and masked stores.

The macros, by what they expand::

    y = x[m]                     mask_compress: a loop that appends, and a cut to the count
    … x[m] … in an expression    mask_compress_temporary: the same, before the statement
    x[m] = v, x[m] += y[m]       mask_store: a loop with an ``if``
    x[m] = values in order       mask_scatter: a loop with a counter
    X[:, m]                      mask_columns: ``X.T[m].T``
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...analysis.type_inference.expression_facts import operator_fact
from ...analysis.type_inference.shape_rules import known_lengths
from ...analysis.type_inference.type_lattice import UNIT_LENGTH
from ...frontend.ast_walk import integer_constant, same_tree, subscript_items, tree_key, walk_nodes
from ...frontend.core_nodes import copy_location
from ...frontend.macros.bind_operands import bind_fresh, bind_operand
from ...frontend.macros.firing_conditions import has_several_subscripts, may_select_several
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded
from ...types.effects import is_pure
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, fresh_indices, loop_nest, product_of, row_major_index
from ..array_views import element_at, length_mismatches, may_read_array, view_of
from ..numpy_errors import note_unsafe_store
from .array_assignment import converted_element, converts_elementwise, store_elements
from .elementwise_ops import augmented_element, is_elementwise, one_element_rounds_differently
from .nonzero_indices import nonzero_argument, truth_mask

__all__ = [
    "mask_compress", "mask_compress_temporary", "mask_store", "masked_operand", "subscript_store",
    "mask_scatter", "mask_columns",
]


class _Masked(NamedTuple):
    """A subscript in the form ``array[mask]``."""

    array: ast.expr  # the constant None: the mask's own indices are wanted (np.flatnonzero)
    mask: ast.expr  # an array of bools, for the first axes of the array


@fires_on(ast.Assign, targets=ast.Name, value=ast.Subscript, when=may_select_several)
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

    Of ``np.flatnonzero(m)`` the selected elements are the indices. Vector code appends with a
    compress store. In an expression, `mask_compress_temporary` does the same before the statement.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
            (masked := masked_operand(value, cx)) or (masked := _nonzero_places(value, cx))
        ):
            return cx.with_before(lambda: _compress_loop(node, name, masked, cx))
    return None


@fires_on(ast.Subscript, ctx=(ast.Load, ast.Del), when=may_select_several)
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
    return None if new is None else cx.bound_name(name, lambda: new)


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

    By the form of the value:

    - a scalar, or arrays under the mask of the target: stored element by element, the arrays
      without their mask (`_without_mask`);
    - an array with the axes of a row: stored to each selected row;
    - values in order, one for each true element: left to `mask_scatter`, which counts them;
    - a scalar whose conversion may fail (`_conversion_cannot_fail`): left to NumPy.
    """
    if (store := subscript_store(node)) is None:
        return None
    s, target, op, value = store
    masked = masked_operand(target, cx, is_update=op is not None)
    if masked is None:
        return None
    rank, axes = cx.fact(masked.array).rank or 0, cx.fact(masked.mask).rank or 0
    unmasked = _unmasked_value(value, target.slice, op, rank, axes, cx)
    if unmasked is None:
        return None
    if not _conversion_cannot_fail(unmasked, masked, cx):
        target_fact, stored = cx.fact(masked.array), cx.fact(unmasked)
        result = operator_fact(cx.facts, op, target_fact, stored) if op else stored
        note_unsafe_store(s, result, target_fact, is_update=op is not None)
        return None

    def make() -> list[ast.stmt] | None:
        mask, stored = masked.mask, unmasked
        if op is None and cx.fact(stored).rank and not is_pure(stored, cx.resolve):
            stored = bind_fresh(stored, "a", cx)  # Python evaluates it before the mask
        if rank > axes:  # the mask selects rows: M[:, None] has the rank of the array
            mask = bind_operand(mask, cx, "m")
            new_axes = ", ".join([":"] * axes + ["None"] * (rank - axes))
            mask = cx.expr(f"M[{new_axes}]", M=mask)
        return store_elements(s, masked.array, stored, cx, op=op, where=mask, exact_axes=axes)

    return cx.with_before(make)


def _unmasked_value(
    value: ast.expr, mask: ast.expr, op: ast.operator | None, rank: int, axes: int, cx: Context
) -> ast.expr | None:
    """The value of a store to ``x[mask]`` as an array that is read where `x` is stored, or a
    scalar: ``y[mask] * 2`` → ``y * 2``. `x` has `rank` axes, and `mask` stands for the first `axes`
    of them. None where

    - the values are stored in their order, one to each selected element;
    - the arrays under the mask might be broadcast without it (`_may_broadcast`);
    - `mask` may have other values when it is evaluated again, as ``rng.random(n) < p``.
    """
    value_rank = cx.fact(value).rank or 0
    same_mask = value_rank == 0 or is_pure(mask, cx.resolve)
    unmasked = None
    if same_mask and not _may_broadcast(value, mask, cx):
        unmasked = _without_mask(value, mask, cx)
    if unmasked is None:
        # a plain store, by which each selected row becomes `value`
        return value if op is None and 0 < value_rank <= rank - axes else None
    selects_rows = rank > axes
    return None if selects_rows and cx.fact(unmasked).rank else unmasked


def _conversion_cannot_fail(value: ast.expr, masked: _Masked, cx: Context) -> bool:
    """Whether `value`, of a store under a mask, surely converts to the array's dtype without an
    exception: an array, any scalar for a float array, a constant that fits, or a scalar of a dtype
    that casts safely. NumPy converts a scalar even if the mask is false everywhere, and may raise
    then; the loop would not.
    """
    fact, target = cx.fact(value), cx.fact(masked.array).array
    if target is None or fact.rank or ELEMENTS[target.dtype].kind == "f":
        return target is not None
    constant, dtype = integer_constant(value, None), ELEMENTS[target.dtype]
    if constant is not None:
        return dtype.kind == "b" or dtype.low <= constant <= dtype.high
    return bool(fact.types) and all(
        np.can_cast(ELEMENTS[t.dtype].numpy, dtype.numpy) for t in fact.types
    )


def subscript_store(
    node: ast.AST,
) -> tuple[ast.stmt, ast.Subscript, ast.operator | None, ast.expr] | None:
    """For ``x[i] = v`` or ``x[i] += v``: the statement, the target, the operator (None for a plain
    store) and the value; None for other statements.
    """
    match node:
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            return node, target, None, value
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            return node, target, op, value
    return None


def masked_operand(e: ast.expr, cx: Context, is_update: bool = False) -> _Masked | None:
    """The subscript `e` in the form ``array[mask]``; ``X[np.nonzero(m)]`` is ``X[m]``, of a vector
    in an update, or if the mask is as long as the vector. Ints before the mask, and ints and slices
    after it, are applied first: ``X[m, j]`` is ``X[:, j][m]``. None where `e` has no mask or
    several, or other items.
    """
    if not isinstance(e, ast.Subscript) or cx.fact(e.value).array is None:
        return None
    items = subscript_items(e)
    if len(items) == 1 and (mask := _mask_of_places(items[0], cx)) is not None and (
        is_update or (cx.fact(mask).rank or 0) > 1 or _have_equal_lengths(e.value, mask, cx)
    ):
        items = [mask]  # a mask of another shape than the array is replayed
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
    masked_axes: list[ast.expr] = [ast.Slice() for _ in range(cx.fact(items[k]).rank or 0)]
    base = cx.expr("X[I]", X=e.value, I=ast.Tuple([*before, *masked_axes, *after], ast.Load()))
    return _Masked(base, items[k]) if cx.fact(base).array else None


def _mask_of_places(e: ast.expr, cx: Context) -> ast.expr | None:
    """The mask whose true elements are at the subscripts `e`: `m` of ``np.nonzero(m)``, or of
    ``np.flatnonzero(m)`` of a vector. None for other expressions.
    """
    x = nonzero_argument(e, cx)
    if x is not None:
        return truth_mask(x, cx) if cx.fact(x).array else None
    places = _nonzero_places(e, cx)
    return places.mask if places is not None and cx.fact(places.mask).rank == 1 else None


def _have_equal_lengths(a: ast.expr, b: ast.expr, cx: Context) -> bool:
    """Whether the vectors `a` and `b` surely have equal lengths."""
    n, m = (known_lengths(cx.facts, e) for e in (a, b))
    return n is not None and n == m and len(n) == 1


def _is_mask(e: ast.expr, cx: Context) -> bool:
    """Whether the item `e` of a subscript is surely an array of bools."""
    ty = None if isinstance(e, ast.Slice) else cx.fact(e).array
    return ty is not None and ty.dtype == "bool"


def _nonzero_places(e: ast.expr, cx: Context) -> _Masked | None:
    """For ``np.flatnonzero(m)``, and ``np.nonzero(m)[0]`` or ``np.where(m)[0]`` of a vector: its
    mask, with None as the array. None for other expressions.
    """
    of_vector = False
    match e:
        case ast.Subscript(value=call, slice=ast.Constant(value=0)):
            x, of_vector = nonzero_argument(call, cx), True
        case ast.Call(func=func, args=[x], keywords=[]) if cx.resolve(func) is np.flatnonzero:
            pass
        case _:
            return None
    ty = cx.fact(x).array if x is not None else None
    if x is None or ty is None or not ty.rank or (of_vector and ty.rank != 1):
        return None
    return _Masked(ast.Constant(None), truth_mask(x, cx))


def _compress_loop(s: ast.stmt, name: str, masked: _Masked, cx: Context) -> list[ast.stmt] | None:
    """Statements that bind `name` to the selected elements, or rows, of the array; without an
    array, to the indices of the true elements. `s` is the statement that they replace.

    Allocates as many rows as the mask has elements, appends, and cuts the array to the count. None
    where an operand has no view, or the memory order of NumPy's result is not known.
    """
    selects = not isinstance(masked.array, ast.Constant)
    array = masked.array
    if selects and is_elementwise(array, cx):
        array = bind_fresh(array, "a", cx)
    source = view_of(array, cx) if selects else None  # before the mask, as in Python
    mask = view_of(masked.mask, cx)
    ty = cx.fact(array).array
    if mask is None or (selects and (source is None or ty is None)):
        return None
    shape = source.shape if source is not None else mask.shape
    if len(shape) > len(mask.shape) + 1 and cx.fact(array).order != "C":
        return None  # NumPy permutes the axes of the result in memory
    row_shape = shape[len(mask.shape) :]
    checks = length_mismatches(shape, mask.shape, cx)
    checks += [*mask.checks, *(source.checks if source is not None else ())]
    result, count = cx.fresh("a"), cx.fresh("n")
    capacity = [product_of(mask.shape, cx), *row_shape]
    lines = [allocate_array(result, capacity, ty.dtype if ty else "i64", cx)]
    lines += cx.code("K = 0", K=count)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        in_row = fresh_indices(row_shape, cx)
        trailing = [i or ast.Constant(0) for i in in_row]
        e = source.at([*at, *trailing]) if source else row_major_index(at, mask.shape, cx)
        index = [ast.Name(count, ast.Load()), *trailing]
        place = element_at(ast.Name(result, ast.Load()), index, cx)
        store = cx.code("PLACE = E", PLACE=place, E=e)
        for n, i in reversed([*zip(row_shape, in_row, strict=True)]):
            store = cx.code("for I in range(N): BODY", I=i, N=n, BODY=store) if i else store
        text = "if C:\n    KEEP\n    K = K + 1"
        return cx.code(text, C=mask.at(at), KEEP=store, K=count)

    lines += loop_nest(mask.shape, body, cx)
    if source is None:  # the results of np.nonzero are views of one array
        lines += cx.code("NAME = A[:K]", NAME=name, A=result, K=count)
        return guarded(checks, s, lines, cx)
    cut = ast.Tuple([ast.Name(count, ast.Load()), *row_shape], ast.Load())
    text = "A.resize(N, refcheck=False)\nNAME = A"
    lines += cx.code(text, A=result, NAME=name, N=cut if row_shape else cut.elts[0])
    return guarded(checks, s, lines, cx)


def _without_mask(value: ast.expr, mask: ast.expr, cx: Context) -> ast.expr | None:
    """`value` with ``y[mask]`` replaced by ``y`` throughout; for ``y[m] * 2`` it is ``y * 2``. None
    where it is not made of scalars and of arrays under this mask by elementwise operations.
    """
    if cx.fact(value).rank == 0:
        return value
    operands: list[ast.expr]
    match value:
        case ast.Subscript(value=array, slice=index) if same_tree(index, mask):
            is_masked = masked_operand(value, cx) is not None and not isinstance(index, ast.Tuple)
            return array if is_masked else None
        case ast.BinOp(left=left, right=right):
            operands = [left, right]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            operands = [operand]
        case ast.Call(func=func, args=args, keywords=[]) if isinstance(cx.resolve(func), np.ufunc):
            operands = args
        case _:
            return None
    pairs = [(e, _without_mask(e, mask, cx)) for e in operands]
    unmasked = {id(e): new for e, new in pairs if new is not None}
    return _with_operands(value, unmasked) if len(unmasked) == len({*map(id, operands)}) else None


def _may_broadcast(value: ast.expr, mask: ast.expr, cx: Context) -> bool:
    """Whether the arrays under `mask` in `value` might be broadcast against each other once the
    mask is removed, where NumPy raises for ``y[mask]`` of another shape. So if there are several,
    of which one has an axis of length 1 where another has not, or one has no name.

        x[m] * y[m]       of shapes (4, 5) and (4, 1): True, as x * y stretches y
    """
    subscripts = (n for n in walk_nodes(value) if isinstance(n, ast.Subscript))
    arrays = [n.value for n in subscripts if same_tree(n.slice, mask)]
    shapes = (cx.fact(a).shape or (None,) * (cx.fact(a).rank or 0) for a in arrays)
    unit_axes = {tuple(n == UNIT_LENGTH for n in shape) for shape in shapes}
    different = len({*map(tree_key, arrays)}) > 1
    return different and (len(unit_axes) > 1 or not all(isinstance(a, ast.Name) for a in arrays))


def _with_operands(e: ast.expr, replacements: dict[int, ast.expr]) -> ast.expr:
    """A copy of the operation `e` with the operands that `replacements` has by their id."""
    match e:
        case ast.BinOp(left=left, op=op, right=right):
            new: ast.expr = ast.BinOp(replacements[id(left)], op, replacements[id(right)])
        case ast.UnaryOp(op=sign, operand=operand):
            new = ast.UnaryOp(sign, replacements[id(operand)])
        case ast.Call(func=func, args=args):
            new = ast.Call(func, [replacements[id(a)] for a in args], [])
        case _:
            raise AssertionError(ast.unparse(e))
    return copy_location(new, e)


@fires_on(ast.Assign, targets=ast.Subscript)
@fires_on(ast.AugAssign, target=ast.Subscript)
def mask_scatter(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x[m] = values`` with one value for each true element, in order → a loop with a counter.
    Where the numbers differ, NumPy raises before it stores anything. Only for a mask of all axes of
    `x`, and a vector of values whose dtype allows it (`converts_elementwise`).

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
    if (store := subscript_store(node)) is None:
        return None
    s, target, op, value = store
    masked = masked_operand(target, cx)
    if masked is None or cx.fact(value).rank != 1:
        return None
    if cx.fact(masked.array).rank != cx.fact(masked.mask).rank:
        return None
    if not converts_elementwise(cx.fact(masked.array), op, cx.fact(value), cx):
        return None
    return cx.with_before(lambda: _mask_scatter_loop(s, masked.array, masked.mask, op, value, cx))


@fires_on(ast.Subscript, slice=ast.Tuple, ctx=ast.Load)
@fires_on(ast.Assign, targets=ast.Subscript, when=has_several_subscripts)
@fires_on(ast.AugAssign, target=ast.Subscript, when=has_several_subscripts)
def mask_columns(node: ast.AST, cx: Context) -> ast.expr | list[ast.stmt] | None:
    """``X[:, m]`` → the rows of the transposed array under the mask, transposed back: in memory the
    selected axis comes first. Of stores, those of scalars.

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
            transposed = _transposed_mask(node, cx)
            return None if transposed is None else cx.expr("X.T", X=transposed)
        case ast.Assign(targets=[ast.Subscript() as target], value=value) if not cx.fact(
            value).rank and (transposed := _transposed_mask(target, cx)) is not None:
            return cx.code("TARGET = E", TARGET=transposed, E=value)
        case ast.AugAssign(target=ast.Subscript() as target, value=value) if not cx.fact(
            value).rank and (transposed := _transposed_mask(target, cx)) is not None:
            (line,) = cx.code("TARGET += E", TARGET=transposed, E=value)
            assert isinstance(line, ast.AugAssign)
            line.op = node.op
            return [line]
    return None


def _transposed_mask(e: ast.Subscript, cx: Context) -> ast.Subscript | None:
    """``X[:, m]`` or ``X[i:j, m]`` of a matrix and a vector of bools as ``X.T[m]`` or
    ``X[i:j].T[m]``; None for other subscripts.
    """
    match e.slice:
        case ast.Tuple(elts=[ast.Slice() as rows, mask]):
            mask_type, array_type = cx.fact(mask).array, cx.fact(e.value).array
        case _:
            return None
    if mask_type is None or array_type is None:
        return None
    if (mask_type.dtype, mask_type.rank, array_type.rank) != ("bool", 1, 2):
        return None
    all_rows = rows.lower is rows.upper is rows.step is None
    text = "X.T[M]" if all_rows else "X[R].T[M]"
    new = cx.expr(text, X=e.value, R=rows, M=mask)
    assert isinstance(new, ast.Subscript)
    return new


def _mask_scatter_loop(
    s: ast.stmt, x: ast.expr, mask_array: ast.expr, op: ast.operator | None, value: ast.expr,
    cx: Context,
) -> list[ast.stmt] | None:
    """The loop for the statement `s`, which is ``x[mask] = value``, or ``op=``, with a vector of as
    many values as the mask has true elements; their number is checked before anything is stored.
    Operands that may share memory with `x` are copied first. None where one has no view.
    """
    owner = cx.fact(x).owner
    if not cx.fact(x).has_named_owner:
        return None
    x = bind_operand(x, cx)
    if may_read_array(value, owner, cx):
        value = bind_fresh(cx.expr("NP.copy(E)", NP=cx.numpy, E=value), "a", cx)
    elif not isinstance(value, ast.Name):
        value = bind_fresh(value, "a", cx)
    if not isinstance(mask_array, ast.Name) or may_read_array(mask_array, owner, cx):
        mask_array = bind_fresh(cx.expr("NP.copy(E)", NP=cx.numpy, E=mask_array), "m", cx)
    target, values, mask = view_of(x, cx), view_of(value, cx), view_of(mask_array, cx)
    if target is None or values is None or mask is None:
        return None
    count = cx.fresh("n")
    total = bind_fresh(cx.expr("NP.count_nonzero(M)", NP=cx.numpy, M=mask_array), "n", cx)
    augmented = augmented_element(x, op, value, cx) if op else None
    if op and (
        augmented is None or one_element_rounds_differently(ast.BinOp(x, op, value), cx)
    ):
        return None

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        place, e = target.at(at), values.at([ast.Name(count, ast.Load())])
        if augmented is None:
            e = converted_element(e, cx.fact(x), cx.fact(value), cx)
        else:
            e = augmented(place, e)
        text = "if C:\n    PLACE = E\n    N = N + 1"
        return cx.code(text, C=mask.at(at), PLACE=place, E=e, N=count)

    checks = length_mismatches(target.shape, mask.shape, cx)
    checks.append(cx.expr("A != B", A=total, B=values.shape[0]))
    checks += [*target.checks, *values.checks, *mask.checks]
    lines = [*cx.code("N = 0", N=count), *loop_nest(mask.shape, body, cx)]
    return guarded(checks, s, lines, cx)
