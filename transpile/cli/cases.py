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
        name = function.__name__
        if name in given:
            yield from (Case(function, types) for types in given[name])
        elif ran and function.signatures:
            yield from (Case(function, tuple(types)) for types in function.signatures)
        else:
            yield _guessed(function)


def _given(found: Sequence[Fused], specs: Sequence[str]) -> dict[str, list[tuple[ArgType, ...]]]:
    wanted = {function.__name__: function for function in found}
    given: dict[str, list[tuple[ArgType, ...]]] = {}
    for spec in specs:
        name, types = parse_types(spec)
        if name not in wanted:
            raise ValueError(f"--types: no function {name} (known: {', '.join(wanted)})")
        arity = len(inspect.signature(wanted[name]).parameters)
        if arity != len(types):
            raise ValueError(f"--types: {name} takes {arity} arguments, {len(types)} given")
        given.setdefault(name, []).append(tuple(types))
    return given


def _guessed(function: Fused) -> Case:
    try:
        tree = read(function.__wrapped__).tree
    except Refused:  # the report says why
        return Case(function, ())
    signature = signature_of(function.__wrapped__, tree)
    return Case(function, tuple(signature.types.values()), signature.remark)
