"""Accumulators of a loop, and the values of its carried names after it.

The last step of lowering a loop, when `loop_types.py` has settled how each name is carried. A name
has up to three accumulators: its value, its type flag (is it a Python scalar?), and whether it is
bound. With a float64 array ``x``::

    s = 0                      loop k in 0..n with s. = 0.0:
    for i in range(n):     →       step s. = s. + x[k]
        s += x[i]              after it: NumPy float64 `s.` if n > 0, else the Python int 0

If the loop may have no iteration, the value after it has the type from before it in that case. With
a list of floats ``x`` it is a `UnionValue`: the Python float `s.` if n > 0, else the Python int 0;
where unions are not allowed, it is `Unbound` if n is 0, and a read there is replayed.

Parameters of these functions: `carry`, how the name is carried; `init`, its value before the loop;
`end`, its value at the end of an iteration.
"""
from __future__ import annotations

from typing import TypeGuard

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import Bounds
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Accum, Call, Const, Expr, Var

from ...frontend.core_nodes import search_end
from ...types.int_limits import INT64, SAFE_RANGE
from ...types.typed_values import FALSE, TRUE, Num, bool_op, cast, fits_dtype
from ..arrays.capacity_bounds import upper_bound
from ..scalars.scalar_operands import int_as_float
from ..scalars.tagged_unions import union_cases
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.symbol_values import LoopCarried, LoopFrame, Unbound, UnionCase, UnionValue, Value
from ..state.value_ranges import interval_of
from .loop_carried import growth_of, trips_within_range

__all__ = ["flags_of_extrema", "make_accumulators", "search_stop_condition", "value_after_loop"]


def search_stop_condition(
    frame: LoopFrame, carries: dict[str, LoopCarried], accs: list[Accum]
) -> Expr | None:
    """The condition on which a loop that a macro made of ``any`` or ``all`` may stop: its only
    accumulator, a bool, has the value that ends it (`search_end`). None for every other loop, and
    where there are more accumulators.
    """
    end = search_end(frame.node)
    if len(accs) != 1 or end is None:
        return None
    (carry,) = carries.values()
    return carry.var if end else bool_op("not", carry.var)


def make_accumulators(
    ctx: Lowering, carry: LoopCarried, init: Num | Unbound, end: Num | Unbound, frame: LoopFrame
) -> list[Accum]:
    """The accumulators (header phis) of a carried name. Called by `loop_types._build_loop` for each
    name that is no induction variable. They are, in this order:

    - its value: starts as `init` in the accumulator's dtype, steps to `end`. Where the name is
      unbound before the loop, or `init` does not convert, it starts as 0, which is never read;
    - its type flag, if it needs one (`_has_type_flag`): whether the value is a Python scalar;
    - whether it is bound, if it may be unbound after some iteration: starts as false.

        m = 0                    for i in loop(0, n, m=0.0, mpy=True):    (x: float64s)
        for i in range(n):           m_2, m_py = x[i], False  if c[i], else  m, mpy
            if c[i]:             →   m = step(m_2)
                m = x[i]             mpy = step(m_py)
    """
    zero = Const(DTYPES[carry.var.dtype].numpy.type(0).item(), carry.var.dtype)
    start: Expr = zero
    if carry.weak == "u64" and isinstance(init, Num) and init.range[0] < 0:
        is_word = Call("ge", (init.ir, index_const(0)), "bool")
        require(ctx.b, is_word, "GUARD_INT_RANGE", frame.node)
    if _can_convert(init, zero.dtype):
        to_float = DTYPES[zero.dtype].kind == "f"
        start = int_as_float(init, zero.dtype) if to_float else cast(init.ir, zero.dtype)
    is_bound = end.is_bound if isinstance(end, Unbound) else TRUE
    end = end.value or end if isinstance(end, Unbound) else end
    step = carry.var if isinstance(end, Unbound) else cast(end.ir, carry.var.dtype)
    out = [Accum(carry.var.name, start, step)]
    if _has_type_flag(ctx, carry, end, frame):
        assert isinstance(end, Num)
        flag = init.weak_now if isinstance(init, Num) else FALSE
        out.append(Accum(carry.flag.name, flag, end.weak_now))
    if carry.may_be_unbound:
        out.append(Accum(carry.bound.name, FALSE, is_bound or carry.bound))
    return out


def _can_convert(n: Num | Unbound, dtype: str) -> TypeGuard[Num]:
    """Whether `n` is a number that can be converted to `dtype`. A float that may be out of range
    must not be converted to an int.
    """
    if isinstance(n, Unbound):
        return False
    from_float, to_float = DTYPES[n.dtype].kind == "f", DTYPES[dtype].kind == "f"
    return not from_float or to_float or fits_dtype(n.ir, dtype)


