"""Work estimate: how much an iteration of a loop computes, in additions.

    for i: for j in range(n): y[i, j] = exp(x[j])      1 + 11 n additions: exp counts 8; a load, a
                                                       store and a run of a body 1 each

The C code of a parallel loop, which knows n, asks for other threads if this takes long enough
(`targets.c.c_regions`); a report says from how many elements on that is so (`elements_worth`).
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil, inf, prod

from ..dtypes import DTYPES
from ..ir_names import bound_names, names_read
from ..ir_traversal import children, contains, range_bounds, walk
from ..lazy_dataclass import record, replace
from ..nodes import (
    Append,
    Call,
    Expr,
    If,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Node,
    PredLoop,
    Prefix,
    RangeDesc,
    Stmt,
    Store,
    VecLoop,
    While,
)
from ..op_table import OPS
from .loop_set import max_trips
from .parallelism import Splittable

__all__ = [
    "GUESSED_TRIPS", "InnerWork", "Work", "advance", "copies_are_cheap", "elements_worth",
    "most_additions", "total_additions", "weight_of_calls", "work_of",
]

_ASSUMED_TRIPS = 8
"""Assumed trip count of each loop and length of each axis."""

_COPY_COST = 8.0
"""Additions for each copied element from which on the time of the copy does not matter."""

GUESSED_TRIPS = 64.0
"""How often a loop runs its body, where that is not known at the start of the loop around it."""


@record(frozen=True, slots=True)
class Work:
    """The work of some statements: `constant` of those that run once, `inner` of the loops."""

    constant: float
    inner: tuple[InnerWork, ...] = ()


@record(frozen=True, slots=True)
class InnerWork:
    """A loop in the statements, with the work of one run of its body."""

    loop: LoopLike
    trips: float | None  # how often the body runs, at most, or a guess; None: its bounds tell
    work: Work


def work_of(n: Splittable) -> Work:
    """The work of one run of the body of the parallel loop `n`, in additions, as a tree: what runs
    once, and the inner loops, each with the work of its own body::

        for i: for j in loop(0, n): y[i, j] = exp(x[j])
        →
        Work(1, (InnerWork(<the loop over j>, trips=None, Work(11)),))          # 1 + 11 n

    ``trips=None``: the trip count is computed from the bounds of the loop, where their values are
    known: at run time by the C code of the parallel loop (`c_regions`), for a report by
    `elements_worth`. `total_additions` takes a guess in place of them.
    """
    work = _work(n.body, bound_names(n) | {n.var})
    return replace(work, constant=work.constant + _cost_of_predicate(n))


def most_additions(s: Stmt, definitions: Mapping[str, Expr]) -> float:
    """The most additions that `s` may take; infinite where that is not known. ``definitions``: the
    values of names, by which trip counts are bounded. The iterations of vector loops count as if
    they ran one by one.
    """
    match s:
        case If(cond, then, orelse):
            sides = (sum(most_additions(x, definitions) for x in side) for side in (then, orelse))
            return weight_of_calls(cond) + max(sides)
        case Loop() | VecLoop() | PredLoop():
            trips = max_trips(s.range, definitions)
            if trips is None:
                return inf
            steps = sum(weight_of_calls(a.step) for a in s.accs)
            return trips * (1 + steps + sum(most_additions(x, definitions) for x in s.body))
        case _ if isinstance(s, LoopLike):
            return inf
        case _:
            return 1 + weight_of_calls(s)


def advance(n: Splittable) -> int:
    """How far the variable of `n` goes from one run of the body to the next."""
    if isinstance(n.range, RangeDesc):
        return n.range.step
    return 1 if isinstance(n, Loop) else int(n.width)


def total_additions(work: Work) -> float:
    """The work as one number of additions. `GUESSED_TRIPS` stands for the trip count of a loop that
    only its bounds tell.
    """
    return work.constant + sum(_trips(part) * total_additions(part.work) for part in work.inner)


def _trips(part: InnerWork) -> float:
    """How often the body of a loop runs. In place of a trip count that only its bounds tell, the
    guess; of a loop over blocks, so many blocks that their loops together run as often.
    """
    if part.trips is not None:
        return part.trips
    return GUESSED_TRIPS / max(_trips_of_block(part), 1.0)


def _trips_of_block(part: InnerWork) -> float:
    """How often the loop over the elements of a block runs its body, for one block of the loop of
    `part`; 1 for a loop that runs over no blocks.
    """
    return max((
        _trips(x) * _trips_of_block(x) for x in part.work.inner
        if isinstance(part.loop, Splittable) and _are_blocks_of(part.loop, [x.loop])
    ), default=1.0)


def elements_worth(n: Splittable, listed: LoopLike, amount: float) -> int:
    """How many elements the parallel loop `n` must have to do `amount` of work, in additions,
    rounded up to two digits: a report says from how many elements on threads pay.

    ``listed``: the loop in whose line the report says so, `n` or a loop in it. The number of
    elements is the product of the trip counts of all loops from `n` to `listed`, and on to the
    innermost loop in it that does the most; ``while`` loops are left out. A trip count that is not
    known is guessed. The guess matters little: if the inner loop is longer, both the work and the
    number of elements grow with it.
    """
    work = work_of(n)
    chain = [part for part in _chain(work, listed) if not isinstance(part.loop, While)]
    loops = [n, *(part.loop for part in chain)]
    count = amount / total_additions(work) * prod(map(_trips, chain))
    for k, loop in enumerate(loops):
        if isinstance(loop, Splittable) and not _are_blocks_of(loop, loops[k + 1 :]):
            count *= advance(loop)
    unit = int(10 ** max(0, len(str(ceil(count))) - 2))
    return ceil(count / unit) * unit


def _are_blocks_of(loop: Splittable, inner: Iterable[LoopLike]) -> bool:
    """Whether `loop` runs over blocks, and one of its loops `inner` over the elements of a block:
    its bounds read the variable of `loop`. The step of `loop` is then not counted as elements.
    """
    return any(
        loop.var in names_read(*range_bounds(x.range)) for x in inner if isinstance(x, Splittable)
    )


def _chain(work: Work, listed: LoopLike) -> Iterator[InnerWork]:
    """The loops from the outside to `listed`, and from there to the innermost one, on each level
    the one that does the most work.
    """
    path = [*_path(work.inner, listed)]
    yield from path
    inside = path[-1].work if path else work
    while inside.inner:
        most = max(inside.inner, key=lambda part: _trips(part) * total_additions(part.work))
        yield most
        inside = most.work


def _path(inner: Iterable[InnerWork], listed: LoopLike) -> Iterator[InnerWork]:
    """The loops from the outside to `listed`, which is the last; none if it is not in `inner`."""
    for part in inner:
        if part.loop is listed:
            yield part
            return
        if rest := [*_path(part.work.inner, listed)]:
            yield part
            yield from rest
            return


def _work(body: Iterable[Stmt], local: frozenset[str]) -> Work:
    """The work of statements; ``local``: names that are bound in the loop around them."""
    constant, inner = 1.0, list[InnerWork]()
    for part in body:
        match part:
            case If(cond, then, orelse):
                sides = _work((*then, *orelse), local)
                constant += _cost(cond) + sides.constant
                inner += sides.inner
            case While() | Loop() | VecLoop() | PredLoop():
                inside = _work(part.body, local)
                steps = sum(_cost(a.step) for a in part.accs) + _cost_of_predicate(part)
                if isinstance(part, While):
                    steps += _cost(part.cond)
                whole = Work(inside.constant + steps, inside.inner)
                inner.append(InnerWork(part, _known_trips(part, local), whole))
            case _:
                constant += _cost(part)
    return Work(constant, tuple(inner))


_SCAN = 6
"""The cost of a scan of a register, or of an append of its selected lanes: shuffles and additions.
"""


def _cost(n: Node) -> float:
    """The cost of what `n` computes once, in additions; a load or store counts one."""
    accesses = sum(isinstance(x, (Load, Store)) for x in walk(n))
    return weight_of_calls(n) + accesses + _SCAN * isinstance(n, (Append, Prefix))


def _cost_of_predicate(n: LoopLike) -> float:
    """The cost of the predicate that an iteration of `n` computes, if it has one."""
    return _cost(n.pred) if isinstance(n, PredLoop) else 0.0


def weight_of_calls(n: Node) -> float:
    """The cost of the operations in `n`, each computed once, in additions."""
    return float(sum(OPS[x.op].weight for x in walk(n) if isinstance(x, Call)))


def _known_trips(n: While | Splittable, local: frozenset[str]) -> float | None:
    """How often the body of `n` runs; the first that applies:

    - a ``while`` loop: a guess;
    - a constant upper bound is known: that;
    - the bounds of its range can be computed before the parallel loop around it starts, which binds
      the names `local`: None;
    - else a guess.
    """
    if isinstance(n, While):
        return GUESSED_TRIPS
    lanes = 1 if isinstance(n, Loop) else int(n.width)
    if (most := max_trips(n.range, {})) is not None:
        return most / lanes
    start, end = range_bounds(n.range)
    is_known = local.isdisjoint(names_read(start, end)) and not _loads(start, end)
    return None if is_known else GUESSED_TRIPS


def _loads(*exprs: Expr) -> bool:
    return any(contains(e, Load) for e in exprs)


def copies_are_cheap(kernel: Kernel, arrays: Iterable[str]) -> bool:
    """Whether copying `arrays`, parameters of `kernel`, costs little compared with its work: there
    are at least `_COPY_COST` additions for each element. `assemble_plan.with_copies_decided` asks.
    """
    ranks = {p.name: p.rank or 0 for p in kernel.params}
    copied = sum(float(_ASSUMED_TRIPS) ** ranks[name] for name in arrays)
    return sum(map(_cost_in_additions, kernel.body)) >= _COPY_COST * copied


def _cost_in_additions(n: Node) -> float:
    """The estimated floating-point work of `n`, each loop run `_ASSUMED_TRIPS` times."""
    below = sum(map(_cost_in_additions, children(n)), 0.0)
    if isinstance(n, LoopLike):
        return _ASSUMED_TRIPS * below
    if isinstance(n, Call) and DTYPES[n.dtype].kind == "f":
        below += OPS[n.op].weight
    return below
