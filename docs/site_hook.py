"""MkDocs hook of mkdocs.yml: adds pages that are not in this folder, and adapts blocks and links.

A page of the repository is Markdown as GitHub shows it. For the site, a block ``python NAME.py``
gets its name as a title, and links to files become links to pages of the site; a link to a file
that is no page becomes its text.
"""
from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from transpile.codes import CODES

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
    "architecture.md", "changelog.md", "contributing.md", "functions.md", "glossary.md",
    "kernels_how.md", "where_is.md",
)
"""Pages that stand behind others in what a search finds."""

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TITLED = re.compile(r"^```python (\S+\.py)$", re.MULTILINE)
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
    parts, end = [], 0
    for block in FENCE.finditer(markdown):
        parts.append(LINK.sub(linked, markdown[end : block.start()]))
        parts.append(TITLED.sub(r'```python title="\1"', block[0]))
        end = block.end()
    return "".join([*parts, LINK.sub(linked, markdown[end:])])


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
