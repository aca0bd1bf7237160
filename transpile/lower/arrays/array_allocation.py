"""Lower array creation: allocations are hoisted out of the kernel, to before its start.

    t = np.empty(k)      →   the wrapper evaluates ``np.empty(capacity)`` for each call; the array
                             is a parameter of the kernel, and `t` a reference to it with the shape
                             (k,)

If the length ``k`` is known before the kernel, it is the capacity. Else the capacity is an upper
bound of it (`capacity_bounds.py`); the kernel checks that the length is within it, and the array is
cut to its length when it is returned. An allocation in a loop is made once, for all iterations.
An array of bools that are all True, such as ``np.ones(n, bool)``, is allocated without a fill, and
filled by the kernel; NumPy makes all other fills. `numpy_allocators.py` has the type and shape that
each function makes.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Dim, Expr, Param

from ...analysis.type_inference.shape_rules import reshaping
from ...call_plan import Allocated, Argument
from ...diagnostics import Refused
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...host_nodes import HostAttribute, HostCall, HostExpr, HostName, numpy_function
from ...types.typed_values import Num
from ...types.value_types import ELEMENTS, ArrayType
from ..lists.dynamic_lists import report_short_capacity
from ..state.guards_and_checks import add_guard, require
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array
from ..state.outer_names import fresh_array_name, resolve_guarded, resolve_object
from ..state.path_conditions import is_nonnegative
from ..state.symbol_values import ArrayRef
from ..state.value_ranges import integer_num, linear_form
from .capacity_bounds import UNKNOWN_CAPACITY, capacity_bound, is_speculative, is_unknown_capacity
from .host_expressions import host_expression, inline_locals, known_before_kernel, new_array
from .numpy_allocators import (
    FILLED_ALLOCATORS,
    UNFILLED_ALLOCATORS,
    allocation_type,
    fill_true_loop,
    filled_array_type,
    lower_length,
    lower_lengths,
    without_fill,
)
from .storage_coalescing import reusable_storage, storage_of_sibling_branch

__all__ = ["clamp_length", "lower_allocation", "lower_reshape", "lower_resize"]


def lower_allocation(ctx: Lowering, name: str, call: ast.Call) -> None:
    """``name = np.zeros(…)`` or another allocator: binds `name` to an array parameter, which the
    wrapper allocates before each call. Called for assignments and for ``return``.

        t = np.zeros(n + 1)   →   parameter t: f64[::1], bound to HostExpr ``np.zeros(n + 1)``;
                                  env["t"] = ArrayRef("t", shape (n + 1,))

    A kernel has no heap, and a loop that allocates in each iteration would be slow: one array is
    allocated for all iterations. So in a loop only ``np.empty`` is possible: of ``np.zeros``, the
    second iteration would find what the first one has stored.

    1. The type and shape of the array, by the function that makes it (`numpy_allocators.py`).
    2. What the wrapper evaluates (`_allocation`); where the length is only known inside the kernel,
       an array with a capacity.
    3. For ``np.empty``, an array that is free: of the other branch of an ``if``, under this name
       (`storage_of_sibling_branch`), or of the same call (`reusable_storage`). Else a new one.
    4. The shape with which it is used, the length checked against the capacity
       (`_shape_of_allocation`).

    Raises Refused in a loop for every function but ``np.empty``, and anywhere where the type or
    shape is not known, or an argument of a filled array is only computed in the kernel.
    """
    b = ctx.b
    function = resolve_guarded(ctx, call.func)
    if b.path.frames and function is not np.empty:
        message = f"`{source_text(call)}` is filled inside a loop"
        refuse("LOWER_UNSUPPORTED", message, call)
    # 1. type and shape
    shape: tuple[Num, ...] | None = None  # None: NumPy decides
    if any(function is f for f in FILLED_ALLOCATORS):
        ty, arguments = filled_array_type(ctx, function, call)
        if not all(b.known_at_entry(n.ir) for n in arguments):
            refuse("LOWER_CALL", f"`{source_text(call)}` depends on what is computed", call)
    else:
        ty, shape = allocation_type(ctx, function, call)
    allocation, kernel_fills = _allocation(ctx, function, call, ty, shape)  # 2
    array_name = None  # 3: the kernel's parameter; None: a new one is needed
    if function is np.empty and shape is not None:
        like = ArrayRef("", ty.dtype, ty.unit, shape)
        array_name = storage_of_sibling_branch(b, name, like) or reusable_storage(b, call, like)
    if array_name is None:
        array_name = fresh_array_name(ctx, name)
        blank = kernel_fills or any(function is f for f in UNFILLED_ALLOCATORS)
        b.allocate(array_name, allocation, ty, blank=blank)
        if function is np.empty or function is np.empty_like:
            b.buffers.blank.add(array_name)
        if function in (np.zeros, np.zeros_like) and shape is not None:
            _note_zeros(b, array_name, allocation, function, shape)
    if kernel_fills:
        b.block.insert(0, fill_true_loop(array_name, ty.rank, b.name))
    if shape is None:  # 4
        shape = tuple(integer_num(b, Dim(array_name, k), LENGTH) for k in range(ty.rank))
    else:
        shape = _shape_of_allocation(ctx, array_name, ty, shape, call)
    b.env[name] = array = ArrayRef(array_name, ty.dtype, ty.unit, shape)
    earlier = (a for a in b.buffers.arrays_of_call.get(call, ()) if a.name != array_name)
    b.buffers.arrays_of_call[call] = *earlier, array


def _note_zeros(
    b: IRBuilder, array: str, allocation: HostExpr, function: Any, shape: Sequence[Num]
) -> None:
    """Adds `array`, which `allocation`, a call of `function`, makes in its whole shape, to
    `BufferState.zeros`.
    """
    lengths = tuple(length for n in shape if (length := known_before_kernel(n.ir, b)) is not None)
    if isinstance(allocation, HostCall) and len(lengths) == len(shape):
        is_like = function is np.zeros_like and allocation.function != numpy_function("zeros")
        unfilled = numpy_function("empty_like" if is_like else "empty")
        b.buffers.zeros[array] = lengths, replace(allocation, function=unfilled)


def _shape_of_allocation(
    ctx: Lowering, array: str, ty: ArrayType, shape: Sequence[Num], call: ast.Call
) -> tuple[Num, ...]:
    """The shape with which the new `array` is used: `shape`, with lengths that are only computed in
    the kernel kept within the array's capacity.

    A C-contiguous array, made outside of loops, of which only the first length is not known before
    the kernel, is truncated when it is returned (`BufferState.truncated`). Any other array of which
    a length is not known cannot be returned (`BufferState.overallocated`). A length that was
    computed with floats is guarded to equal that of the array which the wrapper has allocated. One
    that may be negative is guarded not to be: a temporary array may never be made
    (`contract_arrays`), so that nothing else raises.
    """
    b = ctx.b
    known = [known_before_kernel(n.ir, b) for n in shape]
    if None in known:
        can_truncate = ty.unit == ty.rank - 1 and None not in known[1:] and not b.path.frames
        (b.buffers.truncated if can_truncate else b.buffers.overallocated).add(array)
        return _shape_within_capacity(ctx, array, shape, call)
    for axis, length in enumerate(known):
        if length is not None:
            nonnegative = Call("ge", (length, index_const(0)), "bool")
            add_guard(b, nonnegative, "GUARD_BOUNDS", call, even_if_empty=True)
        if length is not None and any(getattr(x, "dtype", "") == "f64" for x in walk(length)):
            add_guard(b, Call("eq", (length, Dim(array, axis)), "bool"), "GUARD_BOUNDS", call)
    return tuple(shape)


def _shape_within_capacity(
    ctx: Lowering, array: str, shape: Sequence[Num], call: ast.Call
) -> tuple[Num, ...]:
    """`shape` with some lengths clamped to the array's capacity, after a check: those whose
    capacity is speculative (`is_speculative`). If the capacity is only tried (`UNKNOWN_CAPACITY`),
    the kernel also reports where it was too small. Outside of loops and branches, int variables
    with the same value become the clamped length, too.
    """
    b, clamped_shape = ctx.b, list(shape)
    for axis, n in enumerate(shape):
        capacity = capacity_bound(b, n.ir) or UNKNOWN_CAPACITY
        if known_before_kernel(n.ir, b) is not None or not is_speculative(capacity):
            continue
        if is_unknown_capacity(capacity):
            report_short_capacity(ctx, Call("le", (n.ir, Dim(array, axis)), "bool"), call)
        clamped = clamp_length(ctx, n, Dim(array, axis), call)
        clamped_shape[axis] = clamped
        b.numbers.upper_bounds[clamped.ir] = capacity
        if not b.path.frames and not b.path.branches:
            ints = {k: v for k, v in b.env.items() if isinstance(v, Num) and v.python_int}
            b.env |= {k: clamped for k, v in ints.items() if v.ir == n.ir}
    return tuple(clamped_shape)


def clamp_length(ctx: Lowering, n: Num, capacity: Expr, node: ast.AST) -> Num:
    """The length `n`, clamped to ``0 … capacity``, and required to lie there. The kernel continues
    after a failed check, so the check alone does not keep accesses inside the array.
    """
    b = ctx.b
    for op, limit in (("ge", index_const(0)), ("le", capacity)):
        require(b, Call(op, (n.ir, limit), "bool"), "GUARD_BOUNDS", node)
    at_most = Call("min", (n.ir, capacity), "i64")
    return integer_num(b, b.bind(Call("max", (at_most, index_const(0)), "i64"), "n"), LENGTH)


def lower_resize(ctx: Lowering, name: str, lengths: ast.expr, node: ast.stmt) -> None:
    """``name.resize(n, refcheck=False)`` of an array that the function has allocated, to a length
    that is not greater: the reference gets the new shape, the array is truncated when returned.

    Raises Refused for other arrays, and where another axis than the first changes.
    """
    b, array = ctx.b, ctx.b.env.get(name)
    shape = lower_lengths(ctx, lengths)
    if not isinstance(array, ArrayRef) or array.base_index or array.name not in b.buffers.fresh:
        refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` is not compiled here", node)
    if len(shape) != array.rank or [n.ir for n in shape[1:]] != [n.ir for n in array.shape[1:]]:
        refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` changes other axes", node)
    capacity = array.shape[0].ir
    margin = linear_form(b, capacity) - linear_form(b, shape[0].ir)
    if not (is_nonnegative(b, margin) and is_nonnegative(b, linear_form(b, shape[0].ir))):
        shape = clamp_length(ctx, shape[0], capacity, node), *shape[1:]
    if (bound := capacity_bound(b, capacity)) is not None:
        b.numbers.upper_bounds[shape[0].ir] = bound
    b.env[name] = replace(array, shape=shape)
    b.buffers.truncated.add(array.name)


def _allocation(
    ctx: Lowering, function: Any, call: ast.Call, ty: ArrayType, shape: Sequence[Num] | None
) -> tuple[HostExpr, bool]:
    """The host expression that allocates the array of `call`, and whether the kernel has to fill it
    with True. ``shape`` None: NumPy decides.

    The first that applies decides:

    - ``np.empty`` or ``np.zeros`` of which a length is not known before the kernel: an array whose
      lengths are upper bounds (`capacity_bound`), of which one at most may be tried;
    - bools that are all True: an uninitialised array, which the kernel fills;
    - `call` itself, with local names inlined;
    - where that cannot be evaluated before the kernel (for example ``np.zeros_like`` of a view), an
      allocation of the same shape, dtype and fill.

    Raises Refused where several lengths would have to be tried, and where nothing applies.
    """
    b, arguments, dtype = ctx.b, frozenset(ctx.arguments), ELEMENTS[ty.dtype].numpy
    known_lengths = [known_before_kernel(n.ir, b) for n in shape or ()]
    is_shape_known = shape is not None and None not in known_lengths
    if shape is not None and not is_shape_known and function in (np.empty, np.zeros):
        capacities = [
            known_before_kernel(n.ir, b) or capacity_bound(b, n.ir) or UNKNOWN_CAPACITY
            for n in shape
        ]
        if sum(map(is_unknown_capacity, capacities)) > 1:
            refuse("LOWER_UNSUPPORTED", "several lengths are not known before the loop", call)
        lengths, fortran = [*map(host_expression, capacities)], ty.unit == 0 < ty.rank - 1
        return new_array(lengths, dtype, function=function.__name__, fortran=fortran), False
    unfilled = without_fill(function, call) if ty.dtype == "bool" else None
    kernel_fills = unfilled is not None
    try:
        return inline_locals(unfilled or call, b, arguments), kernel_fills
    except Refused:
        if shape is None or not is_shape_known or "order" in {k.arg for k in call.keywords}:
            raise
    named = dict(zip(("shape", "fill_value"), call.args, strict=False))
    named |= {k.arg: k.value for k in call.keywords if k.arg}
    allocator = "empty" if kernel_fills else function.__name__.removesuffix("_like")
    fill = inline_locals(named["fill_value"], b, arguments) if allocator == "full" else None
    lengths = [host_expression(n) for n in known_lengths if n is not None]
    return new_array(lengths, dtype, function=allocator, fill=fill), kernel_fills


def lower_reshape(ctx: Lowering, node: ast.Call) -> ArrayRef | None:
    """``x.reshape(…)`` or ``x.ravel()`` of an argument, which the wrapper evaluates before the
    kernel; None for other calls. The same call a second time gives the same parameter.

    NumPy may make a copy, so the kernel must write neither to it nor to ``x``; `assemble_plan`
    refuses that. Raises Refused for other arrays, and where a length is not known before the
    kernel.
    """
    b, matched = ctx.b, reshaping(node, resolve_object(ctx, node.func))
    base = None if matched is None else lower_array(ctx, matched[0])
    if matched is None or base is None:
        return None
    lengths = [lower_length(ctx, n) for n in matched[1]]
    is_argument = isinstance(b.bindings.get(base.name), Argument) and base.dtype in DTYPES
    if base.base_index or not is_argument or not all(b.known_at_entry(n.ir) for n in lengths):
        refuse("LOWER_CALL", f"`{source_text(node)}` is not of an argument", node)
    rank = len(lengths) or 1
    is_contiguous = base.unit == base.rank - 1 or not lengths
    ty = ArrayType(base.dtype, rank, rank - 1 if is_contiguous else None)
    method = HostAttribute(HostName(base.name), "reshape" if lengths else "ravel")
    call = HostCall(method, tuple(host_expression(n.ir) for n in lengths))
    name = next((n for n in b.buffers.reshaped if b.bindings[n] == Allocated(n, call, ty)), None)
    if name is None:
        name = fresh_array_name(ctx, f"{base.name}_reshaped")
        b.params[name] = Param(name, ty.dtype, ty.rank, ty.unit)
        b.bindings[name] = Allocated(name, call, ty)
        b.buffers.reshaped[name] = base.name
    shape = tuple(integer_num(b, Dim(name, k), LENGTH) for k in range(rank))
    return ArrayRef(name, ty.dtype, ty.unit, shape)
