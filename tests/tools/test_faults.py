"""The tool that makes steps of first calls fail: it finds nothing, and finds a planted bug."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fault_injection import Injection
from paths import ROOT

from tests.tools.faults import Place, known_trials, main
from transpile.runtime.process.compiler_faults import Faults

FEW = ["fold", "--states", "warm", "--kinds", "memory", "--from", "100", "--every", "150"]


@pytest.mark.long
def test_nothing_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(FEW) == 0
    assert "(0 bad)" in capsys.readouterr().out


def test_a_fault_that_is_remembered_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(self: Faults, error: BaseException) -> bool:
        return False

    journal = tmp_path / "journal"
    monkeypatch.setattr(Faults, "should_retry", never)
    assert main([*FEW, "--most", "3", "--journal", str(journal)]) == 1
    assert "not compiled later" in capsys.readouterr().out
    lines = [*map(json.loads, journal.read_text().splitlines())]
    assert len(lines) == 3
    assert any(line["faults"] for line in lines)
    assert known_trials(journal) == {("warm", line["site"], "memory") for line in lines}


def test_a_folder_is_put_back(tmp_path: Path) -> None:
    kept, gone, changed = (tmp_path / name for name in ("kept", "folder", "changed"))
    gone.mkdir()
    (gone / "file").write_text("a")
    kept.write_text("b")
    changed.write_text("c")
    place = Place(tmp_path)
    place.restore()
    (gone / "file").unlink()
    gone.rmdir()
    changed.write_text("d")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").write_text("e")
    place.restore()
    found: dict[str, Any] = {p.name: p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == {"kept": "b", "file": "a", "changed": "c"}


@pytest.mark.parametrize(("files", "is_dropped"), [
    (["targets/x.py"], False),
    (["targets/x.py", "/lib/python3.11/shutil.py"], False),
    (["targets/x.py", "<frozen importlib._bootstrap_external>"], True),
    (["targets/x.py", "<frozen importlib._bootstrap>", "/lib/python3.11/sysconfig.py"], True),
    (["<frozen importlib._bootstrap>", "targets/x.py", "<frozen posixpath>"], False),
])
def test_who_has_caught_an_exception(files: list[str], is_dropped: bool) -> None:
    """The innermost of these files, which call each other."""
    catches, calls = "try: f()\n    except OSError: pass", "f()"
    injection = Injection(0, "alarm")
    function = injection.fail
    for file in reversed(files):
        names: dict[str, Any] = {"f": function}
        body = catches if function == injection.fail else calls
        exec(compile(f"def function():\n    {body}", str(ROOT / file), "exec"), names)
        function = names["function"]
    function()
    assert injection.is_dropped() == is_dropped


@pytest.mark.long
def test_an_error_that_imports_drop_is_no_fault(capfd: pytest.CaptureFixture[str]) -> None:
    """Python's import passes over an OSError of reading bytecode: also one of a signal handler."""
    site = "io.open_code at <frozen importlib._bootstrap_external>"
    assert main(["fold", "--states", "warm", "--kinds", "alarm", "--at", site]) == 0
    said = capfd.readouterr()
    assert "1 forked, 0 anew" in said.err
    assert "again:" not in said.err
    assert "1 trials" in said.out
