"""Elementwise operations on whole arrays as ufunc calls on their elements.

Also of vectors that are computed in another shape, as ``(x.reshape(2, n) + 1)``.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ... import ops
from ...analysis.shape_rules import reshaping
from ...frontend.core_nodes import copy_location, location_node
from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context
from ...frontend.macros.replay_guards import bind_fresh, unique_nodes
from ...types.value_types import ELEMENTS, PARTS
from ..array_nests import product_of, row_major_index
from ..array_views import (
    View,
    broadcast_views,
    is_unit_length,
    is_viewable,
    operands_by_index,
    recomputed_operands,
    scalar_overflow_checks,
    view_of,
)
from ..gather_scatter import is_gathered
from .arange_linspace import is_numeric_sequence
from .data_movement import is_data_movement, movement_view
from .elementwise_formulas import FORMULA_NAMES, formula_of, formula_view

__all__ = [
    "reshaped_view", "is_reshaped_expression", "ELEMENTWISE", "elementwise_view", "is_elementwise",
    "ufunc_for",
]

_OPERATION_NODES = ast.BinOp, ast.UnaryOp, ast.Compare


def is_reshaped_expression(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a new vector in another shape, which is nobody's view."""
    found = _reshape_call(e, cx)
    if found is None or isinstance(found[0], ast.Name):
        return False
    return isinstance(found[0], _OPERATION_NODES) or cx.fact(found[0]).owner == ""


def _reshape_call(e: ast.expr, cx: Context) -> tuple[ast.expr, Sequence[ast.expr]] | None:
    """The vector, and the lengths that it is to have."""
    match e:
        case ast.Call(func=func):
            found = reshaping(e, cx.resolve(func))
        case _:
            return None
    if found is None or cx.fact(found[0]).array is None or cx.fact(found[0]).rank != 1:
        return None
    lengths = cx.facts.spread(found[1])
    return (found[0], lengths) if all(cx.fact(n).is_int for n in lengths) else None


def reshaped_view(e: ast.expr, cx: Context) -> View | None:
    """`e` by the elements of the vector, one after the other."""
    found = _reshape_call(e, cx)
    of = view_of(found[0], cx) if found else None
    if found is None or of is None:
        return None
    total = of.shape[0]
    lengths = list(found[1])
    if not lengths:
        return of
    checks, shape = [*of.checks], _reshape_lengths(lengths, total, cx)
    if shape is None:
        return None
    if len(shape) > 1 or integer_constant(lengths[0]) != -1:
        checks.append(cx.expr("A != B", A=product_of(shape, cx), B=total))
    least = "N < 1" if any(integer_constant(n, None) == -1 for n in lengths) else "N < 0"
    some = shape if least == "N < 0" else [
        n for n, given in zip(shape, lengths, strict=True) if integer_constant(given, None) != -1]
    checks += [cx.expr(least, N=n) for n in some if (integer_constant(n, None) or 0) < 1]

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return of.at([row_major_index(index, shape, cx)])

    return View(tuple(shape), at, tuple(checks))


def _reshape_lengths(
    lengths: Sequence[ast.expr], total: ast.expr, cx: Context
) -> list[ast.expr] | None:
    """The lengths, of which one may be -1."""
    free = [k for k, n in enumerate(lengths) if integer_constant(n, None) == -1]
    if len(free) > 1:
        return None
    plain = (ast.Constant, ast.Name, ast.UnaryOp)
    out = [n if isinstance(n, plain) else bind_fresh(n, "n", cx) for n in lengths]
    if free:
        rest = [n for k, n in enumerate(out) if k != free[0]]
        others = product_of(rest, cx) if rest else ast.Constant(1)
        text = "T" if all(map(is_unit_length, rest)) else "T // max(N, 1)"
        out[free[0]] = (
            total if text == "T" else bind_fresh(cx.expr(text, T=total, N=others), "n", cx)
        )
    return out


_OPERATORS = {
    "Add": "add", "Sub": "subtract", "Mult": "multiply", "Div": "divide",
    "FloorDiv": "floor_divide", "Mod": "remainder", "Pow": "power", "LShift": "left_shift",
    "RShift": "right_shift", "BitOr": "bitwise_or", "BitXor": "bitwise_xor",
    "BitAnd": "bitwise_and", "USub": "negative", "Invert": "invert",
    "Lt": "less", "LtE": "less_equal", "Gt": "greater", "GtE": "greater_equal",
    "Eq": "equal", "NotEq": "not_equal",
}
"""The function of NumPy that an operator on arrays stands for: its warnings name it."""

ELEMENTWISE = (ast.BinOp, ast.Call, ast.Compare, ast.Subscript, ast.UnaryOp)
"""The types of expressions of which some are elementwise."""

_OPS_FUNCTIONS = {getattr(ops, name) for name in ops.__all__} - {ops.to_bitmask, ops.from_bitmask}


def is_elementwise(e: ast.expr, cx: Context) -> bool:
    """Whether `e` makes a new array of what it computes for each element."""
    known = cx.fact(e).array is not None
    by = known and (_elementwise_operands(e, cx) is not None or formula_of(e, cx) is not None)
    moves = known and (is_data_movement(e, cx) or is_reshaped_expression(e, cx))
    return by or moves or (known and (is_numeric_sequence(e, cx) or is_gathered(e, cx)))


