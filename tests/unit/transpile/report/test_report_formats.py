"""Reports: where marks stand, how rows fold, and what each machine format says."""
from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from paths import GOLDEN
from rich.console import Console

from loopir.nodes import Span
from transpile.diagnostics import Label, Rejection
from transpile.report import listing_html
from transpile.report.loop_report import LoopInfo, Mark, Report, rejection_rows, source_excerpt
from transpile.report.report_formats import to_github, to_json, to_sarif
from transpile.report.styled_text import STYLES, as_html, as_plain, as_rich, styled_row

SOURCE = {
    10: "@fuse",
    11: "def smooth(n, a, t, out):",
    12: "    for i in range(n - 1):",
    13: "        t[i] = a[i] * 0.5",
    14: "    for i in range(n - 1):",
    15: "        out[i] = t[i + 1]",
}

REJECTION = Rejection(
    "FUSE_REJECT_DEPENDENCE",
    "cannot join the loop at line 12",
    Span(14, 4, 15, 25),
    labels=(
        Label(Span(12, 4, 13, 25)),
        Label(
            Span(15, 17, 15, 25),
            "reads t[i + 1]; the first loop writes t[i] one iteration later",
        ),
    ),
    note="with n = 2, iteration 0 would read t[1] before iteration 1 has written it",
    help="shift the second loop by one, or keep the loops apart; each is vectorised on its own",
)

REPORT = Report(
    function="smooth",
    path="some/where/smooth.py",
    line=10,
    signature="(n: int, a: f64[:], t: f64[:], out: f64[:])",
    target="avx2",
    accepted=True,
    rejections=(REJECTION,),
    fused=0,
    vectorized=2,
    regions=1,
    guards=("t and out share no memory",),
    names={"i": "int"},
    loops=(
        LoopInfo(span=Span(12, 4, 13, 25), what="map", lanes=4, isa="avx2", bytes=16, flops=1),
        LoopInfo(span=Span(14, 4, 15, 25), what="map", lanes=4, isa="avx2", bytes=16),
    ),
    source=SOURCE,
)

EXPECTED = """\
smooth(n: int, a: f64[:], t: f64[:], out: f64[:])  smooth.py:10
   compiled for avx2: 2 loops, 2 vectorised, 0 fusions
   line 12  map  4 lanes, avx2  16 B and 1 flop an element
   line 14  map  4 lanes, avx2  16 B and 0 flops an element
   types: i int

FUSE_REJECT_DEPENDENCE  smooth.py:14
   12 │     for i in range(n - 1):
   13 │         t[i] = a[i] * 0.5
   14 │     for i in range(n - 1):
      │     ──────────────────────  cannot join the loop at line 12
   15 │         out[i] = t[i + 1]
      │                  ────────  reads t[i + 1]; the first loop writes t[i] one iteration later
   note: with n = 2, iteration 0 would read t[1] before iteration 1 has written it
   help: shift the second loop by one, or keep the loops apart; each is vectorised on its own"""


def test_the_look() -> None:
    assert str(REPORT) == EXPECTED


def on_console(width: int, **options: object) -> str:
    out = io.StringIO()
    Console(file=out, width=width, **options).print(REPORT)  # type: ignore[arg-type]
    return out.getvalue()


def test_rich_says_the_same() -> None:
    assert on_console(200).rstrip("\n") == EXPECTED
    coloured = on_console(200, force_terminal=True, color_system="truecolor")
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).rstrip("\n") == EXPECTED


@pytest.mark.parametrize("width", [40, 60, 80])
def test_narrow_terminals_lose_nothing(width: int) -> None:
    lines = on_console(width).splitlines()
    assert max(map(len, lines)) <= width

    def words(text: str) -> str:
        return re.sub(r"[\s│]", "", text)

    assert words(" ".join(lines)) == words(EXPECTED)


