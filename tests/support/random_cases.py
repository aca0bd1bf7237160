"""A random program on random arguments: Python's outcome, and a comparison with another one."""
from __future__ import annotations

import ast
import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from choices import Choices
from hypothesis import strategies as st
from nearness import MARKS, Nudge, close, unmarked
from random_arguments import Arguments, arguments
from random_programs import TEMPORARY, Program, program
from written import written

__all__ = ["MODES", "RandomCase", "Ran", "Wanted", "random_cases", "ran"]

HEADER = "import math\n\nimport numpy as np\n\n\n"
MODES: dict[str, dict[str, Any]] = {
    "ignore": {"all": "ignore"},
    "warn": {},
    "raise": {"all": "raise"},
}
"""Error states by name; "warn" is NumPy's own."""


class Ran(NamedTuple):
    """What a call gave, what its memory holds afterwards, and which warnings it showed."""

    value: Any
    error: tuple[type, str] | None
    memory: tuple[Any, ...]
    warned: frozenset[tuple[type, str]]


Make: TypeAlias = "Callable[[], tuple[tuple[Any, ...], tuple[Any, ...]]]"
"""Gives fresh arguments, and the memory that they lie in."""


def ran(function: Callable[..., Any], make: Make, mode: str) -> Ran:
    """`function` called on fresh arguments."""
    args, memory = make()
    value, error = None, None
    with np.errstate(**MODES[mode]), warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            value = function(*args)
        except Exception as e:
            error = type(e), str(e)
    warned = frozenset((w.category, str(w.message)) for w in shown)
    return Ran(_placed(value, args), error, memory, warned)


def _placed(value: Any, args: tuple[Any, ...]) -> Any:
    """An array that is an argument, by its place: identity counts."""
    if isinstance(value, np.ndarray):
        return next((f"argument {k}" for k, a in enumerate(args) if a is value), value)
    return tuple(_placed(v, args) for v in value) if type(value) is tuple else value


@dataclass
class RandomCase:
    """A program, its arguments, and the options it is compiled with."""

    program: Program
    given: Arguments
    options: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.source}\n{self.given}\n{self.options}"

    @cached_property
    def source(self) -> str:
        return unmarked(self.program.text)

    @cached_property
    def in_place(self) -> bool:
        """Whether it changes its arguments, so that it cannot run again for its warnings."""
        places = (n for n in ast.walk(ast.parse(self.source)) if isinstance(n, ast.Subscript))
        stored = (ast.unparse(n) for n in places if isinstance(n.ctx, ast.Store))
        names = {text.partition("[")[0] for text in stored}
        return not names.isdisjoint(name for name, _ in self.program.params)

    @cached_property
    def unused(self) -> bool:
        """Whether it may compute what it does not use."""
        names = [n for n in ast.walk(ast.parse(self.source)) if isinstance(n, ast.Name)]
        read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
        return any(n.id not in read or n.id.startswith(TEMPORARY) for n in names)

    def function(self, folder: Path) -> Any:
        """The program as a function of a module that was written to `folder`."""
        return written(folder, HEADER + self.source).f

    def wanted(self, function: Any, mode: str) -> Wanted:
        """What Python does."""
        base = ran(function, self.given.make, mode)
        return Wanted(base, self._nudged(mode), self.in_place, self.unused)

    def _nudged(self, mode: str) -> list[tuple[Ran, Nudge]]:
        if not any(mark in self.program.text for mark in MARKS):
            return []
        code = compile(self.program.text, "marked", "exec")
        directions: list[Iterator[int]] = [
            itertools.repeat(1), itertools.repeat(-1), itertools.cycle((1, -1, -1)),
            itertools.cycle((-1, 1)),
        ]
        out = []
        for signs in directions:
            nudge = Nudge(signs, self.options["reassociate"])
            names: dict[str, Any] = {"np": np, "math": math, **nudge.names()}
            exec(code, names)
            out.append((ran(names["f"], self.given.make, mode), nudge))
        return out


class Wanted:
    """Python's own outcome, and those with what is free nudged."""

    def __init__(
        self,
        base: Ran,
        nudged: list[tuple[Ran, Nudge]],
        in_place: bool = False,
        unused: bool = False,
    ) -> None:
        self.base, self.others = base, [run for run, _ in nudged] or [base]
        self.in_place, self.unused = in_place, unused
        self.known = not any(nudge.wild for _, nudge in nudged)
        self.known &= all(run.error == base.error for run in self.others)
        warned = all(run.warned == base.warned for run in self.others)
        self.warnings_known = warned and not any(nudge.special for _, nudge in nudged)

    def difference(self, got: Ran) -> str | None:
        """How `got` is not what Python gives, None where it may be."""
        if not self.known:
            return None
        if self.unused and self.base.error and self.base.error[0] is FloatingPointError:
            return None  # perhaps for what is not used
        if got.error != self.base.error:
            return f"raised {got.error}, not {self.base.error}"
        if close(got.value, self.base.value, [o.value for o in self.others]) is False:
            return f"gave {got.value!r}\nnot  {self.base.value!r}"
        if close(got.memory, self.base.memory, [o.memory for o in self.others]) is False:
            return f"left {got.memory!r}\nnot  {self.base.memory!r}"
        if self.warnings_known and not self._warns_as(got):
            return f"warned {set(got.warned)}\nnot    {set(self.base.warned)}"
        return None

    def _warns_as(self, got: Ran) -> bool:
        """Programs that work in place promise the classes of their warnings only."""
        a, b = got.warned, self.base.warned
        if self.in_place:
            a, b = (frozenset((c, m.partition(" encountered")[0]) for c, m in s) for s in (a, b))
        return a <= b if self.unused else a == b


def random_case(program_tape: bytes, other_tape: bytes) -> RandomCase:
    """The case that two tapes describe."""
    made, choices = program(program_tape), Choices(other_tape)
    options = {"reassociate": not choices.chance(4), "fusion": not choices.chance(5)}
    return RandomCase(made, arguments(other_tape[2:], made.params), options)


def random_cases() -> st.SearchStrategy[RandomCase]:
    """Programs of all sizes, which shrink to small ones."""
    return st.builds(
        random_case, st.binary(min_size=400, max_size=400), st.binary(min_size=40, max_size=40)
    )
