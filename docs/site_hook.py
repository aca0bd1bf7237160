"""MkDocs hook of mkdocs.yml: adds pages that are not in this folder, and adapts blocks and links.

A page of the repository is Markdown as GitHub shows it. For the site, a block ``python NAME.py``
gets its name as a title, and links to files become links to pages of the site; a link to a file
that is no page becomes its text. What programs print is folded at the width of the window, and a
report has its colours.
"""
from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from transpile.codes import CODES
from transpile.report.styled_text import STYLES

ROOT = Path(__file__).resolve().parents[1]

PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "loopir/README.md": "loop_ir.md",
    "kernels/README.md": "kernels_how.md",
    "transpile/README.md": "functions.md",
}
"""Pages from other folders, and their names in the site."""

FAMILIES = {
    "FUSE_REJECT": "Two loops are compiled, each by itself",
    "VECTOR": "A loop is compiled, as scalar code",
    "LOWER": "A statement or a function is left to Python",
    "SOURCE": "A function is left to Python",
    "GUARD": "Calls that Python had to answer",
    "RUN": "Calls that Python served although they compile",
    "BUDGET": "A large function is compiled with less effort, or left to Python",
    "BUILD": "The C compiler is missing, or failed",
    "VERIFY": "A call differs from Python",
}
"""How codes begin, and what became of what they are about."""

SELDOM_WANTED = (
    "architecture.md", "changelog.md", "contributing.md", "glossary.md", "kernels_how.md",
    "loop_ir.md", "mlir.md", "where_is.md",
)
"""Pages that stand behind others in what a search finds."""

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TITLED = re.compile(r"^```python (\S+\.py)$", re.MULTILINE)
INDENTED_CODE = re.compile(r"(?<=<br>)` +")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?!\w+:)[^)#\s]+)(#[\w-]+)?\)")


def on_config(config: Any) -> Any:
    config.docs_dir = str(ROOT / "docs")
    return config


def on_files(files: Any, config: Any) -> Any:
    for source, uri in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, uri, content=text))
    files.append(File.generated(config, "codes.md", content="\n".join(codes_page())))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    source = {uri: source for source, uri in PAGES.items()}.get(
        page.file.src_uri, f"docs/{page.file.src_uri}"
    )
    pages = {uri: uri for uri in files.src_uris} | {
        f"docs/{uri}": uri for uri in files.src_uris if uri not in PAGES.values()
    }
    pages |= PAGES

    def linked(match: re.Match[str]) -> str:
        start, text, target, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path not in pages:
            return str(text)
        uri = posixpath.relpath(pages[path], posixpath.dirname(page.file.src_uri) or ".")
        return f"{start}[{text}]({uri}{anchor or ''})"

    if page.file.src_uri in SELDOM_WANTED:
        page.meta.setdefault("search", {"boost": 0.3})
    def adapted(text: str) -> str:
        return INDENTED_CODE.sub(with_hard_blanks, LINK.sub(linked, text))

    parts, end = [], 0
    for block in FENCE.finditer(markdown):
        parts.append(adapted(markdown[end : block.start()]))
        parts.append(TITLED.sub(r'```python title="\1"', block[0]))
        end = block.end()
    return "".join([*parts, adapted(markdown[end:])])