def _has_type_flag(ctx: Lowering, carry: LoopCarried, end: Num | Unbound, frame: LoopFrame) -> bool:
    """Whether the name needs an accumulator that tells whether it is a Python scalar. A maximum or
    minimum needs none: its final value tells whether it was replaced (`_keeps_extremum`).
    """
    if not isinstance(end, Num) or (not frame.exits_early and _keeps_extremum(ctx, carry, end)):
        return False
    return carry.has_type_flag or (frame.exits_early and end.either)


def _keeps_extremum(ctx: Lowering, carry: LoopCarried, end: Num) -> bool:
    """Whether the step is ``max(accumulator, e)`` or ``min(accumulator, e)``, or that on some paths
    (`_extremum_of`), and the name stays a NumPy scalar once it is one (`_weak_if_numpy_before`):
    only NumPy scalars replace the value.

    Then no type flag is needed: the name is a NumPy scalar exactly if its final value is greater
    (less) than the initial one.
    """
    if carry.changes_after_first or _extremum_of(ctx, carry.var, end.ir) is None:
        return False
    return _weak_if_numpy_before(ctx, carry, end.weak_now) == FALSE


def _extremum_of(ctx: Lowering, acc: Var, step: Expr) -> str | None:
    """``"max"`` if `step` is ``max(acc, e)`` on some paths of an iteration, and `acc` on the
    others; ``"min"`` likewise; else None. In place of `acc` there may be such a step.

        if v > peak: peak = v
        elif peak - v > worst: worst = peak - v      `worst`: "max"
        high = max(high, v, -v)                      `high`: "max", of "max(max(high, v), -v)"
    """
    match step:
        case Call("max" | "min" as op, (first, _)):
            return op if first == acc or _extremum_of(ctx, acc, first) == op else None
        case Var(name) if name in ctx.b.numbers.phis:
            changing = [e for e in ctx.b.numbers.phis[name] if e != acc]
            ops = {_extremum_of(ctx, acc, e) for e in changing}
            return ops.pop() if len(ops) == 1 else None
        case Var(name) if name in ctx.b.values:
            return _extremum_of(ctx, acc, ctx.b.values[name])
    return None


def _is_initial_value(ctx: Lowering, carry: LoopCarried, init: Num, end: Num) -> Expr:
    """Whether the accumulator of a maximum or minimum (`_keeps_extremum`) is still the Python
    scalar `init`: none of the NumPy values was greater (less).
    """
    better = "gt" if _extremum_of(ctx, carry.var, end.ir) == "max" else "lt"
    replaced = Call(better, (carry.var, cast(init.ir, carry.var.dtype)), "bool")
    return bool_op("and", init.weak_now, bool_op("not", replaced))


def flags_of_extrema(
    ctx: Lowering, carry: LoopCarried, init: Num | Unbound, end: Num | Unbound, frame: LoopFrame
) -> dict[str, Expr]:
    """For a maximum or minimum, whose type flag has no accumulator (`_has_type_flag`): by the name
    of the flag, the expression that replaces it in the loop. Empty for other names. The body may
    read the flag::

        for v in x:              →   mpy  →  not m > 0.0
            m = max(m, v)            (x of float64s, m = 0.0 before the loop)
            out.append(m)
    """
    if not isinstance(end, Num) or not isinstance(init, Num) or not carry.has_type_flag:
        return {}
    if frame.exits_early or not _keeps_extremum(ctx, carry, end):
        return {}
    return {carry.flag.name: _is_initial_value(ctx, carry, init, end)}


def _weak_if_numpy_before(ctx: Lowering, carry: LoopCarried, weak: Expr) -> Expr:
    """The bool `weak`, whether a name is a Python scalar at the end of an iteration, simplified
    under the assumption that it was a NumPy scalar at the start (its type flag is false).
    """
    match weak:
        case Var(name) if weak == carry.flag:
            return FALSE
        case Var(name) if name in ctx.b.values:
            definition = ctx.b.values[name]
            simplified = _weak_if_numpy_before(ctx, carry, definition)
            return weak if simplified == definition else simplified
        case Var(name) if name in ctx.b.numbers.phis:
            sides = (_weak_if_numpy_before(ctx, carry, e) for e in ctx.b.numbers.phis[name])
            return FALSE if all(e == FALSE for e in sides) else weak
        case Call("and" | "or" | "not" as op, args):
            return bool_op(op, *(_weak_if_numpy_before(ctx, carry, a) for a in args))
        case Call("select", (cond, a, b), "bool"):
            a, b = _weak_if_numpy_before(ctx, carry, a), _weak_if_numpy_before(ctx, carry, b)
            return a if a == b else Call("select", (cond, a, b), "bool")
    return weak


