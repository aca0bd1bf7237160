"""Outer-loop vectorisation: the lanes run the inner loops in lockstep, each in Python's order.

`best_vector_loops` decides where: bottom-up, by the cost of the `LoopSet`. `can_run_in_lockstep`
decides whether it is legal. Since each lane computes its reductions in the order of the source, no
float reduction is reassociated, unless the vectorised loop itself has accumulators.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...algebra.constant_folding import constant_trip_count
from ...analysis.dependence import dependences
from ...analysis.loop_reductions import reduction_of
from ...analysis.loop_set import loop_set
from ...analysis.mod_ref import AliasInfo
from ...analysis.signed_zeros import zero_sign_unobserved
from ...analysis.uniformity import Uniformity
from ...ir_names import FreshNames
from ...ir_traversal import (
    counted_range,
    is_innermost,
    kernel_header,
    map_children,
    memoized_by,
    memoized_per_node,
    range_bounds,
    walk,
)
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Check,
    If,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    VecLoop,
    While,
    Zip,
)
from .exact_extrema import is_order_independent
from .vectorize import vectorize_loop
from .vectorize_legality import MIN_TRIPS, checks_narrow_overflow, vectorization_obstacle
from .widen import WIDTH, Widener, is_pure_select

__all__ = [
    "inner_loops", "best_vector_loops", "can_run_in_lockstep", "as_outer_vector_loop",
    "loop_around", "loops_kept_for_outer_vectors", "with_loops", "vectorize_outer",
]


def vectorize_outer(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Vectorise a loop around other loops, where that is cheaper than vectors inside it
    (`best_vector_loops`) and its iterations may run in lockstep (`can_run_in_lockstep`).

    Uniform values stay scalar; each lane does the reductions of inner loops for itself. Before::

        def k(a: f32[:, ::1], b: f32[:, ::1], c: mut(f32[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, c.shape[0]):
                for j in loop(0, c.shape[1]):
                    for k in loop(0, b.shape[0], s=f32(0.0)):
                        s = step(s + a[i, k] * b[k, j])
                    c[i, j] = s

    after::

        def k(a: f32[:, ::1], b: f32[:, ::1], c: mut(f32[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, c.shape[0]):
                for j in vec(0, c.shape[1], width=W):
                    for k in loop(0, b.shape[0], s=broadcast(f32(0.0), W)):
                        s = step(s + broadcast(a[i, k], W) * b[k, j:W])
                    c[i, j:W] = s
    """

    memory, fresh, unsigned_zeros = (
        AliasInfo(kernel),
        FreshNames(kernel),
        zero_sign_unobserved(kernel),
    )

    def visit(n: Any) -> Any:
        """`n` with the best loops in it vectorised."""
        if isinstance(n, Loop) and not is_innermost(n):
            if n.var not in best_vector_loops(n, kernel, reassociate=reassociate):
                return map_children(n, visit)
            return (
                tuple(vectorize_loop(n, memory, fresh, unsigned_zeros, Uniformity(n)))
                if n.accs
                else as_outer_vector_loop(n)
            )
        return map_children(n, visit) if isinstance(n, (*_ENCLOSING, Kernel)) else n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def best_vector_loops(loop: Loop, kernel: Kernel, *, reassociate: bool = True) -> frozenset[str]:
    """The variables of the loops, among `loop` and those in it, that should be vectorised: at most
    one on each path from outside to inside. Empty if none can be.

        for i: for j: for k: s += a[i, k] * b[k, j]      {"j"}: along k only the sums could be
                                                         lanes, along i the loads would be gathers

    Decided bottom-up. An innermost loop is chosen if it can be vectorised. A loop around others is
    chosen in place of the best choice inside it if all of this holds: its iterations can run in
    lockstep; each lane can do its reductions for itself; and vectors along it have the lower
    `LoopSet.cost`. `vectorize_outer` follows the choice; other passes ask what it will be.
    """
    this_loop = frozenset((loop.var,))
    if is_innermost(loop):
        obstacle = vectorization_obstacle(loop, kernel, reassociate=reassociate)
        return this_loop if obstacle is None else frozenset()
    of_inner_loops = [
        best_vector_loops(n, kernel, reassociate=reassociate) for n in inner_loops(loop)
    ]
    inner_choice = frozenset().union(*of_inner_loops)
    if not _is_lockstep_nest(loop, kernel, reassociate=reassociate):
        return inner_choice
    nest = loop_set(loop, kernel)
    return this_loop if nest.cost(this_loop) < nest.cost(inner_choice) else inner_choice


def loops_kept_for_outer_vectors(kernel: Kernel, *, reassociate: bool = True) -> frozenset[str]:
    """The variables of the innermost loops that should stay as they are, since vectors along a loop
    around them cost less than vectors along them, even if they could be vectorised in another form.
    Passes ask that give such a form to a loop.

        for j: for i: if d[i] + a[i, j] > best: best = d[i] + a[i, j]; at = i      {"i"}: along j
                                                     a[i, j] is loaded, along i gathered
    """
    found = set[str]()

    def visit(n: Any) -> None:
        for loop in inner_loops(n):
            if is_innermost(loop):
                continue
            loops = (x for x in walk(loop) if isinstance(x, Loop))
            innermost = frozenset(x.var for x in loops if is_innermost(x))
            if _is_lockstep_nest(loop, kernel, reassociate=reassociate):
                nest = loop_set(loop, kernel)
                if nest.cost({loop.var}) < nest.cost(innermost):
                    found.update(innermost)
                    continue
            visit(loop)

    visit(kernel)
    return frozenset(found)


def loop_around(loop: Loop, kernel: Kernel) -> Loop | None:
    """The loop directly around the innermost `loop` of `kernel`, None if there is none."""
    return _loops_around(kernel).get(loop.var)


