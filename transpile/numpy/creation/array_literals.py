"""Array literals: lists and tuples where NumPy takes an array, and the cross product.

`array_literal` and `array_literal_temporary` expand ``np.array([s, t])`` to stores of the elements;
`literal_store` expands ``X[i] = s, t``; `literal_argument` wraps a display that is an argument, as
in ``np.convolve(x, [1, 0, -1])``, in ``np.array``; `cross_product` expands ``np.cross``, whose
result is such an array.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ...frontend.ast_names import mentions_none_of
from ...frontend.core_nodes import copy_location
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import UFUNC, fires_on, numpy_callees
from ...frontend.macros.replay_guards import guarded
from ..array_nests import allocate_array, loop_nest, store_element
from ..array_views import View, broadcast_views, is_unit_length, view_of
from ..call_arguments import numpy_function_name
from ..function_table import ARRAY_OF_LIST, FUNCTIONS, METHODS

__all__ = [
    "cross_product", "array_literal", "array_literal_temporary", "literal_store",
    "literal_argument", "literal_as_array"]


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=ARRAY_OF_LIST)
def array_literal(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x = np.array([a, b])`` → an allocation and a store of each element, after all elements are
    computed.

        u = np.array([s, t, 1.0])
        u = np.array([u[1], u[0]])
    →
        u = np.empty(3, np.float64)
        u[0] = s
        u[1] = t
        u[2] = 1.0
        _e = u[1]
        _e_1 = u[0]
        u = np.empty(2, np.float64)
        u[0] = _e
        u[1] = _e_1
    """
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[display]) as value
        ) if cx.is_numpy(func, "array") or cx.is_numpy(func, "asarray"):
            return cx.with_before(lambda: _literal_stores(name, value, display, cx))
    return None


@fires_on(ast.Assign, targets=ast.Subscript, value=(ast.Tuple, ast.List))
def literal_store(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``X[i] = a, b`` of a row and at least two scalars → a store of each.

        X[i] = s, t
    →
        _row = X[i]
        if len(_row) != 2:
            "Python's to answer"
            X[i] = (s, t)
        else:
            _row[0] = s
            _row[1] = t
    """
    match node:
        case ast.Assign(
            targets=[ast.Subscript() as target],
            value=ast.Tuple(elts=[_, _, *_] as elts) | ast.List(elts=[_, _, *_] as elts),
        ) if cx.fact(target).rank == 1 and all(cx.fact(e).rank == 0 for e in elts):
            return cx.with_before(lambda: _store_items(target, elts, cx))
    return None


def _store_items(
    target: ast.Subscript, elts: Sequence[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    """Statements for ``target = elts`` of a row: all items are computed before the first store. The
    statement is replayed for a row of another length. None where `target` is no view of an array.
    """
    fact = cx.fact(target)
    if fact.array is None or not fact.has_named_owner or not cx.is_builtin("len"):
        return None
    values = [
        e if isinstance(e, (ast.Constant, ast.Name)) else bind_fresh(e, "e", cx) for e in elts
    ]
    row = cx.expr("ROW", ROW=cx.fresh("row"))
    lines = cx.code("ROW = X[AT]", ROW=row, X=target.value, AT=target.slice)
    original = cx.code("TARGET = E", TARGET=target, E=ast.Tuple(values, ast.Load()))
    items = [
        line
        for k, e in enumerate(values)
        for line in cx.code("ROW[K] = E", ROW=row, K=ast.Constant(k), E=e)
    ]
    wrong_length = cx.expr("len(ROW) != N", ROW=row, N=ast.Constant(len(values)))
    return [*lines, *guarded([wrong_length], original[0], items, cx)]


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[np.cross])
def cross_product(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``np.cross(a, b)`` of vectors of three elements → their products. The call is replayed for
    other lengths. Not where the result overwrites an operand.

        u = np.cross(x, y)
    →
        if x.shape[0] != 3 or y.shape[0] != 3:
            "Python's to answer"
            u = np.cross(x, y)
        else:
            u = np.empty(3, np.float64)
            u[0] = np.subtract(np.multiply(x[1], y[2]), np.multiply(x[2], y[1]))
            u[1] = np.subtract(np.multiply(x[2], y[0]), np.multiply(x[0], y[2]))
            u[2] = np.subtract(np.multiply(x[0], y[1]), np.multiply(x[1], y[0]))
    """
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=func, args=[a, b], keywords=[]) as value,
        ) if cx.is_numpy(func, "cross") and mentions_none_of(value, [name]):
            return cx.with_before(lambda: _cross_loop(node, name, value, (a, b), cx))
    return None


