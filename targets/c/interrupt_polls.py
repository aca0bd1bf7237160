"""Interrupt polls: where a kernel asks whether a signal handler, as of Ctrl-C, raised (`stop.h`).

- A counted loop is split into chunks of iterations, and polls between two chunks, so that its body
  has no instruction more::

      int64_t i = 0, i_end = n;
      if (i < i_end) for (;;) {
          const int64_t i_stop = (uint64_t)i_end - (uint64_t)i > 65536 ? i + 65536 : i_end;
          for (; i < i_stop; i += 1) {
              …
          }
          if (__builtin_expect(i >= i_end, 1)) break;
          if (status & 16 || TP_STOPPED(&tp_clock_0)) return status | 16;
      }

  The poll also ends a kernel that goes on after a check has failed (``status & 16``): Python will
  replay the call, and may raise after a small part of the loop.

- A ``while`` loop has a counter of the iterations before the next poll, which each iteration
  decreases; at 0 the loop polls. A short body is repeated, with the condition in between, and only
  the last copy decreases the counter (`copies_of_body`).

`_add_polls` decides which loops poll: each loop except

- one that surely does little work, with the loops in it;
- one of few iterations around other loops: these are judged in its place;
- if a loop around it polls: one over large blocks, whose inner loop is added up (below);
- if a loop around it polls: one that has at most as many iterations as an array that it goes
  through has elements (`_is_bounded`).

How long is a chunk? In an innermost loop it has `INNERMOST` iterations, or fewer if each does much,
and takes a few milliseconds at most. In a loop around others the first one has `NEST` iterations.
From then on the loop's clock (`tp_clock` of ``stop.h``) sets the length, so that a chunk takes some
milliseconds (`is_early` of ``signals.c``, which also asks Python at most every 50 ms).

The clock assumes that iterations stay as short as the last ones were. But the next ones may take a
thousand times as long: an inner loop may have few iterations now and a million then. So before each
run of an inner loop with many iterations, its work is added to a sum (`Tally`). When the sum is
large, a poll is due, and the chunk of the outer loop ends with this iteration. A run of few
iterations costs one comparison::

    if (__builtin_expect(n > 1024, 0) && TP_IS_DUE(tp_tally.turns += n * 1, tp_tally)) i_stop = i;
    for (int64_t j = 0, j_end = n; j < j_end; j += 1) { … }

The kernel polls before the inner loop instead, in two cases: the outer loop has no chunk to end, as
it does not poll itself; or the kernel returns at failed checks, so that its loops have exits in any
case. (The first exit of a loop makes it slower.)

How many iterations an inner ``while`` makes is known only after it. If it does not poll itself, its
work is added after it, by the change of a counter (`_counters`). If it polls, its count-down goes
on, in the next run, where the run before has ended.

The C compiler is told that a chunk is the last one (``__builtin_expect``), as it nearly always is:
it then gives registers to what the loop computes, and not to the counters of chunks. A stopped
kernel returns the status of a replay; its caller raises the handler's exception (`signal_checks`).
"""
from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

from loopir import nodes as ir
from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import affine_form
from loopir.analysis.loop_set import constant_max_trips, max_trips
from loopir.ir_traversal import children, contains, walk
from loopir.lazy_dataclass import record, replace
from loopir.op_table import OPS
from loopir.status_bits import STATUS

__all__ = [
    "Poll", "Polls", "Tallies", "Tally", "chunk_end", "chunk_start", "copies_of_body", "count_down",
    "declarations", "poll_if_long", "polls_of", "tallies_of",
]

_Counted: TypeAlias = ir.Loop | ir.VecLoop | ir.PredLoop | ir.Zip | ir.Scan
_Loop: TypeAlias = _Counted | ir.While
_Values: TypeAlias = "Mapping[str, ir.Expr]"
"""The expression assigned to each name that is assigned once."""


@record(frozen=True, slots=True)
class Poll:
    """How a loop polls."""

    clock: str  # the name of its clock in C
    chunk: int
    """How many iterations (groups of lanes in a vector loop) it makes before the first poll."""
    is_timed: bool
    """Whether the clock sets how many it makes before further polls (else always ``chunk``)."""

    @property
    def countdown(self) -> str:
        """The C variable of a ``while`` that counts the iterations down to the next poll."""
        return f"{self.clock}_left"

    @property
    def turns(self) -> str:
        """The number of iterations between two polls, in C."""
        return f"{self.clock}.turns" if self.is_timed else str(self.chunk)


