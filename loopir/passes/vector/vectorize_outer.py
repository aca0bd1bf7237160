"""Outer-loop vectorisation: the lanes run the inner loops in lockstep, each in Python's order."""
from __future__ import annotations

from typing import Any

from ...algebra.constant_folding import constant_trip_count
from ...analysis.dependence import dependences
from ...analysis.loop_reductions import reduction_of
from ...analysis.loop_set import loop_set
from ...analysis.mod_ref import AliasInfo
from ...analysis.signed_zeros import zero_sign_unobserved
from ...analysis.uniformity import Uniformity
from ...ir_names import FreshNames
from ...ir_traversal import is_innermost, map_children, range_bounds, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Check,
    If,
    Interval,
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
    "vectorize_outer",
]


def vectorize_outer(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Vectorise a loop around other loops, where that is cheaper than vectors inside it.

    Uniform values stay scalar; each lane folds for itself. The choice is made in
    `best_vector_loops`. Before::

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

    memory, fresh, calm = AliasInfo(kernel), FreshNames(kernel), zero_sign_unobserved(kernel)

    def visit(n: Any) -> Any:
        if isinstance(n, Loop) and not is_innermost(n):
            if n.var not in best_vector_loops(n, kernel, reassociate=reassociate):
                return map_children(n, visit)
            return (
                tuple(vectorize_loop(n, memory, fresh, calm, Uniformity(n)))
                if n.accs
                else as_outer_vector_loop(n)
            )
        return map_children(n, visit) if isinstance(n, (*_ENCLOSING, Kernel)) else n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def best_vector_loops(loop: Loop, kernel: Kernel, *, reassociate: bool = True) -> frozenset[str]:
    """The loops among `loop` and those in it that should be vectorised: one on each path.

    Compares the LoopSet cost of vectors along `loop` with that of the best loops inside it. An
    outer loop qualifies if its iterations can run in lockstep and its accumulators are reductions
    of each lane.
    """
    outer = frozenset((loop.var,))
    if is_innermost(loop):
        return (
            frozenset() if vectorization_obstacle(loop, kernel, reassociate=reassociate) else outer
        )
    below = [best_vector_loops(n, kernel, reassociate=reassociate) for n in inner_loops(loop)]
    inside = frozenset().union(*below)
    able = can_run_in_lockstep(replace(loop, accs=()), kernel)
    if not able or not all(_is_lane_reduction(a, loop, reassociate) for a in loop.accs):
        return inside
    nest = loop_set(loop, kernel)
    return outer if nest.cost(outer) < nest.cost(inside) else inside


def inner_loops(n: Any) -> list[Loop]:
    """The loops directly in a loop or branch (branches in between are looked through)."""
    body = (*n.then, *n.orelse) if isinstance(n, If) else n.body
    found = [
        [s] if isinstance(s, Loop) else inner_loops(s) for s in body if isinstance(s, _ENCLOSING)
    ]
    return [loop for some in found for loop in some]


_ENCLOSING = (Loop, If, While, Zip)


def _is_lane_reduction(acc: Accum, loop: Loop, reassociate: bool) -> bool:
    """Whether `acc` is a reduction that each lane may do for itself, unread within the loop."""
    fold = reduction_of(acc, loop)
    if fold is None or checks_narrow_overflow(acc, loop) or not is_order_independent(fold):
        return False
    plain = not any(isinstance(n, Load) for n in walk(acc.step))
    return plain and (reassociate or not fold.is_inexact)


def can_run_in_lockstep(loop: Loop, kernel: Kernel, least: int = MIN_TRIPS) -> bool:
    """Whether iterations of `loop`, which contains loops, may run in lanes statement by statement.

    Requires uniform control flow, constant lane strides and no dependence between iterations; and
    at least `least` iterations, unless the count is unknown.
    """
    if not isinstance(loop.range, Interval) or loop.accs or loop.until is not None:
        return False
    count = constant_trip_count(loop.range)
    if count is not None and count < least:
        return False
    if kernel.stops and any(isinstance(n, Check) for n in walk(loop)):
        return False
    varying = Uniformity(loop)
    if not all(_is_uniform_flow(s, varying) for s in loop.body):
        return False
    places = [n for s in loop.body for n in walk(s) if isinstance(n, Load | Store)]
    moves = [(n, varying.moves(n)) for n in places]
    if any(m is None or (m == (0, 0) and isinstance(n, Store)) for n, m in moves):
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
            same = not varying.differs(s.cond)
            return same and all(_is_uniform_flow(x, varying) for x in (*s.then, *s.orelse))
        case Loop():
            same = s.until is None and not varying.differs(*range_bounds(s.range))
            return same and all(_is_uniform_flow(x, varying) for x in s.body)
        case _:
            return False


def as_outer_vector_loop(loop: Loop) -> VecLoop:
    """`loop`, for which `can_run_in_lockstep` is true, as a vector loop."""
    varying = Uniformity(loop)
    lift = Widener(loop, {name: name for name in varying.names}, varying)
    return VecLoop(loop.var, loop.range, WIDTH, lift.block(loop.body), span=loop.span)
