"""CPU seconds of programs that take long to compile, and the slowest of `tests/programs/run`.

    PYTHONPATH=tests/support:tests/programs python -m tests.bench.compile_budget [--share 1]

The first call, without the disk cache, is measured: all of Python's part, and the C compiler. That
the compiler itself is loaded counts for none. Of the programs of `tests/programs/run` one in
`--share` is compiled, and the slowest ten are shown. What was left out for the budget is
marked.
"""
from __future__ import annotations

import argparse
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from program_runs import PROGRAMS, arguments

from transpile import fuse
from transpile.runtime import compile_call

from .compile_time import made
from .large_programs import LARGE_PROGRAMS

assert compile_call  # loaded before anything is measured


def cpu(who: int) -> float:
    """The CPU seconds so far of this process or of its children."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def first_call(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[float, float, str]:
    """The CPU seconds of the first call: this process, the C compiler; and what is to be said."""
    fused = fuse(function, cache=False, on_reject="silent")
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    before = [cpu(w) for w in who]
    try:
        fused(*given)
    except Exception as error:  # a program may raise
        return *(cpu(w) - b for w, b in zip(who, before, strict=True)), type(error).__name__
    python, compiler = (cpu(w) - b for w, b in zip(who, before, strict=True))
    codes = {r.code for t in fused.signatures for r in fused.report_for(t).rejections}
    return python, compiler, "less effort" if "BUDGET_EXCEEDED" in codes else ""


def large(folder: Path) -> Iterator[tuple[str, float, float, str]]:
    for name, function, given in LARGE_PROGRAMS:
        f = made(function, folder) if isinstance(function, str) else function
        yield name, *first_call(f, given())


def of_the_tests(share: int) -> Iterator[tuple[str, float, float, str]]:
    first = {p.function: p for p in reversed(PROGRAMS)}
    for p in list(first.values())[::share]:
        yield p.label, *first_call(p.function, arguments(p, 33))


def show(rows: Sequence[tuple[str, float, float, str]]) -> None:
    for name, python, compiler, note in rows:
        print(f"{name:32}{python:9.2f}{compiler:9.2f}{python + compiler:9.2f}  {note}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.compile_budget", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--share", type=int, default=1)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print(f"{'program':32}{'Python':>9}{'C':>9}{'both':>9}")
    with tempfile.TemporaryDirectory() as folder:
        show([*large(Path(folder))])
    rows = sorted(of_the_tests(options.share), key=lambda row: -row[1] - row[2])
    above = sum(row[1] + row[2] > 0.5 for row in rows)
    print(f"\n{len(rows)} programs of tests/programs/run, {above} above 0.5 s")
    show(rows[:10])


if __name__ == "__main__":
    main()
