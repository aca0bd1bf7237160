"""Random programs on complex numbers: Python == the interpreter == C, bit by bit.

Folds keep Python's order. Programs that fall back to Python are counted: too many fail the run.
"""
from __future__ import annotations

import linecache
import re
from random import Random
from typing import Any

import numpy as np
import pytest
from agree import same
from at_length import example_count
from random_cases import Ran, ran
from random_complexes import arguments, program
from staged import Replayed, interpreted, through

from targets.isa.target_registry import runnable_targets
from transpile import fuse
from transpile.diagnostics import Refused
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import parameter_names, type_of

NATIVE = [t.name for t in runnable_targets()]
ENOUGH = 0.5
"""The share of random programs that must compile."""


def made(text: str, number: int) -> Any:
    """The function of `text`, its source to be found."""
    path, names = f"<complexes {number}>", {"np": np}
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    exec(compile(text, path, "exec"), names)
    return names["f"]


def agrees(number: int, *, stages: bool) -> bool:
    """Whether random program `number` is answered by machine code; Python's answer it is anyway."""
    text, seed = program(Random(number)), number
    function, target = made(text, number), NATIVE[number % len(NATIVE)]
    fused = fuse(function, target=target, on_reject="silent", reassociate=False)

    def given() -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        args = arguments(Random(seed))
        return args, args[:3]

    for mode in ("ignore", "warn"):
        wanted, got = ran(function, given, mode), ran(fused, given, mode)
        where = f"{target}, {mode}, program {number}:\n{text}\n{given()[0]}"
        check(got, wanted, where)
        classes = [{m.partition(" encountered")[0] for _, m in r.warned} for r in (got, wanted)]
        in_place = re.search(r"^ *[zwx]\[i\] .?=", text, re.MULTILINE)
        # less for what is not used; in place, it may take Python's own floats for NumPy's
        assert in_place or classes[0] <= classes[1], f"{where}: warns {classes}"
    assert "BUILD_FAILED" not in fused.stats.replays, text
    if stages and fused.stats.compiled:
        by_stages(function, given, f"interpreted, program {number}:\n{text}\n{given()[0]}")
    return fused.stats.compiled > 0


def by_stages(function: Any, given: Any, where: str) -> None:
    types = dict(zip(parameter_names(function.__code__), map(type_of, given()[0]), strict=True))
    try:
        stages = compile_stages(function, types, Options(reassociate=False))
    except Refused:
        return
    call = through(stages, stages.plan, stages.kernel, interpreted(stages.kernel))
    got = ran(call, given, "ignore")
    if got.error is None or not issubclass(got.error[0], Replayed):
        check(got, ran(function, given, "ignore"), where)


def check(got: Ran, wanted: Ran, where: str) -> None:
    """The same bits; lists of floats hold sizes, whose last bits are free."""
    assert got.error == wanted.error, f"{where}: raised {got.error}, not {wanted.error}"
    assert same(got.memory, wanted.memory), f"{where}: left {got.memory}, not {wanted.memory}"
    if wanted.error is None:
        assert len(got.value) == len(wanted.value)
        for a, b in zip(got.value, wanted.value, strict=True):
            sizes = type(b) is list and b and isinstance(b[0], float | np.float32)
            assert same(a, b, 8 if sizes else 0), f"{where}: gave {a!r}, not {b!r}"


def test_random_programs(request: pytest.FixtureRequest, start: int) -> None:
    count = example_count(request.config, 6, 2000)
    first = start * count
    done = [agrees(first + k, stages=k % 5 == 0) for k in range(count)]
    assert sum(done) >= ENOUGH * len(done)
