"""Programs with planted bugs are reduced to a few lines that still fail in the same way."""
from __future__ import annotations

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest
from planted_bugs import BUGS

from transpile.cli.bisect_miscompile import Finding, find_difference
from transpile.cli.call_outcomes import Difference
from transpile.cli.command_line import main
from transpile.cli.failing_call import FailingCall, load_calls
from transpile.cli.reduce_program import show_reduced
from transpile.options import Options

LEAST = {
    "macro": ["a, b = b, a", "a, b = (b, a)"],
    "pass": [" - "],
    "emission": ["abs("],
}
"""What of each program its bug needs."""


def size(text: str) -> int:
    """The number of nodes of the function in `text`."""
    (function,) = (s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef))
    return sum(1 for _ in ast.walk(function))


@pytest.mark.share(20)
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.plain] if name == "macro" else []) for name in BUGS
])
def test_a_planted_bug_is_reduced(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bug, path = BUGS[name], tmp_path / "program.py"
    path.write_text(bug.text)
    bug.plant(monkeypatch)
    assert main(["reduce", str(path)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"# {bug.stage}")
    assert bug.macro in said.splitlines()[0]
    smaller = tmp_path / "smaller.py"
    smaller.write_text(said)
    assert size(said) <= 2 / 3 * size(bug.text)
    assert any(least in said for least in LEAST[name])
    found = find_difference(*load_calls(str(smaller)))
    assert found is not None
    assert found.stage == bug.stage


def test_the_printed_program_runs_with_any_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def first(x: np.ndarray, y: float, z: np.float32) -> float:
        return float(x[1]) + y + z

    args = np.array([np.inf, -np.inf]), float("nan"), np.float32("nan")
    finding = Finding("emit", ("", ""), Difference("result", "gives 1"), "", "")
    path = tmp_path / "smaller.py"
    path.write_text(show_reduced(FailingCall(first, Options(), args), finding))
    runpy.run_path(str(path))
    assert capsys.readouterr().out.strip() == "nan"


def test_what_is_right_stays(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(BUGS["pass"].text)
    assert main(["reduce", str(path)]) == 0
