"""Lines of the user's file with marks under them."""
from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from loopir.nodes import Span
from loopir.record import record

from .rows import Row, row

__all__ = ["Mark", "excerpt"]

_NEAR = 1  # up to this many lines between two marked ones are shown, more become an ellipsis


@record(frozen=True, slots=True)
class Mark:
    """What is written under a span; nothing is, where there is no text."""

    span: Span
    text: str
    style: str


def excerpt(lines: Mapping[int, str], marks: Sequence[Mark]) -> list[Row]:
    """The marked lines of `lines` (numbered from 1), a row under a line for each of its marks."""
    shown = _shown({m.span.line for m in marks} & set(lines), lines)
    gutter = max((len(str(number)) for number in shown), default=0) + 3
    rows: list[Row] = []
    before = None
    for number in shown:
        if before is not None and number > before + 1:
            rows.append(row(("⋮".rjust(gutter), "gutter")))
        rows.append(row((f"{number:>{gutter}} │ ", "gutter"), _expanded(lines[number])))
        for mark in sorted((m for m in marks if m.span.line == number), key=_column):
            rows.extend(_under(lines[number], mark, gutter))
        before = number
    return rows


def _shown(marked: set[int], lines: Mapping[int, str]) -> list[int]:
    """Marked lines and what lies in short gaps between them."""
    wanted = sorted(marked)
    between = {
        n
        for a, b in pairwise(wanted)
        if b - a - 1 <= _NEAR
        for n in range(a + 1, b)
    }
    return sorted(marked | (between & set(lines)))


def _column(mark: Mark) -> int:
    return mark.span.col


def _under(text: str, mark: Mark, gutter: int) -> Iterator[Row]:
    if not mark.text:
        return
    start, stop = _columns(text, mark.span)
    pad = " " * start
    bar = " " * gutter + " │ "
    line = "─" * max(1, stop - start) + "  "
    yield row((bar, "gutter"), pad, (line, mark.style), (mark.text, mark.style))


def _columns(line: str, span: Span) -> tuple[int, int]:
    """Where on the screen `span` starts and stops on its first line.

    Columns of ``ast`` count UTF-8 bytes; on the screen a tab is four columns and some characters
    are two.
    """
    raw = line.encode()
    end = span.end_col if span.end_line == span.line else len(line.rstrip().encode())
    start, stop = (_width(raw[:col].decode(errors="ignore")) for col in (span.col, end))
    return start, stop


def _width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    narrow = sum(bool(unicodedata.combining(c)) for c in text)
    return len(_expanded(text)) + wide - narrow


def _expanded(line: str) -> str:
    return line.rstrip("\r\n").replace("\t", "    ")
