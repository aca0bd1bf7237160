"""What the packages offer: named, documented, typed, and cheap to import."""
from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from for_each import for_each
from source_trees import PACKAGES

LATE = ("rich", "cffi", "astor", "pathlib", "sysconfig", "loopir.nodes", "transpile.pipeline")
"""Modules that ``import transpile`` and ``@fuse`` do not need yet."""


def modules() -> list[str]:
    """Not those for processes of setuptools alone, which replaces a module of Python's."""
    names = list(PACKAGES)
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        names += [info.name for info in pkgutil.walk_packages(path, package + ".")]
    return [name for name in names if not name.endswith(("__main__", "setuptools_commands"))]


@for_each(modules())
def test_what_is_public_exists_and_is_documented(name: str) -> None:
    """What a documented function has made (``fix_rule = formula(…)``) is documented by its line."""
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        value = getattr(module, public)
        made = "<locals>" in getattr(value, "__qualname__", "")
        if (inspect.isfunction(value) and not made) or inspect.isclass(value):
            assert (value.__doc__ or "").strip(), f"{name}.{public}"


def test_the_front_door() -> None:
    transpile = importlib.import_module("transpile")
    assert "fuse" in transpile.__all__
    assert len(set(transpile.__all__)) == len(transpile.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_shipped(package: str) -> None:
    (folder,) = importlib.import_module(package).__path__
    assert Path(folder, "py.typed").exists()


def test_import_is_lazy() -> None:
    program = f"import sys, transpile; print([m for m in {LATE!r} if m in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_decorating_is_lazy(tmp_path: Path) -> None:
    program = tmp_path / "decorated.py"
    program.write_text(
        "import sys\nfrom transpile import fuse\n"
        "@fuse\ndef f(x):\n    return [v * 2.0 for v in x]\n"
        f"print([m for m in {LATE!r} if m in sys.modules])\n"
    )
    answer = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
