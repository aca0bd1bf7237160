"""Every code: its bad program gives it, its good one does not, and the bad one's report is kept.

``tests/reject/<code>.py`` is the bad program of the code's page as a file, ``<code>.txt`` what is
reported of it, and in two folders the same on narrower terminals; ``pytest --bless`` writes them.
"""
from __future__ import annotations

import ast
import contextlib
import copy
import io
import re
import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from paths import REJECT, ROOT

from transpile import fuse
from transpile.cli.file_cases import UnreadableFile, fused_functions, run_script
from transpile.codes import CODES, Code
from transpile.diagnostics import Refused, Rejection
from transpile.report.loop_report import Report, rejection_rows
from transpile.report.styled_text import as_plain, as_rich

PRELUDE = "import numpy as np\n\nfrom transpile import fuse\n\n\n"
KEPT = REJECT

Golden = Callable[[Path, str], None]

each_code = pytest.mark.parametrize("page", CODES.values(), ids=CODES.keys())

pytestmark = [
    pytest.mark.filterwarnings("ignore::transpile.FuseWarning"),
    pytest.mark.share(1),  # each code is met in a plain run
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))


def as_file(program: str) -> str:
    """The program as a file: what it asks of the environment first, then the imports."""
    wanted = "".join(re.findall(r"^# with .*\n", program, re.MULTILINE))
    return wanted + PRELUDE + program.removeprefix(wanted)


class Escaped(Exception):
    """The exception that ended the program, in one line."""