@memoized_per_node
def _loops_around(kernel: Kernel) -> dict[str, Loop]:
    """For the variable of each innermost scalar loop of `kernel` that is in a loop: the loop
    directly around it.
    """
    loops = [n for s in kernel.body for n in walk(s) if isinstance(n, Loop)]
    return {inner.var: n for n in loops for inner in inner_loops(n) if is_innermost(inner)}


def with_loops(n: Any, loops: Mapping[str, Any]) -> Any:
    """`n` with each loop in it whose variable is in `loops` replaced, by a loop or by statements.
    """
    if isinstance(n, Loop) and n.var in loops:
        return loops[n.var]
    return map_children(n, lambda c: with_loops(c, loops)) if isinstance(n, _ENCLOSING) else n


def _is_lockstep_nest(loop: Loop, kernel: Kernel, *, reassociate: bool) -> bool:
    """Whether `loop`, which is around others, may be vectorised, with a part of each accumulator in
    each lane.
    """
    is_legal = can_run_in_lockstep(_without_accumulators(loop), kernel)
    return is_legal and all(_is_lane_reduction(a, loop, reassociate) for a in loop.accs)


@memoized_per_node
def _without_accumulators(loop: Loop) -> Loop:
    return replace(loop, accs=()) if loop.accs else loop


def inner_loops(n: Any) -> list[Loop]:
    """The `Loop`s in a loop or branch that are in no other `Loop` in it."""
    body = (*n.then, *n.orelse) if isinstance(n, If) else n.body
    per_statement = [
        [s] if isinstance(s, Loop) else inner_loops(s) for s in body if isinstance(s, _ENCLOSING)
    ]
    return [loop for loops in per_statement for loop in loops]


_ENCLOSING = (Loop, If, While, Zip)


def _is_lane_reduction(acc: Accum, loop: Loop, reassociate: bool) -> bool:
    """Whether the reduction `acc` may be done in each lane, and the lanes be combined after the
    loop: none of its bits depends on the order of the terms (`is_order_independent`), except for a
    float sum, if `reassociate` allows that; its step loads nothing; and its overflow needs no check
    in the loop.
    """
    reduction = reduction_of(acc, loop)
    if reduction is None or checks_narrow_overflow(acc, loop):
        return False
    if not is_order_independent(reduction):
        return False
    reads_no_memory = not any(isinstance(n, Load) for n in walk(acc.step))
    return reads_no_memory and (reassociate or not reduction.is_inexact)


def can_run_in_lockstep(loop: Loop, kernel: Kernel, min_trips: int = MIN_TRIPS) -> bool:
    """Whether iterations of `loop`, which contains loops, may run in lanes that execute each
    statement together (in lockstep), as the threads of a warp on a GPU.

        for i in loop(0, n):                          lanes are rows i: each adds up its own row, in
            for k in loop(0, m, s=0.0):               the order of the source. All lanes have the
                s = step(s + a[i, k] * v[k])          same k, since the range of the inner loop does
            y[i] = s                                  not depend on i

    All of this must hold:

    - it is a counted loop without accumulators, of at least `min_trips` iterations or of an unknown
      number;
    - no check in it stops the kernel: other lanes would have stored what Python has not yet;
    - all lanes execute the same statements: the ranges of inner loops are uniform, that is, the
      same in all lanes, and so are branches, except for those that only select a value
      (`_is_uniform_flow`);
    - the elements that the lanes access lie along one axis, a constant stride apart; or all lanes
      load the same one. Two lanes never store to one element;
    - no iteration depends on another.
    """
    return _is_lockstep_legal(loop, kernel_header(kernel), min_trips)


@memoized_by
def _is_lockstep_legal(loop: Loop, kernel: Kernel, min_trips: int) -> bool:
    """As `can_run_in_lockstep`, which has the conditions; given the kernel's header only, so that
    the answer is kept across passes.
    """
    counted = counted_range(loop)
    if counted is None or loop.accs:
        return False
    trip_count = constant_trip_count(counted)
    if trip_count is not None and trip_count < min_trips:
        return False
    if kernel.stops and any(isinstance(n, Check) for n in walk(loop)):
        return False
    varying = Uniformity(loop)
    if not all(_is_uniform_flow(s, varying) for s in loop.body):
        return False
    # None: not affine, or along several axes; (0, 0): all lanes touch one element
    accesses = [n for s in loop.body for n in walk(s) if isinstance(n, Load | Store)]
    strides = [(n, varying.lane_axis_and_stride(n)) for n in accesses]
    if any(m is None or (m == (0, 0) and isinstance(n, Store)) for n, m in strides):
        return False
    return all(d.distance == 0 for d in dependences(loop, kernel))


def _is_uniform_flow(s: Stmt, varying: Uniformity) -> bool:
    """Whether all lanes execute the same statements in `s`, equally often."""
    match s:
        case Assign() | Store() | Check():
            return True
        case If() if is_pure_select(s):
            return True
        case If():
            is_uniform = not varying.varies(s.cond)
            return is_uniform and all(_is_uniform_flow(x, varying) for x in (*s.then, *s.orelse))
        case Loop():
            is_uniform = s.until is None and not varying.varies(*range_bounds(s.range))
            return is_uniform and all(_is_uniform_flow(x, varying) for x in s.body)
        case _:
            return False


def as_outer_vector_loop(loop: Loop) -> VecLoop:
    """`loop`, for which `can_run_in_lockstep` is true, as a vector loop."""
    varying = Uniformity(loop)
    widener = Widener(loop, {name: name for name in varying.names}, varying)
    return VecLoop(loop.var, loop.range, WIDTH, widener.block(loop.body), span=loop.span)
