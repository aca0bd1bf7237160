"""CPU seconds of programs that take long to compile, and the slowest of `tests/programs/run`.

    PYTHONPATH=tests/support:tests/programs python -m tests.bench.compile_budget [--share 1]

The first call, without the disk cache, is measured: all of Python's part, and the C compiler. What
a process or a machine does once counts for none: the compiler is loaded, and the functions that all
kernels share (`targets.abi.trampoline`, `targets.abi.thread_pool`) are built. Of the programs of
`tests/programs/run` one in `--share` is compiled, or those that are named; shown are those that
take more than half a second, each with the reason if it is one of `EXCEPTIONS`. What was left out
for the budget is marked. Other work on the machine makes CPU times up to half as large again:
compare figures of one run.
"""
from __future__ import annotations

import argparse
import gc
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from program_runs import PROGRAMS, arguments

from targets.build.background_build import wait_for_builds
from transpile import fuse
from transpile.runtime import compile_call

from .compile_time import made
from .large_programs import LARGE_PROGRAMS

assert compile_call  # loaded before anything is measured


LIMIT = 0.5
"""CPU seconds of any program of `tests/programs/run` but these:"""

_DRAWS = "a random generator in each place where a number is drawn"
_MANY = "many NumPy functions, each of which is a loop nest of its own"
_DEEP = "loops whose bodies are unrolled or versioned several times"

EXCEPTIONS = {
    "of_python": _DRAWS, "drawn_where_it_is_asked": _DRAWS, "whole_numbers": _DRAWS,
    "normals": _DRAWS, "integers": _DRAWS, "legacy_numbers": _DRAWS, "lognormals": _DRAWS,
    "between": "np.interp four times: each a binary search with ten cases in a loop",
    "bins": "np.digitize three times: each two binary searches",
    "median_of_five": "a list that is sorted in a loop, with its checks",
    "smoothed_by_medians": "three medians, each by a selection of its own",
    "nearest_centres": _MANY, "told_apart": _MANY, "listed": _MANY, "slopes": _MANY,
    "along_an_axis": _MANY, "rows_pivoted": _MANY, "records_in_records": _MANY,
    "one_after_the_other": "five updates by masks, each with counts, copies and checks",
    "neighbours_that_there_are": _DEEP, "around": _DEEP, "five_axes": _DEEP, "windows": _DEEP,
    "stacks": _DEEP, "by_rows": _DEEP,
}
"""Functions that take longer, or nearly so, and why."""


def _first(x: list[float]) -> float:
    """Compiled before all others."""
    return sum(2.0 * v for v in x)


def cpu(who: int) -> float:
    """The CPU seconds so far of this process or of its children."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def first_call(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[float, float, str]:
    """The CPU seconds of the first call: this process, the C compiler; and what is to be said."""
    fused = fuse(function, cache=False, on_reject="silent")
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    gc.freeze()  # a full collection looks at nothing that earlier programs have left
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


def of_the_tests(share: int, named: Sequence[str]) -> Iterator[tuple[str, float, float, str]]:
    first = {p.function: p for p in reversed(PROGRAMS)}
    for p in list(first.values())[::share]:
        if not named or p.label in named:
            yield p.label, *first_call(p.function, arguments(p, 33))


def show(rows: Sequence[tuple[str, float, float, str]]) -> None:
    for name, python, compiler, note in rows:
        print(f"{name:32}{python:9.2f}{compiler:9.2f}{python + compiler:9.2f}  {note}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.compile_budget", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of programs; default: all")
    parser.add_argument("--share", type=int, default=1)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    first_call(_first, ([1.0],))
    wait_for_builds()
    print(f"{'program':32}{'Python':>9}{'C':>9}{'both':>9}")
    with tempfile.TemporaryDirectory() as folder:
        show([*large(Path(folder))])
    rows = sorted(of_the_tests(options.share, options.names), key=lambda row: -row[1] - row[2])
    above = [(row, row[0].rpartition("-")[0]) for row in rows if row[1] + row[2] > LIMIT]
    others = [row[0] for row, name in above if name not in EXCEPTIONS]
    print(f"\n{len(rows)} programs of tests/programs/run, {len(above)} above {LIMIT} s")
    print("not among the exceptions:", ", ".join(others) or "none")
    show([(*row[:3], EXCEPTIONS.get(name, "")) for row, name in above] or rows[:10])


if __name__ == "__main__":
    main()