def reports_of(path: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """The reports of a program's functions after it has run, one a call signature."""
    path.write_text(as_file(program), encoding="utf-8")
    for name, value in re.findall(r"^# with (\w+)=(.*)$", program, re.MULTILINE):
        monkeypatch.setenv(name, value)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        file = run_script(str(path), [])
    if file.status:
        raise Escaped(said.getvalue().splitlines()[-1])
    found = fused_functions(file)
    return [f.report_for(types) for f in found for types in f.signatures]


def replays(report: Report) -> dict[str, int]:
    counted = (report.stats or {}).get("replays", {})
    assert isinstance(counted, dict)
    return counted


def codes_of(reports: list[Report]) -> set[str]:
    rejected = {r.code for report in reports for r in (*report.rejections, *report.further)}
    return rejected.union(*map(replays, reports))


def anywhere(rejection: Rejection) -> Rejection:
    """The rejection without what only this machine's compiler says, and without times."""
    if rejection.code == "RUN_PYTHON_FASTER":
        return replace(rejection, note="how long it took")
    if rejection.code != "BUILD_FAILED":
        return rejection
    message = re.sub(r"^\S+", "the compiler", rejection.message)
    return replace(rejection, message=message, note="what it said")


def as_text(reports: list[Report], folder: Path, width: int | None = None) -> str:
    """The rejections and replays; the same on every target, and in every `folder`. Folded at a
    `width`.
    """
    parts = []
    for report in reports:
        for r in map(anywhere, (*report.rejections, *report.further)):
            rows = [
                tuple(piece._replace(text=piece.text.replace(f"{folder}/", "")) for piece in row)
                for row in rejection_rows(r, report.path, report.source)
            ]
            folded = as_rich(rows, width) if width else ()
            parts.append("\n".join(t.plain.rstrip() for t in folded) if width else as_plain(rows))
        for code, count in replays(report).items():
            several = "some" if code == "RUN_PYTHON_FASTER" else count  # it depends on times
            parts.append(f"{code}  {several} call run by Python")
    return "\n\n".join(dict.fromkeys(parts)) + "\n"


@each_code
def test_the_bad_program_gives_the_code(
    page: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    name = page.code.lower()
    path = tmp_path / f"{name}.py"
    texts: dict[int | None, str] = {}
    try:
        reports = reports_of(path, page.bad, monkeypatch)
        codes = codes_of(reports)
        texts = {width: as_text(reports, tmp_path, width) for width in (None, 80, 120)}
    except (UnreadableFile, Escaped) as error:
        codes, texts[None] = set(re.findall(r"[A-Z]+_[A-Z_]+", str(error))), f"{error}\n"
    assert page.code in codes
    golden(KEPT / f"{name}.py", as_file(page.bad))
    for width, text in texts.items():
        folder = KEPT / f"{width} columns" if width else KEPT
        of_any_python = re.sub(r"(?<=syntax is that of Python )3\.\d+", "3.N", text)
        golden(folder / f"{name}.txt", of_any_python.replace(f"{tmp_path}/", ""))
        assert max(map(len, text.splitlines())) <= (width or 1000)


@pytest.mark.share(6)
@each_code
def test_the_good_program_does_not(
    page: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = reports_of(tmp_path / "good.py", page.good, monkeypatch)
    assert reports
    assert page.code not in codes_of(reports)


@each_code
def test_the_page_is_written(page: Code) -> None:
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)+", page.code)
    assert not page.title.endswith(".")
    assert not page.title[0].isupper() or page.title.startswith(("Python", "NumPy"))
    assert page.why.endswith(".")
    assert page.why[0].isupper()
    assert page.help
    assert not page.help.endswith(".")


@each_code
def test_the_message_has_the_shape(page: Code) -> None:
    """One sentence in lower case, without a full stop; note and help too."""
    text = (KEPT / f"{page.code.lower()}.txt").read_text(encoding="utf-8")
    for said in re.findall(r"(?:─  |   note: |   help: )(.*)$", text, re.MULTILINE):
        assert said == said.strip(), said
        assert not said.endswith("."), said
        assert not re.match(r"[A-Z][a-z]+ (?!of )", said) or said.startswith("Python"), said


def test_nothing_else_is_kept() -> None:
    assert {path.stem.upper() for path in KEPT.iterdir() if path.is_file()} <= set(CODES)


@pytest.mark.parametrize("call", [
    "np.linalg.solve(X, x)", "np.linalg.inv(X * 2)", "np.linalg.det(X)", "np.sort(X, axis=0)",
    "np.linalg.matrix_power(X, 3)", "np.fft.fft(x)", "x.argsort()", "x.sort()",
])
def test_what_libraries_compute_stays_theirs(call: str, tmp_path: Path) -> None:
    path = tmp_path / "theirs.py"
    path.write_text(f"import numpy as np\ndef theirs(X, x):\n    x += 1\n    return {call}\n")
    names = runpy.run_path(str(path))
    fused, given = fuse(names["theirs"], on_reject="silent"), (np.eye(3) + 1, np.arange(3.0)[::-1])
    assert [r.code for r in fused.report(*given).rejections] == ["LOWER_LIBRARY"]
    assert_same(outcome(fused, copy.deepcopy(given)), outcome(names["theirs"], given), call)


def test_codes_in_the_source_have_a_page() -> None:
    """Each code that some module writes is a key of CODES, so that `--explain` knows it."""
    kinds = "FUSE_REJECT|VECTOR|LOWER|SOURCE|GUARD|BUILD|VERIFY"
    code = re.compile(rf"(?:{kinds})_[A-Z][A-Z_]*[A-Z]")
    written = {
        argument.value
        for top in ("loopir", "targets", "transpile")
        for path in (ROOT / top).rglob("*.py")
        if code.search(text := path.read_text(encoding="utf-8"))
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call)
        for argument in call.args
        if isinstance(argument, ast.Constant)
        and isinstance(argument.value, str)
        and code.fullmatch(argument.value)
    }
    assert len(written) > 30
    assert written <= CODES.keys()


def test_an_unknown_code_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="NO_SUCH"):
        Refused(Rejection("NO_SUCH", "whatever"))


def test_a_report_holds_known_codes_alone() -> None:
    with pytest.raises(AssertionError, match="NO_SUCH"):
        Report(
            function="f", path="f.py", line=1, signature="f()", target="avx2", accepted=False,
            rejections=(Rejection("NO_SUCH", "nothing"),),
        )
