"""Elementwise operations on whole arrays → NumPy's functions on their elements."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import ops
from ..places import spot
from ..types import ELEMENTS, PARTS
from .context import Context
from .flat import in_another_shape, is_reshaped
from .formulas import NAMES, applied, formula_view
from .gathering import is_gathered
from .integers import integer_constant
from .moved import is_moved, moved
from .operands import operands_by_index, recurring
from .sequences import is_sequence
from .views import View, broadcast, is_viewable, misfits, unique, view

__all__ = ["ELEMENTWISE", "elementwise", "is_elementwise", "operation"]

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

_OURS = {getattr(ops, name) for name in ops.__all__} - {ops.to_bitmask, ops.from_bitmask}


def is_elementwise(e: ast.expr, cx: Context) -> bool:
    """Whether `e` makes a new array of what it computes for each element."""
    known = cx.fact(e).array is not None
    by = known and (_by_elements(e, cx) is not None or applied(e, cx) is not None)
    moves = known and (is_moved(e, cx) or is_reshaped(e, cx))
    return by or moves or (known and (is_sequence(e, cx) or is_gathered(e, cx)))


def _by_elements(
    e: ast.expr, cx: Context
) -> tuple[ast.expr | None, Sequence[ast.expr]] | None:
    """The operands of `e`, of which all are arrays and scalars, with the function that gives each
    element of it.
    """
    found = _operands(e, cx)
    if found is None and (other := applied(e, cx)) is not None and other.text is None:
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


def elementwise(e: ast.expr, cx: Context) -> View | None:
    """`e` as a function of its operands' elements; None where it is none, or not known."""
    found = _by_elements(e, cx)
    if found is None:
        return formula_view(e, cx) or moved(e, cx) or in_another_shape(e, cx)
    function, operands = found
    if function is None:
        of = view(operands[0], cx)
        own = isinstance(e, ast.Call) and len(e.args) == 0  # x.copy() is in C order
        return replace(of, order="C") if of and own else of
    parts = operands_by_index(operands, cx, recurring(operands, cx))
    whole = broadcast(parts, lambda elements: _call(function, elements, e, cx), cx)
    ty = cx.fact(e).array
    if ty is None or cx.resolve(function) is np.where:
        return whole
    pairs = zip(operands, parts, strict=True)
    misfit = [check for operand, of in pairs for check in misfits(operand, of, ty.dtype, cx)]
    return replace(whole, checks=tuple(unique((*misfit, *whole.checks))))


def operation(op: ast.AST, operands: Sequence[ast.expr], cx: Context) -> ast.expr:
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


def _operands(e: ast.expr, cx: Context) -> tuple[ast.expr | None, list[ast.expr]] | None:
    """The function and the operands; no function for a mere copy."""
    match e:
        case ast.BinOp(left=left, op=ast.Pow()) if _all_bool(left, cx):
            return None  # an int8, or an int64
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            function = operation(op, [left, right], cx)
            single = ast.unparse(function).endswith((".square", ".sqrt"))
            return function, [left] if single else [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.Invert() as op, operand=operand):
            return operation(op, [operand], cx), [operand]
        case ast.Compare(left=left, ops=[op], comparators=[right]) if (
            type(op).__name__ in _OPERATORS
        ):
            return operation(op, [left, right], cx), [left, right]
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
                function_.__name__ not in NAMES
            ):
                return (func, args) if function_.nout == 1 and not function_.signature else None
            if (function_ is np.where and len(args) == 3) or any(function_ is f for f in _OURS):
                return func, args
    return None


def _call(
    function: ast.expr, elements: list[ast.expr], e: ast.expr, cx: Context
) -> ast.expr:
    return ast.copy_location(ast.Call(function, elements, []), spot(e, cx.at))


def _all_bool(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return bool(types) and all(t.dtype == "bool" for t in types)
