"""Times regions of the thread pool against serial calls, with spinning and sleeping workers.

    python -m tests.bench.thread_pool [--busy] [--openmp] [--rounds 5] [--simulate]

A line for each amount of work: the serial time of a call, and the speed-up by the pool, back to
back and with pauses after which the workers sleep. ``--busy``: another process keeps a core busy.
``--openmp``: the speed-ups of the same loop by the C compiler's OpenMP, too (its workers spin for
milliseconds after a region, unless ``OMP_WAIT_POLICY=passive`` is set).
Medians of calls, both kinds in turn; the median round counts. ``--simulate`` shows instead what the
rules of the pool give on 2 to 64 CPUs, from assumed costs of waking and claiming.
"""
from __future__ import annotations

import argparse
import heapq
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from pool_harness import openmp_times, times

LENGTHS = (100, 300, 600, 1_000, 2_000, 4_000, 8_000, 16_000, 64_000, 512_000)
IDLE = 500
"""Microseconds between calls for which the workers are to be asleep."""


def cpu_name() -> str:
    """The model of the CPU, and how many this process may use."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{names[0] if names else os.uname().machine}, {len(os.sched_getaffinity(0))} CPUs"


def medians(length: int, idle: int, rounds: int, *, openmp: bool) -> tuple[float, float, float]:
    """The time of a serial call in microseconds; those of a call by the pool, and by OpenMP (NaN
    without ``openmp``). Of the rounds, the one with the median speed-up by the pool.
    """
    # long enough that a pause of the pool after a stall of the machine (`DEBT`) is a small part
    calls = max(20, min(4000, int(1e8 / (length * 20 + idle * 1000))))
    threads = len(os.sched_getaffinity(0))
    found: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        serial = float(np.median(times(length, calls, idle, is_connected=False)))
        pooled = float(np.median(times(length, calls, idle, is_connected=True)))
        theirs = float(np.median(openmp_times(length, calls, idle, threads))) if openmp else np.nan
        found.append((serial / 1000, pooled / 1000, theirs / 1000))
    ratios = [serial / pooled for serial, pooled, _ in found]
    return found[int(np.argsort(ratios)[len(ratios) // 2])]


CORES = (2, 4, 8, 16, 32, 64)
WORKS = (10, 30, 100, 300, 1_000, 10_000, 100_000)
"""Microseconds of serial work."""

WAKE, LATE, SPIN, CLAIM = 1.0, 15.0, 0.3, 0.06
"""Assumed microseconds: for which waking one worker keeps the caller, until a worker that was woken
begins, or one that spins, and for which one claim of a chunk keeps the others from claiming."""


def chosen_threads(work: float, cores: int, *, asleep: bool) -> int:
    """The number of threads that `choose_threads` of the pool takes for so many microseconds."""
    pays, more = (60, 6) if asleep else (8, 4)
    threads = 1
    while work >= pays and threads < cores and work >= more * threads * (threads + 1):
        threads += 1
    return threads


def chunk_count(work: float, threads: int, *, uneven: bool) -> int:
    """The number of chunks that `divide` of the pool makes."""
    each = 16 if uneven else min(16.0, max(4.0, work / 15 / threads))
    return max(1, int(min(each * threads, max(threads, work / 2.5))))


def simulated(chunks: Sequence[float], threads: int, *, asleep: bool) -> float:
    """The microseconds of a region whose chunks take so long each, claimed in order by whoever is
    free; a thread that would begin after the last claim takes no part.
    """
    caller = WAKE * (threads - 1) if asleep else 0.0
    begins = [(LATE + WAKE * k if asleep else SPIN, k) for k in range(1, threads)]
    free = [(caller, 0), *begins]
    heapq.heapify(free)
    counter = ended = 0.0
    for time in chunks:
        now, thread = heapq.heappop(free)
        counter = max(now, counter) + (CLAIM if threads > 1 else 0)
        ended = max(ended, counter + time)
        heapq.heappush(free, (counter + time, thread))
    return max(ended, caller)


def simulate() -> None:
    """Print the speed-ups that the pool's rules give."""
    for asleep in (False, True):
        for uneven in (False, True):
            kinds = "sleeping" if asleep else "spinning", "a triangle" if uneven else "even work"
            print(f"\nworkers {kinds[0]}, {kinds[1]}")
            print(f"{'serial µs':>10}" + "".join(f"{c:>9}" for c in CORES))
            for work in WORKS:
                cells = []
                for cores in CORES:
                    threads = chosen_threads(work, cores, asleep=asleep)
                    count = chunk_count(work, threads, uneven=uneven)
                    parts = np.arange(1.0, count + 1) if uneven else np.ones(count)
                    took = simulated(parts * (work / parts.sum()), threads, asleep=asleep)
                    cells.append(f"{work / took:6.1f}×{'':2}")
                print(f"{work:10}" + "".join(cells))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.thread_pool", description=__doc__)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--openmp", action="store_true")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    if options.simulate:
        simulate()
        return
    print(cpu_name(), *(("one core kept busy",) if options.busy else ()), sep=", ")
    head = f"{'serial µs':>10}{'back to back':>14}{'after a pause':>15}{'caller +µs':>12}"
    print(head + (f"{'OpenMP':>10}{'after a pause':>15}" if options.openmp else ""))
    other = None
    if options.busy:
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for length in LENGTHS:
            serial, pooled, theirs = medians(length, 0, options.rounds, openmp=options.openmp)
            slow, paused, late = medians(length, IDLE, options.rounds, openmp=options.openmp)
            row = f"{serial:10.2f}{serial / pooled:13.2f}×{slow / paused:14.2f}×"
            row += f"{paused - slow:12.2f}"
            further = f"{serial / theirs:9.2f}×{slow / late:14.2f}×" if options.openmp else ""
            print(row + further, flush=True)
    finally:
        if other:
            other.kill()
            other.wait()


if __name__ == "__main__":
    main()
