"""Lower expressions that stand for whole arrays: names, rows, transposes, parts and reshapes."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ...frontend.int_exprs import integer_constant
from ...types.typed_values import Num, bool_op
from ...types.typeof import global_type
from ...types.value_types import ListType
from ..lists.dynamic_lists import buffer_array
from ..lists.list_builders import finished_list
from ..lower_names import lower_name
from ..scalars.tagged_unions import feasible_cases
from ..state.dispatch import lower_array
from ..state.generated_names import buffer_names, counter_name
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_guarded, resolve_object
from ..state.symbol_values import Absent, ArrayRef, FinishedList, ListRef, UnionValue
from .array_allocation import lower_reshape
from .element_access import lower_subscript, nested_list_item, require_field_array
from .record_arrays import lower_field
from .strided_views import complex_part_view, is_slice_part, transposed_view
from .subscript_bounds import axis_subscripts

__all__ = ["ARRAYS"]


def _array_of_name(ctx: Lowering, node: ast.Name) -> ArrayRef | None:
    """The array that a name stands for: an argument or a global read for the first time, the buffer
    of a dynamic list, a finished list, or a local array.
    """
    name, b = node.id, ctx.b
    if name in ctx.types and name not in b.env:
        lower_name(ctx, name, node)
    if of := _list_of_buffer(ctx, name):
        count = b.env[counter_name(of)]
        assert isinstance(count, Num)
        return buffer_array(ctx, name, count)
    got = b.env.get(name)
    known = ctx.scope.resolve(node) if got is None else None
    if isinstance(known, (np.ndarray, list, tuple)) and _is_array_like(known):
        got = lower_name(ctx, name, node)
    if isinstance(got, FinishedList):
        return got.array
    if isinstance(got, ListRef):
        return finished_list(ctx, got.name)
    if isinstance(got, UnionValue):
        return _only_array(ctx, got, node)
    return got if isinstance(got, ArrayRef) else None


def _array_of_subscript(ctx: Lowering, node: ast.Subscript) -> ArrayRef | None:
    """A field of records, or a view ``x[i]``, ``x[1:]``; None where it is one element."""
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        field = lower_field(ctx, node)
        return require_field_array(ctx, *field, node) if field and field[0].rank else None
    if nested_list_item(ctx, node) is not None:
        return None
    base = lower_array(ctx, node.value)
    plain = not any(is_slice_part(ctx, p) for p in axis_subscripts(node))
    if base is None or (plain and len(axis_subscripts(node)) >= base.rank):
        return None
    got = lower_subscript(ctx, node)
    return got if isinstance(got, ArrayRef) else None


def _array_of_attribute(ctx: Lowering, node: ast.Attribute) -> ArrayRef | None:
    """``x.T``, ``x.real`` or ``x.imag`` of an array of NumPy's."""
    if node.attr not in ("T", "real", "imag"):
        return None
    of = _as_numpy_array(ctx, node.value)
    if of is None:
        return None
    if node.attr == "T":
        return transposed_view(ctx.b, of)
    return complex_part_view(ctx.b, of, node.attr)


def _array_of_call(ctx: Lowering, node: ast.Call) -> ArrayRef | None:
    """``x.transpose(…)``, ``np.real(x)``, ``np.imag(x)``, or an argument in another shape."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="transpose"), args=args,
                      keywords=[]) if (of := _as_numpy_array(ctx, inner)) is not None:
            order = [k for a in args if (k := integer_constant(a, None)) is not None]
            known = sorted(order) == list(range(of.rank)) and len(order) == len(args)
            return transposed_view(ctx.b, of, order) if known else None
        case ast.Call(func=func, args=[inner], keywords=[]) if (
            (function := resolve_object(ctx, func)) is np.real or function is np.imag
        ):
            resolve_guarded(ctx, func)
            of = _as_numpy_array(ctx, inner)
            name = "real" if function is np.real else "imag"
            return complex_part_view(ctx.b, of, name) if of else None
    return lower_reshape(ctx, node)


def _only_array(ctx: Lowering, of: UnionValue, node: ast.Name) -> ArrayRef | None:
    """The only array that a name may be here; where it is none, Python must answer."""
    cases = feasible_cases(of.cases, ctx.b.path.condition)
    arrays = [c.value for c in cases if isinstance(c.value, ArrayRef)]
    if len(arrays) != 1:
        return None
    for c in cases:
        if isinstance(c.value, Absent):
            require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    return arrays[0]


def _as_numpy_array(ctx: Lowering, node: ast.expr) -> ArrayRef | None:
    """`node` as an array, if it is NumPy's and no list."""
    of = lower_array(ctx, node)
    return None if of is None or of.kinds else of


def _is_array_like(value: object) -> bool:
    """Whether a global is an array, or a list that can be taken for one."""
    return isinstance(value, np.ndarray) or isinstance(global_type(value), ListType)


def _list_of_buffer(ctx: Lowering, name: str) -> str:
    """The list whose buffer this is; "" for other names."""
    lists = (n for n, width in ctx.dynamic.widths.items() if name in buffer_names(n, width))
    return next(lists, "")


ARRAYS: dict[type[ast.expr], Callable[[Lowering, Any], ArrayRef | None]] = {
    ast.Name: _array_of_name,
    ast.Subscript: _array_of_subscript,
    ast.Attribute: _array_of_attribute,
    ast.Call: _array_of_call,
}
"""By the type of an expression, what finds the array that it stands for."""
