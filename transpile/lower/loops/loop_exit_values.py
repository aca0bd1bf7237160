"""Accumulators of a loop, and the values of its carried names after it."""
from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.dtypes import DTYPES
from loopir.nodes import Accum, Call, Const, Expr, Var

from ...frontend.core_nodes import is_search
from ...types.int_limits import ANY, INT64
from ...types.typed_values import FALSE, TRUE, Num, bool_op, cast, fits_dtype
from ..arrays.capacity_bounds import upper_bound
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.symbol_values import LoopCarried, LoopFrame, Unbound, UnionCase, UnionValue, Value
from ..state.value_ranges import interval_of
from .loop_carried import growth_of, trips_within_range

__all__ = ["make_accumulators", "search_stop_condition", "value_after_loop"]


def search_stop_condition(
    frame: LoopFrame, named: dict[str, LoopCarried], accs: list[Accum]
) -> Expr | None:
    """A search, whose macro carries one bool, stops when that is sure."""
    if len(accs) != 1 or not is_search(frame.node):
        return None
    ((name, c),) = named.items()
    return bool_op("not", c.var) if name.startswith("_all") else c.var


def make_accumulators(
    ctx: Lowering, c: LoopCarried, init: Num | Unbound, end: Num | Unbound, frame: LoopFrame
) -> list[Accum]:
    """The accumulators of a carried name: its value, its type flag, whether it is bound."""
    zero = Const(DTYPES[c.var.dtype].numpy.type(0).item(), c.var.dtype)
    start = cast(init.ir, zero.dtype) if _may_start_as(init, zero.dtype) else zero
    set_by_now = end.needed if isinstance(end, Unbound) else TRUE
    end = end.value or end if isinstance(end, Unbound) else end
    step = c.var if isinstance(end, Unbound) else cast(end.ir, c.var.dtype)
    out = [Accum(c.var.name, start, step)]
    if _has_type_flag(ctx, c, end, frame):
        assert isinstance(end, Num)
        flag = init.weak_now if isinstance(init, Num) else FALSE
        out.append(Accum(c.flag.name, flag, end.weak_now))
    if c.may_be_unbound:
        out.append(Accum(c.bound.name, FALSE, set_by_now or c.bound))
    return out


def _may_start_as(n: Num | Unbound, dtype: str) -> TypeGuard[Num]:
    """Whether `n` may be a number of `dtype`: to an int no float is converted that may be none.
    """
    if isinstance(n, Unbound):
        return False
    floats = DTYPES[n.dtype].kind, DTYPES[dtype].kind
    return floats[0] != "f" or floats[1] == "f" or fits_dtype(n.ir, dtype)


def _has_type_flag(ctx: Lowering, c: LoopCarried, end: Num | Unbound, frame: LoopFrame) -> bool:
    """Whether an accumulator tells of the name whether it is a Python scalar."""
    if not isinstance(end, Num) or (not frame.exits and _keeps_extremum(ctx, c, end)):
        return False
    return c.has_type_flag or (frame.exits and end.either)


def _keeps_extremum(ctx: Lowering, c: LoopCarried, end: Num) -> bool:
    """Whether the step is ``max(acc, NumPy value)``: the final value tells if it ever won."""
    match end.ir:
        case Call("max" | "min", (first, _), _) if first == c.var:
            return _weak_after_step(ctx, c, end.weak_now) == FALSE
        case _:
            return False


def _weak_after_step(ctx: Lowering, c: LoopCarried, weak: Expr) -> Expr:
    """When a name is Python's though it was not before the step."""
    match weak:
        case Var(name) if weak == c.flag:
            return FALSE
        case Var(name) if name in ctx.b.values:
            known = ctx.b.values[name]
            return weak if (found := _weak_after_step(ctx, c, known)) == known else found
        case Call("and" | "or" | "not" as op, args):
            return bool_op(op, *(_weak_after_step(ctx, c, a) for a in args))
        case Call("select", (cond, a, b), "bool"):
            a, b = _weak_after_step(ctx, c, a), _weak_after_step(ctx, c, b)
            return a if a == b else Call("select", (cond, a, b), "bool")
    return weak


