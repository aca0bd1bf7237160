"""The call signatures that the command reports: seen, given, annotated, or guessed."""
from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Sequence

from ..dispatch.fused import Fused
from ..rejections import Refused
from ..report.report import Report
from ..source import read
from ..types import ArgType
from .typespec import parse_types, signature_of

__all__ = ["Case", "cases_of"]


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One function under one call signature; `assumed` tells which types are a guess."""

    function: Fused
    types: tuple[ArgType, ...]
    assumed: str | None = None

    @property
    def name(self) -> str:
        """The function's name within its module."""
        return self.function.__qualname__

    def report(self) -> Report:
        """What becomes of it."""
        report = self.function.report_for(self.types)
        return dataclasses.replace(report, assumed=self.assumed)

    def emit(self, stage: str) -> str:
        """The text of one stage. Raises FuseError where the function does not get so far."""
        return self.function.emit_for(stage, self.types)


def cases_of(found: Sequence[Fused], specs: Sequence[str], *, ran: bool) -> Iterator[Case]:
    """The cases of each function; ``ran``: they have just been called. Raises ValueError."""
    given = _given(found, specs)
    for function in found:
        if function in given:
            yield from (Case(function, types) for types in given[function])
        elif ran and function.signatures:
            yield from (Case(function, tuple(types)) for types in function.signatures)
        else:
            yield _guessed(function)


def _given(found: Sequence[Fused], specs: Sequence[str]) -> dict[Fused, list[tuple[ArgType, ...]]]:
    given: dict[Fused, list[tuple[ArgType, ...]]] = {}
    for spec in specs:
        name, types = parse_types(spec)
        function = _named(name, found)
        arity = len(inspect.signature(function).parameters)
        if arity != len(types):
            raise ValueError(f"--types: {name} takes {arity} arguments, {len(types)} given")
        given.setdefault(function, []).append(tuple(types))
    return given


def _named(name: str, found: Sequence[Fused]) -> Fused:
    """The function of this name, or of this name within its module."""
    called = [f for f in found if name in (f.__name__, f.__qualname__)]
    if len(called) == 1:
        return called[0]
    known = ", ".join(f.__qualname__ for f in called or found)
    raise ValueError(f"--types: {'more than one' if called else 'no'} function {name} ({known})")


def _guessed(function: Fused) -> Case:
    try:
        tree = read(function.__wrapped__).tree
    except Refused:  # the report says why
        return Case(function, ())
    signature = signature_of(function.__wrapped__, tree)
    return Case(function, tuple(signature.types.values()), signature.remark)
