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
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_guarded

__all__ = [
    "RangeDomain", "bind_if_variant", "constant_step_trips", "length_of_range", "lower_range",
    "lower_range_argument", "nonzero_step", "require_trip_limit", "variable_step_trips",
]


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
    args = [lower_range_argument(ctx, a) for a in call.args]
    if not 1 <= len(args) <= 3:
        refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(call)}` is not a range", call)
    start, stop = (LinearForm(), args[0]) if len(args) == 1 else (args[0], args[1])
    step = args[2] if len(args) == 3 else LinearForm({}, 1)
    if not step.terms and step.constant == 0:
        refuse("LOWER_UNSUPPORTED", "the step of the range is zero", call)
    b = ctx.b
    if step.terms:
        by = nonzero_step(ctx, step, call)
        trips, count = variable_step_trips(ctx, start - stop, by), None
    else:
        trips, count = constant_step_trips(ctx, start, stop, step.constant)
    count = count or LinearForm.of(trips)
    if b.high(count) > LENGTH[1] or b.low(count) < INT64[0]:
        require_trip_limit(ctx, trips, call)
    if b.low(count) < 0:
        trips = (
            index_const(max(0, int(trips.value)))
            if isinstance(trips, Const)
            else Call("max", (trips, index_const(0)), "i64")
        )
    if not isinstance(trips, Const):
        b.intervals[trips] = (max(0, b.low(count)), min(max(0, b.high(count)), LENGTH[1]))
    if not step.terms:
        return RangeDomain(trips, count, lambda k: b.from_linear(start + k * step.constant))
    ends = min(b.low(start), b.low(stop)), max(b.high(start), b.high(stop))

    def at(k: LinearForm) -> Num:
        gone = Call("mul", (k.expr(), by), "i64")
        return b.integer_num(b.bind(Call("add", (start.expr(), gone), "i64"), "at"), ends)

    return RangeDomain(trips, count, at)


def length_of_range(ctx: Lowering, node: ast.expr) -> Num | None:
    """The length of a range; None for anything else."""
    if not isinstance(node, ast.Call) or resolve_guarded(ctx, node.func) is not builtins.range:
        return None
    return ctx.b.integer_num(lower_range(ctx, node).trips)


def constant_step_trips(
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
        b.intervals[trips] = b.low(ceil) // abs(step), b.high(ceil) // abs(step)
    return trips, LinearForm.of(trips)


def nonzero_step(ctx: Lowering, step: LinearForm, call: ast.Call) -> Expr:
    """The step; where it is zero Python raises."""
    by, zero = bind_if_variant(ctx, step.expr(), "step"), index_const(0)
    ctx.b.require(Call("ne", (by, zero), "bool"), "GUARD_RAISES", call)
    safe = Call("select", (Call("eq", (by, zero), "bool"), index_const(1), by), "i64")
    return bind_if_variant(ctx, safe, "step")


def variable_step_trips(ctx: Lowering, back: LinearForm, step: Expr) -> Expr:
    """How many steps lead from ``back`` to zero, if any, whichever way they go."""
    b = ctx.b
    widest = max(abs(b.low(back)), abs(b.high(back)))
    steps = Call("floordiv", (back.expr(), step), "i64")
    trips = bind_if_variant(ctx, Call("neg", (steps,), "i64"), "trips")
    b.intervals[trips] = (-widest, widest)
    return trips


def bind_if_variant(ctx: Lowering, e: Expr, hint: str) -> Expr:
    """`e` under a name, where it cannot be evaluated before the first statement."""
    return e if ctx.b.invariant(e) else ctx.b.bind(e, hint)


def require_trip_limit(ctx: Lowering, trips: Expr, node: ast.AST) -> None:
    """Loops longer than memory are Python's."""
    ctx.b.require(
        Call("le", (trips, index_const(LENGTH[1])), "bool"), "GUARD_INT_RANGE", node
    )


def lower_range_argument(ctx: Lowering, node: ast.expr) -> LinearForm:
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
