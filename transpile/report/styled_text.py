"""Styled rows of text: laid out once, shown as plain text, in a terminal's colours, or as HTML."""
from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from loopir.process.signal_exceptions import suppress_failures

if TYPE_CHECKING:
    from rich.text import Text

__all__ = [
    "STYLES", "Piece", "StyledRow", "as_html", "as_plain", "as_rich", "hanging_line", "printable",
    "styled_row",
]


class _Style(NamedTuple):
    """The terminal and CSS form of a style."""

    rich: str
    css: str


_RED, _GREEN, _BLUE, _TEAL = "#d64a3d", "#2e8b45", "#4478cf", "#17838e"  # on white and on black

STYLES: dict[str, _Style] = {
    "": _Style(rich="", css=""),
    "title": _Style(rich="bold", css="font-weight:bold"),
    "code": _Style(rich="bold red", css=f"font-weight:bold;color:{_RED}"),
    "place": _Style(rich="cyan", css=f"color:{_TEAL}"),
    "gutter": _Style(rich="dim", css="opacity:.6"),
    "mark": _Style(rich="bold red", css=f"font-weight:bold;color:{_RED}"),
    "second": _Style(rich="bold blue", css=f"font-weight:bold;color:{_BLUE}"),
    "good": _Style(rich="green", css=f"color:{_GREEN}"),
    "bad": _Style(rich="red", css=f"color:{_RED}"),
    "hint": _Style(rich="bold", css="font-weight:bold"),
    "faint": _Style(rich="dim", css="opacity:.6"),
}


class Piece(NamedTuple):
    """A piece of text in one style, a key of ``STYLES``."""

    text: str
    style: str = ""


StyledRow = tuple[Piece, ...]


def styled_row(*parts: str | tuple[str, str]) -> StyledRow:
    """A row of plain strings and ``(text, style)`` pairs."""
    return tuple(Piece(p) if isinstance(p, str) else Piece(*p) for p in parts)


def as_plain(rows: Iterable[Sequence[Piece]]) -> str:
    """The text alone, without trailing blanks and final newline."""
    return "\n".join("".join(piece.text for piece in r).rstrip() for r in rows)


_ASCII = str.maketrans({
    "│": "|", "─": "~", "┊": ":", "⋮": ":", "…": "...", "→": "->", "≫": ">>", "×": "x", "µ": "u",
})


def printable(text: str) -> str:
    """`text` so that it can be printed: where ``sys.stdout`` cannot encode it, as a file in a code
    page of Windows, with ASCII characters in place of lines and arrows, and ``?`` for the others.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with suppress_failures(UnicodeEncodeError):
        text.encode(encoding)
        return text
    return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)


def as_rich(rows: Iterable[StyledRow], width: int) -> Iterator[Text]:
    """``rich`` texts, folded at `width` columns."""
    from rich.text import Text

    for r in rows:
        for line in _folded(r, width):
            styled = ((piece.text, STYLES[piece.style].rich) for piece in line)
            yield Text.assemble(*styled, no_wrap=True, overflow="fold")


def _folded(row: StyledRow, width: int) -> list[list[Piece]]:
    """The row wrapped at word boundaries; continuation lines are indented to the start of its last
    piece.
    """
    if sum(len(piece.text) for piece in row) <= width:
        return [list(row)]
    indent = sum(len(piece.text) for piece in row[:-1])
    if indent > width // 2:
        indent = width // 4
    gutter = row[0] if row and row[0].style == "gutter" else Piece("")
    margin = [gutter, Piece(" " * (indent - len(gutter.text)))]
    lines, width_used = [[Piece("")]], 0
    for word in _words(row, width - indent):
        if width_used + len(word.text) > width:
            lines.append([*margin])
            width_used = indent
            if word.text.isspace():
                continue
        lines[-1].append(word)
        width_used += len(word.text)
    return lines


def _words(row: StyledRow, longest: int) -> Iterator[Piece]:
    """Words and the blanks between them; a word longer than a line is split."""
    for piece in row:
        for word in re.findall(r"\s+|\S+", piece.text):
            for start in range(0, len(word), longest):
                yield Piece(word[start : start + longest], piece.style)


_PRE = (
    "line-height:1.25;white-space:pre-wrap;"
    "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
)
"""The style of the element: columns stay aligned whatever font the page has."""


def as_html(rows: Iterable[Sequence[Piece]]) -> str:
    """A ``<pre>`` element with an element for each row. Where a row is folded, its continuation is
    indented as in a terminal.
    """
    body = "".join(hanging_line("".join(map(_span, row)), _continuation(row)) for row in rows)
    return f'<pre style="{_PRE}">{body}</pre>'


def hanging_line(text: str, indent: int) -> str:
    """An element for a line of HTML `text`, which is folded with an indentation of `indent`
    columns.
    """
    return f'<div style="padding-left:{indent}ch;text-indent:-{indent}ch">{text or "<br>"}</div>'


_WIDE, _NARROW = 60, 20
"""The widest indentation of a continuation, and the one in place of a wider one."""


def _continuation(row: Sequence[Piece]) -> int:
    """The column at which the last piece of `row` starts; of a single piece its own indentation."""
    *before, last = row or [Piece("")]
    indent = sum(len(piece.text) for piece in before)
    indent += len(last.text) - len(last.text.lstrip())
    return indent if indent <= _WIDE else _NARROW


def _span(piece: Piece) -> str:
    """A piece as HTML."""
    text, css = html.escape(piece.text), STYLES[piece.style].css
    return f'<span style="{css}">{text}</span>' if css else text