@pytest.mark.parametrize("width", [80, 120])
def test_at_two_widths(width: int, golden: Callable[[Path, str], None]) -> None:
    text = on_console(width)
    assert "\x1b" not in text  # no terminal, no colours
    golden(GOLDEN / "report" / f"{width} columns.txt", text)


def test_html_escapes() -> None:
    assert "a &lt; b" in as_html([styled_row("a < b")])
    assert REPORT._repr_html_().startswith("<pre")


def test_html_has_the_rows_of_the_text() -> None:
    rows = re.findall(r"<div[^>]*>(.*?)</div>", REPORT._repr_html_(), re.DOTALL)
    texts = [html.unescape(re.sub(r"<[^>]+>", "", row)).rstrip() for row in rows]
    assert texts == str(REPORT).splitlines()


def test_a_folded_row_is_indented_in_html() -> None:
    gutter, mark = ("  1 │ ", "gutter"), ("───  ", "mark")
    for row, columns in (
        (styled_row(gutter, mark, ("a message", "mark")), 11),
        (styled_row("   ", ("help: ", "hint"), "text"), 9),
        (styled_row("   text"), 3),
        (styled_row("x" * 70, "message"), 20),
        (styled_row(), 0),
    ):
        style = f"padding-left:{columns}ch;text-indent:-{columns}ch"
        assert style in as_html([row]), row


def contrast(first: str, second: str) -> float:
    """The contrast of two colours as the accessibility guidelines WCAG define it."""

    def luminance(colour: str) -> float:
        parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, light = sorted(map(luminance, (first, second)))
    return (light + 0.05) / (dark + 0.05)


def test_colours_are_legible_on_white_and_on_black() -> None:
    css = " ".join([*(style.css for style in STYLES.values()), *listing_html._COLOURS.values()])
    colours = set(re.findall(r"color:(#\w{6})", css))
    assert len(colours) == 6
    for colour in colours:
        assert contrast(colour, "#ffffff") > 4.2, colour
        assert contrast(colour, "#111111") > 4.1, colour


def test_what_was_not_compiled() -> None:
    report = replace(REPORT, regions=0, loops=(), accepted=False, guards=())
    assert "   runs as Python" in str(report).splitlines()
    assert "compiled in part for avx2" in str(replace(REPORT, accepted=False))


def test_calls_fusions_and_temporaries_are_told() -> None:
    loops = (replace(REPORT.loops[0], fused_with=(14, 16), notes=("unrolled twice",)),)
    report = replace(
        REPORT,
        loops=loops,
        fused=1,
        temporaries=("t",),
        stats={"compiled": 3, "replays": {"GUARD_ALIAS": 1}, "seconds compiling": 0.03125},
        assumed="types assumed",
    )
    text = str(report)
    assert "3 loops, 3 vectorised, 1 fusion" in text
    assert "one pass with lines 14, 16; 16 B and 1 flop an element; unrolled twice" in text
    assert "never allocated: t" in text
    assert "calls: compiled 3, replays 1 × GUARD_ALIAS, seconds compiling 0.0312" in text
    assert text.splitlines()[1] == "   types assumed"


def test_guards_and_further_reasons_are_told_to_who_asks() -> None:
    further = replace(REJECTION, message="cannot join the loop at line 10")
    report = replace(REPORT, further=(further,))
    assert "guards" not in str(report)
    assert further.message not in str(report)
    assert "   guards: t and out share no memory" in str(report.in_detail()).splitlines()
    assert further.message in str(report.in_detail())
    assert report.to_dict()["further"][0]["line"] == 14
    assert report.to_dict() == report.in_detail().to_dict()


def test_its_representation_is_its_text() -> None:
    assert repr(REPORT) == str(REPORT)


def test_the_loops_around_are_counted() -> None:
    inner = replace(REPORT.loops[1], around=(Span(11, 0, 15, 25), Span(12, 4, 15, 25)))
    report = replace(REPORT, loops=(inner,), rejections=())
    assert "3 loops, 1 vectorised" in str(report)
    assert "in lines 11, 12; 16 B" in str(report)


