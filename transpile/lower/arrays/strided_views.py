"""Strided views: slices, rows, new axes, transposes; accesses use the base array's subscripts.

A view is never materialized. It is an `ArrayRef` whose ``base_index`` has a subscript for each axis
of the base array, which is fixed or runs along an axis of the view with a start and a step::

    v = x[2:, 5]          base_index = (AxisStride(axis 0, start 2, step 1), 5)
    v[i]             →    load x[2 + i, 5]
    w = v[::3]            base_index = (AxisStride(axis 0, start 2, step 3), 5)

`lower_view` makes a view of a subscript, `base_subscripts` translates the subscripts of an access.
The bounds of a slice follow Python's rules (`_slice_bounds`): negative ones count from the end, and
all are clipped to the axis.
"""
from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Const, Expr

from ...frontend.ast_walk import is_none, subscript_items
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse, refuse_unknown_length
from ...types.int_limits import INT64
from ...types.typed_values import Num, bool_op, cast, constant
from ...types.value_types import PARTS
from ..scalars.tagged_unions import lower_real
from ..state.guards_and_checks import add_guard, require
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array
from ..state.outer_names import resolve_object
from ..state.path_conditions import is_nonnegative
from ..state.symbol_values import ArrayRef, AxisStride, FinishedList, ListRef
from ..state.value_ranges import integer_num, linear_num, max_value, min_value
from .subscript_bounds import in_bounds_subscript, require_python_int

__all__ = [
    "base_subscripts", "complex_part_view", "is_slice_part", "lower_row", "lower_subscripts",
    "lower_view", "refuse_list_slice", "refuse_out_of_bounds", "transposed_view",
]


def base_subscripts(b: IRBuilder, array: ArrayRef, at: Sequence[Num]) -> tuple[Expr, ...]:
    """The subscripts of the kernel's parameter for the element of `array` at the subscripts `at`;
    loads and stores call it (`element_access.py`). Of a whole array they are `at` itself.

        v = x[2::3, 5]    base_index (AxisStride(axis 0, start 2, step 3), 5)
        v[i]              at (i,)    →    (2 + 3 * i, 5)

    `at` is in bounds of the view, and a view's bounds lie within its array: so are the results.
    """
    if not array.base_index:
        return tuple(n.ir for n in at)
    subscripts = (
        s if isinstance(s, Num) else _strided_subscript(b, s, at[s.axis])
        for s in array.base_index
    )
    return tuple(n.ir for n in subscripts)


def _compose_view(
    b: IRBuilder, array: ArrayRef, axes: Sequence[Num | AxisStride], shape: Sequence[Num]
) -> ArrayRef:
    """The view of `array`, which may be a view itself, that has the given `shape` and for each axis
    of `array` the subscript in `axes`: fixed, or along an axis of the new view.

        v = x[2:, 5];  v[::3]      v: base_index (axis 0 from 2 by 1, 5); axes (axis 0 from 0 by 3,)
        →                          base_index (axis 0 from 2 by 3, 5)

    Each subscript of the parameter that runs along an axis of `array` is replaced by the one for
    that axis: affine functions are composed, ``start + step * (start' + step' * i)``.
    """
    base_index: list[Num | AxisStride] = []
    for subscript in _index_of_base(b, array):
        if isinstance(subscript, AxisStride):
            match axes[subscript.axis]:
                case AxisStride(axis, start, step):
                    subscript = AxisStride(
                        axis,
                        _strided_subscript(b, subscript, start),
                        _step_product(b, subscript.step, step),
                    )
                case Num() as n:
                    subscript = _strided_subscript(b, subscript, n)
        base_index.append(subscript)
    # Only fixed subscripts reduce the rank of a list of lists: there, the first axes disappear.
    kinds = array.kinds[array.rank - len(shape) :]
    return replace(
        array, unit=None, shape=tuple(shape), base_index=tuple(base_index), kinds=kinds
    )


def _index_of_base(b: IRBuilder, array: ArrayRef) -> tuple[Num | AxisStride, ...]:
    """``array.base_index``, also for a whole array: there each axis runs along itself."""
    return array.base_index or tuple(
        AxisStride(k, linear_num(b, LinearForm())) for k in range(array.rank)
    )


