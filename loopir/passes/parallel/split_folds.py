"""Fold splitting: what each iteration computes for a fold is computed in parallel, then folded.

    for i: for j in loop(0, n, t=0.0): t = step(t + x[i, j] * x[i, j])
           s = step(s + sqrt(t))
    →
    for each 512 iterations:
        for i, in parallel: …; kept[i - first] = t
        for i: s = step(s + sqrt(kept[i - first]))

The accumulators take the results in the order of the loop. So a float sum has the same bits
whoever has computed its terms, and however many threads there are; and any accumulators will do,
such as a minimum with its place. `parallelize` calls `FoldSplitter.split`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ...algebra.constant_folding import index_const, worst_value
from ...algebra.index_builder import (
    index_add,
    index_floordiv,
    index_min,
    index_mul,
    index_sub,
    logical_not,
)
from ...algebra.may_raise import is_replay_check, may_replay
from ...analysis.loop_reductions import (
    exact_fold_of,
    goes_on_through,
    is_fold_step,
    lanes_behind,
    overflow_checks_of,
)
from ...analysis.loop_set import max_trips
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, names_read, rename_names
from ...ir_traversal import (
    bottom_up,
    contains,
    counted_range,
    range_bounds,
    walk,
    walk_statements,
)
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Expr,
    HReduce,
    If,
    Interval,
    Load,
    Local,
    Loop,
    LoopLike,
    PredLoop,
    RangeDesc,
    Stmt,
    Store,
    Var,
    VecAccum,
    VecLoop,
    While,
)
from ..loop_splitting import strip_mine

__all__ = [
    "FoldSplitter", "block_size", "blocks_of_groups", "is_over_blocks", "with_sums_of_inner_loops",
]

_KEPT, _LEAST_BLOCKS, _MOST_BLOCKS = 2048, 64, 512
"""Results of blocks that are kept before they are combined, in the order of the blocks, so that
they take at most 16 KB of the stack; and of how many blocks, at least and at most, so that those of
an array take at most 4 KB. All threads wait for each other after so many: with 64 blocks in place
of 512 two threads took 1.1 times as long for sums of arrays in memory.
"""

_BLOCK = 512
"""The least number of iterations of a block."""

_ITERATIONS_AT_ONCE = 512
"""Iterations of a loop around loops whose results are kept, if it is not over blocks: the work of
some tens of microseconds. The results of an array take at most 4 KB, which fit on any stack.
"""

_ROWS = 8
"""Rows of which one extremum is kept: few, so that a few long rows are shared out."""

_MOST_RESULTS = 4
"""Results of an iteration that are kept, at most, of a loop that is not over blocks."""


def is_over_blocks(s: Loop) -> bool:
    """Whether `s` is a loop over blocks of many iterations, as `blocked_summation` makes it."""
    return block_size(s) >= _BLOCK


def block_size(s: Loop) -> int:
    """The number of iterations of a block, if `s` is a loop over blocks; else 1."""
    return s.range.step if isinstance(s.range, RangeDesc) else 1


def blocks_of_groups(s: Loop) -> Loop | None:
    """The loop over the blocks of a group, if `s` is a loop over groups of blocks, as
    `blocked_summation` makes it; None if it does more than to combine what its groups give::

        for g in loop(range(0, n, 262144), s=0.0):
            for b in loop(range(g, min(g + 262144, n), 4096), t=-0.0): …
            s = step(s + t)
    """
    r = s.range
    if not isinstance(r, RangeDesc) or s.until is not None or len(s.body) != 1:
        return None
    [inner] = s.body
    if not isinstance(inner, Loop) or not is_over_blocks(inner):
        return None
    assert isinstance(inner.range, RangeDesc)
    first = Var(s.var, INDEX)
    end = index_min(index_add(first, index_const(r.step)), r.end)
    is_group = inner.range == RangeDesc(first, end, inner.range.step)
    rest = names_read(*inner.body, *inner.accs, *(a.step for a in s.accs))
    return inner if is_group and r.step % inner.range.step == 0 and s.var not in rest else None


class _Folding(NamedTuple):
    """How the results of the iterations are folded: by a loop with these accumulators and
    statements; if ``groups`` is not None, one for the blocks of each group, within a loop with the
    accumulators of ``groups``.
    """
    results: list[Var]
    combining: list[Stmt]
    accs: tuple[Accum, ...]
    groups: Loop | None

    @property
    def totals(self) -> tuple[Accum, ...]:
        """The accumulators of the outermost loop."""
        return self.accs if self.groups is None else self.groups.accs

    def blocks_per_group(self, step: int) -> int:
        """How many blocks of `step` iterations a group has; without groups the least number."""
        r = None if self.groups is None else self.groups.range
        return r.step // step if isinstance(r, RangeDesc) else _LEAST_BLOCKS

    def blocks_at_once(self, step: int) -> int:
        """Of how many blocks of `step` iterations the results are kept: of whole groups."""
        unit = self.blocks_per_group(step)
        return max(min(_MOST_BLOCKS, _KEPT // len(self.results)) // unit, 1) * unit


class FoldSplitter:
    """Splits folds of one kernel. ``memory``: which of its arrays may share memory; ``private``:
    arrays that the call has made; ``obstacle``: why the iterations of a loop must not be run by
    several threads, None if they may.
    """

    def __init__(
        self, fresh: FreshNames, memory: AliasInfo, private: frozenset[str],
        obstacle: Callable[[Loop], str | None],
    ) -> None:
        self.fresh, self.memory, self.private, self.obstacle = fresh, memory, private, obstacle

    def split(self, s: Loop, groups: Loop | None = None) -> tuple[Stmt, ...] | None:
        """The loop `s` as two loops: a parallel one that computes and keeps the results of each
        iteration, and one with the accumulators of `s`, which combines them in their order.

            for b in loop(range(0, n, 4096), s=0.0):
                s = step(s + <sum of block b>)
            →
            for b in parallel_loop(range(0, n, 4096)): kept[b // 4096] = <sum of block b>
            for k in loop(…, s=0.0): s = step(s + kept[k])

        (`parallelize` has the whole example.) The loop is one over blocks, as here, or around other
        loops. ``groups``: the loop over groups of blocks of which `s` is one group
        (`blocks_of_groups`). The parallel loop then goes over the blocks of many groups, whose
        results are combined as before, first those of a group:

            for g in loop(range(0, n, 262144), s=0.0):
                for b in loop(range(g, min(g + 262144, n), 4096), t=-0.0): t = step(t + …)
                s = step(s + t)
            →
            for b in parallel_loop(range(0, n, 4096)): kept[b // 4096] = …
            for g in loop(range(0, …, 64), s=0.0):
                for k in loop(g, min(g + 64, …), t=-0.0): t = step(t + kept[k])
                s = step(s + t)

        None if it is neither, if it may end early, if iterations depend on earlier ones in
        more than scalar statements without loads, or if other things stand in the way: a check in
        these statements may end the call, after later iterations have stored what the caller sees.
        """
        r, has_loops = s.range, any(contains(x, LoopLike) for x in s.body)
        if s.until is not None or not has_loops or any(a.init.lanes != 1 for a in s.accs):
            return None
        if not is_over_blocks(s):
            if (counted := counted_range(s)) is None:
                return None
            rows = self._in_blocks_of_rows(s)
            r = RangeDesc(counted.lo, counted.hi, 1 if rows is None else _ROWS)
            s = rows or with_sums_of_inner_loops(s)
        if groups is not None:
            assert isinstance(r, RangeDesc)
            r = RangeDesc(*range_bounds(groups.range), r.step)
        s = _with_extrema_of_vector_loops(s)
        parts = _partition(s.body, {a.name for a in s.accs}, self.memory)
        if parts is None or not any(contains(x, LoopLike) for x in parts[0]):
            return None  # what is expensive needs the results of earlier iterations
        work, combining = parts
        combining, accs = self._with_named_reductions(work, combining, s.accs)
        results = _results(work, [*combining, *(a.step for a in accs)])
        if not results:
            return None
        if may_replay(*combining) and arrays_written(work) - self.private:
            return None
        if not is_over_blocks(s) and len(results) > _MOST_RESULTS:
            return None
        assert isinstance(r, RangeDesc)
        work_loop = Loop(s.var, r, tuple(work), span=s.span)
        if self.obstacle(work_loop) is not None:
            return None
        folding = _Folding(results, combining, accs, groups)
        at_once = folding.blocks_at_once(r.step) if is_over_blocks(s) else _ITERATIONS_AT_ONCE
        return self._in_strips(work_loop, at_once, folding)

    def _in_blocks_of_rows(self, s: Loop) -> Loop | None:
        """`s` in blocks of `_ROWS` iterations, if it takes extrema of rows, so that not each row
        needs an extremum of its own; None if it does anything else::

            for i in loop(0, n, m=0.0):             for b in loop(range(0, n, 8), m=0.0):
                for j in vec(…, m_1=m): …     →         for i in loop(b, min(b + 8, n), m_2=-inf):
                m = step(hreduce("max", m_1))               for j in vec(…, m_1=m_2): …
                                                            m_2 = step(hreduce("max", m_1))
                                                        m = step(max(m, m_2))
        """
        lanes, *others = s.body
        if not isinstance(lanes, VecLoop) or not all(isinstance(x, Assign | If) for x in others):
            return None
        if lanes.until is not None or not isinstance(s.range, Interval) or not s.accs:
            return None
        ops = {a.init: _extremum_of(a) for a in lanes.accs}
        late = {a.init for a in lanes.accs if not _keeps_first(a)}
        given = {a.current: lanes_behind(a.step, s.body) for a in s.accs}
        if given != {a.init: a.name for a in lanes.accs}:
            return None
        if not all(_keeps_order(x, ops) for x in others):
            return None
        block = Var(self.fresh.name(s.var), INDEX)
        names = {a.name: self.fresh.name(a.name) for a in s.accs}
        inner, outer = list[Accum](), list[Accum]()
        for a in s.accs:
            op = ops[a.current]
            if op is None or (a.current in late and DTYPES[a.init.dtype].kind == "f"):
                return None
            of_block = Var(names[a.name], a.init.dtype)
            step = rename_names(a.step, names)
            inner.append(Accum(of_block.name, worst_value(op, a.init.dtype), step, span=a.span))
            outer.append(replace(a, step=Call(op, (a.current, of_block), a.init.dtype)))
        end = index_min(index_add(block, index_const(_ROWS)), s.range.hi)
        body = tuple(rename_names(x, names) for x in s.body)
        rows = replace(s, range=Interval(block, end), body=body, accs=tuple(inner))
        blocks = RangeDesc(s.range.lo, s.range.hi, _ROWS)
        return Loop(block.name, blocks, (rows,), tuple(outer), span=s.span)

    def _with_named_reductions(
        self, work: list[Stmt], combining: list[Stmt], accs: tuple[Accum, ...]
    ) -> tuple[list[Stmt], tuple[Accum, ...]]:
        """``combining`` and ``accs`` with a name for each horizontal reduction in them, which is a
        result of the iteration: its assignment is added to ``work``.
        """
        named: dict[HReduce, Var] = {}

        def name(e: Expr) -> Expr:
            """The name of a horizontal reduction; other expressions as they are."""
            if not isinstance(e, HReduce):
                return e
            return named.setdefault(e, Var(self.fresh.name("result"), e.dtype))

        combining = [bottom_up(x, name) for x in combining]
        accs = tuple(replace(a, step=bottom_up(a.step, name)) for a in accs)
        work += (Assign(v.name, e) for e, v in named.items())
        return combining, accs

    def _in_strips(
        self, alone: Loop, most_at_once: int, folding: _Folding
    ) -> tuple[Stmt, ...]:
        """The loop `alone` as a parallel loop, which keeps the results of each iteration, and a
        loop that combines these (``folding``); both in a loop over ``most_at_once`` iterations at a
        time, if there may be more.
        """
        r, accs = alone.range, folding.totals
        assert isinstance(r, RangeDesc)
        most = max_trips(r, {})
        if most is not None and most <= most_at_once:
            return self._keep_and_combine(alone, r.start, r.end, most, folding)
        first, at_once = Var(self.fresh.name(alone.var), INDEX), r.step * most_at_once
        end = index_min(index_add(first, index_const(at_once)), r.end)
        body = self._keep_and_combine(alone, first, end, most_at_once, folding)
        names = {n: self.fresh.name(n) for a in accs if (n := a.name)}
        body = tuple(rename_names(x, names) for x in body)
        combine = body[-1]
        assert isinstance(combine, Loop)
        inner = tuple(
            replace(a, init=old.current) for a, old in zip(combine.accs, accs, strict=True)
        )
        outer = tuple(replace(a, step=Var(names[a.name], a.init.dtype)) for a in accs)
        body = (*body[:-1], replace(combine, accs=inner))
        strips = RangeDesc(r.start, r.end, at_once)
        return (Loop(first.name, strips, body, outer, span=alone.span),)

    def _keep_and_combine(
        self, alone: Loop, first: Expr, end: Expr, most: int, folding: _Folding
    ) -> tuple[Stmt, ...]:
        """At most ``most`` iterations from `first` to `end`: how many there are, room for their
        results, the parallel loop over them, and the loop with the accumulators of ``folding``.
        """
        assert isinstance(alone.range, RangeDesc)
        results, combining, accs, groups = folding
        step = alone.range.step
        count, block, next_ = (Var(self.fresh.name(n), INDEX) for n in ("blocks", "block", "block"))
        rounded_up = index_add(index_sub(end, first), index_const(step - 1))
        counted = Assign(count.name, index_floordiv(rounded_up, step))
        blocks = Interval(index_const(0), count)

        def start_of(number: Var) -> Assign:
            """The loop variable of a block, by its number."""
            return Assign(alone.var, index_add(first, index_mul(number, index_const(step))))

        kept = {v: self.fresh.name("kept") for v in results}
        rooms = (Local(name, v.dtype, most) for v, name in kept.items())
        stores = (Store(name, (block,), v) for v, name in kept.items())
        body = (start_of(block), *alone.body, *stores)
        work = Loop(block.name, blocks, body, parallel=True, span=alone.span)
        loads = [Assign(v.name, Load(name, (next_,), v.dtype)) for v, name in kept.items()]
        if alone.var in names_read(*combining, *(a.step for a in accs)):
            loads.append(start_of(next_))
        combine = Loop(next_.name, blocks, (*loads, *combining), accs)
        if groups is not None:
            group = Var(self.fresh.name("group"), INDEX)
            strips, of_group = strip_mine(blocks, folding.blocks_per_group(step), group)
            combine = Loop(group.name, strips, (replace(combine, range=of_group),), groups.accs)
        inside = bound_names(*combine.body) - {next_.name, *(a.name for a in accs)}
        combine = rename_names(combine, {n: self.fresh.name(n) for n in sorted(inside)})
        return counted, *rooms, work, combine


def with_sums_of_inner_loops(s: Loop) -> Loop:
    """`s` with the exact folds that go on through a loop inside it starting anew in each run of
    that loop, so that a run does not need the result of the one before::

        for i in loop(…, c=0):                       for i in loop(…, c=0):
            for j in loop(…, c_1=c): …; c_1 = …  →       for j in loop(…, c_1=0): …; c_1 = …
            c = step(c_1)                                c = step(c + c_1)

    These are sums, products, bits and extrema of integers and bools. Checks of a sum so far become
    checks of the part, and one of the sum. (`blocked_summation` has done the same for floats, whose
    bits it changes.)
    """
    body: list[Stmt] = []
    accs = {a.name: a for a in s.accs}
    for x in s.body:
        if not isinstance(x, Loop | While):
            body.append(x)
            continue
        inner, checks = [*x.accs], []
        for k, a in enumerate(x.accs):
            outer = accs.get(a.init.name) if isinstance(a.init, Var) else None
            if outer is None or not goes_on_through(outer, a, x, s):
                continue
            fold = _exact_fold(a, x)
            if fold is None:
                continue
            op, start = fold
            of_run = Var(a.name, start.dtype)
            inner[k] = replace(a, init=start)
            step = Call(op, (outer.current, of_run), start.dtype)
            accs[outer.name] = replace(outer, step=step)
            over = Call("add_over", (outer.current, of_run), "bool")
            of_part = overflow_checks_of(a, _as_counted(x))
            checks += [replace(c, cond=logical_not(over)) for c in of_part[:1]]
        body += (replace(x, accs=tuple(inner)), *checks)
    return replace(s, body=tuple(body), accs=tuple(accs.values()))


def _with_extrema_of_vector_loops(s: Loop) -> Loop:
    """As `with_sums_of_inner_loops`, for extrema in vector loops, which start with the value that
    all others are better than::

        for i in loop(…, m=0.0):                     for i in loop(…, m=0.0):
            for j in vec(…, m_1=m): …            →       for j in vec(…, m_1=-inf): …
            m = step(hreduce("max", m_1))                m = step(max(m, hreduce("max", m_1)))

    A NaN is kept, or left out, as before: by the lanes, or by the last operation. (Where it depends
    on the order which zero or NaN is kept, code after the vector loop finds that out, from its
    result and the value before, `vector.exact_extrema`.)
    """
    dependent = {a.name for a in s.accs}  # on earlier iterations
    body: list[Stmt] = []
    totals: dict[HReduce, Expr] = {}

    def total(e: Expr) -> Expr:
        """The extremum so far in place of that of a vector loop."""
        return totals.get(e, e) if isinstance(e, HReduce) else e

    for x in s.body:
        new = bottom_up(x, total) if totals else x
        if isinstance(new, VecLoop | PredLoop) and getattr(new, "until", None) is None:
            accs, read = [*new.accs], names_read(*new.body)
            for k, a in enumerate(new.accs):
                op = _extremum_of(a)
                if op is None or dependent.isdisjoint(names_read(a.init)) or a.name in read:
                    continue
                start = worst_value(op, a.init.dtype)
                lanes = Var(a.name, start.dtype, new.group or 1)
                of_loop = HReduce(op, lanes)
                totals[of_loop] = Call(op, (a.init, of_loop), start.dtype)
                accs[k] = replace(a, init=start)
            new = replace(new, accs=tuple(accs))
        if not dependent.isdisjoint(names_read(new)):
            dependent |= bound_names(new)
        body.append(new)
    if not totals:
        return s
    return replace(
        s, body=tuple(body), accs=tuple(replace(a, step=bottom_up(a.step, total)) for a in s.accs)
    )


def _keeps_first(a: VecAccum | Accum) -> bool:
    """Whether the accumulator is the first operand of its step, which is kept in case of a tie."""
    x = a.step.args[0] if isinstance(a.step, Call) else None
    return isinstance(x, Var) and x.name == a.name


def _extremum_of(a: Accum | VecAccum) -> str | None:
    """The operation by which `a` takes an extremum of its terms; None if it does anything else, or
    if it keeps the last NaN, and not the first: lanes would end with another one.
    """
    if not isinstance(a.step, Call):
        return None
    ops = ["min", "max", "ieee_minimum", "ieee_maximum"]
    if _keeps_first(a):
        ops += ["minimum", "maximum"]
    return next((op for op in ops if is_fold_step(a.step, op, a.name)), None)


def _keeps_order(s: Stmt, ops: Mapping[Expr, str | None]) -> bool:
    """Whether a statement after a vector loop leaves it to the operation of its extremum (``ops``:
    by the initial value) which of two results is kept. Not so if the last of equal numbers is, or
    if the fold begins anew after a NaN: then only the elements tell what is kept.
    """
    if not isinstance(s, If):
        return True
    if not (isinstance(s.cond, Call) and s.cond.op == "eq"):
        return False  # after a NaN
    loops = [x for x in s.then if isinstance(x, Loop)]
    return all(
        ops.get(x.accs[0].init) in ("maximum", "minimum") or _extremum_of(x.accs[0]) is not None
        for x in loops
    )


def _as_counted(loop: Loop | While) -> Loop:
    """A counted loop with the body and the accumulators of `loop`, whose folds are the same."""
    none = Interval(index_const(0), index_const(0))
    return loop if isinstance(loop, Loop) else Loop("", none, loop.body, loop.accs)


def _exact_fold(a: Accum, loop: Loop | While) -> tuple[str, Expr] | None:
    """The operation of the fold that `a` is in `loop`, and its start, if it is one of integers or
    bools that can start anew; None if it is none, or one whose checks do more than replay the call.
    """
    fold = exact_fold_of(a, _as_counted(loop))
    if fold is None:
        return None
    checks = overflow_checks_of(a, _as_counted(loop))
    may_check = fold[0] == "add" and DTYPES[a.init.dtype].kind == "i"
    end = loop.cond if isinstance(loop, While) else loop.until
    ends_by_it = end is not None and a.name in names_read(end)
    all_replay = not checks or (may_check and all(map(is_replay_check, checks)))
    return fold if all_replay and not ends_by_it else None


def _partition(
    body: tuple[Stmt, ...], carried: set[str], memory: AliasInfo
) -> tuple[list[Stmt], list[Stmt]] | None:
    """`body` in two parts: the statements that do not depend on the accumulators `carried`, and
    those that do, which are to run later; None if not all of these may (`_may_run_later`).
    """
    work: list[Stmt] = []
    combining: list[Stmt] = []
    dependent, written = set(carried), arrays_written(body)
    for s in body:
        if dependent.isdisjoint(names_read(s)):
            work.append(s)
        elif _may_run_later(s, written, memory):
            combining.append(s)
            dependent |= bound_names(s)
        else:
            return None
    return work, combining


def _may_run_later(s: Stmt, written: frozenset[str], memory: AliasInfo) -> bool:
    """Whether `s` may run after the loops of later iterations, which store to the arrays `written`:

    - it computes scalars from scalars, or checks them;
    - or it is a branch without stores and checks, which loads from other arrays only. (One that
      searches the zero that Python's minimum has is taken rarely.)
    """
    match s:
        case Assign(value=e) | Check(cond=e):
            return e.lanes == 1 and not contains(s, Load)
        case If():
            inside = [n for x in (*s.then, *s.orelse) for n in walk_statements(x)]
            statements = [n for n in inside if isinstance(n, Stmt)]
            is_pure = all(isinstance(n, Assign | If | Loop | VecLoop) for n in statements)
            return is_pure and not memory.overlap(arrays_read((s,)), written)
    return False


def _results(work: list[Stmt], code: Iterable[Stmt | Expr]) -> list[Var]:
    """The names that `work` binds and `code` reads; an empty list if one of them is no scalar."""
    bound = bound_names(*work)
    found = {n.name: n for x in code for n in walk(x) if isinstance(n, Var) and n.name in bound}
    return [] if any(v.lanes != 1 for v in found.values()) else [*found.values()]
