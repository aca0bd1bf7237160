"""Interrupt polls: where a kernel looks whether a signal, such as Ctrl-C, has come (`stop.h`).

- A counted loop is split into chunks of iterations, and polls between two of them, so that its body
  has no more instructions than it would have::

      int64_t i = 0, i_end = n;
      if (i < i_end) for (;;) {
          const int64_t i_stop = (uint64_t)i_end - (uint64_t)i > 65536 ? i + 65536 : i_end;
          for (; i < i_stop; i += 1) {
              …
          }
          if (__builtin_expect(i >= i_end, 1)) break;
          if (TP_STOPPED(&tp_clock_0)) return status | 16;
      }

- A ``while`` loop counts its iterations down from where it is entered, and polls when none is left.
  A short body is repeated, with the condition in between, so that it counts down in some iterations
  only (`copies_of_body`).

`_add_polls` decides which loops poll: each loop except

- one that does little work in every call;
- one of few iterations around other loops, which poll;
- an inner loop that has at most as many iterations as an array that it goes through has elements
  (`_bounding_arrays`). The loop around it polls, and does so after its first iteration already if
  the array is large.

The length of a chunk: of an innermost loop, `INNERMOST` iterations, which take a few milliseconds
at most. A loop around others starts with chunks of `NEST` iterations, or of fewer if each iteration
may take long: loops in it poll, or go through arrays of unknown sizes. From then on its clock
(`tp_clock` of ``stop.h``) sets the length, so that a chunk takes some milliseconds (`is_early` of
``signals.c``, which also asks Python at most every 50 ms).

The C compiler is told that a chunk is the last one (``__builtin_expect``), as it nearly always is:
it then gives registers to what the loop computes, and not to the counters of chunks. A kernel that
is stopped returns the status of a replay; its caller then raises the exception of the signal
handler (`targets/abi/signal_checks.py`).
"""
from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from loopir import nodes as ir
from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import affine_form
from loopir.analysis.loop_set import constant_max_trips, max_trips
from loopir.ir_traversal import children, contains, walk
from loopir.lazy_dataclass import record, replace
from loopir.op_table import OPS, STATUS

__all__ = [
    "Poll", "Polls", "chunk_end", "chunk_start", "copies_of_body", "declarations",
    "count_down", "polls_in", "polls_of",
]

_Counted: TypeAlias = ir.Loop | ir.VecLoop | ir.PredLoop | ir.Zip | ir.Scan
_Loop: TypeAlias = _Counted | ir.While
_Values: TypeAlias = "Mapping[str, ir.Expr]"
"""The values of names that are bound once."""


@record(frozen=True, slots=True)
class Poll:
    """How a loop polls."""

    clock: str
    """The name of its clock in C."""
    chunk: int
    """How many iterations (groups of lanes in a vector loop) it makes before the first look."""
    is_timed: bool
    """Whether the clock sets how many it makes before further looks (else always ``chunk``)."""
    arrays: tuple[str, ...] = ()
    """The arrays whose sizes bound the loops in it that do not poll."""

    @property
    def countdown(self) -> str:
        """The number of iterations of a ``while`` before the next look, in C."""
        return f"{self.clock}_left"

    @property
    def turns(self) -> str:
        """The number of iterations between two looks, in C."""
        return f"{self.clock}.turns" if self.is_timed else str(self.chunk)


Polls: TypeAlias = "Mapping[ir.Stmt, Poll]"
"""The loops that poll."""

INNERMOST, NEST, OUTER = 1 << 16, 1 << 6, 1 << 2
"""Iterations before the first poll: of an innermost loop, of a loop around others that do not poll,
and of one around loops that do. A call with shorter loops never polls, which would take 20 ns."""

_FEW_ITERATIONS = 1 << 4
"""A loop around others that surely has at most so many iterations does not poll: those in it do."""

_LITTLE_WORK = 1 << 20
"""A loop that surely takes at most the time of so many additions, with the loops in it, does not
poll: it ends within a millisecond."""

_HEAVY_BODY = 16
"""Cycles of an iteration from which on a loop over a large array takes long, and so polls."""

_CHEAP_WEIGHT = 2
"""The weight (`Op.weight`) up to which a core completes several such operations in a cycle."""

_LARGE_LOG2 = 17
"""Arrays of 2 to this power elements are large: an iteration over one takes up to a millisecond."""

_STOPPED = f"return status | {STATUS['replay']};"

_BODY_COPIES, _SMALL_BODY = 4, 64
"""How often a short body of a ``while`` loop is repeated, and how many nodes it has at most."""


def declarations(polls: Polls, params: Sequence[ir.Param]) -> list[str]:
    """The lines of C that declare the clocks of a kernel with these polls and parameters. Only the
    fields that are read before they are set are initialised: others would slow down short calls.
    """
    described = [p for p in params if p.rank is not None]
    sizes = {
        p.name: " * ".join(f"arrays[{k}].dims[{axis}]" for axis in range(p.rank or 0))
        for k, p in enumerate(described)
    }
    lines = []
    for poll in polls.values():
        lines += [f"tp_clock {poll.clock};", f"{poll.clock}.read = 0;"]
        if poll.is_timed:
            large = " | ".join(size for a in poll.arrays if (size := sizes.get(a)))
            first = f"({large}) >> {_LARGE_LOG2} ? 1 : {poll.chunk}" if large else str(poll.chunk)
            if any(a not in sizes for a in poll.arrays):
                first = "1"
            lines.append(f"{poll.clock}.turns = {first};")
    return lines