def with_hard_blanks(start: re.Match[str]) -> str:
    """Blanks that a browser keeps, before an indented line of code in a table."""
    return "&emsp;" * (len(start[0]) // 2) + "`"


OUTPUT = re.compile(
    r'(<div class="language-(text|console) highlight"><pre)>(?:<span></span>)?<code>(.*?)</code>',
    re.DOTALL,
)
TAG = re.compile(r"<[^>]*>")

GUTTER = re.compile(r" *(\d*) [│┊] ")
HEADER = re.compile(r"([A-Z]+_[A-Z_]+)(  \S+?:(\d+))?")
COLUMNS = re.compile(r"(?: *[$>] +| *(?:note|help): )|.*\S {2,}(?=\S)| +")
"""Of a line: the part under which it is not continued, if it is folded. That is all before the last
column, a prompt, or the indentation.
"""
WORDS = (
    ("good", re.compile(r"\bcompiled for\b|\b\d+ lanes, \w+")),
    ("second", re.compile(r"(?<=  )scalar(?=  )")),
    ("bad", re.compile(r"\bruns as Python\b")),
    ("hint", re.compile(r"^ +(?:note|help):")),
    ("place", re.compile(r"(?<=  )[\w.]+\.py:\d+$")),
)
"""The words of reports that have a style (`styled_text.STYLES`)."""


def on_page_content(page_html: str, page: Any, config: Any, files: Any) -> str:
    """Lines of output that are folded where they are longer than the window is wide."""

    def folded(match: re.Match[str]) -> str:
        start, language, code = match.groups()
        lines = code.rstrip("\n").split("\n")
        if language == "text":
            shown = [*report_lines([html.unescape(TAG.sub("", line)) for line in lines])]
        else:
            shown = lines
        rows = (hanging(html.unescape(TAG.sub("", line)), text)
                for line, text in zip(lines, shown, strict=True))
        return f'{start} class="output"><code>{"".join(rows)}</code>'

    return OUTPUT.sub(folded, page_html)


def hanging(line: str, shown: str) -> str:
    """The element of a line; its continuation starts under its last column."""
    found = COLUMNS.match(line)
    indent = (found.end() if found else 0) or 2
    return f'<span class="line" style="--indent:{indent}ch">{shown}\n</span>'


def report_lines(lines: list[str]) -> Iterator[str]:
    """Lines of text as HTML, with the colours that a report has in a terminal."""
    at, number = "", ""  # the line that a rejection is about; the line of source above
    for line in lines:
        if (header := HEADER.fullmatch(line)) is not None:
            at = header[3] or ""
            yield styled("code", header[1]) + styled("place", header[2] or "")
        elif (gutter := GUTTER.match(line)) is not None:
            number = gutter[1] or number
            mark = "mark" if number == at else "second"
            rest = line[gutter.end() :]
            is_mark = not gutter[1] and rest.lstrip().startswith("─")
            yield styled("gutter", gutter[0]) + styled(mark if is_mark else "", rest)
        else:
            yield styled_words(line)


def styled_words(line: str) -> str:
    """A line of a report with the styles of its `WORDS`."""
    found = sorted((match.start(), match.end(), style) for style, words in WORDS
                   for match in words.finditer(line))
    out, end = "", 0
    for start, stop, style in found:
        out += html.escape(line[end:start]) + styled(style, line[start:stop])
        end = stop
    return out + html.escape(line[end:])


def styled(style: str, text: str) -> str:
    """A text in one of `STYLES`."""
    css, shown = STYLES[style].css, html.escape(text)
    return f'<span style="{css}">{shown}</span>' if css and text else shown


def codes_page() -> Iterator[str]:
    """The page of all codes, from the rows that ``transpile --explain`` prints."""
    yield "# Codes\n"
    yield "The codes of reports and warnings. `transpile --explain CODE` prints a section of this."
    yield ""
    for family, title in FAMILIES.items():
        yield f"## {family}_…\n\n{title}.\n"
        for code in (c for c in CODES.values() if c.code.startswith(f"{family}_")):
            yield f"### {code.code}\n\n**{sentence(code.title)}** {code.why}\n"
            yield f"Help: {code.help}.\n"
            yield f"This gives it:\n\n```python\n{code.bad.rstrip()}\n```\n"
            report = ROOT / "tests" / "reject" / f"{code.code.lower()}.txt"
            if report.exists():
                yield f"```text\n{report.read_text(encoding='utf-8').rstrip()}\n```\n"
            yield f"This does not:\n\n```python\n{code.good.rstrip()}\n```\n"


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
