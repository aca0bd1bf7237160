"""Whether the speed of a compiled function depends on the spelling.

    python -m tests.bench.spellings [IDIOM …] [--rounds 5] [--size N]

An idiom is what numerical Python says in many ways: the distance of two points by ``range``, by
``zip``, by ``sum`` of a generator, or as whole arrays. Each spelling is compiled by itself and
called on the same arguments; all are checked to give what the first gives as Python, on few
elements, and what the first gives compiled, on those that are timed.

A line has the time of the slowest spelling divided by that of the fastest, the fastest time, and
the spellings that take more than 1.3 times as long, each with its factor: ``[Python]`` after one
that Python served, ``[regions]`` after one that was compiled in part; both are listed whatever
their factor. The last lines are the idioms with a ratio above 1.3, the worst first. Calls use one
thread.
"""
from __future__ import annotations

import argparse
import copy
import os
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
from .harness import measure, pin, pretty  # noqa: E402
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
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, help="instead of the one that suits each idiom")
    options = parser.parse_args(argv)
    pin()
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
    times = measure({name: lambda f=f: f(*args) for name, f in fused.items()}, rounds)
    spellings = [
        Spelling(name, times[name], _served(f, before[name], args)) for name, f in fused.items()
    ]
    return Result(idiom.name, sorted(spellings, key=lambda s: -s.seconds))


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
        if x.shape != y.shape or not np.allclose(x, y, 1e-6, 1e-8):
            raise AssertionError(f"{what} computes something else")


if __name__ == "__main__":
    main()
