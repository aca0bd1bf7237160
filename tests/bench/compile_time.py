"""What compiling costs: files entered, macros asked, and the CPU time of each stage.

    python -m tests.bench.compile_time [function …] [--rounds 5] [--target avx2]

Each function is compiled for float64 first, so that all that is loaded and cached once is there,
and then for float32, which is measured. A file is entered when a function of it is called. Times
are the least of several rounds, in milliseconds. To compare two checkouts, run it in both, in turn.
"""
from __future__ import annotations

import argparse
import importlib.util
import inspect
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from targets.isa.target_registry import TARGETS, Target, best_target
from transpile.expand import MACROS
from transpile.options import Options
from transpile.pipeline import NamedStage, Observer, compile_stages
from transpile.types.typeof import parameter_names, type_of

HOUSE = Path(__file__).resolve().parents[2]
OURS = tuple(str(HOUSE / package) for package in ("loopir", "targets", "transpile"))
COLUMNS = ("expand", "lower", "fuse", "passes", "emit")

SUM = """
def f(x):
    s = 0.0
    for v in x:
        s += v
    return s
"""

LOOP = """
    for i in range(1, n - 1):
        if {0}[i] > {1}[i]:
            {2}[i] = {3}[i - 1] + {4}[i + 1]
"""


def loops(count: int) -> str:
    """A function of so many loops, each a stencil with an ``if``, over five arrays in turn."""
    head = "def f(a, b, c, d, e):\n    n = len(a)"
    names = "abcde"
    turned = (names[k % 5 :] + names[: k % 5] for k in range(count))
    return head + "".join(LOOP.format(*order) for order in turned)


CASES = {"sum": (SUM, 1), "16 loops": (loops(16), 5), "64 loops": (loops(64), 5)}
"""The text of each function, and how many arrays it takes."""


def made(text: str, folder: Path) -> Callable[..., Any]:
    """The function that `text` is, in a file of its own."""
    path = folder / f"compiled_{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.f
    return function


def compiled(
    function: Callable[..., Any], arrays: int, dtype: str, target: Target,
    observe: Observer | None = None,
) -> None:
    """All stages from source to C."""
    given = [type_of(np.ones(64, dtype)) for _ in range(arrays)]
    types = dict(zip(parameter_names(function.__code__), given, strict=True))
    made = compile_stages(function, types, Options(), target.model, observe=observe)
    made.c(target)


def entered(run: Callable[[], object]) -> tuple[int, int]:
    """How many files of ours `run` enters, and how often it calls macros."""
    asked = {inspect.unwrap(m).__code__ for m in MACROS}
    files, calls = set[str](), 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if event == "call":
            files.add(frame.f_code.co_filename)
            calls += frame.f_code in asked

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return sum(f.startswith(OURS) for f in files), calls


COLUMN_OF = {"lower": 1, "scalarize_arrays": 2, "fuse": 2}
"""The place in COLUMNS of stages that are no passes; others belong to the front end, or come after
the passes.
"""


def times(run: Callable[[Observer], object], rounds: int) -> list[float]:
    """The CPU milliseconds of each column."""
    found: list[list[float]] = []
    for _ in range(rounds):
        each = [0.0] * len(COLUMNS)
        last = time.process_time()
        passes = False

        def note(named: NamedStage, *_: object) -> None:
            nonlocal last, passes
            now = time.process_time()
            passes = passes or named.stage.is_pass
            column = COLUMN_OF.get(named.name, 4 if passes else 0)
            each[3 if named.stage.is_pass else column] += now - last  # noqa: B023
            last = now

        run(note)
        each[4] += time.process_time() - last
        found.append([1e3 * t for t in each])
    return [min(column) for column in zip(*found, strict=True)]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.compile_time", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("functions", nargs="*", help=f"of {', '.join(CASES)}; all if none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", default=best_target().name)
    options = parser.parse_args(argv)
    target = TARGETS[options.target]
    columns = "".join(f"{name:>9}" for name in (*COLUMNS, "all"))
    print(f"{'function':12}{'files':>7}{'macros':>8}{columns}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, arrays) in CASES.items():
            if options.functions and name not in options.functions:
                continue
            function = made(text, Path(folder))
            compiled(function, arrays, "float64", target)

            def run(
                observe: Observer | None = None, f: Callable[..., Any] = function, n: int = arrays
            ) -> None:
                compiled(f, n, "float32", target, observe)

            files, calls = entered(run)
            each = times(run, options.rounds)
            numbers = "".join(f"{t:9.1f}" for t in (*each, sum(each)))
            print(f"{name:12}{files:7}{calls:8}{numbers}", flush=True)


if __name__ == "__main__":
    main()
