"""Programs: Python == core Python == the IR after every pass == C on every target, for many sizes.

Nothing passes by falling back to Python: where Python has to answer, the program says so.

A plain run takes one function of the programs in four as core Python, one in 22 compiled for one
target, and one in 45 interpreted after every pass. ``--more`` has the other functions.
"""
from __future__ import annotations

import ast
from inspect import getclosurevars
from zlib import crc32

import pytest
from agree import assert_same, outcome
from native import RUNNABLE
from program_runs import PROGRAMS, agrees, arguments, core_python_of, stages_of, wanted
from run.programs import Program
from staged import emulated, in_parts, interpreted, through
from tally import AGREED

from targets.isa.target_registry import runnable_targets
from transpile import core_functions, fuse

NATIVE = [t.name for t in runnable_targets()]
LONGEST = 65
"""The interpreter takes its time: it runs no larger sizes, and of the smaller ones every second."""

WAYS = (*["core Python"] * 42, "interpreted", *["compiled"] * 2)
FIRST = {p.function: p for p in reversed(PROGRAMS) if not p.long}
"""The first program of each function."""


def _way(program: Program) -> str:
    """How a plain run takes the program, if it is its function's first; else, and for three
    functions in four that are only run as core Python, nothing.
    """
    chance, first = crc32(program.label.encode()), FIRST.get(program.function) is program
    way = WAYS[chance % len(WAYS)] if first else ""
    return "" if way == "core Python" and chance // len(WAYS) % 4 else way


def _target(program: Program) -> str:
    """The target for which a plain run compiles the program."""
    return NATIVE[crc32(program.label.encode()) // len(WAYS) % len(NATIVE)]


def _marks(program: Program, plain: bool) -> list[pytest.MarkDecorator]:
    return [pytest.mark.long] if program.long else [pytest.mark.plain] if plain else []


def _each_program(way: str) -> pytest.MarkDecorator:
    cases = [pytest.param(p, id=p.label, marks=_marks(p, _way(p) == way)) for p in PROGRAMS]
    return pytest.mark.parametrize("program", cases)


each_program = _each_program("any")
on_each_target = pytest.mark.parametrize(
    ("program", "target"),
    [
        pytest.param(
            p, t, id=f"{p.label}-{t}", marks=_marks(p, _way(p) == "compiled" and t == _target(p))
        )
        for p in PROGRAMS for t in NATIVE
    ],
)


@pytest.mark.share(2000, rest=True)
@_each_program("core Python")
def test_core_python(program: Program) -> None:
    for n in program.sizes:
        names = {"_core": core_functions, **program.function.__globals__}
        names |= getclosurevars(program.function).nonlocals
        tree = core_python_of(program, n)
        exec(compile(ast.Module([tree], []), "core Python", "exec"), names)
        got = outcome(names[program.function.__name__], arguments(program, n))
        assert_same(got, wanted(program, n), f"core Python at {n}", program.ulps)
        AGREED["core-python"] += 1


@pytest.mark.share(2000)
@_each_program("interpreted")
def test_interpreted_after_every_pass(program: Program) -> None:
    for n in [n for n in program.sizes[::2] if n <= LONGEST]:
        stages, plan = stages_of(program, n)
        fused = stages.plan
        kernels = [("lowered", plan, plan.kernel), ("fused", fused, fused.kernel)]
        kernels += [(name, fused, kernel) for name, kernel in stages.passes]
        for name, of, kernel in kernels:
            call = through(stages, of, kernel, interpreted(kernel))
            agrees(program, n, f"interpreter after {name}", outcome(call, arguments(program, n)))


@pytest.mark.users_flags
@pytest.mark.share(10000)
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
@pytest.mark.share(400)
@each_program
def test_emulated(program: Program) -> None:
    for n in program.sizes:
        stages, _ = stages_of(program, n)
        call = through(stages, stages.plan, stages.kernel, emulated(stages.kernel, "neon"))
        agrees(program, n, "neon", outcome(call, arguments(program, n)))


@pytest.mark.share(44)
@each_program
def test_python_answers_where_it_raises(program: Program) -> None:
    fused = fuse(program.function, target="scalar")
    for n in program.python_at:
        assert_same(outcome(fused, arguments(program, n)), wanted(program, n), f"replay at {n}")


def test_there_are_enough() -> None:
    assert len({p.function for p in PROGRAMS}) >= 48
    assert len({p.label for p in PROGRAMS}) == len(PROGRAMS)