def polls_in(polls: Polls, text: str) -> Polls:
    """Those of `polls` whose clocks the C code `text` names, each clock once."""
    by_clock = {poll.clock: (loop, poll) for loop, poll in polls.items()}
    named = set(re.findall(r"tp_clock_\d+", text))
    return dict(pair for clock, pair in by_clock.items() if clock in named)


def polls_of(body: Iterable[ir.Stmt]) -> Polls:
    """The loops of a kernel that poll, and how (`_add_polls` decides)."""
    found: dict[ir.Stmt, Poll] = {}
    body = tuple(body)
    assigns = [n for s in body for n in walk(s) if isinstance(n, ir.Assign)]
    counts = Counter(n.name for n in assigns)
    values = {n.name: n.value for n in assigns if counts[n.name] == 1}
    _add_polls_of_body(body, found, values, inside=False)
    return found


def _add_polls(
    s: ir.Node, found: dict[ir.Stmt, Poll], values: _Values, *, inside: bool, registers: int
) -> tuple[str, ...]:
    """Add to `found` the loops in `s` that poll; ``inside``: `s` is in a loop; ``registers``: how
    many an iteration of the vector loops around it computes side by side. Returns the arrays whose
    sizes bound the loops that do not poll: the loop around them polls early if one is large.

    This is where it is decided whether a loop polls: it must be able to take long, and the loop
    around it must not poll often enough by itself.

        for i in range(n):                 polls: n is known only at run time
            for k in range(3): …           does not: little work
            for j in range(m): s += x[j]   does not: in a loop, and as long as x at most
    """
    match s:
        case ir.While() | ir.Loop() | ir.VecLoop() | ir.PredLoop() | ir.Zip() | ir.Scan():
            parts: Iterable[ir.Node] = getattr(s, "body", ())
            has_loops = any(contains(part, _Loop) for part in parts)
            work = _max_work(s, values)
            if work is not None and work <= _LITTLE_WORK:
                return ()  # with the loops in it, it surely ends within a millisecond
            if has_loops and _has_few_iterations(s, values):
                each = registers * _registers(s)
                return _add_polls_of_body(parts, found, values, inside=inside, registers=each)
            if inside and (arrays := _bounding_arrays(s, values, registers)):
                return arrays  # it takes no longer than one pass over an array
            poll = Poll(f"tp_clock_{len(found)}", NEST if has_loops else INNERMOST, has_loops)
            if s not in found:
                found[s] = poll  # before its body: clocks are numbered from outside to inside
                before, each = len(found), registers * _registers(s)
                arrays = _add_polls_of_body(parts, found, values, registers=each)
                chunk = poll.chunk if len(found) == before else OUTER
                found[s] = replace(poll, arrays=arrays, chunk=chunk)
            return ()
        case ir.If(then=then, orelse=orelse):
            parts = *then, *orelse
            return _add_polls_of_body(parts, found, values, inside=inside, registers=registers)
        case _:
            return ()


def _add_polls_of_body(
    body: Iterable[ir.Node], found: dict[ir.Stmt, Poll], values: _Values, *, inside: bool = True,
    registers: int = 1,
) -> tuple[str, ...]:
    """As `_add_polls`, for the statements of a body."""
    arrays = (_add_polls(s, found, values, inside=inside, registers=registers) for s in body)
    return tuple(dict.fromkeys(name for names in arrays for name in names))


