"""The command: every option, every format, and every kind of bad input."""
from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forked_programs import run_program

from targets.isa.target_registry import TARGETS, machine
from transpile import __version__, threads
from transpile.cli.command_line import _parser, main
from transpile.codes import CODES
from transpile.runtime import fuse_decorator

FILE = '''\
import sys
import numpy as np
from numpy.typing import NDArray
from transpile import fuse

print("imported")

@fuse
def scale(x, k, out):
    for i in range(len(x)):
        out[i] = x[i] * k

@fuse
def smooth(a: NDArray[np.float32], t: NDArray[np.float32], out: NDArray[np.float32]):
    for i in range(len(a) - 1):
        t[i] = a[i] * a[i]
    for i in range(len(a) - 1):
        out[i] = t[i + 1] - t[i]

def plain(x, out):
    for i in range(len(x)):
        out[i] = x[i] + 1.0

class Model:
    @staticmethod
    @fuse
    def step(x, out):
        for i in range(len(x)):
            out[i] = x[i] - 1.0

if __name__ == "__main__":
    print("main", sys.argv[1:])
    scale(np.ones(4, np.float32), np.float32(2), np.zeros(4, np.float32))
    sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
'''


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRANSPILE_TARGET", "scalar")  # --target sets it, and this puts it back


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "loops.py"
    path.write_text(FILE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Status, stdout and stderr of the command."""
    try:
        status = main(list(words))
    except SystemExit as leaving:  # argparse
        status = int(leaving.code or 0)
    out = capsys.readouterr()
    return status, out.out, out.err


def test_a_report_on_each_function(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, file)
    assert status == 0
    assert "scale(x: f64[:], k: float, out: f64[:])" in out
    assert "types assumed" in out
    assert "smooth(a: f32[:], t: f32[:], out: f32[:])" in out
    assert "FUSE_REJECT_DEPENDENCE  loops.py:17" in out
    assert "step(" in out
    assert "plain(" not in out
    assert "main" not in out
    assert "imported" not in out
    assert err == ""


def test_all_takes_plain_functions(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "plain(x: f64[:], out: f64[:])" in run(capsys, file, "--all")[1]


def test_check(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, file, "--check")[0] == 0  # two passes over memory, but nothing in Python
    assert run(capsys, file, "--check", "--select", "FUSE")[0] == 1
    fine = tmp_path / "fine.py"
    fine.write_text(FILE[: FILE.index("@fuse\ndef smooth")])
    assert run(capsys, str(fine), "--check", "--target", "sse2")[0] == 0


def test_types(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    spec = "scale(float32[:], int, f64[:])"
    status, out, _ = run(capsys, file, "--types", spec, "--types", "scale(u8[:], u8, u8[:])")
    assert status == 0
    assert "scale(x: f32[:], k: int, out: f64[:])" in out
    assert "scale(x: u8[:], k: u8, out: u8[:])" in out


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("scale(", "want the form"),
        ("nobody(f64)", "no function nobody"),
        ("scale(f64[:])", "scale takes 3 arguments, 1 given"),
        ("scale(g64[:], int, int)", "'g64' is not an element type"),
    ],
)
def test_wrong_types(
    file: str, spec: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, file, "--types", spec)
    assert status == 2
    assert said in err.splitlines()[-1]
    assert out == ""


@pytest.mark.parametrize(
    ("stage", "sign"),
    [
        ("python", "def scale("), ("loopir", "def scale("), ("mlir", "func.func @scale("),
        ("c", "tp_kernel"), ("asm", "ret"),
    ],
)
def test_emit(
    file: str, stage: str, sign: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, file, "--emit", stage)
    assert status == 0
    assert sign in out
    folder = tmp_path / "new" / "folder"
    status, listed, _ = run(capsys, file, "--emit", stage, "-o", str(folder))
    assert status == 0
    paths = [Path(line) for line in listed.split()]
    assert {p.name.rpartition(".")[0] for p in paths} == {"scale", "smooth", "Model.step"}
    assert "".join(p.read_text() for p in paths) == out


def test_emit_several_signatures(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    types = ["--types", "scale(f32[:], f32, f32[:])", "--types", "scale(f64[:], f64, f64[:])"]
    run(capsys, file, *types, "--emit", "loopir", "-o", str(tmp_path / "ir"))
    assert "f32[" in (tmp_path / "ir" / "scale.ir").read_text()
    assert "f64[" in (tmp_path / "ir" / "scale-2.ir").read_text()


def test_emit_of_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "refused.py"
    path.write_text(
        "from transpile import fuse\n\n@fuse\ndef f(x):\n    for v in x:\n        print(v)\n"
    )
    status, out, err = run(capsys, str(path), "--emit", "c")
    assert (status, out) == (0, "")
    assert "LOWER_" in err
    assert len(err.splitlines()) == 1
    assert run(capsys, str(path), "--emit", "c", "--check")[0] == 1


def test_emit_where_nothing_can_be_written(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, file, "--emit", "c", "-o", str(tmp_path / "loops.py" / "x"))
    assert status == 2
    assert "Not a directory" in err.splitlines()[-1]


def test_target(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for target in ("sse2", "avx512", "neon"):
        status, out, _ = run(capsys, file, "--target", target)
        assert status == 0
        assert f"compiled for {target}" in out
        assert f"lanes, {target}" in out
    assert "vfmadd" not in run(capsys, file, "--target", "neon", "--emit", "c")[1]
    status, _, err = run(capsys, file, "--target", "z80")
    assert status == 2
    assert "--target z80: no such target (known: scalar" in err


def test_calls_for_a_target_that_does_not_run_here(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    other = "neon" if machine() == "x86_64" else "sse2"
    out = run(capsys, file, "--target", other, "--run")[1]
    assert f"this machine does not run code for {other}" in out
    assert "help: for calls on this machine choose a target that it runs: auto, " in out
    assert "scalar" in out
    assert "compiler's message" not in out


def test_assembly_is_the_targets_own(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = "neon" if machine() == "x86_64" else "sse2"
    words = [file, "--target", other, "--emit", "asm"]
    status, out, err = run(capsys, *words)
    if other == "neon" and shutil.which("aarch64-linux-gnu-gcc"):
        assert status == 0
        assert re.search(r"\tldr\tq\d", out)
    monkeypatch.setenv("PATH", "/nonexistent")
    status, out, err = run(capsys, *words)
    assert (status, out) == (0, "")
    assert "BUILD_NO_COMPILER" in err
    assert f"no C compiler for {'aarch64' if other == 'neon' else 'x86_64'}" in err


def test_run(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.argv
    status, out, _ = run(capsys, file, "--run", "--", "3", "--check")
    assert status == 3
    assert out.startswith("imported\nmain ['3', '--check']\n")
    assert "scale(x: f32[:], k: f32, out: f32[:])" in out
    assert "types assumed" in out  # of step, which was not called
    assert sys.argv is before


CALLS_PLAIN = '''"""Functions without a decorator that the script calls."""
from __future__ import annotations

import numpy as np

class Base:
    names = []

    def __init_subclass__(cls):
        for _ in range(2):
            Base.names.append(cls.__name__)

    def total(self, rows):
        return sum([v for v in rows[0]])

class Derived(Base):
    pass

def spread(points):
    out = np.zeros(len(points))
    for i in range(len(points)):
        out[i] = ((points[i] - points[0]) ** 2).sum()
    return out

print(__doc__, spread(np.ones((3, 2))), Derived().total(np.ones((2, 2), np.float32)), Base.names)
'''


def test_run_takes_the_types_of_calls_of_plain_functions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under ``--all`` of functions without a decorator, too; and the script prints the same."""
    path = tmp_path / "plain_calls.py"
    path.write_text(CALLS_PLAIN)
    status, out, _ = run(capsys, str(path), "--run", "--all")
    assert status == 0
    assert out.splitlines()[0] == (
        "Functions without a decorator that the script calls. [0. 0. 0.] 2.0 "
        "['Derived', 'Derived']"
    )
    assert "spread(points: f64[:, :])" in out
    assert "Base.total(self: Derived, rows: f32[:, :])" in out
    assert "types assumed" not in out


def test_a_script_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fails.py"
    path.write_text(FILE.replace("sys.exit(", "raise ValueError(") )
    status, out, err = run(capsys, str(path), "--run")
    assert status == 1
    assert "scale(x: f32[:]" in out
    assert err.splitlines()[-1] == "ValueError: 0"
    assert "examine.py" not in err


def test_formats(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    reports = json.loads(run(capsys, file, "--format", "json")[1])
    assert [r["function"] for r in reports] == ["scale", "smooth", "Model.step"]
    log = json.loads(run(capsys, file, "--format", "sarif")[1])
    assert "FUSE_REJECT_DEPENDENCE" in {r["ruleId"] for r in log["runs"][0]["results"]}
    github = run(capsys, file, "--format", "github")[1].splitlines()
    assert any(line.startswith(f"::warning file={file},line=17,") for line in github)
    assert run(capsys, file, "--format", "plain")[1] == run(capsys, file)[1]
    assert "scale(x: f64[:]" in run(capsys, file, "--format", "rich")[1]
    assert run(capsys, file, "--format", "xml")[0] == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"def f(:\n", ":1: "),
        (b"x = 1\0\n", "SOURCE_UNPARSABLE"),
        (b"\xff\xfe\x00", "SOURCE_UNPARSABLE"),
        (b"x = 1  # \xe9\n", "SOURCE_UNPARSABLE"),
        (None, "SOURCE_UNAVAILABLE"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--run"]])
def test_files_that_cannot_be_read(
    content: bytes | None,
    said: str,
    more: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "broken.py"
    if content is not None:
        path.write_bytes(content)
    status, out, err = run(capsys, str(path), *more)
    assert out == ""
    assert status == 2
    assert len(err.splitlines()) == 1
    assert err.startswith("transpile: ")
    assert str(path) in err
    assert said in err


def test_a_file_in_a_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = tmp_path / "outer" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package / "constants.py").write_text("FACTOR = 2.0\n")
    (package / "loops.py").write_text(
        "from transpile import fuse\nfrom .constants import FACTOR\n\n"
        "@fuse\ndef f(x, out):\n    for i in range(len(x)):\n        out[i] = x[i] * FACTOR\n"
    )
    status, out, err = run(capsys, str(package / "loops.py"))
    assert (status, err) == (0, "")
    assert "compiled for scalar" in out
    assert "outer.inner.loops" not in sys.modules


@pytest.mark.parametrize(
    "content", ["import no_such_module\n", "\n1 / 0\n", "sys.exit(3)\n"]
)
def test_files_that_fail_when_they_run(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fails.py"
    path.write_text(content + FILE)
    status, out, err = run(capsys, str(path))
    assert (status, err) == (0, "")
    assert "smooth(" in out
    assert run(capsys, str(path), "--run")[0] == 1
    path.write_text(content)
    if "sys" not in content:
        err = run(capsys, str(path), "--run")[2]
        assert err.endswith(": no @fuse function before the script ended with status 1\n")


def test_a_script_that_closes_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "closes.py"
    path.write_text(FILE.replace('    print("main", sys.argv[1:])', "    sys.stdout.close()"))
    monkeypatch.setattr(sys, "stdout", open(1, "w", closefd=False))  # noqa: SIM115
    assert main([str(path), "--run"]) == 0
    sys.stdout.flush()
    assert "scale(x: f32[:], k: f32, out: f32[:])" in capfd.readouterr().out


def test_functions_with_while_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "whiles.py"
    path.write_text("def f(x):\n    i = 0\n    while i < len(x):\n        i += 1\n    return i\n")
    assert "f(x: f64[:])" in run(capsys, str(path), "--all")[1]
    path.write_text("x = 1\n")
    assert run(capsys, str(path), "--all") == (
        0, "", f"transpile: {path}: no function with loops\n"
    )


def test_a_file_without_fused_functions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.py"
    path.write_text("def f(x):\n    return x\n")
    status, out, err = run(capsys, str(path))
    assert (status, out) == (0, "")
    assert "no @fuse function; --all takes" in err


def test_a_wrong_option_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("from transpile import fuse\n\n@fuse(speed=9)\ndef f(x):\n    return x\n")
    status, _, err = run(capsys, str(path))
    assert status == 2
    assert ":3: TypeError: " in err
    assert "speed" in err


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--explain", "fuse_reject_dependence")
    assert status == 0
    assert out.startswith("FUSE_REJECT_DEPENDENCE  ")
    for text in (CODES["FUSE_REJECT_DEPENDENCE"].bad, CODES["FUSE_REJECT_DEPENDENCE"].good):
        assert text.splitlines()[3] in out
    for page in CODES.values():
        shown = " ".join(run(capsys, "--explain", page.code)[1].split())
        assert f"help: {page.help}" in shown
    listed = run(capsys, "--explain")[1]
    assert [line.split()[0] for line in listed.splitlines()] == list(CODES)
    status, _, err = run(capsys, "--explain", "FUSE_REJECT_DEPENDANCE")
    assert status == 2
    assert "did you mean FUSE_REJECT_DEPENDENCE" in err


def test_targets(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--targets")
    assert status == 0
    targets, shown = out.split("\n\n")
    assert list(TARGETS) == [line.split()[0] for line in targets.splitlines()]
    limits = threads()
    assert shown.startswith(f"threads  at most {limits.limit} in a call ({limits.cpus} CPUs, ")
    assert out.count(", auto") == 1


def test_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> dict[str, tuple[str, str]]:
        status, out, _ = run(capsys, "--machine")
        assert status == 0
        lines = out.splitlines()
        return {line[:9].strip(): (line[9:59].strip(), line[59:].strip()) for line in lines}

    rows = shown()
    assert rows["made for"][1] == "set by TRANSPILE_MACHINE"
    assert {"cpu", "target", "core", "reads", "writes", "rows", "threads"} <= set(rows)
    assert rows["reads"][0].startswith("L1 ")
    assert rows["reads"][1] == "measured"
    monkeypatch.setenv("TRANSPILE_MACHINE", "64K,2M,8M")
    assert shown()["made for"][0] == "L1 64 KiB, L2 2 MiB, L3 8 MiB"
    monkeypatch.delenv("TRANSPILE_MACHINE")
    rows = shown()
    assert rows["made for"][1] == ("from the above" if "L1" in rows else "default")
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "empty"))
    assert shown()["speed"] == ("CC=no-such-compiler: there is no such program", "not measured")
    monkeypatch.setenv("TRANSPILE_MACHINE", "32K")
    status, out, err = run(capsys, "--machine")
    assert (status, out) == (2, "")
    assert err.startswith("transpile: TRANSPILE_MACHINE=32K: want typical, or the sizes of three")


def test_ops(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--ops")
    assert status == 0
    cells = {line[:14].strip(): line.split()[-1] for line in out.splitlines()[3:]}
    for op, vector in (("add", "n"), ("pow", "x"), ("ipow", ".")):
        assert cells[op] == "".join(vector if t.bits else "." for t in TARGETS.values())
    assert {"first_set", "cast bool", "cast f64"} <= set(cells)


def test_cache(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, file, "--run")
    status, out, _ = run(capsys, "--cache")
    assert status == 0
    assert str(tmp_path / "cache") in out
    assert "kernels  0" not in out
    assert "kernels  0" in run(capsys, "--cache", "clear")[1]


def test_nothing_asked(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys)
    assert status == 2
    assert "want a file" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--targets", "FILE"], "not a file and --targets at once"),
        (["--explain", "GUARD_ALIAS", "--cache"], "not --explain and --cache at once"),
        (["--targets", "--check"], "--targets goes with no other option"),
        (["--machine", "FILE"], "not a file and --machine at once"),
        (["FILE", "-o", "out"], "there is neither"),
        (["FILE", "--emit", "c", "--format", "json"], "--emit prints none"),
        (["FILE", "--", "a"], "there is no --run"),
        (["FILE", "--emit", "pdf"], "invalid choice: 'pdf'"),
        (["FILE", "more"], "more: No such file or directory"),
        (["--types", "f(int)"], "want a file"),
        (["FILE", "--run", "x", "y"], "the script's own arguments stand behind --: transpile FILE"),
        (["FILE", "--run", "--fast"], "the script's own arguments stand behind --: transpile FILE"),
        (["--cache", "info"], "choose from"),
        (["FILE", "--types", "plain(f64[:], f64[:])"], "plain has no @fuse; --all takes every"),
        (["FILE", "--types", "Model.stop(int)"], "did you mean Model.step?"),
    ],
)
def test_words_that_make_no_sense(
    words: list[str], said: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *(file if word == "FILE" else word for word in words))
    assert (status, out) == (2, "")
    assert err.startswith("transpile: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--format", "xml"], ["rich", "plain", "json", "sarif", "github"]),
        (["--target", "avx"], [*TARGETS, "auto"]),
        (["--emit", "llvm"], ["python", "loopir", "loopset", "mlir", "c", "asm", "html"]),
        (["--stop-after", "lowr"], ["lower", "hoist"]),
        (["--skip-pass", "hoists"], ["did you mean 'hoist'?"]),
            (["--skip-pass", "nope"], ["hoist", "vectorize"]),
        (["--types", "scale(f46[:], f64, f64)"], ["f64", "i32", "bool"]),
        (["--types", "scala(f64[:])"], ["scale", "smooth", "Model.step"]),
        (["--check", "--select", "LOWR"], ["LOWER", "VECTOR", "FUSE"]),
        (["--ignore", "LOWER_CAL_"], ["LOWER_CALL", "VECTOR"]),
        (["--format"], ["rich", "github"]),
        (["--emit"], ["python", "html"]),
        (["--chek"], ["did you mean --check?", "--select", "--run"]),
    ],
)
def test_a_bad_word_names_the_good_ones(
    words: list[str], names: list[str], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, file, *words)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert [name for name in names if name not in err] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bisect"], "FILE[::FUNCTION]"),
        (["reduce", "f.py", "--foo"], "--seconds"),
        (["bisect", "f.py", "g.py"], "g.py is one word too many"),
        (["bisect", "f.py", "--second"], "expected one argument: time limit of one run"),
        (["--explain", "LOWER"], "transpile --explain lists all"),
    ],
)
def test_bad_words_of_other_tasks(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith("transpile: ")
    assert err.count("\n") == 1
    assert said in err


def test_files_between_options(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--format", "plain", file, "--check", file)
    assert (status, out) == (0, "")
    assert "checked 3, none failed" in err


def test_parameters_whose_types_their_uses_do_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "records.py"
    path.write_text(
        "from transpile import fuse\n@fuse\ndef f(r, mode):\n    s = 0.0\n"
        "    for i in range(len(r)):\n        if mode == 'x':\n            s += r[i]['x']\n"
        "    return s\n"
    )
    status, out, err = run(capsys, str(path), "--check", "--format", "plain")
    assert (status, err) == (
        0, "transpile: checked 1, none failed, 1 not known before the file runs (--run)\n"
    )
    help = out.partition("   help: use --run, or --types ")[2].splitlines()[0]
    spec, = shlex.split(help)
    assert spec == "f({x: f64}[:], 'x')"
    out = run(capsys, str(path), "--types", spec)[1]
    assert "f(r: {x: f64}[:], mode: 'x')" in out
    assert "compiled for scalar: 1 loop" in out


def test_types_that_a_report_prints_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "calls.py"
    path.write_text(
        "import enum\nimport numpy as np\nfrom transpile import fuse\n"
        "class Color(enum.Enum):\n    RED = 1\n"
        "class D:\n    rate = 2.0\n"
        "@fuse\ndef f(x, p, axis=0, *more):\n    return np.sum(x, axis=axis)\n"
        "for p in (None, 'a, b', Color.RED, D(), (1.0,), {'a': 1.0}, np.float32, np.sin, [('a', 1)]"
        ",\n     np.zeros((2, 1), [('a b', 'f8'), ('n', 'i4')]), np.zeros(()), memoryview(b'a')"
        "):\n    f(np.ones((3, 3)), p, 1, 2)\n"
    )
    report = run(capsys, str(path), "--run")[1]
    printed = re.findall(r"^(f\(.*\))  calls.py:\d+$", report, re.MULTILINE)
    assert len(printed) == 12
    words = [word for text in printed for word in ("--types", text)]
    status, out, err = run(capsys, str(path), *words)
    assert (status, err) == (0, "")
    assert re.findall(r"^(f\(.*\))  calls.py:\d+$", out, re.MULTILINE) == printed
    assert out.count("compiled for scalar") == 12


def test_types_of_a_name_that_is_defined_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    definition = "@fuse\ndef f(x):\n    for i in range(len(x)):\n        x[i] = {0}\n"
    path = tmp_path / "again.py"
    path.write_text("from transpile import fuse\n" + definition.format(1) + definition.format(2))
    out = run(capsys, str(path), "--types", "f(i32[:])")[1]
    assert re.findall(r"f\(x: i32\[:\]\)  again.py:(\d+)", out) == ["2", "6"]
    methods = "".join(
        f"class {name}:\n    @staticmethod\n    @fuse\n    def g(x):\n        return x\n"
        for name in "AB"
    )
    path.write_text("from transpile import fuse\n" + methods)
    assert "more than one function g (A.g, B.g)" in run(capsys, str(path), "--types", "g(f64)")[2]
    assert run(capsys, str(path), "--types", "A.g(f64)")[0] == 0


def test_types_of_functions_that_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "left_out.py"
    path.write_text(
        "from transpile import fuse\ndef make():\n    @fuse\n    def inner(x):\n        return x\n"
        "def short(x):\n    return x\n@fuse\ndef f(x):\n    return x\n"
    )
    for spec, said in (
        ("inner(f64)", "inner is made when another function runs; --run reports on it"),
        ("short(f64)", "short has neither @fuse nor a loop"),
        ("shirt(f64)", "no function shirt (f)"),
    ):
        status, _, err = run(capsys, str(path), "--types", spec)
        assert (status, err.splitlines()[-1]) == (2, f"transpile: --types: {said}")


def test_the_page_has_the_options() -> None:
    page = Path(__file__).parents[4] / "docs" / "command.md"
    block = page.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    of_debugging = {"--args", "--seconds"}
    options = {a for action in _parser()._actions for a in action.option_strings} - {"-h"}
    assert {*re.findall(r"(?<![\w-])--?[a-z][a-z-]*", block)} == options | of_debugging
    for action in _parser()._actions:
        for choice in action.choices or ():
            assert re.search(rf"\b{choice}\b", block), choice


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"transpile {__version__}\n", "")


def test_help_says_that_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert "never run unless --run" in " ".join(run(capsys, "--help")[1].split())


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TRANSPILE_SKIP", "hoisting"), ("TRANSPILE_TARGET", "z80"), ("TRANSPILE_DEBUG", "all"),
        ("TRANSPILE_TRAGET", "avx2"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--run"], ["--emit", "c"]])
def test_a_wrong_variable(
    variable: str, value: str, more: list[str], file: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, value)
    status, out, err = run(capsys, file, *more)
    assert (status, out) == (2, "")
    assert err.startswith(f"transpile: {variable}: ")
    assert err.count("\n") == 1


def test_interrupted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stopped.py"
    path.write_text("raise KeyboardInterrupt\n")
    assert run(capsys, str(path))[0] == 0
    status, _, err = run(capsys, str(path), "--run")
    assert status == 130
    assert "examine.py" not in err


@pytest.mark.parametrize("more", [["--format", "json"], ["--format", "sarif"]])
def test_what_a_script_prints_is_not_in_the_data(
    more: list[str], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, err = run(capsys, file, "--run", *more)
    assert json.loads(out)
    assert "main []" in err


def test_data_of_no_function_and_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.py"
    path.write_text("x = 1\n")
    assert json.loads(run(capsys, str(path), "--format", "json")[1]) == []
    assert json.loads(run(capsys, str(path), "--format", "sarif")[1])["runs"][0]["results"] == []
    path.write_text("from transpile import fuse\n@fuse\ndef f(x):\n    return sum(x)\n")
    assert len(json.loads(run(capsys, str(path), "--format", "json")[1])) == 1


def test_types_of_a_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "methods.py"
    body = "    @fuse\n    def sum(self, x):\n        return sum(x)\n"
    path.write_text(f"from transpile import fuse\nclass A:\n{body}\nclass B:\n{body}")
    out = run(capsys, str(path), "--types", "B.sum(int, f32[:])")[1]
    assert "A.sum(self: object, x: f64[:])" in out
    assert "B.sum(self: int, x: f32[:])" in out
    status, _, err = run(capsys, str(path), "--types", "sum(int, f32[:])")
    assert status == 2
    assert "more than one function sum (A.sum, B.sum)" in err


def test_types_of_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The fields of dataclasses and named tuples are known by their annotations."""
    path = tmp_path / "records.py"
    path.write_text("""\
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
from numpy.typing import NDArray
from transpile import fuse

@dataclass
class Grid:
    dx: float
    w: NDArray[np.float32]
    n: int = 3

    @fuse
    def scaled(self, x):
        return [self.dx * v + self.w[0, 1] for v in x]

class Pair(NamedTuple):
    a: float
    b: bool

@dataclass
class Text:
    text: str

@dataclass
class Own:
    a: float
    def __post_init__(self): self.b = 2

@fuse
def first(x, g: Grid, p: "Pair"):
    return [v / g.dx + g.w[0] if p.b else p.a for v in x]

@fuse
def second(x, t: Text, o: Own):
    return [v * t.rate + o.b for v in x]
""")
    out = run(capsys, str(path))[1]
    assert "Grid.scaled(self: Grid, x: f64[:])" in out
    assert "first(x: f64[:], g: Grid, p: Pair)" in out
    assert out.count("compiled for scalar") == 2
    assert "second(x: f64[:], t: object, o: object)" in out
    assert "type unknown: `t`, `o`: use --run" in out


def test_a_terminal_without_box_characters(file: str) -> None:
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    answer = run_program("-m", "transpile", file, env=env)
    assert "FUSE_REJECT_DEPENDENCE" in answer.stdout
    assert "Traceback" not in answer.stderr


def test_wherever_a_function_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "places.py"
    path.write_text("""\
from transpile import fuse
class Outer:
    class Inner:
        @fuse
        def nested(self, x): return sum(x)
    @property
    @fuse
    def read(self): return sum(range(3))
    @staticmethod
    @fuse
    def static(x): return sum(x)
Outer.Inner.up = Outer
def make():
    @fuse
    def made(x): return sum(x)
    class Local:
        @fuse
        def method(self, x): return sum(x)
    return made, Local
made, Local = make()
""")
    found = json.loads(run(capsys, str(path), "--run", "--format", "json")[1])
    assert [report["function"].rpartition(".")[2] for report in found] == [
        "nested", "read", "static", "made", "method",
    ]
    _, out, err = run(capsys, str(path), "--format", "json")
    assert [r["function"].rpartition(".")[2] for r in json.loads(out)] == [
        "nested", "read", "static",
    ]
    assert [line.partition("places.py")[2] for line in err.splitlines()] == [
        ":15: `made` is made when another function runs; --run reports on it",
        ":18: `method` is made when another function runs; --run reports on it",
    ]


def test_functions_that_others_make_and_drop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "inside.py"
    path.write_text("""
import numpy as np
from transpile import fuse
def outer(x):
    @fuse(on_reject="silent")
    def total(v):
        s = 0.0
        for a in v: s += a
        return s
    return total(x)
def refused(x):
    @fuse(on_reject="silent")
    def shown(v):
        for a in v: print(a)
    shown(x)
for _ in range(4): outer(np.ones(5))
outer([1.0, 2.0])
refused(np.ones(1))
""")

    def reports(*options: str) -> list[str]:
        """The function and types of each report."""
        found = json.loads(run(capsys, str(path), "--run", "--format", "json", *options)[1])
        return [r["function"].rpartition(".")[2] + r["signature"] for r in found]

    assert reports() == [
        "total(v: f64[:])", "total(v: list[float])", "shown(v: f64[:])",
    ]
    assert reports("--types", "total(f32[:])") == [
        "total(v: f32[:])", "shown(v: f64[:])",
    ]
    assert reports("--check") == ["shown(v: f64[:])"]
    assert run(capsys, str(path), "--run", "--check")[0] == 1
    assert fuse_decorator._recorded is None


def test_as_a_module() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "transpile", "--explain", "GUARD_ALIAS"],
        capture_output=True, text=True, check=True,
    )
    assert answer.stdout.startswith("GUARD_ALIAS  ")


def test_a_reader_that_leaves(file: str) -> None:
    command = f"{sys.executable} -m transpile --explain | head -n 1"
    answer = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert answer.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(("to", "status", "said"), [
    (">/dev/full", 2, "transpile: [Errno 28] No space left on device\n"), (">&-", 0, ""),
])
def test_output_that_cannot_be_written(to: str, status: int, said: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m transpile --explain {to}", shell=True, capture_output=True, text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, said)
