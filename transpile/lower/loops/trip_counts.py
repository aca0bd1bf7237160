"""Trip counts of `range(...)`: start, step and number of iterations.

    range(start, stop, 1)      →  stop - start
    range(start, stop, -1)     →  start - stop
    range(start, stop, 3)      →  (stop - start + 2) // 3
    range(start, stop, step)   →  -((start - stop) // step), for a step that only the call knows

and 0 where that is negative. A step that may be zero is checked, since Python raises there; so is a
trip count that may exceed every length of an array in memory.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Const, Expr

from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...types.int_limits import ARGUMENT, INT64
from ...types.typed_values import Num, bool_op, cast
from ..scalars.tagged_unions import lower_real
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.node_dispatch import refuse_float
from ..state.outer_names import resolve_guarded
from ..state.value_ranges import integer_num, linear_num, max_value, min_value, unclamped

__all__ = ["RangeDomain", "length_of_range", "lower_range"]


_LARGEST_DISTANCE = 1 << 62
_LARGEST_STEP = 1 << 61
"""A distance up to the one and a constant step up to the other have a sum of less than 64 bits."""


@record(frozen=True, slots=True)
class RangeDomain:
    """The iterations of a range.

    ``trips``: their number, >= 0. ``trip_form``: a linear form that equals ``trips`` where that is
    positive; it may be negative where there is no iteration.
    ``element_at``: the element of iteration k, from 0.
    """

    trips: Expr
    trip_form: LinearForm
    element_at: Callable[[LinearForm], Num]


def lower_range(ctx: Lowering, call: ast.Call) -> RangeDomain:
    """The iterations of `call`, a call of ``range``: how many there are, and the element of each.

        range(2, n)  →  trips max(n - 2, 0), linear form n - 2, element 2 + k in iteration k

    `lower_loops.lower_loop` calls it for a ``for``, `length_of_range` for ``len(range(...))``.
    These are required, by guards or checks, unless they are proved:

    - the distance from start to stop does not exceed 64 bits (`_require_distance`);
    - a step that only the call knows is not 0, since Python raises there;
    - the trip count does not exceed the length of any array in memory (`LENGTH`): analyses assume
      it, and int64 arithmetic on it cannot overflow then.

    Raises Refused for arguments that are no ints, and for the constant step 0 or one beyond 2**61.
    """
    args = [_lower_range_argument(ctx, a) for a in call.args]
    if not 1 <= len(args) <= 3:
        refuse("LOWER_UNSUPPORTED", f"`{source_text(call)}` is not a range", call)
    start, stop = (LinearForm(), args[0]) if len(args) == 1 else (args[0], args[1])
    step = args[2] if len(args) == 3 else LinearForm({}, 1)
    if not step.terms and step.constant == 0:
        refuse("LOWER_UNSUPPORTED", "the step of the range is zero", call)
    if not step.terms and abs(step.constant) > _LARGEST_STEP:
        refuse("LOWER_UNSUPPORTED", "the step of the range is too large", call)
    b = ctx.b
    is_constant_step = not step.terms
    _require_distance(ctx, start, stop, step, call)
    if is_constant_step:
        trips, trip_form = _constant_step_trips(ctx, start, stop, step.constant)
    else:
        step_ir = _nonzero_step(ctx, step, call)
        trips = _variable_step_trips(ctx, start - stop, step_ir)
        trip_form = LinearForm.of(trips)
    if max_value(b, trip_form) > LENGTH[1] or min_value(b, trip_form) < INT64[0]:
        _require_trip_limit(ctx, trips, call)
    trips = _nonnegative_trips(ctx, trips, trip_form)
    trip_form = unclamped(b, trip_form)
    if is_constant_step:
        return RangeDomain(trips, trip_form, lambda k: linear_num(b, start + k * step.constant))
    # start + k * step is no linear form, so bounds of the element are given: all elements of a
    # range lie between its start and its stop.
    element_bounds = (
        min(min_value(b, start), min_value(b, stop)),
        max(max_value(b, start), max_value(b, stop)),
    )

    def element_at(k: LinearForm) -> Num:
        """``start + k * step``."""
        offset = Call("mul", (k.expr(), step_ir), "i64")
        element = b.bind(Call("add", (start.expr(), offset), "i64"), "at")
        return integer_num(b, element, element_bounds)

    return RangeDomain(trips, trip_form, element_at)


def _require_distance(
    ctx: Lowering, start: LinearForm, stop: LinearForm, step: LinearForm, call: ast.Call
) -> None:
    """Requires that ``stop - start``, from which the trip count is computed, needs no more than 64
    bits; for other steps than 1 and -1, to whose multiples it is rounded, no more than 63.

        range(p[i], p[i + 1])    p: int64    →    check not sub_over(p[i + 1], p[i])

    Nothing is emitted where the intervals of start and stop prove it.
    """
    b, distance = ctx.b, stop - start
    lo, hi = min_value(b, distance), max_value(b, distance)
    if lo < INT64[0] or hi > INT64[1]:
        overflow = Call("sub_over", (b.bind(stop.expr()), b.bind(start.expr())), "bool")
        require(b, bool_op("not", overflow), "GUARD_INT_RANGE", call)
    is_by_one = not step.terms and abs(step.constant) == 1
    if not is_by_one and (lo < -_LARGEST_DISTANCE or hi > _LARGEST_DISTANCE):
        at, limit = b.bind(distance.expr()), index_const(_LARGEST_DISTANCE)
        lowest = index_const(-_LARGEST_DISTANCE)
        fits = bool_op("and", Call("ge", (at, lowest), "bool"), Call("le", (at, limit), "bool"))
        require(b, fits, "GUARD_INT_RANGE", call)


def _nonnegative_trips(ctx: Lowering, trips: Expr, trip_form: LinearForm) -> Expr:
    """``max(trips, 0)``, simplified, with its interval recorded."""
    b = ctx.b
    if min_value(b, trip_form) < 0:
        if isinstance(trips, Const):
            trips = index_const(max(0, int(trips.value)))
        else:
            trips = Call("max", (trips, index_const(0)), "i64")
    if not isinstance(trips, Const):
        b.ranges.intervals[trips] = (
            max(0, min_value(b, trip_form)),
            min(max(0, max_value(b, trip_form)), LENGTH[1]),
        )
    return trips


def length_of_range(ctx: Lowering, node: ast.expr) -> Num | None:
    """``len(node)`` where `node` is a call of ``range``; None for any other expression."""
    if not isinstance(node, ast.Call) or resolve_guarded(ctx, node.func) is not builtins.range:
        return None
    return integer_num(ctx.b, lower_range(ctx, node).trips)


def _constant_step_trips(
    ctx: Lowering, start: LinearForm, stop: LinearForm, step: int
) -> tuple[Expr, LinearForm]:
    """The trip count of a range with a constant step, and its linear form. Both are <= 0 where the
    range is empty.
    """
    b, stride = ctx.b, abs(step)
    distance = stop - start if step > 0 else start - stop
    if stride == 1:
        return distance.expr(), distance
    dividend = distance + LinearForm({}, stride - 1)  # rounds the quotient up
    if not dividend.terms:
        trips: Expr = index_const(dividend.constant // stride)
    else:
        trips = Call("floordiv", (dividend.expr(), index_const(stride)), "i64")
        bounds = min_value(b, dividend) // stride, max_value(b, dividend) // stride
        b.ranges.intervals[trips] = bounds
    return trips, LinearForm.of(trips)


def _nonzero_step(ctx: Lowering, step: LinearForm, call: ast.Call) -> Expr:
    """The step as IR. Requires that it is not zero, where Python raises; since the quotient may be
    computed before the check, a zero is replaced by 1.
    """
    step_ir, zero = _bind_if_variant(ctx, step.expr(), "step"), index_const(0)
    require(ctx.b, Call("ne", (step_ir, zero), "bool"), "GUARD_RAISES", call)
    safe = Call("select", (Call("eq", (step_ir, zero), "bool"), index_const(1), step_ir), "i64")
    return _bind_if_variant(ctx, safe, "step")


def _variable_step_trips(ctx: Lowering, distance: LinearForm, step: Expr) -> Expr:
    """``-(distance // step)``, where ``distance`` is ``start - stop``: the trip count of a range
    with a step of either sign; <= 0 where the range is empty.
    """
    b = ctx.b
    max_distance = max(abs(min_value(b, distance)), abs(max_value(b, distance)))
    steps = Call("floordiv", (distance.expr(), step), "i64")
    trips = _bind_if_variant(ctx, Call("neg", (steps,), "i64"), "trips")
    b.ranges.intervals[trips] = (-max_distance, max_distance)
    return trips


def _bind_if_variant(ctx: Lowering, e: Expr, hint: str) -> Expr:
    """`e`, bound to a name unless it can be evaluated at kernel entry."""
    return e if ctx.b.known_at_entry(e) else ctx.b.bind(e, hint)


def _require_trip_limit(ctx: Lowering, trips: Expr, node: ast.AST) -> None:
    """Requires that a loop has at most as many iterations as the largest array that fits in memory
    has elements (`LENGTH`).
    """
    require(
        ctx.b, Call("le", (trips, index_const(LENGTH[1])), "bool"), "GUARD_INT_RANGE", node
    )


def _lower_range_argument(ctx: Lowering, node: ast.expr) -> LinearForm:
    """An argument of ``range`` as a linear form. Requires that a uint64 is in `ARGUMENT`, the
    interval in which int arguments must lie. Raises Refused for a float or a bool.
    """
    n = lower_real(ctx, node)
    if n.weak in ("f64", "bool") or (n.strong and DTYPES[n.strong].kind not in "iu"):
        refuse_float(n, node, "LOWER_UNSUPPORTED")
        refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` is not an int", node)
    if n.linear is not None and n.python_int:
        return n.linear
    if n.dtype == "u64":
        value = ctx.b.bind(n.ir, "bound")
        in_range = Call("le", (value, Const(ARGUMENT[1], "u64")), "bool")
        require(ctx.b, in_range, "GUARD_INT_RANGE", node)
        bound = ctx.b.bind(cast(value, "i64"), "bound")
        ctx.b.ranges.intervals[bound] = (0, ARGUMENT[1])
        return LinearForm.of(bound)
    return LinearForm.of(ctx.b.bind(cast(n.ir, "i64"), "bound"))
