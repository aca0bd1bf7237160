"""Loop-carried values: their types, value ranges and induction variables.

The functions here do one round of the fixpoint of `loop_types.py`, for one name. A `LoopCarried` is
the current guess of how the loop carries the name. `entry_value` gives the value that the guess
implies at the start of an iteration; then `loop_types` lowers the body; and `refine_carried`
returns the guess, corrected where the value at the end of the iteration contradicts it::

    s = 0                    # initial value: Python int
    k = 10                   # initial value: Python int
    for i in range(n):
        s += x[i]            # end: NumPy float64 -> s is a float64 after the first iteration
        k += 2               # end: k + 2         -> k is the induction variable 10 + 2 * iteration

Refinement generalizes: an induction variable becomes an accumulator, a type becomes a more general
one, a value in the safe range of ints becomes any int64. With one exception: the dtype of a value
that is Python's or NumPy's by a type flag may become narrower again (row 7 of `_retype_carried`).
So `loop_types` bounds the number of rounds.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn, TypeAlias

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record, replace
from loopir.nodes import Call, Const, Expr, Var

from ...frontend.refusal import refuse
from ...types.int_limits import ENDLESS, INT64, SAFE_RANGE
from ...types.phi import common_dtype
from ...types.typed_values import (
    FALSE,
    TRUE,
    ComplexPair,
    Num,
    bool_op,
    cast,
    converts_exactly,
)
from ..arrays.alias_states import AliasGroup, may_be_array
from ..complex.complex_split import NeedsComplexSplit
from ..lower_names import lower_name
from ..scalars.tagged_unions import MAX_CASES, CarriedUnion, NewCarriedTypes, case_type, union_cases
from ..state.generated_names import counter_name
from ..state.lowering_state import Lowering
from ..state.symbol_values import LoopCarried, LoopFrame, Unbound, UnionCase, UnionValue, Value
from ..state.value_ranges import interval_of, linear_num, max_value, min_value

__all__ = [
    "CarriedGroup", "CarriedLoop", "entry_value", "first_guess", "growth_from", "growth_of",
    "induction_value", "initial_value", "largest_trip_count", "progression_fits",
    "raise_new_types", "refine_carried", "trips_within_range",
]


CarriedGroup: TypeAlias = CarriedUnion | AliasGroup
"""Names that need several accumulators: one name of several types, or names of arrays."""


@record(frozen=True, slots=True)
class CarriedLoop:
    """A loop, and the names that it carries.

    ``frame``: the loop. ``groups``: the names that need several accumulators each.
    ``inits``: the value before the loop of each carried name; in place of the names of a group, of
    each accumulator of the group. ``live``: the names that are live at the end of an iteration.
    ``may_alias``: whether names that the body binds to one of several arrays may join the
    AliasGroup; not if its states could not be enumerated.
    """

    frame: LoopFrame
    groups: Sequence[CarriedGroup]
    inits: dict[str, Num | Unbound]
    live: frozenset[str]
    may_alias: bool


def _induction_step(init: Num, end: Num, var: Var, max_trips: int) -> int | None:
    """The constant that each iteration adds to a Python int; None where it adds no constant, or the
    int may leave 64 bits within `max_trips` iterations.

    `init`: its value before the loop; `end`: at the end of an iteration that starts with `var`.
    """
    if init.linear is None or end.linear is None or not (init.python_int and end.python_int):
        return None
    step = end.linear - LinearForm.of(var)
    fits = not step.terms and progression_fits(init, step.constant, max_trips)
    return step.constant if fits else None


def progression_fits(init: Num, step: int, max_trips: int) -> bool:
    """Whether an int that starts as `init` and grows by `step` in each of `max_trips` iterations
    stays in 64 bits. False where `init` has no linear form.
    """
    final = [bound + step * max_trips for bound in init.interval]
    return init.linear is not None and INT64[0] <= min(final) and max(final) <= INT64[1]


def largest_trip_count(node: ast.For | ast.While) -> int:
    """A bound on the iterations of `node`: of a ``for``, the greatest length (`LENGTH`), which
    `lower_range` requires; of a ``while``, more than can ever run (`ENDLESS`).
    """
    return ENDLESS[1] if isinstance(node, ast.While) else LENGTH[1]


def induction_value(init: Num, step: int, iterations: LinearForm) -> LinearForm:
    """The value of an induction variable after `iterations`: ``init + iterations * step``."""
    assert init.linear is not None
    return init.linear + iterations * step


def _becomes_numpy_in_first(init: Num, end: Num, var: Var, is_python: Expr) -> bool:
    """Whether the Python constant `init` certainly becomes a NumPy scalar in the first iteration,
    and stays one in all later ones.

    `end`: its value at the end of an iteration that starts with `var`; `is_python`: a bool, whether
    it is a Python scalar at the start.
    """
    if not isinstance(init.ir, Const) or init.strong or not end.either:
        return False
    after_first = _substitute_bools(end.weak_now, {var: init.ir, is_python: TRUE})
    return after_first == FALSE and _substitute_bools(end.weak_now, {is_python: FALSE}) == FALSE


def _substitute_bools(e: Expr, values: dict[Expr, Const]) -> Expr:
    """The bool expression `e` with the operands in `values` replaced, folded."""
    if e in values:
        return values[e]
    if isinstance(e, Call) and e.op in ("and", "or", "not"):
        return bool_op(e.op, *(_substitute_bools(a, values) for a in e.args))
    return e


_SAFE_TRIPS = 1 << 31
"""Where an accumulator could overflow in more iterations than this, a guard limits the trip count.
"""


def initial_value(
    ctx: Lowering, name: str, node: ast.For | ast.While
) -> Num | Unbound | UnionValue:
    """The value of `name` before the loop `node`; Unbound() also for an array, a list or a tuple.
    Raises NeedsComplexSplit for a complex number.
    """
    value: Value | None = ctx.b.env.get(name)
    if value is None and name in ctx.arguments:
        value = lower_name(ctx, name, node)
    if isinstance(value, UnionValue) or (isinstance(value, Unbound) and value.value is not None):
        return value
    if isinstance(value, ComplexPair):
        raise NeedsComplexSplit(name, python=value.strong is None)
    return value if isinstance(value, Num) else Unbound()


def first_guess(name: str, init: Num | Unbound, numpy_dtype: str | None) -> LoopCarried:
    """The guess from which the fixpoint starts: the type of `init`, the value before the loop; for
    an unbound name a Python int. ``numpy_dtype`` is that of one of the function's arrays, which
    `_initial_guesses` tries in turn, or None. With one that holds the Python constant `init`
    exactly: an accumulator of that dtype, which is Python's or NumPy's by a type flag.
    """
    var = Var(f"{name}.", init.dtype if isinstance(init, Num) else "i64")
    if (
        numpy_dtype
        and isinstance(init, Num)
        and init.weak in ("i64", "f64")
        and converts_exactly(init.ir, numpy_dtype)
    ):
        var = replace(var, dtype=numpy_dtype)
        return LoopCarried(var, numpy_dtype, init.weak, has_type_flag=True)
    if isinstance(init, Num):
        return LoopCarried(var, init.strong, init.weak, has_type_flag=init.either, exact=init.exact)
    return LoopCarried(var, None, "i64")


def entry_value(ctx: Lowering, carry: LoopCarried, init: Num | Unbound, frame: LoopFrame) -> Value:
    """The value at the start of an iteration of a name that is carried as `carry` and was `init`
    before the loop. `loop_types` puts it into ``env`` before it lowers the body, and records the
    interval of an int. By what the guess says:

        no value before the loop     unbound, or with ``may_be_unbound`` the accumulator where
                                     `LoopCarried.bound` holds
        an induction variable        the linear form init + step * k
        changes after the first      from one Python type to another, or to either type: a union,
        iteration                    of `init` in the first iteration and the accumulator in all
                                     others; from Python's to NumPy's: the accumulator, which is a
                                     Python scalar in the first iteration
        with a type flag             the accumulator, a Python scalar where the flag holds
        else                         the accumulator
    """
    if isinstance(init, Unbound):
        if not carry.may_be_unbound:
            return Unbound()
        is_weak = carry.flag if carry.has_type_flag else None
        return Unbound(Num(carry.var, carry.strong, carry.weak, is_weak), carry.bound)
    if carry.step is not None:
        return linear_num(ctx.b, induction_value(init, carry.step, LinearForm.of(frame.var)))
    n = Num(carry.var, carry.strong, carry.weak, exact=carry.exact)
    ctx.b.numbers.accumulators.add(carry.var)
    if carry.changes_after_first and carry.has_type_flag:
        return _int_then_float(init, replace(n, is_weak=carry.flag), _is_first_iteration(frame))
    if carry.changes_after_first and carry.strong is None and init.weak != carry.weak:
        return _int_then_float(init, n, _is_first_iteration(frame))
    if carry.changes_after_first and carry.weak:
        n = replace(n, is_weak=bool_op("and", _is_first_iteration(frame), init.weak_now))
        ctx.b.numbers.python_values[carry.var] = init
    elif carry.has_type_flag:
        n = replace(n, is_weak=carry.flag)
    if carry.var.dtype == "i64":
        interval = SAFE_RANGE if carry.fits_safe_range else INT64
        ctx.b.ranges.intervals[carry.var] = interval
        n = replace(n, linear=LinearForm.of(carry.var), interval=interval)
    return n


def _int_then_float(init: Num, number: Num, first: Expr) -> UnionValue:
    """The union of the int `init` in the ``first`` iteration, and of the float `number` in later
    ones. `number` is Python's, or of either type by a flag, which is true in the first iteration:
    the accumulator starts as `init`.
    """
    later = bool_op("not", first)
    types: list[UnionCase] = [UnionCase(number, TRUE)]
    strong, weak = number.types
    if strong and weak:
        types = [
            UnionCase(Num(cast(number.ir, weak), weak=weak), number.weak_now),
            UnionCase(Num(cast(number.ir, strong), strong), bool_op("not", number.weak_now)),
        ]
    cases = (UnionCase(c.value, bool_op("and", later, c.when)) for c in types)
    as_float = number if number.dtype == "f64" else None
    return UnionValue((UnionCase(init, first), *cases), as_float=as_float)


def refine_carried(
    ctx: Lowering,
    name: str,
    carry: LoopCarried,
    init: Num | Unbound,
    end: Num | Unbound,
    back_edge: Num | Unbound,
    frame: LoopFrame,
) -> LoopCarried:
    """The guess `carry` of how `name` is carried, corrected by one lowered iteration; equal to
    `carry` where it was right. Called once a round for each name, by `_carried_types_fixpoint`.

        k = 10                     init: the int 10
        for i in range(n):         guess: an int accumulator ``k.``
            k += 2                 end: ``k. + 2``  →  refined: the induction variable 10 + 2 * i

    `init`: the value before the loop; `end`: at the end of the iteration; `back_edge`: likewise, if
    another iteration follows. The two differ only where the loop may exit early. Then `back_edge`
    decides, as the next iteration starts with it. Exception: if their dtypes differ, `end` decides,
    since one accumulator holds both. The first case that applies decides:

    - unbound before the loop, and bound on some paths of the body: the value has the type that it
      has where it is bound, and `LoopCarried.bound` tells whether it is;
    - unbound at the end: nothing is learned;
    - unbound before the loop: the type of `end`, since no other value is ever read;
    - guessed to be an induction variable: it stays one if `back_edge` is the next value of the
      progression, and becomes an accumulator if not;
    - a constant was added to it, and it is not the counter of a list: it is an induction variable
      (`_induction_step`);
    - a word where one of its values is one (`_becomes_word`);
    - else an accumulator of the type that `_retype_carried` gives; an int keeps
      ``fits_safe_range`` if it is proved to stay in the range (`_stays_in_safe_range`).

    Raises NewCarriedTypes, or Refused for a 0-d array and where the types cannot be carried.
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
            fits_safe_range=SAFE_RANGE[0] <= end.interval[0] and end.interval[1] <= SAFE_RANGE[1],
        )
    if not isinstance(back_edge, Num) or back_edge.dtype != end.dtype:
        back_edge = end  # one accumulator holds both, so the dtype at the exit counts
    if carry.step is not None:
        start = induction_value(init, carry.step, LinearForm.of(frame.var))
        is_next = (
            back_edge.linear is not None
            and back_edge.linear - start == LinearForm({}, carry.step)
        )
        return carry if is_next else replace(carry, step=None)
    # the counter of a list: `Append` advances an accumulator
    evenly = map(counter_name, ctx.dynamic.counted)
    is_counter = name in ctx.lists.counters.difference(evenly)
    max_trips = largest_trip_count(frame.node)
    step = None if is_counter else _induction_step(init, back_edge, carry.var, max_trips)
    if step is not None:
        return replace(carry, step=step)
    if _becomes_word(init, back_edge):
        return replace(
            carry, var=replace(carry.var, dtype="u64"), strong=None, weak="u64",
            changes_after_first=False, has_type_flag=False, exact=True,
        )
    carry = _retype_carried(ctx, name, carry, init, back_edge, frame)
    if carry.var.dtype == "i64" and carry.fits_safe_range:
        stays = _stays_in_safe_range(ctx, carry, init, end, frame, is_counter=is_counter)
        return replace(carry, fits_safe_range=stays)
    return carry


