"""The test programs (`tests/programs/run`) for other systems, by the cross compiler of ziglang.

``python -m tests.tools.cross_programs compile [PLATFORM …]`` compiles their kernels, and the C code
that calls them, for each platform (all: `platforms.PLATFORMS`), and prints what does not compile.

``… build PLATFORM DIR`` links them, and writes the library to DIR with the modules that call it and
the programs themselves. There, with the Python of that system and NumPy, or under an emulator,

    python DIR/check.py
    wine64 python.exe DIR/check.py
    qemu-aarch64-static -L SYSROOT python3.11 DIR/check.py

calls each kernel and the Python function on the same arguments, compares what they give as
`agree.same` does, and prints how many calls agreed, and which did not. PLATFORM may be ``own``, by
this machine's compiler. ``--share K`` takes one program in K.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # the process that pytest starts has the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

from program_runs import PROGRAMS, arguments

from targets.build.build_errors import BuildError
from targets.build.c_compiler import find_cross_compiler
from targets.build.private_folders import private_folder
from targets.isa.target import Target
from transpile.ahead import build_package
from transpile.ahead.built_calls import OwnCode
from transpile.ahead.fat_library import (
    Unit,
    _compiled,
    built_library,
    kernel_file,
    library_targets,
    library_units,
)
from transpile.ahead.kernel_library import library_name, result_module
from transpile.ahead.kernel_units import NotBuilt, kernel_unit
from transpile.ahead.platforms import PLATFORMS, Platform, own_platform, platform_named
from transpile.ahead.runtime_files import runtime_files
from transpile.options import Options
from transpile.types.numpy_probes import answers
from transpile.types.typeof import type_of
from transpile.types.value_types import WrappedFunction

__all__ = ["failures_of", "kernels_of", "write_programs"]

TESTS = Path(__file__).resolve().parents[1]

CHECK = '''
import json, sys
from pathlib import Path

home = Path(__file__).parent
sys.path[:0] = [str(home), str(home / "programs")]
from agree import outcome, same
from run.arrays import PROGRAMS as ON_ARRAYS
from run.programs import PROGRAMS as IN_LOOPS
import numpy as np
from package._runtime import kernel_library
from package._runtime.built_calls import OwnCode
from package._runtime.built_functions import BuiltFunction


class NoKernel(Exception):
    pass


def otherwise(*args, **kwargs):
    raise NoKernel


data = json.loads((home / "calls.json").read_text())
reason = kernel_library.why_unusable({}, data["result_module"])
if reason:
    sys.exit(reason)
programs = [*IN_LOOPS, *ON_ARRAYS]
own = OwnCode(lambda path: Path(path).name if "programs" in path else None, BuiltFunction)
agreed = unbound = 0
wrong = []
for entry in data["programs"]:
    program = programs[entry["number"]]
    function = program.function
    name = f"{function.__module__}.{function.__name__}"
    call = kernel_library.connect(entry, function, otherwise, own)
    unbound += call is None
    for n in entry["sizes"] if call else ():
        given = program.make(n, np.random.default_rng(n))
        want, got = outcome(function, given), outcome(call, given)
        if got.error is not None and got.error[0] is NoKernel:
            if want.error is None:
                wrong.append(f"{name} at {n}: left to Python")
        elif want.error != got.error or not same(tuple(want), tuple(got), program.ulps):
            wrong.append(f"{name} at {n}: {str(got)[:200]} in place of {str(want)[:200]}")
        else:
            agreed += 1
target = kernel_library.target_of(tuple(data["targets"]))
print(sys.platform, sys.version.split()[0], "numpy", np.__version__, target)
print(f"{len(data['programs'])} programs, {agreed} calls agreed, {len(wrong)} did not;",
      f"of {unbound} programs NumPy computes otherwise here")
print(*wrong[:40], sep="\\n")
sys.exit(bool(wrong))
'''


def kernels_of(
    targets: Sequence[Target], share: int
) -> tuple[list[Unit], list[dict[str, Any]]]:
    """The units of one program in `share`, and what `CHECK` needs to know of each."""
    own = OwnCode(lambda path: Path(path).name if "programs" in path else None, WrappedFunction)
    kernels: list[Unit] = []
    entries: list[dict[str, Any]] = []
    for number, program in enumerate(PROGRAMS):
        sizes = [n for n in program.sizes if n not in program.python_at]
        if number % share or not sizes:
            continue
        types = tuple(map(type_of, arguments(program, max(sizes))))
        try:
            unit = kernel_unit(program.function, types, Options(), targets, own)
            rows = build_package._call_rows(unit)
        except NotBuilt:
            continue
        names = {target: f"k{number}_{target}" for target in rows}
        kernels += (
            kernel_file(names[t.name], unit.texts[t.name], t, contract=False) for t in targets
        )
        entries.append({
            "number": number,
            "sizes": [n for n in sizes if tuple(map(type_of, arguments(program, n))) == types],
            "numpy": answers(unit.probes),
            "kernels": {t: [names[t], k] for k, t in enumerate(rows)},
            "calls": [*rows.values()],
        })
    return kernels, entries


def failures_of(platform: Platform, units: Sequence[Unit]) -> list[str]:
    """What the compiler says of the units that do not compile for `platform`."""
    compiler = find_cross_compiler(platform.triple)

    def failure(number: int) -> str | None:
        unit = units[number]
        try:
            _compiled(compiler, unit, folder, number)
        except BuildError as error:
            return f"{platform.name}, {unit.name}: {error}"
        return None

    with private_folder() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for text in pool.map(failure, range(len(units))) if text]


def write_programs(platform: Platform, folder: Path, share: int) -> int:
    """Write the library and all that `CHECK` needs to `folder`; returns the number of programs."""
    targets = library_targets(platform.machine)
    kernels, entries = kernels_of(targets, share)
    home = folder / "package" / "_runtime"
    home.mkdir(parents=True, exist_ok=True)
    for name, text in runtime_files().items():
        (home / name).write_text(text, encoding="utf-8")
    (home / library_name(platform.system)).write_bytes(
        built_library(library_units(kernels), platform)
    )
    (folder / "calls.json").write_text(json.dumps({
        "programs": entries, "result_module": result_module(),
        "targets": [target.name for target in targets],
    }))
    (folder / "check.py").write_text(CHECK)
    source, copy = TESTS / "programs" / "run", folder / "programs" / "run"
    shutil.copytree(source, copy, dirs_exist_ok=True)
    shutil.copy(TESTS / "support" / "agree.py", folder / "programs")
    ours = folder / "programs" / "transpile"  # what programs import of it
    ours.mkdir(exist_ok=True)
    (ours / "__init__.py").touch()
    shutil.copy(TESTS.parent / "transpile" / "ops.py", ours)
    shutil.copytree(TESTS.parent / "loopir", folder / "programs" / "loopir", dirs_exist_ok=True)
    return len(entries)


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.cross_programs")
    parser.add_argument("task", choices=("compile", "build"))
    parser.add_argument("words", nargs="*", metavar="PLATFORM … or PLATFORM DIR")
    parser.add_argument("--share", type=int, default=1, metavar="K")
    options = parser.parse_args(argv)
    if options.task == "build":
        name, folder = options.words
        platform = own_platform() if name == "own" else platform_named(name)
        print(write_programs(platform, Path(folder), options.share), "programs")
        return 0
    failed = False
    for platform in map(platform_named, options.words or PLATFORMS):
        units = library_units(kernels_of(library_targets(platform.machine), options.share)[0])
        texts = failures_of(platform, units)
        print(f"{platform.name}: {len(units) - len(texts)} of {len(units)} units compiled",
              *texts, sep="\n", flush=True)
        failed |= bool(texts)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
