"""Times every case by one thread and by as many as pay (``threads="auto"``), in turn.

    python -m tests.bench.threads [case …] [--sizes 64,4096] [--rounds 5] [--numba] [--real-time]

1 thread: seconds a call; auto: how many times as fast ``threads="auto"`` is, so that 1.00 is even;
two: how many times as much two processes do at once as one alone, which memory may bound;
numba: how many times as fast as numba's ``parallel=True``, with `prange` in the outermost loop, of
the cases that have it; its threads spin between calls, so that ours find no free CPU: look at auto
in a run without it. The results have the same bits, which is checked. Other work on the machine
takes the second core: look at `uptime` before, or, as root, say ``--real-time``, which takes both
CPUs from all other processes for some milliseconds at a time.
"""
from __future__ import annotations

import argparse
import math
import os
import platform
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from targets.abi import thread_pool
from transpile import fuse, threads

from . import carried, escapes, functions, integers, maps, nests, real_time
from .harness import Case, Moment, Run, measure, pretty

EVEN, AGAIN = 0.97, 8
"""What is slower by `auto` than this is measured so many times more, for other work adds to the
times of either side; the least times of all rounds count."""
FAMILIES = (maps, nests, carried, escapes, integers, functions)


def black_scholes(s, k, t, out):
    for i in range(len(s)):
        d1 = (math.log(s[i] / k[i]) + 0.17 * t[i]) / (0.5 * math.sqrt(t[i]))
        d2 = d1 - 0.5 * math.sqrt(t[i])
        n1 = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
        n2 = 0.5 * (1.0 + math.erf(d2 / math.sqrt(2.0)))
        out[i] = s[i] * n1 - k[i] * math.exp(-0.02 * t[i]) * n2


def collatz(out):
    for i in range(len(out)):
        m, steps = i + 1, 0
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            steps += 1
        out[i] = steps


def forces(p, out):
    n = len(p)
    for i in range(n):
        x, y, z = 0.0, 0.0, 0.0
        for j in range(n):
            dx, dy, dz = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2]
            r = dx * dx + dy * dy + dz * dz + 0.01
            w = 1.0 / (r * math.sqrt(r))
            x, y, z = x + w * dx, y + w * dy, z + w * dz
        out[i, 0], out[i, 1], out[i, 2] = x, y, z


def pair_distances(p, out):
    for i in range(len(p)):
        for j in range(len(p)):
            s = 0.0
            for k in range(3):
                s += (p[i, k] - p[j, k]) ** 2
            out[i, j] = math.sqrt(s)


def sum_of_ints(x):
    return x.sum()


def maximum(x):
    return x.max()


def search(x):
    for i in range(len(x)):
        if x[i] > 1.0:
            return i
    return -1


def compress(x):
    return x[x > 0.5]


def places(x):
    return np.nonzero(x > 0.5)[0]


def histogram(k, counts):
    for i in range(len(k)):
        counts[k[i]] += 1


def tallies(k):
    up, down, most = [0] * 100, [0] * 100, 0
    for v in k:
        up[v] += 1
        down[99 - v] += 1
        most = max(most, v)
    return [*up, *down, most]


def running_sum(k):
    return np.cumsum(k)


def sweeps(t, new):
    for _ in range(4):
        for i in range(1, t.shape[0] - 1):
            for j in range(1, t.shape[1] - 1):
                new[i, j] = 0.25 * (t[i - 1, j] + t[i + 1, j] + t[i, j - 1] + t[i, j + 1])
        for i in range(1, t.shape[0] - 1):
            for j in range(1, t.shape[1] - 1):
                t[i, j] = new[i, j]


