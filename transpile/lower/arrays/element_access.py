"""Lower loads and stores of array elements: `a[i]` and `a[i] = value`."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

from loopir.algebra.constant_folding import index_const
from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.nodes import Const, Expr, If, Load, Span, Store, Var, Yield

from ...frontend.refusal import refuse
from ...frontend.source import span_of
from ...types.typed_values import ComplexPair, Num, bool_op, constant
from ...types.value_types import PARTS
from ..lists.dynamic_lists import decode_item
from ..lists.item_stores import require_item, require_item_type
from ..scalars.scalar_operands import as_array_item
from ..scalars.tagged_unions import for_each_case, lower_real, require_one_type
from ..state.dispatch import lower_array, lower_value
from ..state.lowering_state import Lowering
from ..state.path_conditions import may_never_run
from ..state.symbol_values import ArrayRef, Scalar, UnionValue
from .capacity_bounds import upper_bound
from .record_arrays import lower_field
from .strided_views import (
    base_subscripts,
    is_slice_part,
    lower_row,
    lower_subscripts,
    refuse_list_slice,
    refuse_out_of_bounds,
)
from .subscript_bounds import axis_subscripts, in_bounds_subscript

__all__ = [
    "convert_to_item", "element_stores", "lower_store", "lower_subscript", "nested_list_item",
    "require_field_array",
]


def nested_list_item(ctx: Lowering, node: ast.Subscript) -> tuple[ArrayRef, list[ast.expr]] | None:
    """Of ``m[i][j]``, where `m` is a list of lists: `m`, and the subscripts."""
    at, e = [node.slice], node.value
    while isinstance(e, ast.Subscript):
        at, e = [e.slice, *at], e.value
    of = lower_array(ctx, e) if isinstance(e, ast.Name) and len(at) > 1 else None
    plain = not any(isinstance(part, (ast.Slice, ast.Tuple)) for part in at)
    return (of, at) if of is not None and of.kinds and plain and len(at) == of.rank else None


def _in_bounds_subscripts(
    ctx: Lowering, array: ArrayRef, indices: Sequence[Num], node: ast.AST
) -> tuple[list[Num], Expr | None]:
    """Subscripts that are within the first axes, and what must hold for that."""
    found = [in_bounds_subscript(ctx.b, array, k, n, node) for k, n in enumerate(indices)]
    needed = [ok for _, ok in found if ok is not None]
    return [n for n, _ in found], reduce(partial(bool_op, "and"), needed) if needed else None


def lower_subscript(ctx: Lowering, node: ast.Subscript) -> Any:
    """``a[i]``: an element, a view, or a member of a tuple. Raises Refused for other values."""
    field = lower_field(ctx, node)
    if field is not None:
        if not field[0].rank:
            return _load_element(ctx, *field, [], node)
        return require_field_array(ctx, *field, node)
    if (item := nested_list_item(ctx, node)) is not None:
        at, needed = _in_bounds_subscripts(
            ctx, item[0], lower_subscripts(ctx, item[1], item[0], node), node
        )
        return _load_element(ctx, item[0], needed, at, node)
    got = lower_array(ctx, node.value) or lower_value(ctx, node.value)
    if isinstance(got, tuple):
        k = lower_real(ctx, node.slice)
        if isinstance(k.ir, Const) and k.python_int and -len(got) <= k.ir.value < len(got):
            return got[int(k.ir.value)]
    if not isinstance(got, ArrayRef):
        return refuse(
            "LOWER_SUBSCRIPT", f"`{ast.unparse(node.value)}` is not an array here", node
        )
    refuse_list_slice(ctx, got, node)
    parts = axis_subscripts(node)
    if len(parts) < got.rank or any(is_slice_part(ctx, p) for p in parts):
        return lower_row(ctx, got, node)
    at, needed = _in_bounds_subscripts(ctx, got, lower_subscripts(ctx, parts, got, node), node)
    return _load_element(ctx, got, needed, at, node)


def _load_element(
    ctx: Lowering, array: ArrayRef, needed: Expr | None, at: Sequence[Num], node: ast.expr
) -> Scalar:
    index = base_subscripts(ctx.b, array, at)
    if array.dtype in PARTS:
        re, im = (
            _load_component(ctx, array, (*index, index_const(k)), needed, node) for k in range(2)
        )
        return ComplexPair(re, im)
    number = _load_component(ctx, array, index, needed, node)
    return decode_item(number) if array.weak and array.flags else number


def _load_component(
    ctx: Lowering, array: ArrayRef, index: tuple[Expr, ...], needed: Expr | None, node: ast.AST
) -> Num:
    """What the kernel has at `index`: an element, or a part of a complex one."""
    dtype = PARTS.get(array.dtype, array.dtype)
    load = Load(array.name, index, dtype, span=span_of(node))
    e = load if needed is None else _load_if_in_bounds(ctx, needed, load)
    if array.flags is not None:
        flag = Load(array.flags, index, "bool", span=load.span)
        is_weak = flag if needed is None else _load_if_in_bounds(ctx, needed, flag)
        return Num(e, dtype, array.python or dtype, ctx.b.bind(is_weak, "py"))
    return Num(e, weak=dtype) if array.weak else Num(e, strong=dtype)


def require_field_array(
    ctx: Lowering, array: ArrayRef, needed: Expr | None, node: ast.AST
) -> ArrayRef:
    """A field that is an array and there whatever the data."""
    if needed is not None:
        refuse_out_of_bounds(node)
    return array


def _load_if_in_bounds(ctx: Lowering, needed: Expr, load: Load) -> Expr:
    """An element under a name, read where `needed` holds."""
    b, hint = ctx.b, f"{load.array}_at"
    if not may_never_run(b) and b.buffers.empty_axis_conditions.isdisjoint(walk(needed)):
        return b.bind(load, hint)
    zero = Const(DTYPES[load.dtype].numpy.type(0).item(), load.dtype)
    y = Yield(b.name(hint), load, zero)
    b.emit(If(needed, (), (), (y,), span=load.span))
    value = Var(y.name, load.dtype)
    if (above := upper_bound(b, load)) is not None:
        b.numbers.upper_bounds[value] = above
    return value


def lower_store(ctx: Lowering, target: ast.Subscript, value: Scalar, node: ast.AST) -> None:
    """``a[i] = value``."""
    array, needed, at = _store_target(ctx, target)
    require_item(ctx, array, value, node)
    if array.flags is not None:
        value = require_one_type(ctx, value, node)
    index = base_subscripts(ctx.b, array, at)
    place = span_of(target)
    stmts = element_stores(ctx, array.name, array.dtype, index, value, node, place)
    if array.flags is not None:
        assert isinstance(value, Num)
        require_item_type(ctx, value, array.dtype, node, array.python)
        stmts = (*stmts, Store(array.flags, index, value.weak_now, span=place))
    if needed is None:
        ctx.b.block.extend(stmts)
    else:
        ctx.b.emit(If(needed, stmts, span=place))


def _store_target(ctx: Lowering, target: ast.Subscript) -> tuple[ArrayRef, Expr | None, list[Num]]:
    """The array, what must hold for an element of it to be written, and which one."""
    if (item := nested_list_item(ctx, target)) is not None:
        return item[0], *_target_subscripts(ctx, item[0], item[1], target)
    field = lower_field(ctx, target)
    array = lower_array(ctx, target.value) if field is None else field[0]
    if array is None:
        refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(target.value)}` is not an array here", target)
    parts = axis_subscripts(target) if field is None else []
    if len(parts) < array.rank or any(is_slice_part(ctx, p) for p in parts):
        refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(target)}` is a whole row", target)
    if field is not None:
        return *field, []
    refuse_list_slice(ctx, array, target)
    return array, *_target_subscripts(ctx, array, parts, target)


def _target_subscripts(
    ctx: Lowering, array: ArrayRef, parts: list[ast.expr], target: ast.Subscript
) -> tuple[Expr | None, list[Num]]:
    at, needed = _in_bounds_subscripts(
        ctx, array, lower_subscripts(ctx, parts, array, target), target
    )
    return needed, at


def element_stores(
    ctx: Lowering, array: str, dtype: str, index: tuple[Expr, ...], value: Scalar, node: ast.AST,
    place: Span | None,
) -> tuple[Store, ...]:
    """What puts `value` into an array of `dtype`."""
    if dtype not in PARTS:
        if isinstance(value, ComplexPair):
            refuse("LOWER_COMPLEX", "a complex number is put into an array of real ones", node)
        return (Store(array, index, convert_to_item(ctx, value, dtype, node), span=place),)
    parts: tuple[Num | UnionValue, Num]
    parts = (value.re, value.im) if isinstance(value, ComplexPair) else (value, constant(0.0))
    exprs = [ctx.b.bind(convert_to_item(ctx, p, PARTS[dtype], node)) for p in parts]
    return tuple(
        Store(array, (*index, index_const(k)), e, span=place) for k, e in enumerate(exprs)
    )


def convert_to_item(ctx: Lowering, value: Num | UnionValue, dtype: str, node: ast.AST) -> Expr:
    """`value` as an element of an array of `dtype`, for each type that it may have."""
    if isinstance(value, Num):
        return as_array_item(ctx.b, value, dtype, node)
    items = for_each_case(
        ctx, lambda n: Num(as_array_item(ctx.b, n, dtype, node), dtype), node, value
    )
    assert isinstance(items, Num)
    return items.ir
