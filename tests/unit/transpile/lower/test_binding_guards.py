"""Whatever free name is bound anew after compiling, the next call notices."""
from __future__ import annotations

import builtins
import random
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from run.arrays import PROGRAMS as ON_ARRAYS
from run.programs import PROGRAMS as IN_LOOPS
from run.programs import Program

from transpile import fuse


def other(*args: Any, **kwargs: Any) -> Any:
    """Stands for what a name means now."""
    raise LookupError("bound anew")


def free_names(function: FunctionType) -> dict[str, Any]:
    """The functions, types and modules that `function` finds around it."""
    found = {n: vars(builtins).get(n) for n in function.__code__.co_names} | {
        n: function.__globals__[n] for n in function.__code__.co_names if n in function.__globals__
    }
    return {n: v for n, v in found.items() if callable(v) or isinstance(v, ModuleType)}


def rebound(value: Any, used: tuple[str, ...]) -> Any:
    """Another object in its place; a module of which the functions that are used are others."""
    if not isinstance(value, ModuleType):
        return other
    module = ModuleType(value.__name__)
    vars(module).update(vars(value))
    for name in used:
        if callable(getattr(value, name, None)) and not isinstance(getattr(value, name), type):
            setattr(module, name, other)
    return module


def own_world(program: Program) -> FunctionType | None:
    """The program's function with globals of its own."""
    f = program.function
    assert isinstance(f, FunctionType)
    if f.__closure__:
        return None
    made = FunctionType(f.__code__, dict(f.__globals__), f.__name__, f.__defaults__)
    made.__kwdefaults__, made.__qualname__ = f.__kwdefaults__, f.__qualname__
    return made


def judge(program: Program) -> int:
    """How many names were bound anew, under machine code."""
    count = 0
    for name in free_names(own_world(program) or (lambda: None)):
        function = own_world(program)
        assert function is not None
        fused = fuse(function, on_reject="silent", reassociate=False)
        args = program.make(7, np.random.default_rng(7))
        assert_same(outcome(fused, args), outcome(function, args), program.label, program.ulps)
        answered = fused.stats.compiled > 0
        value = free_names(function)[name]
        function.__globals__[name] = rebound(value, function.__code__.co_names)
        wanted, got = outcome(function, args), outcome(fused, args)
        assert_same(got, wanted, f"{program.label} after {name}", program.ulps)
        count += answered
    return count


PROGRAMS = [p for p in (*IN_LOOPS, *ON_ARRAYS) if not p.long]


def test_names_bound_anew(start: int) -> None:
    chosen = random.Random(start).sample(PROGRAMS, 10)
    assert sum(map(judge, chosen)) > 10


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.label)
def test_each_name_of_each_program_bound_anew(program: Program) -> None:
    judge(program)
