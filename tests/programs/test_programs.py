"""Programs: Python == core Python == the IR after every pass == C on every target, for many sizes.

Nothing passes by falling back to Python: where Python has to answer, the program says so.
"""
from __future__ import annotations

import ast
from inspect import getclosurevars
from zlib import crc32

import pytest
from agree import assert_same, outcome
from native import RUNNABLE
from program_runs import PROGRAMS, agrees, arguments, stages_of, wanted
from run.programs import Program
from staged import emulated, in_parts, interpreted, through
from tally import AGREED

from targets.isa.target_registry import runnable_targets
from transpile import fuse, ops

NATIVE = [t.name for t in runnable_targets()]
LONGEST = 130
"""The interpreter takes its time: it runs no larger sizes, and of the smaller ones every second."""

each_program = pytest.mark.parametrize(
    "program",
    [pytest.param(p, id=p.label, marks=[pytest.mark.long] if p.long else []) for p in PROGRAMS],
)
on_each_target = pytest.mark.parametrize(
    ("program", "target"),
    [
        pytest.param(
            p, t, id=f"{p.label}-{t}",
            marks=[pytest.mark.long] if p.long or crc32(p.label.encode()) % len(NATIVE) - k else [],
        )
        for p in PROGRAMS for k, t in enumerate(NATIVE)
    ],
)
"""A plain run compiles every third program, for one target."""


@pytest.mark.share(8)
@each_program
def test_core_python(program: Program) -> None:
    for n in program.sizes:
        stages, _ = stages_of(program, n)
        names = {"_ops": ops, **program.function.__globals__}
        names |= getclosurevars(program.function).nonlocals
        exec(compile(ast.Module([stages.python], []), "core Python", "exec"), names)
        got = outcome(names[program.function.__name__], arguments(program, n))
        assert_same(got, wanted(program, n), f"core Python at {n}", program.ulps)
        AGREED["core-python"] += 1


@pytest.mark.share(16)
@each_program
def test_interpreted_after_every_pass(program: Program) -> None:
    for n in [n for n in program.sizes[::2] if n <= LONGEST]:
        stages, plan = stages_of(program, n)
        fused = stages.plan
        kernels = [("lowered", plan, plan.kernel), ("fused", fused, fused.kernel)]
        kernels += [(name, fused, kernel) for name, kernel in stages.passes]
        for name, of, kernel in kernels:
            call = through(stages, of, kernel, interpreted(kernel))
            agrees(program, n, f"interpreter after {name}", outcome(call, arguments(program, n)))


@pytest.mark.share(3)
@on_each_target
def test_compiled(program: Program, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(program.function, target=target)
    for n in program.sizes:
        agrees(program, n, target, outcome(fused, arguments(program, n)))
    assert fused.stats.compiled == len(program.sizes) - len(program.python_at)
    assert fused.stats.replays == {}
    assert not in_parts(fused)


@pytest.mark.skipif("neon" not in RUNNABLE, reason="needs an ARM compiler and an emulator")
@pytest.mark.skipif("neon" in NATIVE, reason="runs without emulation")
@pytest.mark.share(16)
@each_program
def test_emulated(program: Program) -> None:
    for n in program.sizes:
        stages, _ = stages_of(program, n)
        call = through(stages, stages.plan, stages.vector, emulated(stages.vector, "neon"))
        agrees(program, n, "neon", outcome(call, arguments(program, n)))


@each_program
def test_python_answers_where_it_raises(program: Program) -> None:
    fused = fuse(program.function, target="scalar")
    for n in program.python_at:
        assert_same(outcome(fused, arguments(program, n)), wanted(program, n), f"replay at {n}")


def test_there_are_enough() -> None:
    assert len({p.function for p in PROGRAMS}) >= 48
    assert len({p.label for p in PROGRAMS}) == len(PROGRAMS)
