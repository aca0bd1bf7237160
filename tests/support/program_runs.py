"""Every program of `tests/programs/run`: its arguments, its stages, and the results of Python."""
from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from agree import Outcome, assert_same, outcome
from run.arrays import PROGRAMS as ON_ARRAYS
from run.programs import PROGRAMS as IN_LOOPS
from run.programs import Program
from staged import Replayed
from tally import AGREED

from transpile.call_plan import Plan
from transpile.diagnostics import Refused
from transpile.errors import FuseError
from transpile.frontend.specialize.value_specialization import string_signature
from transpile.options import Options
from transpile.pipeline import Compilation, compile_stages
from transpile.types.typeof import parameter_names, type_of
from transpile.types.value_types import ArgType

PROGRAMS = [*IN_LOOPS, *ON_ARRAYS]


def arguments(program: Program, n: int) -> tuple[Any, ...]:
    return program.make(n, np.random.default_rng(n))


@cache
def wanted(program: Program, n: int) -> Outcome:
    """What plain Python does."""
    return outcome(program.function, arguments(program, n))


def agrees(program: Program, n: int, what: str, got: Outcome) -> None:
    """`got` is Python's answer; or, at the sizes where the program says so, none."""
    if n in program.python_at:
        assert got.error is not None, f"{what} at {n}: an answer where Python raises"
        assert issubclass(got.error[0], (Replayed, FuseError)), f"{what} at {n}: {got.error}"
    else:
        assert_same(got, wanted(program, n), f"{what} at {n}", program.ulps)
    AGREED[what.partition(" ")[0]] += 1


@cache
def _stages(function: Callable[..., Any], types: tuple[Any, ...]) -> tuple[Compilation, Plan]:
    """All stages, and the plan before fusion."""
    names = parameter_names(function.__code__)
    by_name = dict(zip(names, types, strict=True))
    stages = compile_stages(function, by_name, Options())
    return stages, stages.lowered


def stages_of(program: Program, n: int) -> tuple[Compilation, Plan]:
    return _stages(program.function, _types(program, n))


def _types(program: Program, n: int) -> tuple[ArgType, ...]:
    """The types of the arguments; of strs, as the function uses them."""
    types = tuple(map(type_of, arguments(program, n)))
    names = parameter_names(program.function.__code__)
    return string_signature(types, names, program.function, {})


@cache
def _core_python(function: Callable[..., Any], types: tuple[Any, ...]) -> ast.FunctionDef:
    """Core Python that can be run; of a function that lowering refuses, as the macros left it."""
    by_name = dict(zip(parameter_names(function.__code__), types, strict=True))
    try:
        return compile_stages(function, by_name, Options(), stop_after="capture").python
    except Refused:
        return compile_stages(function, by_name, Options(), stop_after="check_fold_order").tree


def core_python_of(program: Program, n: int) -> ast.FunctionDef:
    return _core_python(program.function, _types(program, n))
