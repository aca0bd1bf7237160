"""Search splitting: a loop that ends at its first hit becomes rounds of parts, run by threads.

`parallelize` calls `split_first_hit` for a loop with an ``until``, and `split_any` for a vector
loop that ends early. Only the forms that the vectoriser makes are split. A search that stays scalar
is run by one thread, for the reason "it may end before its last iteration" (`parallelism.py`).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import (
    index_add,
    index_floordiv,
    index_less,
    index_min,
    index_mul,
    index_sub,
    logical_and,
    logical_not,
)
from ...analysis.integers.affine import affine_form
from ...analysis.parallelism import parallel_obstacle
from ...dtypes import INDEX
from ...ir_names import FreshNames, names_read, rename_names, substitute_bounded
from ...ir_traversal import bottom_up, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Const,
    Expr,
    HReduce,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    RangeDesc,
    Span,
    Stmt,
    Store,
    Var,
    VecLoop,
    Yield,
)

__all__ = ["PARTS_AT_ONCE", "split_any", "split_first_hit"]

PARTS_AT_ONCE = 32
"""Parts of a round, which several threads may run."""

_PART = 16384
"""Elements of a part: some microseconds of work."""


def split_first_hit(s: Loop, kernel: Kernel, fresh: FreshNames) -> tuple[Stmt, ...] | None:
    """The search `s` over blocks (as `vectorize_search` makes it) in rounds of `PARTS_AT_ONCE`
    parts, which several threads can run; None if it is no such loop, or what lies behind the hit
    must not be computed (`parallel_obstacle`). `parallelize` calls it.

    `s` has two accumulators: whether there was a hit, which ends it, and the start of the block,
    which grows by a constant where there is none. So the start of a part is known beforehand.
    Before::

        for block in loop(0, n, start=0, hit=False):
            some = …                                    of the elements from start to start + 256
            start = step(select(some, start, start + 256))
            hit = step(some)
            until(hit)

    after::

        … the loop before, from block 0 to min(64, n): start_1, hit_1
        if ~hit_1 & (64 < n):
            for round in loop(range(64, n, 2048), start_2=start_1, hit_2=hit_1):
                end = min(round + 2048, n)
                parts = (end - round + 63) // 64
                kept, kept_1 = local(i64, 32), local(bool, 32)
                for part in parallel_loop(0, parts):
                    at = round + part * 64
                    … the loop before, from block `at` to min(at + 64, end): start_3, hit_3
                    kept[part], kept_1[part] = start_3, hit_3
                    until(hit_3)
                for part_1 in loop(0, parts, start_4=start_2, hit_4=hit_2):
                    start_4, hit_4 = step(kept[part_1]), step(kept_1[part_1])
                    until(hit_4)
                start_2, hit_2 = step(start_4), step(hit_4)
                until(hit_2)
            start, hit = give(start_2), give(hit_2)
        else:
            start, hit = give(start_1), give(hit_1)

    An early hit, in the first part, costs no more than before.
    """
    if not isinstance(s.until, Var) or not isinstance(s.range, Interval) or len(s.accs) != 2:
        return None
    hit = next((a for a in s.accs if a.name == s.until.name), None)
    start = next(a for a in s.accs if a is not hit)
    advance = None if hit is None else _advance_without_hit(start, hit, s)
    if hit is None or advance is None or hit.name in names_read(*s.body, hit.step, start.step):
        return None

    def part(at: Expr, end: Expr) -> tuple[tuple[Stmt, ...], tuple[Expr, ...], Expr]:
        """The blocks from `at` to `end`."""
        assert isinstance(s.range, Interval)
        renamed = fresh.names(s)
        before = index_mul(index_sub(at, s.range.lo), advance)
        accs = tuple(
            replace(a, init=index_add(a.init, before) if a is start else Const(False, "bool"))
            for a in s.accs
        )
        blocks = rename_names(replace(s, range=Interval(at, end), accs=accs), renamed)
        results = tuple(Var(renamed[a.name], a.init.dtype) for a in s.accs)
        return (blocks,), results, Var(renamed[hit.name], "bool")

    steps = [lambda old, new: new] * 2
    size = max(1, _PART // abs(advance))
    if _is_at_most(s.range.hi, size):
        return None  # one part
    search = _Search(s.range, size, part, s.accs, steps, s.until, s.span)
    return _in_rounds(search, kernel, fresh)


def _is_at_most(e: Expr, most: int) -> bool:
    """Whether `e` is a minimum with a constant up to `most`."""
    args = e.args if isinstance(e, Call) and e.op == "min" else ()
    return any(isinstance(a, Const) and a.value <= most for a in args)


def _advance_without_hit(start: Accum, hit: Accum, loop: Loop) -> int | None:
    """By how much `start` grows in an iteration without a hit; None if it is not a constant."""
    match start.step:
        case Call("select", (cond, _, after)) if cond == hit.step and start.init.dtype == INDEX:
            values = {s.name: s.value for s in loop.body if isinstance(s, Assign)}
            grown = affine_form(index_sub(substitute_bounded(after, values), start.current))
            return grown.number or None if grown is not None else None
    return None


def split_any(
    s: VecLoop, uses: Mapping[str, HReduce], kernel: Kernel, fresh: FreshNames
) -> tuple[tuple[Stmt, ...], dict[HReduce, Expr]] | None:
    """The vector loop `s` of a search such as ``any`` or ``all``, which ends after the group that
    decides the answer, in rounds of parts as in `split_first_hit`; and the expressions that replace
    the horizontal reductions of its accumulators after it. None if what lies behind the end must
    not be computed.

        for i in vec(0, n, …, some=False):            the rounds, each with a parallel loop over
            some = step(some | …)                →    parts; total is the answer of all parts
            until(hreduce("or", some))
        y[()] = hreduce("or", some)                   y[()] = total

    ``uses``: the horizontal reduction of each accumulator of `s`, by its name. The accumulators may
    be reduced in any order, so they start anew in each part. `parallelize` calls it.
    """
    assert isinstance(s.range, Interval)
    assert s.until is not None
    totals = tuple(
        Accum(fresh.name(a.name), a.init, Var(fresh.name(a.name), uses[a.name].dtype))
        for a in s.accs
    )
    answers: dict[HReduce, Expr] = {
        uses[a.name]: t.current for a, t in zip(s.accs, totals, strict=True)
    }
    until = _with_answers(s.until, answers)
    if any(isinstance(n, HReduce) for n in walk(until)):
        return None

    def part(at: Expr, end: Expr) -> tuple[tuple[Stmt, ...], tuple[Expr, ...], Expr]:
        """The elements from `at` to `end`."""
        renamed = fresh.names(s)
        loop = rename_names(replace(s, range=Interval(at, end)), renamed)
        reduced = {use: Var(fresh.name("result"), use.dtype) for use in uses.values()}
        assigned = (Assign(v.name, rename_names(u, renamed)) for u, v in reduced.items())
        results = tuple(reduced[uses[a.name]] for a in s.accs)
        return (loop, *assigned), results, _with_answers(s.until, {**reduced})

    def combined(op: str) -> Callable[[Expr, Expr], Expr]:
        """The step of a total by `op`."""
        return lambda old, new: Call(op, (old, new), new.dtype)

    steps = [combined(uses[a.name].op) for a in s.accs]
    search = _Search(s.range, _PART, part, totals, steps, until, s.span)
    split = _in_rounds(search, kernel, fresh)
    return None if split is None else (split, answers)


def _with_answers(e: Expr | None, answers: Mapping[HReduce, Expr]) -> Expr:
    """`e` with the values of horizontal reductions in their place."""
    assert e is not None

    def answer(n: Expr) -> Expr:
        """The value in place of a horizontal reduction."""
        return answers.get(n, n) if isinstance(n, HReduce) else n

    new: Expr = bottom_up(e, answer)
    return new


class _Search(NamedTuple):
    """A search in terms of its parts. ``part`` gives the code for a part from its ends, the result
    for each accumulator, and whether there was a hit.
    """

    range: Interval
    size: int  # iterations of a part
    part: Callable[[Expr, Expr], tuple[tuple[Stmt, ...], tuple[Expr, ...], Expr]]
    accs: Sequence[Accum]
    steps: Sequence[Callable[[Expr, Expr], Expr]]  # an accumulator after a part: (before, result)
    until: Expr  # ends the search, in terms of `accs`
    span: Span | None


def _in_rounds(search: _Search, kernel: Kernel, fresh: FreshNames) -> tuple[Stmt, ...] | None:
    """The search as a first part, and a loop over rounds, each of which has a parallel loop over
    parts, and a loop that combines what these have found, in their order, up to the first hit: the
    example at `split_first_hit`, line by line. None if the loop over parts cannot be parallel.
    """
    r, size, span = search.range, search.size, search.span
    round_, part, part_1 = (Var(fresh.name(n), INDEX) for n in ("round", "part", "part"))
    end, at, count = (Var(fresh.name(n), INDEX) for n in ("end", "at", "parts"))
    parts = Interval(index_const(0), count)

    # for part in parallel_loop(0, parts): …; kept[part] = …
    body, results, hit = search.part(at, index_min(index_add(at, size), end))
    kept = [fresh.name("kept") for _ in results]
    stores = (Store(name, (part,), v) for name, v in zip(kept, results, strict=True))
    begin = Assign(at.name, index_add(round_, index_mul(part, size)))
    work = Loop(part.name, parts, (begin, *body, *stores), until=hit, parallel=True, span=span)
    if parallel_obstacle(work, kernel) is not None:
        return None

    found = [Load(name, (part_1,), v.dtype) for name, v in zip(kept, results, strict=True)]
    combine, befores = _combining_loop(search, part_1, parts, found, fresh)

    # the first part: a hit in it costs no more than without rounds
    begun = index_min(index_add(r.lo, size), r.hi)
    at_first, values, hit_at_first = search.part(r.lo, begun)
    after_first = [
        step(a.init, v) for a, v, step in zip(search.accs, values, search.steps, strict=True)
    ]

    # for round in loop(range(64, n, 2048), start_2=start_1, …): …; start_2 = step(start_4)
    at_once = size * PARTS_AT_ONCE
    rounded_up = index_add(index_sub(end, round_), size - 1)
    outer = tuple(
        Accum(before.name, v, Var(combined.name, v.dtype))
        for before, v, combined in zip(befores, after_first, combine.accs, strict=True)
    )
    outer_names = {a.name: before.name for a, before in zip(search.accs, befores, strict=True)}
    inside: tuple[Stmt, ...] = (
        Assign(end.name, index_min(index_add(round_, at_once), r.hi)),
        Assign(count.name, index_floordiv(rounded_up, size)),
        *(Local(name, v.dtype, PARTS_AT_ONCE) for name, v in zip(kept, results, strict=True)),
        work, combine,
    )
    rounds = Loop(
        round_.name, RangeDesc(index_add(r.lo, size), r.hi, at_once), inside, outer,
        rename_names(search.until, outer_names), span=span,
    )

    # if ~hit_1 & (64 < n): the rounds; start = give(start_2); else: start = give(start_1)
    goes_on = logical_and(logical_not(hit_at_first), index_less(index_add(r.lo, size), r.hi))
    yields = tuple(
        Yield(a.name, Var(outer_names[a.name], v.dtype), v)
        for a, v in zip(search.accs, after_first, strict=True)
    )
    return (*at_first, If(goes_on, (rounds,), (), yields, span=span))


def _combining_loop(
    search: _Search, part: Var, parts: Interval, found: Sequence[Load], fresh: FreshNames
) -> tuple[Loop, list[Var]]:
    """The loop that combines what the parts of a round have `found`, in their order, up to the
    first hit; and the accumulators of the loop over rounds, with which it begins.

        for part_1 in loop(0, parts, start_4=start_2, …):
            start_4 = step(kept[part_1])
            until(hit_4)
    """
    loaded = [Var(fresh.name("result"), v.dtype) for v in found]
    loads = tuple(Assign(v.name, load) for v, load in zip(loaded, found, strict=True))
    names = {a.name: fresh.name(a.name) for a in search.accs}
    befores = [Var(fresh.name(a.name), a.init.dtype) for a in search.accs]
    accs = tuple(
        Accum(name, before, step(replace(before, name=name), v))
        for name, before, v, step in zip(
            names.values(), befores, loaded, search.steps, strict=True
        )
    )
    return Loop(part.name, parts, loads, accs, rename_names(search.until, names)), befores
