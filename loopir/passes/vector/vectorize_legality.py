"""Vectorisation legality: whether a loop can be vectorised, or why not; one function a condition.

`vectorization_obstacle` tries the functions of `CONDITIONS` in order; each returns a `Rejection` or
None. `vectorize` and the passes that prepare loops for it call it; reports show its rejections
(`vectorize.loops_left_scalar`). A new condition is a function here, its name in `CONDITIONS` and
its code in `transpile/codes/vectorization_codes.py`.
"""
from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

from ...algebra.constant_folding import constant_trip_count, max_trips_of_remainder
from ...algebra.may_raise import possible_flags
from ...analysis.access import LoopSubscripts
from ...analysis.dependence import Dependence, dependences
from ...analysis.loop_reductions import Reduction, reduction_of
from ...analysis.mod_ref import AliasInfo
from ...dtypes import DTYPES
from ...ir_traversal import advanced_accums, kernel_header, memoized_by, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Append,
    Assign,
    Break,
    Call,
    Check,
    Disjoint,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Return,
    Stmt,
    Store,
    Var,
)
from ...rejection import Label, Rejection
from .exact_extrema import (
    can_recompute,
    feeding_accumulator,
    is_order_independent,
    starts_anew,
)
from .prefix_scans import running_reduction_of

__all__ = ["MIN_TRIPS", "STRAIGHT_LINE", "vectorization_obstacle", "checks_narrow_overflow"]

MIN_TRIPS = 4  # fewer iterations are not worth vectors


@record(frozen=True, slots=True)
class _Candidate:
    """The loop under examination and its context."""

    loop: Loop
    kernel: Kernel  # the header of the one that contains the loop
    reassociate: bool  # float reductions may change their order


Condition: TypeAlias = "Callable[[_Candidate], Rejection | None]"


def vectorization_obstacle(
    loop: Loop, kernel: Kernel, *, reassociate: bool = True
) -> Rejection | None:
    """The first reason not to vectorise the innermost `loop` of `kernel`, as a Rejection; None
    where it is legal. This is the one place where that is decided, by the first of `CONDITIONS`
    that fails.

        for i: y[i] = sqrt(x[i])           None
        for i: y[i + 1] = y[i] * x[i]      VECTOR_DEPENDENCE, with both accesses as labels

    `vectorize` and the passes that prepare loops for it ask this, and undo what they have prepared
    if it does not help. ``reassociate=False`` forbids to change the order of float reductions.
    Assumes that branches have been converted (`if_convert`): a branch is a reason. Does not decide
    profitability, apart from `MIN_TRIPS`. Loops around other loops: `can_run_in_lockstep`.
    """
    return next(iter(_first_obstacle(loop, kernel_header(kernel), reassociate)), None)


@memoized_by
def _first_obstacle(loop: Loop, header: Kernel, reassociate: bool) -> tuple[Rejection, ...]:
    """The first reason, if there is one. Memoized, since many passes ask about the same loop."""
    case = _Candidate(loop, header, reassociate)
    return tuple(islice((r for c in CONDITIONS if (r := c(case)) is not None), 1))


def _check_control_flow(case: _Candidate) -> Rejection | None:
    """The body must be straight-line code, the range an interval."""
    for s in case.loop.body:
        default = None if isinstance(s, STRAIGHT_LINE) else "an inner loop"
        description = _DESCRIPTIONS.get(type(s), default)
        if description is not None:
            return Rejection("VECTOR_CONTROL_FLOW", f"the loop contains {description}", s.span)
    if not isinstance(case.loop.range, Interval):
        return Rejection("VECTOR_CONTROL_FLOW", "the loop does not step by one", case.loop.span)
    return None


STRAIGHT_LINE = (Assign, Store, Append, Check)
"""The statements of straight-line code."""

_DESCRIPTIONS: dict[type[Stmt], str] = {
    If: "a branch that cannot be turned into selects",
    Break: "a `break`",
    Return: "a `return`",
}


