"""The site of docs/mkdocs.yml: each page is in its menu, it builds strictly, and loads nothing from
the network.
"""
from __future__ import annotations

import ast
import html
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

from transpile.codes import CODES

DOCS = ROOT / "docs"
SETTINGS = (DOCS / "mkdocs.yml").read_text(encoding="utf-8")
MENU = re.findall(r"^ +- (?:.*: )?(\S+\.md)$", SETTINGS, re.MULTILINE)
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=[\"']?(https?:[^\"' >]*)")


def hook_tables() -> dict[str, dict[str, str]]:
    """The tables of docs/site_hook.py, which imports MkDocs."""
    tree = ast.parse((DOCS / "site_hook.py").read_text(encoding="utf-8"))
    return {
        node.targets[0].id: ast.literal_eval(node.value) for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Dict)
    }


def test_each_page_is_in_the_menu_once() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(MENU) == sorted({*pages, *hook_tables()["PAGES"].values(), "codes.md"})


def test_each_code_is_in_a_section() -> None:
    families = tuple(f"{family}_" for family in hook_tables()["FAMILIES"])
    assert [code for code in CODES if not code.startswith(families)] == []


def test_each_program_is_drawn() -> None:
    """`speed.svg` has a comment with each text; a program that was added wants a new picture."""
    section = (DOCS / "benchmarks.md").read_text(encoding="utf-8").partition("\n## Figures\n")[2]
    names = re.findall(r"^\| `(\w+)` \|", section.partition("\n## ")[0], re.MULTILINE)
    drawn = (DOCS / "pictures" / "speed.svg").read_text(encoding="utf-8")
    assert names
    assert [name for name in names if f"<!-- {name} -->" not in drawn] == []


def test_each_table_of_times_is_drawn() -> None:
    """Texts of pictures are in comments; a table that was measured anew wants a new picture."""
    pages = {p.stem: p.read_text(encoding="utf-8") for p in DOCS.glob("how_to/*.md")}
    sections = {name: text.partition("\n## Times\n")[2] for name, text in pages.items()}
    measured = {name: section for name, section in sections.items() if section}
    assert len(measured) >= 3
    for name, section in measured.items():
        assert f"(../pictures/times_{name}.svg)" in section
        drawn = (DOCS / "pictures" / f"times_{name}.svg").read_text(encoding="utf-8")
        heading, _, *rows = re.findall(r"^\| (.*) \|$|^\|-", section, re.MULTILINE)
        (machine,) = re.findall(r"^Machine: (.*)\.$", section, re.MULTILINE)
        what, *columns = heading.split(" | ")
        shown = [*columns, *(row.split(" | ")[0] for row in rows)]
        assert [text for text in shown if f"<!-- {text} -->" not in drawn] == []
        assert [text for text in (what, machine) if text not in drawn] == []


def test_programs_are_as_narrow_as_the_site() -> None:
    """Output is folded, a program is not: of more than 100 characters the site shows no line."""
    pages = [ROOT / "README.md", *(p for p in DOCS.rglob("*.md") if p.name != "command.md")]
    blocks = re.compile(r"^```(?:python|toml|sh)\b.*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
    wide = [(page.name, line) for page in pages
            for block in blocks.findall(page.read_text(encoding="utf-8"))
            for line in block.splitlines() if len(line) > 100]
    assert wide == []


@pytest.mark.skipif(not importlib.util.find_spec("material"), reason="needs the extra `docs`")
def test_the_site_builds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet",
               "--config-file", str(DOCS / "mkdocs.yml"), "--site-dir", str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert built.returncode == 0, built.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path.read_text(encoding="utf-8")
             for path in tmp_path.rglob("*.html")}
    assert {name.replace(".md", ".html") for name in MENU} <= {*pages}
    loaded = {(name, address) for name, text in pages.items() for address in LOADED.findall(text)}
    assert loaded == set()
    assert "guard_alias" in pages["codes.html"]
    assert "<br>&emsp;&emsp;<code>for" in pages["supported.html"]
    outputs = re.compile(r'<pre class="output"><code>(.*?)</code>', re.DOTALL)
    (shown, *_) = outputs.findall(pages["reports.html"])
    text = html.unescape(re.sub(r"<[^>]*>", "", shown))
    assert f"\n```text\n{text}```\n" in (DOCS / "reports.md").read_text(encoding="utf-8")
    assert shown.count('<span class="line" style="--indent:') == text.count("\n")
    assert ">FUSE_REJECT_DEPENDENCE</span>" in shown
    code = re.compile(r"<pre.*?</pre>|<code.*?</code>", re.DOTALL)
    assert [name for name, text in pages.items() if "```" in code.sub("", text)] == []
