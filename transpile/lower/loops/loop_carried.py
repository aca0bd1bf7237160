"""Loop-carried values: their types, value ranges and induction variables."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.analysis.intervals import LENGTH
from loopir.nodes import Call, Const, Expr, Var

from ...frontend.refusal import refuse
from ...types.int_limits import ANY, ENDLESS, INT64
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op, converts_exactly
from ..complex.complex_split import NeedsComplexSplit
from ..lower_names import lower_name
from ..scalars.tagged_unions import MAX_CASES, NewCarriedTypes, case_type, union_cases
from ..state.lowering_state import Lowering
from ..state.symbol_values import LoopCarried, LoopFrame, Unbound, UnionValue, Value
from ..state.value_ranges import interval_of, linear_num, max_value, min_value

__all__ = [
    "entry_value", "first_guess", "growth_from", "growth_of", "induction_value", "initial_value",
    "raise_new_types", "refine_carried", "trips_within_range",
]


def _induction_step(init: Num, end: Num, var: Var, longest: int) -> int | None:
    """By how much each iteration, of `longest` at most, changes a Python int that is `init` before
    the loop and `end` after an iteration that began with `var`; None where that is not a constant.
    """
    if init.linear is None or end.linear is None or not (init.python_int and end.python_int):
        return None
    step = end.linear - LinearForm.of(var)
    if step.terms:
        return None
    reach = [bound + step.constant * longest for bound in init.interval]
    return step.constant if INT64[0] <= min(reach) and max(reach) <= INT64[1] else None


def induction_value(init: Num, step: int, iterations: LinearForm) -> LinearForm:
    """The value after so many iterations."""
    assert init.linear is not None
    return init.linear + iterations * step


def _becomes_numpy_in_first(init: Num, end: Num, var: Var, still: Expr) -> bool:
    """Whether the first iteration makes a NumPy scalar, for good, of a Python scalar `init` whose
    accumulator is `var`; `still` says that it is Python's when an iteration starts.
    """
    if not isinstance(init.ir, Const) or init.strong or not end.either:
        return False
    first = _with_known_names(end.weak_now, {var: init.ir, still: TRUE})
    return first == FALSE and _with_known_names(end.weak_now, {still: FALSE}) == FALSE


def _with_known_names(e: Expr, values: dict[Expr, Const]) -> Expr:
    """A bool expression where some names are known."""
    if e in values:
        return values[e]
    if isinstance(e, Call) and e.op in ("and", "or", "not"):
        return bool_op(e.op, *(_with_known_names(a, values) for a in e.args))
    return e


_SAFE_TRIPS = 1 << 31


def initial_value(
    ctx: Lowering, name: str, node: ast.For | ast.While
) -> Num | Unbound | UnionValue:
    """What `name` is before the loop `node`. Raises NeedsComplexSplit for a complex number."""
    got: Value | None = ctx.b.env.get(name)
    if got is None and name in ctx.arguments:
        got = lower_name(ctx, name, node)
    if isinstance(got, UnionValue) or (isinstance(got, Unbound) and got.value is not None):
        return got
    if isinstance(got, ComplexPair):
        raise NeedsComplexSplit(name, python=got.strong is None)
    return got if isinstance(got, Num) else Unbound()


def first_guess(
    ctx: Lowering, name: str, init: Num | Unbound, absorbing: str | None
) -> LoopCarried:
    """How `name` is carried if its type stays as before the loop, or absorbs into a dtype."""
    var = Var(f"{name}.", init.dtype if isinstance(init, Num) else "i64")
    if (
        absorbing
        and isinstance(init, Num)
        and init.weak in ("i64", "f64")
        and converts_exactly(init.ir, absorbing)
    ):
        return LoopCarried(replace(var, dtype=absorbing), absorbing, init.weak, has_type_flag=True)
    if isinstance(init, Num):
        return LoopCarried(var, init.strong, init.weak, has_type_flag=init.either, exact=init.exact)
    return LoopCarried(var, None, "i64")


def entry_value(ctx: Lowering, carry: LoopCarried, init: Num | Unbound, frame: LoopFrame) -> Value:
    """The name's value at the start of an iteration."""
    if isinstance(init, Unbound):
        known = Num(carry.var, carry.strong, carry.weak)
        return Unbound(known, carry.bound) if carry.may_be_unbound else Unbound()
    if carry.step is not None:
        return linear_num(ctx.b, induction_value(init, carry.step, LinearForm.of(frame.var)))
    n = Num(carry.var, carry.strong, carry.weak, exact=carry.exact)
    ctx.b.numbers.accumulators.add(carry.var)
    if carry.changes_after_first and carry.weak:
        n = replace(n, is_weak=bool_op("and", _is_first_iteration(frame), init.weak_now))
        ctx.b.numbers.starts[carry.var] = init
    elif carry.has_type_flag:
        n = replace(n, is_weak=carry.flag)
    if carry.var.dtype == "i64":
        interval = ANY if carry.fits_safe_range else INT64
        ctx.b.ranges.intervals[carry.var] = interval
        n = replace(n, linear=LinearForm.of(carry.var), interval=interval)
    return n


