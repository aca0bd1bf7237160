"""Lower loads and stores of array elements: `a[i]` and `a[i] = value`.

Each subscript is made safe by `subscript_bounds.py`, which also gives the condition under which it
is in bounds; the subscripts of a view are translated to those of the kernel's parameter
(`base_subscripts`). A complex element is two loads or stores, of its parts. An element of a list of
Python and NumPy numbers comes with a load or store of its type flag::

    z[i]            (z: complex128)      →  load z[i, 0], load z[i, 1]
    a[i] = v        (i may be out)       →  check inside;  if inside: store a[i] = v
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from functools import partial, reduce
from typing import Any, NoReturn

from loopir.algebra.constant_folding import index_const
from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.nodes import Const, Expr, If, Load, Span, Store, Var, Yield

from ...diagnostics import Refused, counted
from ...frontend.ast_walk import subscript_items
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...frontend.source import span_of
from ...types.typed_values import ComplexPair, Num, bool_op, constant
from ...types.value_types import PARTS
from ..lists.item_stores import require_item, require_item_type
from ..lists.item_types import INT_OR_FLOAT, decode_item, decode_packed, encode_item, encode_packed
from ..scalars.scalar_operands import as_array_item
from ..scalars.tagged_unions import bind_scalar, for_each_case, lower_real, require_one_type
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array, lower_scalar, lower_value, refuse_number
from ..state.path_conditions import may_never_run
from ..state.symbol_values import ArrayRef, FinishedList, ListRef, Scalar, UnionValue
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
from .subscript_bounds import in_bounds_subscript

__all__ = [
    "convert_to_item", "element_stores", "lower_store", "lower_subscript", "nested_list_item",
    "require_field_array",
]


def nested_list_item(ctx: Lowering, node: ast.Subscript) -> tuple[ArrayRef, list[ast.expr]] | None:
    """For an element ``m[i][j]`` of a list of lists: the array of `m`, and all subscripts; None for
    other nodes.
    """
    parts, base = [node.slice], node.value
    while isinstance(base, ast.Subscript):
        parts, base = [base.slice, *parts], base.value
    array = lower_array(ctx, base) if isinstance(base, ast.Name) and len(parts) > 1 else None
    if array is None or not array.kinds or len(parts) != array.rank:
        return None
    return None if any(isinstance(p, (ast.Slice, ast.Tuple)) for p in parts) else (array, parts)


def _in_bounds_subscripts(
    ctx: Lowering, array: ArrayRef, indices: Sequence[Num], node: ast.AST
) -> tuple[list[Num], Expr | None]:
    """`indices` of the first axes of `array`, made safe, and the condition under which all of them
    are in bounds (None: always).
    """
    pairs = [in_bounds_subscript(ctx.b, array, k, n, node) for k, n in enumerate(indices)]
    conditions = [cond for _, cond in pairs if cond is not None]
    in_bounds = reduce(partial(bool_op, "and"), conditions) if conditions else None
    return [n for n, _ in pairs], in_bounds


def _refuse_list_item(ctx: Lowering, of: ListRef | FinishedList, node: ast.Subscript) -> NoReturn:
    """Refuses to read an item of a list that the function makes, and whose items have no one type,
    or which is not complete yet.
    """
    name = source_text(node.value)
    if isinstance(of, FinishedList) or ctx.lists.builders[of.name].flags is not None:
        message = f"the items of `{name}` have several types: numbers of Python's and of NumPy's"
        help = "give all items one type, for instance by `float(...)` of each"
        refuse("LOWER_JOIN", message, node, help=help)
    refuse("LOWER_SUBSCRIPT", f"`{name}` is read before it is complete", node)


def lower_subscript(ctx: Lowering, node: ast.Subscript) -> Any:
    """``a[i]`` where it is read. The rule for `ast.Subscript`. The first case that applies:

    - a field of an array of records, or an element of it: ``r["x"]``, ``r[i]["x"]``;
    - an element of a list of lists, ``v[i][j]``, which is one array;
    - an item of a tuple of which all values are known, ``x.shape[0]``: nothing is emitted;
    - a view or row of an array, ``x[1:]``, ``x[i]`` of a matrix (`lower_row`);
    - an element: its subscripts are made safe (`in_bounds_subscript`), translated to those of the
      kernel's parameter (`base_subscripts`), and loaded (`_load_element`).

        x[j]    →    x_at = x[select(inside, at, 0)], after a check of ``inside``

    Raises Refused for other values, and for a slice of a list that must be a copy
    (`refuse_list_slice`).
    """
    field = lower_field(ctx, node)
    if field is not None:
        if not field[0].rank:
            return _load_element(ctx, *field, [], node)
        return require_field_array(*field, node)
    if (item := nested_list_item(ctx, node)) is not None:
        list_array, list_parts = item
        subscripts = lower_subscripts(ctx, list_parts, list_array, node)
        at, in_bounds = _in_bounds_subscripts(ctx, list_array, subscripts, node)
        return _load_element(ctx, list_array, in_bounds, at, node)
    base = lower_array(ctx, node.value) or lower_value(ctx, node.value)
    if isinstance(base, tuple):
        k = lower_real(ctx, node.slice)
        if isinstance(k.ir, Const) and k.python_int:
            if -len(base) <= k.ir.value < len(base):
                return base[int(k.ir.value)]
            count = len(base)
            message = f"`{source_text(node.value)}` has {counted(count, 'item')}"
            help = f"use a subscript from {-count} to {count - 1}: Python raises IndexError here"
            refuse("LOWER_SUBSCRIPT", message, node, help=help if count else None)
    if isinstance(base, (ListRef, FinishedList)):
        _refuse_list_item(ctx, base, node)
    if not isinstance(base, ArrayRef):
        _refuse_other_owner(ctx, node)
    refuse_list_slice(ctx, base, node)
    parts = subscript_items(node)
    if len(parts) < base.rank or any(is_slice_part(ctx, p) for p in parts):
        return lower_row(ctx, base, node)
    subscripts = lower_subscripts(ctx, parts, base, node)
    at, in_bounds = _in_bounds_subscripts(ctx, base, subscripts, node)
    return _load_element(ctx, base, in_bounds, at, node)


def _load_element(
    ctx: Lowering, array: ArrayRef, in_bounds: Expr | None, at: Sequence[Num], node: ast.expr
) -> Scalar:
    """The element of `array` at the safe subscripts `at`, whose value matters where `in_bounds`
    holds (None: everywhere).
    """
    index = base_subscripts(ctx.b, array, at)
    if array.dtype in PARTS:
        re, im = (
            _load_component(ctx, array, (*index, index_const(k)), in_bounds, node)
            for k in range(2)
        )
        return ComplexPair(re, im)
    number = _load_component(ctx, array, index, in_bounds, node)
    return decode_item(number) if array.has_ints_and_floats else number


def _load_component(
    ctx: Lowering, array: ArrayRef, index: tuple[Expr, ...], in_bounds: Expr | None, node: ast.AST
) -> Num:
    """The number that the kernel's parameter of `array` has at `index`: an element, or a part of a
    complex one. It is needed where `in_bounds` holds (None: everywhere). If the array has type
    flags, the number is Python's where its flag is true.
    """
    dtype = PARTS.get(array.dtype, array.dtype)
    load = Load(array.name, index, dtype, span=span_of(node))
    e = load if in_bounds is None else _load_if_in_bounds(ctx, in_bounds, load)
    if array.flags is not None:
        flag = Load(array.flags, index, "bool", span=load.span)
        is_weak = flag if in_bounds is None else _load_if_in_bounds(ctx, in_bounds, flag)
        return Num(e, dtype, array.python_dtype or dtype, ctx.b.bind(is_weak, "py"))
    if array.is_packed:
        return decode_packed(e)
    return Num(e, weak=dtype) if array.weak else Num(e, strong=dtype)


def require_field_array(array: ArrayRef, in_bounds: Expr | None, node: ast.AST) -> ArrayRef:
    """`array`, a field of a record that is an array itself. Raises Refused where the record may be
    out of bounds.
    """
    if in_bounds is not None:
        refuse_out_of_bounds(node)
    return array


def _load_if_in_bounds(ctx: Lowering, in_bounds: Expr, load: Load) -> Expr:
    """`load`, bound to a name; its subscripts are clamped where `in_bounds` does not hold.

        x_at = x[select(inside, at, 0)]                    safe if x is not empty
        if inside: x_at = x[…], else x_at = 0.0            in a branch

    The load is put in a branch

    - if not even the clamped subscripts are safe, since the axis may be empty
      (`BufferState.empty_axis_conditions`);
    - or if a branch costs nothing, since the code is not vectorised (`may_never_run`).

    Else it stands in no branch, so that the loop can be vectorised.
    """
    b, hint = ctx.b, f"{load.array}_at"
    if not may_never_run(b) and b.buffers.empty_axis_conditions.isdisjoint(walk(in_bounds)):
        return b.bind(load, hint)
    zero = Const(DTYPES[load.dtype].numpy.type(0).item(), load.dtype)
    y = Yield(b.name(hint), load, zero)
    b.emit(If(in_bounds, (), (), (y,), span=load.span))
    value = Var(y.name, load.dtype)
    if (above := upper_bound(b, load)) is not None:
        b.numbers.upper_bounds[value] = above
    return value


def lower_store(ctx: Lowering, target: ast.Subscript, value: Scalar, node: ast.AST) -> None:
    """``a[i] = value``. The rule for assignments calls it, with the value lowered.

        h[j] = v    →    check(inside); if inside: h[select(inside, at, 0)] = v

    A store that may be out of bounds is put in a branch: unlike a load, it is not safe at a clamped
    subscript, and the kernel may run on after a check that has failed. If the array holds Python's
    and NumPy's numbers, a flag is stored, too (`_flagged_stores`). Raises Refused for a whole row,
    and where a list would get an item of another type.
    """
    array, in_bounds, at = _store_target(ctx, target)
    require_item(ctx, array, value, node)
    index = base_subscripts(ctx.b, array, at)
    stmts = _flagged_stores(ctx, array, index, value, node, span_of(target))
    if in_bounds is None:
        ctx.b.block.extend(stmts)
    else:
        ctx.b.emit(If(in_bounds, stmts, span=span_of(target)))


def _flagged_stores(
    ctx: Lowering, array: ArrayRef, index: tuple[Expr, ...], value: Scalar, node: ast.AST,
    span: Span | None,
) -> tuple[Store, ...]:
    """The stores of `value` in `array` at `index`, and of its flag if the array has flags."""
    if array.is_packed:
        item = encode_packed(ctx, value, array.dtype, node)
        return (Store(array.name, index, item, span=span),)
    if array.flags is None:
        return element_stores(ctx, array.name, array.dtype, index, value, node, span)
    if array.has_ints_and_floats:
        item, is_int, checks = encode_item(bind_scalar(ctx, value, "item"), INT_OR_FLOAT)
        for check in checks:
            require(ctx.b, check, "GUARD_INT_RANGE", node)
        return Store(array.name, index, item, span=span), Store(array.flags, index, is_int)
    number = require_one_type(ctx, value, node)
    assert isinstance(number, Num)
    stores = element_stores(ctx, array.name, array.dtype, index, number, node, span)
    require_item_type(ctx, number, array.dtype, node, array.python_dtype)
    return *stores, Store(array.flags, index, number.weak_now, span=span)


def _refuse_other_owner(ctx: Lowering, node: ast.Subscript) -> NoReturn:
    """Refuses the subscript `node` of something that is no array."""
    help = "subscript an array or a list, or use the number itself"
    raises = "IndexError" if isinstance(node.ctx, ast.Load) else "TypeError"
    if _is_int(ctx, node.slice):  # NumPy's numbers have `v[()]` and `v[None]`
        at, code = node.value, "LOWER_SUBSCRIPT"
        refuse_number(ctx, at, code, "has no items", help=help, of_numpy=raises)
    help = "subscript an array, or a list or dict that is made in the function"
    message = f"`{source_text(node.value)}` is not an array here"
    refuse("LOWER_SUBSCRIPT", message, node, help=help)


def _is_int(ctx: Lowering, index: ast.expr) -> bool:
    """Whether `index` is an int, Python's or NumPy's."""
    with suppress(Refused):
        value = lower_scalar(ctx, index)
        return isinstance(value, Num) and value.weak != "bool" and DTYPES[value.dtype].kind in "iu"
    return False


def _store_target(ctx: Lowering, target: ast.Subscript) -> tuple[ArrayRef, Expr | None, list[Num]]:
    """The array that a store goes to, the condition under which it is in bounds (None: always), and
    the subscripts.
    """
    if (item := nested_list_item(ctx, target)) is not None:
        return item[0], *_target_subscripts(ctx, item[0], item[1], target)
    field = lower_field(ctx, target)
    array = lower_array(ctx, target.value) if field is None else field[0]
    if array is None:
        _refuse_other_owner(ctx, target)
    parts = subscript_items(target) if field is None else []
    if len(parts) < array.rank or any(is_slice_part(ctx, p) for p in parts):
        refuse("LOWER_UNSUPPORTED", f"`{source_text(target)}` is a whole row", target)
    if field is not None:
        return *field, []
    refuse_list_slice(ctx, array, target)
    return array, *_target_subscripts(ctx, array, parts, target)


def _target_subscripts(
    ctx: Lowering, array: ArrayRef, parts: list[ast.expr], target: ast.Subscript
) -> tuple[Expr | None, list[Num]]:
    """The condition under which the subscripts `parts` are in bounds (None: always), and these,
    lowered and made safe.
    """
    subscripts = lower_subscripts(ctx, parts, array, target)
    at, in_bounds = _in_bounds_subscripts(ctx, array, subscripts, target)
    return in_bounds, at


def element_stores(
    ctx: Lowering, array: str, dtype: str, index: tuple[Expr, ...], value: Scalar, node: ast.AST,
    span: Span | None,
) -> tuple[Store, ...]:
    """The stores of `value`, converted to `dtype`, in the array parameter `array` at `index`: two
    of them for a complex dtype. Raises Refused for a complex value and a real dtype.
    """
    if dtype not in PARTS:
        if isinstance(value, ComplexPair):
            refuse("LOWER_COMPLEX", "a complex number is put into an array of real ones", node)
        return (Store(array, index, convert_to_item(ctx, value, dtype, node), span=span),)
    parts: tuple[Num | UnionValue, Num]
    parts = (value.re, value.im) if isinstance(value, ComplexPair) else (value, constant(0.0))
    exprs = [ctx.b.bind(convert_to_item(ctx, p, PARTS[dtype], node)) for p in parts]
    return tuple(
        Store(array, (*index, index_const(k)), e, span=span) for k, e in enumerate(exprs)
    )


def convert_to_item(ctx: Lowering, value: Num | UnionValue, dtype: str, node: ast.AST) -> Expr:
    """`value` converted to `dtype` as NumPy's item assignment does. A union is converted case by
    case.
    """
    if isinstance(value, Num):
        return as_array_item(ctx.b, value, dtype, node)
    items = for_each_case(
        ctx, lambda n: Num(as_array_item(ctx.b, n, dtype, node), dtype), node, value,
        takes_words=True,
    )
    assert isinstance(items, Num)
    return items.ir