def value_after_loop(
    ctx: Lowering,
    name: str,
    c: LoopCarried,
    init: Num | Unbound,
    end: Num | Unbound,
    frame: LoopFrame,
) -> Value:
    """What a carried name is after the loop, by its values before it and at an iteration's end."""
    some = frame.some
    _note_upper_bound(ctx, c, init, end)
    n = Num(c.var, c.strong, c.weak)
    if c.may_be_unbound:
        value = end.value if isinstance(end, Unbound) else end
        return Unbound(_with_final_range(ctx, n, c, None, value or Unbound(), frame), c.bound)
    if isinstance(init, Unbound):
        if isinstance(end, Unbound):
            return end
        n = replace(n, is_weak=c.flag if c.has_type_flag else None)
        return (
            _with_final_range(ctx, n, c, None, end, frame)
            if some == TRUE
            else Unbound(_with_final_range(ctx, n, c, None, end, frame), some)
        )
    if frame.exits and _has_type_flag(ctx, c, end, frame):
        assert isinstance(end, Num)
        return Num(c.var, end.strong, end.weak, c.flag, exact=end.exact)
    if c.changes_after_first:
        return _first_iteration_value(ctx, c, init, some)
    if c.has_type_flag and isinstance(end, Num):
        if _keeps_extremum(ctx, c, end):
            assert isinstance(end.ir, Call)
            better = "gt" if end.ir.op == "max" else "lt"
            replaced = Call(better, (c.var, cast(init.ir, c.var.dtype)), "bool")
            return replace(n, is_weak=bool_op("and", init.weak_now, bool_op("not", replaced)))
        return replace(n, is_weak=c.flag)
    return _with_final_range(ctx, n, c, init, end, frame)


def _note_upper_bound(
    ctx: Lowering, c: LoopCarried, init: Num | Unbound, end: Num | Unbound
) -> None:
    """For an integer accumulator ``c = max(c, e)``, note an upper bound: the larger of the upper
    bounds of `init` and of ``e``.
    """
    if isinstance(init, Num) and isinstance(end, Num) and DTYPES[c.var.dtype].kind in "iu":
        step = end.ir
        while isinstance(step, Var) and step.name in ctx.b.values:
            step = ctx.b.values[step.name]
        match step:
            case Call("max" | "maximum", (first, e)) if first == c.var:
                sides = upper_bound(ctx.b, init.ir), upper_bound(ctx.b, e)
                if sides[0] is not None and sides[1] is not None:
                    ctx.b.numbers.upper_bounds[c.var] = Call("max", (sides[0], sides[1]), "i64")


def _first_iteration_value(ctx: Lowering, c: LoopCarried, init: Num, some: Expr) -> Value:
    """A Python scalar before the loop that its first iteration turns into something else."""
    if c.strong is None:
        after = Num(c.var, None, c.weak)
        if some == TRUE:
            return after
        if not ctx.b.allows_unions:
            return Unbound(after, some)
        return UnionValue((UnionCase(after, some), UnionCase(init, bool_op("not", some))))
    if some == TRUE:
        return Num(c.var, c.strong)
    empty = bool_op("and", bool_op("not", some), init.weak_now)
    ctx.b.numbers.zero_trip.add(bool_op("not", some))
    if c.exact:
        return Num(c.var, c.strong, c.weak, empty)
    if not np.can_cast(DTYPES[c.var.dtype].numpy, DTYPES[init.dtype].numpy):
        return Num(c.var, c.strong, c.weak, empty, exact=False)
    wide = Call("select", (some, cast(c.var, init.dtype), init.ir), init.dtype)
    return Num(wide, c.strong, c.weak, empty)


def _with_final_range(
    ctx: Lowering,
    n: Num,
    c: LoopCarried,
    init: Num | None,
    end: Num | Unbound,
    frame: LoopFrame,
) -> Num:
    """`n` with what is known of an integer accumulator after the loop."""
    if c.var.dtype != "i64":
        return n
    b = ctx.b
    b.ranges.intervals[c.var] = ANY if c.fits_safe_range else INT64
    total = growth_of(ctx, end, c.var) if isinstance(end, Num) else None
    if init is not None and total is not None and c.fits_safe_range:
        trips = trips_within_range(ctx, total, init, frame)
        if trips is not None:
            if interval_of(b, frame.trips)[1] > trips:
                require(
                    b, Call("le", (frame.trips, index_const(trips)), "bool"),
                    "GUARD_INT_RANGE",
                    frame.node,
                )
            grown = (trips * min(0, total[0]), trips * max(0, total[1]))
            if (
                init.linear is not None
                and len(init.linear.terms) == 1
                and not init.linear.constant
            ):
                ((atom, k),) = init.linear.terms.items()
                if k == 1:
                    b.ranges.deltas[c.var] = (atom, grown)
            elif init.linear is not None and not init.linear.terms:
                b.ranges.intervals[c.var] = (
                    init.interval[0] + grown[0],
                    init.interval[1] + grown[1],
                )
    return replace(n, linear=LinearForm.of(c.var), interval=b.ranges.intervals[c.var])