Polls: TypeAlias = "Mapping[ir.Stmt, Poll]"
"""The loops that poll."""


@record(frozen=True, slots=True)
class Tally:
    """How the work of an inner loop, inside one that polls, is added to the sum."""

    work: int  # the work of an iteration; 1: a few cheap operations
    least: int  # the greatest number of iterations of a run that is not added
    step: int = 1
    """The step of the loop, by which the length of its range is divided; 1 of a loop over blocks,
    so that it counts elements."""
    once: int = 0  # the work of a run besides that of its iterations
    start: ir.Expr | None = None
    """If consecutive loops are counted together (`_join`): where the first of them starts."""
    counter: str = ""
    """Of a ``while``: the accumulator whose change tells the number of iterations."""


Tallies: TypeAlias = "Mapping[ir.Stmt, Tally]"
"""The loops whose iterations are added up."""


INNERMOST, NEST = 1 << 16, 1 << 6
"""Iterations before the first poll: of an innermost loop, and of a loop around others. A call whose
loops are shorter makes no poll, which takes 20 ns."""

_FEW_ITERATIONS = 1 << 4
"""A loop around others that surely has at most so many iterations does not poll: those in it do."""

_LITTLE_WORK = 1 << 20
"""A loop that surely takes at most the time of so many additions, with the loops in it, does not
poll: it ends within a millisecond."""

_HEAVY_BODY = 16
"""Cycles of an iteration from which on a loop over a large array takes long, and so polls."""

_CHEAP_WEIGHT = 2
"""The weight (`Op.weight`) up to which a core completes several such operations in a cycle."""

_LARGE_BLOCK = 1 << 16
"""Elements of a large block."""

_SHORT_RUN, _SHORT_NEST, _NEST_WORK = 1 << 10, 1 << 5, 1 << 6
"""``_SHORT_RUN``: a run of an innermost loop with at most so much work is not added to the sum, as
adding takes 1 ns. ``_SHORT_NEST``: nor is a run of at most so many iterations of a loop around
others. ``_NEST_WORK``: the work that is assumed for each of its iterations."""

_REGION_WORK = 1 << 14
"""The work that is added for a run of a parallel loop, besides the work of its iterations. The
loops in it add to another sum, that of the function for a part of the range."""

_TALLY = "tp_tally"
"""The clock in C whose ``turns`` is the sum of the work of inner loops."""

_REPLAY = STATUS["replay"]

_BODY_COPIES, _SMALL_BODY = 4, 64
"""How often a short body of a ``while`` loop is repeated, and how many nodes it has at most."""


def declarations(polls: Polls, text: str) -> list[str]:
    """The lines of C that declare the clocks of a function with this `text`, of a kernel with these
    polls. Only the fields that are read before they are set are initialised: others would slow down
    short calls.
    """
    lines = [f"tp_clock {_TALLY};", f"{_TALLY}.read = {_TALLY}.turns = 0;"] * (_TALLY in text)
    for loop, poll in _polls_in(polls, text).items():
        lines += [f"tp_clock {poll.clock};", f"{poll.clock}.read = 0;"]
        if poll.is_timed:
            lines.append(f"{poll.clock}.turns = {poll.chunk};")
        if isinstance(loop, ir.While):
            lines.append(f"int64_t {poll.countdown} = {poll.turns};")
    return lines


def _polls_in(polls: Polls, text: str) -> Polls:
    """Those of `polls` whose clocks the C code `text` names, each clock once."""
    by_clock = {poll.clock: (loop, poll) for loop, poll in polls.items()}
    named = set(re.findall(r"tp_clock_\d+", text))
    return dict(pair for clock, pair in by_clock.items() if clock in named)


def polls_of(body: Iterable[ir.Stmt]) -> Polls:
    """The loops of a kernel that poll, and how (`_add_polls` decides)."""
    found: dict[ir.Stmt, Poll] = {}
    body = tuple(body)
    _add_polls_of_body(body, found, _values(body), inside=False)
    return found


def tallies_of(body: Iterable[ir.Stmt], polls: Polls) -> Tallies:
    """The loops of a kernel whose work is added to the sum: those inside the loops that poll,
    except loops that surely do little (`_tally`).
    """
    found: dict[ir.Stmt, Tally] = {}
    values = _values(body) if polls else {}
    for outer in polls:
        if outer not in found:
            for n in _loops_directly_in(outer):
                _add_tallies(n, found, polls, values)
            _join(outer, found)
    return found


