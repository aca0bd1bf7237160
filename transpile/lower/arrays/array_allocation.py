"""Lower array creation: allocations are hoisted out of the kernel, to before its start."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.analysis.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.nodes import Call, Dim, Expr, Param

from ...analysis.shape_rules import reshaping
from ...call_plan import Allocated, Argument
from ...diagnostics import Refused
from ...frontend.refusal import refuse
from ...host_nodes import HostAttribute, HostCall, HostExpr, HostName
from ...types.typed_values import Num
from ...types.value_types import ELEMENTS, ArrayType
from ..lists.dynamic_lists import report_short_capacity
from ..state.dispatch import lower_array
from ..state.guards_and_checks import add_guard, require
from ..state.lowering_state import Lowering
from ..state.outer_names import fresh_array_name, resolve_guarded, resolve_object
from ..state.path_conditions import is_nonnegative
from ..state.symbol_values import ArrayRef
from ..state.value_ranges import integer_num, linear_form
from .array_allocators import (
    FILLED_ALLOCATORS,
    UNFILLED_ALLOCATORS,
    allocation_type,
    fill_true_loop,
    filled_array_type,
    lower_length,
    lower_lengths,
    without_fill,
)
from .capacity_bounds import UNKNOWN_CAPACITY, capacity_bound, is_speculative, is_unknown_capacity
from .host_expressions import host_expression, inline_locals, known_before_kernel, new_array
from .storage_coalescing import reusable_storage, storage_of_sibling_branch

__all__ = ["lower_allocation", "lower_reshape", "lower_resize"]


def lower_allocation(ctx: Lowering, name: str, call: ast.Call) -> None:
    """``name = np.zeros(…)`` or its like.

    What a loop makes anew in each iteration is one array, made beforehand, or one of several
    where a name of it lives on. So is what each of two branches makes under one name.
    """
    b = ctx.b
    function = resolve_guarded(ctx, call.func)
    if b.path.frames and function is not np.empty:
        said = f"`{ast.unparse(call)}` is filled inside a loop"
        refuse("LOWER_UNSUPPORTED", said, call)
    if any(function is f for f in FILLED_ALLOCATORS):
        ty, given = filled_array_type(ctx, function, call)
        if not all(b.invariant(n.ir) for n in given):
            refuse("LOWER_CALL", f"`{ast.unparse(call)}` depends on what is computed", call)
        shape = None
    else:
        ty, shape = allocation_type(ctx, function, call)
    made_by, ours = _allocation(ctx, function, call, ty, shape)
    unique = None
    if function is np.empty and shape is not None:
        like = ArrayRef("", ty.dtype, ty.unit, shape)
        unique = storage_of_sibling_branch(b, name, like) or reusable_storage(b, call, like)
    if unique is None:
        unique = fresh_array_name(ctx, name)
        b.allocate(
            unique, made_by, ty, blank=ours or any(function is f for f in UNFILLED_ALLOCATORS)
        )
    if ours:
        b.block.insert(0, fill_true_loop(unique, ty.rank, b.name))
    if shape is None:
        shape = tuple(integer_num(b, Dim(unique, k), LENGTH) for k in range(ty.rank))
    elif None in (known := [known_before_kernel(n.ir, b) for n in shape]):
        rows = ty.unit == ty.rank - 1 and None not in known[1:]
        target = b.buffers.truncated if rows and not b.path.frames else b.buffers.overallocated
        target.add(unique)
        shape = _shape_within_capacity(ctx, unique, shape, call)
    else:
        for axis, n in enumerate(known):
            if n is not None and any(getattr(x, "dtype", "") == "f64" for x in walk(n)):
                add_guard(b, Call("eq", (n, Dim(unique, axis)), "bool"), "GUARD_BOUNDS", call)
    b.env[name] = made = ArrayRef(unique, ty.dtype, ty.unit, shape)
    earlier = (a for a in b.buffers.arrays_of_call.get(call, ()) if a.name != unique)
    b.buffers.arrays_of_call[call] = *earlier, made


def _shape_within_capacity(
    ctx: Lowering, array: str, shape: Sequence[Num], call: ast.Call
) -> tuple[Num, ...]:
    """The lengths where it was guessed how much room they need, for which there has to be
    enough. Names of them stand for what is left.
    """
    b, out = ctx.b, list(shape)
    for axis, n in enumerate(shape):
        longest = capacity_bound(b, n.ir) or UNKNOWN_CAPACITY
        if known_before_kernel(n.ir, b) is not None or not is_speculative(longest):
            continue
        if is_unknown_capacity(longest):
            report_short_capacity(ctx, Call("le", (n.ir, Dim(array, axis)), "bool"), call)
        out[axis] = _clamp_length(ctx, n, Dim(array, axis), call)
        b.numbers.upper_bounds[out[axis].ir] = longest
        if not b.path.frames and not b.path.branches:
            ints = {k: v for k, v in b.env.items() if isinstance(v, Num) and v.python_int}
            b.env |= {k: out[axis] for k, v in ints.items() if v.ir == n.ir}
    return tuple(out)


def _clamp_length(ctx: Lowering, n: Num, most: Expr, node: ast.AST) -> Num:
    """`n`, which has to be within its array: it is in any case, for a kernel goes on where a
    check fails.
    """
    b = ctx.b
    for op, end in (("ge", index_const(0)), ("le", most)):
        require(b, Call(op, (n.ir, end), "bool"), "GUARD_BOUNDS", node)
    least = Call("min", (n.ir, most), "i64")
    return integer_num(b, b.bind(Call("max", (least, index_const(0)), "i64"), "n"), LENGTH)


def lower_resize(ctx: Lowering, name: str, lengths: ast.expr, node: ast.stmt) -> None:
    """``name.resize(n, refcheck=False)`` of an array made here, which has room for as many."""
    b, whole = ctx.b, ctx.b.env.get(name)
    shape = lower_lengths(ctx, lengths)
    if not isinstance(whole, ArrayRef) or whole.base_index or whole.name not in b.buffers.fresh:
        refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is not compiled here", node)
    if len(shape) != whole.rank or [n.ir for n in shape[1:]] != [n.ir for n in whole.shape[1:]]:
        refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` changes other axes", node)
    left = linear_form(b, whole.shape[0].ir) - linear_form(b, shape[0].ir)
    if not (is_nonnegative(b, left) and is_nonnegative(b, linear_form(b, shape[0].ir))):
        shape = _clamp_length(ctx, shape[0], whole.shape[0].ir, node), *shape[1:]
    if (most := capacity_bound(b, whole.shape[0].ir)) is not None:
        b.numbers.upper_bounds[shape[0].ir] = most
    b.env[name] = replace(whole, shape=shape)
    b.buffers.truncated.add(whole.name)


def _allocation(
    ctx: Lowering, function: Any, call: ast.Call, ty: ArrayType, shape: Sequence[Num] | None
) -> tuple[HostExpr, bool]:
    """What makes the array, or one with room for it, before the kernel starts; and whether the
    kernel is to fill it with True.
    """
    b, own, dtype = ctx.b, frozenset(ctx.arguments), ELEMENTS[ty.dtype].numpy
    origins = [known_before_kernel(n.ir, b) for n in shape or ()]
    known = shape is not None and None not in origins
    if shape is not None and not known and function in (np.empty, np.zeros):
        longest = [
            known_before_kernel(n.ir, b) or capacity_bound(b, n.ir) or UNKNOWN_CAPACITY
            for n in shape
        ]
        if sum(map(is_unknown_capacity, longest)) > 1:
            refuse("LOWER_UNSUPPORTED", "several lengths are not known before the loop", call)
        lengths, fortran = [*map(host_expression, longest)], ty.unit == 0 < ty.rank - 1
        return new_array(lengths, dtype, function=function.__name__, fortran=fortran), False
    ours = without_fill(function, call) if ty.dtype == "bool" else None
    try:
        return inline_locals(ours or call, b, own), ours is not None
    except Refused:
        if shape is None or not known or "order" in {k.arg for k in call.keywords}:
            raise
    names = dict(zip(("shape", "fill_value"), call.args, strict=False))
    names |= {k.arg: k.value for k in call.keywords if k.arg}
    made = "empty" if ours else function.__name__.removesuffix("_like")
    fill = inline_locals(names["fill_value"], b, own) if made == "full" else None
    lengths = [host_expression(n) for n in origins if n is not None]
    return new_array(lengths, dtype, function=made, fill=fill), ours is not None


def lower_reshape(ctx: Lowering, node: ast.Call) -> ArrayRef | None:
    """NumPy's own view, or copy, made beforehand: good for as long as nothing is written."""
    b, found = ctx.b, reshaping(node, resolve_object(ctx, node.func))
    of = None if found is None else lower_array(ctx, found[0])
    if found is None or of is None:
        return None
    lengths = [lower_length(ctx, n) for n in found[1]]
    given = isinstance(b.bindings.get(of.name), Argument) and of.dtype in DTYPES
    if of.base_index or not given or not all(b.invariant(n.ir) for n in lengths):
        refuse("LOWER_CALL", f"`{ast.unparse(node)}` is not of an argument", node)
    rank, dense = len(lengths) or 1, of.unit == of.rank - 1 or not lengths
    ty = ArrayType(of.dtype, rank, rank - 1 if dense else None)
    method = HostAttribute(HostName(of.name), "reshape" if lengths else "ravel")
    call = HostCall(method, tuple(host_expression(n.ir) for n in lengths))
    name = next((n for n in b.buffers.reshaped if b.bindings[n] == Allocated(n, call, ty)), None)
    if name is None:
        name = fresh_array_name(ctx, f"{of.name}_reshaped")
        b.params[name] = Param(name, ty.dtype, ty.rank, ty.unit)
        b.bindings[name] = Allocated(name, call, ty)
        b.buffers.reshaped[name] = of.name
    shape = tuple(integer_num(b, Dim(name, k), LENGTH) for k in range(rank))
    return ArrayRef(name, ty.dtype, ty.unit, shape)
