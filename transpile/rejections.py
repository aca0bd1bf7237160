"""What is refused, as data: a code, a sentence, and the places in the user's file it speaks of.

``message`` is one lower-case sentence without a full stop that stands alone and speaks of the
user's own names; ``note`` states a fact; only ``help`` suggests. Spans are the smallest that show
the cause.
"""
from __future__ import annotations

from loopir.nodes import Span
from loopir.record import record

from .codes import CODES, Code

__all__ = ["CODES", "Code", "Label", "Refused", "Rejection"]


@record(frozen=True, slots=True)
class Label:
    """A second place that a rejection speaks of; without a text its line is shown and no more."""

    span: Span
    text: str = ""


@record(frozen=True, slots=True)
class Rejection:
    """Why something was not fused, not vectorised, not compiled, or handed back to Python.

    ``code`` is a key of ``CODES``. ``span`` is the main place, under which ``message`` is written
    (None where there is none, a missing compiler for one); ``labels`` are further places.
    """

    code: str
    message: str
    span: Span | None = None
    labels: tuple[Label, ...] = ()
    note: str | None = None
    help: str | None = None

    def __post_init__(self) -> None:
        assert self.code in CODES, f"{self.code} is not in CODES"

    @property
    def line(self) -> int | None:
        """The line in the user's file, counted from 1."""
        return None if self.span is None else self.span.line


class Refused(Exception):
    """Carries a Rejection from where it is found to the boundary of its region.

    ``place``: that of the code to blame, as `places.place_of` has it.
    """

    def __init__(self, rejection: Rejection, place: int = 0) -> None:
        super().__init__(f"{rejection.code}: {rejection.message}")
        self.rejection = rejection
        self.place = place