def _stays_in_safe_range(
    ctx: Lowering, carry: LoopCarried, init: Num, end: Num, frame: LoopFrame, *, is_counter: bool
) -> bool:
    """Whether the int accumulator of `carry`, guessed to be in the safe range, is proved to stay
    there by an iteration that ends with the value `end`.

    If `end` has a linear form: what an iteration adds must be bounded, and in some number of
    iterations the sum must stay in the range (`trips_within_range`). If it has none, nothing is
    known of what was added: the accumulator must be unchanged, or the counter of a list
    (``is_counter``), which never exceeds the list's capacity.
    """
    if end.linear is None:
        return is_counter or end.ir == carry.var
    growth = growth_of(ctx, end, carry.var)
    return growth is not None and trips_within_range(ctx, growth, init, frame) is not None


def _retype_carried(
    ctx: Lowering, name: str, carry: LoopCarried, init: Num, back_edge: Num, frame: LoopFrame
) -> LoopCarried:
    """The guess `carry` with a corrected type. `init` is the value of the name before the loop,
    `back_edge` that at the end of an iteration which another one follows. The first iteration
    starts with the type of `init`, all others with that of `back_edge`, and one accumulator must
    do for both. `refine_carried` calls this for names that are no induction variables.

        s = 0                          `init`: Python's int 0; `back_edge`: NumPy's float64
        for i in range(n):        →    row 5: a float64 accumulator that starts as 0.0, of a name
            s += x[i]                  that is Python's in the first iteration, then NumPy's

    The first row that applies decides. "Later type": that of `back_edge`; "changes", "either type"
    and "new types" are explained below the table:

    ==  ==========================================  ==========================================
    #   types of `init` → `back_edge`               the accumulator
    ==  ==========================================  ==========================================
    1   one type, the same in both                  of that type
    2   two different NumPy types                   none: new types
    3   two different Python types, none of NumPy;  of the later type, changes
        `init` is exact in the later one
    3a  Python's int → Python's or NumPy's float    of the later dtype, changes, with a type flag
        in some iteration; `init` is exact in it
    4   two different Python types otherwise        none: new types
    5   Python → NumPy                              of the NumPy type, changes
    6   either type in some iteration; `init` is    none: new types
        not exact in the dtype
    7   either type otherwise                       of the dtype, with a type flag
    ==  ==========================================  ==========================================

    - changes: ``changes_after_first`` is set, and the number of the iteration tells the type;
    - either type: a Python or a NumPy scalar, depending on the data (`Num.either`), as after
      ``if x[i] > 0: s = x[i]``. A type flag, a bool accumulator, tells which. In row 3a it is one
      of the later iterations, as of ``s`` in ``s = 0; for v in x: s += max(0.0, v)``;
    - new types: one accumulator does not do. `raise_new_types` makes `loop_types` start again with
      a union of the types, or refuses the loop where there can be none.

    Row 5 also serves a value that may be either by its types, but that is NumPy's from the end of
    the first iteration on, by its flag (`_becomes_numpy_in_first`): it needs no flag.
    """
    node = frame.node
    retyped = replace(carry, var=replace(carry.var, dtype=back_edge.dtype))
    if back_edge.types == init.types and not back_edge.either and back_edge.dtype == init.dtype:
        return replace(retyped, strong=back_edge.strong, weak=back_edge.weak)  # row 1
    if init.strong and back_edge.strong and init.strong != back_edge.strong:  # row 2
        after = f"{back_edge.strong} after an iteration"
        message = f"`{name}` is {init.strong} before the loop and {after}"
        raise_new_types(ctx, name, (init, back_edge), message, node)
    if init.weak and back_edge.weak and init.weak != back_edge.weak:  # rows 3 and 4
        becomes_exact = not init.strong and converts_exactly(init.ir, back_edge.dtype)
        if becomes_exact and (not back_edge.strong or _is_float_of_either_type(back_edge)):
            return replace(
                retyped, strong=back_edge.strong, weak=back_edge.weak, changes_after_first=True,
                has_type_flag=back_edge.either,
            )
        message = f"the type of `{name}` changes in the loop"
        raise_new_types(ctx, name, (init, back_edge), message, node)
    strong, weak = back_edge.strong or init.strong, back_edge.weak or init.weak
    start_is_exact = init.dtype == back_edge.dtype or converts_exactly(init.ir, back_edge.dtype)
    # Whether the value at the start of an iteration is a Python scalar:
    is_python = _is_first_iteration(frame) if carry.changes_after_first else carry.flag
    becomes_numpy = init.weak and (
        not back_edge.weak or _becomes_numpy_in_first(init, back_edge, carry.var, is_python)
    )
    if becomes_numpy:  # row 5
        return replace(
            retyped, strong=strong, weak=weak, changes_after_first=True, has_type_flag=False,
            exact=start_is_exact,
        )
    if not start_is_exact:  # row 6
        message = f"`{name}` may be a Python or a NumPy number, depending on the data"
        raise_new_types(ctx, name, (init, back_edge), message, node)
    # Row 7. In the round that adds the type flag, `back_edge.strong` is tried as the accumulator's
    # dtype. It may be narrower than `back_edge.dtype`; the next round widens it again if needed.
    dtype = back_edge.dtype
    if back_edge.strong and not carry.has_type_flag and converts_exactly(init.ir, back_edge.strong):
        dtype = back_edge.strong
    return replace(
        carry, var=replace(carry.var, dtype=dtype), strong=strong, weak=weak, has_type_flag=True,
        changes_after_first=False,
    )


