"""Lower a node of the syntax tree by the rule for its type, found in the tables of the state."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NoReturn

from ...frontend.refusal import refuse
from ...types.typed_values import ComplexPair, Num
from .lowering_state import Lowering
from .symbol_values import ArrayRef, RecordArrayRef, Scalar, UnionValue

__all__ = ["lower_array", "lower_block", "lower_scalar", "lower_value"]

def lower_scalar(ctx: Lowering, node: ast.expr) -> Scalar:
    """`node` as a scalar, maybe of several types, or None. Raises Refused for anything else."""
    rule = ctx.rules.expressions.get(type(node))
    value = _refuse_expression(node) if rule is None else rule(ctx, node)
    if isinstance(value, (Num, ComplexPair, UnionValue)):
        return value
    if isinstance(value, RecordArrayRef):
        refuse("LOWER_TYPE", f"`{ast.unparse(node)}` is a whole record", node)
    rank = value.rank if isinstance(value, ArrayRef) else None
    of = " here" if rank is None else f" but an array with {rank} axes"
    return refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is not a number{of}", node)


def lower_value(ctx: Lowering, node: ast.expr) -> Any:
    """What a name, a subscript, an attribute or a call stands for: any `Value`.

    Raises Refused for other expressions.
    """
    if not isinstance(node, (ast.Name, ast.Subscript, ast.Attribute, ast.Call)):
        return _refuse_expression(node)
    return ctx.rules.expressions[type(node)](ctx, node)


def lower_array(ctx: Lowering, node: ast.expr) -> ArrayRef | None:
    """`node` as a whole array, or a row ``x[i]`` of one; None for anything else."""
    rule = ctx.rules.arrays.get(type(node))
    return None if rule is None else rule(ctx, node)


def lower_block(ctx: Lowering, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
    """Lowers the statements of `block`, given the names that are ``live`` after it."""
    ctx.rules.block(ctx, block, live)


def _refuse_expression(node: ast.expr) -> NoReturn:
    refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be compiled", node)
