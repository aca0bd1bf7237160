"""Strided views: slices, rows, new axes, transposes; accesses use the base array's subscripts."""
from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.analysis.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr

from ...frontend.refusal import refuse, refuse_unknown_length
from ...types.typed_values import Num, bool_op, cast, constant
from ...types.value_types import PARTS
from ..scalars.tagged_unions import lower_real
from ..state.dispatch import lower_array
from ..state.guards_and_checks import add_guard, require
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_object
from ..state.path_conditions import is_nonnegative
from ..state.symbol_values import ArrayRef, AxisStride, FinishedList, ListRef
from ..state.value_ranges import integer_num, linear_num, max_value, min_value
from .subscript_bounds import axis_subscripts, in_bounds_subscript

__all__ = [
    "base_subscripts", "complex_part_view", "is_slice_part", "lower_row", "lower_subscripts",
    "lower_view", "refuse_list_slice", "refuse_out_of_bounds", "transposed_view",
]


def base_subscripts(b: IRBuilder, array: ArrayRef, at: Sequence[Num]) -> tuple[Expr, ...]:
    """The subscripts of an element of the view `array`, translated to subscripts of the kernel's
    parameter.
    """
    if not array.base_index:
        return tuple(n.ir for n in at)
    found = (p if isinstance(p, Num) else _shifted(b, p, at[p.axis]) for p in array.base_index)
    return tuple(n.ir for n in found)


def _compose_view(
    b: IRBuilder, array: ArrayRef, axes: Sequence[Num | AxisStride], shape: Sequence[Num]
) -> ArrayRef:
    """`array` with each of its axes at one subscript, or along an axis of the view."""
    own = array.base_index or tuple(
        AxisStride(k, linear_num(b, LinearForm())) for k in range(array.rank)
    )
    places: list[Num | AxisStride] = []
    for p in own:
        if isinstance(p, AxisStride):
            match axes[p.axis]:
                case AxisStride(axis, start, step):
                    p = AxisStride(axis, _shifted(b, p, start), _product(b, p.step, step))
                case Num() as n:
                    p = _shifted(b, p, n)
        places.append(p)
    kinds = array.kinds[array.rank - len(shape) :]  # of lists: they have no slices
    return replace(array, unit=None, shape=tuple(shape), base_index=tuple(places), kinds=kinds)


def transposed_view(b: IRBuilder, array: ArrayRef, order: Sequence[int] | None = None) -> ArrayRef:
    """``array.T``, or ``array.transpose(*order)``"""
    order, start = order or range(array.rank)[::-1], linear_num(b, LinearForm())
    axes = [AxisStride(order.index(k), start) for k in range(array.rank)]
    return _compose_view(b, array, axes, [array.shape[k] for k in order])


def complex_part_view(b: IRBuilder, array: ArrayRef, name: str) -> ArrayRef | None:
    """``array.real`` or ``array.imag``, if it is a view."""
    if array.dtype not in PARTS:
        return array if name == "real" else None
    own = array.base_index or tuple(
        AxisStride(k, linear_num(b, LinearForm())) for k in range(array.rank)
    )
    at = linear_num(b, LinearForm({}, int(name == "imag")))
    return replace(array, dtype=PARTS[array.dtype], unit=None, base_index=(*own, at))


def _shifted(b: IRBuilder, along: AxisStride, n: Num) -> Num:
    return linear_num(b, _linear(b, along.start) + _times(b, _linear(b, n), along.step))


def _product(b: IRBuilder, p: int | Num, q: int | Num) -> int | Num:
    """The step of a view of a view."""
    if isinstance(p, int):
        p, q = q, p
    if isinstance(p, int) and isinstance(q, int):
        return p * q
    assert isinstance(p, Num)
    return linear_num(b, _times(b, _linear(b, p), q))


def _times(b: IRBuilder, n: LinearForm, step: int | Num) -> LinearForm:
    if isinstance(step, int):
        return n * step
    if not n.terms:
        return _linear(b, step) * n.constant
    return LinearForm.of(Call("mul", (n.expr(), step.ir), "i64"))


def _slice_bounds(
    b: IRBuilder, n: Num, low: Num | None, high: Num | None, step: int | Num, node: ast.AST
) -> tuple[Num, Num]:
    """The length of a slice of an axis of length `n`, and its first element, if it has one. A step
    that is a number is not below 1.
    """
    size, up = _linear(b, n), not isinstance(step, int) or step > 0
    first, end = (LinearForm(), size) if up else (size + LinearForm({}, -1), LinearForm({}, -1))
    start = first if low is None else _slice_bound(b, _slice_integer(b, low, node), size, up, up)
    stop = end if high is None else _slice_bound(b, _slice_integer(b, high, node), size, not up, up)
    room = stop - start if up else start - stop
    length = _named(b, _maximum(b, room, LinearForm()), "size")
    by = LinearForm({}, abs(step)) if isinstance(step, int) else _linear(b, step)
    if by != LinearForm({}, 1):
        most = linear_num(b, length + by + LinearForm({}, -1)).ir
        count = Call("floordiv", (most, by.expr()), "i64")
        length = _named(b, integer_num(b, count, LENGTH).linear or LinearForm(), "size")
    return linear_num(b, length), linear_num(b, _named(b, start, "start"))


