"""Fixed-order recurrences: the value of a previous iteration is computed again, not carried.

    for i in loop(0, n, last=x[0]):               for i in loop(0, n):
        out[i] = x[i + 1] - last           →          out[i] = x[i + 1] - x[i]
        last = step(x[i + 1])

LLVM calls such an accumulator a fixed-order recurrence (RecurrenceDescriptor) and keeps it, by
shuffles of lanes. The inverse of `load_elimination`, for loops that can then be vectorised.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...algebra.constant_folding import index_const, literal
from ...algebra.index_builder import index_add, index_min, index_sub, is_nonempty
from ...algebra.may_raise import may_raise_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.access import Access, LoopSubscripts, accesses
from ...analysis.dependence import Overlap, dependence_distance
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...analysis.signed_zeros import zero_sign_unobserved
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, changed_names, expand_names, names_read, substitute
from ...ir_traversal import (
    bottom_up,
    children,
    is_innermost,
    map_children,
    walk,
    walk_statements,
)
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Append,
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    While,
    Yield,
)
from ...op_table import OPS
from ..loop_splitting import max_trips_of_strip
from ..vector.if_convert import flatten_loop
from ..vector.vectorize_legality import MIN_TRIPS, STRAIGHT_LINE, vectorization_obstacle
from ..vector.vectorize_outer import best_vector_loops
from ..vector.vectorize_search import search_condition

__all__ = ["fixed_order_recurrences"]

MAX_WEIGHT = 4.0  # of a value, in additions, that is computed again in the next iteration
MAX_PEELED = 3  # iterations that still read initial values


def fixed_order_recurrences(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Replace an accumulator that is the value of a previous iteration, such as ``x[i - 1]``, by
    that value, in a loop that can be vectorised without the accumulator.

    The step must be cheap (`MAX_WEIGHT`) and depend on the iteration's number alone, or be another
    such accumulator: then it is the value two iterations before. A step that keeps the old value
    only where the new one is equal, or where the loop ends, counts as unconditional. What the step
    loads must not be overwritten before the value is read. The first iterations read initial
    values. They become a loop of their own, unless the initial values are the elements before the
    first one (``x[0]`` at the top of this module). The value after the loop, if it is read, comes
    from the last iteration, as in `exit_values`; a loop that may be left early is then not changed.

    A nest is not changed if its outer loop gets the vectors (`best_vector_loops`). Before::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], last=0.0):
                v = x[i]
                out[i] = v - last
                last = step(v)

    after::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i_1 in loop(0, min(x.shape[0], 1), last_1=0.0):
                v_1 = x[i_1]
                out[i_1] = v_1 - last_1
                last_1 = step(v_1)
            for i in loop(min(x.shape[0], 1), x.shape[0]):
                v = x[i]
                out[i] = v - x[i - 1]
    """
    fresh = FreshNames(kernel)

    def visit(n: Any) -> Any:
        """`n` with such accumulators replaced in the loops in it, if these are then vectorised."""
        match n:
            case Loop() if is_innermost(n):
                return _without_recurrences(n, kernel, fresh, reassociate=reassociate)
            case Loop():
                new = map_children(n, visit)
                if new is n or n.var in best_vector_loops(new, kernel, reassociate=reassociate):
                    return n
                return new
            case Kernel() | If() | While():
                return map_children(n, visit)
            case _:
                return n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


@record(frozen=True, slots=True)
class _Recurrence:
    """An accumulator of a loop over ``i`` that is the value of a previous iteration."""

    acc: Accum
    step: Expr  # over the loop variable and names bound outside of the loop
    current: Expr  # the value in iteration i: ``step`` in iteration i - 1
    peeled: int  # first iterations in which it may be something else


