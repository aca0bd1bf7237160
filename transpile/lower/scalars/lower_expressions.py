"""Lower scalar expressions: constants, comparisons, boolean logic and conditional expressions."""
from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr, Load, Var

from ...frontend.core_nodes import copy_location, fix_missing_locations, source_text
from ...frontend.refusal import refuse
from ...types.int_limits import INT64
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op, constant, fits_dtype
from ..arrays.alias_states import first_ambiguous_read
from ..complex.complex_arithmetic import (
    apply_operator,
    compare_complex,
    complex_literal,
    complex_magnitude,
    negate,
)
from ..state.dispatch import lower_block, lower_scalar
from ..state.generated_names import TEST_NAME
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_guarded
from ..state.path_conditions import under
from ..state.symbol_values import Absent, Scalar, UnionCase, UnionValue
from .dual_semantics import in_both_semantics
from .scalar_arithmetic import (
    BINARY,
    as_numpy_if_loops_ran,
    bitwise_invert,
    require_exact_as_float,
    unary_plus,
)
from .scalar_operands import result_type, to_operand_dtype, with_result_type
from .tagged_unions import (
    bind_scalar,
    for_each_case,
    is_none_condition,
    lower_number,
    select_scalar,
    truth_of_scalar,
)

__all__ = [
    "compare_numbers", "lower_binary", "lower_boolean", "lower_comparison", "lower_conditional",
    "lower_constant", "lower_test", "lower_unary",
]

_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[..., Any]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}
_NONE = UnionValue((UnionCase(Absent.NONE, TRUE),))

_UNARY: dict[type[ast.unaryop], Callable[..., Scalar]] = {
    ast.USub: negate,
    ast.UAdd: unary_plus,
    ast.Invert: bitwise_invert,
}


def lower_constant(ctx: Lowering, node: ast.Constant) -> Scalar:
    """A number or None. Raises Refused for other constants, and ints beyond 64 bits."""
    match node.value:
        case None:
            return _NONE
        case complex() as value:
            return complex_literal(value)
        case bool() | int() | float() as value:
            if isinstance(value, int) and not INT64[0] <= value <= INT64[1]:
                refuse("LOWER_TYPE", f"the int {value} needs more than 64 bits", node)
            return constant(value)
    return refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` cannot be compiled", node)


def lower_binary(ctx: Lowering, node: ast.BinOp) -> Scalar:
    """``a op b`` of scalars, for each of the types that they may have."""
    if type(node.op) not in BINARY:
        refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` cannot be compiled", node)
    operate = partial(apply_operator, ctx, type(node.op), node=node)
    left, right = lower_scalar(ctx, node.left), lower_scalar(ctx, node.right)
    return for_each_case(ctx, operate, node, left, right)


def lower_unary(ctx: Lowering, node: ast.UnaryOp) -> Scalar:
    """``-a``, ``+a``, ``~a`` and ``not a``."""
    if isinstance(node.op, ast.Not):
        return Num(bool_op("not", lower_test(ctx, node.operand)), weak="bool")
    operate = partial(_UNARY[type(node.op)], ctx, node=node)
    return for_each_case(ctx, operate, node, lower_scalar(ctx, node.operand))


def lower_comparison(ctx: Lowering, node: ast.Compare, *, only_truth: bool = False) -> Scalar:
    """``a < b < c``: each operand once, later ones only where the comparisons before hold."""
    left = _lower_comparison_operand(ctx, node.left)
    if len(node.ops) > 1:
        left = bind_scalar(ctx, left, "left")
    rest = list(zip(node.ops, node.comparators, strict=True))
    return _chained_comparison(ctx, left, rest, node, only_truth)


def _chained_comparison(
    ctx: Lowering,
    left: Scalar,
    rest: list[tuple[ast.cmpop, ast.expr]],
    node: ast.AST,
    only_truth: bool,
) -> Scalar:
    (op, right_node), *more = rest
    right = _lower_comparison_operand(ctx, right_node)
    if more:
        right = bind_scalar(ctx, right, "middle")
    first = _compare_scalars(ctx, op, left, right, node)
    if not more:
        return first
    holds = truth_of_scalar(ctx, first, node)
    with under(ctx.b, holds):
        second = _chained_comparison(ctx, right, more, node, only_truth)
    if only_truth:
        return Num(bool_op("and", holds, truth_of_scalar(ctx, second, node)), weak="bool")
    return _select_operand(ctx, "and", first, second, node)