def transposed_view(b: IRBuilder, array: ArrayRef, order: Sequence[int] | None = None) -> ArrayRef:
    """``array.transpose(*order)``; None: ``array.T``, which reverses the axes."""
    order, start = order or range(array.rank)[::-1], linear_num(b, LinearForm())
    axes = [AxisStride(order.index(k), start) for k in range(array.rank)]
    return _compose_view(b, array, axes, [array.shape[k] for k in order])


def complex_part_view(b: IRBuilder, array: ArrayRef, name: str) -> ArrayRef | None:
    """``array.real`` or ``array.imag`` as a view: the last axis of the parameter, which holds the
    parts, has a fixed subscript. A real array is its own real part; None for its imaginary part.
    """
    if array.dtype not in PARTS:
        return array if name == "real" else None
    part = linear_num(b, LinearForm({}, int(name == "imag")))
    base_index = (*_index_of_base(b, array), part)
    return replace(array, dtype=PARTS[array.dtype], unit=None, base_index=base_index)


def _strided_subscript(b: IRBuilder, stride: AxisStride, n: Num) -> Num:
    """``start + step * n``: the subscript of the base array for the subscript `n` of the view."""
    return linear_num(b, _linear(b, stride.start) + _times_step(b, _linear(b, n), stride.step))


def _step_product(b: IRBuilder, outer: int | Num, inner: int | Num) -> int | Num:
    """``outer * inner``: the step of a view of a view."""
    if isinstance(outer, int):
        outer, inner = inner, outer
    if isinstance(outer, int) and isinstance(inner, int):
        return outer * inner
    assert isinstance(outer, Num)
    return linear_num(b, _times_step(b, _linear(b, outer), inner))


def _times_step(b: IRBuilder, n: LinearForm, step: int | Num) -> LinearForm:
    """``n * step``; a product of two expressions becomes an atom."""
    if isinstance(step, int):
        return n * step
    if not n.terms:
        return _linear(b, step) * n.constant
    return LinearForm.of(Call("mul", (n.expr(), step.ir), "i64"))


def _slice_bounds(
    b: IRBuilder, n: Num, low: Num | None, high: Num | None, step: int | Num, node: ast.AST
) -> tuple[Num, Num]:
    """The length and the first subscript of the slice ``low:high:step`` of an axis of length `n`,
    by Python's rules (`slice.indices`). None: the bound is left out. A step that is a Num, not an
    int, is known to be at least 1.

        x[2:]        →  length max(n - min(2, n), 0), first min(2, n)
        x[:-1]       →  length max(n - 1, 0), first 0
        x[::-2]      →  length (n + 1) // 2, first n - 1

    1. The start and the stop: those that are left out are the ends of the axis, in the direction of
       the step; the others count from the end if negative, and are clipped (`_clip_bound`).
    2. The length is the distance from start to stop, at least 0, divided by ``abs(step)`` and
       rounded up. Where the distance may exceed 64 bits, the lesser end is clipped low first.

    The first subscript has no meaning where the length is 0. Both are linear forms where possible,
    so that accesses to the view can be proved in bounds.
    """
    size, ascending = _linear(b, n), not isinstance(step, int) or step > 0
    if ascending:
        first, end = LinearForm(), size
    else:
        first, end = size + LinearForm({}, -1), LinearForm({}, -1)
    start, stop = first, end
    if low is not None:
        start = _clip_bound(b, _slice_integer(b, low, node), size, ascending, ascending)
    if high is not None:
        stop = _clip_bound(b, _slice_integer(b, high, node), size, not ascending, ascending)
    distance = stop - start if ascending else start - stop
    if min_value(b, distance) < INT64[0]:  # it would overflow: the lesser end is clipped low, too
        if ascending:
            stop = _bind_form(b, _maximum(b, stop, LinearForm()), "stop")
        else:
            start = _bind_form(b, _maximum(b, start, LinearForm({}, -1)), "start")
        distance = stop - start if ascending else start - stop
    length = _bind_form(b, _maximum(b, distance, LinearForm()), "size")
    stride = LinearForm({}, abs(step)) if isinstance(step, int) else _linear(b, step)
    if stride != LinearForm({}, 1):
        dividend = linear_num(b, length + stride + LinearForm({}, -1)).ir
        quotient = Call("floordiv", (dividend, stride.expr()), "i64")
        length = _bind_form(b, integer_num(b, quotient, LENGTH).linear or LinearForm(), "size")
    return linear_num(b, length), linear_num(b, _bind_form(b, start, "start"))


