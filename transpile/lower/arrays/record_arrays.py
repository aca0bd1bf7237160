"""Arrays of records (structured dtypes): each field that is read is a parameter of the kernel.

The kernel has no records. A macro has bound each field that the function reads to a local name,
``r_x = r["x"]``; that name becomes a parameter, the array of the field (`bind_record_field`). A
reference to records is a view without elements (`RecordArrayRef`); reading a field of it gives the
same view of the field's array (`lower_field`)::

    r[1:][i]["x"]      →   load r_x[1 + i]

Members of objects and tuples that are arguments, ``self.a``, become parameters in the same way
(`bind_object_member`).
"""
from __future__ import annotations

import ast

import numpy as np

from loopir.analysis.integers.affine import LinearForm
from loopir.lazy_dataclass import replace
from loopir.nodes import Expr

from ...analysis.access_paths import access_path_type
from ...call_plan import Field, ObjectMember
from ...frontend.core_nodes import copy_location, source_text
from ...frontend.refusal import refuse
from ...host_nodes import from_ast
from ...numpy.indexing.structured_arrays import field_path
from ...types.typed_values import bool_op
from ...types.typeof import type_of
from ...types.value_types import (
    PARTS,
    ArgType,
    ArrayType,
    Constant,
    ListType,
    Opaque,
    RecordType,
    ScalarType,
)
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array, lower_value
from ..state.symbol_values import ArrayRef, AxisStride, RecordArrayRef
from ..state.value_ranges import linear_num
from .alias_states import array_of_common_shape
from .strided_views import lower_view

__all__ = [
    "array_with_shape_of", "as_record_array", "bind_object_member", "bind_record_field",
    "lower_field",
]


def bind_record_field(ctx: Lowering, name: str, value: ast.expr) -> bool:
    """If ``name = value`` is ``name = r["field"]`` for a record array `r`, makes `name` the
    parameter of the kernel for that field (a `Field` of the call plan, an array with the strides of
    the records), and returns True. False for other values, for a field that is a record itself, and
    for a field that is bound to another name already.
    """
    array, path = field_path(value) or ("", ())
    ref = as_record_array(ctx, copy_location(ast.Name(array, ast.Load()), value)) if path else None
    if ref is None or not ref.is_whole or (array, path) in ctx.members.fields:
        return False
    ty: ArgType | None = ref.type
    for field in path:
        ty = ty.field(field) if isinstance(ty, RecordType) else None
    if ty is None or isinstance(ty, RecordType):
        return False
    ctx.types[name], ctx.members.reads[name] = ty, from_ast(value)
    if isinstance(ty, ArrayType):
        captured = array not in ctx.arguments
        ctx.members.fields[array, path] = Field(name, array, path, ty, ref.type, captured)
    return True


def bind_object_member(ctx: Lowering, name: str, value: ast.expr) -> bool:
    """If ``name = value`` is ``name = p.part`` for an object `p` that is an argument, makes `name`
    the kernel's parameter for that member, and returns True. False for other values, for a member
    that is no real number, array, list of numbers or constant, for a name that is bound already,
    and inside of loops and branches.
    """
    ty = access_path_type(value, ctx.types)
    if name in ctx.b.env or ctx.b.path.frames or ctx.b.path.branches:
        return False
    is_complex = isinstance(ty, ScalarType) and ty.dtype in PARTS
    if not isinstance(ty, (ArrayType, ScalarType, ListType, Constant)) or is_complex:
        return False
    ctx.types[name] = ctx.arguments[name] = ty
    ctx.members.reads[name] = read = from_ast(value)
    if isinstance(ty, (ArrayType, ScalarType)):
        ctx.members.objects[name] = ObjectMember(name, read, ty)
    return True


def as_record_array(ctx: Lowering, node: ast.expr) -> RecordArrayRef | None:
    """`node` as a record array, a view of one, a record, or a field that is a record itself; None
    for anything else.
    """
    match node:
        case ast.Name(id=name):
            value = ctx.b.env.get(name)
            if not value and _is_record_array_name(ctx, node):
                value = lower_value(ctx, node)
            return value if isinstance(value, RecordArrayRef) else None
        case ast.Subscript(value=inner, slice=index) if not _is_text(index):
            ref = as_record_array(ctx, inner)
            return None if ref is None else _record_subscript(ctx, ref, node)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
            ref = as_record_array(ctx, inner)
            ty = ref.type.field(name) if ref else None
            if ref and isinstance(ty, RecordType) and ty.rank == ref.type.rank:
                return replace(ref, type=ty, path=(*ref.path, name))
    return None


