"""Pages in headless Chromium: measures of their layout, and pictures.

A page of frames, as wide as a window each, shows the pages; a script in it measures them, and
writes what it finds to the document, which Chromium prints (``--dump-dom``). No name resolves to an
address: a page that needs the network is one with less in it.
"""
from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

__all__ = ["NEEDED", "Measured", "measured", "picture", "rows_that_differ", "searched"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
NEEDED = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt install chromium)")

WIDTH, HEIGHT = 1280, 900


@dataclass(frozen=True)
class Measured:
    """What the layout of a page is."""

    width: int
    """Of all of it; more than that of the window is one that scrolls to the side."""
    loaded: list[str]
    """The addresses of what it asked for."""
    broken: list[str]
    """The images that are not shown."""
    cut: list[str]
    """Lines of output of which a part is out of sight."""
    advances: list[list[float]]
    """For each block of code the widths of some characters, in pixels."""
    contrast: list[tuple[float, str, str]]
    """The lowest contrasts of text and background, by WCAG 2.1; with the text, and its colours."""
    colours: dict[str, list[str]]
    """For words that reports have, the colours in which they are shown."""
    is_dark: bool
    """Whether the background is."""


_SCRIPT = """
function luminance(c) {
  const [r, g, b] = c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function parsed(text) {  // "rgb(0, 0, 0)", "rgba(0, 0, 0, 0.5)"
  const n = text.match(/[\\d.]+/g).map(Number);
  return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1];
}
function over(front, back, alpha) {
  return [0, 1, 2].map(k => front[k] * alpha + back[k] * (1 - alpha));
}
function measured(frame) {
  const view = frame.contentWindow, page = frame.contentDocument;
  const root = page.scrollingElement, style = e => view.getComputedStyle(e);
  const scheme = page.querySelector("meta[name=color-scheme]");
  const canvas = scheme && scheme.content.includes("dark")
    && view.matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  function behind(e) {
    if (!e) return canvas;
    const own = parsed(style(e).backgroundColor);
    return own[3] ? over(own, behind(e.parentElement), own[3]) : behind(e.parentElement);
  }
  function opacity(e) { return e ? style(e).opacity * opacity(e.parentElement) : 1; }
  function seen(e) { return e.checkVisibility() && e.getBoundingClientRect().width > 1; }
  const contrast = [], colours = {};
  const walker = page.createTreeWalker(page.querySelector("article") || page.body, 4);
  for (let node; node = walker.nextNode();) {
    const e = node.parentElement, text = node.data.trim();
    if (!text || !seen(e) || e.closest("script, style, a.headerlink")) continue;
    const front = parsed(style(e).color), back = behind(e);
    const shown = over(front, back, front[3] * opacity(e));
    const [a, b] = [luminance(shown), luminance(back)].sort((a, b) => b - a);
    contrast.push([(a + 0.05) / (b + 0.05), text.slice(0, 60),
                   `${shown.map(Math.round)} on ${back.map(Math.round)}`]);
    for (const word of WORDS)
      if (text.startsWith(word) && e.closest("pre, table"))
        (colours[word] ||= new Set()).add(style(e).color);
  }
  const blocks = [...page.querySelectorAll("pre")].filter(seen);
  const advances = blocks.map(block => {
    const at = block.querySelector("code") || block;
    return ["i", "M", "0", "│", "─", "┊"].map(c => {
      const one = page.createElement("span");
      one.style.cssText = "text-indent:0;padding:0;white-space:pre;display:inline-block";
      one.textContent = c.repeat(10);
      at.append(one);
      const width = one.getBoundingClientRect().width / 10;
      one.remove();
      return width;
    });
  });
  const cut = [...page.querySelectorAll("pre.output > code, td pre, .output pre")].filter(seen)
    .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth)
    .map(e => e.textContent.slice(0, 60));
  contrast.sort((a, b) => a[0] - b[0]);
  return {
    width: root.scrollWidth, cut, advances, contrast: contrast.slice(0, 5),
    loaded: view.performance.getEntriesByType("resource").map(e => e.name),
    broken: [...page.images].filter(e => seen(e) && !e.naturalWidth).map(e => e.src),
    colours: Object.fromEntries(Object.entries(colours).map(([k, v]) => [k, [...v]])),
    is_dark: luminance(behind(page.body)) < 0.5,
  };
}
addEventListener("load", () => setTimeout(() => {
  const found = Object.fromEntries([...document.querySelectorAll("iframe")].map(frame => {
    try { return [frame.title, measured(frame)]; }
    catch (error) { return [frame.title, {error: String(error.stack)}]; }
  }));
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.replaceChildren(out);
}, 500));
"""