def _clip_bound(
    b: IRBuilder, bound: LinearForm, size: LinearForm, clip_low: bool, ascending: bool
) -> LinearForm:
    """A bound of a slice of an axis of length `size`, with a negative one counted from the end, and
    clipped to the axis on one side: the low one (``clip_low``) or the high one.

    The start of an ascending slice is clipped low, its stop high; beyond the other side the slice
    is empty anyway, since then ``stop <= start``. In a descending slice it is the other way round.
    """
    lowest, highest = LinearForm(), size
    if not ascending:
        lowest, highest = LinearForm({}, -1), size + LinearForm({}, -1)
    from_end, from_front = bound + size, bound
    if clip_low:
        from_end = _maximum(b, from_end, lowest)
    else:
        from_front = _minimum(b, from_front, highest)
    if min_value(b, bound) >= 0:
        return from_front
    if max_value(b, bound) < 0:
        return from_end
    negative = Call("lt", (bound.expr(), index_const(0)), "bool")
    e = Call("select", (negative, from_end.expr(), from_front.expr()), "i64")
    limits = [*linear_num(b, from_end).interval, *linear_num(b, from_front).interval]
    return integer_num(b, e, (min(limits), max(limits))).linear or LinearForm()


def _maximum(b: IRBuilder, p: LinearForm, q: LinearForm) -> LinearForm:
    """``max(p, q)``; `p` or `q` itself where it is known which is greater."""
    return _extremum(b, "max", p, q, p - q)


def _minimum(b: IRBuilder, p: LinearForm, q: LinearForm) -> LinearForm:
    """``min(p, q)``; `p` or `q` itself where it is known which is less."""
    return _extremum(b, "min", p, q, q - p)


def _extremum(
    b: IRBuilder, op: str, p: LinearForm, q: LinearForm, margin: LinearForm
) -> LinearForm:
    """``op(p, q)`` for "max" or "min"; it is `p` where `margin` is >= 0, and `q` where it is <= 0.
    """
    if is_nonnegative(b, margin):
        return p
    if is_nonnegative(b, margin * -1):
        return q
    return LinearForm.of(Call(op, (p.expr(), q.expr()), "i64"))


def _bind_form(b: IRBuilder, e: LinearForm, hint: str) -> LinearForm:
    """`e`, bound to a name if an operation in it would else be evaluated at each use; not if it can
    be evaluated at kernel entry.
    """
    has_operations = any(isinstance(atom, Call) for atom in e.terms)
    if not has_operations or b.known_at_entry(e.expr()):
        return e
    interval = linear_num(b, e).interval
    return integer_num(b, b.bind(e.expr(), hint), interval).linear or LinearForm()


def _linear(b: IRBuilder, n: Num) -> LinearForm:
    """The linear form of `n`; of an int without one, a new name that it is bound to."""
    return n.linear if n.linear is not None else LinearForm.of(b.bind(n.ir, "at"))


def _slice_integer(b: IRBuilder, n: Num, node: ast.AST) -> LinearForm:
    """A bound or step of a slice as a linear form. Raises Refused for a float, bool or uint64; on
    some paths only: `require_python_int`.
    """
    kind = DTYPES[n.dtype].kind
    if n.weak in ("f64", "bool") or kind not in "iu" or n.dtype == "u64":
        refuse("LOWER_SUBSCRIPT", f"a bound of `{source_text(node)}` is not an int", node)
    require_python_int(b, n, node)
    if n.linear is not None:
        return n.linear
    e = n.ir if isinstance(n.ir, Const) else b.bind(cast(n.ir, "i64"), "bound")
    return integer_num(b, e, n.range).linear or LinearForm()


