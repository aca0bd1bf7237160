"""What packages that are built ahead of time cost: bytes, import, first call, other calls.

    python -m tests.bench.built [PYTHON …] [--rounds 9]

Builds a wheel of the functions of `maps`, `nests` and `carried`, and one of `examples/library`.
Each PYTHON (this one if none; with NumPy) imports them beside NumPy alone, with an empty PATH;
``qemu:PYTHON`` is run by an emulator of a CPU with SSE2 alone, once, as it takes ten times as long;
its NumPy must be 2.3 or older. Columns: milliseconds of an import after that of NumPy, and of the
first call (the least of all processes), what serves it, and what does after the source was edited,
with the number of warnings. Then calls of both are timed beside those of `@fuse` in this process:
nanoseconds, and built / `@fuse`, of arrays of 16 and 4096 elements (matrices of 16 × 16 and
64 × 64); last, the median and the greatest of these ratios.
"""
from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from wheels import built_wheel  # noqa: E402

from transpile import fuse  # noqa: E402
from transpile.cli import main as command  # noqa: E402
from transpile.types.typeof import type_of  # noqa: E402

from . import carried, maps, nests  # noqa: E402
from .harness import Case, measure, pin  # noqa: E402

CASES = [case for family in (maps, nests, carried) for case in family.CASES]
EMULATOR = shutil.which("qemu-x86_64-static") or "qemu-x86_64-static"
USE = """
import sys, time, warnings
sys.path.insert(0, {site!r})
for name in ("transpile", "cffi"):
    sys.modules[name] = None
import numpy as np
start = time.perf_counter()
from {module} import {function} as function
imported = time.perf_counter()
with warnings.catch_warnings(record=True) as caught:
    result = function(*{arguments})
called = time.perf_counter()
expected = function.__wrapped__(*{arguments})
assert np.allclose(result, expected, rtol=1e-14), (result, expected)
print([imported - start, called - imported, sys.version.split()[0], np.__version__,
       function.report().partition("\\n")[0], len(caught)])
"""
AGAIN, LIMIT = 5, 1.1
"""Calls that seem to take more than ``LIMIT`` times as long are measured again, so often at most:
other work on the machine may slow them.
"""

MODULES = {
    "kernels_fused": ("dot", "(np.ones(9), np.ones(9))"),
    "tracks.smoothing": ("exponential", "(np.ones(9), 0.5)"),
}
"""The imported modules of both wheels, and a call in each."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.built", description=__doc__)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for wheel in (_wheel_of_kernels(folder), built_wheel(ROOT / "examples/library", folder)):
            print(f"{wheel.name}: {wheel.stat().st_size / 1000:.0f} kB", flush=True)
            for site in ("site", "edited"):
                zipfile.ZipFile(wheel).extractall(folder / site)
        for path in folder.glob("edited/*/*.py"):
            path.write_text(path.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
        for python in options.pythons:
            for module in MODULES:
                print(_line(python, folder, module, options.rounds), flush=True)
        for line in _calls(folder / "site", options.rounds):
            print(line, flush=True)


def _wheel_of_kernels(folder: Path) -> Path:
    """The wheel of the loops of all `CASES`."""
    loops = {case.loop.__name__: case for case in CASES}
    source = folder / "kernels.py"
    texts = (f"@fuse\n{inspect.getsource(case.loop)}" for case in loops.values())
    source.write_text("\n\n".join(["import numpy as np\nfrom transpile import fuse", *texts]))
    words = [str(source), "--build", "--wheel", "kernels==1.0", "-o", str(folder / "kernels")]
    for name, case in loops.items():
        types = ", ".join(str(type_of(a)) for a in _arguments(case, 16))
        words += ["--types", f"{name}({types})"]
    assert command([*words, "--check"]) == 0
    (wheel,) = (folder / "kernels").iterdir()
    return wheel


def _arguments(case: Case, n: int) -> tuple[Any, ...]:
    return case.make(n, case.dtypes[-1], np.random.default_rng(1))


def _line(python: str, folder: Path, module: str, rounds: int) -> str:
    """The least times of `rounds` processes, and what serves calls of the edited module."""
    emulated, program = python.startswith("qemu:"), python.removeprefix("qemu:")
    words = [*((EMULATOR, "-cpu", "qemu64") if emulated else ()), program, "-I", "-c"]
    function, arguments = MODULES[module]
    rows = []
    for site in ["edited", *["site"] * (1 if emulated else rounds)]:
        text = USE.format(
            site=str(folder / site), module=module, function=function, arguments=arguments
        )
        done = subprocess.run(
            [*words, text], env={"PATH": ""}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return f"{python} {module}: {done.stderr.strip() or done.returncode}"
        rows.append(ast.literal_eval(done.stdout))
    edited, *rows = rows
    imported, called = (min(row[k] for row in rows) * 1000 for k in (0, 1))
    version, numpy, what, count = rows[0][2:]
    assert count == 0, what
    cpu = " qemu64" if emulated else ""
    times = f"import {imported:6.2f} ms   first call {called:6.2f} ms"
    then = "Python" if ": Python (" in edited[4] else edited[4]
    return (
        f"{version:8} NumPy {numpy:8}{cpu:8} {module:17} {times}   {what}; "
        f"edited: {then}, {edited[5]} warning{'s' * (edited[5] != 1)}"
    )


def _calls(site: Path, rounds: int) -> Iterator[str]:
    """A line for each case and size: built, and beside `@fuse`."""
    pin()
    sys.path.insert(0, str(site))
    module = importlib.import_module("kernels_fused")
    ratios = []
    for case in CASES:
        built = getattr(module, case.loop.__name__)
        compiled = fuse(on_reject="raise")(case.loop)
        for n in (16, 64 if case in nests.CASES else 4096):
            given = _arguments(case, n)  # of both: where arrays lie in memory makes a difference
            compiled(*given)
            assert compiled.stats.compiled, compiled.report(*given)
            runs = {"built": partial(built, *given), "fuse": partial(compiled, *given)}
            times = measure(runs, rounds)
            for _ in range(AGAIN):
                if times["built"] <= LIMIT * times["fuse"]:
                    break
                again = measure(runs, rounds)
                times = {name: min(times[name], took) for name, took in again.items()}
            ratios.append(times["built"] / times["fuse"])
            yield f"{case.name:21}{n:6}{times['built'] * 1e9:15,.0f} ns   {ratios[-1]:.2f}"
    yield f"built / fuse: median {statistics.median(ratios):.2f}, greatest {max(ratios):.2f}"


if __name__ == "__main__":
    os.environ.setdefault("TRANSPILE_SELECT", "compiled")
    main()
