"""Interrupt polls: where a kernel looks whether a signal, such as Ctrl-C, has come (`stop.h`).

- An innermost counted loop is split into chunks of iterations, and polls between two of them, so
  that its body has no more instructions than it would have::

      for (int64_t i = 0, i_end = n; i < i_end;) {
          const int64_t i_stop = (uint64_t)i_end - (uint64_t)i > tp_clock_0.turns ? … : i_end;
          for (; i < i_stop; i += 1) {
              …
          }
          if (i < i_end && TP_STOPPED(&tp_clock_0)) return status | 16;
      }

- A ``while`` loop, and a loop that contains loops, counts its iterations down, and polls when none
  is left. A short body of a ``while`` loop is repeated, with the condition in between, so that it
  counts down in some iterations only (`copies_of_body`).

Each loop has a clock of its own, which sets the number of iterations by the time that they take:
some milliseconds, but at most so many that loops inside of loops together do not take long. Loops
that are known to be short are left as they are, and so are innermost loops in others that end
before long (`_is_brief`): of these the loops around poll. A kernel that is stopped returns the
status of a replay; its caller then raises the exception of the signal handler.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from loopir import nodes as ir
from loopir.analysis.loop_set import constant_max_trips
from loopir.ir_names import used_names
from loopir.ir_traversal import contains, walk
from loopir.lazy_dataclass import record, replace
from loopir.op_table import OPS, STATUS

__all__ = [
    "Poll", "Polls", "chunk_end", "chunk_start", "copies_of_body", "declarations",
    "count_down", "polls_of",
]

_LOOPS = ir.Loop | ir.VecLoop | ir.PredLoop | ir.Zip | ir.Scan | ir.While


@record(frozen=True, slots=True)
class Poll:
    """How a loop polls."""

    clock: str
    """The name of its clock in C."""
    first: int
    """How many iterations (groups of lanes in a vector loop) it makes before the first look."""
    most: int
    """How many between two looks, at most."""
    counts_down: bool
    """Whether it counts its iterations down; else it is split into chunks."""

    in_memory: bool = False
    """Whether the number of iterations before the next look is kept in the clock."""

    @property
    def countdown(self) -> str:
        """The number of iterations before the next look, in C."""
        return f"{self.clock}.left" if self.in_memory else f"{self.clock}_left"


Polls: TypeAlias = "Mapping[ir.Stmt, Poll]"
"""The loops that poll."""

INNERMOST, NEST = (1 << 13, 1 << 16), (1 << 6, 1 << 12)
"""Iterations before the first look, and at most between two, of a loop without and with others in
it.
"""

_MANY, _FEW = 1 << 14, 1 << 4
"""Trip counts that are surely at most this need no poll, of a loop without and with others in it.
"""

_STOPPED = f"return status | {STATUS['replay']};"

_IN_REGISTERS = 12
"""Of more countdowns none is a variable of its own: there are too few registers, and the C compiler
takes up to a quarter longer to find that out."""

_COPIES, _SMALL = 4, 64
"""How often the body of a ``while`` loop is repeated, and of how many nodes it is at most."""


def declarations(polls: Polls) -> list[str]:
    """What the function of a kernel with these polls declares."""
    lines = []
    for poll in polls.values():
        left = f", {poll.first}" if poll.in_memory else ""
        lines.append(f"tp_clock {poll.clock} = {{0, 0, {poll.first}, {poll.most}{left}}};")
        if poll.counts_down and not poll.in_memory:
            lines.append(f"int64_t {poll.countdown} = {poll.first};")
    return lines


def polls_of(body: Iterable[ir.Stmt]) -> Polls:
    """The loops of a kernel that poll, and how."""
    found: dict[ir.Stmt, Poll] = {}
    for s in body:
        _collect(s, found, inside=False)
    if len(found) > _IN_REGISTERS:
        return {s: replace(poll, in_memory=True) for s, poll in found.items()}
    return found


def _collect(s: ir.Node, found: dict[ir.Stmt, Poll], *, inside: bool) -> None:
    """Add the loops in `s`; ``inside``: it is in a loop."""
    parts: Iterable[ir.Node] = getattr(s, "body", ())
    match s:
        case ir.While() | ir.Loop() | ir.VecLoop() | ir.PredLoop() | ir.Zip() | ir.Scan():
            has_loops = any(contains(part, _LOOPS) for part in parts)
            counts_down = has_loops or isinstance(s, ir.While)
            few = _FEW if has_loops else _MANY
            is_short = not isinstance(s, ir.While) and _trips_at_most(s.range, few)
            if not is_short and (counts_down or not (inside and _is_brief(s))):
                first, most = NEST if has_loops else INNERMOST
                found.setdefault(s, Poll(f"tp_clock_{len(found)}", first, most, counts_down))
            inside = True
        case ir.If(then=then, orelse=orelse):
            parts = (*then, *orelse)
        case _:
            return
    for part in parts:
        _collect(part, found, inside=inside)


def _is_brief(loop: ir.Stmt) -> bool:
    """Whether a loop does little in an iteration, and reads or writes another element in each: then
    it ends before long, since memory does.
    """
    var, nodes = getattr(loop, "var", ""), [*walk(loop)]
    accesses = (n for n in nodes if isinstance(n, ir.Load | ir.Store))
    is_bounded = isinstance(loop, ir.Zip | ir.Scan) or any(
        var in used_names(*access.index) for access in accesses
    )
    return is_bounded and sum(OPS[n.op].weight for n in nodes if isinstance(n, ir.Call)) < _HEAVY


_HEAVY = 30
"""The cost of an iteration, in additions, from which a loop over a large array takes long."""


def _trips_at_most(rng: ir.Range, most: int) -> bool:
    """Whether the loop surely has no more iterations."""
    match rng:
        case ir.Interval():
            trips = constant_max_trips(rng, {})
            return trips is not None and trips <= most
        case ir.RangeDesc(ir.Const(lo), ir.Const(hi)):
            return abs(int(hi) - int(lo)) <= most
    return False


def copies_of_body(n: ir.While, registers: int) -> int:
    """How often the body of a ``while`` loop over so many registers side by side is repeated."""
    if any(contains(part, _LOOPS) for part in n.body):
        return 1
    size = sum(1 for part in (*n.body, *n.accs) for _ in walk(part)) * registers
    return _COPIES if size <= _SMALL else 1


def count_down(poll: Poll) -> Iterator[str]:
    """The poll at the end of an iteration of a loop that counts down."""
    yield f"if (!--{poll.countdown}) {{"
    yield f"if (TP_STOPPED(&{poll.clock})) {_STOPPED}"
    yield f"{poll.countdown} = {poll.clock}.turns;"
    yield "}"


def chunk_start(i: str, end: str, stop: str, step: int, poll: Poll) -> Iterator[str]:
    """The lines before the loop over one chunk, which runs from `i` to `stop`."""
    size = poll.clock + ".turns" + (f" * {abs(step)}" if abs(step) != 1 else "")
    left = f"(uint64_t){end} - (uint64_t){i}" if step > 0 else f"(uint64_t){i} - (uint64_t){end}"
    further = f"{i} {'+' if step > 0 else '-'} {size}"
    yield f"const int64_t {stop} = {left} > (uint64_t)({size}) ? {further} : {end};"


def chunk_end(more: str, poll: Poll) -> Iterator[str]:
    """The lines after that loop. ``more``: a condition in C, whether there are more chunks."""
    yield f"if ({more} && TP_STOPPED(&{poll.clock})) {_STOPPED}"
    yield "}"
