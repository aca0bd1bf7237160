"""``out=`` and ``where=`` of ufuncs and other functions: results stored in an existing array.

`ufunc_out` expands calls with ``out``: ``np.add(x, y, out=z)`` → ``z[...] = np.add(x, y)``, and
with ``where`` a masked store. `fill_elements` expands statements that call a function which only
writes: ``x.fill(s)``, ``np.copyto``, ``np.putmask``, ``np.place``, ``np.fill_diagonal``.
"""
from __future__ import annotations

import ast
from typing import NamedTuple

import numpy as np

from ...frontend.ast_walk import is_none
from ...frontend.core_nodes import copy_location
from ...frontend.macros.bind_operands import bind_operand
from ...frontend.macros.firing_conditions import has_out_argument
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import UFUNC, fires_on, numpy_callees
from ...types.value_types import ELEMENTS, is_weak
from ..array_views import scalar_view
from ..call_arguments import bind_arguments, constant_flag, numpy_function_name
from ..function_table import FUNCTIONS
from .array_assignment import store_elements
from .elementwise_ops import one_element_rounds_differently

__all__ = ["ufunc_out", "fill_elements"]

_WRITING = frozenset(
    name for name, row in FUNCTIONS.items() if row.result == "none" and not row.scatter
)
"""Functions that store to their first argument and return None; `gather_scatter` has the others."""


@fires_on(ast.Call, calls=[UFUNC])
@fires_on(ast.Call, when=has_out_argument)
def ufunc_out(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call with ``out`` → a store to that array, before the statement, and its name. With
    ``where``, a masked store. Other functions than ufuncs need an ``out`` of the result's dtype,
    rank and shape, and have no ``where``.

        np.multiply(x, 2.0, out=y)
        np.divide(1.0, x, out=y, where=x != 0.0)
    →
        if y.shape[0] != x.shape[0]:
            "Python's to answer"
            y[...] = np.multiply(x, 2.0)
        else:
            for _i in range(y.shape[0]):
                y[_i] = np.multiply(x[_i], 2.0)
        y
        if y.shape[0] != x.shape[0]:
            "Python's to answer"
            np.divide(1.0, x, out=y, where=x != 0.0)
        else:
            for _i_1 in range(y.shape[0]):
                if np.not_equal(x[_i_1], 0.0):
                    y[_i_1] = np.divide(1.0, x[_i_1])
        y

    `_out_accepts` (of a ufunc, which casts and broadcasts to ``out``) and `_out_matches` (of other
    functions) tell where NumPy would store the same values. The loops are `store_elements`.
    """
    call = _call_with_out(node, cx)
    if call is None or not isinstance(node, ast.Call):
        return None
    if call.is_ufunc:
        if call.values.keywords or not _out_accepts(call.values, call.out, cx):
            return None
    elif call.where is not None or not _out_matches(call.values, call.out, cx):
        return None
    name = bind_operand(call.out, cx, "out")
    is_plain = call.is_ufunc and call.where is None
    if is_plain and not one_element_rounds_differently(call.values, cx):
        cx.before(*cx.code("OUT[...] = E", OUT=name, E=call.values))
        return name
    (original,) = cx.code("E", E=node)
    exact_axes = 0 if call.is_ufunc else cx.fact(call.out).rank or 0  # a ufunc broadcasts to `out`
    lines = cx.with_before(lambda: store_elements(
        original, name, call.values, cx, where=call.where, exact_axes=exact_axes, is_out=True
    ))
    if lines is None:
        return None
    cx.before(*lines)
    return name


class _OutCall(NamedTuple):
    """A call whose result is stored in the array ``out``."""

    values: ast.Call  # the call without `out` and `where`: it computes what is stored
    out: ast.expr
    where: ast.expr | None  # the mask of the elements to store; None: all
    is_ufunc: bool


def _call_with_out(node: ast.AST, cx: Context) -> _OutCall | None:
    """The parts of a call with ``out``, by keyword or, of a ufunc, after its operands; None for
    other nodes, for ``out=None``, and where ``out`` is not surely an array.
    """
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            ufunc = cx.resolve(func)
        case _:
            return None
    by_keyword = {k.arg: k.value for k in keywords}
    is_ufunc = isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and not ufunc.signature
    positional_out = is_ufunc and isinstance(ufunc, np.ufunc) and len(args) == ufunc.nin + 1
    if positional_out and "out" not in by_keyword:
        *args, by_keyword["out"] = args
    out, where = by_keyword.pop("out", None), by_keyword.pop("where", None)
    if out is None or is_none(out) or None in by_keyword or cx.fact(out).array is None:
        return None  # (None in by_keyword: **kwargs)
    values = ast.Call(func, list(args), [ast.keyword(k, v) for k, v in by_keyword.items()])
    return _OutCall(copy_location(values, node), out, where, is_ufunc)


@fires_on(ast.Return, ast.Expr, value=ast.Call, calls=[".fill", *numpy_callees(_WRITING)])
def fill_elements(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A statement that only fills an array → a store. The values must have the dtype of the array,
    or be Python scalars that it represents.

        x.fill(s)
        np.copyto(x, y, where=x < y)
    →
        for _i in range(x.shape[0]):
            x[_i] = s
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            np.copyto(x, y, where=x < y)
        else:
            for _i_1 in range(x.shape[0]):
                if np.less(x[_i_1], y[_i_1]):
                    x[_i_1] = y[_i_1]
    """
    match node:
        case ast.Return(value=ast.Call() as call) if _is_statement_call(call, cx):
            return [*cx.code("E", E=call), *cx.code("return None")]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=x, attr="fill") as func, args=[y],
                                     keywords=[])):
            if cx.resolve(func) is None and cx.fact(x).array and cx.fact(y).rank == 0:
                return cx.code("X[...] = Y", X=x, Y=y)
        case ast.Expr(value=ast.Call() as call) if (
            (bound := bind_arguments(call, cx, {"fill_diagonal": "x y wrap"})) is not None
        ):
            x, value = bound["x"], bound.get("y")
            is_matrix = cx.fact(x).rank == 2 and isinstance(x, ast.Name) and (
                constant_flag(bound.get("wrap"), False) is False)
            is_scalar = is_matrix and value is not None and cx.fact(value).rank == 0
            if is_scalar and value is not None and _same_types(x, value, cx):
                return cx.with_before(lambda: _fill_diagonal(x, value, cx))
        case ast.Expr(value=ast.Call(func=func, args=[x, y],
                                     keywords=[ast.keyword(arg="where", value=where)])):
            if numpy_function_name(func, cx) == "copyto" and _same_types(x, y, cx):
                return cx.with_before(lambda: store_elements(node, x, y, cx, where=where))
        case ast.Expr(value=ast.Call(func=func, args=[x, where, y], keywords=[])):
            is_scalar_fill = cx.fact(y).rank == 0 and cx.fact(where).rank == cx.fact(x).rank
            is_scalar_fill = is_scalar_fill and _same_types(x, y, cx)
            if is_scalar_fill and numpy_function_name(func, cx) in ("putmask", "place"):
                rank = cx.fact(x).rank or 0
                return cx.with_before(
                    lambda: store_elements(node, x, y, cx, where=where, exact_axes=rank)
                )
    return None


