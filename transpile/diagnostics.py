"""Diagnostics: `Refused`, the exception that carries a rejection, and `InlinedAt`, a helper's line.

`Rejection` is the record of why something is not compiled; it is defined in `loopir.rejection`. The
codes are listed in ``transpile.codes``.
"""
from __future__ import annotations

from dataclasses import field
from typing import Any

from loopir.lazy_dataclass import record
from loopir.rejection import HelperLine, Label, Rejection, family_of

__all__ = [
    "HelperLine", "InlinedAt", "Label", "Refused", "Rejection", "counted", "family_of",
]


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, for messages: ``1 loop``, ``2 loops``, ``0 axes``."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


@record(frozen=True, slots=True)
class InlinedAt:
    """The line of a helper function that inlined code came from (LLVM: ``inlinedAt``)."""

    name: str
    """The name of the helper."""
    path: str
    """The file of the helper."""
    line: int
    function: Any
    """The helper; None for a local function of the caller."""
    open_calls: tuple[tuple[object, tuple[object, ...]], ...] = field(default=(), compare=False)
    """The calls that the code stands in, with that of the helper, the innermost last: as
    `frontend.inline.inlining_state.Inlining.open_calls`.
    """


class Refused(Exception):
    """Carries a Rejection from the code that cannot be compiled to where the compiler can go on
    without it: for example a trial that is undone (`ir_builder.Trial`), and at last the runtime,
    which lets Python run the function or the outlined region.

    The rejection's code must be a key of ``CODES``. ``inlined_at``: the helper's line that caused
    it; None for code of the function itself.
    """

    def __init__(self, rejection: Rejection, inlined_at: InlinedAt | None = None) -> None:
        from .codes import CODES  # not needed by calls of kernels that are in the disk cache

        assert rejection.code in CODES, f"unknown code {rejection.code}"
        super().__init__(f"{rejection.code}: {rejection.message}")
        self.rejection = rejection
        self.inlined_at = inlined_at