def _compare_scalars(ctx: Lowering, op: ast.cmpop, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
    none = next((n for n in (y, x) if n == _NONE), None)
    if none is None or not isinstance(op, (ast.Is, ast.IsNot)):
        return for_each_case(ctx, lambda p, q: compare_numbers(ctx, op, p, q, node), node, x, y)
    same = is_none_condition(ctx, x if none is y else y, node)
    return Num(same if isinstance(op, ast.Is) else bool_op("not", same), weak="bool")


def compare_numbers(
    ctx: Lowering, op: ast.cmpop, x: Num | ComplexPair, y: Num | ComplexPair, node: ast.AST
) -> Num:
    """``x op y`` of two numbers of one type each, as Python or NumPy compares them."""
    if type(op) not in _COMPARE:
        refuse("LOWER_UNSUPPORTED", "`is` and `in` are not compiled", node)
    name, function = _COMPARE[type(op)]
    if isinstance(x, ComplexPair) or isinstance(y, ComplexPair):
        return compare_complex(ctx, name, function, x, y, node)
    if not (x.exact and y.exact) or _is_open(x, y) or _is_open(y, x):
        got = in_both_semantics(ctx.b, (x, y), lambda p, q: compare_numbers(ctx, op, p, q, node))
        if got is not None:
            return got
        x, y = as_numpy_if_loops_ran(ctx, x, node), as_numpy_if_loops_ran(ctx, y, node)
    ty = result_type(ctx, function, (x, y), node)
    dtype = _comparison_dtype(ctx, x, y, node)
    a, c = to_operand_dtype(ctx.b, x, dtype, node), to_operand_dtype(ctx.b, y, dtype, node)
    return with_result_type(Call(name, (a, c), "bool"), ty, x, y)


def _comparison_dtype(ctx: Lowering, x: Num, y: Num, node: ast.AST) -> str:
    """The dtype in which two values are compared as NumPy compares them."""
    for n, m in ((x, y), (y, x)):
        if not n.exact and m.dtype != n.dtype:
            refuse(
                "LOWER_JOIN",
                "the value is a NumPy or a Python number depending on the data",
                node,
            )
        if n.strong and m.weak and not m.strong:
            kind, other = DTYPES[n.strong].kind, m.weak
            if kind == "f":
                return n.strong
            own = n.dtype == n.strong  # an int of Python's is compared as it is
            if kind in "iu" and other != "f64" and own and fits_dtype(m.ir, n.strong):
                return n.strong
    if x.dtype == y.dtype:
        return x.dtype
    kinds = {DTYPES[x.dtype].kind, DTYPES[y.dtype].kind}
    if "f" not in kinds:
        if "u64" in (x.dtype, y.dtype):
            refuse("LOWER_TYPE", "a uint64 is compared with a signed integer", node)
        return "i64" if x.dtype != y.dtype else x.dtype
    if {x.dtype, y.dtype} & {"i64", "u64"} and x.weak and y.weak:
        require_exact_as_float(
            ctx, x if x.weak == "i64" else constant(0), y if y.weak == "i64" else constant(0), node
        )
    if kinds == {"f", "i"} or kinds == {"f", "u"}:
        narrow = x if DTYPES[x.dtype].kind != "f" else y
        if (x.either or y.either) and DTYPES[narrow.dtype].bytes <= 4:
            return "f64"  # whichever type it has, both are compared as they are
    ty = result_type(ctx, operator.add, (x, y), node)
    return ty.dtype


def lower_test(ctx: Lowering, node: ast.expr) -> Expr:
    """``bool(node)``: where only that matters, ``and`` and ``or`` may join any two types.

    Where a name in it may be one of several arrays, the test is a statement of its own, lowered
    once for each of them.
    """
    if first_ambiguous_read(ctx, node) is None:
        return _lower_test_of_one_array(ctx, node)
    twice = ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node))
    bound = ast.Assign([ast.Name(TEST_NAME, ast.Store())], twice)
    copy_location(bound, node)
    lower_block(ctx, [fix_missing_locations(bound)], frozenset({TEST_NAME}))
    name = copy_location(ast.Name(TEST_NAME, ast.Load()), node)
    return _lower_test_of_one_array(ctx, name)


