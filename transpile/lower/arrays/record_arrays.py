"""Arrays of records (structured dtypes): each field that is read is a parameter of the kernel."""
from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from loopir.analysis.affine import LinearForm
from loopir.nodes import Expr

from ...analysis.object_arguments import access_path_type
from ...call_plan import Field, ObjectMember
from ...frontend.core_nodes import copy_location
from ...frontend.refusal import refuse
from ...host_nodes import from_ast
from ...numpy.indexing.structured_arrays import field_path
from ...types.typed_values import bool_op
from ...types.typeof import type_of
from ...types.value_types import PARTS, ArgType, ArrayType, Constant, Opaque, RecordType, ScalarType
from ..state.dispatch import lower_array, lower_value
from ..state.lowering_state import Lowering
from ..state.symbol_values import ArrayRef, AxisStride, RecordArrayRef
from ..state.value_ranges import linear_num
from .alias_states import array_of_common_shape
from .strided_views import lower_view

__all__ = [
    "as_array_or_field", "as_record_array", "bind_object_member", "bind_record_field",
    "lower_field",
]


def bind_record_field(ctx: Lowering, name: str, value: ast.expr) -> bool:
    """Takes note of ``name = r["field"]``; whether it is that."""
    r, path = field_path(value) or ("", ())
    ref = as_record_array(ctx, copy_location(ast.Name(r, ast.Load()), value)) if path else None
    if ref is None or not ref.is_whole or (r, path) in ctx.members.fields:
        return False
    ty: ArgType | None = ref.type
    for field in path:
        ty = ty.field(field) if isinstance(ty, RecordType) else None
    if ty is None or isinstance(ty, RecordType):
        return False
    ctx.types[name], ctx.members.reads[name] = ty, from_ast(value)
    if isinstance(ty, ArrayType):
        captured = r not in ctx.arguments
        ctx.members.fields[r, path] = Field(name, r, path, ty, ref.type, captured)
    return True


def bind_object_member(ctx: Lowering, name: str, value: ast.expr) -> bool:
    """Takes note of ``name = p.part``, of an object that is an argument; whether it is that."""
    ty = access_path_type(value, ctx.types)
    if name in ctx.b.env or ctx.b.path.frames or ctx.b.path.branches or not isinstance(
        ty, (ArrayType, ScalarType, Constant)
    ) or (isinstance(ty, ScalarType) and ty.dtype in PARTS):
        return False
    ctx.types[name] = ctx.arguments[name] = ty
    ctx.members.reads[name] = read = from_ast(value)
    if not isinstance(ty, Constant):
        ctx.members.objects[name] = ObjectMember(name, read, ty)
    return True


def as_record_array(ctx: Lowering, node: ast.expr) -> RecordArrayRef | None:
    """`node` as an array of records, a part of one, or a record; None for anything else."""
    match node:
        case ast.Name(id=name):
            got = ctx.b.env.get(name) or (
                lower_value(ctx, node) if _is_record_array_name(ctx, node) else None
            )
            return got if isinstance(got, RecordArrayRef) else None
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
    """Whether a name not met so far is that of an array of records."""
    if node.id in ctx.types:
        return isinstance(ctx.types[node.id], RecordType)
    value = ctx.scope.resolve(node)
    return isinstance(value, np.ndarray) and isinstance(type_of(value), RecordType)


def _record_subscript(ctx: Lowering, ref: RecordArrayRef, node: ast.Subscript) -> RecordArrayRef:
    view, needed = lower_view(ctx, _record_array_shape(ctx, ref, node), node)
    if needed is not None and ref.needed is not None:
        needed = bool_op("and", ref.needed, needed)
    return replace(ref, view=view, needed=needed or ref.needed)


def as_array_or_field(ctx: Lowering, node: ast.expr) -> ArrayRef | None:
    """An array with the lengths of `node`: the array itself, one of several that have the same
    lengths, or any field of an array of records; None for anything else.
    """
    if isinstance(node, ast.Name):
        common = array_of_common_shape(ctx.b.env.get(node.id))
        if common is not None:
            return common
    ref = as_record_array(ctx, node)
    return lower_array(ctx, node) if ref is None else _record_array_shape(ctx, ref, node)


def _record_array_shape(ctx: Lowering, ref: RecordArrayRef, node: ast.AST) -> ArrayRef:
    """An array of the shape of `ref`."""
    if ref.view is not None:
        return ref.view
    field = next((f for f in ctx.members.fields.values() if f.array == ref.name), None)
    if field is None:
        return refuse("LOWER_TYPE", f"no field of `{ref.name}` can be compiled", node)
    whole = _field_array(ctx, field, node)
    return replace(whole, shape=whole.shape[: ref.type.rank])


def _field_array(ctx: Lowering, field: Field, node: ast.AST) -> ArrayRef:
    whole = lower_array(ctx, copy_location(ast.Name(field.name, ast.Load()), node))
    assert whole is not None
    return whole


def lower_field(ctx: Lowering, node: ast.expr) -> tuple[ArrayRef, Expr | None] | None:
    """``rec["x"]`` as an array, with no axis where it is an element, and what must hold for it
    to be there (None: nothing); None for anything else.
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
        what = f"is of type {ty}" if ty else "is no field"
        return refuse(code, f"`{ast.unparse(node)}` {what}", node)
    whole = _field_array(ctx, field, node)
    if ref.view is None:
        return whole, None
    start, own = linear_num(ctx.b, LinearForm()), whole.shape[ref.type.rank :]
    beyond = (AxisStride(ref.view.rank + k, start) for k in range(len(own)))
    places, shape = (*ref.view.base_index, *beyond), (*ref.view.shape, *own)
    return replace(whole, unit=None, shape=shape, base_index=places), ref.needed


def _is_text(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and isinstance(index.value, str)