def _slice_bound(
    b: IRBuilder, v: LinearForm, size: LinearForm, floor: bool, up: bool
) -> LinearForm:
    """A bound of a slice: a negative one counts from the end. It is kept from going too low, or
    too high; on the other side a slice without elements is one anyway.
    """
    least, most = (LinearForm(), size) if up else (LinearForm({}, -1), size + LinearForm({}, -1))
    wrapped, plain = v + size, v
    if floor:
        wrapped = _maximum(b, wrapped, least)
    else:
        plain = _minimum(b, plain, most)
    if min_value(b, v) >= 0:
        return plain
    if max_value(b, v) < 0:
        return wrapped
    negative = Call("lt", (v.expr(), index_const(0)), "bool")
    e = Call("select", (negative, wrapped.expr(), plain.expr()), "i64")
    ends = [*linear_num(b, wrapped).interval, *linear_num(b, plain).interval]
    return integer_num(b, e, (min(ends), max(ends))).linear or LinearForm()


def _maximum(b: IRBuilder, p: LinearForm, q: LinearForm) -> LinearForm:
    """The greater one."""
    return _one(b, "max", p, q, p - q)


def _minimum(b: IRBuilder, p: LinearForm, q: LinearForm) -> LinearForm:
    """The lesser one."""
    return _one(b, "min", p, q, q - p)


def _one(b: IRBuilder, op: str, p: LinearForm, q: LinearForm, margin: LinearForm) -> LinearForm:
    if is_nonnegative(b, margin):
        return p
    if is_nonnegative(b, margin * -1):
        return q
    return LinearForm.of(Call(op, (p.expr(), q.expr()), "i64"))


def _named(b: IRBuilder, e: LinearForm, hint: str) -> LinearForm:
    """`e` computed now, if it is more than a sum and may change."""
    simple = all(not isinstance(atom, Call) for atom in e.terms)
    if simple or b.invariant(e.expr()):
        return e
    interval = linear_num(b, e).interval
    return integer_num(b, b.bind(e.expr(), hint), interval).linear or LinearForm()


def _linear(b: IRBuilder, n: Num) -> LinearForm:
    return n.linear if n.linear is not None else LinearForm.of(b.bind(n.ir, "at"))


def _slice_integer(b: IRBuilder, n: Num, node: ast.AST) -> LinearForm:
    """A bound, or a step, as an int."""
    kind = DTYPES[n.dtype].kind
    if n.weak in ("f64", "bool") or kind not in "iu" or n.dtype == "u64":
        refuse("LOWER_SUBSCRIPT", f"a bound of `{ast.unparse(node)}` is not an int", node)
    if n.linear is not None:
        return n.linear
    e = n.ir if isinstance(n.ir, Const) else b.bind(cast(n.ir, "i64"), "bound")
    return integer_num(b, e, n.range).linear or LinearForm()


def refuse_list_slice(ctx: Lowering, array: ArrayRef, node: ast.Subscript) -> None:
    """Refuse a slice of a list, which is a copy in Python and not a view."""
    whole = isinstance(node.slice, (ast.Slice, ast.Tuple)) and node not in ctx.fixed.view_slices
    if array.kinds and whole:
        refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is not an item of a list", node)


def is_slice_part(ctx: Lowering, part: ast.expr) -> bool:
    """Whether `part` of a subscript is a slice, an ellipsis or a new axis, not an index."""
    match part:
        case ast.Slice() | ast.Starred() | ast.Constant(value=None | types.EllipsisType()):
            return True
        case ast.Attribute(value=owner, attr="newaxis"):
            return resolve_object(ctx, owner) is np
    return False


def lower_subscripts(
    ctx: Lowering, parts: Sequence[ast.expr], array: ArrayRef, node: ast.AST
) -> list[Num]:
    """The subscripts `parts` of `array`, which are numbers."""
    if len(parts) > array.rank:
        refuse(
            "LOWER_SUBSCRIPT",
            f"`{ast.unparse(node)}` has more subscripts than dimensions",
            node,
        )
    for p in parts:
        if lower_array(ctx, p) is not None:
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is indexed by an array", node)
    return [lower_real(ctx, p) for p in parts]


