"""Unroll and jam: several iterations of an outer loop share the loops in it and their loads."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..algebra.index import minus, most, over, plus, times
from ..algebra.values import integer, trips
from ..analysis.varying import Varying
from ..machine import COMMON, Machine
from ..names import Fresh, bound, rename, substitute
from ..nodes import (
    Accum,
    Assign,
    Broadcast,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    LoopLike,
    Ramp,
    RangeDesc,
    Stmt,
    Store,
    Var,
    VecLoop,
)
from ..ops import OPS
from ..tiles import best_tile, rows_abreast
from ..tree import map_children, walk
from ..types import DTYPES, INDEX
from .short_folds import SHORT
from .strip_mine import longest
from .vectorize_outer import may_run_together

__all__ = ["DEAR", "jam", "jammed", "one_lane", "results_wait", "sums_rows"]


def jam(kernel: Kernel, *, machine: Machine = COMMON) -> Kernel:
    """Iterations of a loop run side by side where folds inside it then share what they load.

    As many as keep their accumulators in registers. The rest of the iterations follow one by one.
    Before::

        def k(a: f32[:, ::1], b: f32[:, ::1], n: i64, c: mut(f32[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, 2):
                for j in vec(0, n, width=W):
                    for k in loop(0, n, s=broadcast(f32(0.0), W)):
                        s = step(s + broadcast(a[i, k], W) * b[k, j:W])
                    c[i, j:W] = s

    after::

        def k(a: f32[:, ::1], b: f32[:, ::1], n: i64, c: mut(f32[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(range(0, 1, 2)):
                for j in vec(0, n, width=W):
                    for k in loop(0, n, s=broadcast(f32(0.0), W), s_1=broadcast(f32(0.0), W)):
                        s = step(s + broadcast(a[i, k], W) * b[k, j:W])
                        s_1 = step(s_1 + broadcast(a[i + 1, k], W) * b[k, j:W])
                    c[i, j:W] = s
                    c[i + 1, j:W] = s_1
    """
    fresh = Fresh(kernel)

    def visit(n: Any, wait: bool = False) -> Any:
        wait = wait or (isinstance(n, VecLoop) and results_wait(n))
        done = map_children(n, lambda c: visit(c, wait)) if isinstance(n, _AROUND) else n
        if not isinstance(done, Loop) or (done is not n and not sums_rows(done)):
            return done
        view = one_lane(done)
        if not _shares(done, Varying(view)) or not may_run_together(view, kernel, 2):
            return done
        rows = _rows(done, machine, inmost=done is n, wait=wait)
        return tuple(jammed(done, rows, fresh)) if rows > 1 else done

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_AROUND = (Kernel, Loop, VecLoop, If)

BESIDE = 2  # sums of rows side by side in the loop next to them; the rest in the loop around it
DEAR = 3.0  # weight above which work takes longer than to load what it is done with


def one_lane(n: Any) -> Any:
    """`n` as the scalar code that its lane 0 runs."""
    n = map_children(n, one_lane)
    match n:
        case Broadcast(value):
            return value
        case Ramp(base):
            return base
        case VecLoop(var, rng, _, body, accs):
            return Loop(var, rng, body, tuple(Accum(a.name, a.init, a.step) for a in accs))
        case _:
            return n if getattr(n, "lanes", 1) == 1 else replace(n, lanes=1)


def _folds(loop: Loop) -> Iterator[Loop | VecLoop]:
    """The innermost loops in `loop` that carry vectors."""
    for n in (n for s in loop.body for n in walk(s)):
        inner = isinstance(n, LoopLike) and not any(isinstance(x, LoopLike) for x in [*walk(n)][1:])
        if inner and isinstance(n, VecLoop) and n.accs:
            yield n
        if inner and isinstance(n, Loop) and any(a.init.lanes != 1 for a in n.accs):
            yield n


def sums_rows(loop: Loop) -> bool:
    """Whether all folds in `loop` are cheap ones of lanes side by side, with nothing else in them.
    """
    folds = list(_folds(loop))
    return bool(folds) and all(isinstance(n, VecLoop) and _is_plain(n) for n in folds)


def _is_plain(n: VecLoop) -> bool:
    alone = n.group is not None and n.tail is None and n.until is None
    work = sum(OPS[x.op].weight for x in walk(n) if isinstance(x, Call) and x.lanes != 1)
    return alone and all(isinstance(s, Assign) for s in n.body) and work <= DEAR * len(n.accs)


def _shares(loop: Loop, varying: Varying) -> bool:
    """Whether all folds in `loop` load something that is the same in each of its iterations."""
    folds = list(_folds(loop))
    return bool(folds) and all(
        any(isinstance(n, Load) and not varying.differs(*n.index) for n in walk(fold))
        for fold in folds
    )


def results_wait(lanes: VecLoop) -> bool:
    """Whether few terms are folded, all from panels, before dear operations: while these go on, the
    next folds had better begin, so they are to be near.
    """
    panels = [s for s in lanes.body if isinstance(s, Local)]
    rows = [n for s in lanes.body for n in walk(s) if isinstance(n, Loop) and not n.accs]
    after = [s for n in rows for s in n.body if isinstance(s, Assign | Store)]
    dear = any(isinstance(n, Call) and OPS[n.op].weight > DEAR for s in after for n in walk(s))
    return dear and bool(panels) and all(s.length <= SHORT for s in panels)


def _rows(loop: Loop, machine: Machine, *, inmost: bool, wait: bool) -> int:
    """How many iterations to take at once."""
    assert isinstance(loop.range, Interval)
    folds, count = list(_folds(loop)), longest(loop.range)
    if not any(isinstance(fold, VecLoop) for fold in folds):
        each = max(sum(a.init.lanes != 1 for a in fold.accs) for fold in folds)
        best = best_tile(machine, each, count).rows
        return min(machine.latency // each, best) if wait else best
    if not sums_rows(loop):
        return 1
    most = rows_abreast(machine, max(map(_bytes, folds)))
    return min(most, BESIDE if inmost else most, count or most)


def _bytes(fold: Loop | VecLoop) -> int:
    """Of all its accumulators."""
    assert isinstance(fold, VecLoop)
    return sum((fold.group or 1) * DTYPES[a.init.dtype].bytes for a in fold.accs)


def jammed(loop: Loop, rows: int, fresh: Fresh) -> Iterator[Stmt]:
    """The loop over `rows` iterations at a time, then the loop over the rest."""
    assert isinstance(loop.range, Interval)
    lo, hi, count = loop.range.lo, loop.range.hi, trips(loop.range)
    copies = [_iteration(loop, k, fresh) for k in range(rows)]
    yield replace(loop, range=RangeDesc(lo, minus(hi, rows - 1), rows), body=_fused(copies))
    if count is None or count % rows:
        yield replace(fresh.copy(loop), range=Interval(_done(lo, hi, rows), hi))


def _done(lo: Expr, hi: Expr, rows: int) -> Expr:
    """Where the iterations begin that do not fill a tile."""
    length = most(minus(hi, lo), 0)
    return plus(lo, times(over(length, rows), rows))


def _iteration(loop: Loop, k: int, fresh: Fresh) -> tuple[Stmt, ...]:
    """The body for `k` iterations later, its names its own but for those of loops."""
    at = Call("add", (Var(loop.var, INDEX), integer(k)), INDEX)
    counters = {n.var for s in loop.body for n in walk(s) if isinstance(n, Loop | VecLoop)}
    own = {name: fresh.name(name) for name in sorted(bound(*loop.body) - counters)} if k else {}
    body = tuple(rename(s, own) for s in loop.body)
    return tuple(substitute(s, {loop.var: at}) for s in body) if k else body


def _fused(copies: Sequence[tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """Blocks that differ in names only, as one, statement by statement."""
    return tuple(s for alike in zip(*copies, strict=True) for s in _together(alike))


def _together(copies: Sequence[Any]) -> Sequence[Stmt]:
    first = copies[0]
    match first:
        case Loop() | VecLoop():
            accs = tuple(a for s in copies for a in s.accs)
            body = _fused([s.body for s in copies])
            return (replace(first, body=body, accs=accs),)  # type: ignore[arg-type]  # as the loop's
        case If() if any(isinstance(n, LoopLike) for n in walk(first)):
            then, orelse = (_fused([getattr(s, f) for s in copies]) for f in ("then", "orelse"))
            yields = tuple(y for s in copies for y in s.yields)
            return (replace(first, then=then, orelse=orelse, yields=yields),)
        case _:
            return copies