def refuse_list_slice(ctx: Lowering, array: ArrayRef, node: ast.Subscript) -> None:
    """Raises Refused for a slice of a list, which is a copy in Python, unless a view serves as
    well: neither the list nor the slice changes while the slice is read (`list_uses._is_uncopied`).
    """
    is_copy = isinstance(node.slice, (ast.Slice, ast.Tuple)) and node not in ctx.fixed.view_slices
    if array.kinds and is_copy:
        message = f"`{source_text(node)}` is a slice of a list, which Python copies"
        help = "use an array, of which a part is a view, or copy the items by a comprehension"
        refuse("LOWER_SUBSCRIPT", message, node, help=help)


def is_slice_part(ctx: Lowering, part: ast.expr) -> bool:
    """Whether `part` of a subscript is a slice, an ellipsis, a new axis or starred: no index."""
    match part:
        case ast.Slice() | ast.Starred() | ast.Constant(value=None | types.EllipsisType()):
            return True
        case ast.Attribute(value=owner, attr="newaxis"):
            return resolve_object(ctx, owner) is np
    return False


def lower_subscripts(
    ctx: Lowering, parts: Sequence[ast.expr], array: ArrayRef, node: ast.AST
) -> list[Num]:
    """The indices `parts` of the first axes of `array` as numbers. Raises Refused where there are
    more of them than axes, and for an index that is an array.
    """
    if len(parts) > array.rank:
        refuse(
            "LOWER_SUBSCRIPT",
            f"`{source_text(node)}` has more subscripts than dimensions",
            node,
            help=f"use one subscript for each axis, at most {array.rank}",
        )
    for p in parts:
        if lower_array(ctx, p) is not None:
            refuse("LOWER_SUBSCRIPT", f"`{source_text(node)}` is indexed by an array", node)
    return [lower_real(ctx, p) for p in parts]


