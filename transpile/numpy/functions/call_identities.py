"""Call identities: calls of NumPy functions → their definitions by other ones (``nansum`` …).

`call_identity` is the macro: of the rows that `identity_table.IDENTITIES` has for a function, it
tries each in order, and applies the first whose conditions hold.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping

from ...frontend.ast_walk import integer_constant
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ELEMENTS
from ..array_nests import dtype_expr
from ..call_arguments import BoundArguments, bind_arguments, numpy_function_name
from ..function_table import FUNCTIONS
from .identity_table import ANY_VALUE, IDENTITIES, Identity

__all__ = ["call_identity"]


_IDENTITIES_BY_NAME: dict[str, list[Identity]] = {}
for _row in IDENTITIES:
    _IDENTITIES_BY_NAME.setdefault(_row.function, []).append(_row)


@fires_on(ast.Call, calls=numpy_callees(_IDENTITIES_BY_NAME))
def call_identity(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call of a function in `IDENTITIES` → its definition by other NumPy functions, from the
    first row that matches the arguments.

        s = np.nansum(x)
    →
        _sum = np.float64(0)
        for _i in range(x.shape[0]):
            _sum = np.add(_sum, np.where(np.not_equal(x[_i], x[_i]), 0, x[_i]))
        s = _sum
    """
    if not isinstance(node, ast.Call):
        return None
    callee = numpy_function_name(node.func, cx) or getattr(node.func, "attr", "")
    for row in _IDENTITIES_BY_NAME.get(callee, ()):
        bound = bind_arguments(node, cx, {row.function: " ".join(row.parameters)})
        if bound is not None and (parts := _match_identity(row, bound, cx)) is not None:
            if FUNCTIONS[row.function].warns:
                cx.mark_operation_parts()
            return _apply_identity(row, parts, node, cx)
    return None


def _match_identity(
    row: Identity, bound: BoundArguments, cx: Context
) -> dict[str, ast.expr] | None:
    """The values of the holes of `row`, defaults included; None where the row does not match:

    - the argument A is not surely an array of the row's rank and kinds;
    - an argument differs from its default and has no hole;
    - a required argument is missing or has another value (`_argument_matches`);
    - the argument ``same_shape`` is not surely an array of the rank of A.
    """
    parts: dict[str, ast.expr] = {k.upper(): ast.Constant(v) for k, v in row.defaults.items()}
    given = {
        k: e for k, e in bound.arguments.items() if not _is_literal(e, row.defaults.get(k))
    }
    explicit = {k.upper(): e for k, e in given.items()}
    array = cx.fact(explicit.get("A", ast.Constant(None)))
    if (
        array.array is None
        or not all(map(row.has_hole, given))
        or not all(_argument_matches(*item, explicit, cx) for item in row.requires.items())
    ):
        return None
    if row.rank not in (None, array.rank) or ELEMENTS[array.array.dtype].kind not in row.kinds:
        return None
    if row.same_shape:
        other = cx.fact(explicit[row.same_shape])
        if not other.array or other.rank != array.rank:
            return None
    return {**parts, **explicit}


def _argument_matches(
    name: str, value: object, explicit: Mapping[str, ast.expr], cx: Context
) -> bool:
    """Whether the argument of the hole `name` fulfils the row's ``requires``: it is given and has
    that value; with `ANY_VALUE`, AXIS must be a constant, or a tuple of two where there is no ORD.
    """
    e = explicit.get(name)
    if e is None:
        return False
    if value is ANY_VALUE:
        axes = e.elts if isinstance(e, ast.Tuple) and "ORD" not in explicit else [e]
        constant = all(integer_constant(a, None) is not None for a in axes)
        return name != "AXIS" or (constant and len(axes) in (1, 2))
    match e:
        case ast.Constant(value=actual):
            return _is_same(actual, value)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if isinstance(value, float):
            return _is_same(cx.resolve(operand), -value)
    return _is_same(cx.resolve(e), value)


def _is_literal(e: ast.expr, value: object) -> bool:
    """Whether `e` is a literal, maybe of a negative number, with that `value`."""
    match e:
        case ast.Constant(value=actual):
            return _is_same(actual, value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return _is_same(-number, value)
    return False


def _is_same(actual: object, value: object) -> bool:
    """Whether `actual` is of the type of `value`, and equal to it."""
    return type(actual) is type(value) and actual == value


def _apply_identity(
    row: Identity, parts: dict[str, ast.expr], node: ast.Call, cx: Context
) -> ast.expr | None:
    """The expression that replaces `node`: the result of `row` with its holes filled, or, where the
    row has checks, a fresh name that a guard binds to it. Arguments that are used several times,
    the bindings of the row and its checks are computed before the statement.
    """
    name, result_types = cx.fresh("a"), cx.fact(node).types
    dtype = next(iter(result_types)).dtype if len(result_types) == 1 else "f64"
    for hole, e in parts.items():
        uses = row.uses.get(hole, 0) + (row.same_shape == hole or hole == "A")
        if uses > 1 and not isinstance(e, (ast.Name, ast.Constant)):
            parts[hole] = bind_fresh(e, "a", cx)
    parts |= {"NP": cx.numpy, "T": dtype_expr(dtype, cx)}
    for target, text in row.bindings.items():
        parts[target] = bind_fresh(_instantiate(text, parts, dtype, cx), "a", cx)
    checks = _shapes_differ(row, parts, cx)
    for text in row.replay_if:
        check = _instantiate(text, parts, dtype, cx)
        if cx.fact(check).rank:
            check = cx.expr("NP.any(C)", NP=cx.numpy, C=check)
        checks.append(bind_fresh(check, "python", cx))
    value = _instantiate(row.result, parts, dtype, cx)
    if not checks:
        return value
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.before(*guarded(checks, original, cx.code("NAME = E", NAME=name, E=value), cx))
    return cx.expr("NAME", NAME=name)


def _instantiate(text: str, parts: dict[str, ast.expr], dtype: str, cx: Context) -> ast.expr:
    """The expression `text` with its holes filled. Conversions ``T(…)`` are dropped for float64:
    the value has that dtype anyway.
    """
    return cx.expr(text.replace("T(", "(") if dtype == "f64" else text, **parts)


def _shapes_differ(row: Identity, parts: dict[str, ast.expr], cx: Context) -> list[ast.expr]:
    """Conditions, one for each axis, that A and the argument ``same_shape`` differ in length; empty
    where the row has no such argument.
    """
    if not row.same_shape:
        return []
    other = parts[row.same_shape]
    return [
        cx.expr("A.shape[K] != B.shape[K]", A=parts["A"], B=other, K=ast.Constant(k))
        for k in range(cx.fact(parts["A"]).rank or 0)
    ]