def _add_tallies(
    n: _Loop, found: dict[ir.Stmt, Tally], polls: Polls, values: _Values
) -> None:
    """Add to `found` the tallies of `n`, a loop inside one that polls, and of the loops in it. Of a
    parallel loop only its own tally is added, if the work of the loops in it is bounded.
    """
    if tally := _tally(n, values, n in polls):
        found[n] = tally
    if not getattr(n, "parallel", False) or _max_work_inside(n, values) == math.inf:
        for inner in _loops_directly_in(n):
            _add_tallies(inner, found, polls, values)


def _max_work_inside(n: _Loop, values: _Values) -> float:
    """The most time of the loops in one iteration of `n`, in additions; infinite if unknown."""
    return sum(_max_work(loop, values) or math.inf for loop in _loops_directly_in(n))


def _join(outer: ir.Stmt, tallies: dict[ir.Stmt, Tally]) -> None:
    """Give consecutive loops in `outer` one tally, if each one starts where the one before has
    ended and an iteration of each counts the same::

        for j in range(0, m): …         its tally is removed
        for j in range(m, n): …         its tally counts n - 0 iterations
    """
    for around in walk(outer):
        loops = [
            n for n in getattr(around, "body", ())
            if isinstance(n, ir.Loop | ir.VecLoop | ir.PredLoop) and n in tallies
        ]
        for n, then in pairwise(loops):
            first, last = n.range, then.range
            if isinstance(first, ir.Interval) and isinstance(last, ir.Interval):
                before, tally = tallies[n], tallies[then]
                if first.hi == last.lo and (before.work, before.once) == (tally.work, tally.once):
                    tallies[then] = replace(tally, start=before.start or first.lo)
                    del tallies[n]


def _values(body: Iterable[ir.Stmt]) -> _Values:
    """The expression assigned to each name that is assigned once in `body`."""
    assigns = [n for s in body for n in walk(s) if isinstance(n, ir.Assign)]
    counts = Counter(n.name for n in assigns)
    return {n.name: n.value for n in assigns if counts[n.name] == 1}