def value_after_loop(
    ctx: Lowering,
    carry: LoopCarried,
    init: Num | Unbound,
    end: Num | Unbound,
    frame: LoopFrame,
) -> Value:
    """The value that a carried name has after the loop: its accumulator, with a type, and with the
    condition on which it is bound. `loop_types._build_loop` calls this after `make_accumulators`,
    and binds the name to the result.

        s = 0                          of a float32 array x: the accumulator `s.`, which is a NumPy
        for v in x: s += v        →    float32 if there was an iteration, and else Python's int 0
        return s                       (case 4)

    If the loop has no iteration, the name is what it was before: `init`, or unbound. So the value
    often has two possible types, and a bool that tells which (`Num.is_weak`: it is Python's). The
    first case that applies decides:

    1. unbound before the loop, and on some paths of an iteration: bound where the accumulator
       `bound` says so;
    2. unbound before the loop, and bound by each iteration: bound if there was one
       (`LoopFrame.runs`). Where lowering knows no value at the end of an iteration: unbound;
    3. the loop may exit early, and the name has a type flag: Python's where the flag says so. This
       comes before 4, since the iteration that exits may leave the name as it was: that there was
       an iteration does not tell the type;
    4. Python's in the first iteration, of another type after it: `_value_after_type_change`;
    5. a maximum of a Python `init` and NumPy scalars: NumPy's if it is greater than `init`, since
       then a scalar has replaced it; no flag is needed. A minimum likewise;
    6. the loop does not exit early, and the name has a type flag: Python's where the flag says so;
    7. any other: of the type of the accumulator.
    """
    _note_upper_bound(ctx, carry, init, end)  # for capacities: `capacity_bounds.upper_bound`
    n = Num(carry.var, carry.strong, carry.weak)
    if carry.may_be_unbound:  # 1
        value = (end.value if isinstance(end, Unbound) else end) or Unbound()
        if _has_type_flag(ctx, carry, value, frame):
            n = replace(n, is_weak=carry.flag)
        n = _with_final_range(ctx, n, carry, None, value, frame)
        return Unbound(n, carry.bound)
    if isinstance(init, Unbound):  # 2
        if isinstance(end, Unbound):
            return end  # without a value: one with a value is case 1
        n = replace(n, is_weak=carry.flag if carry.has_type_flag else None)
        n = _with_final_range(ctx, n, carry, None, end, frame)
        return n if frame.runs == TRUE else Unbound(n, frame.runs)
    if (
        frame.exits_early and _has_type_flag(ctx, carry, end, frame)  # 3
        and not (carry.changes_after_first and carry.has_type_flag)
    ):
        assert isinstance(end, Num)
        strong, weak = carry.strong or end.strong, carry.weak or end.weak
        return Num(carry.var, strong, weak, carry.flag, exact=carry.exact and end.exact)
    if carry.changes_after_first:  # 4
        is_weak = carry.flag if carry.has_type_flag else None
        return _value_after_type_change(ctx, carry, init, is_weak, frame.runs)
    if carry.has_type_flag and isinstance(end, Num):
        if _keeps_extremum(ctx, carry, end):  # 5
            return replace(n, is_weak=_is_initial_value(ctx, carry, init, end))
        return replace(n, is_weak=carry.flag)  # 6
    return _with_final_range(ctx, n, carry, init, end, frame)


def _note_upper_bound(
    ctx: Lowering, carry: LoopCarried, init: Num | Unbound, end: Num | Unbound
) -> None:
    """Records an upper bound of an integer accumulator ``m`` whose step is ``max(m, e)``: the
    larger of the upper bounds of `init` and of ``e``, if both are known.
    """
    if isinstance(init, Num) and isinstance(end, Num) and DTYPES[carry.var.dtype].kind in "iu":
        step = end.ir
        while isinstance(step, Var) and step.name in ctx.b.values:
            step = ctx.b.values[step.name]
        match step:
            case Call("max" | "maximum", (first, e)) if first == carry.var:
                sides = upper_bound(ctx.b, init.ir), upper_bound(ctx.b, e)
                if sides[0] is not None and sides[1] is not None:
                    ctx.b.numbers.upper_bounds[carry.var] = Call("max", (sides[0], sides[1]), "i64")


