"""Loop versioning by trip count: nests of short reductions get vectors along an outer loop.

A vector sum of few terms spends most of its time on the horizontal reduction.
`_shortness_condition` decides: the folds have fewer than `SHORT_LIMIT` terms (or
`UNSHARED_LIMIT`), the loop around them can run in lockstep, and the cost model has not made vectors
along that loop anyway.
"""
from __future__ import annotations

from typing import Any

from ...algebra.constant_folding import is_constant
from ...algebra.index_builder import index_less, index_sub
from ...analysis.loop_reductions import reduction_of
from ...analysis.uniformity import Uniformity
from ...dtypes import DTYPES
from ...ir_names import FreshNames, bound_names, changed_names, names_read, rename_names
from ...ir_traversal import counted_range, map_children, range_bounds, walk
from ...nodes import Assign, Check, Expr, If, Interval, Kernel, Load, Loop, Stmt, Store, While, Zip
from ..vector.vectorize_outer import (
    as_outer_vector_loop,
    best_vector_loops,
    can_run_in_lockstep,
    inner_loops,
)

__all__ = ["SHORT_LIMIT", "PANEL_LIMIT", "version_short_reductions"]

SHORT_LIMIT = 32
"""A fold in other loops runs in one lane if it has fewer terms than this: 31, and not 32. (A fold
that is in no other loop is short up to `vectorize.SHORT_FOLD` terms: 32, and not 33.)
"""
PANEL_LIMIT = 512
"""In place of `SHORT_LIMIT`, for sums of floats whose lanes gather one array, which `pack_operands`
copies to a panel of so many terms once for many rows (`_fills_one_panel`): ``a @ b.T``.
"""
UNSHARED_LIMIT = 12  # in place of `SHORT_LIMIT`, if no other loop reuses what the lanes gather