def test_no_more_loops_are_vectorised_than_there_are() -> None:
    first = replace(REPORT.loops[0], fused_with=(13, 14))  # of a loop in line 14, which has others
    others = [replace(REPORT.loops[0], span=Span(14, k, 14, k + 9)) for k in (8, 20)]
    report = replace(REPORT, loops=(first, *others), rejections=())
    assert "4 loops, 4 vectorised" in str(report)
    scalar = replace(first, lanes=None)
    assert "4 loops, 2 vectorised" in str(replace(report, loops=(scalar, *others)))


def test_a_rejection_without_a_place_or_a_source() -> None:
    nowhere = Rejection("BUILD_NO_COMPILER", "there is no C compiler here", help="install one")
    assert as_plain(rejection_rows(nowhere, "a/b.py", {})) == (
        "BUILD_NO_COMPILER  b.py\n   there is no C compiler here\n   help: install one"
    )
    assert "   cannot join the loop at line 12\n" in as_plain(rejection_rows(REJECTION, "b.py", {}))


def marked(line: str, col: int, end: int) -> str:
    mark = Mark(Span(1, col, 1, end), "here", "mark")
    return as_plain(source_excerpt({1: line}, [mark]))


def test_columns_count_bytes_as_ast_does() -> None:
    line = "é = x[i]"
    start = len("é = ".encode())
    assert marked(line, start, start + 4) == "   1 │ é = x[i]\n     │     ────  here"


def test_wide_characters_and_tabs() -> None:
    line = "漢 = x"
    assert marked(line, 6, 7).splitlines()[1] == "     │      ─  here"
    assert marked("\tx = y", 1, 2).splitlines() == ["   1 │     x = y", "     │     ─  here"]


def test_far_lines_are_not_shown() -> None:
    lines = {n: f"line {n}" for n in range(1, 30)}
    marks = [Mark(Span(n, 0, n, 4), "x", "mark") for n in (2, 4, 20)]
    assert [
        r.split("│")[0].strip() for r in as_plain(source_excerpt(lines, marks)).splitlines()
    ] == [
        "2",
        "",
        "3",
        "4",
        "",
        "⋮",
        "20",
        "",
    ]


def test_folding_keeps_the_gutter() -> None:
    (long,) = [
        styled_row(("      │ ", "gutter"), "    ", ("── ", "mark"), "several words of a message")
    ]
    folded = [text.plain for text in as_rich([long], 33)]
    assert folded == ["      │     ── several words of a", "      │        message"]


def test_json() -> None:
    [data] = json.loads(to_json([REPORT]))
    assert data["function"] == "smooth"
    assert data["accepted"] is True
    assert data["rejections"][0]["line"] == 14
    assert data["rejections"][0]["span"] == [14, 4, 15, 25]
    assert data["loops"][0]["lanes"] == 4
    assert json.loads(REPORT.to_json()) == data
    assert [d["line"] for d in json.loads(to_json([REPORT, REPORT]))] == [10, 10]


def test_sarif() -> None:
    log = json.loads(to_sarif([REPORT]))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["FUSE_REJECT_DEPENDENCE"]
    (result,) = run["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 14, "startColumn": 5, "endLine": 15, "endColumn": 26}
    assert len(result["relatedLocations"]) == 1


def test_github() -> None:
    awkward = replace(REPORT, path="a,b.py", rejections=(replace(REJECTION, help="100 %\nof it"),))
    line = to_github([awkward])
    head, _, said = line.removeprefix("::warning ").partition("::")
    assert head == "file=a%2Cb.py,line=14,title=FUSE_REJECT_DEPENDENCE,endLine=15"
    assert said.startswith("cannot join the loop at line 12; ")
    assert line.endswith("; 100 %25 of it")
    assert "\n" not in line
