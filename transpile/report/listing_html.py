"""The lines of an annotated listing, and their HTML.

Four columns, which fit a window of 1280 pixels, in colours. Long code is closed but for its first
lines, so that a row is not taller than a window: a click opens it.
"""
from __future__ import annotations

import html
import keyword
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from loopir.lazy_dataclass import record

from .styled_text import STYLES, hanging_line

__all__ = ["Listed", "Verdict", "listing_page", "listing_table"]

Verdict: TypeAlias = tuple[str, str]
"""A key of `styled_text.STYLES`, and a text."""


@record(frozen=True, slots=True, kw_only=True)
class Listed:
    """A line of Python and the lines generated from it."""

    number: int  # 0: for code that comes from no line
    python: str = ""
    loopir: tuple[str, ...] = ()
    c: tuple[str, ...] = ()
    asm: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()  # what the report says of the line


_COLUMNS = (("Python", "26%"), ("Loop IR", "22%"), ("C", "28%"), ("assembly", "24%"))
"""The heading and the width of each column; `_WORDS` and `_cells` have the columns in this order.
"""

_FONT = "font:12px/1.35 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
_TABLE = f"border-collapse:collapse;table-layout:fixed;width:100%;min-width:52rem;{_FONT}"
"""A window that is narrower than that scrolls to the side."""
_CELL = "vertical-align:top;text-align:left;border-top:1px solid #8884;padding:1px 6px"
_PRE = (
    "margin:0;padding:0;background:none;font:inherit;white-space:pre-wrap;overflow-wrap:anywhere"
)

_IN_SIGHT = ";position:sticky;top:4px"
"""The line of Python stays in sight where its code is longer than the window."""
_SUMMARY = "cursor:pointer;opacity:.7;padding-left:1ch"

_BACKGROUNDS = {"good": "#2e8b451c", "second": "#4478cf1c", "bad": "#d64a3d1c"}
"""The background of a row, by the style of the first of its verdicts that has one; the styles are
given by `source_listing.with_verdicts`.
"""

_C_WORDS = (
    "if", "else", "for", "while", "return", "static", "inline", "const", "restrict", "void", "do",
    "int64_t", "int32_t", "uint64_t", "uint32_t", "double", "float", "bool", "break", "goto",
)
_IR_WORDS = (
    "for", "while", "if", "else", "def", "loop", "vec", "guard", "check", "disjoint", "give",
)
_WORDS = (keyword.kwlist, _IR_WORDS, _C_WORDS, ())
"""The words that are shown as keywords, for each of `_COLUMNS`."""

_TOKEN = re.compile(
    r"(?P<comment>#.*|//.*|/\*.*?\*/)|(?P<string>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<number>\b\d[\w.]*)|(?P<word>[A-Za-z_]\w*)"
)
_COLOURS = {
    "comment": "opacity:.6", "string": "color:#ad6b22", "number": "color:#17838e",
    "word": "color:#9460d6",
}


def listing_table(title: str, verdict: Sequence[tuple[str, str]], lines: Sequence[Listed]) -> str:
    """A table with a row for each line of Python; `verdict`: style and text of what is said of the
    whole function.
    """
    heads = "".join(
        f'<th style="{_CELL};width:{width}">{name}</th>' for name, width in _COLUMNS
    )
    rows = "\n".join(_row(line) for line in lines)
    said = "".join(f"<div>{_span(style, text)}</div>" for style, text in verdict)
    caption = f'<caption style="text-align:left;padding:6px">{html.escape(title)}{said}</caption>'
    return (
        f'<table style="{_TABLE}">{caption}\n'
        f'<tr><th style="{_CELL};width:3em"></th>{heads}</tr>\n{rows}\n</table>'
    )


def listing_page(title: str, table: str) -> str:
    """The table as a complete HTML page."""
    head = (
        '<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{html.escape(title)}</title>"
    )
    return f"<!doctype html>\n<html>{head}<body>\n{table}\n</body></html>\n"


def _row(line: Listed) -> str:
    """The table row of one line of Python: below its text what became of it. The first verdict
    whose style has a background colours the row (`with_verdicts` explains the styles).
    """
    colour = next((_BACKGROUNDS[style] for style, _ in line.verdicts if style in _BACKGROUNDS), "")
    background = f";background:{colour}" if colour else ""
    return f'<tr style="{background[1:]}">{"".join(_cells(line))}</tr>'


def _cells(line: Listed) -> Iterator[str]:
    """The table cells of one row: the line number, then one for each of `_COLUMNS`."""
    yield f'<td style="{_CELL};opacity:.6">{line.number or ""}</td>'
    shown = "".join(_verdict(v, line.python) for v in line.verdicts)
    code = _line(line.python, _WORDS[0], narrow=False)
    yield f'<td style="{_CELL}"><pre style="{_PRE}{_IN_SIGHT}">{code}{shown}</pre></td>'
    for texts, words in zip((line.loopir, line.c, line.asm), _WORDS[1:], strict=True):
        yield f'<td style="{_CELL}">{"".join(_closed_code(texts, words))}</td>'


_SHOWN = 8
"""How many lines of code a cell shows before it is opened; up to `_NEARLY` more are shown, too."""
_NEARLY = 4


def _closed_code(texts: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """The elements for the lines of generated code of a cell; many of them but for the first are
    in a ``<details>`` element.
    """
    first = _SHOWN if len(texts) > _SHOWN + _NEARLY else len(texts)
    yield _code(texts[:first], words)
    if first < len(texts):
        summary = f'<summary style="{_SUMMARY}">{len(texts) - first} more lines</summary>'
        yield f"<details>{summary}{_code(texts[first:], words)}</details>"


def _code(texts: Sequence[str], words: Sequence[str]) -> str:
    """Lines of generated code."""
    code = "".join(_line(text, words, narrow=True) for text in texts)
    return f'<pre style="{_PRE}">{code}</pre>'


def _line(text: str, words: Sequence[str], *, narrow: bool) -> str:
    """One line of code; where it is folded, the rest is indented more than its start. ``narrow``:
    with half of its indentation, since generated code is deeply nested.
    """
    code = text.lstrip(" ")
    indent = (len(text) - len(code)) // (1 + narrow)
    return hanging_line(" " * indent + _coloured(code, words), indent + _FOLDED)


_FOLDED = 2
"""How many columns more than its start the rest of a folded line is indented."""


def _verdict(verdict: tuple[str, str], python: str) -> str:
    """One verdict below its line of Python, indented like it."""
    style, text = verdict
    indent = len(python) - len(python.lstrip(" "))
    word = found[0] if (found := _BOLD.match(text)) else ""
    shown = _span("hint", word) + _span(style, text[len(word) :])
    return hanging_line(" " * indent + shown, indent + _FOLDED)


_BOLD = re.compile(r"(?:note|help):")
"""How a text begins whose first word is bold."""


def _span(style: str, text: str) -> str:
    """A text in one of `STYLES`."""
    return f'<span style="{STYLES[style].css}">{html.escape(text)}</span>'


def _coloured(text: str, words: Sequence[str]) -> str:
    """Source text as HTML, with colours for comments, strings, numbers and the keywords `words`."""
    out, end = [], 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or ""
        if kind == "word" and token[0] not in words:
            continue
        out.append(html.escape(text[end : token.start()]))
        out.append(f'<span style="{_COLOURS[kind]}">{html.escape(token[0])}</span>')
        end = token.end()
    out.append(html.escape(text[end:]))
    return "".join(out)
