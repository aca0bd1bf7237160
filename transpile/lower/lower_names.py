"""Lower names and attributes: arguments, captured objects, fields and local variables."""
from __future__ import annotations

import ast
from typing import Any

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.analysis.intervals import LENGTH
from loopir.nodes import Call, Dim, Param, Var

from ..call_plan import Argument, Captured, ComplexPart, Field, ObjectMember
from ..frontend.name_resolution import Origin
from ..frontend.refusal import refuse, refuse_no_value
from ..types.int_limits import ARGUMENT
from ..types.typed_values import ComplexPair, Num, bool_op, constant
from ..types.typeof import global_type
from ..types.value_types import (
    PARTS,
    ArrayType,
    Constant,
    GeneratorType,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
)
from .arrays.element_access import lower_subscript
from .arrays.record_arrays import as_array_or_field, as_record_array
from .complex.complex_arithmetic import complex_literal
from .complex.complex_calls import real_or_imaginary_part
from .lists.list_arguments import take_list_items
from .scalars.scalar_arithmetic import binary_operation
from .scalars.tagged_unions import lower_number
from .state.dispatch import lower_value
from .state.guards_and_checks import add_guard, require
from .state.ir_builder import kernel_param
from .state.lowering_state import Lowering
from .state.outer_names import is_outer_none, resolve_guarded
from .state.symbol_values import Absent, ArrayRef, RecordArrayRef, Unbound, UnionValue, Value
from .state.value_ranges import integer_num

__all__ = [
    "guard_int_params", "lower_attribute", "lower_bare_name", "lower_delete", "lower_name",
    "lower_name_expression", "lower_subscript_expression",
]


def _add_param(
    ctx: Lowering,
    name: str,
    ty: ArrayType | ScalarType,
    binding: Argument | Captured | Field | ObjectMember,
) -> Num | ComplexPair | ArrayRef:
    """A new kernel parameter, and the value it has inside."""
    b = ctx.b
    assert b.bindings.get(name, binding) == binding, f"two parameters `{name}`"
    if isinstance(binding, (Argument, Captured)) and getattr(ty, "dtype", "") in PARTS and (
        isinstance(ty, ScalarType)
    ):
        re, im = (_complex_part_param(ctx, part, ty, binding) for part in ("real", "imag"))
        return ComplexPair(re, im)
    b.names.add(name)
    b.bindings[name] = binding
    if isinstance(ty, ScalarType):
        b.params[name] = Param(name, ty.dtype)
        return _scalar_param_value(ctx, name, ty)
    b.params[name] = kernel_param(name, ty)
    shape = tuple(integer_num(b, Dim(name, k), LENGTH) for k in range(ty.rank))
    return ArrayRef(name, ty.dtype, ty.unit, shape)


def _complex_part_param(ctx: Lowering, part: str, ty: ScalarType, of: Argument | Captured) -> Num:
    """A part of a complex number as a parameter: one, wherever it is asked for first."""
    b = ctx.b
    parts = (p for p in b.bindings.values() if isinstance(p, ComplexPart))
    known = next((p.name for p in parts if (p.of, p.part) == (of, part)), None)
    name, dtype = known or b.name(f"{of.name}_{part}"), PARTS[ty.dtype]
    b.bindings[name] = ComplexPart(name, of, part, ty)
    b.params[name] = Param(name, dtype)
    return _scalar_param_value(ctx, name, ScalarType(dtype, ty.weak))


def _scalar_param_value(ctx: Lowering, name: str, ty: ScalarType) -> Num:
    var = Var(name, ty.dtype)
    if not ty.weak:
        return Num(var, strong=ty.dtype)
    if ty.dtype != "i64":
        return Num(var, weak=ty.dtype)
    return Num(var, weak="i64", linear=LinearForm.of(var), interval=ARGUMENT)


def guard_int_params(ctx: Lowering, tree: ast.AST) -> None:
    """Python's ints, and NumPy's where it matters, are taken to be below 2**62, so that sums of
    a few cannot overflow.
    """
    for name, binding in ctx.b.bindings.items():
        ty = getattr(binding, "type", None)
        if ty == ScalarType("i64", weak=True) or (
            ty == ScalarType("i64") and name in ctx.b.ranges.assumed_params
        ):
            var = Var(name, "i64")
            for op, limit in (("ge", ARGUMENT[0]), ("le", ARGUMENT[1])):
                add_guard(
                    ctx.b, Call(op, (var, index_const(limit)), "bool"), "GUARD_INT_RANGE", tree
                )


def lower_name(ctx: Lowering, name: str, node: ast.AST) -> Any:
    """What `name` stands for; an argument or a global becomes a parameter when it is first read.

    Raises Refused where it has no value, or one that no kernel can have.
    """
    ty = ctx.types.get(name)
    if ty is None or name in ctx.b.env:
        return _lower_local_or_global(ctx, name, node)
    if isinstance(ty, Constant):
        return refuse("LOWER_TYPE", f"`{name}` is {ty}, and not a number here", node)
    if isinstance(ty, Opaque):
        return refuse(ty.code, f"`{ctx.members.spelled.get(name, name)}` is of type {ty}", node)
    if isinstance(ty, RecordType):
        ctx.b.env[name] = records = RecordArrayRef(name, ty)
        return records
    if isinstance(ty, ObjectType):
        return refuse("LOWER_TYPE", f"`{name}` is of type {ty}, and no number", node)
    if isinstance(ty, ListType):
        ctx.b.env[name] = taken = take_list_items(ctx, name, ty, node)
        return taken
    field = next((f for f in ctx.members.fields.values() if f.name == name), None)
    held = ctx.members.objects.get(name)
    value: Value = _add_param(ctx, name, ty, field or held or Argument(name, ty))
    ctx.b.env[name] = value
    return value