def refine_carried(
    ctx: Lowering,
    name: str,
    carry: LoopCarried,
    init: Num | Unbound,
    end: Num | Unbound,
    stay: Num | Unbound,
    frame: LoopFrame,
) -> LoopCarried:
    """What is known of `carry` when an iteration ends with `end`, or `stay` if it is not the
    last.
    """
    if isinstance(end, Unbound) and end.value is not None and isinstance(init, Unbound):
        carry, end = replace(carry, may_be_unbound=True), end.value
    if isinstance(end, Unbound):
        return carry
    if end.boxed:
        refuse("LOWER_TYPE", f"`{name}` is a 0-d array, not a scalar", frame.node)
    if isinstance(init, Unbound):
        return replace(
            carry,
            var=replace(carry.var, dtype=end.dtype),
            strong=end.strong,
            weak=end.weak,
            has_type_flag=end.either,
            fits_safe_range=ANY[0] <= end.interval[0] and end.interval[1] <= ANY[1],
        )
    if not isinstance(stay, Num) or stay.dtype != end.dtype:
        stay = end
    if carry.step is not None:
        now = induction_value(init, carry.step, LinearForm.of(frame.var))
        still = stay.linear is not None and stay.linear - now == LinearForm({}, carry.step)
        return carry if still else replace(carry, step=None)
    longest = ENDLESS[1] if isinstance(frame.node, ast.While) else LENGTH[1]
    step = None if name in ctx.lists.counters else _induction_step(init, stay, carry.var, longest)
    if step is not None:
        return replace(carry, step=step)
    carry = _retype_carried(ctx, name, carry, init, stay, frame)
    if carry.var.dtype == "i64" and carry.fits_safe_range and end.linear is not None:
        total = growth_of(ctx, end, carry.var)
        return replace(
            carry,
            fits_safe_range=(
                total is not None and trips_within_range(ctx, total, init, frame) is not None
            ),
        )
    if carry.var.dtype == "i64" and carry.fits_safe_range and name not in ctx.lists.counters:
        return replace(carry, fits_safe_range=end.ir == carry.var)
    return carry


