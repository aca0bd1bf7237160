"""The README is true: its programs run, its tables are those of the source."""
from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from paths import ROOT

from transpile.cli.command_line import main
from transpile.knobs import KNOBS
from transpile.options import Options

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> dict[str, list[str]]:
    """A table's rows: what stands between the backquotes of the first cell → the other cells."""
    found = re.findall(r"^\| `(\w+)` \| (.*?) \|$", section(title), re.MULTILINE)
    return {name: [cell.strip() for cell in rest.split("|")] for name, rest in found}


def machine_independent(report: str) -> str:
    """A report without what depends on the instruction set and the day."""
    report = re.sub(r"seconds compiling [\d.e-]+", "seconds compiling T", report)
    report = re.sub(r"\d+ lanes, \w+|scalar", "N lanes, ISA", report)
    return re.sub(r"compiled for \w+", "compiled for ISA", report)


def test_the_taste(tmp_path: Path) -> None:
    (program,) = blocks("python")
    path = tmp_path / "normalise.py"
    path.write_text(program, encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-W", "error", path], capture_output=True, text=True, check=True
    )
    assert machine_independent(answer.stdout) == machine_independent(blocks("text")[0])


def test_two_commands_set_up_everything() -> None:
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) == 2
    assert commands[0].startswith("python -m venv .venv && .venv/bin/pip install")
    assert commands[0].endswith("examples/tour.py")
    assert commands[1].endswith("-m pytest")


def test_the_options_are_those_there_are() -> None:
    table = rows("Options")
    assert set(table) == {field.name for field in fields(Options)}
    for field in fields(Options):
        assert table[field.name][0].strip("`").strip('"') == str(field.default)


def test_the_variables_are_those_there_are() -> None:
    table = rows("Environment")
    assert table == {knob.name: [knob.values, knob.does] for knob in KNOBS}


def test_the_command_has_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    known = set(re.findall(r"(?<![\w-])--?[a-z]+", capsys.readouterr().out)) - {"-h"}
    shown = set(re.findall(r"(?<![\w-])--?[a-z]+", section("The command")))
    assert shown - {"-m"} == known - {"--help"}


def test_the_house_is_as_drawn() -> None:
    for folder in re.findall(r"^(\w+)/  ", section("The house"), re.MULTILINE):
        assert (ROOT / folder).is_dir()


def test_the_report_that_is_read() -> None:
    """The rejection under "Reading a report" is the one that the tour prints."""
    (shown,) = re.findall(r"```text\n(.*?)```", section("Reading a report"), re.DOTALL)
    answer = subprocess.run(
        [sys.executable, ROOT / "examples" / "tour.py"],
        capture_output=True, text=True, check=True,
    )
    assert shown.startswith("FUSE_REJECT_")
    assert machine_independent(shown) in machine_independent(answer.stdout)