def _without_recurrences(
    loop: Loop, kernel: Kernel, fresh: FreshNames, *, reassociate: bool
) -> Loop | tuple[Stmt, ...]:
    """`loop` without its recurrences, between statements for the first iterations and for values
    after the loop; `loop` itself if that does not help.
    """
    if not isinstance(loop.range, Interval) or not any(_may_recur(a, loop) for a in loop.accs):
        return loop
    max_trips = max_trips_of_strip(loop.range)
    if max_trips is not None and max_trips < MIN_TRIPS:
        return loop
    flat = flatten_loop(loop, kernel, fresh) or loop
    if not all(isinstance(s, STRAIGHT_LINE) for s in flat.body):
        return loop
    found = _recurrences(flat, kernel)
    if not found or _is_vectorizable(flat, kernel, reassociate):
        return loop
    memory, read_later = AliasInfo(kernel), _names_read_around(kernel, loop)
    overwritten = arrays_written(flat.body)
    for r in found:
        # which iteration was the last one is not known of a loop that is left early
        is_unknown = loop.until is not None or memory.changes(r.step, overwritten)
        if r.acc.name in read_later and is_unknown:
            return loop
    values = {r.acc.name: r.current for r in found}
    accs = tuple(
        replace(a, step=substitute(a.step, values)) for a in flat.accs if a.name not in values
    )
    body = tuple(substitute(s, values) for s in flat.body)
    uncarried = replace(flat, body=body, accs=accs)
    rest = _without_first_iterations(uncarried, max(r.peeled for r in found))
    if not _is_vectorizable(rest, kernel, reassociate):
        return loop
    return _split(loop, rest, found, read_later, fresh)


def _without_first_iterations(loop: Loop, peeled: int) -> Loop:
    """`loop` without its first `peeled` iterations. If it may be left early, its variable starts
    from 0 again, as `vectorize_search` assumes.
    """
    assert isinstance(loop.range, Interval)
    lo, hi = loop.range.lo, loop.range.hi
    start = index_add(lo, peeled)
    if not peeled:
        return loop
    if loop.until is None:
        return replace(loop, range=Interval(index_min(hi, start), hi))
    shifted: Loop = bottom_up(
        substitute(loop, {loop.var: index_add(Var(loop.var, INDEX), start)}), rewrite
    )
    return replace(shifted, range=Interval(index_const(0), index_sub(hi, start)))


def _is_vectorizable(loop: Loop, kernel: Kernel, reassociate: bool) -> bool:
    """Whether `vectorize` or `vectorize_search` takes the loop."""
    obstacle = vectorization_obstacle(loop, kernel, reassociate=reassociate)
    return obstacle is None or search_condition(loop) is not None


def _may_recur(acc: Accum, loop: Loop) -> bool:
    """Whether `acc` is read in `loop`, and its step may be a value that depends on no accumulator,
    or another accumulator: a quick test before branches are converted.
    """
    others = (a.step for a in loop.accs if a is not acc)
    if acc.name not in names_read(*loop.body, *others):
        return False
    accs = {a.name for a in loop.accs}
    values: dict[str, tuple[Expr, ...]] = {}
    for n in walk_statements(loop):
        if isinstance(n, Assign):
            values[n.name] = (n.value,)
        elif isinstance(n, Yield):
            values[n.name] = (n.then, n.orelse)

    def may_be_of_iteration(e: Expr) -> bool:
        """Whether `e`, or an expression that it may stand for on some path, reads no accumulator,
        or is another accumulator than `acc`.
        """
        match e:
            case Var(name) if name in accs:
                return name != acc.name
            case Var(name) if name in values:
                return any(map(may_be_of_iteration, values[name]))
            case Call("select", (_, a, b)):
                return may_be_of_iteration(a) or may_be_of_iteration(b)
            case _:
                return accs.isdisjoint(names_read(e))

    return may_be_of_iteration(acc.step)


def _recurrences(loop: Loop, kernel: Kernel) -> list[_Recurrence]:
    """The recurrences of `loop`, whose body is straight-line code. A recurrence comes after those
    that its step reads.
    """
    found: dict[str, _Recurrence] = {}
    values = {s.name: s.value for s in loop.body if isinstance(s, Assign)}
    variant = changed_names(loop) - {loop.var}
    memory = AliasInfo(kernel)
    candidates = [a for a in loop.accs if _may_recur(a, loop) and a.current != loop.until]
    if loop.until is not None and not _is_accumulator(loop.until, loop):
        return []
    exits = {
        e: literal(False, "bool") for a in loop.accs
        if loop.until == a.current and (e := expand_names(a.step, values)) is not None
    }
    is_changed = True
    while is_changed:
        is_changed = False
        for acc in candidates:
            if acc.name in found:
                continue
            step = expand_names(acc.step, values)
            if step is None:
                continue
            step = _unconditional(_with_values(step, exits), acc, kernel)
            sources = [found[name] for name in sorted(names_read(step)) if name in found]
            step = substitute(step, {r.acc.name: r.current for r in sources})
            if names_read(step) & variant or _weight(step) > MAX_WEIGHT:
                continue
            r = _recurrence(acc, step, max((r.peeled for r in sources), default=0), loop)
            if r.peeled <= MAX_PEELED and _is_unchanged_until_read(r, loop, memory):
                found[acc.name], is_changed = r, True
    return [*found.values()]


