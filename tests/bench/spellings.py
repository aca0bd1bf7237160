"""Whether the speed of a compiled function depends on the spelling.

    python -m tests.bench.spellings [IDIOM …] [--rounds 20] [--size N]

An idiom is what numerical Python says in many ways: the distance of two points by ``range``, by
``zip``, by ``sum`` of a generator, or as whole arrays. Each spelling is compiled by itself and
called on the same arguments; all are checked to give what the first gives as Python, on few
elements, and what the first gives compiled, on those that are timed.

A line has the time of the slowest spelling divided by that of the fastest, the fastest time, and
the spellings that take more than 1.3 times as long, each with its factor: ``[Python]`` after one
that Python served, ``[regions]`` after one that was compiled in part; both are listed whatever
their factor. The last lines are the idioms with a ratio above 1.3, the worst first. Calls use one
thread.

All spellings of an idiom do the same work. No spelling is what does other work for the same result:

- another algorithm: prefix sums for windows and for the best stretch, subtraction for a remainder,
  a dict for a histogram, all pairs for half of them, all elements for the lower triangle, one loop
  that counts before one that copies, swaps in a copy, exponentials computed twice;
- what rounds otherwise: ``s += a * (v - s)`` for ``s = a * v + (1 - a) * s``, an int of a quotient
  of floats for a shift, `math.hypot` or a root for the squares that they are compared as (a root
  that is compared with a constant is one of the spellings);
- what has another result in rare cases, which it has to look for: lists that begin with ints and
  may keep some, `np.minimum.accumulate`, which keeps a NaN, the edges of `np.histogram`, the
  overflow of ``a - a // 7 * 7``, of which NumPy warns.

One ratio is inherent: rows of a list of lists that are copied whole (``out.extend(row)``, ``+=``)
move references, which Python does, while a loop over their items makes floats of objects, and
objects of floats.

A time is the best of turns that are short, so that few are interrupted; the spellings that are
still above 1.3 take turns with the fastest ten times as long. Between turns memory is allocated, so
that results do not always lie where their address is a bad one, and pages that are freed are kept.
"""
from __future__ import annotations

import argparse
import copy
import ctypes
import os
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402  # BLAS asks for its threads when it is loaded

from transpile import fuse  # noqa: E402

from . import (  # noqa: E402
    spelled_extrema,
    spelled_folds,
    spelled_grids,
    spelled_integers,
    spelled_lists,
    spelled_maps,
    spelled_matrices,
    spelled_powers,
    spelled_scans,
    spelled_tables,
)
from .harness import pin, pretty  # noqa: E402
from .spelled import Idiom  # noqa: E402

__all__ = ["main"]

FAMILIES = (
    spelled_maps, spelled_powers, spelled_folds, spelled_extrema, spelled_integers, spelled_scans,
    spelled_tables, spelled_matrices, spelled_grids, spelled_lists,
)
BOUND = 1.3
"""How many times as long as the fastest spelling one may take."""

WARM_CALLS = 12
"""Calls before the times: the first ones are timed by the compiled function itself."""

TURN = 0.0005
"""Seconds that a spelling runs in one turn."""

AGAIN = 10
"""How many times as many turns the slow spellings take."""


class Spelling(NamedTuple):
    """A spelling, its best time, and what served its calls if no kernel of all of it did:
    "Python" or "regions".
    """

    name: str
    seconds: float
    served: str

    def factor(self, fastest: float) -> str:
        """Its name with its time in those of the fastest."""
        served = f" [{self.served}]" if self.served else ""
        return f"{self.name} {self.seconds / fastest:.2f}{served}"


