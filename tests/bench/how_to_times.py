"""Times of the programs of `docs/how_to` at several sizes, as tables for the pages::

    python -m tests.bench.how_to_times [PAGE …] [--write]

A page is a name such as ``stencil``. Each function of its program runs as Python, as NumPy where
the page has such a form, by numba's ``njit`` if numba is installed and takes it, and compiled; all
on one core. ``--write`` puts the table under "Times" in the page; `docs/pictures.py times` draws
it.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import platform
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from targets.isa.target_registry import best_target

from .harness import pin, pretty

__all__ = ["main"]

PAGES = Path(__file__).resolve().parents[2] / "docs" / "how_to"


@dataclass(frozen=True)
class Case:
    """How the program of a page is measured."""

    function: str
    """The function that is compiled, in the page's program."""
    numpy: str | None
    """The one that does the same with NumPy."""
    what: str
    """What the sizes count."""
    sizes: tuple[int, ...]
    arguments: Callable[[Any, int], tuple[Any, ...]]
    """The arguments of a size, by a random generator."""


CASES = {
    "stencil": Case(
        "heat", "with_slices", "plate of n × n, 4 steps", (30, 100, 300, 1000),
        lambda rng, n: (rng.random((n, n)), 4),
    ),
    "image_filter": Case(
        "edges", "with_slices", "image of n × n bytes", (30, 100, 300, 1000),
        lambda rng, n: (rng.integers(0, 256, (n, n), np.uint8),),
    ),
    "pairwise_distances": Case(
        "distances", "with_axes", "n points", (30, 100, 300, 1000),
        lambda rng, n: (rng.random((n, 3)),),
    ),
    "groupby": Case(
        "means", "with_unique", "n rows, 1000 keys", (1000, 10_000, 100_000, 1_000_000),
        lambda rng, n: (rng.integers(0, 1000, n) * 7919, rng.random(n)),
    ),
    "monte_carlo": Case(
        "price", "with_arrays", "n paths of 50 days", (20, 200, 2000, 20_000),
        lambda rng, n: (rng, n, 50, 100.0, 105.0, 0.0002, 0.01),
    ),
    "dynamic_programme": Case(
        "warping", None, "two series of n", (30, 100, 300, 1000),
        lambda rng, n: (rng.normal(size=n).cumsum(), rng.normal(size=n).cumsum()),
    ),
}


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("::")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=", ".join(CASES))
    parser.add_argument("--write", action="store_true", help="put the tables into the pages")
    chosen = parser.parse_args(words)
    pin()
    for name in chosen.pages or CASES:
        text = "\n".join(section(name, CASES[name]))
        print(f"{name}\n{text}", flush=True)
        if chosen.write:
            page = PAGES / f"{name}.md"
            before, _, rest = page.read_text(encoding="utf-8").partition("\n## Times\n")
            _, _, behind = rest.partition("\n\n## ")
            behind = f"\n\n## {behind}" if behind else "\n"
            page.write_text(f"{before.rstrip()}\n\n## Times\n\n{text}{behind}", encoding="utf-8")


def section(name: str, case: Case) -> Iterator[str]:
    """The text under "Times" of a page."""
    columns = columns_of(program_of(name), case)
    yield f"![Times of {name.replace('_', ' ')} by size](../pictures/times_{name}.svg)"
    yield ""
    yield f"| {case.what} | {' | '.join(columns)} |"
    yield f"|---{'|---' * len(columns)}|"
    for size in case.sizes:
        times = [best_time(run, case, size) for run in columns.values()]
        yield f"| {size:,} | {' | '.join(map(pretty, times))} |"
    yield ""
    yield f"Machine: one core of {machine()}."
    yield "CPU time of the best of several calls, after the first ones, which compile;"
    yield f"`python -m tests.bench.how_to_times {name}` measures it again."


def machine() -> str:
    """The processor and what compiled and interpreted."""
    versions = [f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    with contextlib.suppress(ImportError):
        import numba

        versions.append(f"numba {numba.__version__}")
    return f"an {processor()}, {', '.join(versions)}"


def processor() -> str:
    """The name of the processor, and the instruction set that is compiled for."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        name = re.findall(r"^model name\s*: (.*)", text, re.MULTILINE)[0]
    except (OSError, IndexError):
        name = platform.processor() or platform.machine()
    return f"{name} ({best_target().name})"


def program_of(name: str) -> ModuleType:
    """The program of a page, which has been run."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    (file, text), *_ = re.findall(r"^```python (\S+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    program = ModuleType(file.removesuffix(".py"))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder, file)
        path.write_text(text, encoding="utf-8")
        exec(compile(text, str(path), "exec"), vars(program))
    return program


def columns_of(program: ModuleType, case: Case) -> dict[str, Callable[..., Any]]:
    """The functions to time, by the headings of their columns."""
    compiled = getattr(program, case.function)
    columns = {"Python": compiled.__wrapped__}
    if case.numpy:
        columns["NumPy"] = getattr(program, case.numpy)
    if jitted := by_numba(compiled.__wrapped__, case):
        columns["numba"] = jitted
    return columns | {"compiled": compiled}


def by_numba(function: Callable[..., Any], case: Case) -> Callable[..., Any] | None:
    """`function` as numba compiles it; None where there is no numba, or it refuses."""
    try:
        import numba
    except ImportError:
        return None
    jitted: Callable[..., Any] = numba.njit(function)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jitted(*case.arguments(np.random.default_rng(0), case.sizes[0]))
    except numba.core.errors.NumbaError:
        return None
    return jitted


def best_time(run: Callable[..., Any], case: Case, size: int) -> float:
    """The seconds of the fastest call of several series, of 20 ms each or one call. They are those
    of the process, so that other work on the machine counts little.
    """
    arguments, calls = case.arguments(np.random.default_rng(0), size), 1
    best, spent = float("inf"), 0.0
    for series in range(9):  # the first ones compile, and time Python beside
        started = time.process_time()
        for _ in range(calls):
            run(*arguments)
        took = time.process_time() - started
        best = min(best, took / calls) if series > 3 or took > 0.3 else took
        calls, spent = max(1, int(0.02 / best)), spent + took
        if spent > 2.0:
            break
    return best


if __name__ == "__main__":
    main(sys.argv[1:])
