"""Trip counts of `range(...)`: start, step and number of iterations."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.analysis.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Const, Expr

from ...frontend.refusal import refuse
from ...types.int_limits import INT64
from ...types.typed_values import Num, cast
from ..scalars.tagged_unions import lower_real
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_guarded
from ..state.value_ranges import integer_num, linear_num, max_value, min_value

__all__ = ["RangeDomain", "length_of_range", "lower_range"]


@record(frozen=True, slots=True)
class RangeDomain:
    """What a range runs over.

    ``trips``: how many iterations. ``count``: the linear form of that, where it is positive.
    ``at``: the number of an iteration to its element.
    """

    trips: Expr
    count: LinearForm
    at: Callable[[LinearForm], Num]


def lower_range(ctx: Lowering, call: ast.Call) -> RangeDomain:
    """The domain of a call of ``range``."""
    args = [_lower_range_argument(ctx, a) for a in call.args]
    if not 1 <= len(args) <= 3:
        refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(call)}` is not a range", call)
    start, stop = (LinearForm(), args[0]) if len(args) == 1 else (args[0], args[1])
    step = args[2] if len(args) == 3 else LinearForm({}, 1)
    if not step.terms and step.constant == 0:
        refuse("LOWER_UNSUPPORTED", "the step of the range is zero", call)
    b = ctx.b
    if step.terms:
        by = _nonzero_step(ctx, step, call)
        trips, count = _variable_step_trips(ctx, start - stop, by), None
    else:
        trips, count = _constant_step_trips(ctx, start, stop, step.constant)
    count = count or LinearForm.of(trips)
    if max_value(b, count) > LENGTH[1] or min_value(b, count) < INT64[0]:
        _require_trip_limit(ctx, trips, call)
    if min_value(b, count) < 0:
        trips = (
            index_const(max(0, int(trips.value)))
            if isinstance(trips, Const)
            else Call("max", (trips, index_const(0)), "i64")
        )
    if not isinstance(trips, Const):
        b.ranges.intervals[trips] = (
            max(0, min_value(b, count)),
            min(max(0, max_value(b, count)), LENGTH[1]),
        )
    if not step.terms:
        return RangeDomain(trips, count, lambda k: linear_num(b, start + k * step.constant))
    ends = (
        min(min_value(b, start), min_value(b, stop)),
        max(max_value(b, start), max_value(b, stop)),
    )

    def at(k: LinearForm) -> Num:
        gone = Call("mul", (k.expr(), by), "i64")
        return integer_num(b, b.bind(Call("add", (start.expr(), gone), "i64"), "at"), ends)

    return RangeDomain(trips, count, at)


def length_of_range(ctx: Lowering, node: ast.expr) -> Num | None:
    """The length of a range; None for anything else."""
    if not isinstance(node, ast.Call) or resolve_guarded(ctx, node.func) is not builtins.range:
        return None
    return integer_num(ctx.b, lower_range(ctx, node).trips)


def _constant_step_trips(
    ctx: Lowering, start: LinearForm, stop: LinearForm, step: int
) -> tuple[Expr, LinearForm]:
    """How many constant steps there are, if any."""
    b = ctx.b
    span_ = stop - start if step > 0 else start - stop
    if abs(step) == 1:
        return span_.expr(), span_
    ceil = span_ + LinearForm({}, abs(step) - 1)
    trips = (
        Call("floordiv", (ceil.expr(), index_const(abs(step))), "i64")
        if ceil.terms
        else index_const(ceil.constant // abs(step))
    )
    if not isinstance(trips, Const):
        b.ranges.intervals[trips] = min_value(b, ceil) // abs(step), max_value(b, ceil) // abs(step)
    return trips, LinearForm.of(trips)


def _nonzero_step(ctx: Lowering, step: LinearForm, call: ast.Call) -> Expr:
    """The step; where it is zero Python raises."""
    by, zero = _bind_if_variant(ctx, step.expr(), "step"), index_const(0)
    require(ctx.b, Call("ne", (by, zero), "bool"), "GUARD_RAISES", call)
    safe = Call("select", (Call("eq", (by, zero), "bool"), index_const(1), by), "i64")
    return _bind_if_variant(ctx, safe, "step")


def _variable_step_trips(ctx: Lowering, back: LinearForm, step: Expr) -> Expr:
    """How many steps lead from ``back`` to zero, if any, whichever way they go."""
    b = ctx.b
    widest = max(abs(min_value(b, back)), abs(max_value(b, back)))
    steps = Call("floordiv", (back.expr(), step), "i64")
    trips = _bind_if_variant(ctx, Call("neg", (steps,), "i64"), "trips")
    b.ranges.intervals[trips] = (-widest, widest)
    return trips


def _bind_if_variant(ctx: Lowering, e: Expr, hint: str) -> Expr:
    """`e` under a name, where it cannot be evaluated before the first statement."""
    return e if ctx.b.invariant(e) else ctx.b.bind(e, hint)


def _require_trip_limit(ctx: Lowering, trips: Expr, node: ast.AST) -> None:
    """Loops longer than memory are Python's."""
    require(
        ctx.b, Call("le", (trips, index_const(LENGTH[1])), "bool"), "GUARD_INT_RANGE", node
    )


def _lower_range_argument(ctx: Lowering, node: ast.expr) -> LinearForm:
    n = lower_real(ctx, node)
    if (
        n.weak in ("f64", "bool")
        or (n.strong and DTYPES[n.strong].kind not in "iu")
        or n.dtype == "u64"
    ):
        refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is not an int", node)
    if n.linear is not None and n.python_int:
        return n.linear
    return LinearForm.of(ctx.b.bind(cast(n.ir, "i64"), "bound"))