def _registers(loop: _Loop) -> int:
    """How many registers one iteration of a loop computes side by side."""
    match loop:
        case ir.VecLoop(width=int(width), group=int(group)) | ir.PredLoop(
            width=int(width), group=int(group)
        ):
            return max(1, group // width)
        case _:
            return 1


def _bounding_arrays(loop: _Loop, values: _Values, registers: int) -> tuple[str, ...]:
    """The arrays that bound the number of iterations of `loop`, or of the nest that it is: each
    iteration accesses an element that no other one accesses, so that there are no more iterations
    than elements. Empty if there is no such array, or if an iteration takes long, since the loops
    around it run it for each of their `registers`.
    """
    calls = (n for n in walk(loop) if isinstance(n, ir.Call))
    is_heavy = sum(map(_cost, calls)) * registers >= _HEAVY_BODY
    return () if is_heavy else _traversed_arrays(loop, {}, values)


def _cost(n: ir.Call) -> float:
    """The time of an operation, in cycles: a core completes about four of the cheap ones in one."""
    weight = OPS[n.op].weight
    return weight if weight > _CHEAP_WEIGHT else weight / 4


def _traversed_arrays(
    loop: _Loop, around: Mapping[str, _Counted], values: _Values,
    blocks: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """The arrays of `_bounding_arrays`, for a loop inside of those over the variables `around`.

    Each of these variables and that of the loop must have a dimension of the array for itself
    (`_traversed_array`). Left out are variables of loops with few iterations, and of a loop over
    blocks (`blocks`) whose inner loop runs over one block: together they go through the array once,
    unless the index counts from the start of a block. The variable of a ``while`` is a counter
    (`_counters`).
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

    Accesses in a branch do not count, unless its condition is one that the loop checks.
    """
    parts = children(loop)
    checked = [part.cond for part in parts if isinstance(part, ir.Check)]
    parts = tuple(s for s in parts if not isinstance(s, ir.If) or s.cond in checked)
    nodes = [n for part in parts for n in walk(part)]
    values = {n.name: n.value for n in nodes if isinstance(n, ir.Assign)}
    ops = _INJECTIVE if isinstance(loop, ir.While) else _INJECTIVE | _OF_CHECKS
    for n in nodes:
        if isinstance(n, ir.Load | ir.Store):
            among = {*names, *blocks}
            subscripts = {_computed_from(part, values, ops) & among for part in n.index}
            if all({name} in subscripts for name in names):
                return (n.array,)
    return ()


_INJECTIVE = frozenset(("add", "sub", "mul"))
_OF_CHECKS = frozenset(("select", "lt", "le", "gt", "ge", "and"))
"""Operations by which an index differs in each iteration, and those that a check of the index adds,
which ends a loop whose end is not known before."""


def _counters(loop: ir.While) -> Iterator[str]:
    """The accumulators that each iteration of a loop changes by a constant."""
    values = {n.name: n.value for n in loop.body if isinstance(n, ir.Assign)}
    for acc in loop.accs:
        step = values.get(acc.step.name) if isinstance(acc.step, ir.Var) else acc.step
        match step:
            case ir.Call("add" | "sub", (ir.Var(name), ir.Const(by))) if name == acc.name and by:
                yield acc.name


def _without_blocks(
    around: Mapping[str, _Counted], loop: _Loop, values: _Values
) -> Mapping[str, _Counted]:
    """The loops `around` without those over blocks, if `loop` runs over one block of theirs: it
    starts where their variables say, and has no more iterations than their steps leave room for.
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
    """The loops in `n` that are in no other loop in it."""
    for part in children(n):
        if isinstance(part, _Loop):
            yield part
        elif contains(part, _Loop):
            yield from _loops_directly_in(part)


def _computed_from(
    index: ir.Expr, values: Mapping[str, ir.Expr], ops: Collection[str]
) -> frozenset[str]:
    """The names that an index is computed from; none if it is by memory or by other operations.
    ``values``: those of other names.
    """
    names, waiting = set[str](), [index]
    while waiting:
        for n in walk(waiting.pop()):
            if isinstance(n, ir.Load) or (isinstance(n, ir.Call) and n.op not in ops):
                return frozenset()
            if isinstance(n, ir.Var) and n.name not in names:
                names.add(n.name)
                waiting += [values[n.name]] if n.name in values else []
    return frozenset(names)


def _has_few_iterations(loop: _Loop, values: _Values) -> bool:
    """Whether a loop surely has few iterations."""
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
    """How often the body of a ``while`` loop over so many registers side by side is repeated; only
    the last copy counts down. 1 if the body is long or has loops in it.
    """
    if any(contains(part, _Loop) for part in n.body):
        return 1
    size = sum(1 for part in (*n.body, *n.accs) for _ in walk(part)) * registers
    return _BODY_COPIES if size <= _SMALL_BODY else 1


def count_down(poll: Poll) -> Iterator[str]:
    """The poll at the end of an iteration of a ``while``."""
    yield f"if (__builtin_expect(!--{poll.countdown}, 0)) {{"
    yield f"if (TP_STOPPED(&{poll.clock})) {_STOPPED}"
    yield f"{poll.countdown} = {poll.turns};"
    yield "}"


def chunk_start(
    i: str, end: str, stop: str, step: int, poll: Poll, *, whole: bool = False
) -> Iterator[str]:
    """The lines before the loop over one chunk, which runs from `i` to `stop`; ``whole``: after a
    whole number of steps.
    """
    size = poll.turns + (f" * {abs(step)}" if abs(step) != 1 else "")
    left = f"(uint64_t){end} - (uint64_t){i}" if step > 0 else f"(uint64_t){i} - (uint64_t){end}"
    further = f"{i} {'+' if step > 0 else '-'} {size}"
    last = f"{i} + (int64_t)(({left}) / {step} * {step})" if whole else end
    yield f"const int64_t {stop} = {left} > (uint64_t)({size}) ? {further} : {last};"


def chunk_end(more: str, poll: Poll) -> Iterator[str]:
    """The lines after that loop. ``more``: a condition in C, whether there are more chunks."""
    yield f"if (__builtin_expect(!({more}), 1)) break;"
    yield f"if (TP_STOPPED(&{poll.clock})) {_STOPPED}"
    yield "}"
