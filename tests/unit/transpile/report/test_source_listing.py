"""Python line by line: nothing is lost, and each line stands beside what it came from."""
from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from targets.isa.target_registry import TARGETS
from transpile import FuseError, fuse
from transpile.report.listing_html import Listed, listing_table
from transpile.report.source_listing import Listing

TEXT = """
import numpy as np
def f(x, peak, low):
    m = np.mean(x)
    out = np.empty_like(x)
    for i in range(len(x)):
        d = x[i] - m
        out[i] = np.sqrt(d) / peak
    n = 0
    for i in range(len(x)):
        out[i] = out[i] if out[i] > low else 0.0
        if x[i] < low & 7:
            n += 1
    return out, n, [v for v in out if v > 0.5]
"""
ARGUMENTS = np.ones(5), 2.0, 1


def made(tmp_path: Path, text: str = TEXT) -> Any:
    return fuse(written(tmp_path, text).f, on_reject="silent")


def line(listing: Listing, python: str) -> Listed:
    (found,) = (x for x in listing.lines if x.python.strip() == python)
    return found


def unmarked(text: str) -> list[str]:
    return [x for x in text.splitlines() if x.strip()]


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_lost(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_TARGET", target)
    f = made(tmp_path)
    listing = f.listing(*ARGUMENTS)
    assert [x.python for x in listing.lines] == [*TEXT.splitlines()[2:], ""]
    ir, c = f.emit("loopir", *ARGUMENTS), f.emit("c", *ARGUMENTS)
    functions = c[c.index("static __attribute__((noinline)) int64_t tp_part_0") :]
    assert sorted(t for x in listing.lines for t in x.loopir) == sorted(unmarked(ir))
    assert sorted(t for x in listing.lines for t in x.c) == sorted(unmarked(functions))
    assert "/* line" not in c


OPERATIONS = {
    "m = np.mean(x)": ("mean", "+", "add"),
    "out[i] = np.sqrt(d) / peak": ("sqrt", "sqrt", "sqrt"),
    "d = x[i] - m": ("x[i", "x + i", ""),
    "return out, n, [v for v in out if v > 0.5]": ("append", "0x1.0000000000000p-1", ""),
}


@pytest.mark.parametrize("python", OPERATIONS)
def test_each_stands_beside_its_line(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_TARGET", "avx2")
    found = line(made(tmp_path).listing(*ARGUMENTS), python)
    for texts, said in zip((found.loopir, found.c, found.asm), OPERATIONS[python], strict=True):
        assert any(said in text for text in texts) or not said, texts


def test_code_of_no_line_stands_beside_the_code_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps of a fold, and the loop that threads run: passes have made them."""
    monkeypatch.setenv("TRANSPILE_TARGET", "avx2")
    listing = made(tmp_path).listing(*ARGUMENTS)
    mean, rest = line(listing, "m = np.mean(x)"), listing.lines[-1]
    assert any("step(mean" in text for text in mean.loopir)
    assert any("block < block_end" in text for text in mean.c)
    assert any("vaddpd" in text for text in mean.asm)
    assert [text for text in rest.loopir if not text.startswith("def ")] == []
    assert [text for text in rest.c if text.lstrip().startswith(("for ", "if ("))] == []


def test_guards_stand_beside_what_asks_for_them(tmp_path: Path) -> None:
    text = "def f(x, y):\n    for i in range(len(x)):\n        y[i] = x[i]\n"
    listing = made(tmp_path, text).listing(np.ones(3), np.ones(3))
    found = line(listing, "y[i] = x[i]")
    assert any("guard(" in t for t in found.loopir)
    assert found.verdicts == (("faint", "1 guard, tested once a call"),)


@pytest.mark.parametrize(("python", "how_often"), [
    ("total += k[i] * k[i]", "2 checks, tested for each vector"),
    ("out[k[i]] = total", "1 check, tested in each iteration"),
])
def test_lines_say_what_loops_and_checks_cost(
    python: str, how_often: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_TARGET", "avx2")
    text = f"""
def f(k, out):
    total = 0
    for i in range(len(k)):
        {python}
    return total
"""
    shown = str(made(tmp_path, text).listing(np.arange(5), np.ones(5)))
    assert how_often in shown
    assert " B and 0 flops an element" in shown


class Tags(HTMLParser):
    """The open tags, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html(tmp_path: Path) -> None:
    f = made(tmp_path)
    for page in (f.listing(*ARGUMENTS)._repr_html_(), f.emit("html", *ARGUMENTS)):
        tags = Tags()
        tags.feed(page)
        assert tags.open == []
        assert all(x in tags.text for x in TEXT.splitlines()[2:])
        assert "x[i] < low & 7" not in page  # it is escaped


def test_long_code_is_closed() -> None:
    """All lines are in the page, those after the first ones in an element that a click opens."""
    asm = tuple(f"    addq ${k}, %rax" for k in range(300))
    for code, closed in ((asm, 292), (asm[:12], 0)):
        page = listing_table("f", (), [Listed(number=1, python="x", asm=code)])
        tags = Tags()
        tags.feed(page)
        assert tags.open == []
        before, _, inside = page.partition("<details>")
        assert before.count("addq") == len(code) - closed
        assert inside.count("addq") == closed
        assert (f"{closed} more lines" in inside) == bool(closed)


def test_text(tmp_path: Path) -> None:
    shown = str(made(tmp_path).listing(*ARGUMENTS)).splitlines()
    assert re.fullmatch(r"f  \w+\.py  for \w+", shown[0])
    assert "    7 │         d = x[i] - m" in shown
    assert any(re.fullmatch(r"   ir ┊ .*sqrt.*", x) for x in shown)


def test_regions(tmp_path: Path) -> None:
    text = """
def f(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 3.0
    print(end="")
    for i in range(len(x)):
        y[i] = y[i] - 1.0
"""
    f = made(tmp_path, text)
    f(np.ones(4), np.ones(4))
    listing = f.listing(np.ones(4), np.ones(4))
    assert any("3.0" in t for t in line(listing, "y[i] = x[i] * 3.0").loopir)
    assert any("1.0" in t for t in line(listing, "y[i] = y[i] - 1.0").loopir)
    assert "3.0" in f.emit("html", np.ones(4), np.ones(4))
    printed = line(listing, 'print(end="")')
    assert printed.loopir == printed.c == printed.asm == ()
    said = "LOWER_CALL: `print` is not a function that can be compiled"
    assert printed.verdicts[0] == ("bad", said)
    assert [x.verdicts[0][0] for x in listing.lines if "for i" in x.python] == ["good"] * 2
    assert listing.verdicts[0][1].startswith("compiled for")


def test_each_line_says_what_became_of_it(tmp_path: Path) -> None:
    text = """
def f(x, t, y):
    for i in range(len(x) - 1):
        t[i] = x[i] * 0.5
    for i in range(len(x) - 1):
        y[i] = t[i + 1] - t[i]
"""
    listing = made(tmp_path, text).listing(np.ones(4), np.ones(4), np.ones(4))
    shown = str(listing)
    assert "      ┊ map: vectorised" in shown
    assert "      ┊ FUSE_REJECT_DEPENDENCE: cannot join the loop at line 3" in shown
    assert "      ┊ help: compute it anew" in shown
    page = listing.page()
    assert all(x in page for x in ("table-layout:fixed", "monospace", "FUSE_REJECT_DEPENDENCE"))
    assert page.count("background:") >= 2
    assert '">for</span>' in page


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    listing = made(tmp_path).listing(*ARGUMENTS)
    assert any(x.c for x in listing.lines)
    assert not any(x.asm for x in listing.lines)


def test_what_is_refused_has_none(tmp_path: Path) -> None:
    f = made(tmp_path, "def f(x):\n    return open(x)\n")
    ask: Callable[..., object] = f.listing
    with pytest.raises(FuseError):
        ask("a")
