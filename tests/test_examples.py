"""Every example runs, and the command reports on it."""
from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples"
NEEDS = {"elevation": "matplotlib", "stocks": "matplotlib", "photo": "sklearn"}
EXAMPLES = sorted(p for p in FOLDER.glob("*.py") if "__main__" in p.read_text(encoding="utf-8"))

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)


@pytest.fixture(autouse=True)
def _has_its_data(path: Path) -> None:
    needed = NEEDS.get(path.stem)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{path.name} needs {needed}; install the extra `examples`")


def run(*words: object) -> str:
    command = [sys.executable, "-W", "error::UserWarning", *map(str, words)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@each_example
def test_it_runs(path: Path) -> None:
    """It compares results itself; here its speed-ups are seen, and that nothing fell back."""
    out = run(path)
    assert "speed-up" in out
    assert out.count(" ×\n") == path.read_text(encoding="utf-8").count("compare(")


@each_example
def test_it_is_compiled(path: Path) -> None:
    out = run("-m", "transpile", path, "--format", "plain")
    functions = path.read_text(encoding="utf-8").count("@fuse")
    assert out.count("   compiled for ") == functions, out