def measured(
    pages: Mapping[str, Path], folder: Path, *, dark: bool = False, words: tuple[str, ...] = ()
) -> dict[str, Measured]:
    """The layout of each page. ``folder``: for files; ``words``: whose colours are wanted."""
    frames = "".join(
        f'<iframe title="{name}" src="{path.resolve().as_uri()}" '
        f'style="border:0;width:{WIDTH}px;height:{HEIGHT}px"></iframe>'
        for name, path in pages.items()
    )
    script = f"const WORDS = {json.dumps(words)};{_SCRIPT}"
    page = folder / "measured.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><body style="margin:0">{frames}'
        f"<script>{script}</script>", encoding="utf-8",
    )
    printed = _run(page, folder, "--dump-dom", dark=dark)
    by_page: dict[str, dict[str, Any]] = json.loads(_found(printed))
    assert {k: v["error"] for k, v in by_page.items() if "error" in v} == {}
    return {name: Measured(**values) for name, values in by_page.items()}


_SEARCH = """
const wait = ms => new Promise(done => setTimeout(done, ms));
addEventListener("load", async () => {
  const frame = document.querySelector("iframe"), page = frame.contentDocument;
  const view = frame.contentWindow, found = {};
  const opened = page.querySelector("#__search");
  const query = page.querySelector("[data-md-component=search-query]");
  opened.checked = true;
  opened.dispatchEvent(new view.Event("change"));
  query.focus();
  await wait(1500);
  for (const text of QUERIES) {
    query.value = text;
    query.dispatchEvent(new view.KeyboardEvent("keyup", {bubbles: true, key: "a"}));
    query.dispatchEvent(new view.Event("input", {bubbles: true}));
    await wait(1200);
    found[text] = [...page.querySelectorAll("a.md-search-result__link")].map(a => a.href);
  }
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.replaceChildren(out);
});
"""


def searched(site: Path, queries: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """For each query the pages of the site that its search finds, the best one first."""
    page = folder / "searched.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><body><iframe src="{(site / "index.html").as_uri()}"'
        f' style="width:{WIDTH}px;height:{HEIGHT}px"></iframe>'
        f"<script>const QUERIES = {json.dumps(queries)};{_SEARCH}</script>", encoding="utf-8",
    )
    printed = _run(page, folder, "--dump-dom", dark=False)
    found: dict[str, list[str]] = json.loads(_found(printed))
    root = f"{site.as_uri()}/"
    names = {query: [re.split("[?#]", address.removeprefix(root))[0] for address in addresses]
             for query, addresses in found.items()}
    return {query: [*dict.fromkeys(pages)] for query, pages in names.items()}


def picture(page: Path, folder: Path, *, dark: bool = False, height: int = HEIGHT) -> Path:
    """A picture of the page, in a PNG file, as a window of `WIDTH` shows it."""
    made = folder / f"{page.stem}{'-dark' * dark}.png"
    _run(page, folder, f"--screenshot={made}", dark=dark, height=height)
    return made


def _found(printed: str) -> str:
    """What the script has written to the document."""
    found = re.search(r'<pre id="found">(.*?)</pre>', printed, re.DOTALL)
    assert found is not None, printed[-2000:]
    return html.unescape(found[1])


def _run(page: Path, folder: Path, task: str, *, dark: bool, height: int = HEIGHT) -> str:
    """What Chromium prints when it has shown the page."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
        "--allow-file-access-from-files", "--virtual-time-budget=60000",
        f"--user-data-dir={folder / 'profile'}", f"--window-size={WIDTH},{height}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}", task,
        page.resolve().as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def rows_that_differ(png: Path) -> tuple[int, int]:
    """The width of a picture, and how many of its rows of pixels differ from each other: one or two
    where nothing is shown.
    """
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    width, height = (int.from_bytes(data[k : k + 4], "big") for k in (16, 20))
    at, packed = 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        if kind == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += size + 12
    raw = zlib.decompress(packed)
    row = len(raw) // height
    return width, len({raw[k : k + row] for k in range(0, len(raw), row)})