@fires_on(ast.Call, calls=[*ARRAY_OF_LIST, np.cross])
def array_literal_temporary(node: ast.AST, cx: Context) -> ast.expr | None:
    """An array literal inside of an expression → a fresh name that is bound before.

        s = len(np.array([s, t]))
    →
        _a = np.empty(2, np.float64)
        _a[0] = s
        _a[1] = t
        s = len(_a)
    """
    match node:
        case ast.Call(func=func, args=[_, *_]) if any(
            cx.is_numpy(func, name) for name in ("array", "asarray", "cross")
        ):
            name = cx.fresh("a")
            (take,) = cx.code("NAME = E", NAME=name, E=node)
            new = array_literal(take, cx) or cross_product(take, cx)
            return None if new is None else cx.bound_name(name, lambda: new)
    return None


def _literal_stores(
    name: str, value: ast.Call, display: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to the array that ``np.array(display)`` makes; items that read
    `name` are computed first. None where the items are not all scalars, or there is an argument
    other than ``dtype``.
    """
    ty = cx.fact(value).array
    elements = _literal_elements(display) if isinstance(display, (ast.List, ast.Tuple)) else None
    all_scalars = ty is not None and elements and all(cx.fact(e).rank == 0 for _, e in elements)
    if not all_scalars or ty is None or elements is None:
        return None
    if any(k.arg != "dtype" for k in value.keywords):
        return None
    shape = [ast.Constant(max(at[k] for at, _ in elements) + 1) for k in range(ty.rank)]
    if not all(mentions_none_of(e, [name]) for _, e in elements):
        elements = [(at, bind_fresh(e, "e", cx)) for at, e in elements]
    lines = [allocate_array(name, shape, ty.dtype, cx)]
    for at, e in elements:
        lines += store_element(name, [ast.Constant(k) for k in at], e, cx)
    return lines


def _literal_elements(e: ast.expr) -> list[tuple[tuple[int, ...], ast.expr]]:
    """The subscripts and the expression of each item of a display, maybe of displays, which NumPy
    has accepted as an array (its fact is one).
    """
    if not isinstance(e, (ast.List, ast.Tuple)):
        return [((), e)]
    return [((k, *at), x) for k, part in enumerate(e.elts) for at, x in _literal_elements(part)]


def _cross_loop(
    statement: ast.Assign, name: str, value: ast.Call, operands: tuple[ast.expr, ast.expr],
    cx: Context,
) -> list[ast.stmt] | None:
    """Statements that bind `name` to ``np.cross(*operands)``, broadcast over leading axes;
    `statement` is replayed where a last axis is not of length 3. None where an operand has no view.
    """
    ty, all_arrays = cx.fact(value).array, all(cx.fact(e).array for e in operands)
    if ty is None or ty.rank > 2 or not all_arrays or not all(cx.fact(e).rank for e in operands):
        return None
    views = [of for e in operands if (of := view_of(e, cx)) is not None]
    if len(views) < 2:
        return None
    if any(is_unit_length(of.shape[-1]) for of in views):
        return None
    lengths = [of.shape[-1] for of in views if not _is_three(of.shape[-1])]
    cx.mark_operation_parts()  # NumPy's warnings are of lines of NumPy's
    a, b = views
    elements = [_cross_component(a, b, k, cx) for k in range(3)]
    checks = [*elements[0].checks, *(cx.expr("N != 3", N=n) for n in lengths)]
    rows = elements[0].shape

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        lines: list[ast.stmt] = []
        for k, component in enumerate(elements):
            lines += store_element(name, [*at, ast.Constant(k)], component.at(at), cx)
        return lines

    lines = [
        allocate_array(name, [*rows, ast.Constant(3)], ty.dtype, cx),
        *loop_nest(rows, body, cx),
    ]
    return guarded(checks, statement, lines, cx)


def _cross_component(a: View, b: View, k: int, cx: Context) -> View:
    """The view of component `k` of the cross products of the last axes of two arrays."""
    def product(parts: list[ast.expr]) -> ast.expr:
        text = "NP.subtract(NP.multiply(AX, BY), NP.multiply(AY, BX))"
        return cx.expr(text, NP=cx.numpy, **dict(zip(("AX", "BY", "AY", "BX"), parts, strict=True)))

    x, y = (k + 1) % 3, (k + 2) % 3
    parts = [_component(a, x), _component(b, y), _component(a, y), _component(b, x)]
    return broadcast_views(parts, product, cx)


def _component(vectors: View, k: int) -> View:
    """The view of the elements at `k` of the last axis."""
    return View(vectors.shape[:-1], lambda at: vectors.at([*at, ast.Constant(k)]), vectors.checks)


def _is_three(n: ast.expr) -> bool:
    """Whether a length is the constant 3."""
    return isinstance(n, ast.Constant) and n.value == 3


_ARRAY_ARGUMENT_COUNT = {name: row.arrays for name, row in FUNCTIONS.items() if row.arrays}
"""By the function: how many of the first arguments may be displays."""

_ARRAY_METHODS = {name for name, row in METHODS.items() if row.arrays}


@fires_on(
    ast.Call,
    calls=[UFUNC, *numpy_callees(_ARRAY_METHODS), *numpy_callees(_ARRAY_ARGUMENT_COUNT)],
)
@fires_on(ast.BinOp, left=(ast.List, ast.Tuple))
@fires_on(ast.BinOp, right=(ast.List, ast.Tuple))
def literal_argument(node: ast.AST, cx: Context) -> ast.expr | None:
    """A display as an array argument of a NumPy function, or as an operand beside an array → the
    display in ``np.array``, which is expanded next.

        s = np.max([s, t])
        y = np.take(x, [0, 2])
    →
        _a = np.empty(2, np.float64)
        _a[0] = s
        _a[1] = t
        _max = _a[0]
        for _i in range(2):
            _max = np.maximum(_max, _a[_i])
        s = _max
        _a_2 = np.empty(2, np.int64)
        _a_2[0] = 0
        _a_2[1] = 2
        _a_1 = np.empty(2, np.float64)
        for _i_1 in range(2):
            _a_1[_i_1] = x[_a_2[_i_1]]
        y = _a_1
    """
    match node:
        case ast.Call(args=args) if any(map(_is_display, args[: _array_argument_count(node, cx)])):
            count = _array_argument_count(node, cx)
            arguments = [*(literal_as_array(e, cx) for e in args[:count]), *args[count:]]
            call = ast.Call(node.func, arguments, node.keywords)
            return copy_location(call, node) if arguments != args else None
        case ast.BinOp(left=left, op=op, right=right) if _is_display(left) or _is_display(right):
            if not (cx.fact(left).array or cx.fact(right).array):
                return None
            operands = literal_as_array(left, cx), literal_as_array(right, cx)
            new_op = copy_location(ast.BinOp(operands[0], op, operands[1]), node)
            return new_op if operands != (left, right) else None
    return None


def _array_argument_count(call: ast.Call, cx: Context) -> int:
    """How many of the first arguments of the call are array-like, so that a display may stand for
    an array; 0 for functions that are not known.
    """
    name, function = numpy_function_name(call.func, cx), cx.resolve(call.func)
    if isinstance(function, np.ufunc):
        return function.nin
    if not name and isinstance(call.func, ast.Attribute) and function is None:
        array = cx.fact(call.func.value).array if call.func.attr in _ARRAY_METHODS else None
        return 1 if array is not None else 0
    return _ARRAY_ARGUMENT_COUNT.get(name, 0)


def _is_display(e: ast.expr) -> bool:
    """Whether `e` is a display of a list or tuple that is not empty."""
    return isinstance(e, (ast.List, ast.Tuple)) and bool(e.elts)


def literal_as_array(e: ast.expr, cx: Context) -> ast.expr:
    """A display as ``np.array(e)``, if that is surely an array, an empty one as one of floats; else
    `e`.
    """
    if isinstance(e, (ast.List, ast.Tuple)) and not e.elts:
        return cx.expr("NP.empty(0)", NP=cx.numpy)
    converted = cx.expr("NP.array(E)", NP=cx.numpy, E=e) if _is_display(e) else e
    return converted if cx.fact(converted).array is not None else e
