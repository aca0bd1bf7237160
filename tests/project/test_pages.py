"""README and the pages of docs/ are true: their programs and commands print what is shown.

A block ``python NAME.py`` is a program; a block ``text`` right after it is what it prints. In a
block ``console``, a line after ``$`` is a command, run where the programs of the page are. With
``--bless`` what is shown is written anew.
"""
from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import pytest
from forked_programs import run_program, with_bytecode
from paths import ROOT

from transpile.cli.command_line import main
from transpile.cli.debug_commands import COMMANDS
from transpile.knobs import KNOBS
from transpile.options import Options

PAGES = (
    "README.md", *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md"))
)
NEEDS = {
    "docs/dask.md": ("dask",), "docs/guide/ecosystem.md": ("pandas", "sklearn", "joblib"),
}
"""What the programs of a page import that need not be installed."""

README = (ROOT / "README.md").read_text(encoding="utf-8")

BLOCK = re.compile(r"^```(python (\S+\.py)|text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Shown(NamedTuple):
    """What a page shows of the output of commands."""

    place: slice  # in the page
    command: str
    output: str


def programs_and_output(text: str) -> tuple[dict[str, str], list[Shown]]:
    """The programs of a page, by file name, and what it shows."""
    programs: dict[str, str] = {}
    shown: list[Shown] = []
    before: tuple[int, str] = (-1, "")  # the end of the program before, its name
    for match in BLOCK.finditer(text):
        kind, name, body = match.groups()
        start, end = match.span(3)
        if name:
            programs[name] = body
            before = match.end(), name
        elif kind == "text" and text[before[0] : match.start()].strip() == "":
            if before[1]:
                shown.append(Shown(slice(start, end), f"python {before[1]}", body))
            before = -1, ""
        elif kind == "console":
            for part in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
                place = slice(start + part.start(2), start + part.end(2))
                shown.append(Shown(place, part[1], part[2]))
    return programs, shown


def output_of(command: str, folder: Path) -> str:
    """What a command prints; ``python`` and ``transpile`` are those of this environment."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSPILE_")}
    environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    # What a program prints while it compiles: nothing may be in the cache already.
    environment["TRANSPILE_CACHE"] = str(folder / "cache")
    program, *words = shlex.split(command)
    if not set(command) & set("|;<>$&"):
        return run_program(
            *PROGRAMS[program], *words, env=environment, cwd=folder, merged=True, check=False
        ).stdout
    scripts = folder / "bin"
    if not scripts.exists():
        scripts.mkdir()
        for name, start in PROGRAMS.items():
            script = scripts / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {" ".join(start)} "$@"\n')
            script.chmod(0o755)
    environment["PATH"] = f"{scripts}:{environment['PATH']}"
    answer = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=with_bytecode(environment), text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return answer.stdout


PROGRAMS = {"python": ("-W", "error"), "transpile": ("-m", "transpile")}
"""The words that Python is started with for each program that pages run."""


def machine_independent(output: str) -> str:
    """Output without what depends on the instruction set, the CPUs and the day."""
    output = re.sub(r"seconds compiling [\d.e-]+", "seconds compiling T", output)
    output = re.sub(r" *[\d.,]+ ms$", " T ms", output, flags=re.MULTILINE)
    output = re.sub(r"\d+ lanes, \w+", "N lanes, ISA", output)
    output = re.sub(r"  scalar  ", "  N lanes, ISA  ", output)
    output = re.sub(r"up to \d+ threads? from [\d,]+", "up to N threads from M", output)
    output = re.sub(r"compiled for \w+", "compiled for ISA", output)
    output = re.sub(r"\d+ vectorised", "N vectorised", output)
    output = re.sub(r"signatures, for [\w, ]+; \d+ KB", "signatures, for ISAs; N KB", output)
    output = re.sub(r"(many)?linux_\w+\.whl", "PLATFORM.whl", output)
    return "\n".join(line.rstrip() for line in output.rstrip().split("\n"))


@pytest.mark.share(4)
@pytest.mark.parametrize("page", PAGES)
def test_output(page: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for name in NEEDS.get(page, ()):
        pytest.importorskip(name, reason=f"{page} needs {name}")
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    programs, shown = programs_and_output(text)
    for name, program in programs.items():
        (tmp_path / name).write_text(program, encoding="utf-8")
    results = [(each, output_of(each.command, tmp_path)) for each in shown]
    assert [output for _, output in results if "Traceback (most" in output] == []
    wrong = [
        (each, output) for each, output in results
        if machine_independent(output) != machine_independent(each.output)
    ]
    if request.config.getoption("--bless"):
        for each, output in reversed(wrong):
            text = text[: each.place.start] + output.rstrip() + "\n" + text[each.place.stop :]
        path.write_text(text, encoding="utf-8")
        return
    assert [(e.command, e.output) for e, _ in wrong] == [(e.command, output) for e, output in wrong]
    assert {each.command.partition(" ")[2] for each in shown} >= {
        name for name in programs if "print(" in programs[name] and "@fuse" not in programs[name]
    }


def section(page: str, title: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(page: str, title: str) -> dict[str, list[str]]:
    """A table's rows: what stands between the backquotes of the first cell → the other cells."""
    found = re.findall(r"^\| `(\w+)` \| (.*?) \|$", section(page, title), re.MULTILINE)
    return {name: [cell.strip() for cell in rest.split("|")] for name, rest in found}


def test_readme_is_short() -> None:
    assert README.count("\n") <= 200
    assert "| feature |" not in README


def test_readme_has_two_commands() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) == 2
    assert commands[0].startswith("python -m venv .venv && .venv/bin/pip install")
    assert commands[0].endswith("examples/tour.py")
    assert commands[1].endswith("-m pytest")


@pytest.mark.parametrize("page", PAGES)
def test_links(page: str) -> None:
    """Files that are linked exist, and their headings."""
    folder = (ROOT / page).parent
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    for target, anchor in re.findall(r"\]\(((?!http)[^)#\s]*)(#[\w-]+)?\)", text):
        path = folder / target if target else ROOT / page
        assert path.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)", path.read_text(encoding="utf-8"), re.MULTILINE)
            names = {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}
            assert anchor[1:] in names, anchor


def test_readme_links_to_every_page() -> None:
    """Of the guide and the how-to pages to one: each has the others beside it in the site."""
    folders = {page.rpartition("/")[0] for page in PAGES}
    missing = [page for page in PAGES[1:] if f"({page})" not in README]
    assert [page for page in missing if page.count("/") == 1] == []
    assert {page.rpartition("/")[0] for page in PAGES if page not in missing} == folders


def test_the_options_are_those_there_are() -> None:
    table = rows("docs/options.md", "Options")
    assert set(table) == {field.name for field in fields(Options)}
    for field in fields(Options):
        assert table[field.name][0].strip("`").strip('"') == str(field.default)


def test_the_variables_are_those_there_are() -> None:
    table = rows("docs/options.md", "Environment variables")
    assert table == {knob.name: [knob.values, knob.does] for knob in KNOBS}


def test_the_command_has_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """All options of ``transpile`` and of its commands, all commands, and no other ones."""
    known = set[str]()
    for command in ([], *([name] for name in COMMANDS)):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        known |= {*re.findall(r"(?<![\w-])--?[a-z]+[a-z-]*", capsys.readouterr().out)}
    text = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[:1]
    assert {*re.findall(r"(?<![\w-])--?[a-z]+[a-z-]*", listed)} == known - {"-h"}
    assert {*re.findall(r"^transpile ([a-z]+) ", listed, re.MULTILINE)} == {*COMMANDS}