def _becomes_word(init: Num, back_edge: Num) -> bool:
    """Whether a Python int is carried as a word (`Num.is_word`): one of its values is one, and the
    others are not negative, which `make_accumulators` requires of that before the loop.
    """
    if not (init.is_word or back_edge.is_word):
        return False
    return common_dtype(init, back_edge) == "u64" or init.python_int


def _is_float_of_either_type(n: Num) -> bool:
    """Whether `n` is a float64 that is a float of Python or of NumPy."""
    return n.either and n.dtype == n.weak == "f64" and DTYPES[n.strong or ""].kind == "f"


def raise_new_types(
    ctx: Lowering, name: str, values: Sequence[Value], message: str, node: ast.AST
) -> NoReturn:
    """Reports that `name` has all these `values` in a loop: raises NewCarriedTypes with their
    types. Raises Refused with `message` where no union can hold them; for arrays, with what helps.
    """
    cases = [union_cases(ctx.b, v) for v in values]
    kinds = dict.fromkeys(case_type(c.value) for of_value in cases for c in of_value or ())
    if None in cases or len(kinds) > MAX_CASES or not ctx.b.allows_unions:
        if all(map(may_be_array, values)):
            message = f"which array `{name}` stands for depends on the data"
            help = "store into an array, `v[:] = w`, where its name is bound to another, `v = w`"
            refuse("LOWER_JOIN", message, node, help=help)
        refuse("LOWER_JOIN", message, node)
    raise NewCarriedTypes(name, kinds)


