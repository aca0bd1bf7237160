"""Input files: directories, several files, notebooks."""
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from transpile.cli.command_line import main
from transpile.cli.input_files import UnreadableFile, compiled_cells, find_files

FUNCTION = """\
@fuse
def {name}(x, out):
    for i in range(len(x)):
        out[i] = x[i] * FACTOR
"""
FILE = "from transpile import fuse\nFACTOR = 2.0\n" + FUNCTION


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRANSPILE_TARGET", "scalar")


def notebook(path: Path, *cells: str) -> Path:
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    text = {"cell_type": "markdown", "source": ["# Title"]}
    path.write_text(json.dumps({"nbformat": 4, "cells": [text, *made]}))
    return path


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILE.format(name=path.stem))


def test_directories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = tmp_path / "tree"
    write(tree, "b.py", "a.py", "sub/c.py", ".hidden/d.py", "venv/lib/e.py", "__pycache__/f.py")
    (tree / "venv" / "pyvenv.cfg").write_text("")
    (tree / "empty.py").write_text("x = 1\n")
    os.mkfifo(tree / "pipe.py")
    write(tmp_path, "alone.py")
    words = [str(tree), str(tmp_path / "alone.py"), str(tree / "a.py"), "--format", "json"]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert [r["function"] for r in json.loads(captured.out)] == ["a", "b", "c", "alone"]
    assert captured.err == ""


def test_a_file_that_cannot_be_read_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "a.py", "c.py")
    (tmp_path / "b.py").write_text("def f(:\n")
    assert main([str(tmp_path), "--format", "json"]) == 2
    captured = capsys.readouterr()
    assert [r["function"] for r in json.loads(captured.out)] == ["a", "c"]
    assert captured.err.startswith(f"transpile: SOURCE_UNPARSABLE {tmp_path / 'b.py'}:1: ")
    assert captured.err.count("\n") == 1