def _is_accumulator(e: Expr, loop: Loop) -> bool:
    """Whether `e` is an accumulator of the loop."""
    return any(e == a.current for a in loop.accs)


def _with_values(e: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """`e` with each expression that is a key of `values` replaced by its value, then simplified. If
    `values` has False for the exit condition, that is the value of `e` in any iteration but the
    last.
    """
    if not values:
        return e

    def edit(n: Any) -> Any:
        """`n` with the values in it."""
        return values[n] if isinstance(n, Call | Var) and n in values else map_children(n, edit)

    simplified: Expr = bottom_up(edit(e), rewrite)
    return simplified


def _recurrence(acc: Accum, step: Expr, peeled: int, loop: Loop) -> _Recurrence:
    """The accumulator `acc` as a _Recurrence. `peeled`: in how many first iterations `step` has
    another value, since a recurrence that it reads has one there.
    """
    assert isinstance(loop.range, Interval)
    current = _in_iteration(step, loop, index_sub(Var(loop.var, INDEX), 1))
    first = _in_iteration(current, loop, loop.range.lo)
    has_value_before = peeled == 0 and _is_same_value(first, acc.init)
    return _Recurrence(acc, step, current, 0 if has_value_before else peeled + 1)


def _unconditional(step: Expr, acc: Accum, kernel: Kernel) -> Expr:
    """`step`; but ``v`` if `step` is ``select(v != acc, v, acc)``, since the accumulator equals
    ``v`` where it is kept. Floats can be equal and differ in the sign of zero: for them only if
    nothing observes the sign of the accumulator's zero.
    """
    match step:
        case Call("select", (Call("ne", (a, b)), v, kept)) if kept == acc.current:
            pass
        case Call("select", (Call("eq", (a, b)), kept, v)) if kept == acc.current:
            pass
        case _:
            return step
    if (a, b) not in ((v, kept), (kept, v)):
        return step
    is_float = DTYPES[acc.init.dtype].kind not in "iub"
    return step if is_float and acc.name not in zero_sign_unobserved(kernel) else v


def _in_iteration(e: Expr, loop: Loop, iteration: Expr) -> Expr:
    """The value of `e` in the iteration of that number."""
    simplified: Expr = bottom_up(substitute(e, {loop.var: iteration}), rewrite)
    return simplified


def _weight(e: Expr) -> float:
    """The cost of computing `e`, in additions, but for its subscripts."""
    if isinstance(e, Load):
        return 0.0
    own = OPS[e.op].weight if isinstance(e, Call) else 0.0
    return own + sum(_weight(c) for c in children(e) if isinstance(c, Expr))


def _is_same_value(a: Expr, b: Expr) -> bool:
    """Whether two expressions are the same, with subscripts compared by their affine forms."""
    match a, b:
        case Load(), Load():
            pairs = zip(a.index, b.index, strict=False)
            forms = [(affine_form(x), affine_form(y)) for x, y in pairs]
            return a.array == b.array and all(x is not None and x == y for x, y in forms)
        case Call(), Call():
            is_same_call = (a.op, a.dtype, len(a.args)) == (b.op, b.dtype, len(b.args))
            return is_same_call and all(map(_is_same_value, a.args, b.args))
        case _:
            return a == b


# -- memory and names


def _is_unchanged_until_read(r: _Recurrence, loop: Loop, memory: AliasInfo) -> bool:
    """Whether `loop` leaves the elements that the value of `r` is loaded from unchanged, from the
    iteration that loads them first until the value is read.

    A store in the last of these iterations may follow the reads, as in differences in place::

        x[i] = x[i + 1] - last; last = step(x[i + 1])       x[i] is stored when last, its old value,
                                                            has been read
    """
    stores = [(k, s) for k, s in enumerate(loop.body) if isinstance(s, Store | Append)]
    if not memory.changes(r.step, (s.array for _, s in stores)):
        return True
    subscripts = LoopSubscripts(loop)
    loads = [n for n in walk(r.current) if isinstance(n, Load)]
    if any(subscripts.lane_axis_and_stride(n) is None for n in loads):
        return False
    reads = [k for k, s in enumerate(loop.body) if r.acc.name in names_read(s)]
    last_read = max(reads, default=0)
    if r.acc.name in names_read(*(a.step for a in loop.accs)):
        last_read = len(loop.body)
    writes = [a for a in accesses((loop,)) if a.is_write]
    pairs = [
        (load, write, k >= last_read)
        for load in _loads_in_loop(loads, loop)
        for write, (k, s) in zip(writes, stores, strict=True)
        if memory.shared(load.array, s.array)
    ]
    return all(_is_stored_later(load, write, loop, after) for load, write, after in pairs)


def _loads_in_loop(loads: list[Load], loop: Loop) -> list[Access]:
    """The accesses of `loads` as they would be in the body of `loop`."""
    body = tuple(Assign("", n) for n in loads)
    return [a for a in accesses((replace(loop, body=body, accs=()),)) if loop.var in a.loops]


def _is_stored_later(load: Access, write: Access, loop: Loop, is_after_reads: bool) -> bool:
    """Whether `write` stores to the element of `load` only in later iterations, or in the same one
    if it `is_after_reads`.
    """
    distance = dependence_distance(load, write, loop.var)
    if distance is Overlap.NEVER:
        return True
    return isinstance(distance, int) and (distance > 0 or (distance == 0 and is_after_reads))


def _names_read_around(kernel: Kernel, loop: Loop) -> frozenset[str]:
    """The names that `kernel` reads outside of `loop`."""

    def without(n: Any) -> Any:
        """`n` without the body of `loop`."""
        if n is loop:
            return replace(loop, body=(), accs=())
        return map_children(n, without) if isinstance(n, _WITH_BLOCKS) else n

    return names_read(without(kernel))


_WITH_BLOCKS = (Kernel, If, Loop, While)


# -- the new loops


def _split(
    loop: Loop, rest: Loop, found: list[_Recurrence], read_later: frozenset[str], fresh: FreshNames
) -> tuple[Stmt, ...]:
    """The statements that replace `loop`: a copy of it over the first iterations, those that read
    initial values; `rest`, which is without the recurrences `found`, over the others; and the last
    values of the recurrences that later code reads (`read_later`).
    """
    assert isinstance(loop.range, Interval)
    assert isinstance(rest.range, Interval)
    before, after = list[Stmt](), list[Stmt]()
    inits: Mapping[str, Expr] = {a.name: a.init for a in loop.accs}
    start, end = rest.range.lo, rest.range.hi
    if peeled := max(r.peeled for r in found):
        lo, hi = loop.range.lo, loop.range.hi
        first_iterations = Interval(lo, index_min(hi, index_add(lo, peeled)))
        first = fresh.copy(replace(loop, range=first_iterations))
        before.append(first)
        inits = {a.name: b.current for a, b in zip(loop.accs, first.accs, strict=True)}
        if isinstance(first.until, Var):
            end = Call("select", (first.until, start, end), INDEX)
    for r in found:
        init = inits[r.acc.name]
        if may_raise_flags(init) or (r.acc.name in read_later and arrays_read((init,))):
            named = Assign(fresh.name(r.acc.name), init, span=r.acc.span)
            before.append(named)
            init = Var(named.name, init.dtype)
        if r.acc.name in read_later:
            last = _in_iteration(r.step, loop, index_sub(end, 1))
            value = Yield(r.acc.name, last, init)
            after.append(If(is_nonempty(Interval(start, end)), (), (), (value,), span=r.acc.span))
    accs = tuple(replace(a, init=inits[a.name]) for a in rest.accs)
    return *before, replace(rest, range=Interval(start, end), accs=accs), *after