def _lower_local_or_global(ctx: Lowering, name: str, node: ast.AST) -> Any:
    got = ctx.b.env.get(name)
    if isinstance(got, Unbound):
        return _value_if_bound(ctx, name, got, node)
    if isinstance(got, UnionValue):
        return _bound_cases(ctx, got, name, node)
    if got is not None:
        return got
    origin, value = ctx.scope.find(name)
    if origin is Origin.LOCAL or origin is Origin.UNBOUND:
        refuse("LOWER_UNSUPPORTED", f"`{name}` may have no value here", node)
    ty = global_type(value)
    if isinstance(ty, ListType):
        ctx.b.env[name] = taken = take_list_items(ctx, name, ty, node, captured=True)
        return taken
    if isinstance(ty, (Constant, ObjectType, Opaque)):
        return refuse("LOWER_TYPE", f"`{name}` is a global of type {ty}", node)
    if isinstance(ty, RecordType):
        ctx.b.env[name] = records = RecordArrayRef(name, ty)
        return records
    ctx.b.env[name] = captured = _add_param(ctx, name, ty, Captured(name, ty))
    return captured


def lower_name_expression(ctx: Lowering, node: ast.Name) -> Any:
    """What a name in an expression stands for."""
    return lower_name(ctx, node.id, node)


def lower_subscript_expression(ctx: Lowering, node: ast.Subscript) -> Any:
    """A part of an array of records, else an element or a view of an array."""
    return as_record_array(ctx, node) or lower_subscript(ctx, node)


def _bound_cases(ctx: Lowering, got: UnionValue, name: str, node: ast.AST) -> Any:
    """What `got` may be but unbound: to read the name is what raises."""
    there = [c for c in got.cases if c.value is not Absent.UNBOUND]
    if not there:
        refuse_no_value(f"`{name}` has no value here", node)
    if len(there) == len(got.cases):
        return got
    _require_bound(ctx, name, node)
    alone = len(there) == 1 and not isinstance(there[0].value, Absent)
    return there[0].value if alone else UnionValue(tuple(there))


def lower_delete(ctx: Lowering, node: ast.expr) -> None:
    """``del name``, which has to have a value."""
    assert isinstance(node, ast.Name)
    if not _require_bound(ctx, node.id, node) and node.id not in ctx.arguments:
        refuse("LOWER_UNSUPPORTED", f"`{node.id}` may have no value here", node)
    ctx.b.env[node.id] = Unbound()


def _require_bound(ctx: Lowering, name: str, node: ast.AST) -> bool:
    """Whether `name` has a value in here; that it has one is required."""
    got = ctx.b.env.get(name)
    if isinstance(got, Unbound):
        _value_if_bound(ctx, name, got, node)
    elif isinstance(got, UnionValue):
        for c in got.cases:
            if c.value is Absent.UNBOUND:
                require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    return got is not None


def lower_bare_name(ctx: Lowering, node: ast.Name | ast.Attribute) -> None:
    """What stands alone has to be at each call what it was when this was compiled."""
    name = node.id if isinstance(node, ast.Name) else ""
    told = isinstance(ctx.arguments.get(name), (Constant, GeneratorType, ObjectType))
    if told or (isinstance(node, ast.Name) and _require_bound(ctx, name, node)):
        return
    if name in ctx.arguments or (
        resolve_guarded(ctx, node) is None and not is_outer_none(ctx, name)
    ):
        lower_value(ctx, node)


def _value_if_bound(ctx: Lowering, name: str, got: Unbound, node: ast.AST) -> Num:
    if got.value is None or got.needed is None:
        return refuse("LOWER_UNSUPPORTED", f"`{name}` may have no value here", node)
    require(ctx.b, got.needed, "GUARD_EMPTY", node)
    return got.value


def lower_attribute(ctx: Lowering, node: ast.Attribute) -> Any:
    """``a.shape`` and the like, a part of a complex number, or a member of a known object."""
    array = as_array_or_field(ctx, node.value)
    if array is not None and not array.kinds:
        return _array_attribute(ctx, array, node)
    value = resolve_guarded(ctx, node)
    if node.attr in ("real", "imag") and value is None:
        return real_or_imaginary_part(ctx, node.attr, lower_number(ctx, node.value), node)
    if type(value) is complex:
        return complex_literal(value)
    if type(value) in (int, float, bool):
        return constant(value)  # type: ignore[arg-type]
    return refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be compiled", node)


def _array_attribute(ctx: Lowering, array: ArrayRef, node: ast.Attribute) -> Any:
    match node.attr:
        case "shape":
            return array.shape
        case "ndim":
            return constant(array.rank)
        case "size":
            out = constant(1)
            for n in array.shape:
                out = binary_operation(
                    ctx, ast.Mult,
                    out,
                    Num(n.ir, weak="i64", linear=n.linear, interval=(0, 1 << 20)),
                    node,
                )
            return integer_num(ctx.b, out.ir, LENGTH) if out.linear is None else out
        case _:
            return refuse(
                "LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be compiled", node
            )
