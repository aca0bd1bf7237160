"""Rows of styled pieces: laid out once, shown as plain text, with colours, or as HTML."""
from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["STYLES", "Piece", "Row", "as_html", "as_plain", "as_rich", "row"]


class Look(NamedTuple):
    """What a style is on a terminal and in a browser."""

    rich: str
    css: str


STYLES: dict[str, Look] = {
    "": Look(rich="", css=""),
    "title": Look(rich="bold", css="font-weight:bold"),
    "code": Look(rich="bold red", css="font-weight:bold;color:#c0392b"),
    "place": Look(rich="cyan", css="color:#16808a"),
    "gutter": Look(rich="dim", css="opacity:.6"),
    "mark": Look(rich="bold red", css="font-weight:bold;color:#c0392b"),
    "second": Look(rich="bold blue", css="font-weight:bold;color:#2c5fa8"),
    "good": Look(rich="green", css="color:#2e8540"),
    "bad": Look(rich="red", css="color:#c0392b"),
    "hint": Look(rich="bold", css="font-weight:bold"),
    "faint": Look(rich="dim", css="opacity:.6"),
}


class Piece(NamedTuple):
    """A stretch of text in one style, a key of ``STYLES``."""

    text: str
    style: str = ""


Row = tuple[Piece, ...]


def row(*parts: str | tuple[str, str]) -> Row:
    """A row of plain strings and ``(text, style)`` pairs."""
    return tuple(Piece(p) if isinstance(p, str) else Piece(*p) for p in parts)


def as_plain(rows: Iterable[Sequence[Piece]]) -> str:
    """The text alone, no trailing blanks, no newline at the end."""
    return "\n".join("".join(piece.text for piece in r).rstrip() for r in rows)


def as_rich(rows: Iterable[Row], width: int) -> Iterator[Text]:
    """``rich`` texts that the console colours where it can, folded at `width` columns."""
    from rich.text import Text

    for r in rows:
        for line in _folded(r, width):
            styled = ((piece.text, STYLES[piece.style].rich) for piece in line)
            yield Text.assemble(*styled, no_wrap=True, overflow="fold")


def _folded(r: Row, width: int) -> list[Row]:
    """The row with its last piece broken at words, the rest of it hanging under its beginning."""
    if sum(len(piece.text) for piece in r) <= width:
        return [r]
    *head, last = r
    column = sum(len(piece.text) for piece in head)
    if column > width // 2:
        column = width // 4
    bar = head[0] if head and head[0].style == "gutter" else Piece("")
    blank = Piece(" " * (column - len(bar.text)))
    broken = textwrap.wrap(last.text, max(width - column, 20), break_on_hyphens=False) or [""]
    first: list[Row] = [(*head, Piece(broken[0], last.style))]
    if sum(len(piece.text) for piece in first[0]) > width:
        first, broken = [tuple(head)], ["", *broken]
    return first + [(bar, blank, Piece(text, last.style)) for text in broken[1:]]


def as_html(rows: Iterable[Sequence[Piece]]) -> str:
    """A ``<pre>`` element."""
    body = "\n".join("".join(_span(piece) for piece in r) for r in rows)
    return f'<pre style="line-height:1.25;white-space:pre-wrap">{body}</pre>'


def _span(piece: Piece) -> str:
    text, css = html.escape(piece.text), STYLES[piece.style].css
    return f'<span style="{css}">{text}</span>' if css else text
