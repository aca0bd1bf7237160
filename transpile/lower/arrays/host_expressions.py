"""Lengths and allocations as host expressions, which are evaluated before the kernel.

A host expression is Python that the wrapper evaluates at a call, to allocate the arrays that the
kernel needs. There are two ways to get one:

- from Loop IR (`host_expression`), for an expression over parameters and lengths of arrays:
  ``max(floordiv(n, 2), 1)`` of int64s becomes Python's ``max(n // 2, 1)``;
- from the source (`inline_locals`), for a call such as ``np.zeros_like(x)``: local names in it are
  replaced by what they are bound to.

A host expression has the same value as the kernel's, to the bit, or raises, and then the call is
replayed. `known_before_kernel` tells whether there is one.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Sequence

import numpy as np

from loopir.nodes import Call, Const, Dim, Expr, Var

from ...frontend.ast_walk import walk_nodes
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...host_nodes import (
    Helper,
    HostAttribute,
    HostCall,
    HostCapacity,
    HostConst,
    HostDisplay,
    HostExpr,
    HostHelper,
    HostItem,
    HostName,
    HostOp,
    NoHostExpression,
    call_helper,
    from_ast,
    numpy_function,
)
from ...types.typed_values import Num
from ..state.ir_builder import IRBuilder
from ..state.symbol_values import ArrayRef, RecordArrayRef, Value

__all__ = [
    "host_expression", "host_product", "host_sum", "inline_locals", "known_before_kernel",
    "new_array",
]

_SAME_OPERATORS = frozenset({
    "add", "sub", "mul", "div", "floordiv", "mod", "bitand", "bitor", "bitxor", "shr", "and", "or",
    "lt", "le", "gt", "ge", "eq", "ne", "neg", "invert", "not", "select",
})
"""Operations of Loop IR for which the host operation of the same name gives the same result, or
raises.
"""
_PYTHON_TYPES = {"i64": int, "f64": float, "bool": bool}
_CONVERSIONS: dict[str, Helper] = {"i64": "int", "f64": "float", "bool": "bool"}
"""The helper that converts to the Python type of each dtype."""


def host_expression(e: Expr) -> HostExpr:
    """The host expression of `e`, an expression over parameters and lengths. Raises Refused where
    it has none.
    """
    host = _host(e)
    if host is None:
        refuse("LOWER_UNSUPPORTED", "a length is not known before the loop", None)
    return host


def known_before_kernel(e: Expr, b: IRBuilder) -> Expr | None:
    """`e` as an expression that is known at kernel entry (`IRBuilder.at_entry`) and has a host
    expression; None where there is none.
    """
    entry_expr = b.at_entry(e)
    return None if entry_expr is None or _host(entry_expr) is None else entry_expr


def _host(e: Expr) -> HostExpr | None:
    """The host expression of `e`; None for operations and dtypes that have none."""
    match e:
        case Const(value) if e.dtype in _PYTHON_TYPES and abs(value) < math.inf:
            return HostConst(_PYTHON_TYPES[e.dtype](value))
        case Var(name, "i64"):
            return HostName(name)
        case Var(name, "f64" | "bool"):
            return call_helper(_CONVERSIONS[e.dtype], HostName(name))
        case Dim(array, axis):
            return HostItem(HostAttribute(HostName(array), "shape"), HostConst(axis))
        case Call("greatest", (Var(array),)):
            return call_helper("greatest", HostName(array))
        case Call("least", (Var(array),)):
            return call_helper("least", HostName(array))
        case Call("room"):
            return HostCapacity()
        case Call("cast", (Var(name),)) if e.dtype in _PYTHON_TYPES:
            return call_helper(_CONVERSIONS[e.dtype], HostName(name))
        case Call("select", (Call("eq", (a, Const(0))), Const(1), c)) if a == c:
            number = _host(a)
            return None if number is None else HostOp("or", (number, HostConst(1)))
        case Call(op, args) if e.dtype in _PYTHON_TYPES:
            operands = [operand for a in args if (operand := _host(a)) is not None]
            return _apply(op, e.dtype, *operands) if len(operands) == len(args) else None
    return None


def _apply(op: str, dtype: str, *args: HostExpr) -> HostExpr | None:
    """The host expression of the operation `op`, with a result of `dtype`, on `args`; None for
    operations that Python would compute differently.
    """
    match op:
        case "cast":
            return call_helper(_CONVERSIONS[dtype], *args)
        case "abs" | "max" | "min":
            return call_helper(op, *args)
        case "xor":
            return HostOp("ne", args)
        case "shl":
            value, count = args
            return HostOp("shl", (value, call_helper("min", count, HostConst(64))))
        case "sqrt":
            return HostCall(_math_function(op), args)
        case "rint":
            return call_helper("float", call_helper("round", *args))
        case "floor" | "ceil" | "trunc":
            return call_helper("float", HostCall(_math_function(op), args))
    return HostOp(op, args) if op in _SAME_OPERATORS else None


def _math_function(name: str) -> HostExpr:
    """The function `name` of the module ``math``."""
    return HostAttribute(HostHelper("math"), name)


def host_sum(terms: Sequence[HostExpr]) -> HostExpr:
    """The sum of `terms`, which must not be empty."""
    total, *rest = terms
    for term in rest:
        total = HostOp("add", (total, term))
    return total


def host_product(factors: Sequence[HostExpr]) -> HostExpr:
    """The product of `factors`; 1 if there are none."""
    product, *rest = factors or (HostConst(1),)
    for factor in rest:
        product = HostOp("mul", (product, factor))
    return product


def new_array(
    lengths: Sequence[HostExpr], dtype: np.dtype, *, function: str = "empty",
    fill: HostExpr | None = None, fortran: bool = False,
) -> HostCall:
    """A call of ``np.empty``, or of ``zeros``, ``ones`` or ``full`` as `function` says, for an
    array of these lengths and `dtype`. ``fill``: the value, for ``full``. ``fortran``: in Fortran
    order.
    """
    shape = lengths[0] if len(lengths) == 1 else HostDisplay(tuple(lengths))
    args = (shape, HostConst(dtype.str)) if fill is None else (shape, fill, HostConst(dtype.str))
    return HostCall(numpy_function(function), args, (("order", HostConst("F")),) if fortran else ())


def inline_locals(node: ast.expr, b: IRBuilder, arguments: frozenset[str]) -> HostExpr:
    """`node` as a host expression over arguments and globals: local names and lengths of local
    arrays are replaced by what they are bound to. ``arguments``: the names of the arguments.

    Raises Refused where a local name is not known before the kernel, and where `node` reads
    elements of an array, which the kernel may have changed by then.
    """
    layout_operands = {id(operand) for n in walk_nodes(node) for operand in _layout_operands(n)}

    def replace_leaf(n: ast.expr) -> HostExpr | None:
        """The replacement of `n`; None: there is none, or `n` is no leaf."""
        match n:
            case ast.Subscript() if (length := _known_length(n, b)) is not None:
                entry_expr = known_before_kernel(length.ir, b)
                return None if entry_expr is None else host_expression(entry_expr)
            case ast.Name(id=name):
                return replace_name(name, reads_elements=id(n) not in layout_operands)
        return None

    def replace_name(name: str, *, reads_elements: bool) -> HostExpr | None:
        """What the name is bound to; None for a global and an unchanged argument. Refused if it is
        an array of which `node` ``reads_elements``, not the shape or dtype alone.
        """
        value = b.env.get(name)
        if isinstance(value, (ArrayRef, RecordArrayRef)) and reads_elements:
            message = f"`{source_text(node)}` reads elements of `{name}`"
            return refuse("LOWER_UNSUPPORTED", message, node)
        if value is None or (name in arguments and _is_unchanged_argument(name, value)):
            return None
        bound = _value_before_kernel(value, b)
        if bound is None:
            refuse("LOWER_UNSUPPORTED", f"`{name}` is not known before the loops", node)
        return bound

    try:
        return from_ast(node, replace_leaf)
    except NoHostExpression:
        return refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` is not compiled", node)


def _value_before_kernel(value: Value, b: IRBuilder) -> HostExpr | None:
    """The host expression of an array from outside, or of a number that is known before the kernel;
    None for other values.
    """
    match value:
        case ArrayRef(name=name) if not value.base_index and name not in b.buffers.fresh:
            return HostName(name)
        case Num():
            entry_expr = known_before_kernel(value.ir, b) if value.python_int else None
            if entry_expr is not None:
                return host_expression(entry_expr)
            return HostConst(value.ir.value) if isinstance(value.ir, Const) else None
    return None


def _layout_operands(n: ast.AST) -> list[ast.expr]:
    """The arrays whose shape or dtype `n` reads, but no elements: ``x`` of ``x.shape``."""
    match n:
        case ast.Attribute(value=array, attr="shape" | "size" | "ndim" | "dtype"):
            return [array]
        case ast.Call(func=ast.Name(id="len") | ast.Attribute(attr="len"), args=[array]):
            return [array]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name.endswith("_like"):
            return [*n.args[:1], *(k.value for k in n.keywords if k.arg in ("a", "prototype"))]
    return []


def _known_length(n: ast.Subscript, b: IRBuilder) -> Num | None:
    """The value of ``name.shape[k]`` for a view or an array that the function has allocated; None
    for other nodes.
    """
    match n:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
            slice=ast.Constant(value=int(k)),
        ):
            array = b.env.get(name)
            if not isinstance(array, ArrayRef) or k >= array.rank:
                return None
            is_local = array.base_index or array.name in b.buffers.fresh
            return array.shape[k] if is_local else None
    return None


def _is_unchanged_argument(name: str, value: object) -> bool:
    """Whether `value` of the argument `name` is still the one that it was passed with."""
    match value:
        case (
            Num(ir=Var(n)) | ArrayRef(name=n, base_index=()) | RecordArrayRef(name=n, is_whole=True)
        ):
            return n == name
        case _:
            return False