def _value_after_type_change(
    ctx: Lowering, carry: LoopCarried, init: Num, is_weak: Expr | None, runs: Expr
) -> Value:
    """The value after the loop of a Python scalar `init` that has another type after the first
    iteration; `runs` tells whether there was one. After no iteration it still is `init`.
    ``is_weak``: of a value of either type, whether it is Python's.

        s = 0; for v in x: s += v      x a list of floats: a float, or the int 0 if x is empty
                                       x a float32 array: a NumPy float32, or the Python int 0

    Another Python type, or either type: a union; where unions are not allowed
    (`IRBuilder.allows_unions`), the name counts as unbound after no iteration, so that a read there
    is replayed.

    A NumPy type: a scalar of either type. It needs a dtype that holds both. With a float32
    accumulator, and an `init` that is

        0                        float32, the accumulator's dtype: `init` is exact in it (`exact`)
        a float argument         float64, the dtype of `init`: it holds all float32s
        an int argument          float32, marked ``exact=False``, as neither float32 nor int64 holds
                                 all values of the other: users that need it exactly refuse
    """
    no_trip = bool_op("not", runs)
    if carry.strong is None or is_weak is not None:
        after = Num(carry.var, carry.strong, carry.weak, is_weak)
        if runs == TRUE:
            return after
        if not ctx.b.allows_unions:
            return Unbound(after, runs)
        cases = union_cases(ctx.b, after) or ()
        later = (UnionCase(c.value, bool_op("and", runs, c.when)) for c in cases)
        return UnionValue((*later, UnionCase(init, no_trip)))
    if runs == TRUE:
        return Num(carry.var, carry.strong)
    is_python = bool_op("and", no_trip, init.weak_now)
    # zero_trip: conditions on which a scalar is Python's only because a loop had no iteration
    ctx.b.numbers.zero_trip.add(no_trip)
    if carry.exact:
        return Num(carry.var, carry.strong, carry.weak, is_python)
    if not np.can_cast(DTYPES[carry.var.dtype].numpy, DTYPES[init.dtype].numpy):
        return Num(carry.var, carry.strong, carry.weak, is_python, exact=False)
    widened = Call("select", (runs, cast(carry.var, init.dtype), init.ir), init.dtype)
    return Num(widened, carry.strong, carry.weak, is_python)


def _with_final_range(
    ctx: Lowering,
    n: Num,
    carry: LoopCarried,
    init: Num | None,
    end: Num | Unbound,
    frame: LoopFrame,
) -> Num:
    """`n`, the value of the accumulator of `carry` after the loop, with its interval and linear
    form, if it is an int64; any other `n` is returned as it is.

    If the growth in an iteration is bounded, the accumulator stays in the safe range up to some
    trip count (`trips_within_range`). Where the loop may have more iterations, it is required to
    have no more (`require`: by a guard, or by a check where only the kernel knows the trip count).
    Then the value is related to `init` (None: unknown): its distance from it, or its interval if
    `init` is constant.
    """
    if carry.var.dtype != "i64":
        return n
    b = ctx.b
    b.ranges.intervals[carry.var] = SAFE_RANGE if carry.fits_safe_range else INT64
    growth = growth_of(ctx, end, carry.var) if isinstance(end, Num) else None
    if init is not None and growth is not None and carry.fits_safe_range:
        trips = trips_within_range(ctx, growth, init, frame)
        if trips is not None:
            if interval_of(b, frame.trips)[1] > trips:
                in_range = Call("le", (frame.trips, index_const(trips)), "bool")
                require(b, in_range, "GUARD_INT_RANGE", frame.node)
            total = (trips * min(0, growth[0]), trips * max(0, growth[1]))
            _note_distance(ctx, carry.var, init, total)
    return replace(n, linear=LinearForm.of(carry.var), interval=b.ranges.intervals[carry.var])


def _note_distance(ctx: Lowering, var: Var, init: Num, total: Bounds) -> None:
    """Records that ``var - init`` lies in `total`: in `RangeState.deltas` if `init` is one atom of
    linear forms, as the interval of `var` if it is a constant. Nothing for others.
    """
    if init.linear is None:
        return
    ranges = ctx.b.ranges
    if len(init.linear.terms) == 1 and not init.linear.constant:
        ((atom, coefficient),) = init.linear.terms.items()
        if coefficient == 1:
            ranges.deltas[var] = (atom, total)
    elif not init.linear.terms:
        ranges.intervals[var] = (init.interval[0] + total[0], init.interval[1] + total[1])