def _is_record_array_name(ctx: Lowering, node: ast.Name) -> bool:
    """Whether a name that is not bound in the kernel is an argument or global of records."""
    if node.id in ctx.types:
        return isinstance(ctx.types[node.id], RecordType)
    value = ctx.scope.resolve(node)
    return isinstance(value, np.ndarray) and isinstance(type_of(value), RecordType)


def _record_subscript(ctx: Lowering, ref: RecordArrayRef, node: ast.Subscript) -> RecordArrayRef:
    """``ref[…]``: a view of the records, or one record, valid where both its own subscripts and
    those of `ref` are in bounds.
    """
    view, in_bounds = lower_view(ctx, _record_array_shape(ctx, ref, node), node)
    if in_bounds is not None and ref.in_bounds is not None:
        in_bounds = bool_op("and", ref.in_bounds, in_bounds)
    return replace(ref, view=view, in_bounds=in_bounds or ref.in_bounds)


def array_with_shape_of(ctx: Lowering, node: ast.expr) -> ArrayRef | None:
    """An array with the shape of the array `node`, for ``len(node)`` and attributes, not for its
    elements; None if `node` is no array. It is the array itself; for a name that may be one of
    several arrays of the same shape, one of these; for an array of records, a field of it.
    """
    if isinstance(node, ast.Name):
        common = array_of_common_shape(ctx.b.env.get(node.id))
        if common is not None:
            return common
    ref = as_record_array(ctx, node)
    return lower_array(ctx, node) if ref is None else _record_array_shape(ctx, ref, node)


def _record_array_shape(ctx: Lowering, ref: RecordArrayRef, node: ast.AST) -> ArrayRef:
    """An array with the shape of the records `ref`: the view, or some field's array without the
    axes of the field. Raises Refused where no field can be compiled.
    """
    if ref.view is not None:
        return ref.view
    field = next((f for f in ctx.members.fields.values() if f.array == ref.name), None)
    if field is None:
        return refuse("LOWER_TYPE", f"no field of `{ref.name}` can be compiled", node)
    array = _field_array(ctx, field, node)
    return replace(array, shape=array.shape[: ref.type.rank])


def _field_array(ctx: Lowering, field: Field, node: ast.AST) -> ArrayRef:
    """The parameter for `field`, as an array."""
    array = lower_array(ctx, copy_location(ast.Name(field.name, ast.Load()), node))
    assert array is not None
    return array


def lower_field(ctx: Lowering, node: ast.expr) -> tuple[ArrayRef, Expr | None] | None:
    """``rec["x"]`` as a view of the field's array, and the condition under which the record is in
    bounds (None: always); None for any other node. Called for loads, stores and arrays.

        r["x"]         →    the parameter r_x itself, an array with the strides of the records
        r[1:]["x"]     →    the view r_x[1:]
        r[i]["x"]      →    the view r_x[i], without axes; the condition is i < len(r)

    The view of the records (`RecordArrayRef.view`) is applied to the field's array; a field that
    is an array itself, as of dtype ``("x", float, 3)``, adds its own axes after those. The
    parameter is known already: `bind_record_field` has recorded each field that is read.

    Raises Refused for a field that does not exist or cannot be compiled.
    """
    match node:
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
            ref = as_record_array(ctx, inner)
        case _:
            return None
    if ref is None:
        return None
    field = ctx.members.fields.get((ref.name, (*ref.path, name)))
    if field is None:
        ty = ref.type.field(name)
        code = ty.code if isinstance(ty, Opaque) else "LOWER_TYPE"
        reason = f"is of type {ty}" if ty else "is no field"
        return refuse(code, f"`{source_text(node)}` {reason}", node)
    array = _field_array(ctx, field, node)
    if ref.view is None:
        return array, None
    zero, field_shape = linear_num(ctx.b, LinearForm()), array.shape[ref.type.rank :]
    field_axes = (AxisStride(ref.view.rank + k, zero) for k in range(len(field_shape)))
    base_index, shape = (*ref.view.base_index, *field_axes), (*ref.view.shape, *field_shape)
    return replace(array, unit=None, shape=shape, base_index=base_index), ref.in_bounds


def _is_text(index: ast.expr) -> bool:
    """Whether a subscript is a constant string, the name of a field."""
    return isinstance(index, ast.Constant) and isinstance(index.value, str)
