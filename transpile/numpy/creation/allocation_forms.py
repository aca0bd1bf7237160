"""Canonical allocations: calls of ``np.empty`` and its kin → the one form that other modules know.

In that form the function is not ``np.ndarray``, and the arguments are the shape (or the array to
be like), the fill value of ``full``, and the dtype; after a shape also ``order=``, by keyword.
`is_allocation_form` tells whether a call has this form, `allocation_form` is the macro that
rewrites others::

    np.ndarray(shape=n, dtype=t)               np.empty(n, t)
    np.zeros(n, t, "F")                   →    np.zeros(n, t, order="F")
    np.ones_like(x, shape=(n, 2))              np.ones((n, 2), x.dtype)
    np.zeros_like(x)                           np.zeros(x.shape, x.dtype)       x has gaps
"""
from __future__ import annotations

import ast
from collections.abc import Mapping

from ...frontend.ast_walk import is_none
from ...frontend.core_nodes import copy_location
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ..array_nests import has_known_layout
from ..call_arguments import BoundArguments, bind_arguments, constant_flag

__all__ = ["allocation_form", "is_allocation_form"]

_SHAPE, _LIKE = "shape dtype order", "prototype dtype order subok shape"

_SIGNATURES: Mapping[str, str] = {
    "empty": _SHAPE, "zeros": _SHAPE, "ones": _SHAPE, "full": "shape fill_value dtype order",
    "ndarray": "shape dtype buffer offset strides order",
    "empty_like": _LIKE, "zeros_like": _LIKE.replace("prototype", "a"),
    "ones_like": _LIKE.replace("prototype", "a"),
    "full_like": "a fill_value dtype order subok shape",
}
"""The parameters of the functions that allocate an array, in NumPy's order."""

_ORDERS = (None, "C", "F", "A", "K")
"""The words for ``order``."""


def is_allocation_form(call: ast.Call, function: object) -> bool:
    """Whether `call`, of the allocator `function`, is canonical (see the module's docstring)."""
    name = getattr(function, "__name__", "")
    like = name.endswith("_like")
    known = {"a", "prototype", "fill_value", "dtype"} if like else {
        "shape", "fill_value", "dtype", "order"}
    return (
        name != "ndarray"
        and len(call.args) <= (3 if name.startswith("full") else 2)
        and all(k.arg in known for k in call.keywords)
    )


@fires_on(ast.Call, calls=numpy_callees(_SIGNATURES))
def allocation_form(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call that allocates an array → its canonical form: shape, fill value, dtype, ``order=``.

        u = np.ndarray(n, dtype=np.float64)
        v = np.zeros(n, np.float32, "F")
    →
        u = np.empty(n, np.float64)
        v = np.zeros(n, np.float32, order='F')

    None for an array in given memory (``buffer=``), and where the memory order is not known.
    """
    if not isinstance(node, ast.Call):
        return None
    if is_allocation_form(node, cx.resolve(node.func)) and not _is_like_array_with_gaps(node, cx):
        return None
    bound = bind_arguments(node, cx, _SIGNATURES)
    if bound is None:
        return None
    order = bound.get("order") or ast.Constant(None)
    in_memory = any(bound.get(name) is not None for name in ("buffer", "offset", "strides"))
    subclass = constant_flag(bound.get("subok"), True)
    if in_memory or subclass is None or not isinstance(order, ast.Constant):
        return None
    if order.value not in _ORDERS:
        return None
    new = _form(bound, None if order.value is None else str(order.value), cx)
    return None if new is None else copy_location(new, node)


def _is_like_array_with_gaps(call: ast.Call, cx: Context) -> bool:
    """Whether `call` makes an array like one of which `_has_gaps_in_c_order` is true."""
    name = getattr(cx.resolve(call.func), "__name__", "")
    return name.endswith("_like") and bool(call.args) and _has_gaps_in_c_order(call.args[0], cx)


def _has_gaps_in_c_order(x: ast.expr, cx: Context) -> bool:
    """Whether `x` is an argument without an axis of unit stride, whose axes are in C order, so that
    those of a new array like it are, too.
    """
    fact = cx.fact(x)
    has_gaps = fact.array is not None and fact.array.rank > 1 and fact.array.unit is None
    is_in_order = has_gaps and fact.order == "C" and has_known_layout(x, cx)
    return is_in_order and isinstance(x, ast.Name)


def _form(bound: BoundArguments, order: str | None, cx: Context) -> ast.Call | None:
    """The canonical form of the call with the arguments `bound`; None where the order of the new
    array is not known.
    """
    name, dtype, shape = bound.name, bound.get("dtype"), bound.get("shape")
    first = next(iter(bound.arguments.values()))
    if name.endswith("_like"):
        fact = cx.fact(first)
        in_c_order = fact.array is not None and (fact.order == "C" or fact.rank == 1)
        if order in ("A", "K") or (order == "C" and in_c_order) or fact.rank == 1:
            order = None  # as the array that it is like
        if shape is None and order is None and _has_gaps_in_c_order(first, cx):
            shape = cx.expr("X.shape", X=first)
        if shape is not None:
            has_axes = not isinstance(shape, (ast.Tuple, ast.List)) or shape.elts
            if not in_c_order or not isinstance(first, ast.Name) or not has_axes:
                return None
            name, first, prototype = name.removesuffix("_like"), shape, first
            dtype = dtype or cx.expr("X.dtype", X=prototype)
        elif order is not None:
            return None
    elif order in ("A", "K"):
        return None  # NumPy refuses them
    elif order == "C":
        order = None
    if isinstance(first, ast.List) and not name.endswith("_like"):
        first = copy_location(ast.Tuple(first.elts, ast.Load()), first)
    args = [first, *([fill] if (fill := bound.arguments.get("fill_value")) is not None else [])]
    if dtype is not None and not is_none(dtype):
        args.append(dtype)
    function = "empty" if name == "ndarray" else name
    keywords = [] if order is None else [ast.keyword("order", ast.Constant(order))]
    return ast.Call(cx.expr(f"NP.{function}", NP=cx.numpy), args, keywords)
