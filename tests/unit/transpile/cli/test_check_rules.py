"""What fails ``--check``: by default, by --select and --ignore, and by comments."""
from __future__ import annotations

from pathlib import Path

import pytest

from transpile.cli.check_rules import parse_codes
from transpile.cli.command_line import main

FILE = """\
from transpile import fuse

@fuse
def shown(x):
    for v in x:
        print(v)  # A

@fuse
def apart(a, t, out):  # B
    for i in range(len(a) - 1):
        t[i] = a[i] * a[i]
    for i in range(len(a) - 1):
        out[i] = t[i + 1] - t[i]
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRANSPILE_TARGET", "scalar")


def check(tmp_path: Path, text: str, *words: str) -> int:
    path = tmp_path / "loops.py"
    path.write_text(text)
    return main([str(path), "--check", *words])


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([], 1),
        (["--ignore", "LOWER"], 0),
        (["--ignore", "lower_call"], 0),
        (["--ignore", "LOWER_TYPE"], 1),
        (["--select", "FUSE"], 1),
        (["--select", "FUSE", "--ignore", "FUSE_REJECT_DEPENDENCE"], 0),
        (["--select", "VECTOR"], 0),
        (["--select", "VECTOR,LOWER_C"], 1),
        (["--select", "VECTOR", "--select", "FUSE"], 1),
    ],
)
def test_codes(words: list[str], status: int, tmp_path: Path) -> None:
    assert check(tmp_path, FILE, *words) == status


@pytest.mark.parametrize(
    ("comments", "status"),
    [
        ({"A": "transpile: ignore[LOWER_CALL]"}, 0),
        ({"A": "transpile: ignore[LOWER, VECTOR]"}, 0),
        ({"A": "transpile: ignore"}, 0),
        ({"A": "noqa  # transpile:ignore[LOWER]"}, 0),
        ({"A": "transpile: ignore[VECTOR]"}, 1),
        ({"B": "transpile: ignore"}, 1),  # of another function
        ({"A": "transpile: ignore[LOWER_KALL]"}, 2),
    ],
)
def test_comments(comments: dict[str, str], status: int, tmp_path: Path) -> None:
    text = FILE
    for mark, comment in comments.items():
        text = text.replace(f"# {mark}\n", f"# {comment}\n")
    assert check(tmp_path, text) == status


def test_a_comment_at_a_def_is_for_the_function(tmp_path: Path) -> None:
    assert check(tmp_path, FILE, "--select", "FUSE") == 1
    text = FILE.replace("# B", "# transpile: ignore[FUSE]")
    assert check(tmp_path, text, "--select", "FUSE") == 0


@pytest.mark.parametrize("header", [
    "@fuse  # {}\ndef shown(x):",
    "@fuse(\n    target='auto',  # {}\n)\ndef shown(x):",
    "@fuse\ndef shown(  # {}\n    x,\n):",
    "@fuse\ndef shown(\n    x,  # {}\n    k={{1: 2}}[1],\n):",
    "@fuse\ndef shown(\n    x,\n) -> dict[str, int]:  # {}",
    "@fuse\nasync def shown(x):  # {}",
])
def test_a_comment_anywhere_in_the_header_is_for_the_function(header: str, tmp_path: Path) -> None:
    for comment, status in (("transpile: ignore[LOWER]", 0), ("transpile: ignore[FUSE]", 1)):
        text = f"""\
from transpile import fuse
class Shown:
    @fuse
    def first(self): ...
{header.format(comment)}
    for v in x:
        print(v)
"""
        assert check(tmp_path, text) == status


def test_a_comment_in_the_line_of_a_lambda(tmp_path: Path) -> None:
    text = "from transpile import fuse\nf = fuse(lambda x: [print(v) for v in x])"
    assert check(tmp_path, text) == 1
    assert check(tmp_path, f"{text}  # transpile: ignore[SOURCE]") == 0


def test_a_comment_in_the_body_is_for_its_line(tmp_path: Path) -> None:
    text = """\
from transpile import fuse
@fuse
async def shown(x):
    k = 1  # transpile: ignore
    for v in x:
        print(v)
"""
    assert check(tmp_path, text) == 1


def test_only_what_fails_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path, FILE)
    captured = capsys.readouterr()
    assert "shown(x" in captured.out
    assert "apart(" not in captured.out
    assert captured.err == "transpile: checked 2, 1 failed\n"
    check(tmp_path, FILE, "--ignore", "LOWER")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "transpile: checked 2, none failed\n"


def test_what_is_ignored_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path, FILE, "--select", "FUSE,LOWER", "--ignore", "FUSE")
    out = capsys.readouterr().out
    assert "LOWER_CALL" in out
    assert "FUSE_REJECT" not in out


def test_types_that_are_not_known_do_not_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
from transpile import fuse
class Model:
    @fuse
    def step(self, x):
        for i in range(len(x)):
            x[i] = x[i] * self.rate
"""
    assert check(tmp_path, text) == 0
    out, err = capsys.readouterr()
    assert err == "transpile: checked 1, none failed, 1 not known before the file runs (--run)\n"
    assert "Model.step(self: object, x: f64[:])" in out
    assert "type unknown: `self`: use --run" in out
    assert "the type of `self` is not known before the file runs" in out
    assert check(tmp_path, text, "--run") == 0  # nothing calls it
    out, err = capsys.readouterr()
    assert err == "transpile: checked 1, none failed, 1 not called\n"
    assert "type unknown: `self`: call it in the script" in out
    assert "the type of `self` is not known before `Model.step` is called" in out
    assert check(tmp_path, text.replace("* self.rate", "* print(x)")) == 1


def test_values_that_are_not_known_do_not_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A parameter of the same name is another thing."""
    text = """\
from transpile import fuse
config = open("config").read()
@fuse
def scale(x):
    return [v * config for v in x]
@fuse
def shown(x, config):
    for v in x:
        print(v * config)
"""
    assert check(tmp_path, text) == 1
    out, err = capsys.readouterr()
    assert "the value of `config` is not known before the file runs (line 2)" in out
    assert out.count("not known before") == 1
    assert err == "transpile: checked 2, 1 failed, 1 not known before the file runs (--run)\n"


def test_what_to_do_about_each_name_that_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
from transpile import fuse
import no_such_module
rate = open("rate").read()
@fuse
def of_module(x, r):
    return [v * no_such_module.K for v in x]
@fuse
def of_value(r):
    s = 0.0
    for i in range(3):
        s += rate
    return s + r["a"]
"""
    assert check(tmp_path, text) == 0
    out = capsys.readouterr().out
    assert "(there is no module no_such_module)\n" in out
    assert "   help: install or correct no_such_module, which the file imports when it runs" in out
    assert "   help: use --run\n" in out  # not --types
    assert "type unknown: `r`: use --run, or --types 'of_value(dict[str, float])'" in out


def test_codes_that_there_are_not() -> None:
    assert parse_codes(["lower, VECTOR_SMALL", ""], "--select") == ("LOWER", "VECTOR_SMALL")
    with pytest.raises(ValueError, match=r"--select VECTR: .*did you mean VECTOR.*FUSE, LOWER"):
        parse_codes(["VECTR"], "--select")
    for words in ([""], [","], [" ", ""]):
        with pytest.raises(ValueError, match=r"--ignore: there is no code \(they begin with FUSE"):
            parse_codes(words, "--ignore")
    assert parse_codes([], "--ignore") == ()