def _points(n: int, dtype: str, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return rng.random((n, 3)), np.zeros((n, 3))


def _distances(n: int, dtype: str, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return rng.random((n, 3)), np.zeros((n, n))


Own = tuple[str, Callable[..., Any], Callable[..., tuple[Any, ...]], tuple[int, ...]]
FLAT = tuple(16 * 16**k for k in range(6))
OWN: tuple[Own, ...] = (
    ("Black-Scholes", black_scholes, lambda n, d, r: (*(r.random(n) + 0.5 for _ in range(3)),
                                                      np.zeros(n)), FLAT[:5]),
    ("Collatz", collatz, lambda n, d, r: (np.zeros(n, np.int64),), FLAT[:4]),
    ("forces", forces, _points, (16, 64, 256, 1024)),
    ("pair distances", pair_distances, _distances, (16, 64, 256, 1024)),
    ("sum of ints", sum_of_ints, lambda n, d, r: (r.integers(0, 9, n),), FLAT),
    ("max", maximum, lambda n, d, r: (r.random(n),), FLAT),
    ("search", search, lambda n, d, r: (r.random(n),), FLAT),
    ("compress", compress, lambda n, d, r: (r.random(n),), FLAT),
    ("nonzero", places, lambda n, d, r: (r.random(n),), FLAT),
    ("histogram", histogram, lambda n, d, r: (r.integers(0, 100, n), np.zeros(100, np.int64)),
     FLAT),
    ("tallies", tallies, lambda n, d, r: (r.integers(0, 100, n),), FLAT),
    ("cumsum of ints", running_sum, lambda n, d, r: (r.integers(0, 9, n),), FLAT),
    ("sweeps", sweeps, lambda n, d, r: (r.random((n, n)), np.zeros((n, n))), (64, 256, 1024, 4096)),
)


def cases(parts: Sequence[str]) -> Iterator[tuple[str, Any, Any, str, tuple[int, ...]]]:
    """Name, function, arguments, dtype and sizes of those whose names have one of `parts`."""
    for name, function, make, sizes in OWN:
        yield name, function, make, "float64", sizes
    for case in (c for family in FAMILIES for c in family.CASES):
        assert isinstance(case, Case)
        wide = case.make is not None and case.sizes and max(case.sizes) >= 1 << 16
        yield case.name, case.loop, case.make, case.dtypes[-1], FLAT if wide else case.sizes


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.threads", description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; all if none")
    parser.add_argument("--sizes", help="instead of those that suit each case")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--numba", action="store_true")
    parser.add_argument("--real-time", action="store_true")
    options = parser.parse_args(argv)
    if options.real_time:
        if not real_time.is_allowed():
            parser.error("this process must not have real-time priority")
        os.environ["TRANSPILE_CFLAGS"] = "-DTP_ALONE"  # the pool does not count other processes
    priority = ", real-time priority" if options.real_time else ""
    print(f"{cpu_name()}, {threads()}, load {os.getloadavg()[0]:.1f}{priority}")
    print(f"{'case':21}{'dtype':9}{'n':>9}{'1 thread':>10}{'auto':>7}{'two':>7}{'numba':>7}")
    ratios: list[float] = []
    for name, function, make, dtype, sizes in cases(options.cases):
        if options.cases and not any(part in name for part in options.cases):
            continue
        for n in map(int, options.sizes.split(",")) if options.sizes else sizes:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                args = make(n, dtype, np.random.default_rng(1))
                times = _times(
                    function, args, options.rounds, by_numba=options.numba,
                    is_real_time=options.real_time,
                )
            one, auto = times["one"], times["auto"]
            ratios.append(one / auto)
            numba = f"{times['numba'] / auto:7.2f}" if "numba" in times else ""
            columns = f"{pretty(one):>10}{one / auto:7.2f}{2 * one / times['two']:7.2f}{numba}"
            print(f"{name:21}{dtype:9}{n:9}{columns}", flush=True)
    below = sum(r < EVEN for r in ratios)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, "
          f"least {min(ratios):.2f}, {below} of {len(ratios)} below {EVEN}")


def cpu_name() -> str:
    """The name of the processor."""
    try:
        with open("/proc/cpuinfo") as file:
            names = (line.partition(":")[2].strip() for line in file if line.startswith("model n"))
            return next(names)
    except (OSError, StopIteration):
        return platform.machine()


def _times(
    function: Callable[..., Any], args: tuple[Any, ...], rounds: int, *, by_numba: bool,
    is_real_time: bool,
) -> dict[str, float]:
    """Seconds a call of each who can, in turn; after the results have been compared. ``two``: of a
    call while another process makes the same calls.
    """
    one, auto = fuse(function, threads=1, on_reject="raise"), fuse(function, on_reject="raise")
    copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    undisturbed: Moment = real_time.real_time if is_real_time else nullcontext
    results = [np.asarray(f(*given)) for f, given in zip((one, auto), copies, strict=True)]
    if thread_pool.wait_until_ready():
        with undisturbed():
            results[1] = np.asarray(auto(*args))
    assert results[0].tobytes() == results[1].tobytes(), function.__name__
    runs: dict[str, Run] = {
        "one": lambda: one(*args), "auto": lambda: auto(*args), "two": lambda: one(*args),
    }
    by_itself: dict[str, Run] = {}
    if by_numba and (loop := in_parallel(function)) is not None:
        try:
            loop(*args)
            by_itself["numba"] = lambda: loop(*args)
        except Exception as error:  # numba lacks something
            print(f"numba: {type(error).__name__}")
    with real_time.Companion(lambda: one(*copies[0]), is_real_time=is_real_time) as other:

        @contextmanager
        def beside_other() -> Iterator[None]:
            """While the other process runs, too."""
            with undisturbed(), other.running():
                yield

        moments: dict[str, Moment] = {
            "one": undisturbed, "auto": undisturbed, "two": beside_other, "numba": undisturbed,
        }
        times = measure(runs, rounds, moments)
    del runs["two"]
    for _ in range(AGAIN):
        if times["one"] >= EVEN * times["auto"]:
            break
        again = measure(runs, rounds, moments)
        times |= {name: min(times[name], took) for name, took in again.items()}
    return times | measure(by_itself, rounds, moments)  # its threads spin after each region


def in_parallel(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """`function` by numba, with `prange` in place of the first `range`; None without numba."""
    try:
        import numba
    except ImportError:
        return None
    import inspect
    import linecache

    text = inspect.getsource(function).replace("in range(", "in prange(", 1)
    path = f"<prange {function.__name__}>"
    linecache.cache[path] = len(text), None, text.splitlines(True), path
    names = {**function.__globals__, "prange": numba.prange}
    exec(compile(text, path, "exec"), names)
    return numba.njit(parallel=True, fastmath=True)(names[function.__name__])  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()