class Result(NamedTuple):
    """An idiom with its spellings, the slowest first."""

    name: str
    spellings: Sequence[Spelling]

    @property
    def fastest(self) -> float:
        return self.spellings[-1].seconds

    @property
    def ratio(self) -> float:
        return self.spellings[0].seconds / self.fastest

    def line(self) -> str:
        slow = [s for s in self.spellings if s.seconds > BOUND * self.fastest or s.served]
        told = ", ".join(s.factor(self.fastest) for s in slow)
        return f"{self.name:24}{self.ratio:8.2f}{pretty(self.fastest):>10}   {told}".rstrip()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.spellings", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("idioms", nargs="*", help="parts of the names of idioms; all if none")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--size", type=int, help="instead of the one that suits each idiom")
    options = parser.parse_args(argv)
    pin()
    _keep_freed_pages()
    warnings.simplefilter("ignore")
    print(f"{'idiom':24}{'ratio':>8}{'fastest':>10}   spellings above {BOUND}")
    results: list[Result] = []
    for idiom in (idiom for family in FAMILIES for idiom in family.IDIOMS):
        if options.idioms and not any(part in idiom.name for part in options.idioms):
            continue
        results.append(_measured(idiom, options.size or idiom.row.size, options.rounds))
        print(results[-1].line(), flush=True)
    slow = sorted((r for r in results if r.ratio > BOUND), key=lambda r: -r.ratio)
    print(f"\n{len(results) - len(slow)} of {len(results)} idioms within {BOUND}")
    for result in slow:
        print(result.line())


def _measured(idiom: Idiom, size: int, rounds: int) -> Result:
    """Compiles and checks all spellings, then times them in turn."""
    _check_as_python(idiom)
    args = idiom.row.make(size, np.random.default_rng(1))
    fused = {
        name: fuse(f, on_reject="silent", threads=1) for name, f in idiom.spellings.items()
    }
    meant = None
    for name, f in fused.items():
        found = _results(f, args)
        meant = meant or found
        _agree(f"{idiom.name}: {name}, compiled,", meant, found)
        for _ in range(WARM_CALLS):
            f(*args)
    before = {name: f.stats for name, f in fused.items()}
    times: dict[str, float] = {}
    _take_turns(fused, args, rounds, times)
    for _ in range(AGAIN):
        fastest = min(times, key=lambda name: times[name])
        slow = {name: f for name, f in fused.items() if times[name] > BOUND * times[fastest]}
        if slow:
            _take_turns({fastest: fused[fastest], **slow}, args, rounds, times)
    spellings = [
        Spelling(name, times[name], _served(f, before[name], args)) for name, f in fused.items()
    ]
    return Result(idiom.name, sorted(spellings, key=lambda s: -s.seconds))


def _take_turns(
    functions: dict[str, Any], args: tuple[Any, ...], rounds: int, times: dict[str, float],
) -> None:
    """Puts into `times` the best seconds a call of each, as far as they are new."""
    for turn in range(rounds):
        between = np.empty(turn % 16 * 264, np.uint8)
        for name, f in list(functions.items())[:: -1 if turn % 2 else 1]:
            calls = max(1, min(1000, int(TURN / times[name]))) if name in times else 1
            start = time.perf_counter()
            for _ in range(calls):
                f(*args)
            took = (time.perf_counter() - start) / calls
            times[name] = min(took, times.get(name, took))
        del between


def _keep_freed_pages() -> None:
    """Has malloc reuse memory that is freed: else, by what else lies behind it, the pages of an
    array are given back to the system at each call, and made again, in the time of the call.
    """
    trim_threshold, mmap_threshold = -1, -3
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):    # another C library than glibc
        return
    mallopt(trim_threshold, 1 << 30)
    mallopt(mmap_threshold, 1 << 30)


def _served(f: Any, before: Any, args: tuple[Any, ...]) -> str:
    """What served most calls since the statistics `before`: "" for the function as one kernel."""
    if f.stats.compiled == before.compiled:
        return "Python"
    report = f.report(*args)
    if report.regions and not report.accepted:
        return "regions"
    replayed = sum(f.stats.replays.values()) - sum(before.replays.values())
    return "Python" if replayed > f.stats.compiled - before.compiled else ""


def _check_as_python(idiom: Idiom) -> None:
    args = idiom.row.make(idiom.row.small, np.random.default_rng(1))
    meant = None
    for name, f in idiom.spellings.items():
        found = _results(f, args)
        meant = meant or found
        _agree(f"{idiom.name}: {name}", meant, found)


def _results(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What it returns, and the arguments as they are afterwards."""
    given = copy.deepcopy(args)
    return f(*given), *given


def _agree(what: str, meant: tuple[Any, ...], found: tuple[Any, ...]) -> None:
    """Raises AssertionError if two results differ by more than rounding."""
    for x, y in zip(meant, found, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape or not np.allclose(x, y, 1e-6, 1e-8, equal_nan=True):
            raise AssertionError(f"{what} computes something else")


if __name__ == "__main__":
    main()
