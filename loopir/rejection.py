"""Rejections: why loops were not joined, a loop was not vectorised, or code was left to Python.

A rejection is data. ``message`` is one lower-case sentence without a full stop that stands alone
and speaks of the user's own names; ``note`` states a fact; only ``help`` suggests. Spans are the
smallest that show the cause. Every package reports with this one record; the codes are listed in
``transpile.codes``.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_dataclass import record

if TYPE_CHECKING:
    from .nodes import Span

__all__ = ["HelperLine", "Label", "Rejection", "family_of"]


def family_of(code: str) -> str:
    """The family of a diagnostic code, its first word: "LOWER" of "LOWER_CALL"."""
    return code.partition("_")[0]


@record(frozen=True, slots=True)
class Label:
    """A secondary location of a rejection; without ``text`` only its line is shown."""

    span: Span
    text: str = ""


@record(frozen=True, slots=True)
class HelperLine:
    """The line of an inlined helper that caused a rejection, whose span is that of the call."""

    name: str
    """The name of the helper."""
    path: str
    line: int

    def __str__(self) -> str:
        return f"in `{self.name}`, {self.path}:{self.line}"


@record(frozen=True, slots=True)
class Rejection:
    """Why something was not fused, not vectorised, not compiled, or handed back to Python.

        Rejection("LOWER_TYPE", "`s` is a str, and no number", span of ``s``, help="…")

    Fusion and the passes return it, `refuse` raises it in `Refused`, the runtime keeps it in the
    specialization; `refusal_causes` and `remark_selection` choose what a report shows.

    ``code`` is a key of ``transpile.codes.CODES``. ``span`` is the primary location, under which
    ``message`` is shown (None where there is none, e.g. a missing compiler); ``labels`` are further
    locations. The labels of a ``VECTOR_*`` rejection are the elements that the message names, in
    its order. Of a ``FUSE_*`` rejection ``span`` is the second loop, ``first`` the loop that it was
    not joined to, and ``bytes_saved`` how many bytes of memory traffic joining would save for each
    element. ``helper`` is the line of the inlined helper that caused it, None for code of the
    function itself; ``note`` names it, too.
    """

    code: str
    message: str
    span: Span | None = None
    labels: tuple[Label, ...] = ()
    note: str | None = None
    help: str | None = None
    first: Span | None = None
    bytes_saved: int = 0
    helper: HelperLine | None = None

    @property
    def family(self) -> str:
        """The family of the code: "LOWER", "GUARD", "FUSE", "VECTOR", "SOURCE", … (`family_of`)."""
        return family_of(self.code)

    @property
    def line(self) -> int | None:
        """The line in the user's file, counted from 1."""
        return None if self.span is None else self.span.line