def version_short_reductions(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Version a nest on the trip count of its innermost folds: for short ones the vectors are along
    a loop around the folds, and each lane folds in Python's order.

    Which version runs depends on the number of terms alone, so that a sum has the same bits on
    every machine. `_shortness_condition` says when there is no such version. Before::

        def k(x: f64[:, ::1], y: f64[:, ::1], out: mut(f64[:, ::1])):
            disjoint(x, out)
            disjoint(y, out)
            for i in loop(0, x.shape[0]):
                for j in loop(0, y.shape[0]):
                    for k in loop(0, x.shape[1], s=0.0):
                        s = step(s + x[i, k] * y[j, k])
                    out[i, j] = s

    after::

        def k(x: f64[:, ::1], y: f64[:, ::1], out: mut(f64[:, ::1])):
            disjoint(x, out)
            disjoint(y, out)
            if x.shape[1] < 512:
                for i_1 in loop(0, x.shape[0]):
                    for j_1 in vec(0, y.shape[0], width=W):
                        for k_1 in loop(0, x.shape[1], s_1=broadcast(0.0, W)):
                            s_1 = step(s_1 + broadcast(x[i_1, k_1], W) * y[j_1:W, k_1])
                        out[i_1, j_1:W] = s_1
            else:
                for i in loop(0, x.shape[0]):
                    for j in loop(0, y.shape[0]):
                        for k in loop(0, x.shape[1], s=0.0):
                            s = step(s + x[i, k] * y[j, k])
                        out[i, j] = s
    """
    fresh = FreshNames(kernel)

    def visit(n: Any) -> Any:
        """`n` with its nests versioned; what an earlier run has versioned is left alone."""
        match n:
            case If(cond, _, (Loop() as long,)) if cond == _shortness_condition(
                long, kernel, reassociate
            ):
                return n
            case Loop():
                test = _shortness_condition(n, kernel, reassociate)
                if test is not None:
                    return _versioned_nest(n, test, fresh)
                is_vectorized = n.var in best_vector_loops(n, kernel, reassociate=reassociate)
                return n if is_vectorized else map_children(n, visit)
            case Kernel() | If() | While() | Zip():
                return map_children(n, visit)
            case _:
                return n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def _shortness_condition(nest: Loop, kernel: Kernel, reassociate: bool) -> Expr | None:
    """The test before `nest` that selects the version for short folds (reductions), in which the
    vectors are along a loop around the folds; None if there is to be no such version.

        for i: for j: for k in loop(0, x.shape[1], s=0.0): …     →    x.shape[1] < 32

    Lanes that run along `j` load ``y[j, k]`` by a gather. The limit depends on whether another loop
    of the nest needs the same elements again (`_shares_loads`), since a gather is then worth more::

        for i: for j: for k: s += x[i, k] * y[j, k]     `PANEL_LIMIT`: each i needs the same y[j, k]
        for i: for j: for k: s = max(s, x[i, k] * y[j, k] * z[j, k])     `SHORT_LIMIT`: two arrays
        for j: for k: s += y[j, k]                      `UNSHARED_LIMIT`: none does

    The limits are the same on every machine, since the version decides the order of the terms.
    There is no version where

    - `nest` is more than loops in loops down to folds, or its outermost loop has accumulators;
    - the folds have different lengths, are never short, or a length is known only in the nest;
    - the cost model has chosen a loop around the folds for any length (`best_vector_loops`);
    - the iterations of the innermost loop around them that has no accumulators cannot run in
      lockstep (`can_run_in_lockstep`).
    """
    path = _path_to_reductions(nest)
    if not path or nest.accs or nest.until is not None:
        return None
    limit = (
        UNSHARED_LIMIT if not _shares_loads(path)
        else PANEL_LIMIT if _fills_one_panel(path, kernel) else SHORT_LIMIT
    )
    test, *others = {_has_fewer_terms(fold, limit) for fold in inner_loops(path[-1])}
    if others:
        return None  # folds of different lengths: one test would not tell
    if is_constant(test, False) or changed_names(nest) & names_read(test):
        return None  # never short; or the length is known only inside the nest
    vector_loops = best_vector_loops(nest, kernel, reassociate=reassociate)
    if not vector_loops.isdisjoint(s.var for s in path):
        return None  # the cost model has chosen a loop outside of the folds for any length
    return test if can_run_in_lockstep(_parallel_loop(path), kernel) else None


def _parallel_loop(path: list[Loop]) -> Loop:
    """The loop that is vectorised: the innermost one without accumulators."""
    return next(s for s in reversed(path) if not s.accs)


def _path_to_reductions(nest: Loop) -> list[Loop]:
    """`nest` and the loops in it, each directly in the one before, down to the one around its
    folds; empty for any other nest.
    """
    loops = inner_loops(nest)
    if loops and all(_is_pure_reduction(s) for s in loops):
        return [nest]
    inner_path = _path_to_reductions(loops[0]) if len(loops) == 1 else []
    return [nest, *inner_path] if inner_path else []


def _is_pure_reduction(loop: Loop) -> bool:
    """Whether `loop` has accumulators and no effects."""
    is_counted = counted_range(loop) is not None
    return is_counted and bool(loop.accs) and all(isinstance(s, Assign | Check) for s in loop.body)


def _shares_loads(path: list[Loop]) -> bool:
    """Whether the subscripts of what the lanes load are invariant in a loop of the path, other than
    the one that becomes lanes: each iteration of that loop then loads the same elements.
    """
    parallel = _parallel_loop(path)
    uniformity = Uniformity(parallel)
    loads = [n for fold in inner_loops(path[-1]) for n in walk(fold) if isinstance(n, Load)]
    varying_subscripts = [e for n in loads if uniformity.varies(*n.index) for e in n.index]
    return any(not Uniformity(s).varies(*varying_subscripts) for s in path if s is not parallel)


def _fills_one_panel(path: list[Loop], kernel: Kernel) -> bool:
    """Whether `pack_operands` will copy what the lanes gather to one panel, for many iterations of
    the loop around the lanes (rows), however many terms there are:

        for i in loop(0, n):                              rows
            for j in loop(0, m):                          lanes
                for k in loop(0, x.shape[1], s=0.0):      a sum of floats, without checks
                    s = step(s + x[i, k] * y[j, k])       one gathered load: y[j, k]
                c[i, j] = s

    A kernel that stops is not packed; nor are rows that depend on one another, or whose lanes and
    terms have other ranges in each row.
    """
    if len(path) < 2 or kernel.stops or path[-2].accs or path[-1].accs:
        return False
    rows, lanes = path[-2:]
    folds = inner_loops(lanes)
    if rows.body[-1] is not lanes or len(folds) != 1:
        return False
    [fold] = folds
    are_float_sums = all(
        DTYPES[a.init.dtype].kind == "f" and (r := reduction_of(a, fold)) is not None
        and r.is_inexact for a in fold.accs
    )
    is_plain = all(isinstance(s, Assign | Store) or s is fold for s in lanes.body)
    if not are_float_sums or not is_plain or not all(isinstance(s, Assign) for s in fold.body):
        return False
    along_lanes, along_rows = Uniformity(lanes), Uniformity(rows)
    gathered = {
        n for n in walk(fold) if isinstance(n, Load) and along_lanes.varies(*n.index)
    }
    has_same_ranges = not along_rows.varies(*range_bounds(lanes.range), *range_bounds(fold.range))
    return (
        len(gathered) == 1
        and not any(along_rows.varies(*n.index) for n in gathered)
        and has_same_ranges
        and can_run_in_lockstep(rows, kernel)
    )


def _has_fewer_terms(fold: Loop, terms: int) -> Expr:
    """The condition that `fold` has fewer than `terms` terms."""
    assert isinstance(fold.range, Interval)
    return index_less(index_sub(fold.range.hi, fold.range.lo), terms)


def _versioned_nest(nest: Loop, test: Expr, fresh: FreshNames) -> Stmt:
    """`nest` with vectors along the loop around its folds, where `test` is true."""
    parallel = _parallel_loop(_path_to_reductions(nest))

    def vectorize(n: Any) -> Any:
        """`n` with the loop around the folds as a vector loop."""
        return as_outer_vector_loop(n) if n is parallel else map_children(n, vectorize)

    short: Stmt = vectorize(nest)
    if is_constant(test, True):
        return short
    names = {name: fresh.name(name) for name in sorted(bound_names(nest))}
    return If(test, (rename_names(short, names),), (nest,), span=nest.span)