def lower_view(ctx: Lowering, array: ArrayRef, node: ast.Subscript) -> tuple[ArrayRef, Expr | None]:
    """Lower ``x[i]`` or ``x[1:, None]`` to a view, and the condition under which its indices are in
    bounds (None: always).
    """
    refuse_list_slice(ctx, array, node)
    axes: list[Num | AxisStride] = []
    shape: list[Num] = []
    needed: Expr | None = None
    parts = axis_subscripts(node)
    for part in _expand_ellipsis(ctx, parts, array, node):
        if is_slice_part(ctx, part) and not isinstance(part, ast.Slice):
            shape.append(constant(1))
        elif isinstance(part, ast.Slice):
            length, start, step = _lower_slice(ctx, array.shape[len(axes)], part, node)
            axes.append(AxisStride(len(shape), start, step))
            shape.append(length)
        else:
            (n,) = lower_subscripts(ctx, [part], array, node)
            at, ok = in_bounds_subscript(ctx.b, array, len(axes), n, node)
            if ok is not None:
                needed = ok if needed is None else bool_op("and", needed, ok)
            axes.append(at)
    return _compose_view(ctx.b, array, axes, shape), needed


def lower_row(ctx: Lowering, array: ArrayRef, node: ast.Subscript) -> ArrayRef:
    """Like `lower_view`, where the bounds condition can be checked later: the view is taken at the
    first index if it is out of bounds, and Python must then answer. A guard ensures that there is a
    first index.

    Raises Refused where the length of such an axis changes inside of the kernel.
    """
    found, needed = lower_view(ctx, array, node)
    lengths = (
        n for p, n in zip(_parts_of_axes(ctx, array, node), array.shape, strict=True)
        if not isinstance(p, ast.Slice)
    )
    for length in lengths if needed is not None else ():
        if length.linear is None or min_value(ctx.b, length.linear) < 1:
            if not ctx.b.invariant(length.ir):
                refuse_out_of_bounds(node)
            add_guard(ctx.b, Call("ge", (length.ir, index_const(1)), "bool"), "GUARD_BOUNDS", node)
    return found


def _parts_of_axes(ctx: Lowering, array: ArrayRef, node: ast.Subscript) -> list[ast.expr]:
    """The parts that belong to axes of the array: numbers and slices."""
    parts = _expand_ellipsis(ctx, axis_subscripts(node), array, node)
    return [p for p in parts if isinstance(p, ast.Slice) or not is_slice_part(ctx, p)]


def _expand_ellipsis(
    ctx: Lowering, parts: Sequence[ast.expr], array: ArrayRef, node: ast.Subscript
) -> list[ast.expr]:
    """The parts with a slice for each axis that they leave out."""
    of = ctx.b.env.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if isinstance(of, ListRef):
        refuse_unknown_length(of.name, f"`{ast.unparse(node)}` is a slice", node)
    new = sum(is_slice_part(ctx, p) and not isinstance(p, ast.Slice) for p in parts)
    ellipses = [k for k, p in enumerate(parts) if _is_ellipsis(p)]
    rest = array.rank - (len(parts) - new)
    starred = any(isinstance(p, ast.Starred) for p in parts)
    if isinstance(of, FinishedList) or rest < 0 or len(ellipses) > 1 or starred:
        refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is a slice", node)
    k = ellipses[0] if ellipses else len(parts)
    return [*parts[:k], *[ast.Slice()] * rest, *parts[k + len(ellipses) :]]


def _lower_slice(
    ctx: Lowering, length: Num, part: ast.Slice, node: ast.AST
) -> tuple[Num, Num, int | Num]:
    low, high, step = (
        None if e is None or _is_none(e) else lower_real(ctx, e)
        for e in (part.lower, part.upper, part.step)
    )
    by = 1 if step is None else _lower_slice_step(ctx, step, node)
    return *_slice_bounds(ctx.b, length, low, high, by, node), by


def _lower_slice_step(ctx: Lowering, n: Num, node: ast.AST) -> int | Num:
    """A step that is not known here is above 0, or Python's; no axis is as long as some."""
    b, linear = ctx.b, _slice_integer(ctx.b, n, node)
    if not linear.terms and linear.constant:
        return linear.constant
    require(b, Call("ge", (linear.expr(), index_const(1)), "bool"), "GUARD_INT_RANGE", node)
    some = Call("max", (linear.expr(), index_const(1)), "i64")
    step = b.bind(Call("min", (some, index_const(LENGTH[1])), "i64"), "step")
    return integer_num(b, step, (1, LENGTH[1]))


def refuse_out_of_bounds(node: ast.AST) -> NoReturn:
    """Refuses a row that may not be there."""
    said = f"the row `{ast.unparse(node)}` may be out of bounds"
    refuse("LOWER_SUBSCRIPT", said, node)


def _is_none(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is None


def _is_ellipsis(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is ...