def _check_early_exit(case: _Candidate) -> Rejection | None:
    """A search, such as ``any(x > 0)``, may leave early; it carries nothing but its answer.

        for i in loop(0, n, some=False):        vectors test `until` after a whole group of
            some = step(some | (x[i] > 0.0))    iterations, so some iterations run that Python
            until(some)                         never runs: nobody must notice them

    (`vectorize_search` takes searches that carry another value, such as the index of the hit.)
    """
    loop = case.loop
    if loop.until is None:
        return None
    if len(loop.accs) != 1 or any(not isinstance(s, Assign) for s in loop.body):
        # another accumulator, or a store, would tell of the extra iterations
        reason = "the loop leaves early and does more than look for one thing"
    elif possible_flags(*loop.body, loop.accs[0].step) and not _can_replay(case.kernel):
        # a flag of an extra iteration is wrong, so `vectorize` makes the kernel strict: Python runs
        # the call again, if it finds its inputs unchanged
        reason = "the loop leaves early, and what it computes beyond might raise a warning"
    elif not _is_any_exit(loop):
        # extra iterations could change the answer
        reason = "the loop leaves early, by an exit for which there are no vectors"
    else:
        return None
    return Rejection("VECTOR_CONTROL_FLOW", reason, loop.span)


def _can_replay(kernel: Kernel) -> bool:
    """Whether the call may be replayed after `kernel` has run: it has written only rank-0 results.
    """
    return all(p.rank == 0 for p in kernel.params if p.written)


def _is_any_exit(loop: Loop) -> bool:
    """Whether the exit tests a reduction of bools that can no longer change: ``until(any)``, or
    ``until(~all)``.
    """
    reduction = reduction_of(loop.accs[0], loop)
    match loop.until:
        case Var(name=name) if reduction and name == reduction.acc.name:
            return reduction.op == "or"
        case Call(op="not", args=(Var(name=name),)) if reduction and name == reduction.acc.name:
            return reduction.op == "and"
        case _:
            return False


def _check_trip_count(case: _Candidate) -> Rejection | None:
    """A loop that certainly runs fewer than `MIN_TRIPS` times is not worth vectors, and neither is
    one over the remainder of a length (`max_trips_of_remainder`).
    """
    interval = case.loop.range
    if not isinstance(interval, Interval):
        return None
    count, max_count = constant_trip_count(interval), max_trips_of_remainder(interval)
    if max_count is None or (count is not None and count >= MIN_TRIPS):
        return None
    times = f"{count} times" if count is not None else f"{max_count} times at most"
    return Rejection("VECTOR_SMALL", f"the loop runs {times}", case.loop.span)


def _check_carried(case: _Candidate) -> Rejection | None:
    """Each accumulator of the loop must be one of these:

    - a counter of appends (a filter): the active lanes are appended side by side, and the counter
      advances by their number. Each list has one append, or items of two appends would change their
      order; nothing else reads the counter, which has no value for each lane (`_append_obstacle`);
    - a running reduction, each of whose partial results is read: it becomes a prefix scan;
    - a reduction that may be done in each lane separately (`_reduction_obstacle`).
    """
    loop, counts, memory = case.loop, advanced_accums(case.loop), AliasInfo(case.kernel)
    if (rejection := _append_obstacle(loop, counts)) is not None:
        return rejection
    for acc in loop.accs:
        if acc.name in counts:
            continue
        help = None
        if (reduction := reduction_of(acc, loop)) is not None:
            reason = _reduction_obstacle(reduction, loop, memory)
        elif running_reduction_of(acc, loop, memory):
            reason = None
        elif (array := _array_filled_at(acc.name, loop)) is not None:
            reason = f"where items of `{array}` are stored depends on the iteration before"
            help = _FIXED_PLACES
        elif running_reduction_of(acc, loop, AliasInfo(_if_disjoint(case.kernel))):
            reason = (f"`{acc.name}` takes up what is read after a store, which may have changed "
                      "it: the arrays may be one")
            help = "read the element into a name before the store"
        else:
            reason = f"`{acc.name}` depends on the iteration before in a way that is no fold"
        if reason is not None:
            return Rejection("VECTOR_CARRIED", reason, acc.span or loop.span, help=help)
    return None


