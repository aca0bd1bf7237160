"""Loop versioning by trip count: a float fold of few terms that stands alone keeps its order.

Vectors save no time there, and in Python's order ``sum([0.1, 0.2, 0.3, 0.4])`` has the digits that
Python prints. The copy for few terms has a trip count with a constant bound; `vectorize` leaves
such a loop scalar (`is_short_fold`). Folds inside loops are those of `version_short_reductions`.
"""
from __future__ import annotations

from ...algebra.constant_folding import is_constant
from ...algebra.index_builder import index_add, index_less, index_min, index_sub
from ...analysis.loop_reductions import reduction_of
from ...ir_names import FreshNames, bound_names, rename_names
from ...ir_traversal import counted_range, map_children, walk
from ...lazy_dataclass import replace
from ...nodes import Accum, Append, Expr, If, Interval, Kernel, Load, Loop, Node, Stmt, Var, Yield
from ..vector.vectorize import SHORT_FOLD, is_short_fold, reorders_floats
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["keep_fold_order"]


def keep_fold_order(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Version a loop with a float fold that is in no other loop on its trip count: one copy for at
    most `SHORT_FOLD` terms, which keeps the order of the source, and one for more terms.

    A loop gets two copies only if it would be vectorised, and so reordered (`_may_be_short`); with
    ``reassociate=False`` none is. The copy for few terms has a trip count with a constant bound, by
    which `vectorize.is_short_fold` knows it. Before::

        def k(x: f32[::1], total: mut(f32[()])):
            disjoint(x, total)
            for i in loop(0, x.shape[0], s=f32(0.0)):
                s = step(s + x[i])
            total[()] = s

    after::

        def k(x: f32[::1], total: mut(f32[()])):
            disjoint(x, total)
            if x.shape[0] < 33:
                for i_1 in loop(0, min(x.shape[0], 32), s_1=f32(0.0)):
                    s_1 = step(s_1 + x[i_1])
                s = give(s_1)
            else:
                for i_2 in loop(0, x.shape[0], s_2=f32(0.0)):
                    s_2 = step(s_2 + x[i_2])
                s = give(s_2)
            total[()] = s
    """
    if not reassociate:
        return kernel
    fresh = FreshNames(kernel)

    def visit(n: Node) -> Node:
        """`n` with its loops versioned, but not those inside of loops."""
        match n:
            case If(cond, _, (Loop(range=Interval() as r),)) if cond == _has_few_terms(r):
                return n  # versioned before
            case Loop() if _may_be_short(n, kernel):
                return _versioned(n, fresh)
            case Kernel() | If():
                return map_children(n, visit)
            case _:
                return n

    return visit(kernel)  # type: ignore[return-value]  # a Kernel gives a Kernel


def _may_be_short(loop: Loop, kernel: Kernel) -> bool:
    """Whether `keep_fold_order` makes a copy of `loop` for few terms: it would be vectorised, which
    reorders a fold of floats; it may have few terms; and its length is not bounded already.

    There is no copy of a loop that appends to a list; nor of one that loads from a temporary array
    of bools: the copy is scalar, and because of its loads `pack_bools` would not store the array as
    bits.
    """
    counted = counted_range(loop)
    if counted is None or is_short_fold(loop):
        return False
    stored = {p.name for p in kernel.params if p.owned and p.dtype == "bool"}
    nodes = walk(loop)
    if any(
        (isinstance(n, Append) and not n.only) or (isinstance(n, Load) and n.array in stored)
        for n in nodes
    ):
        return False
    if is_constant(_has_few_terms(counted), False):
        return False
    return reorders_floats(loop) and vectorization_obstacle(loop, kernel) is None


def _with_masked_term(acc: Accum, loop: Loop) -> Accum:
    """`acc` with the neutral element of the fold in place of a term that an ``if`` leaves out::

        s = step(select(c, s + x, s))    →    s = step(s + select(c, x, -0.0))

    So the sum of the accumulator and that term, which may raise a flag, is not computed.
    """
    fold = reduction_of(acc, loop)
    if fold is None or not fold.is_inexact:
        return acc
    return replace(acc, step=fold.step(Var(acc.name, acc.init.dtype)))


def _has_few_terms(r: Interval) -> Expr:
    """The condition that the range has at most `SHORT_FOLD` iterations."""
    return index_less(index_sub(r.hi, r.lo), SHORT_FOLD + 1)


def _versioned(loop: Loop, fresh: FreshNames) -> Stmt:
    """`loop` in two copies, and its accumulators bound to those of the one that ran."""
    r = loop.range
    assert isinstance(r, Interval)
    few = replace(r, hi=index_min(r.hi, index_add(r.lo, SHORT_FOLD)))
    short, long = (
        {name: fresh.name(name) for name in sorted(bound_names(loop))} for _ in range(2)
    )
    span = loop.span and replace(loop.span, internal=True)
    masked = replace(loop, accs=tuple(_with_masked_term(a, loop) for a in loop.accs))
    short_loop = replace(rename_names(masked, short), range=few, span=span)
    yields = tuple(
        Yield(a.name, Var(short[a.name], a.init.dtype), Var(long[a.name], a.init.dtype))
        for a in loop.accs
    )
    return If(
        _has_few_terms(r), (short_loop,), (rename_names(loop, long),), yields, span=loop.span
    )
