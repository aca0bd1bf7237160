"""Memory layout of arrays from outside: ``x.strides`` and ``x.flags``, read by the caller.

Each stride, and each flag, is a scalar parameter of the kernel, which the call reads from the array
(`call_plan.ObjectMember`). The array is checked to be an ndarray before: an attribute of another
object might run code.
"""
from __future__ import annotations

import ast

from loopir.nodes import Param, Var

from ...analysis.type_inference.type_lattice import ARRAY_FLAGS
from ...call_plan import Argument, Captured, ObjectMember
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...host_nodes import HostAttribute, HostConst, HostExpr, HostItem, HostName
from ...types.typed_values import Num
from ...types.value_types import ScalarType
from ..state.lowering_state import Lowering
from ..state.symbol_values import ArrayRef
from ..state.value_ranges import integer_num

__all__ = ["lower_flag", "lower_strides"]

_INT, _BOOL = ScalarType("i64", weak=True), ScalarType("bool", weak=True)


def lower_strides(ctx: Lowering, array: ArrayRef, node: ast.expr) -> tuple[Num, ...]:
    """The strides of `array` in bytes, for each axis. Raises Refused for an array that the function
    makes.
    """
    strides = HostAttribute(_array_from_outside(ctx, array, node), "strides")
    params = (
        _layout_param(ctx, HostItem(strides, HostConst(k)), f"{array.name}_stride", _INT)
        for k in range(array.rank)
    )
    return tuple(integer_num(ctx.b, p) for p in params)


def lower_flag(ctx: Lowering, array: ArrayRef, name: str, node: ast.expr) -> Num:
    """``array.flags.NAME``, a bool. Raises Refused for an array that the function makes, and for a
    name that is not in `ARRAY_FLAGS`.
    """
    if name not in ARRAY_FLAGS:
        refuse("LOWER_UNSUPPORTED", f"the flag `{source_text(node)}` is not compiled", node)
    read = HostAttribute(HostAttribute(_array_from_outside(ctx, array, node), "flags"), name)
    return Num(_layout_param(ctx, read, f"{array.name}_{name}", _BOOL), weak="bool")


def _array_from_outside(ctx: Lowering, array: ArrayRef, node: ast.expr) -> HostExpr:
    """The host expression of `array`, a whole argument, global or attribute of an argument; it is
    noted in `MemberParams.layouts`. Raises Refused for arrays that the function makes, and for
    views.
    """
    binding = ctx.b.bindings.get(array.name)
    match binding:
        case Argument(name) | Captured(name) if not array.base_index:
            read: HostExpr = HostName(name)
        case ObjectMember(read=read) if not array.base_index:
            pass
        case _:
            what = "a view" if array.base_index else "an array that the function makes"
            message = f"`{source_text(node)}` asks for the memory layout of {what}"
            return refuse("LOWER_UNSUPPORTED", message, node)
    ctx.members.layouts[read] = None
    return read


def _layout_param(ctx: Lowering, read: HostExpr, hint: str, ty: ScalarType) -> Var:
    """The parameter of the kernel for the host expression `read`: a new one, or the one that there
    is for it.
    """
    b = ctx.b
    members = (m for m in b.bindings.values() if isinstance(m, ObjectMember))
    name = next((m.name for m in members if m.read == read), None)
    if name is None:
        name = b.name(hint)
        b.bindings[name] = ObjectMember(name, read, ty)
        b.params[name] = Param(name, ty.dtype)
    return Var(name, ty.dtype)