def _retype_carried(
    ctx: Lowering, name: str, carry: LoopCarried, init: Num, end: Num, frame: LoopFrame
) -> LoopCarried:
    """`carry` with the types of a name that is `init` before the loop and `end` after an iteration.

    The first case that applies decides. A Python type is "weak", a NumPy type "strong"; a value
    that has both is of either, depending on the data.

    ==================================================  ========================================
    before the loop → after an iteration                carried as
    ==================================================  ========================================
    same types and dtype, not either                    that type
    two different NumPy types                           new types
    two different Python types, the start exactly       the later type; the type changes after
    representable in the later one, no NumPy type       the first iteration
    two different Python types otherwise                new types
    Python → NumPy, or NumPy for good after the first   the later type; the type changes after
    iteration                                           the first iteration
    either, the start not exactly representable         new types
    either otherwise                                    either, with a type flag
    ==================================================  ========================================

    "New types": raises NewCarriedTypes, or Refused where they cannot be carried as a union. With a
    float64 array ``x``, ``s = 0; for …: s += x[i]`` starts as a Python int and becomes a NumPy
    float64 in the first iteration: it is carried as a float64 that changes after the first one.
    """
    node = frame.node
    if end.types == init.types and not end.either and end.dtype == init.dtype:
        return replace(
            carry, var=replace(carry.var, dtype=end.dtype), strong=end.strong, weak=end.weak
        )
    if init.strong and end.strong and init.strong != end.strong:
        said = f"`{name}` is {init.strong} before the loop and {end.strong} after it"
        raise_new_types(ctx, name, (init, end), said, node)
    if init.weak and end.weak and init.weak != end.weak:
        if converts_exactly(init.ir, end.dtype) and not init.strong and not end.strong:
            return replace(
                carry, var=replace(carry.var, dtype=end.dtype), weak=end.weak,
                changes_after_first=True,
            )
        said = f"the type of `{name}` changes in the loop"
        raise_new_types(ctx, name, (init, end), said, node)
    strong, weak = end.strong or init.strong, end.weak or init.weak
    held = init.dtype == end.dtype or converts_exactly(init.ir, end.dtype)
    still = _is_first_iteration(frame) if carry.changes_after_first else carry.flag
    if init.weak and (not end.weak or _becomes_numpy_in_first(init, end, carry.var, still)):
        return replace(
            carry,
            var=replace(carry.var, dtype=end.dtype),
            strong=strong,
            weak=weak,
            changes_after_first=True,
            has_type_flag=False,
            exact=held,
        )
    if not held:
        said = f"`{name}` may be a Python or a NumPy number, depending on the data"
        raise_new_types(ctx, name, (init, end), said, node)
    # `end.strong` may be narrower than `end.dtype`. It is tried first, before the name is flagged;
    # the next round of the fixpoint, with the flag, widens it again if need be.
    narrow = end.dtype
    if end.strong and not carry.has_type_flag and converts_exactly(init.ir, end.strong):
        narrow = end.strong
    return replace(
        carry, var=replace(carry.var, dtype=narrow), strong=strong, weak=weak, has_type_flag=True,
        changes_after_first=False,
    )


def raise_new_types(
    ctx: Lowering, name: str, values: Sequence[Value], said: str, node: ast.AST
) -> NoReturn:
    """The name has all these values in a loop: it is of several types, or refused."""
    cases = [union_cases(ctx.b, v) for v in values]
    kinds = dict.fromkeys(case_type(c.value) for of in cases for c in of or ())
    if None in cases or len(kinds) > MAX_CASES or not ctx.b.allows_unions:
        refuse("LOWER_JOIN", said, node)
    raise NewCarriedTypes(name, kinds)


def growth_from(ctx: Lowering, linear: LinearForm | None, base: Expr) -> tuple[int, int] | None:
    """An interval of ``linear - base``; None where it is not known."""
    if linear is None:
        return None
    lo = hi = 0
    while True:
        known = [
            a for a, c in linear.terms.items() if c == 1 and a in ctx.b.ranges.deltas and a != base
        ]
        if not known:
            break
        origin, (dlo, dhi) = ctx.b.ranges.deltas[known[0]]
        linear, lo, hi = linear.substitute(known[0], LinearForm.of(origin)), lo + dlo, hi + dhi
    rest = linear - LinearForm.of(base)
    if base in rest.terms:
        return None
    return lo + min_value(ctx.b, rest), hi + max_value(ctx.b, rest)


def growth_of(ctx: Lowering, end: Num, var: Var) -> tuple[int, int] | None:
    """An interval of what an iteration adds to the accumulator `var`; None if it is unknown."""
    return growth_from(ctx, end.linear, var)


def trips_within_range(
    ctx: Lowering, step: tuple[int, int], init: Num, frame: LoopFrame
) -> int | None:
    """The trip count up to which an accumulator with these steps stays in its interval."""
    lo, hi = min(0, step[0]), max(0, step[1])
    start = init.interval if init.linear is not None else INT64
    longest = interval_of(ctx.b, frame.trips)[1]
    if isinstance(frame.node, ast.While):
        reached = start[0] + longest * lo >= ANY[0] and start[1] + longest * hi <= ANY[1]
        return longest if reached else None
    longest = min(LENGTH[1], longest)
    for trips in (min(longest, _SAFE_TRIPS),) if ctx.b.path.frames else (longest, _SAFE_TRIPS):
        if start[0] + trips * lo >= ANY[0] and start[1] + trips * hi <= ANY[1]:
            return trips
        if (
            start == ANY and trips * max(-lo, hi) < ANY[1]
        ):  # the enclosing loop answers for the sum
            return trips
    return None


def _is_first_iteration(frame: LoopFrame) -> Expr:
    """Whether it is the loop's first iteration."""
    return Call("eq", (frame.var, index_const(0)), "bool")
