"""Lower expressions that are whole arrays: names, views, transposes, complex parts, reshapes.

`ARRAYS` has a function for each type of expression, called by `lower_array`. It returns a reference
to an array parameter or a view, without computing anything (a reshape is computed before the
kernel); or None where the expression is no array, for example an element. Whole-array arithmetic
does not occur here: macros have made loops of it.
"""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ...frontend.ast_walk import integer_constant, subscript_items
from ...types.typed_values import Num, bool_op
from ...types.typeof import global_type
from ...types.value_types import ListType
from ..lists.dynamic_lists import buffer_array
from ..lists.list_builders import finished_list
from ..lower_names import lower_name
from ..scalars.tagged_unions import feasible_cases
from ..state.generated_names import buffer_names, counter_name
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array
from ..state.outer_names import resolve_guarded, resolve_object
from ..state.symbol_values import Absent, ArrayRef, FinishedList, ListRef, UnionValue
from .array_allocation import lower_reshape
from .element_access import lower_subscript, nested_list_item, require_field_array
from .record_arrays import lower_field
from .strided_views import complex_part_view, is_slice_part, transposed_view

__all__ = ["ARRAYS"]


def _array_of_name(ctx: Lowering, node: ast.Name) -> ArrayRef | None:
    """The array to which a name is bound; None for other names. An argument that is read for the
    first time becomes a parameter before. The first case that applies decides: the buffer of a
    dynamic list; a global array or list, which becomes a parameter, too; the array of a list that
    loops have filled; a union with only one array in it; an argument or local array.
    """
    name, b = node.id, ctx.b
    if name in ctx.types and name not in b.env:
        lower_name(ctx, name, node)
    if list_name := _list_of_buffer(ctx, name):
        count = b.env[counter_name(list_name)]
        assert isinstance(count, Num)
        return buffer_array(ctx, name, count)
    value = b.env.get(name)
    outer = ctx.scope.resolve(node) if value is None else None
    if isinstance(outer, (np.ndarray, list, tuple)) and _is_array_like(outer):
        value = lower_name(ctx, name, node)
    if isinstance(value, FinishedList):
        return value.array
    if isinstance(value, ListRef):
        return finished_list(ctx, value.name)
    if isinstance(value, UnionValue):
        return _only_array(ctx, value, node)
    return value if isinstance(value, ArrayRef) else None


def _array_of_subscript(ctx: Lowering, node: ast.Subscript) -> ArrayRef | None:
    """A field of a record array, or a view such as ``x[i]`` or ``x[1:]``; None for an element."""
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        field = lower_field(ctx, node)
        return require_field_array(*field, node) if field and field[0].rank else None
    if nested_list_item(ctx, node) is not None:
        return None
    base = lower_array(ctx, node.value)
    has_slices = any(is_slice_part(ctx, p) for p in subscript_items(node))
    if base is None or (not has_slices and len(subscript_items(node)) >= base.rank):
        return None
    value = lower_subscript(ctx, node)
    return value if isinstance(value, ArrayRef) else None


def _array_of_attribute(ctx: Lowering, node: ast.Attribute) -> ArrayRef | None:
    """``x.T``, ``x.real`` or ``x.imag`` of a NumPy array; None for other attributes."""
    if node.attr not in ("T", "real", "imag"):
        return None
    array = _as_numpy_array(ctx, node.value)
    if array is None:
        return None
    if node.attr == "T":
        return transposed_view(ctx.b, array)
    return complex_part_view(ctx.b, array, node.attr)


def _array_of_call(ctx: Lowering, node: ast.Call) -> ArrayRef | None:
    """``x.transpose(…)`` with constant axes, ``np.real(x)``, ``np.imag(x)``, or a reshape of an
    argument; None for other calls.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="transpose"), args=args,
                      keywords=[]) if (array := _as_numpy_array(ctx, inner)) is not None:
            order = [k for a in args if (k := integer_constant(a, None)) is not None]
            is_order = sorted(order) == list(range(array.rank)) and len(order) == len(args)
            return transposed_view(ctx.b, array, order) if is_order else None
        case ast.Call(func=func, args=[inner], keywords=[]) if (
            (function := resolve_object(ctx, func)) is np.real or function is np.imag
        ):
            resolve_guarded(ctx, func)
            array = _as_numpy_array(ctx, inner)
            part = "real" if function is np.real else "imag"
            return complex_part_view(ctx.b, array, part) if array else None
    return lower_reshape(ctx, node)


def _only_array(ctx: Lowering, union: UnionValue, node: ast.Name) -> ArrayRef | None:
    """The array in `union`, the value of a name, if there is only one under the conditions of the
    path; that the name is bound to it is then required. Else None.
    """
    cases = feasible_cases(union.cases, ctx.b.path.used_where)
    arrays = [c.value for c in cases if isinstance(c.value, ArrayRef)]
    if len(arrays) != 1:
        return None
    for c in cases:
        if isinstance(c.value, Absent):
            require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    return arrays[0]


def _as_numpy_array(ctx: Lowering, node: ast.expr) -> ArrayRef | None:
    """`node` as an array; None also for an array that holds the items of a list."""
    if isinstance(node, ast.Name) and isinstance(ctx.b.env.get(node.id), ListRef):
        return None
    array = lower_array(ctx, node)
    return None if array is None or array.kinds else array


def _is_array_like(value: object) -> bool:
    """Whether a global is an array, or a list or tuple whose items can be copied to one."""
    return isinstance(value, np.ndarray) or isinstance(global_type(value), ListType)


def _list_of_buffer(ctx: Lowering, name: str) -> str:
    """The dynamic list that has a buffer of this name; "" where there is none."""
    lists = (n for n, width in ctx.dynamic.widths.items() if name in buffer_names(n, width))
    return next(lists, "")


ARRAYS: dict[type[ast.expr], Callable[[Lowering, Any], ArrayRef | None]] = {
    ast.Name: _array_of_name,
    ast.Subscript: _array_of_subscript,
    ast.Attribute: _array_of_attribute,
    ast.Call: _array_of_call,
}
"""The function that lowers each type of expression to an array, or None."""
