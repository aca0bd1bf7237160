"""Attributes of array expressions → constants and lengths: ``np.zeros(n).size``, ``x.nbytes``.

The type or the shape of an array decides the value of such an attribute. The statements that make
the array stay all the same, since NumPy may raise or warn where it makes it; what nobody reads is
removed later, by passes of Loop IR.
"""
from __future__ import annotations

import ast

from ..analysis.type_inference.type_lattice import ARRAY_FLAGS
from ..frontend.core_nodes import copy_location
from ..frontend.language.type_tests import residual_statements, static_value
from ..frontend.macros.bind_operands import bind_fresh, bind_operand
from ..frontend.macros.firing_conditions import (
    has_dtype_argument,
    reads_array_flag,
    reads_memory_size,
    reads_shape_or_dtype,
    takes_call,
)
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..types.value_types import ELEMENTS
from .array_nests import dtype_expr
from .function_table import ALLOCATING, functions_where

__all__ = ["array_flag", "dtype_of_expression", "item_size", "new_array_attribute"]

_ALLOCATORS = functions_where(lambda row: row.fill in ALLOCATING)


@fires_on(ast.Attribute, value=ast.Call, when=reads_shape_or_dtype)
@fires_on(ast.Call, calls=[len], when=takes_call)
def new_array_attribute(node: ast.AST, cx: Context) -> ast.expr | None:
    """``shape``, ``size``, ``ndim``, ``dtype`` or ``len`` of an array that is allocated in the same
    expression → that of a fresh name, which is bound to the array before.

        n = np.zeros_like(x).size
    →
        _a = np.zeros_like(x)
        n = _a.size
    """
    match node:
        case ast.Attribute(ast.Call() as call, attr) if (
            reads_shape_or_dtype(node, cx) and _is_allocation(call, cx)
        ):
            return copy_location(ast.Attribute(bind_fresh(call, "a", cx), attr, ast.Load()), node)
        case ast.Call(func, [ast.Call() as call], []) if (
            cx.resolve(func) is len and _is_allocation(call, cx)
        ):
            return copy_location(ast.Call(func, [bind_fresh(call, "a", cx)], []), node)
    return None


def _is_allocation(call: ast.Call, cx: Context) -> bool:
    """Whether `call` makes an array of a shape, such as ``np.zeros(n)``."""
    return any(cx.resolve(call.func) is f for f in _ALLOCATORS)


@fires_on(ast.Attribute, when=reads_memory_size)
def item_size(node: ast.AST, cx: Context) -> ast.expr | None:
    """``x.itemsize`` and ``x.dtype.itemsize`` → a constant; ``x.nbytes`` → a multiple of the size.

        n = x.nbytes
    →
        n = x.size * 8
    """
    if not isinstance(node, ast.Attribute) or not reads_memory_size(node, cx):
        return None
    match node:
        case ast.Attribute(ast.Attribute(of, "dtype"), "itemsize") if cx.fact(of).array:
            return copy_location(ast.Attribute(of, "itemsize", ast.Load()), node)
    array = cx.fact(node.value).array
    if array is None:
        return None
    size = ast.Constant(ELEMENTS[array.dtype].numpy.itemsize)
    if node.attr == "nbytes":
        return cx.expr("X.size * N", X=bind_operand(node.value, cx), N=size)
    cx.before(*residual_statements(node.value, cx))
    return copy_location(size, node)


@fires_on(ast.Subscript, slice=ast.Constant, ctx=ast.Load, when=reads_array_flag)
def array_flag(node: ast.AST, cx: Context) -> ast.expr | None:
    """A flag of an array by its name, as a subscript → the attribute of that name.

        if x.flags["C_CONTIGUOUS"]:
            s = 0.0
    →
        if x.flags.c_contiguous:
            s = 0.0
    """
    match node:
        case ast.Subscript(ast.Attribute(of, "flags") as flags, ast.Constant(str(name))) if (
            name in _FLAG_NAMES and cx.fact(of).array
        ):
            return copy_location(ast.Attribute(flags, _FLAG_NAMES[name], ast.Load()), node)
    return None


_FLAG_NAMES = {name.upper(): name for name in ARRAY_FLAGS} | {
    "A": "aligned", "B": "behaved", "C": "c_contiguous", "CA": "carray", "F": "f_contiguous",
    "FA": "farray", "O": "owndata", "W": "writeable",
}
"""The attribute for each key of ``x.flags``."""


@fires_on(ast.Call, when=has_dtype_argument)
def dtype_of_expression(node: ast.AST, cx: Context) -> ast.expr | None:
    """An argument that is the dtype of an expression → the class of that dtype. The expression is
    still computed, since it may warn.

        y = np.zeros(n, dtype=(x + 1).dtype)
    →
        _asked = np.empty(x.shape[0], np.float64)
        for _i in range(x.shape[0]):
            _asked[_i] = np.add(x[_i], 1)
        y = np.zeros(n, dtype=np.float64)
    """
    if not isinstance(node, ast.Call):
        return None
    args = [_class_of(e, cx) for e in node.args]
    keywords = [ast.keyword(k.arg, _class_of(k.value, cx)) for k in node.keywords]
    is_same = all(a is b for a, b in zip(args, node.args, strict=True)) and all(
        a.value is b.value for a, b in zip(keywords, node.keywords, strict=True)
    )
    return None if is_same else copy_location(ast.Call(node.func, args, keywords), node)


def _class_of(e: ast.expr, cx: Context) -> ast.expr:
    """The class of the elements of ``A``, if `e` is the expression ``A.dtype``; else `e`."""
    if not isinstance(e, ast.Attribute) or e.attr != "dtype" or isinstance(e.value, ast.Name):
        return e
    dtype = static_value(e, cx)
    name = next((n for n, d in ELEMENTS.items() if dtype and d.numpy == dtype.value), None)
    if name is None:
        return e
    cx.before(*residual_statements(e.value, cx))
    return copy_location(dtype_expr(name, cx), e)
