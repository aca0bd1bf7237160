"""Lengths and allocations as host expressions, which are evaluated before the kernel."""
from __future__ import annotations

import ast
import math
from collections.abc import Sequence

import numpy as np

from loopir.nodes import Call, Const, Dim, Expr, Var

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
from ..state.symbol_values import ArrayRef, RecordArrayRef

__all__ = [
    "host_expression", "host_product", "host_sum", "inline_locals", "known_before_kernel",
    "new_array",
]

_SAME_OPERATORS = frozenset({
    "add", "sub", "mul", "div", "floordiv", "mod", "bitand", "bitor", "bitxor", "shr", "and", "or",
    "lt", "le", "gt", "ge", "eq", "ne", "neg", "invert", "not", "select",
})
"""Operations of Loop IR that Python's operator of this name computes, to the bit, or raises."""
_KINDS = {"i64": int, "f64": float, "bool": bool}
_CLASSES: dict[str, Helper] = {"i64": "int", "f64": "float", "bool": "bool"}


def host_expression(e: Expr) -> HostExpr:
    """An invariant expression over parameters as host expression. Raises Refused."""
    found = _host(e)
    if found is None:
        refuse("LOWER_UNSUPPORTED", "a length is not known before the loop", None)
    return found


def known_before_kernel(e: Expr, b: IRBuilder) -> Expr | None:
    """What `e` is before the first statement, if that is something that `host_expression` knows."""
    origin = b.at_entry(e)
    return None if origin is None or _host(origin) is None else origin


def _host(e: Expr) -> HostExpr | None:
    match e:
        case Const(value) if e.dtype in _KINDS and abs(value) < math.inf:
            return HostConst(_KINDS[e.dtype](value))
        case Var(name, "i64"):
            return HostName(name)
        case Var(name, "f64" | "bool"):
            return call_helper(_CLASSES[e.dtype], HostName(name))
        case Dim(array, axis):
            return HostItem(HostAttribute(HostName(array), "shape"), HostConst(axis))
        case Call("greatest", (Var(array),)):
            return call_helper("greatest", HostName(array))
        case Call("least", (Var(array),)):
            return call_helper("least", HostName(array))
        case Call("room"):
            return HostCapacity()
        case Call("cast", (Var(name),)) if e.dtype in _KINDS:
            return call_helper(_CLASSES[e.dtype], HostName(name))
        case Call("select", (Call("eq", (a, Const(0))), Const(1), c)) if a == c:
            whole = _host(a)
            return None if whole is None else HostOp("or", (whole, HostConst(1)))
        case Call(op, args) if e.dtype in _KINDS:
            parts = [part for a in args if (part := _host(a)) is not None]
            return _apply(op, e.dtype, *parts) if len(parts) == len(args) else None
    return None


def _apply(op: str, dtype: str, *args: HostExpr) -> HostExpr | None:
    """What computes the same as `op` does of Python's numbers, to the bit, or raises."""
    match op:
        case "cast":
            return call_helper(_CLASSES[dtype], *args)
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
    return HostAttribute(HostHelper("math"), name)


def host_sum(terms: Sequence[HostExpr]) -> HostExpr:
    """The sum of `terms`, of which there is at least one."""
    total, *rest = terms
    for term in rest:
        total = HostOp("add", (total, term))
    return total


def host_product(factors: Sequence[HostExpr]) -> HostExpr:
    """The product of `factors`; 1 of none."""
    product, *rest = factors or (HostConst(1),)
    for factor in rest:
        product = HostOp("mul", (product, factor))
    return product


def new_array(
    lengths: Sequence[HostExpr], dtype: np.dtype, *, function: str = "empty",
    fill: HostExpr | None = None, fortran: bool = False,
) -> HostCall:
    """A call of NumPy's ``empty`` (``zeros``, ``ones``; ``full`` with a `fill`): an array of these
    lengths and of this dtype.
    """
    shape = lengths[0] if len(lengths) == 1 else HostDisplay(tuple(lengths))
    args = (shape, HostConst(dtype.str)) if fill is None else (shape, fill, HostConst(dtype.str))
    return HostCall(numpy_function(function), args, (("order", HostConst("F")),) if fortran else ())


def inline_locals(node: ast.expr, b: IRBuilder, arguments: frozenset[str]) -> HostExpr:
    """`node` as a host expression: local names give way to what they stand for.

    Elements of arrays are not asked for: what comes before `node` may have written them. Raises
    Refused.
    """
    kept = {id(of) for n in ast.walk(node) for of in _layout_operands(n)}

    def leaf(n: ast.expr) -> HostExpr | None:
        match n:
            case ast.Subscript() if (length := _known_length(n, b)) is not None:
                origin = known_before_kernel(length.ir, b)
                return None if origin is None else host_expression(origin)
            case ast.Name(id=name):
                return local(name, read=id(n) not in kept)
        return None

    def local(name: str, *, read: bool) -> HostExpr | None:
        value = b.env.get(name)
        if isinstance(value, (ArrayRef, RecordArrayRef)) and read:
            said = f"`{ast.unparse(node)}` reads elements of `{name}`"
            return refuse("LOWER_UNSUPPORTED", said, node)
        if value is None or (name in arguments and _is_unchanged_argument(name, value)):
            return None
        is_view = isinstance(value, ArrayRef) and bool(value.base_index)
        if isinstance(value, ArrayRef) and not is_view and value.name not in b.buffers.fresh:
            return HostName(value.name)
        whole = isinstance(value, Num) and value.python_int
        origin = known_before_kernel(value.ir, b) if isinstance(value, Num) and whole else None
        if origin is not None:
            return host_expression(origin)
        if isinstance(value, Num) and isinstance(value.ir, Const):
            return HostConst(value.ir.value)
        return refuse("LOWER_UNSUPPORTED", f"`{name}` is not known before the loops", node)

    try:
        return from_ast(node, leaf)
    except NoHostExpression:
        return refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is not compiled", node)


def _layout_operands(n: ast.AST) -> list[ast.expr]:
    """What `n` asks for nothing that a store changes."""
    match n:
        case ast.Attribute(value=of, attr="shape" | "size" | "ndim" | "dtype"):
            return [of]
        case ast.Call(func=ast.Name(id="len") | ast.Attribute(attr="len"), args=[of]):
            return [of]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name.endswith("_like"):
            return [*n.args[:1], *(k.value for k in n.keywords if k.arg in ("a", "prototype"))]
    return []


def _known_length(n: ast.Subscript, b: IRBuilder) -> Num | None:
    """The length that ``name.shape[k]`` is, of a view or of an array made here."""
    match n:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
            slice=ast.Constant(value=int(k)),
        ):
            of = b.env.get(name)
            known = isinstance(of, ArrayRef) and (of.base_index or of.name in b.buffers.fresh)
            return of.shape[k] if isinstance(of, ArrayRef) and known and k < of.rank else None
    return None


def _is_unchanged_argument(name: str, value: object) -> bool:
    """Whether an argument still has the value it was passed with."""
    match value:
        case (
            Num(ir=Var(n)) | ArrayRef(name=n, base_index=()) | RecordArrayRef(name=n, is_whole=True)
        ):
            return n == name
        case _:
            return False
