"""What the first calls of a process cost, with empty caches and with filled ones: ours and numba's.

    python -m tests.bench.first_call [--rounds 5] [--numba PYTHON]

Each measurement is a process of its own: it imports NumPy, imports the compiler, and calls three
functions once each. Ours and numba's take turns; each has an empty folder for its cache, and then
the one that the process before has filled. ``--numba``: the Python that has numba, if this one has
not. Times are in milliseconds of the wall clock, the least and the median of all rounds.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

__all__ = ["main"]

HOUSE = Path(__file__).resolve().parents[2]

PROGRAM = '''
import json, sys, time
import numpy as np

times = [time.perf_counter()]
{imported}
times.append(time.perf_counter())

{decorator}
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s

{decorator}
def stencil(x, y):
    out = np.empty(len(x))
    for i in range(1, len(x)):
        if x[i] > y[i]:
            out[i] = x[i - 1] + y[i]
        else:
            out[i] = 0.5
    return out

{decorator}
def doubled(x):
    return [v * 2 for v in x if v > 0.5]

x = np.random.default_rng(1).random(100)
numbers = x.tolist()
times.append(time.perf_counter())
first = total(x)
times.append(time.perf_counter())
stencil(x, x)
times.append(time.perf_counter())
doubled(numbers)
times.append(time.perf_counter())
assert abs(first - (x * x).sum()) < 1e-9
gaps = [1e3 * (b - a) for a, b in zip(times, times[1:])]
print(json.dumps([gaps[0], gaps[2], (gaps[3] + gaps[4]) / 2]))
'''
"""It prints the milliseconds of the import, of the first call, and of one of the two further calls.
"""

TOOLS: Mapping[str, tuple[str, str]] = {
    "transpile": ("from transpile import fuse", "@fuse"),
    "numba": ("from numba import njit", "@njit(cache=True)"),
}
"""For each compiler, its import and its decorator."""

STEPS = ("import", "first call", "a further one", "import and first call")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.first_call", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--numba", default=sys.executable, metavar="PYTHON")
    options = parser.parse_args(argv)
    pythons = {"transpile": sys.executable, "numba": options.numba}
    if not _has_numba(options.numba):
        del pythons["numba"]
    found: dict[tuple[str, str, str], list[float]] = {}
    for _ in range(options.rounds):
        for tool, python in pythons.items():
            for cache, times in _of_one_round(tool, python):
                for step, taken in zip(STEPS, (*times, times[0] + times[1]), strict=True):
                    found.setdefault((cache, step, tool), []).append(taken)
    print(f"{'cache':8}{'':24}" + "".join(f"{tool:>12}{'median':>9}" for tool in pythons))
    for cache in ("empty", "filled"):
        for step in STEPS:
            columns = (found[cache, step, tool] for tool in pythons)
            cells = (f"{min(c):12.1f}{statistics.median(c):9.1f}" for c in columns)
            print(f"{cache:8}{step:24}" + "".join(cells))


def _of_one_round(tool: str, python: str) -> Iterator[tuple[str, list[float]]]:
    """The times of a process with an empty cache, and of one with the cache that it has filled."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        imported, decorator = TOOLS[tool]
        program.write_text(PROGRAM.format(imported=imported, decorator=decorator))
        caches = {"TRANSPILE_CACHE": folder, "NUMBA_CACHE_DIR": folder}
        environment = {**os.environ, **caches, "PYTHONPATH": str(HOUSE)}
        for cache in ("empty", "filled"):
            ran = subprocess.run(
                (python, "-W", "ignore", str(program)), env=environment, check=True,
                capture_output=True, text=True,
            )
            yield cache, json.loads(ran.stdout)


def _has_numba(python: str) -> bool:
    """Whether `python` can import numba. This also writes its bytecode."""
    asked = subprocess.run((python, "-c", "import numba"), check=False, capture_output=True)
    return asked.returncode == 0


if __name__ == "__main__":
    main()
