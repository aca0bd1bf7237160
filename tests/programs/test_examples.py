"""Every example runs, and the command reports on it."""
from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from example_files import EXAMPLES, FOLDER, NEEDS, UNTIMED
from forked_programs import Ran, run_program

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)


@pytest.fixture(autouse=True)
def _has_its_data(path: Path) -> None:
    needed = NEEDS.get(path.stem)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{path.name} needs {needed}; install the extra `examples`")


def run(cache: Path, *words: object, **env: str) -> Ran:
    return run_program(*words, env={**os.environ, "TRANSPILE_CACHE": str(cache), **env})


@pytest.mark.share(12)
@each_example
def test_it_runs(path: Path, tmp_path: Path) -> None:
    """It compares results itself; here its speed-ups are seen, and that nothing fell back."""
    out = run(tmp_path, path, TRANSPILE_FALLBACK="error").stdout
    assert "speed-up" in out
    assert out.count(" ×\n") == path.read_text(encoding="utf-8").count("compare(")


@pytest.mark.share(12)
@each_example
def test_it_is_compiled(path: Path, tmp_path: Path) -> None:
    out = run(tmp_path, "-m", "transpile", path, "--format", "plain").stdout
    functions = path.read_text(encoding="utf-8").count("@fuse")
    assert out.count("   compiled for ") == functions, out


@pytest.mark.share(1)
@pytest.mark.parametrize("path", UNTIMED, ids=lambda p: p.stem)
def test_it_has_the_same_answers(path: Path, tmp_path: Path) -> None:
    compared = [
        line.rpartition(": ")[2] for line in run(tmp_path, path).stdout.splitlines()
        if line.endswith((": True", ": False"))
    ]
    assert compared.count("True") == len(compared) > 2


@pytest.fixture
def short_tour(tmp_path: Path) -> Path:
    """The tour with less data: Python takes seconds for what it has."""
    text = (FOLDER / "tour.py").read_text(encoding="utf-8")
    sizes = {"200_000": "2_000", "(300, 400)": "(30, 40)", "160": "16", "120": "12"}
    for size, less in sizes.items():
        assert text.count(size) == 1, size
        text = text.replace(size, less)
    shutil.copy(FOLDER / "side_by_side.py", tmp_path)
    (tmp_path / "tour.py").write_text(text, encoding="utf-8")
    return tmp_path / "tour.py"


on_the_tour = pytest.mark.parametrize("path", [FOLDER / "tour.py"], ids=["tour"])


@on_the_tour
def test_it_runs_without_a_compiler(short_tour: Path, tmp_path: Path) -> None:
    answer = run(tmp_path, short_tour, CC="/nonexistent")
    assert answer.stderr.count("BUILD_NO_COMPILER") == 1
    assert answer.stderr.count("Warning") == 1
    assert "runs as Python" in answer.stdout


@on_the_tour
def test_the_tour_ends_on_a_success(short_tour: Path, tmp_path: Path) -> None:
    """Beside Python there are NumPy and the time of compiling; the last report has no rejection."""
    heading, *lines = run(tmp_path, short_tour).stdout.splitlines()
    words = ["Python", "NumPy", "numba", "compiled", "compiling", "speed-up"]
    assert heading.split() == [w for w in words if w != "numba" or importlib.util.find_spec(w)]
    times = [line.replace("–", "– ms") for line in lines if line.endswith(" ×")]  # –: no numba
    assert all(len(line.split()) == 3 + 2 * (len(heading.split()) - 1) for line in times)
    last = "\n".join(lines).rpartition("mandelbrot(")[2]
    assert "compiled for" in last
    assert "REJECT" not in last
    assert "VECTOR_" not in last
