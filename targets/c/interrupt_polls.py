"""Interrupt polls: where a kernel looks whether a signal, such as Ctrl-C, has come (`stop.h`).

- ``chunks``: an outermost loop without counted loops in it is split into chunks of iterations, and
  polls between two of them, so that its body stays as it is::

      for (int64_t i = 0, i_end = n; i < i_end;) {
          const int64_t i_stop = (uint64_t)i_end - (uint64_t)i > 8192 ? i + 8192 : i_end;
          for (; i < i_stop; i += 1) {
              …
          }
          if (i < i_end && tp_poll(&tp_polling)) return status | 16;
      }

- ``turns``: a loop that contains counted loops polls at the end of some iterations: the countdown
  ``tp_turns`` is set so that the clock is read every few milliseconds.
- ``while``: a ``while`` loop polls in each 4096th iteration.

Not polled: an innermost counted loop of a nest; a loop of few iterations (`_SHORT`); a scan in
vector registers, whose arrays do not fit into memory before it takes long. A kernel that is stopped
returns the status of a replay; its caller then raises the exception of the signal handler.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from loopir import nodes as ir
from loopir.analysis.loop_set import constant_max_trips
from loopir.ir_traversal import contains
from loopir.op_table import STATUS

__all__ = [
    "CHUNK", "CHUNK_ELEMENTS", "Polls", "chunk_end", "chunk_start", "declarations", "poll_in_nest",
    "poll_in_while", "polls_of",
]

Poll: TypeAlias = Literal["chunks", "turns", "while"]
Polls: TypeAlias = "Mapping[ir.Stmt, Poll]"
"""How each loop polls that does."""

_COUNTED = ir.Loop | ir.VecLoop | ir.PredLoop | ir.Zip | ir.Scan

CHUNK = 8192
"""Iterations of a scalar loop between two polls."""

CHUNK_ELEMENTS = 1 << 15
"""Elements of a vector loop between two polls; a multiple of every group."""

_SHORT = 1 << 14
"""Trip counts that are surely at most this need no poll."""

_STOPPED = f"return status | {STATUS['replay']};"

_FIRST_TURNS = 64
"""How many turns a kernel makes before it reads the clock for the first time."""

_WHILE_INTERVAL = 0xFFF
"""Mask of the counter of the iterations of ``while`` loops."""


def declarations(polls: Polls) -> list[str]:
    """What the function of a kernel with these polls declares."""
    kinds = {*polls.values()}
    lines = [f"tp_clock tp_polling = {{0, 0, {_FIRST_TURNS}}};"] if kinds else []
    lines += [f"int64_t tp_turns = {_FIRST_TURNS};"] if "turns" in kinds else []
    return lines + (["uint64_t tp_whiles = 0;"] if "while" in kinds else [])


def polls_of(body: Iterable[ir.Stmt]) -> Polls:
    """The loops of a kernel that poll, and how."""
    found: dict[ir.Stmt, Poll] = {}
    for s in body:
        _collect(s, found, inside=False)
    return found


def _collect(
    s: ir.Node, found: dict[ir.Stmt, Poll], *, inside: bool
) -> None:
    """Add the loops in `s`; ``inside``: it is in a loop."""
    match s:
        case ir.While():
            found[s], inside = "while", True
        case ir.Loop() | ir.VecLoop() | ir.PredLoop() | ir.Zip() | ir.Scan():
            parts = getattr(s, "body", ())
            if any(contains(part, _COUNTED) for part in parts):
                found[s] = "turns"
            elif not inside and not _is_short(s.range) and not _has_scan(parts):
                found[s] = "chunks"
            inside = True
        case ir.If(then=then, orelse=orelse):
            for part in (*then, *orelse):
                _collect(part, found, inside=inside)
            return
        case _:
            return
    for part in getattr(s, "body", ()):
        _collect(part, found, inside=inside)


def _has_scan(parts: Iterable[ir.Stmt]) -> bool:
    """Whether a vector loop has a scan in registers."""
    return any(contains(part, ir.Prefix) for part in parts)


def _is_short(rng: ir.Range) -> bool:
    """Whether the loop is known to have few iterations."""
    match rng:
        case ir.Interval():
            trips = constant_max_trips(rng, {})
            return trips is not None and trips <= _SHORT
        case ir.RangeDesc(ir.Const(lo), ir.Const(hi)):
            return abs(int(hi) - int(lo)) <= _SHORT
    return False


def poll_in_while() -> str:
    """The poll in an iteration of a ``while`` loop."""
    return f"if (!(++tp_whiles & {_WHILE_INTERVAL}) && tp_poll(&tp_polling)) {_STOPPED}"


def poll_in_nest() -> str:
    """The poll at the end of an iteration of a loop that contains loops."""
    return f"if (!--tp_turns && !(tp_turns = tp_poll_turns(&tp_polling))) {_STOPPED}"


def chunk_start(i: str, end: str, stop: str, step: int, chunk: int) -> Iterator[str]:
    """The lines before the loop over one chunk, which runs from `i` to `stop`."""
    size = chunk * abs(step)
    left = f"(uint64_t){end} - (uint64_t){i}" if step > 0 else f"(uint64_t){i} - (uint64_t){end}"
    further = f"{i} {'+' if step > 0 else '-'} {size}"
    yield f"const int64_t {stop} = {left} > {size} ? {further} : {end};"


def chunk_end(more: str) -> Iterator[str]:
    """The lines after that loop. ``more``: a condition in C, whether there are more chunks."""
    yield f"if ({more} && tp_poll(&tp_polling)) {_STOPPED}"
    yield "}"