def test_paths_without_files(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no Python file or notebook"):
        find_files([str(tmp_path)])
    with pytest.raises(UnreadableFile, match="No such file"):
        find_files([str(tmp_path / "none.py")])
    assert main([str(tmp_path)]) == 2


def test_run_takes_one_file(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b.py")
    assert main([str(tmp_path), "--run"]) == 2
    assert main([str(tmp_path / "a.py"), str(tmp_path / "b.py"), "--run"]) == 2


def test_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines are CELL:LINE, and names are known from cell to cell."""
    path = notebook(
        tmp_path / "work.ipynb",
        "%matplotlib inline\n!pip install that\nfiles = !ls\nfrom transpile import fuse\nfuse?",
        "FACTOR = 3.0",
        "%%time\n\n" + FUNCTION.format(name="scale"),
        "%%bash\nrm -rf nothing\n",
        "@fuse\ndef shown(x):\n    for v in x:\n        print(v)\n",
        f"open({str(tmp_path / 'marker')!r}, 'w')\n",
    )
    assert main([str(path), "--check"]) == 1
    assert "scale(x" not in capsys.readouterr().out
    main([str(path)])
    out = capsys.readouterr().out
    assert "scale(x: f64[:], out: f64[:])  work.ipynb:3:3" in out
    assert "LOWER_CALL  work.ipynb:5:4" in out
    assert "print(v)" in out
    assert not (tmp_path / "marker").exists()
    main([str(path), "--format", "github"])
    out = capsys.readouterr().out
    assert f"::warning file={path},line=4," in out
    assert "::cell 5: " in out
    main([str(path), "--format", "sarif"])
    assert f'"uri": "{path}"' in capsys.readouterr().out


def test_a_notebook_that_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = notebook(
        tmp_path / "work.ipynb",
        FILE.format(name="scale"),
        "import numpy as np\nscale(np.ones(3, np.float32), np.ones(3))\nprint('ran')",
        "1 / 0",
        "print('not reached')",
    )
    assert main([str(path), "--run"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("ran\n")
    assert "reached" not in out
    assert "scale(x: f32[:], out: f64[:])" in out


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 1}', '{"cells": [{}]}', "\0"])
def test_what_is_no_notebook(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.ipynb"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match="not a notebook"):
        compiled_cells(str(path))


def test_a_cell_that_is_no_python(tmp_path: Path) -> None:
    path = notebook(tmp_path / "bad.ipynb", "x = 1", "\ndef f(:")
    with pytest.raises(UnreadableFile, match=r"SOURCE_UNPARSABLE .*bad\.ipynb:2:2: "):
        compiled_cells(str(path))


def test_a_cell_that_is_no_python_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = notebook(tmp_path / "bad.ipynb", "def f(:", FILE.format(name="scale"), "else")
    assert main([str(path)]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("scale(x: ")
    assert [line.split(" ")[2] for line in err.splitlines()] == [f"{path}:1:1:", f"{path}:3:1:"]
    path = notebook(tmp_path / "bad.ipynb", "def f(:")
    assert main([str(path)]) == 2
    assert "SOURCE_UNPARSABLE" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "said"), [
    ("bisekt", "; did you mean transpile bisect FILE?"),
    ("reduc", "; did you mean transpile reduce FILE?"),
    ("kernel.py", "; did you mean kernels.py?"),
    ("gone.py", "No such file or directory"),  # a link that leads nowhere is no suggestion
])
def test_words_that_are_no_file(
    word: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text("")
    (tmp_path / "gone.py").symlink_to("nowhere")
    with pytest.raises(UnreadableFile) as raised:
        find_files([word])
    assert str(raised.value).endswith(said)


@pytest.mark.parametrize(("name", "said"), [
    ("kernels.py::f", "; FILE::FUNCTION is for bisect and reduce, a report is on all functions of"),
    ("kernel.py", "; did you mean "),
    ("another", "No such file or directory"),
])
def test_a_path_that_does_not_exist(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(FILE.format(name="f"))
    with pytest.raises(UnreadableFile) as raised:
        find_files([str(tmp_path / name)])
    assert said in str(raised.value)
    assert ("kernels.py" in str(raised.value)) == (name != "another")


def test_await_at_the_top_of_a_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As IPython, which runs such a cell in an event loop."""
    path = notebook(
        tmp_path / "work.ipynb", FILE.format(name="scale"), "import asyncio\nimport numpy as np",
        "await asyncio.sleep(0)\nx = np.ones(3)\nscale(x, x)", "await asyncio.sleep(0, 1 / 0)",
    )
    assert main([str(path)]) == 0
    assert main([str(path), "--run"]) == 1
    captured = capsys.readouterr()
    assert "calls: compiled 1" in captured.out
    assert "ZeroDivisionError" in captured.err


def test_the_line_of_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(b"x = 1\n# \xff\n")
    with pytest.raises(UnreadableFile, match=r"bad\.py:2: 'utf-8' codec can't decode byte"):
        compiled_cells(str(path))
    path.write_text("x = 1\nx = = 2\n")
    with pytest.raises(UnreadableFile, match=r"bad\.py:2: .* \(the syntax is that of Python 3\.\d"):
        compiled_cells(str(path))


def test_a_cell_with_the_magic_is_fused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `notebook_magics` does it; lines are those of the cell, also under ``--run``."""
    function = "def {}(x):\n    s = 0.0\n    for v in x: s += v\n    return s\n"
    path = notebook(
        tmp_path / "a.ipynb", "import numpy as np\n",
        f"\n%%fuse threads=1\n{function.format('total')}\nclass A:\n"
        f"    {function.format('method').replace(chr(10), chr(10) + '    ')}\n"
        f"@staticmethod\n{function.format('left')}\ntotal(np.ones(9))\n",
        f"# %%fuse\n{function.format('plain')}\n", "%%fuse (\nx = 1\n",
    )
    assert main([str(path), "--format", "json"]) == 2
    captured = capsys.readouterr()
    assert "a.ipynb:4" in captured.err
    reports = json.loads(captured.out)
    assert [(r["function"], r["line"]) for r in reports] == [("total", 3), ("A.method", 9)]
    assert all(r["accepted"] for r in reports)
    cells = json.loads(path.read_text())
    path.write_text(json.dumps(cells | {"cells": cells["cells"][:-1]}))
    assert main([str(path), "--format", "json", "--run"]) == 0
    ran = {r["function"]: r for r in json.loads(capsys.readouterr().out)}
    assert ran["total"]["signature"] == "(x: f64[:])"
    assert ran["total"]["stats"]["compiled"] == 1
