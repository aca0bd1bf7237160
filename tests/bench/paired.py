"""Times every case under two checkouts, in turn: this one, and another one of the same project.

    python -m tests.bench.paired CHECKOUT [case …] [--sizes 64,4096] [--rounds 7] [--target avx2]

A process for each checkout compiles the case with that checkout's compiler, and both time batches
of calls in turn on the same core, so that other work on the machine slows both. A line has the best
time of this checkout, and the other's best time divided by it: above 1, this one is faster. The
last line is the geometric mean of all ratios.
"""
from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.paired", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; all if none")
    parser.add_argument("--sizes", default="", help="instead of those that suit each case")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--target", default="")
    options = parser.parse_intermixed_args(argv)
    if not (options.checkout / "tests" / "bench").is_dir():
        parser.error(f"{options.checkout} is no checkout of this project")
    request = [options.sizes, options.target, *options.cases]
    ours, other = _Worker(HERE, request), _Worker(options.checkout.resolve(), request)
    ratios: list[float] = []
    for name, theirs in zip(ours.cases(), other.cases(), strict=True):
        assert name == theirs, f"the checkouts have other cases: {name}, {theirs}"
        best = [math.inf, math.inf]
        for _ in range(options.rounds):
            for k, worker in enumerate((ours, other)):
                best[k] = min(best[k], worker.batch())
        ratios.append(best[1] / best[0])
        print(f"{name:46}{best[0] * 1e6:12.2f} µs {ratios[-1]:8.3f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of {len(ratios)} ratios: {mean:.4f}")


class _Worker:
    """A process that compiles and times cases under one checkout, when it is told to."""

    def __init__(self, checkout: Path, request: list[str]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[variable] = "1"
        self._process = subprocess.Popen(
            [sys.executable, __file__, "worker", *request], cwd=checkout, env=environment,
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )

    def _ask(self, command: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        print(command, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()

    def cases(self) -> Iterator[str]:
        """The name of each case, which is compiled and ready when it is returned.

        Raises RuntimeError where the process fails.
        """
        while name := self._ask("next"):
            yield name
        if self._process.wait():
            raise RuntimeError("a checkout cannot run the case: see its error above")

    def batch(self) -> float:
        """The seconds of a call, on average over a few milliseconds."""
        return float(self._ask("batch"))


def worker(sizes: str, target: str, *names: str) -> None:
    """Compiles each case at the command ``next``, and prints its name; prints the time of a call at
    each ``batch``. The commands are lines of stdin.
    """
    from tests.bench import carried, escapes, functions, integers, maps, nests
    from tests.bench.harness import _aligned, np, pin
    from transpile import fuse

    pin()
    compiled = fuse(on_reject="raise", **({"target": target} if target else {}))
    families = (maps, nests, carried, escapes, integers, functions)
    sys.stdin.readline()
    for case in (case for family in families for case in family.CASES):
        if names and not any(part in case.name for part in names):
            continue
        for dtype in case.dtypes:
            for n in map(int, sizes.split(",")) if sizes else case.sizes:
                args = tuple(map(_aligned, case.make(n, dtype, np.random.default_rng(1))))
                with np.errstate(all="ignore"):
                    _serve(f"{case.name} {dtype} {n}", partial(compiled(case.loop), *args))
    print(flush=True)


def _serve(name: str, run: Callable[[], object]) -> None:
    """Prints `name`, and the time of a call of `run` at each command, until the next case."""
    run()
    start = time.perf_counter()
    run()
    repeat = max(1, min(1000, int(0.004 / (time.perf_counter() - start + 1e-9))))
    print(name, flush=True)
    while sys.stdin.readline() == "batch\n":
        start = time.perf_counter()
        for _ in range(repeat):
            run()
        print((time.perf_counter() - start) / repeat, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker(*sys.argv[2:])
    else:
        main()
