"""Arg-reduction (argmin, argmax): the extremum is found by blocks, its position in one block.

`match_arg_extremum` recognises an accumulator that is replaced where a comparison with it holds,
together with other accumulators (the payload, such as the index). The loop then becomes three
vectorisable ones: a reduction over blocks that remembers the start of the best block, a search for
the chunk with the best value in this block, and a minimum of the places in this chunk that have it.
The iteration at that place binds the payload. Of a row, in a loop over rows, each lane keeps its
best term and the place of that instead, in one pass (`_ArgSearch.in_lanes`).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...algebra.constant_folding import constant_trip_count, index_const, literal, worst_value
from ...algebra.index_builder import index_add, index_less, index_min, index_sub
from ...analysis.loop_reductions import Reduction, overflow_checks_of, reduction_of
from ...analysis.loop_set import loop_set
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, names_read, rename_names, substitute
from ...ir_traversal import contains, is_innermost, ops_within
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
    Kernel,
    Load,
    Loop,
    RangeDesc,
    Stmt,
    Var,
    VecAccum,
    VecLoop,
    Yield,
)
from ...statement_blocks import backward_slice, map_statements
from ..loop_splitting import max_trips_of_strip
from ..vector.if_convert import flatten_loop
from ..vector.vectorize_legality import vectorization_obstacle
from ..vector.vectorize_outer import (
    inner_loops,
    loop_around,
    loops_kept_for_outer_vectors,
    with_loops,
)
from ..vector.widen import WIDTH, Widener, as_vector
from .arg_extrema import ArgExtremum, match_arg_extremum

__all__ = ["arg_reduction"]

BLOCK_BYTES = 8192  # bytes of terms in a block, whose extremum is compared with the best one
CHUNK = 128  # terms, of which the first with the best one is then searched
SHORT_TERMS = 16  # up to so many terms, the loop as it was is faster than vectors
LANE_TERMS = 1024  # up to so many terms, lanes along the loop around are as fast as the search
LANE_BYTES = 128  # of the best terms in lanes; their places are as many
MIN_TERMS = 512
"""A loop known to have fewer iterations is left as it is: terms of one byte would fill less than
two chunks, so no chunk could be skipped.
"""


def arg_reduction(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Find an extremum by blocks, which can be vectorised, and then the values of its payload (such
    as the index) at its position.

    Three loops, as the top of this module says: they find which block has the best term; which
    chunk of it, if there are several; which term of the chunk. A short range is searched term by
    term, by a version of the loop as it was. The loop over one block must be vectorisable. Before::

        def k(x: f64[::1], at: mut(i64[()])):
            disjoint(x, at)
            for i in loop(0, x.shape[0], least=f64("inf"), k=-1):
                m = x[i] < least
                least = step(select(m, x[i], least))
                k = step(select(m, i, k))
            at[()] = k

    after::

        def k(x: f64[::1], at: mut(i64[()])):
            disjoint(x, at)
            if x.shape[0] < 17:
                for i_5 in loop(0, min(x.shape[0], 16), least_3=f64("inf"), k_1=-1):
                    m_1 = x[i_5] < least_3
                    least_3 = step(select(m_1, x[i_5], least_3))
                    k_1 = step(select(m_1, i_5, k_1))
                least = give(least_3)
                k = give(k_1)
            else:
                for block in loop(range(0, x.shape[0], 1024), least_1=f64("inf"), start=x.shape[0]):
                    for i_1 in loop(block, min(block + 1024, x.shape[0]), least_2=f64("inf")):
                        least_2 = step(min(least_2, x[i_1]))
                    least_1 = step(min(least_1, least_2))
                    start = step(select(least_2 < least_1, block, start))
                end = min(start + 1024, x.shape[0])
                if end - start < 129:
                    first = give(start)
                else:
                    for chunk in loop(range(start, end, 128), first_1=end):
                        for i_2 in loop(chunk, min(chunk + 128, end), some=False):
                            some = step(some | (x[i_2] == least_1))
                        first_1 = step(chunk)
                        until(some)
                    first = give(first_1)
                for i_3 in loop(first, min(first + 128, end), position=end):
                    position = step(min(position, select(x[i_3] == least_1, i_3, end)))
                k_2 = select(position < end, position, -1)
                for i_4 in loop(position, min(position + 1, end), least_4=f64("inf")):
                    least_4 = step(x[i_4])
                least = give(least_4)
                k = give(k_2)
            at[()] = k
    """
    fresh = FreshNames(kernel)
    kept = loops_kept_for_outer_vectors(kernel, reassociate=reassociate)
    # by the variable of a loop that is kept while it is short: that condition, and the search
    versions: dict[str, tuple[Expr, tuple[Stmt, ...]]] = {}

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` as a search by blocks, if its loop over one block can then be vectorised."""
        if not isinstance(s, Loop):
            return s
        if versions and not is_innermost(s):
            return _in_two_versions(s, versions, fresh)
        is_short = _shortness_in_lanes(s, kernel) if s.var in kept else None
        if s.var in kept and is_short is None:
            return s
        search = _search_of(s, kernel, fresh)
        if search is None:
            return s
        statements = tuple(search.statements(fresh))
        blocks = next(x for x in statements if isinstance(x, Loop))
        [loop_over_one_block] = blocks.body
        assert isinstance(loop_over_one_block, Loop)
        if vectorization_obstacle(loop_over_one_block, kernel, reassociate=reassociate):
            return s
        if is_short is None:
            in_lanes = search.in_lanes(fresh) if loop_around(s, kernel) is not None else ()
            return search.unless_short(in_lanes or statements, fresh)
        versions[s.var] = is_short, statements
        return s

    return map_statements(kernel, edit, Loop)


def _shortness_in_lanes(loop: Loop, kernel: Kernel) -> Expr | None:
    """The condition that `loop`, which may be kept for vectors along the loop around it, has at
    most `LANE_TERMS` terms; it is evaluated before that loop. None if `loop` is kept for any number
    of terms: the search would gather them, or their number may change in the loop around it.
    """
    around, interval = loop_around(loop, kernel), loop.range
    if around is None or around.accs or not isinstance(interval, Interval):
        return None
    if contains(interval, Load) or names_read(interval) & (bound_names(around) | {around.var}):
        return None
    if loop_set(around, kernel).gathers_along(loop.var):
        return None
    return index_less(index_sub(interval.hi, interval.lo), LANE_TERMS + 1)


def _in_two_versions(
    around: Loop, searches: Mapping[str, tuple[Expr, tuple[Stmt, ...]]], fresh: FreshNames
) -> Stmt:
    """`around` as it is where the loop in it is short, to be vectorised itself; elsewhere with the
    search by blocks that `searches` has for the loop::

        for i in loop(0, n):                          if m < 1025:
            for j in loop(0, m, least=inf, k=0):          for i in loop(0, n): …        as it was
                …                                 →   else:
            at[i] = k                                     for i in loop(0, n):
                                                              for block in …

    `around` itself if its loops have no such search, or it contains several loops.
    """
    match inner_loops(around):
        case [loop] if loop.var in searches:
            is_short, search = searches[loop.var]
            searched = with_loops(around, {loop.var: search})
            return If(is_short, (rename_names(around, fresh.names(around)),), (searched,))
    return around


def _search_of(s: Loop, kernel: Kernel, fresh: FreshNames) -> _ArgSearch | None:
    """`s` as an _ArgSearch, if it runs to its end, may have `MIN_TERMS` terms or more, is
    straight-line code once its branches are converted, and its accumulators are extrema with
    payload (`match_arg_extremum`) and others that are independent of these; else None.
    """
    count = max_trips_of_strip(s.range) if isinstance(s.range, Interval) else 0
    if s.until or not s.accs or (count is not None and count < MIN_TERMS):
        return None
    loop = _with_named_masks(flatten_loop(s, kernel, fresh) or s, fresh)
    if not all(isinstance(x, Assign | Check) for x in loop.body):
        return None
    masks = [x for x in loop.body if isinstance(x, Assign) and x.value.dtype == "bool"]
    extrema = [p for m in masks if (p := match_arg_extremum(m, loop)) is not None]
    if not extrema:
        return None
    extremum_masks = {p.mask for p in extrema}
    extremum_accs = {a.name for p in extrema for a in (p.acc, *(a for a, _ in p.followers))}
    other_statements = tuple(
        x for x in loop.body if not (isinstance(x, Assign) and x.name in extremum_masks)
    )
    other_accs = tuple(a for a in loop.accs if a.name not in extremum_accs)
    read_by_others = names_read(*other_statements, *(a.step for a in other_accs))
    if not read_by_others.isdisjoint(extremum_masks | extremum_accs):
        return None  # the extremum so far is used in each iteration, not only at the end
    return _ArgSearch(loop, replace(loop, body=other_statements, accs=other_accs), tuple(extrema))


def _with_named_masks(loop: Loop, fresh: FreshNames) -> Loop:
    """`loop` with a name for each condition of a select that is a step, and a select on that name
    for an extremum that is kept by the same comparison::

        k = step(select(x[i] > top, i, k))        →        m = x[i] > top
        top = step(max(top, x[i]))                         k = step(select(m, i, k))
                                                           top = step(select(m, x[i], top))
    """
    names: dict[Expr, Var] = {
        s.value: Var(s.name, "bool")
        for s in loop.body if isinstance(s, Assign) and s.value.dtype == "bool"
    }
    added: list[Stmt] = []
    for a in loop.accs:
        match a.step:
            case Call("select", (Call() as cond, _, _)) if cond not in names:
                names[cond] = Var(fresh.name("better"), "bool")
                added.append(Assign(names[cond].name, cond))

    def named(a: Accum) -> Accum:
        """`a` with its step on a named condition."""
        match a.step:
            case Call("select", (cond, then, orelse)) if cond in names:
                step = Call("select", (names[cond], then, orelse), a.step.dtype)
            case Call("max" | "min" as op, (old, value)) if old == a.current:
                tests = (Call(test, pair, "bool") for test, pair in (
                    ("gt" if op == "max" else "lt", (value, old)),
                    ("lt" if op == "max" else "gt", (old, value)),
                ))
                mask = next((names[test] for test in tests if test in names), None)
                if mask is None:
                    return a
                step = Call("select", (mask, value, old), a.step.dtype)
            case _:
                return a
        return replace(a, step=step)

    accs = tuple(named(a) for a in loop.accs)
    if accs == loop.accs:
        return loop
    return replace(loop, body=(*loop.body, *added), accs=accs)


_IS_BETTER = {("min", False): "lt", ("min", True): "le", ("max", False): "gt", ("max", True): "ge"}
"""The comparison by which a term of a block replaces the best term so far, by `ArgExtremum.op` and
`ArgExtremum.ties_win`."""


class _ArgSearch:
    """The rewriting of one loop, which has arg-reductions: ``original`` is the loop, ``loop`` the
    loop without the extrema and their payload, ``extrema`` these. ``block`` and ``chunk``:
    iterations of a block and of a chunk.
    """

    def __init__(self, original: Loop, loop: Loop, extrema: tuple[ArgExtremum, ...]) -> None:
        self.original, self.loop, self.extrema = original, loop, extrema
        widest = max(DTYPES[p.value.dtype].bytes for p in extrema)
        self.block, self.chunk = BLOCK_BYTES // widest, CHUNK

    def statements(self, fresh: FreshNames) -> Iterator[Stmt]:
        """The loop over blocks, and for each extremum the loops that find its position."""
        interval = self.loop.range
        assert isinstance(interval, Interval)
        best_names = {p.acc.name: fresh.name(p.acc.name) for p in self.extrema}
        block_starts = {p.acc.name: Var(fresh.name("start"), INDEX) for p in self.extrema}
        yield self._blocks(interval, best_names, block_starts, fresh)
        for p in self.extrema:
            best, start = replace(p.best, name=best_names[p.acc.name]), block_starts[p.acc.name]
            end = Var(fresh.name("end"), INDEX)
            yield Assign(end.name, _block_end(start, self.block, interval.hi))
            yield from self._search(p, best, Interval(start, end), fresh)

    def unless_short(self, search: tuple[Stmt, ...], fresh: FreshNames) -> tuple[Stmt, ...]:
        """The statements of `search` where there are more than `SHORT_TERMS` terms, else the
        original loop.
        """
        interval = self.loop.range
        assert isinstance(interval, Interval)
        if constant_trip_count(interval) is not None:
            return search
        short_range = replace(
            interval, hi=index_min(interval.hi, index_add(interval.lo, SHORT_TERMS))
        )
        short_names = fresh.names(self.original)
        short = rename_names(replace(self.original, range=short_range), short_names)
        search_names = {a.name: fresh.name(a.name) for a in self.original.accs}
        yields = (
            Yield(
                a.name,
                Var(short_names[a.name], a.init.dtype),
                Var(search_names[a.name], a.init.dtype),
            )
            for a in self.original.accs
        )
        is_short = index_less(index_sub(interval.hi, interval.lo), SHORT_TERMS + 1)
        long = tuple(rename_names(x, search_names) for x in search)
        return (If(is_short, (short,), long, tuple(yields), span=self.loop.span),)

    def in_lanes(self, fresh: FreshNames) -> tuple[Stmt, ...]:
        """Statements that find the place of the extremum by lanes, each of which keeps its best
        term and the place of that. Nothing if the loop has several extrema, the last of equal terms
        wins, a term is not as wide as a place, or the loop does more than look for terms.

            m = x[i] < least                  for i_1 in vec(0, n, width=W, group=16,
            least = step(select(m, …))                       least_2=inf, at=n):
            k = step(select(m, i, k))    →        m_1 = x[i_1:W] < least_2
                                                  least_2 = step(select(m_1, x[i_1:W], least_2))
                                                  at = step(select(m_1, ramp(i_1, 1, W), at))
                                              position = hreduce("min", least_2, at)
        """
        p, interval = self.extrema[0], self.loop.range
        assert isinstance(interval, Interval)
        others = [(a, reduction_of(a, self.loop)) for a in self.loop.accs]
        if (
            len(self.extrema) > 1 or p.ties_win or DTYPES[p.value.dtype].bits != 64
            or not all(isinstance(s, Assign) for s in self.loop.body)
            or not all(f is not None and f.op in ("and", "or") for _, f in others)
        ):
            return ()
        names = fresh.names(self.loop)
        loop = rename_names(self.loop, names)
        best = Var(fresh.name(p.acc.name), p.value.dtype)
        at, better = Var(fresh.name("at"), INDEX), Var(fresh.name("better"), "bool")
        value, test = p.value, p.where(Call(_IS_BETTER[p.op, False], (p.value, best), "bool"))
        body = (*loop.body, Assign(better.name, rename_names(test, names)))
        vectors = (best, at, *(a.current for a in loop.accs))
        widener = Widener(replace(loop, body=body), {v.name: v.name for v in vectors})
        group = LANE_BYTES // 8
        lanes = {v.name: replace(v, lanes=group) for v in vectors}

        def accumulator(v: Var, start: Expr, step: Expr) -> VecAccum:
            return VecAccum(v.name, start, as_vector(widener.expr(step)), span=self.loop.span)

        widened = widener.block(body)
        kept = rename_names(value, names), Var(loop.var, INDEX)
        pairs = zip(kept, (best, at), strict=True)
        steps = (Call("select", (better, e, v), v.dtype) for e, v in pairs)
        accs = [*map(accumulator, (best, at), (p.worst, interval.hi), steps)]
        results = list[Stmt]()
        for (a, f), inner in zip(others, loop.accs, strict=True):
            assert f is not None
            accs.append(accumulator(inner.current, f.start, inner.step))
            of_lanes = HReduce(f.op, lanes[inner.name])
            results.append(Assign(a.name, Call(f.op, (a.init, of_lanes), f.dtype)))
        place: Expr = index_min(HReduce(p.op, lanes[best.name], lanes[at.name]), interval.hi)
        if p.acc.init != p.worst:
            extremum = Var(fresh.name(p.acc.name), best.dtype)
            results.append(Assign(extremum.name, HReduce(p.op, lanes[best.name])))
            is_better = Call(_IS_BETTER[p.op, False], (extremum, p.acc.init), "bool")
            place = Call("select", (is_better, place, interval.hi), INDEX)
        position = Var(fresh.name("position"), INDEX)
        return (
            VecLoop(loop.var, interval, WIDTH, widened, tuple(accs), group, span=self.loop.span),
            *results,
            Assign(position.name, place),
            *self._payload(p, position, interval.hi, fresh),
        )

    def _blocks(
        self,
        interval: Interval,
        best_names: dict[str, str],
        block_starts: dict[str, Var],
        fresh: FreshNames,
    ) -> Loop:
        """The loop over blocks, around one over the terms of a block. For each extremum it leaves
        the best term, by the name in `best_names`, and the start of the block that has it, by that
        in `block_starts`. `statements` puts it first, before the search in that block.

            least = step(select(x[i] < least, x[i], least)); s = step(s + x[i])
            →
            for block in loop(range(0, n, 1024), s=0.0, least_1=inf, start=n):
                for i_1 in loop(block, min(block + 1024, n), s_1=s, least_2=inf):
                    s_1 = step(s_1 + x[i_1]); least_2 = step(min(least_2, x[i_1]))
                s = step(s_1); least_1 = step(min(least_1, least_2))
                start = step(select(least_2 < least_1, block, start))

        Another accumulator, such as s, goes on through both loops; but a reduction whose terms may
        be grouped (`_identity`) starts anew in each block, so that threads may share the blocks.
        `start` is the end of the range if no term is better than the initial value.
        """
        block = Var(fresh.name("block"), INDEX)
        # the other accumulators, in both loops
        renaming = fresh.names(self.loop)
        inner = rename_names(self.loop, renaming)
        outer, accs = list[Accum](), list[Accum]()
        for a, inside in zip(self.loop.accs, inner.accs, strict=True):
            of_block, fold = inside.current, reduction_of(a, self.loop)
            is_checked = bool(overflow_checks_of(a, self.loop))
            identity = None if fold is None or is_checked else _identity(fold)
            if fold is None or identity is None:
                accs.append(replace(inside, init=a.current))
                outer.append(replace(a, step=of_block))
            else:
                accs.append(replace(inside, init=identity))
                step = Call(fold.op, (a.current, of_block), fold.dtype)
                outer.append(replace(a, step=step))
        for p in self.extrema:
            # the inner loop: least_2, the best term of the block
            best = Var(best_names[p.acc.name], p.value.dtype)
            block_best = replace(best, name=fresh.name(p.acc.name))
            step = Call(p.op, (block_best, p.value), best.dtype)
            if p.cond is not None:
                step = Call("select", (p.cond, step, block_best), best.dtype)
            accs.append(Accum(block_best.name, p.worst, rename_names(step, renaming)))
            is_better = Call(_IS_BETTER[p.op, p.ties_win], (block_best, best), "bool")
            if p.may_be_empty:
                # A block of which no term takes part, as all are NaN, has the best term inf. Where
                # ties win, it would replace a best term that is inf. So one more accumulator:
                # some = step(some | (x[i_1] == x[i_1])), which is false for NaN.
                any_in_block = Var(fresh.name("some"), "bool")
                takes_part = p.where(Call("eq", (p.value, p.value), "bool"))
                any_term = Call("or", (any_in_block, takes_part), "bool")
                any_term = rename_names(any_term, renaming)
                accs.append(Accum(any_in_block.name, literal(False, "bool"), any_term))
                is_better = Call("and", (any_in_block, is_better), "bool")
            # the outer loop: least_1, the best term so far, and start, where its block begins
            start = block_starts[p.acc.name]
            outer.append(Accum(best.name, p.acc.init, Call(p.op, (best, block_best), best.dtype)))
            outer.append(
                Accum(start.name, interval.hi, Call("select", (is_better, block, start), INDEX))
            )
        body = replace(
            inner,
            range=Interval(block, _block_end(block, self.block, interval.hi)),
            accs=tuple(accs),
        )
        blocks = RangeDesc(interval.lo, interval.hi, self.block)
        return Loop(block.name, blocks, (body,), tuple(outer), span=self.loop.span)

    def _search(
        self, p: ArgExtremum, best: Var, interval: Interval, fresh: FreshNames
    ) -> Iterator[Stmt]:
        """Loops that find the first chunk (if ties win: the last) with `best` in the range, unless
        it has only one, and the position in it.
        """
        chunk, first = Var(fresh.name("chunk"), INDEX), Var(fresh.name("first"), INDEX)
        in_chunk = Var(fresh.name("some"), "bool")
        is_best = p.where(Call("eq", (p.value, best), "bool"))
        condition_loop = replace(self.loop, body=backward_slice(self.loop.body, is_best), accs=())
        renaming = fresh.names(condition_loop)
        inner = rename_names(condition_loop, renaming)
        any_best = Accum(
            in_chunk.name,
            literal(False, "bool"),
            rename_names(_disjunction(in_chunk, is_best), renaming),
        )
        inner = replace(
            inner,
            range=Interval(chunk, _block_end(chunk, self.chunk, interval.hi)),
            accs=(any_best,),
        )
        chunk_start: Expr = Call("select", (in_chunk, chunk, first), INDEX) if p.ties_win else chunk
        found = replace(first, name=fresh.name("first"))
        hit = Accum(found.name, interval.hi, rename_names(chunk_start, {first.name: found.name}))
        chunks = RangeDesc(interval.lo, interval.hi, self.chunk)
        search = Loop(chunk.name, chunks, (inner,), (hit,), None if p.ties_win else in_chunk)
        is_one = index_less(index_sub(interval.hi, interval.lo), self.chunk + 1)
        yield If(is_one, (), (search,), (Yield(first.name, interval.lo, found),))
        position = Var(fresh.name("position"), INDEX)
        yield self._position_loop(condition_loop, p, is_best, first, interval.hi, position, fresh)
        yield from self._payload(p, position, interval.hi, fresh)

    def _position_loop(
        self, condition_loop: Loop, p: ArgExtremum, is_best: Expr, first: Var, end: Expr,
        position: Var, fresh: FreshNames,
    ) -> Loop:
        """The loop over the chunk at `first` that binds `position` to the first (if ties win: the
        last) iteration with the best term, as a minimum (maximum), which can be vectorised. It is
        `end` if the range has no term.
        """
        op, none = ("max", first) if p.ties_win else ("min", end)
        at = Var(self.loop.var, INDEX)
        step = Call(op, (position, Call("select", (is_best, at, none), INDEX)), INDEX)
        chunk_range = Interval(first, _block_end(first, self.chunk, end))
        loop = replace(condition_loop, range=chunk_range, until=None)
        renaming = fresh.names(loop)
        place = Accum(position.name, none, rename_names(step, renaming))
        return replace(rename_names(loop, renaming), accs=(place,))

    def _payload(
        self, p: ArgExtremum, position: Var, end: Expr, fresh: FreshNames
    ) -> Iterator[Stmt]:
        """What binds the accumulators of `p`: integers that follow from the position, such as the
        place itself, are selected, if the range has one; other values are computed in a loop over
        that iteration.
        """
        values, inside = [(p.acc, p.value), *p.followers], bound_names(*self.loop.body)
        for a, e in p.followers:
            is_integer = e.dtype == INDEX and not contains(e, Load)
            if is_integer and ops_within(e) <= _LINEAR and inside.isdisjoint(names_read(e)):
                there = substitute(e, {self.loop.var: position})
                chosen = Call("select", (index_less(position, end), there, a.init), INDEX)
                yield Assign(a.name, chosen, span=a.span)
                values.remove((a, e))
        body = backward_slice(self.loop.body, *(e for _, e in values))
        only = Interval(position, _block_end(position, 1, end))
        loop = Loop(self.loop.var, only, body, tuple(replace(a, step=e) for a, e in values))
        renaming = {n: fresh.name(n) for n in (loop.var, *(x.name for x in body))}
        yield rename_names(loop, renaming)


_LINEAR = frozenset(("add", "sub", "mul", "neg"))


def _identity(fold: Reduction) -> Expr | None:
    """The value with which parts of the reduction `fold` may start, so that their results combine
    to the same bits; None where there is none: of sums of floats, whose order matters.
    """
    if DTYPES[fold.dtype].kind != "f":
        return fold.start
    if fold.is_inexact or fold.restarts or not fold.acc_first:
        return None
    return worst_value(fold.op, fold.dtype)


def _block_end(start: Expr, size: int, end: Expr) -> Expr:
    """The end of the block from `start` on, which `end` may cut short."""
    return Call("min", (Call("add", (start, index_const(size)), INDEX), end), INDEX)


def _disjunction(a: Expr, b: Expr) -> Expr:
    return Call("or", (a, b), "bool")
