"""Outer loops as vectors: their lanes run the inner loops together, each in Python's order."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..algebra.values import trips
from ..analysis.dependence import dependences
from ..analysis.folds import fold_of
from ..analysis.memory import Memory
from ..analysis.varying import Varying
from ..analysis.zeros import unsigned
from ..loopset import loop_set
from ..names import Fresh
from ..nodes import (
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
from ..tree import ends, innermost, map_children, walk
from .legality import SMALL, explain, wraps_in_order
from .lift import WIDTH, Lift, is_choice
from .ties import is_settled
from .vectorize import folded

__all__ = ["inner_loops", "lanes_of", "may_run_together", "vectorised", "vectorize_outer"]


def vectorize_outer(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """A loop around others becomes a vector loop, where that is cheaper than vectors inside it.

    What is the same in all lanes stays scalar; what the loop folds, each lane folds for itself.
    Before::

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

    memory, fresh, calm = Memory(kernel), Fresh(kernel), unsigned(kernel)

    def visit(n: Any) -> Any:
        if isinstance(n, Loop) and not innermost(n):
            if n.var not in lanes_of(n, kernel, reassociate=reassociate):
                return map_children(n, visit)
            return tuple(folded(n, memory, fresh, calm, Varying(n))) if n.accs else vectorised(n)
        return map_children(n, visit) if isinstance(n, (*_AROUND, Kernel)) else n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def lanes_of(loop: Loop, kernel: Kernel, *, reassociate: bool = True) -> frozenset[str]:
    """The loops, of `loop` and those in it, that are best made vector loops: one on each path."""
    mine = frozenset((loop.var,))
    if innermost(loop):
        return frozenset() if explain(loop, kernel, reassociate=reassociate) else mine
    below = [lanes_of(n, kernel, reassociate=reassociate) for n in inner_loops(loop)]
    inside = frozenset().union(*below)
    able = may_run_together(replace(loop, accs=()), kernel)
    if not able or not all(_is_fold(a, loop, reassociate) for a in loop.accs):
        return inside
    nest = loop_set(loop, kernel)
    return mine if nest.cost(mine) < nest.cost(inside) else inside


def inner_loops(n: Any) -> list[Loop]:
    """The loops directly in a loop or a branch."""
    body = (*n.then, *n.orelse) if isinstance(n, If) else n.body
    found = [[s] if isinstance(s, Loop) else inner_loops(s) for s in body if isinstance(s, _AROUND)]
    return [loop for some in found for loop in some]


_AROUND = (Loop, If, While, Zip)


def _is_fold(acc: Accum, loop: Loop, reassociate: bool) -> bool:
    """Whether each lane may fold for itself, and nothing asks what comes of it on the way."""
    fold = fold_of(acc, loop)
    if fold is None or wraps_in_order(acc, loop) or not is_settled(fold):
        return False
    plain = not any(isinstance(n, Load) for n in walk(acc.step))
    return plain and (reassociate or not fold.is_inexact)


def may_run_together(loop: Loop, kernel: Kernel, least: int = SMALL) -> bool:
    """Whether iterations of `loop`, which has loops in it, can run side by side, step by step.

    Not if there are surely less than `least`.
    """
    if not isinstance(loop.range, Interval) or loop.accs or loop.until is not None:
        return False
    count = trips(loop.range)
    if count is not None and count < least:
        return False
    if kernel.stops and any(isinstance(n, Check) for n in walk(loop)):
        return False
    varying = Varying(loop)
    if not all(_goes_one_way(s, varying) for s in loop.body):
        return False
    places = [n for s in loop.body for n in walk(s) if isinstance(n, Load | Store)]
    moves = [(n, varying.moves(n)) for n in places]
    if any(m is None or (m == (0, 0) and isinstance(n, Store)) for n, m in moves):
        return False
    return all(d.distance == 0 for d in dependences(loop, kernel))


def _goes_one_way(s: Stmt, varying: Varying) -> bool:
    """Whether `s` takes all lanes through the same statements, as often."""
    match s:
        case Assign() | Store() | Check():
            return True
        case If() if is_choice(s):
            return True
        case If():
            same = not varying.differs(s.cond)
            return same and all(_goes_one_way(x, varying) for x in (*s.then, *s.orelse))
        case Loop():
            same = s.until is None and not varying.differs(*ends(s.range))
            return same and all(_goes_one_way(x, varying) for x in s.body)
        case _:
            return False


def vectorised(loop: Loop) -> VecLoop:
    """`loop`, which `may_run_together`, as a vector loop."""
    varying = Varying(loop)
    lift = Lift(loop, {name: name for name in varying.names}, varying)
    return VecLoop(loop.var, loop.range, WIDTH, lift.block(loop.body), span=loop.span)