def lower_view(ctx: Lowering, array: ArrayRef, node: ast.Subscript) -> tuple[ArrayRef, Expr | None]:
    """The view ``x[i]`` or ``x[1:, None]`` of `array`, and the condition under which its indices
    are in bounds (None: always). Nothing is copied, and nothing emitted but bounds checks. The
    callers are `lower_row`, for a view that is used as an array, and `record_arrays`.

        x[1:, None, j]  of a matrix x, by the parts of the subscript:
        1:    an axis of the view that runs along axis 0 from 1 on    (`_slice_bounds`)
        None  an axis of length 1, along no axis of x
        j     a fixed subscript of axis 1, checked or guarded         (`in_bounds_subscript`)

    A slice never is out of bounds, since Python clips it. `array` may be a view itself: then the
    subscripts are composed (`_compose_view`). Raises Refused for new axes of a 0-d array, and for
    slices of lists, which are copies in Python (`refuse_list_slice`).
    """
    refuse_list_slice(ctx, array, node)
    axes: list[Num | AxisStride] = []
    shape: list[Num] = []
    in_bounds: Expr | None = None
    parts = subscript_items(node)
    for part in _expand_ellipsis(ctx, parts, array, node):
        if is_slice_part(ctx, part) and not isinstance(part, ast.Slice):
            shape.append(constant(1))
        elif isinstance(part, ast.Slice):
            length, start, step = _lower_slice(ctx, array.shape[len(axes)], part, node)
            axes.append(AxisStride(len(shape), start, step))
            shape.append(length)
        else:
            (n,) = lower_subscripts(ctx, [part], array, node)
            at, cond = in_bounds_subscript(ctx.b, array, len(axes), n, node)
            if cond is not None:
                in_bounds = cond if in_bounds is None else bool_op("and", in_bounds, cond)
            axes.append(at)
    if shape and not axes and not array.base_index:  # it would count as the whole array
        refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` adds an axis to a 0-d array", node)
    return _compose_view(ctx.b, array, axes, shape), in_bounds


def lower_row(ctx: Lowering, array: ArrayRef, node: ast.Subscript) -> ArrayRef:
    """The view of `lower_view` alone, without its condition, so that its elements can be accessed
    like those of any array.

        r = m[j]    (j not proved in bounds)    →    guard(len(m) >= 1); check(inside);
                                                     r: the row select(inside, j, 0) of m

    Where an index is out of bounds, the check that `lower_view` has added makes the call replay;
    until then the kernel reads row 0. The guard ensures that there is one. Raises Refused where the
    length of the axis is only known inside the kernel, so that no guard can.
    """
    view, in_bounds = lower_view(ctx, array, node)
    lengths = (
        n for p, n in zip(_parts_of_axes(ctx, array, node), array.shape, strict=True)
        if not isinstance(p, ast.Slice)
    )
    for length in lengths if in_bounds is not None else ():
        if length.linear is None or min_value(ctx.b, length.linear) < 1:
            at_entry = ctx.b.at_entry(length.ir)
            if at_entry is None:
                refuse_out_of_bounds(node)
            add_guard(ctx.b, Call("ge", (at_entry, index_const(1)), "bool"), "GUARD_BOUNDS", node)
    return view


def _parts_of_axes(ctx: Lowering, array: ArrayRef, node: ast.Subscript) -> list[ast.expr]:
    """For each axis of `array`, the index or slice in the subscript `node`."""
    parts = _expand_ellipsis(ctx, subscript_items(node), array, node)
    return [p for p in parts if isinstance(p, ast.Slice) or not is_slice_part(ctx, p)]


def _expand_ellipsis(
    ctx: Lowering, parts: Sequence[ast.expr], array: ArrayRef, node: ast.Subscript
) -> list[ast.expr]:
    """The parts of a subscript with a full slice for each axis that they leave out, in place of an
    ellipsis or at the end.

    Raises UnknownListLength for a list that loops fill, and Refused for one that is finished
    (`FinishedList`), for too many parts, several ellipses and starred parts.
    """
    base = ctx.b.env.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if isinstance(base, ListRef):
        refuse_unknown_length(base.name, f"`{source_text(node)}` is a slice", node)
    without_axis = sum(is_slice_part(ctx, p) and not isinstance(p, ast.Slice) for p in parts)
    ellipses = [k for k, p in enumerate(parts) if _is_ellipsis(p)]
    missing = array.rank - (len(parts) - without_axis)
    starred = any(isinstance(p, ast.Starred) for p in parts)
    if isinstance(base, FinishedList) or missing < 0 or len(ellipses) > 1 or starred:
        refuse("LOWER_SUBSCRIPT", f"`{source_text(node)}` is a slice", node)
    k = ellipses[0] if ellipses else len(parts)
    return [*parts[:k], *[ast.Slice()] * missing, *parts[k + len(ellipses) :]]


def _lower_slice(
    ctx: Lowering, length: Num, part: ast.Slice, node: ast.AST
) -> tuple[Num, Num, int | Num]:
    """The length, the first subscript and the step of the slice `part` of an axis of length
    `length`.
    """
    low, high, step = (
        None if e is None or is_none(e) else lower_real(ctx, e)
        for e in (part.lower, part.upper, part.step)
    )
    lowered_step = 1 if step is None else _lower_slice_step(ctx, step, node)
    bounds = _slice_bounds(ctx.b, length, low, high, lowered_step, node)
    return *bounds, lowered_step


def _lower_slice_step(ctx: Lowering, n: Num, node: ast.AST) -> int | Num:
    """The step of a slice: a constant other than 0, or a Num that is required to be >= 1 (else the
    call is replayed). Both are clamped to the length of the longest possible axis, which selects
    the same elements and cannot overflow.
    """
    b, linear = ctx.b, _slice_integer(ctx.b, n, node)
    if not linear.terms and linear.constant:
        return max(-LENGTH[1], min(LENGTH[1], linear.constant))
    require(b, Call("ge", (linear.expr(), index_const(1)), "bool"), "GUARD_INT_RANGE", node)
    at_least_one = Call("max", (linear.expr(), index_const(1)), "i64")
    step = b.bind(Call("min", (at_least_one, index_const(LENGTH[1])), "i64"), "step")
    return integer_num(b, step, (1, LENGTH[1]))


def refuse_out_of_bounds(node: ast.AST) -> NoReturn:
    """Refuses the row `node`, which may be out of bounds."""
    refuse("LOWER_SUBSCRIPT", f"the row `{source_text(node)}` may be out of bounds", node)


def _is_ellipsis(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is ...