def _is_statement_call(call: ast.Call, cx: Context) -> bool:
    """Whether `call` is one of ``x.fill(…)`` or of `_WRITING`, which returns None."""
    match call.func:
        case ast.Attribute(value=x, attr="fill") if cx.resolve(call.func) is None:
            return cx.fact(x).array is not None
    return numpy_function_name(call.func, cx) in _WRITING


def _fill_diagonal(x: ast.expr, y: ast.expr, cx: Context) -> list[ast.stmt]:
    """The loop for ``np.fill_diagonal(x, y)`` of a matrix and a scalar."""
    text = "for I in range(min(X.shape[0], X.shape[1])): X[I, I] = Y"
    return cx.code(text, I=cx.fresh("i"), X=x, Y=scalar_view(y, cx).at(()))


def _same_types(x: ast.expr, y: ast.expr, cx: Context) -> bool:
    """Whether values of `y` need no cast to be stored in the array `x`: they have its dtype, or are
    Python scalars of a kind that converts to it implicitly.
    """
    ty, types = cx.fact(x).array, cx.fact(y).types
    if ty is None or not types:
        return False
    kinds = {"b": "b", "i": "bi", "u": "b", "f": "bif"}.get(ELEMENTS[ty.dtype].kind, "")
    return all(
        t.dtype == ty.dtype or (is_weak(t) and ELEMENTS[t.dtype].kind in kinds)
        for t in types
    )


def _out_accepts(values: ast.expr, out: ast.expr, cx: Context) -> bool:
    """Whether the result of `values`, a ufunc call, may be stored to `out`: not a higher rank, and
    a cast of the same kind, which is NumPy's default ``casting``.
    """
    fact, out_type = cx.fact(values), cx.fact(out).array
    if out_type is None or fact.rank is None or fact.rank > out_type.rank or not fact.types:
        return False
    to = ELEMENTS[out_type.dtype].numpy
    return all(np.can_cast(ELEMENTS[t.dtype].numpy, to, "same_kind") for t in fact.types)


def _out_matches(values: ast.Call, out: ast.expr, cx: Context) -> bool:
    """Whether `values`, a call of a function other than a ufunc, returns an array of the dtype and
    rank of `out`, as NumPy requires; False with ``keepdims``.
    """
    if any(k.arg == "keepdims" for k in values.keywords):
        return False
    result, out_type = cx.fact(values).array, cx.fact(out).array
    return (
        result is not None and out_type is not None
        and (result.dtype, result.rank) == (out_type.dtype, out_type.rank)
    )
