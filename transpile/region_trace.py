"""Region trace: ``TRANSPILE_DEBUG=time`` prints how the parallel loops of each kernel were run.

At the end of the process, a line for each loop that the thread pool has run and timed::

    # dot, line 6: 118 runs by several threads, 2 by one; the last: 2 threads, 8 chunks,
      estimate 24 µs by one thread, taken 13 µs

The library of a kernel numbers its regions, and does not know their lines. If `c_regions` has made
a region of each parallel loop of the kernel, the k-th region is the k-th loop, which has a line.
Otherwise the lines are not known, and are left out.
"""
from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from loopir.analysis.parallelism import parallel_loops
from loopir.nodes import Kernel
from targets.abi.pool_control import RegionRuns, region_runs
from targets.build.build_errors import BuildError
from targets.build.shared_library import SharedLibrary

__all__ = ["trace_regions"]

_traced: list[tuple[str, SharedLibrary, Sequence[int | None]]] = []
"""The name of each function, the library of its kernel, and the lines of its parallel loops."""


def trace_regions(name: str, library: SharedLibrary, kernel: Kernel) -> None:
    """At the end of the process, print how the parallel loops of `kernel`, which was loaded from
    `library`, were run. `name`: that of the function.
    """
    loops = [*parallel_loops(kernel)]
    if not loops:
        return
    if not _traced:
        atexit.register(_print_all)
    region_runs()
    _traced.append((name, library, [n.span.line if n.span else None for n in loops]))


def _print_all() -> None:
    for name, library, lines in _traced:
        for row in _rows(name, library, lines):
            print(row, file=sys.stderr)


def _rows(name: str, library: SharedLibrary, lines: Sequence[int | None]) -> Iterator[str]:
    """A row for each region that was run; ``lines``: of all parallel loops of the kernel."""
    rates = [*_rates(library, len(lines))]
    are_all_regions = len(rates) == len(lines)
    for rate, line in zip(rates, lines, strict=False):
        if (runs := region_runs(rate)) is not None:
            place = f", line {line}" if are_all_regions and line is not None else ""
            yield f"# {name}{place}: {_sentence(runs)}"


def _rates(library: SharedLibrary, most: int) -> Iterator[int]:
    """The addresses of ``tp_rate_0``, ``tp_rate_1``, … in `library`, of which there are at most
    ``most``.
    """
    with suppress(BuildError):  # there are no more
        for number in range(most):
            yield library.address(f"tp_rate_{number}")


def _sentence(runs: RegionRuns) -> str:
    return (
        f"{runs.parallel} runs by several threads, {runs.alone} by one; the last: "
        f"{runs.threads} threads, {runs.chunks} chunks, estimate {runs.expected / 1000:.0f} µs by "
        f"one thread, taken {runs.taken / 1000:.0f} µs"
    )