def _tally(n: _Loop, values: _Values, polls: bool) -> Tally | None:
    """The tally of the loop `n`, which is inside one that polls. None if its work is not added: it
    is known to be small (`_SHORT_RUN`); or `n` is a ``while`` that polls itself (``polls``), or
    that has no counter, which tells its number of iterations.
    """
    work = _work(n)
    least = max(_SHORT_NEST, _SHORT_RUN // work)
    if isinstance(n, ir.While):
        counter = None if polls else next(_counters(n), None)
        return Tally(work, least, counter=counter) if counter else None
    total = _max_work(n, values)
    if total is not None and total <= _SHORT_RUN:
        return None
    if _is_over_blocks(n):
        return Tally(work, least)
    has_loops = any(contains(part, _Loop) for part in getattr(n, "body", ()))
    if getattr(n, "parallel", False):
        each = _max_work_inside(n, values)
        least = max(int(_REGION_WORK // (each or work)), each < math.inf)
        return Tally(_NEST_WORK if has_loops else work, least, _step(n.range), _REGION_WORK)
    if has_loops:
        return Tally(_NEST_WORK, _SHORT_NEST, _step(n.range))
    return Tally(work, least, _step(n.range))


def _work(loop: _Loop) -> int:
    """The work of one iteration of `loop`, an innermost loop, in the unit of `Tally.work`."""
    return max(1, int(sum(_cost(n) for n in walk(loop) if isinstance(n, ir.Call))) // 4)


def _add_polls(
    s: ir.Node, found: dict[ir.Stmt, Poll], values: _Values, *, inside: bool, registers: int
) -> None:
    """Add to `found` the loops in `s` that poll; ``inside``: a loop around `s` polls;
    ``registers``: the product of the unroll factors of the vector loops around it.

    This is where it is decided whether a loop polls (the list at the top of this module): it must
    be able to take long, and no loop around it must poll often enough.

        for i in range(n):                 polls: n is known only at run time
            for k in range(3): …           does not: little work
            for j in range(m): s += x[j]   does not: the loop around it polls, and m <= len(x)
    """
    match s:
        case ir.While() | ir.Loop() | ir.VecLoop() | ir.PredLoop() | ir.Zip() | ir.Scan():
            parts: Iterable[ir.Node] = getattr(s, "body", ())
            has_loops = any(contains(part, _Loop) for part in parts)
            work = _max_work(s, values)
            if work is not None and work <= _LITTLE_WORK:
                return  # with the loops in it, it surely ends within a millisecond
            each = registers * _registers(s)
            if has_loops and (_has_few_iterations(s, values) or (inside and _is_over_blocks(s))):
                _add_polls_of_body(parts, found, values, inside=inside, registers=each)
            elif not (inside and _is_bounded(s, values, registers)) and s not in found:
                work = _work(s) * registers * (_BODY_COPIES if isinstance(s, ir.While) else 1)
                chunk = NEST if has_loops else max(1, INNERMOST // work)
                # before its body: clocks are numbered from outside to inside
                found[s] = Poll(f"tp_clock_{len(found)}", chunk, has_loops)
                _add_polls_of_body(parts, found, values, registers=each)
        case ir.If(then=then, orelse=orelse):
            parts = *then, *orelse
            _add_polls_of_body(parts, found, values, inside=inside, registers=registers)


def _add_polls_of_body(
    body: Iterable[ir.Node], found: dict[ir.Stmt, Poll], values: _Values, *, inside: bool = True,
    registers: int = 1,
) -> None:
    """As `_add_polls`, for the statements of a body."""
    for s in body:
        _add_polls(s, found, values, inside=inside, registers=registers)


def _is_over_blocks(loop: _Loop) -> bool:
    """Whether `loop` goes over large blocks, and has a loop over one block in it. That loop has
    so many iterations that each run of it, except the last, is added to the sum (`Tally`).
    """
    return not isinstance(loop, ir.While) and _step(loop.range) >= _LARGE_BLOCK and any(
        isinstance(n, ir.Loop | ir.VecLoop | ir.PredLoop) for n in getattr(loop, "body", ())
    )


def _registers(loop: _Loop) -> int:
    """How many registers one iteration of a loop computes side by side."""
    match loop:
        case ir.VecLoop(width=int(width), group=int(group)) | ir.PredLoop(
            width=int(width), group=int(group)
        ):
            return max(1, group // width)
        case _:
            return 1


def _is_bounded(loop: _Loop, values: _Values, registers: int) -> bool:
    """Whether an array bounds the number of iterations of `loop` (of a nest: the iterations of all
    its innermost loops together): each iteration accesses an element that no other one accesses, so
    that there are no more iterations than elements. False if an iteration takes long
    (`_HEAVY_BODY`) for the ``registers`` for which the loops around it run it side by side.
    """
    calls = (n for n in walk(loop) if isinstance(n, ir.Call))
    is_heavy = sum(map(_cost, calls)) * registers >= _HEAVY_BODY
    return not is_heavy and bool(_traversed_arrays(loop, {}, values))


def _cost(n: ir.Call) -> float:
    """The time of an operation, in cycles: a core completes about four of the cheap ones in one."""
    weight = OPS[n.op].weight
    return weight if weight > _CHEAP_WEIGHT else weight / 4


def _traversed_arrays(
    loop: _Loop, around: Mapping[str, _Counted], values: _Values,
    blocks: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """For each innermost loop in `loop`, an array that the nest goes through once (`_is_bounded`);
    empty if some innermost loop of unknown length has none. ``around``: the loops around `loop`, by
    their variables; ``blocks``: the variables of loops over blocks around it.

    Each variable must have a dimension of the array for itself (`_traversed_array`). Exceptions are
    the variable of a loop with few iterations, and that of a loop over blocks with a loop over one
    block in it (`_without_blocks`): both go through the array once together. The variable of a
    ``while`` is a counter (`_counters`).
    """
    inner = [*_loops_directly_in(loop)]
    if isinstance(loop, ir.While):
        arrays = (_traversed_array(loop, (*around, name), blocks) for name in _counters(loop))
        return () if inner else next(filter(None, arrays), ())
    names = around if _has_few_iterations(loop, values) else {**around, loop.var: loop}
    found: list[str] = []
    for n in inner:
        whole = _without_blocks(names, n, values)
        parts = blocks | (names.keys() - whole.keys())
        traversed = _traversed_arrays(n, whole, values, parts)
        if not traversed and _max_work(n, values) is None:
            return ()
        found += traversed
    if inner:
        return tuple(found)
    if isinstance(loop, ir.Zip | ir.Scan) and names.keys() == {loop.var}:
        return (loop.array,) if isinstance(loop, ir.Scan) else tuple(x.array for x in loop.streams)
    return _traversed_array(loop, names, blocks)


def _traversed_array(
    loop: _Loop, names: Collection[str], blocks: frozenset[str]
) -> tuple[str, ...]:
    """An array that the innermost loop `loop` accesses in every iteration, with a subscript for
    each of the variables `names` that depends on no other of them and on none of `blocks`; empty
    if there is none. For i and j ``x[i, j + 1]`` is such an access, ``x[i + j]`` is not.

    Accesses in a branch do not count. Nor do those for which a check must hold, such as
    ``x[select(inside, i, 0)]``: only some kernels end where it fails.
    """
    parts = (part for part in children(loop) if not isinstance(part, ir.If))
    nodes = [n for part in parts for n in walk(part)]
    values = {n.name: n.value for n in nodes if isinstance(n, ir.Assign)}
    for n in nodes:
        if isinstance(n, ir.Load | ir.Store):
            among = {*names, *blocks}
            subscripts = {_computed_from(part, values) & among for part in n.index}
            if all({name} in subscripts for name in names):
                return (n.array,)
    return ()


_INJECTIVE = frozenset(("add", "sub", "mul"))
"""An index that is computed by these operations alone differs from iteration to iteration."""


def _counters(loop: ir.While) -> Iterator[str]:
    """The accumulators of `loop` that each iteration changes by a constant other than 0."""
    values = {n.name: n.value for n in loop.body if isinstance(n, ir.Assign)}
    for acc in loop.accs:
        step = values.get(acc.step.name) if isinstance(acc.step, ir.Var) else acc.step
        match step:
            case ir.Call("add" | "sub", (ir.Var(name), ir.Const(by))) if name == acc.name and by:
                yield acc.name


def _without_blocks(
    around: Mapping[str, _Counted], loop: _Loop, values: _Values
) -> Mapping[str, _Counted]:
    """The loops `around`, without the loops over blocks of which `loop` goes through one block: its
    start is computed from their variables, and its range is no longer than their steps.
    """
    trips = None if isinstance(loop, ir.While) else _max_trips(loop.range, values)
    if trips is None or isinstance(loop, ir.While):
        return around
    start = _start_value(loop.range)
    if isinstance(start, ir.Var) and start.name not in around:
        start = values.get(start.name, start)
    form = affine_form(start, around)
    steps = {
        name: abs(form.terms.get(name, 0)) * _step(n.range) for name, n in around.items()
    } if form is not None else {}
    room, blocks = trips * _step(loop.range), set[str]()
    for name in sorted((name for name in steps if steps[name]), key=steps.__getitem__):
        if steps[name] < room:
            break
        blocks.add(name)
        trips = _max_trips(around[name].range, values)
        room = steps[name] * trips if trips is not None else sys.maxsize
    return {name: n for name, n in around.items() if name not in blocks}


def _loops_directly_in(n: ir.Node) -> Iterator[_Loop]:
    """The loops in `n` that are in no other loop of `n`."""
    for part in children(n):
        if isinstance(part, _Loop):
            yield part
        elif contains(part, _Loop):
            yield from _loops_directly_in(part)


def _computed_from(index: ir.Expr, values: Mapping[str, ir.Expr]) -> frozenset[str]:
    """The names that an index is computed from, by injective operations alone; none if it depends
    on memory or on another operation. ``values``: the expressions of names in it.
    """
    names, waiting = set[str](), [index]
    while waiting:
        for n in walk(waiting.pop()):
            if isinstance(n, ir.Load) or (isinstance(n, ir.Call) and n.op not in _INJECTIVE):
                return frozenset()
            if isinstance(n, ir.Var) and n.name not in names:
                names.add(n.name)
                waiting += [values[n.name]] if n.name in values else []
    return frozenset(names)


def _has_few_iterations(loop: _Loop, values: _Values) -> bool:
    """Whether `loop` surely has at most `_FEW_ITERATIONS`."""
    trips = None if isinstance(loop, ir.While) else _max_trips(loop.range, values)
    return trips is not None and trips <= _FEW_ITERATIONS


def _start_value(rng: ir.Range) -> ir.Expr:
    """The first value of the variable of a loop over `rng`."""
    return rng.lo if isinstance(rng, ir.Interval) else rng.start


def _step(rng: ir.Range) -> int:
    """The distance of two values of the variable of a loop over `rng`."""
    return 1 if isinstance(rng, ir.Interval) else abs(rng.step)


def _max_trips(rng: ir.Range, values: _Values) -> int | None:
    """The number of iterations that a loop has at most, if that is known."""
    match rng:
        case ir.Interval(ir.Const(0), ir.Var(name)) if name in values:
            return _max_value(values[name], values)
        case _:
            return max_trips(rng, values)


def _max_value(e: ir.Expr, values: _Values) -> int | None:
    """An upper bound of an integer, at least 0, if one is known: also of a number of blocks."""
    match e:
        case ir.Call("floordiv", (a, ir.Const(by))) if by > 0:
            most = _max_value(a, values)
            return None if most is None else most // int(by)
        case ir.Call("add", (a, ir.Const(more))):
            most = _max_value(a, values)
            return None if most is None else max(most + int(more), 0)
        case ir.Call("sub", (a, b)):
            return constant_max_trips(ir.Interval(b, a), values)
        case _:
            return constant_max_trips(ir.Interval(index_const(0), e), values)


def _max_work(loop: _Loop, values: _Values) -> float | None:
    """The time that a loop takes at most, in additions, if that is known."""
    work, waiting = 0.0, list[tuple[ir.Node, int]]([(loop, 1)])
    while waiting:
        n, times = waiting.pop()
        if isinstance(n, ir.While):
            return None
        if isinstance(n, _Loop):
            if (trips := _max_trips(n.range, values)) is None:
                return None
            times *= trips
        work += times * (OPS[n.op].weight if isinstance(n, ir.Call) else 0)
        work += times * isinstance(n, _Loop)
        waiting += [(part, times) for part in children(n)]
    return work


def copies_of_body(n: ir.While, registers: int) -> int:
    """How often the body of a ``while`` loop, for this many registers side by side, is repeated;
    only the last copy counts down. 1 if the body is long or has loops in it.
    """
    if any(contains(part, _Loop) for part in n.body):
        return 1
    size = sum(1 for part in (*n.body, *n.accs) for _ in walk(part)) * registers
    return _BODY_COPIES if size <= _SMALL_BODY else 1


def _poll(clock: str) -> str:
    """The C statement that ends the kernel if a check has failed, or a signal handler raised."""
    return f"if (status & {_REPLAY} || TP_STOPPED(&{clock})) return status | {_REPLAY};"


def count_down(poll: Poll) -> Iterator[str]:
    """The poll at the end of an iteration of a ``while``."""
    yield f"if (__builtin_expect(!--{poll.countdown}, 0)) {{"
    yield _poll(poll.clock)
    yield f"{poll.countdown} = {poll.turns};"
    yield "}"


def poll_if_long(length: str, tally: Tally, end_chunk: str) -> str:
    """The C statement, before an inner loop (after a ``while``) over a range of this `length`, that
    adds its work to the sum. When the sum is large, the statement ends the chunk of the loop
    around, which then polls (``end_chunk``: the C for that); with an empty ``end_chunk`` it polls.
    """
    trips = length if tally.step == 1 else f"{length} / {tally.step}"
    work = f"{trips} * {tally.work}" + (f" + {tally.once}" if tally.once else "")
    is_long = f"__builtin_expect({length} > {tally.least * tally.step}, 0)"
    is_due = f"{is_long} && TP_IS_DUE({_TALLY}.turns += {work}, {_TALLY})"
    return f"if ({is_due}) {end_chunk or _poll(_TALLY)}"


def chunk_start(
    i: str, end: str, stop: str, step: int, poll: Poll, *, whole: bool = False
) -> Iterator[str]:
    """The line before the loop over one chunk, which runs from `i` to `stop`: it sets `stop`.
    ``whole``: the last chunk ends after a whole number of steps, maybe before `end`.
    """
    size = poll.turns + (f" * {abs(step)}" if abs(step) != 1 else "")
    left = f"(uint64_t){end} - (uint64_t){i}" if step > 0 else f"(uint64_t){i} - (uint64_t){end}"
    further = f"{i} {'+' if step > 0 else '-'} {size}"
    last = f"{i} + (int64_t)(({left}) / {step} * {step})" if whole else end
    yield f"int64_t {stop} = {left} > (uint64_t)({size}) ? {further} : {last};"


def chunk_end(more: str, poll: Poll) -> Iterator[str]:
    """The lines after the loop over one chunk: they poll if there are more chunks, by the C
    condition `more`.
    """
    yield f"if (__builtin_expect(!({more}), 1)) break;"
    yield _poll(poll.clock)
    yield "}"
