"""The programs of `tests/programs/run`, called as in a package that was built ahead of time."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agree import assert_same, outcome
from program_runs import PROGRAMS, arguments, wanted
from run.programs import Program

from targets.isa.target_registry import best_target
from transpile.ahead import build_package, fat_library, kernel_library
from transpile.ahead.built_calls import OwnCode
from transpile.ahead.kernel_units import KernelUnit, NotBuilt, kernel_unit
from transpile.ahead.platforms import own_platform
from transpile.options import Options
from transpile.types.typeof import type_of
from transpile.types.value_types import WrappedFunction

PARTS = 40
"""One part runs in a plain run; each is one library."""
BY_VALUES = {"bins-down"}
"""Programs whose kernel depends on values, such as whether edges rise or fall: a package has that
for the other ones."""
LEAST_BUILT = 0.6
"""Of the programs of a part."""

OWN = OwnCode(lambda path: path, WrappedFunction)


class NoKernel(Exception):
    """A call that the kernel has passed on, or after which Python would replay it."""


def otherwise(*args: object, **kwargs: object) -> None:
    raise NoKernel


def built(programs: list[Program]) -> list[tuple[Program, KernelUnit]]:
    """Those of the `programs` that can be built, for the types of their largest size."""
    found = []
    for program in programs:
        sizes = [n for n in program.sizes if n not in program.python_at]
        if sizes:
            types = tuple(map(type_of, arguments(program, max(sizes))))
            try:
                unit = kernel_unit(program.function, types, Options(), (best_target(),), OWN)
                build_package._call_rows(unit)
                found.append((program, unit))
            except NotBuilt:
                pass
    return found


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, PARTS))]
)
def test_programs_of_a_library(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = PROGRAMS[part::PARTS]
    pairs = built(programs)
    assert len(pairs) >= LEAST_BUILT * len(programs)
    kernels, _ = build_package._numbered(
        [unit for _, unit in pairs], (best_target(),), OWN.file_of
    )
    library = tmp_path / "kernels.so"
    units = fat_library.library_units(kernels)
    library.write_bytes(fat_library.built_library(units, own_platform()))
    monkeypatch.setattr(kernel_library, "LIBRARY", str(library))
    kernel_library.opened.cache_clear()
    calls = 0
    for number, (program, unit) in enumerate(pairs):
        rows = build_package._call_rows(unit)
        entry: dict[str, Any] = json.loads(json.dumps({
            "numpy": unit.probes,
            "kernels": {target: [f"k{number}_{target}", 0] for target in rows},
            "calls": [*rows.values()],
        }))
        call = kernel_library.connect(entry, program.function, otherwise, OWN)
        name = program.function.__name__
        assert call is not None, name
        for n in program.sizes:
            if n in program.python_at or tuple(map(type_of, arguments(program, n))) != unit.types:
                continue
            got = outcome(call, arguments(program, n))
            if got.error is not None and got.error[0] is NoKernel:
                is_left = program.label in BY_VALUES or wanted(program, n).error is not None
                assert is_left, f"{name} at {n}: left to Python"
                continue
            assert_same(got, wanted(program, n), f"{name} at {n}", program.ulps)
            calls += 1
    assert calls > len(pairs)
