"""Times regions of the thread pool against serial calls, with spinning and sleeping workers.

    python -m tests.bench.thread_pool [--busy] [--rounds 5]

A line for each amount of work: the serial time of a call, and the speed-up by the pool, back to
back and with pauses after which the workers sleep. ``--busy``: another process keeps a core busy.
Medians of calls, both kinds in turn; the best round counts.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from pool_harness import times

LENGTHS = (100, 300, 600, 1_000, 2_000, 4_000, 8_000, 16_000, 64_000, 512_000)
IDLE = 500
"""Microseconds between calls for which the workers are to be asleep."""


def cpu_name() -> str:
    """The model of the CPU, and how many this process may use."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{names[0] if names else os.uname().machine}, {len(os.sched_getaffinity(0))} CPUs"


def medians(length: int, idle: int, rounds: int) -> tuple[float, float]:
    """The time of a serial and of a pooled call, in microseconds, and of these the best ratio."""
    calls = max(20, min(400, int(4e7 / (length * 20 + idle * 1000))))
    found: list[tuple[float, float]] = []
    for _ in range(rounds):
        serial = float(np.median(times(length, calls, idle, is_connected=False)))
        pooled = float(np.median(times(length, calls, idle, is_connected=True)))
        found.append((serial / 1000, pooled / 1000))
    ratios = [a / b for a, b in found]
    return found[int(np.argsort(ratios)[len(ratios) // 2])]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.thread_pool", description=__doc__)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    print(cpu_name(), *(("one core kept busy",) if options.busy else ()), sep=", ")
    print(f"{'serial µs':>10}{'back to back':>14}{'after a pause':>15}{'caller +µs':>12}")
    other = None
    if options.busy:
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for length in LENGTHS:
            serial, pooled = medians(length, 0, options.rounds)
            slow, paused = medians(length, IDLE, options.rounds)
            row = f"{serial:10.2f}{serial / pooled:13.2f}×{slow / paused:14.2f}×"
            print(f"{row}{paused - slow:12.2f}", flush=True)
    finally:
        if other:
            other.kill()
            other.wait()


if __name__ == "__main__":
    main()