def _lower_test_of_one_array(ctx: Lowering, node: ast.expr) -> Expr:
    """``bool(node)``, where each name in it stands for one array at most."""
    if isinstance(node, ast.Compare):
        return truth_of_scalar(ctx, lower_comparison(ctx, node, only_truth=True), node)
    if not isinstance(node, ast.BoolOp):
        return truth_of_scalar(ctx, lower_scalar(ctx, node), node)
    name = "and" if isinstance(node.op, ast.And) else "or"
    out = lower_test(ctx, node.values[0])
    for value in node.values[1:]:
        if out == (FALSE if name == "and" else TRUE):
            break
        out = ctx.b.bind(out, "left")
        with under(ctx.b, out if name == "and" else bool_op("not", out)):
            right = lower_test(ctx, value)
        out = bool_op(name, out, right)
    return out


def lower_boolean(ctx: Lowering, node: ast.BoolOp) -> Scalar:
    """``and``/``or``: the first operand that decides; later ones only where they are needed."""
    name = "and" if isinstance(node.op, ast.And) else "or"
    out = lower_scalar(ctx, node.values[0])
    for value in node.values[1:]:
        out = bind_scalar(ctx, out, "left")
        holds = truth_of_scalar(ctx, out, node)
        if holds == (FALSE if name == "and" else TRUE):
            break
        with under(ctx.b, holds if name == "and" else bool_op("not", holds)):
            right = lower_scalar(ctx, value)
        out = _select_operand(ctx, name, out, right, node)
    return out


def _select_operand(ctx: Lowering, name: str, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
    first, second = (y, x) if name == "and" else (x, y)
    got = select_scalar(ctx, truth_of_scalar(ctx, x, node), first, second, node)
    if not (isinstance(x, Num) and isinstance(y, Num) and isinstance(got, Num)):
        return got
    return replace(got, ir=bool_op(name, x.ir, y.ir)) if x.dtype == y.dtype == "bool" else got


def lower_conditional(ctx: Lowering, node: ast.IfExp) -> Scalar:
    """``a if test else b``; an operand matters, and may raise, only where it is chosen."""
    cond = lower_test(ctx, node.test)
    if isinstance(cond, Const):
        return lower_scalar(ctx, node.body if cond.value else node.orelse)
    if not _plain(cond):
        cond = ctx.b.bind(cond, "cond")
    with under(ctx.b, cond):
        then = lower_scalar(ctx, node.body)
    with under(ctx.b, bool_op("not", cond)):
        other = lower_scalar(ctx, node.orelse)
    return select_scalar(ctx, cond, then, other, node)


def _is_open(n: Num, m: Num) -> bool:
    """Whether it is not known in which of two float types `n` is compared with `m`, Python's."""
    float_ = n.strong is not None and DTYPES[n.strong].kind == "f"
    return n.either and n.dtype != n.strong and float_ and m.strong is None


def _plain(cond: Expr) -> bool:
    """A comparison of values that cost nothing: to be written twice, and perhaps a maximum."""
    return isinstance(cond, Call) and all(map(_at_hand, cond.args))


def _at_hand(e: Expr) -> bool:
    match e:
        case Call("cast", (inner,)):
            return isinstance(inner, (Var, Load))
        case _:
            return isinstance(e, (Var, Const, Load))


def _lower_comparison_operand(ctx: Lowering, node: ast.expr) -> Scalar:
    match node:
        case ast.Call(func=func, args=[arg], keywords=[]) if (
            resolve_guarded(ctx, func) is builtins.abs
        ):
            x = lower_number(ctx, arg)
            if isinstance(x, ComplexPair) and x.doubtful:
                return complex_magnitude(ctx, x, node, compared=True)
    return lower_scalar(ctx, node)
