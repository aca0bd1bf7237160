"""Divergent inner loops: lanes run a ``while``, or a loop with an exit, until each has left it.

The loop with an exit is a counted one, as in the Mandelbrot set; it is made a ``while`` first
(`_counted_as_while`). Each iteration of the outer loop is a lane (as in SPMD code on a GPU). A
loop-carried mask tells which lanes are still in the ``while``; a lane that has left keeps its
values by selects (but for those that follow from others, `_settled`), and continues to compute.
Therefore two things must hold for such lanes:

- their loads are in bounds (`lane_loads_in_bounds`, `_branch_loads_in_bounds`): the same element
  is accessed outside of the ``while``, too, or integer facts prove it;
- they do not divide integers by zero (`_may_divide_by_zero`).

A floating-point flag that they raise may be wrong: the kernel becomes strict in it, so that Python
runs the call again. Therefore a loop that may raise flags is only taken if the kernel reads no
array that it writes: a replay then finds its inputs unchanged.

The loop around must have no dependence between iterations (`_can_run_side_by_side`), and run to its
end: a ``return`` in the inner loop leaves both, and such a nest is not taken. Folds around
the ``while`` are split off first (`reduction_fission`).
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce

from ...algebra.constant_folding import constant_trip_count
from ...algebra.index_builder import index_add, index_less, logical_and, logical_not, logical_or
from ...algebra.may_raise import is_replay_check, possible_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.dependence import dependences
from ...analysis.integers.difference_bounds import IntegerFacts
from ...analysis.integers.implied_conditions import conjuncts
from ...analysis.integers.refine_facts import assume_condition, assume_difference_at_most
from ...analysis.mod_ref import arrays_read, arrays_written
from ...analysis.uniformity import Uniformity
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, names_read, substitute
from ...ir_traversal import bottom_up, walk, walk_statements
from ...lazy_dataclass import replace
from ...machine_model import DEFAULT_MACHINE, Machine
from ...nodes import (
    Accum,
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    Guard,
    HReduce,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Stmt,
    Store,
    Var,
    VecLoop,
    While,
)
from ...statement_blocks import map_statements
from ...status_bits import STATUS
from .if_convert import flatten_branches
from .reduction_fission import reduction_fission
from .vectorize_legality import MIN_TRIPS
from .widen import WIDTH, Widener

__all__ = ["as_lockstep_while", "lane_loads_in_bounds", "DivergentWidener", "vectorize_divergent"]


def as_lockstep_while(s: Loop | While, fresh: FreshNames) -> While | None:
    """`s` as a straight-line ``while`` on one bool accumulator; None where lanes cannot run it in
    lockstep. This decides whether an inner loop that is left early, by a ``break``, may be run in
    lanes; then `_can_run_side_by_side` decides about the loop around it.

    A counted loop must consist of assignments and branches, and its exit (``until``) must be an
    accumulator that nothing else reads. A ``while`` may also have replay checks, which then apply
    only to lanes that have not left; its condition must be an accumulator. Neither may divide
    integers by anything but a constant other than 0.
    """
    statements = [n for part in s.body for n in walk(part) if isinstance(n, Stmt)]
    if any(map(_may_divide_by_zero, walk(s))):
        return None
    if isinstance(s, Loop):
        is_straight_line = all(isinstance(n, Assign | If) for n in statements)
        return (
            _counted_as_while(replace(s, body=tuple(_both_sides_computed(s.body))), fresh)
            if is_straight_line
            else None
        )
    if not all(_is_straight_line(n) for n in statements):
        return None
    cond = s.cond
    if not isinstance(cond, Var) or all(a.name != cond.name for a in s.accs):
        return None
    return replace(s, body=tuple(_both_sides_computed(s.body, logical_not(cond))))


def _is_straight_line(n: Stmt) -> bool:
    """Whether `n` is an assignment, a branch or a check that replays."""
    return isinstance(n, Assign | If) or is_replay_check(n)


def _may_divide_by_zero(n: Node) -> bool:
    """Whether `n` is an integer division whose divisor may be zero in a lane that has left."""
    match n:
        case Call("floordiv" | "mod", (_, divisor), dtype) if DTYPES[dtype].kind in "iu":
            return not (isinstance(divisor, Const) and divisor.value)
        case _:
            return False


def _both_sides_computed(stmts: Iterable[Stmt], inactive: Expr | None = None) -> Iterator[Stmt]:
    """`stmts` with both sides of each branch computed. A check is true in `inactive` lanes."""
    for s in stmts:
        match s:
            case Check(cond) if inactive is not None:
                yield replace(s, cond=logical_or(inactive, cond))
            case If():
                for cond, side in ((logical_not(s.cond), s.then), (s.cond, s.orelse)):
                    yield from _both_sides_computed(
                        side, None if inactive is None else logical_or(inactive, cond)
                    )
                for y in s.yields:
                    select = Call("select", (s.cond, y.then, y.orelse), y.then.dtype)
                    yield Assign(y.name, bottom_up(select, rewrite), span=s.span)
            case _:
                yield s


def _counted_as_while(loop: Loop, fresh: FreshNames) -> While | None:
    """A counted loop with an exit, as a ``while`` until the exit or the end of its range. None if
    its exit is no accumulator, or is read.
    """
    until = loop.until
    if not isinstance(loop.range, Interval) or not isinstance(until, Var):
        return None
    lo, hi = loop.range.lo, loop.range.hi
    exit_flag = next((a for a in loop.accs if a.name == until.name), None)
    if exit_flag is None or exit_flag.name in names_read(*loop.body, *(a.step for a in loop.accs)):
        return None
    k, go = Var(loop.var, INDEX), Var(fresh.name("go"), "bool")
    next_index = index_add(k, 1)
    continues = logical_and(logical_not(exit_flag.step), index_less(next_index, hi))
    accs = (
        *loop.accs,
        Accum(go.name, index_less(lo, hi), continues),
        Accum(k.name, lo, next_index),
    )
    return While(go, loop.body, accs, span=loop.span)


_ZERO = Const(0, INDEX)


def lane_loads_in_bounds(loop: Loop, kernel: Kernel, varying: Uniformity) -> bool:
    """Whether the loads of the inner loops in `loop` are in bounds in every lane, also in lanes
    that have left.

    Uniform loads need no proof: active lanes load the same element (those in branches are tested by
    `_branch_loads_in_bounds`). Each other load must be of an element that every iteration accesses,
    or be proved by `_facts_before`.
    """
    inner = [s for s in loop.body if isinstance(s, Loop | While)]
    loads = [n for s in inner for n in walk(s) if isinstance(n, Load)]
    varying_loads = [n for n in loads if varying.lane_axis_and_stride(n) != (0, 0)]
    proven = {(n.array, varying.index(n)) for n in _unconditional_accesses(loop.body)}
    if all((n.array, varying.index(n)) in proven for n in varying_loads):
        return True
    # the others are in bounds where an active lane loads them: lowering has proved or checked it
    subscripts = (
        (n.array, [(k, e) for k, e in enumerate(varying.index(n)) if varying.varies(e)])
        for n in varying_loads
    )
    facts = _facts_before(loop, kernel)
    return all(_are_in_bounds(array, of_load, facts) for array, of_load in subscripts)


def _branch_loads_in_bounds(loop: Loop, kernel: Kernel) -> bool:
    """Whether the loads in branches of the ``while`` in `loop` are in bounds in lanes that do not
    take the branch, too, since both sides are going to be computed in all lanes: the same load also
    stands outside of branches, or the facts before the loop prove it.

        while v > 1.0:
            if 0 <= k and k < len(y):      False: where no lane takes the branch, y[k] may be out
                v = v * y[k]               of bounds

    A counted loop with an exit needs no such test: in its branches `check_elimination` leaves
    subscripts as lowering has made them, in bounds on both sides.
    """
    inner = [s for s in loop.body if isinstance(s, While)]
    branches = (n for w in inner for n in walk_statements(w) if isinstance(n, If))
    sides = [part for n in branches for part in (*n.then, *n.orelse, *n.yields)]
    statements = (s for body in (loop.body, *(w.body for w in inner)) for s in body)
    outside = [s for s in statements if isinstance(s, Assign | Store)]
    in_branches, proven = (
        {n for part in code for n in walk(part) if isinstance(n, Load)} for code in (sides, outside)
    )
    if in_branches <= proven:
        return True
    varying, facts = Uniformity(loop), _facts_before(loop, kernel)
    return all(
        _are_in_bounds(n.array, enumerate(varying.index(n)), facts) for n in in_branches - proven
    )


def _unconditional_accesses(body: Iterable[Stmt]) -> list[Load | Store]:
    """The accesses that every iteration executes."""
    statements = (s for s in body if isinstance(s, Assign | Store))
    return [n for s in statements for n in walk(s) if isinstance(n, Load | Store)]


def _facts_before(loop: Loop, kernel: Kernel) -> IntegerFacts:
    """The integer facts at the start of the body of `loop`: the kernel's guards and assignments,
    and the range of the loop.
    """
    assert isinstance(loop.range, Interval)
    f, i = IntegerFacts(), Var(loop.var, INDEX)
    for s in kernel.body:
        if isinstance(s, Assign):
            f.bind(Var(s.name, s.value.dtype, s.value.lanes), s.value)
    assume_difference_at_most(f, loop.range.lo, loop.range.hi, -1)
    assume_difference_at_most(f, loop.range.lo, i, 0)
    assume_difference_at_most(f, i, loop.range.hi, -1)
    for g in kernel.guards:
        if isinstance(g, Guard):
            assume_condition(f, g.cond)
    return f


def _are_in_bounds(
    array: str, subscripts: Iterable[tuple[int, Expr]], facts: IntegerFacts
) -> bool:
    """Whether the facts prove the `subscripts` of `array`, each with its axis, to be in bounds."""
    return all(
        facts.max_difference(_ZERO, e) <= 0 and facts.max_difference(e, Dim(array, axis)) < 0
        for axis, e in subscripts
    )


_TRUE = Const(True, "bool")


class DivergentWidener(Widener):
    """A Widener that also widens a ``while``: a lane that has left keeps its values (selects).

    `vectors` has the varying names, with the accumulators of the ``while`` that are read after it
    (`_divergent_values`).
    """

    def __init__(
        self, loop: Loop, vectors: Iterable[str], varying: Uniformity, fresh: FreshNames
    ) -> None:
        super().__init__(loop, {name: name for name in vectors}, varying)
        self.fresh = fresh
        self.outside = names_read(*(s for s in loop.body if not isinstance(s, While)))

    def stmt(self, s: Stmt) -> Stmt:
        """`s` widened. Of a ``while`` the condition becomes "some lane is active", and each
        accumulator whose step varies is stepped in active lanes only.

        The conjuncts of the condition that are the same in all lanes are tested once, as a scalar:
        that is cheaper, and `narrow_lanes` finds the trip count in them.
        """
        if not isinstance(s, While):
            return super().stmt(s)
        active = self.expr(s.cond)
        assert isinstance(active, Var)
        accs, body = [self.widened_accum(a) for a in s.accs], [*self.block(s.body)]
        stepped: dict[str, Expr] = {}
        floats = {a.name for a in accs if a.step.lanes != 1 and DTYPES[a.step.dtype].kind == "f"}
        settled = _settled(s, floats) - self.outside
        for k, a in enumerate(accs):
            previous = Var(a.name, a.step.dtype, WIDTH)
            if a.name in settled:
                continue
            if a.step.lanes != 1 and a.step != previous and previous != active:
                name = self.fresh.name(a.name)
                body.append(
                    Assign(name, Call("select", (active, a.step, previous), previous.dtype, WIDTH))
                )
                accs[k] = replace(a, step=replace(previous, name=name))
                if isinstance(a.step, Var):
                    stepped[a.step.name] = accs[k].step
        [active_step] = [a.step for a in accs if a.name == active.name]
        terms = [substitute(e, stepped) for e in conjuncts(active_step)]
        uniform_flag = Var(self.fresh.name("more"), "bool")
        uniform_terms = [
            e.value if isinstance(e, Broadcast) else e for e in terms if _is_uniform(e)
        ]
        lane_terms: list[Expr] = [active, *(e for e in terms if not _is_uniform(e))]
        stays_active = reduce(_conjunction, lane_terms)
        accs = [replace(a, step=stays_active) if a.name == active.name else a for a in accs]
        cond: Expr = HReduce("or", active)
        if uniform_terms:
            accs.append(Accum(uniform_flag.name, _TRUE, reduce(_conjunction, uniform_terms)))
            cond = _conjunction(cond, uniform_flag)
        return While(cond, tuple(body), tuple(accs), span=s.span)


def _settled(loop: While, vectors: Collection[str]) -> frozenset[str]:
    """Those of the accumulators `vectors` of `loop`, floats, that need no select in lanes that have
    left it, if nothing reads them afterwards: each is computed of others that are kept, so that it
    is the same in all later iterations, and does not grow. No load may depend on an accumulator. ::

        while loop(go, p=0.0, p2=0.0, q2=0.0, …):
            p_1 = p2 - q2 + u
            p = step(p_1)                            p is settled, as p2 and q2 are kept
            p2 = step(p_1 * p_1)
    """
    reads: dict[str, frozenset[str]] = {a.name: frozenset((a.name,)) for a in loop.accs}

    def read(*code: Node) -> frozenset[str]:
        """The accumulators on which `code` depends."""
        return frozenset[str]().union(*(reads.get(name, ()) for name in names_read(*code)))

    for s in loop.body:
        if not isinstance(s, Assign):
            return frozenset()
        if any(read(*n.index) for n in walk(s) if isinstance(n, Load)):
            return frozenset()
        reads[s.name] = read(s.value)
    of_step = {a.name: read(a.step) for a in loop.accs}
    settled: set[str] = set()
    for name, others in of_step.items():
        is_settled = others and others <= set(vectors) - {name} - settled
        if name in vectors and is_settled and not any(name in of_step[x] for x in settled):
            settled.add(name)
    return frozenset(settled)


def _is_uniform(e: Expr) -> bool:
    """Whether `e` is the same in all lanes."""
    return e.lanes == 1 or isinstance(e, Broadcast)


def _conjunction(a: Expr, b: Expr) -> Expr:
    """``a and b``."""
    return Call("and", (a, b), "bool", a.lanes)


_MIN_REGISTER_BYTES = 32  # smaller registers check 64-bit lanes more slowly than scalar code


def vectorize_divergent(kernel: Kernel, *, machine: Machine = DEFAULT_MACHINE) -> Kernel:
    """Run the inner ``while`` or counted loop with an exit of a loop in vector lanes, until every
    lane has left it.

    A lane that has left keeps its values. It continues to compute, and may raise flags that Python
    does not, so the kernel becomes strict in these. This is no PredLoop: the predicate of a
    PredLoop is computed once per register, before its body; here each iteration has another mask,
    which is loop-carried. Before::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0]):
                v = x[i]
                while loop(go, r=v, go=v > 1.0):
                    h = r / 2.0
                    r = step(h)
                    go = step(h > 1.0)
                y[i] = r

    after::

        @strict("under")
        @stops
        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in vec(0, x.shape[0], width=W):
                v = x[i:W]
                while loop(hreduce("or", go), r=v, go=v > broadcast(1.0, W)):
                    h = r / broadcast(2.0, W)
                    r_1 = select(go, h, r)
                    r = step(r_1)
                    go = step(go & (r_1 > broadcast(1.0, W)))
                y[i:W] = r
    """
    fresh, strict_flags = FreshNames(kernel), set(kernel.strict)
    # a replay because of a flag finds its inputs unchanged
    can_replay = arrays_read(kernel.body).isdisjoint(arrays_written(kernel.body))

    def vectorize_loop(s: Loop) -> Loop | VecLoop:
        """`s` as a vector loop; `s` itself where it is not legal, or does not diverge."""
        if not s.accs and not arrays_written((s,)):
            return s  # it does nothing but raise flags, and C compilers drop vectors of such loops
        if not isinstance(s.range, Interval) or not _branch_loads_in_bounds(s, kernel):
            return s
        lockstep = _with_lockstep_while(s, fresh)
        if lockstep is None:
            return s
        flags = possible_flags(*(n for n in lockstep.body if isinstance(n, While)))
        if (flags and not can_replay) or not _can_run_side_by_side(lockstep, kernel):
            return s
        strict_flags.update(flags)
        return _as_divergent_vector_loop(lockstep, fresh)

    has_small_registers = machine.bytes < _MIN_REGISTER_BYTES
    vectorized = map_statements(
        kernel,
        lambda s: _vectorized_or_fissioned(s, vectorize_loop, fresh, has_small_registers),
        Loop,
    )
    if vectorized is kernel:
        return kernel
    stops = kernel.stops or strict_flags != set(kernel.strict)
    return replace(vectorized, strict=tuple(c for c in STATUS if c in strict_flags), stops=stops)


def _vectorized_or_fissioned(
    s: Stmt,
    vectorize_loop: Callable[[Loop], Loop | VecLoop],
    fresh: FreshNames,
    has_small_registers: bool,
) -> Stmt:
    """`s` rewritten by `vectorize_loop`, after `reduction_fission` if it has reductions.

    Unchanged if the registers are too small for its checked 64-bit integers.
    """
    if not isinstance(s, Loop) or (has_small_registers and _is_checked_int64_only(s)):
        return s
    strip_loop = reduction_fission(s, fresh)
    if strip_loop is None:
        return vectorize_loop(s)
    *locals_, first, second = strip_loop.body
    assert isinstance(first, Loop)
    vectorized = vectorize_loop(first)
    return s if vectorized is first else replace(strip_loop, body=(*locals_, vectorized, second))


def _is_checked_int64_only(loop: Loop) -> bool:
    """Whether `loop` has checks and computes with 64-bit integers only. Integer lanes have the same
    bits as scalars, so this choice may depend on the machine.
    """
    nodes = [*walk(loop)]
    has_floats = any(DTYPES[n.dtype].kind == "f" for n in nodes if isinstance(n, Expr))
    whiles = (n for n in nodes if isinstance(n, While))
    return not has_floats and any(isinstance(n, Check) for w in whiles for n in walk(w))


# -- the inner loop


def _with_lockstep_while(loop: Loop, fresh: FreshNames) -> Loop | None:
    """`loop` with its only inner loop as a straight-line ``while`` on one bool; else None."""
    inner = [s for s in loop.body if isinstance(s, Loop | While)]
    outer_statements = [
        n for s in loop.body if s not in inner for n in walk(s) if isinstance(n, Stmt)
    ]
    if len(inner) != 1 or loop.accs or loop.until is not None:
        return None
    if not all(isinstance(s, Assign | Store | Check | If) for s in outer_statements):
        return None
    lockstep = as_lockstep_while(inner[0], fresh)
    if lockstep is None:
        return None
    position = loop.body.index(inner[0])
    before = flatten_branches(loop.body[:position], fresh, *loop.body[position:])
    after = flatten_branches(loop.body[position + 1 :], fresh)
    return replace(loop, body=(*before, _without_dead_accums(lockstep, after), *after))


def _without_dead_accums(s: While, after: Iterable[Stmt]) -> While:
    """`s` without accumulators that nothing reads."""
    read = names_read(s.cond, *s.body, *after)
    needed = [a for a in s.accs if a.name in read | _names_in_other_steps(a, s.accs)]
    return replace(s, accs=tuple(needed))


def _names_in_other_steps(acc: Accum, accs: Iterable[Accum]) -> frozenset[str]:
    """The names that the steps of other accumulators read."""
    return names_read(*(a.step for a in accs if a is not acc))


# -- legality and rewriting


def _can_run_side_by_side(loop: Loop, kernel: Kernel) -> bool:
    """Whether the iterations of `loop`, whose body has one straight-line ``while``, may run in
    lanes that leave the ``while`` at different times, and are worth it.

        for i in loop(0, n):                              lanes are the points c[i], as of the
            while loop(go, z=0.0, k=0, go=True):          Mandelbrot set: each leaves when its own
                z, k = step(z * z + c[i]), step(k + 1)    z is large, and all go on until the last
                go = step(z < 2.0)                        one has left
            y[i] = k

    As `can_run_in_lockstep`, for control flow that diverges. All of this must hold:

    - the loop is counted, and not known to have fewer than `MIN_TRIPS` iterations;
    - the condition of the ``while`` differs between lanes, else `vectorize_outer` takes the loop;
    - the elements that the lanes access lie along one axis, a constant stride apart, or all lanes
      load the same one; two lanes never store to one element;
    - loads are in bounds, also in lanes that have left the ``while`` (`lane_loads_in_bounds`);
    - no store precedes a check, which may fail in any lane;
    - no iteration depends on another.

    Flags that a lane raises after it has left are the concern of `vectorize_divergent`.
    """
    if not isinstance(loop.range, Interval):
        return False
    count = constant_trip_count(loop.range)
    if count is not None and count < MIN_TRIPS:
        return False
    inner = next(s for s in loop.body if isinstance(s, While))
    assert isinstance(inner.cond, Var)
    if inner.cond.name not in Uniformity(loop).names:
        return False
    varying = _divergent_values(loop)
    # None: not affine, or along several axes; (0, 0): all lanes touch one element
    accesses = [n for s in loop.body for n in walk(s) if isinstance(n, Load | Store)]
    strides = [(n, varying.lane_axis_and_stride(n)) for n in accesses]
    if any(m is None or (m == (0, 0) and isinstance(n, Store)) for n, m in strides):
        return False
    if not _stores_after_checks(loop.body) or not lane_loads_in_bounds(loop, kernel, varying):
        return False
    return all(d.distance == 0 for d in dependences(loop, kernel))


def _divergent_values(loop: Loop) -> Uniformity:
    """Which values vary between the lanes of `loop`, which leave its ``while`` at different times.
    An accumulator that is read after the ``while`` varies, also if active lanes agree on it.

        while loop(go, k=0, v=x[i], go=x[i] > 1.0):     k is the number of iterations so far
            k, v = step(k + 1), step(v * 0.5)
            go = step(v > 1.0)
        y[i] = w[k]                                     k varies: w[k] is no uniform load
    """
    position = next(k for k, s in enumerate(loop.body) if isinstance(s, While))
    inner = loop.body[position]
    assert isinstance(inner, While)
    read_after = names_read(*loop.body[position + 1 :])
    return Uniformity(loop, live_out=[a.name for a in inner.accs if a.name in read_after])


def _stores_after_checks(body: Iterable[Stmt]) -> bool:
    """Whether no store precedes a check: a failing check must leave memory as it was."""
    kinds = [type(n) for s in body for n in walk(s) if isinstance(n, Store | Check)]
    return Check not in kinds[kinds.index(Store) :] if Store in kinds else True


def _as_divergent_vector_loop(loop: Loop, fresh: FreshNames) -> VecLoop:
    """`loop`, which is legal, as a vector loop."""
    varying = _divergent_values(loop)
    widener = DivergentWidener(loop, varying.names, varying, fresh)
    return VecLoop(loop.var, loop.range, WIDTH, widener.block(loop.body), span=loop.span)