def _if_disjoint(kernel: Kernel) -> Kernel:
    """The header of `kernel` for calls in which no two arrays are one."""
    guards = (replace(g, or_same=False) if isinstance(g, Disjoint) else g for g in kernel.guards)
    return replace(kernel, guards=tuple(guards))


def _append_obstacle(loop: Loop, counts: frozenset[str]) -> Rejection | None:
    """Why a vector of iterations of `loop` cannot append its items at once; None if it can, or
    there are no appends. ``counts``: the counters of the appends. `_check_carried` asks.

        if x[i] > 0: append(v, #v, x[i])       →   None: the selected lanes are stored side by side,
                                                   and #v advances by their number
        append(v, #v, x[i]); append(v, #v, 1)  →   rejected: all x[i] would come before the ones
        append(v, #v, #v)                      →   rejected: #v has no value for each lane
    """
    appends = [s for s in loop.body if isinstance(s, Append)]
    if len({s.array for s in appends}) < len(appends) or len(counts) < len(appends):
        return Rejection("VECTOR_CARRIED", "one list is appended to in two places", appends[1].span)
    for name in sorted(counts):
        if any(_mentions(n, name) for n in (*loop.body, *_changing_steps(loop))):
            text = f"`{name}` counts what has been appended, and is read on the way"
            return Rejection("VECTOR_CARRIED", text, loop.span)
    return None


def _reduction_obstacle(reduction: Reduction, loop: Loop, memory: AliasInfo) -> str | None:
    """Why the reduction must not be done in each lane and the lanes be combined after the loop;
    None if it may. Which of several equal zeros an extremum keeps may depend on the order: it is
    then computed again after the loop from its terms, in Python's order (`exact_extrema`), and so
    the terms must still be there.
    """
    name = reduction.acc.name
    if checks_narrow_overflow(reduction.acc, loop):
        return f"whether `{name}` overflows on the way depends on the order"
    if is_order_independent(reduction) or starts_anew(reduction, loop):
        return None
    if other := feeding_accumulator(reduction, loop):
        return f"which zero stays in `{name}` depends on `{other}`, iteration by iteration"
    if not can_recompute(reduction, loop, memory):
        return f"the loop overwrites what `{name}` is taken over"
    return None


_FIXED_PLACES = (
    "nothing needs to be done if the data decides where items are stored; else store one item an "
    "iteration, at a subscript that the loop's variable gives, in an array that is made before"
)
"""The help where accumulators are subscripts of stores."""


def _array_filled_at(name: str, loop: Loop) -> str | None:
    """An array that `loop` stores to at a subscript that mentions `name`; None if there is none."""
    stores = (n for s in loop.body for n in walk(s) if isinstance(n, Store))
    return next((s.array for s in stores if any(_mentions(i, name) for i in s.index)), None)


def _reduction_in(acc: Accum, case: _Candidate) -> Reduction | None:
    """The reduction that `acc` is, whether or not the loop reads its partial results; None if it is
    not one.
    """
    reduction = reduction_of(acc, case.loop)
    running = None if reduction else running_reduction_of(acc, case.loop, AliasInfo(case.kernel))
    return running.reduction if running else reduction


def _changing_steps(loop: Loop) -> list[Expr]:
    """The steps of the accumulators of `loop`, apart from those that keep their value."""
    return [a.step for a in loop.accs if a.step != a.current]


def checks_narrow_overflow(acc: Accum, loop: Loop) -> bool:
    """Whether the overflow of an 8- or 16-bit sum is checked: separate lanes would overflow
    differently.
    """
    narrow = DTYPES[acc.init.dtype].kind in "iu" and DTYPES[acc.init.dtype].bytes < 4
    return narrow and any(_mentions(s, acc.name) for s in loop.body if isinstance(s, Check))


def _mentions(n: Node, name: str) -> bool:
    """Whether `n` reads the name."""
    return any(isinstance(x, Var) and x.name == name for x in walk(n))