def growth_from(ctx: Lowering, linear: LinearForm | None, base: Expr) -> tuple[int, int] | None:
    """An interval of ``linear - base``; None where it is not known.

    Terms whose distance from another expression is known (`RangeState.deltas`) are replaced by that
    expression, until `base` cancels.
    """
    if linear is None:
        return None
    deltas = ctx.b.ranges.deltas
    lo = hi = 0
    while True:
        atom = next(
            (a for a, c in linear.terms.items() if c == 1 and a in deltas and a != base), None
        )
        if atom is None:
            break
        origin, (dlo, dhi) = deltas[atom]
        linear, lo, hi = linear.substitute(atom, LinearForm.of(origin)), lo + dlo, hi + dhi
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
    """A trip count up to which an int accumulator provably stays in `SAFE_RANGE`, so that its steps
    need no overflow check; None if that is proved for none of those that are tried.

        s = 0
        for i in range(n):         an iteration adds 0 or 1, so that 0 <= s <= n <= 2**47:
            if x[i] > 0:           the result is 2**47, the largest trip count that is possible,
                s += 1             and ``s += 1`` needs no overflow check

    `step`: the interval of what one iteration adds; `init`: the value before the loop. The trip
    counts that are tried, with M for the largest one that the loop may have:

    - of a ``while``: M. How often it runs is not known before it ends, so that nothing could
      require a smaller one beforehand;
    - of a loop in another loop: the smaller one of M and `_SAFE_TRIPS`. The less this loop adds in
      all, the more iterations the other one may have;
    - else M, then `_SAFE_TRIPS`.

    `refine_carried` asks whether there is a result. Where the loop may have more iterations than
    the result, `_with_final_range` requires that it has not.
    """
    lo, hi = min(0, step[0]), max(0, step[1])
    start = init.interval if init.linear is not None else INT64
    max_trips = interval_of(ctx.b, frame.trips)[1]

    def stays_in_range(trips: int) -> bool:
        return start[0] + trips * lo >= SAFE_RANGE[0] and start[1] + trips * hi <= SAFE_RANGE[1]

    if isinstance(frame.node, ast.While):
        return max_trips if stays_in_range(max_trips) else None
    max_trips = min(LENGTH[1], max_trips)
    inside_loop = bool(ctx.b.path.frames)
    for trips in (min(max_trips, _SAFE_TRIPS),) if inside_loop else (max_trips, _SAFE_TRIPS):
        if stays_in_range(trips):
            return trips
        # An accumulator of an enclosing loop starts anywhere in the safe range. That the sum of
        # all iterations stays in it is shown, or guarded, for the enclosing loop.
        if start == SAFE_RANGE and trips * max(-lo, hi) < SAFE_RANGE[1]:
            return trips
    return None


def _is_first_iteration(frame: LoopFrame) -> Expr:
    """A bool: whether the current iteration is the first of the loop."""
    return Call("eq", (frame.var, index_const(0)), "bool")
