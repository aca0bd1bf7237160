"""The site, a notebook and a listing as a browser lays them out: nothing is out of sight, code is
monospaced, verdicts are coloured, all text can be read in light and in dark colours, and nothing is
asked of the network. Pictures are left in the folder of the test (``--basetemp``).
"""
from __future__ import annotations

import html
import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pytest
from paths import ROOT

from transpile import fuse

pytestmark = [
    browser.NEEDED,
    pytest.mark.skipif(not importlib.util.find_spec("material"), reason="needs the extra `docs`"),
    pytest.mark.skipif(not importlib.util.find_spec("IPython"), reason="needs IPython"),
]

PAGES = ("index", "start/five_minutes", "how_to/stencil", "dask", "reports")

CELLS = ("%load_ext transpile\nimport numpy as np", """\
%%fuse
def smoothed(x, w):
    out = np.empty(len(x) - 2)
    for i in range(len(out)):
        out[i] = w * x[i] + (1.0 - 2.0 * w) * x[i + 1] + w * x[i + 2]
    return out

def relaxed(x, w):
    for i in range(1, len(x)):
        x[i] = w * x[i - 1] + (1.0 - w) * x[i] * x[i - 1]
    return x

def labelled(x, names):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return f"{names[0]}: {total}"

smoothed(np.ones(100), 0.25)[:3]
""", "%fuse_annotate smoothed", "%fuse_annotate relaxed(np.ones(5), 0.5)")

RED, GREEN, BLUE = "rgb(214, 74, 61)", "rgb(46, 139, 69)", "rgb(68, 120, 207)"
VERDICTS = {
    "index": {"compiled for": GREEN},
    "reports": {"compiled for": GREEN, "FUSE_REJECT_DEPENDENCE": RED},
    "notebook": {"map: vectorised": GREEN, "map, recurrence: scalar": BLUE},
    "listing": {"map: vectorised": GREEN, "FUSE_REJECT_DEPENDENCE": BLUE},
}
"""For some pages the words with which verdicts begin, and their colours."""

LEAST_CONTRAST = 3.0
"""Of text and background, by WCAG 2.1; that asks for 3 of large and of bold text."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet",
               "--config-file", str(ROOT / "docs" / "mkdocs.yml"), "--site-dir", str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert built.returncode == 0, built.stderr
    notebook, listing = folder / "notebook.html", folder / "listing.html"
    notebook.write_text(notebook_page(), encoding="utf-8")
    listing.write_text(listing_page(), encoding="utf-8")
    return {**{name: folder / f"{name}.html" for name in PAGES},
            "notebook": notebook, "listing": listing}


def notebook_page() -> str:
    """A page with `CELLS` and what they display, in a column as wide as that of a notebook."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    InteractiveShell._instance = shell  # what get_ipython() gives
    shown: list[Mapping[str, str]] = []
    shell.display_pub.publish = lambda data, *_, **__: shown.append(data)  # type: ignore[method-assign]
    parts = []
    try:
        for cell in CELLS:
            shown.clear()
            done = shell.run_cell(cell, store_history=True)
            assert done.success, done.error_in_exec
            if done.result is not None:
                shown.append(shell.display_formatter.format(done.result)[0])
            parts.append(f'<pre class="cell">{html.escape(cell)}</pre>')
            parts += (data.get("text/html") or f"<pre>{html.escape(data['text/plain'])}</pre>"
                      for data in shown)
    finally:
        InteractiveShell._instance = None
    style = ("body { margin: 8px 8px 8px 90px; font-family: sans-serif } "
             ".cell { background: #8882; padding: 6px }")
    return (f'<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
            f"<style>{style}</style><body>{''.join(parts)}</body>")


def listing_page() -> str:
    """The page of ``--emit html``."""

    @fuse(on_reject="silent")
    def lengths(x: Any, y: Any, out: Any) -> Any:
        for i in range(len(x)):
            out[i] = (x[i] * x[i] + y[i] * y[i]) ** 0.5
        for i in range(len(x) - 1):
            out[i] = out[i + 1] - out[i]

    x = np.ones(10)
    return lengths.emit("html", x, x, x)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the browser's files: the pages are seen in dark colours, then in light ones, by one user.
    """
    return tmp_path_factory.mktemp("browser")


@pytest.mark.parametrize("dark", [True, False], ids=["dark", "light"])
def test_layout(dark: bool, pages: Mapping[str, Path], folder: Path) -> None:
    words = tuple(dict.fromkeys(word for of in VERDICTS.values() for word in of))
    found = browser.measured(pages, folder, dark=dark, words=words)
    assert {*found} == {*pages}
    assert {name: m.width for name, m in found.items()} == dict.fromkeys(found, browser.WIDTH)
    assert {name: m.is_dark for name, m in found.items()} == dict.fromkeys(found, dark)
    for name, m in found.items():
        assert (m.cut, m.loaded, m.broken) == ([], [], []), name
        assert m.advances, f"{name} has no code"
        assert [w for w in m.advances if max(w) - min(w) > 0.02] == [], name
        assert [text for text in m.contrast if text[0] < LEAST_CONTRAST] == [], name
    shown = {name: {word: m.colours.get(word) for word in VERDICTS[name]}
             for name, m in found.items() if name in VERDICTS}
    assert shown == {name: {word: [colour] for word, colour in of.items()}
                     for name, of in VERDICTS.items()}


QUESTIONS = {
    "ship": "shipping.html", "why is my loop scalar": "guide/loops.html",
    "GUARD_ALIAS": "codes.html", "same digits": "guide/same_digits.html",
    "threads": "threads.html", "cache": "compile_time.html",
    "continuous integration": "command.html", "numpy functions": "guide/arrays.html",
    "dask": "dask.html", "first call": "start/first_call.html", "numba": "start/compared.html",
    "my function is slower": "reports.html", "overflow": "guide/errors.html",
    "jupyter": "guide/notebooks.html", "wheel": "shipping.html",
}
"""What a reader looks for, and the page that the search should find first."""


def test_the_search_finds_answers(pages: Mapping[str, Path], folder: Path) -> None:
    found = browser.searched(pages["index"].parent, [*QUESTIONS], folder)
    assert {query: pages[0] for query, pages in found.items() if pages} == QUESTIONS


FAULTS = """<!doctype html><meta charset="utf-8"><body>
<div style="width:2000px;height:1px"></div><p style="color:#bbb">faint</p>
<pre style="font-family:sans-serif">uneven</pre>
<pre class="output" style="width:90px;overflow:hidden"><code style="display:block;overflow:hidden"
>more than is in sight</code></pre>
<img src="https://example.org/a.png" width="9" height="9"></body>"""


def test_faults_are_found(tmp_path: Path) -> None:
    page = tmp_path / "faults.html"
    page.write_text(FAULTS, encoding="utf-8")
    (found,) = browser.measured({"faults": page}, tmp_path).values()
    assert found.width > browser.WIDTH
    assert found.cut == ["more than is in sight"]
    assert found.loaded == found.broken == ["https://example.org/a.png"]
    assert max(found.advances[0]) > 1.5 * min(found.advances[0])
    assert found.contrast[0][0] < LEAST_CONTRAST


@pytest.mark.share(7)
@pytest.mark.parametrize("name", [*PAGES, "notebook", "listing"])
def test_pictures(name: str, pages: Mapping[str, Path], tmp_path: Path) -> None:
    width, rows = browser.rows_that_differ(browser.picture(pages[name], tmp_path))
    assert width == browser.WIDTH
    assert rows > 100