def _check_order(case: _Candidate) -> Rejection | None:
    """Rejects a loop that adds or multiplies floats, if ``@fuse(reassociate=False)`` is set: lanes
    would add in another order than the source, which may change the bits of the sum.

        s = step(s + x[i])         x: f64     →    Rejection VECTOR_REASSOCIATE: it stays scalar
        m = step(max(m, x[i]))                →    None: the same bits in any order

    One of `CONDITIONS`. Other passes that reorder get ``reassociate`` from `pass_list.run_pass`.
    """
    for acc in case.loop.accs if not case.reassociate else ():
        reduction = _reduction_in(acc, case)
        if reduction is not None and reduction.is_inexact:
            text = f"`{acc.name}` is a float fold, and reassociate=False keeps its order"
            return Rejection("VECTOR_REASSOCIATE", text, acc.span or case.loop.span)
    return None


def _check_subscripts(case: _Candidate) -> Rejection | None:
    """Each access must advance along one axis with a constant step; a load may be invariant.

        x[2 * i], X[i, 3], v[0] as a load     fit
        x[at[i]], X[i, i], v[0] as a store    do not: the loop stays scalar

    This is for innermost loops. For one around others `can_run_in_lockstep` asks the same of its
    lanes (`Uniformity.lane_axis_and_stride`).
    """
    subscripts = LoopSubscripts(case.loop)
    stored = {n.array for s in case.loop.body for n in walk(s) if isinstance(n, Store)}
    body_accesses = (n for s in case.loop.body for n in walk(s) if isinstance(n, (Load, Store)))
    step_loads = (n for a in case.loop.accs for n in walk(a.step) if isinstance(n, Load))
    for n in (*body_accesses, *step_loads):
        obstacle = subscripts.obstacle(n)
        if obstacle is not None:
            labels = (Label(n.span, subscripts.element(n)),) if n.span else ()
            is_fixed = subscripts.lane_axis_and_stride(n) is not None  # a store to one element
            help = "compute it in a name, and store that after the loop" if is_fixed else None
            if not is_fixed and n.array in stored:
                help = _SCATTERED
            place = n.span or case.loop.span
            return Rejection("VECTOR_SUBSCRIPT", obstacle, place, labels, help=help)
    return None


_SCATTERED = (
    "nothing needs to be done if the data decides which elements are stored; else walk along one "
    "axis with a constant step"
)
"""The help for an array that is stored to, such as a histogram: no copy can be made before."""


def _check_dependence(case: _Candidate) -> Rejection | None:
    """Each dependence must go forward in the text, or be within one iteration: its source is then
    executed for all lanes before its sink. Appends to one array keep their order.
    """
    appended = {s.array for s in case.loop.body if isinstance(s, Append)}
    for d in dependences(case.loop, case.kernel):
        is_append = d.source is d.sink and d.source.array in appended
        is_forward = d.distance == 0 or (d.distance and d.source.position < d.sink.position)
        if d.distance is None and case.loop.ivdep and d.source.is_write != d.sink.is_write:
            write, read = (d.source, d.sink) if d.source.is_write else (d.sink, d.source)
            is_forward = read.position < write.position
        if not (is_append or is_forward):
            labels = tuple(Label(a.span, str(a)) for a in (d.source, d.sink) if a.span)
            return Rejection(
                "VECTOR_DEPENDENCE", _describe_dependence(d), d.sink.span or case.loop.span, labels
            )
    return None


def _describe_dependence(d: Dependence) -> str:
    """The dependence in a sentence."""
    verbs = ["writes" if a.is_write else "reads" for a in (d.source, d.sink)]
    first, second = f"`{d.source}`", f"`{d.sink}`"
    if d.distance is None:
        return f"an iteration {verbs[0]} {first}, and another {verbs[1]} {second}, perhaps the same"
    later = "the next one" if d.distance == 1 else f"the one {d.distance} later"
    return f"an iteration {verbs[0]} {first}, which {later} {verbs[1]} as {second}"


CONDITIONS: tuple[Condition, ...] = (
    _check_control_flow,
    _check_early_exit,
    _check_trip_count,
    _check_carried,
    _check_order,
    _check_subscripts,
    _check_dependence,
)
"""The conditions in the order tried. The first is that of the shape that the others assume; the
first that fails is what a report shows."""