def _elementwise_operands(
    e: ast.expr, cx: Context
) -> tuple[ast.expr | None, Sequence[ast.expr]] | None:
    """The operands of `e`, of which all are arrays and scalars, with the function that gives each
    element of it.
    """
    found = _ufunc_operands(e, cx)
    if found is None and (other := formula_of(e, cx)) is not None and other.text is None:
        return None, other.operands
    if found is None or not all(map(is_viewable, map(cx.fact, found[1]))):
        return None
    return None if _is_another_product(*found, e, cx) else found


def _is_another_product(
    function: ast.expr | None, operands: Sequence[ast.expr], e: ast.expr, cx: Context
) -> bool:
    """Whether NumPy may round products of arrays otherwise than those of their elements: squares of
    complex numbers, and products of complex64 where some array is reversed.
    """
    name, of = function.attr if isinstance(function, ast.Attribute) else "", cx.fact(e).array
    if of is None or of.dtype not in PARTS or name not in ("multiply", "square"):
        return False
    arrays = [fact for fact in map(cx.fact, operands) if fact.rank != 0]
    plain = all(fact.array and (fact.array.rank, fact.array.unit) == (1, 0) for fact in arrays)
    return name == "square" or (of.dtype == "c64" and not plain)


def elementwise_view(e: ast.expr, cx: Context) -> View | None:
    """`e` as a function of its operands' elements; None where it is none, or not known."""
    found = _elementwise_operands(e, cx)
    if found is None:
        return formula_view(e, cx) or movement_view(e, cx) or reshaped_view(e, cx)
    function, operands = found
    if function is None:
        of = view_of(operands[0], cx)
        own = isinstance(e, ast.Call) and len(e.args) == 0  # x.copy() is in C order
        return replace(of, order="C") if of and own else of
    parts = operands_by_index(operands, cx, recomputed_operands(operands, cx))
    whole = broadcast_views(parts, lambda elements: _ufunc_call(function, elements, e, cx), cx)
    ty = cx.fact(e).array
    if ty is None or cx.resolve(function) is np.where:
        return whole
    pairs = zip(operands, parts, strict=True)
    misfit = [
        check
        for operand, of in pairs
        for check in scalar_overflow_checks(operand, of, ty.dtype, cx)
    ]
    return replace(whole, checks=tuple(unique_nodes((*misfit, *whole.checks))))


def ufunc_for(op: ast.AST, operands: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The function of NumPy that `op` stands for; powers have names of their own."""
    name = _OPERATORS[type(op).__name__]
    if isinstance(op, ast.Pow) and integer_constant(operands[1]) == -1:
        cx.steps()  # NumPy takes reciprocals
    if isinstance(op, ast.Pow) and isinstance(operands[1], ast.Constant):
        name = _power(operands[0], operands[1].value, cx)
    if name == "invert" and _all_bool(operands[0], cx):
        name = "logical_not"
    return cx.expr(f"NP.{name}", NP=cx.numpy)


def _power(base: ast.expr, exponent: object, cx: Context) -> str:
    """NumPy squares, and takes roots of floats."""
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(base).types}
    if exponent == 2 and type(exponent) is int and "b" not in kinds:
        return "square"
    return "sqrt" if exponent == 0.5 and kinds == {"f"} else "power"


def _ufunc_operands(e: ast.expr, cx: Context) -> tuple[ast.expr | None, list[ast.expr]] | None:
    """The function and the operands; no function for a mere copy."""
    match e:
        case ast.BinOp(left=left, op=ast.Pow()) if _all_bool(left, cx):
            return None  # an int8, or an int64
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            function = ufunc_for(op, [left, right], cx)
            single = ast.unparse(function).endswith((".square", ".sqrt"))
            return function, [left] if single else [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.Invert() as op, operand=operand):
            return ufunc_for(op, [operand], cx), [operand]
        case ast.Compare(left=left, ops=[op], comparators=[right]) if (
            type(op).__name__ in _OPERATORS
        ):
            return ufunc_for(op, [left, right], cx), [left, right]
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return None, [operand]
        case ast.Call(func=ast.Attribute(value=array, attr="copy") as func, args=[], keywords=[]):
            return (None, [array]) if cx.resolve(func) is None else None
        case ast.Call(func=func, args=[array], keywords=[]) if cx.is_numpy(func, "copy"):
            return None, [array]
        case ast.Call(func=func, args=args, keywords=[]) if args:
            function_ = cx.resolve(func)
            if cx.builtin(e) == "abs":
                return cx.expr("NP.absolute", NP=cx.numpy), args
            if isinstance(function_, np.ufunc) and function_.nin == len(args) and (
                function_.__name__ not in FORMULA_NAMES
            ):
                return (func, args) if function_.nout == 1 and not function_.signature else None
            if (function_ is np.where and len(args) == 3) or any(
                function_ is f for f in _OPS_FUNCTIONS
            ):
                return func, args
    return None


def _ufunc_call(
    function: ast.expr, elements: list[ast.expr], e: ast.expr, cx: Context
) -> ast.expr:
    return copy_location(ast.Call(function, elements, []), location_node(e, cx.at))


def _all_bool(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return bool(types) and all(t.dtype == "bool" for t in types)
