"""Wheels of libraries: built by pip without a network, and installed beside NumPy alone."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
from forked_programs import with_bytecode
from paths import ROOT

__all__ = ["build_tool", "built_wheel", "check_wheel", "environment_with", "pip", "project"]


def pip(*words: object, folder: Path) -> str:
    """What ``pip`` prints; it has no index."""
    return build_tool("pip", *words, "--no-index", "--no-deps", folder=folder)


def build_tool(module: str, *words: object, folder: Path) -> str:
    """What a program prints that finds this project with its entry points."""
    registered = folder / "registered"
    information = registered / "transpile-0.dist-info"
    if not information.exists():
        information.mkdir(parents=True)
        text = "Metadata-Version: 2.1\nName: transpile\nVersion: 0\n"
        (information / "METADATA").write_text(text)
        (information / "entry_points.txt").write_text(_entry_points())
    environment = with_bytecode(os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{registered}"})
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(
        command, env=environment, cwd=folder, text=True, timeout=300, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def _entry_points() -> str:
    """The entry points of this project for other programs, as an installation has them."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    tables = re.findall(r"^\[project\.entry-points\.(\w+)\]\n((?:.+\n)+)", text, re.MULTILINE)
    lines = [f"[{name}]\n{table}" for name, table in tables]
    return "\n".join(lines).replace('"', "")


def built_wheel(project: Path, folder: Path) -> Path:
    """The wheel of the library in the folder, or archive, `project`."""
    pip("wheel", "--no-build-isolation", "-w", folder / "wheels", project, folder=folder)
    (wheel,) = (folder / "wheels").iterdir()
    return wheel


def environment_with(wheel: Path, folder: Path) -> Path:
    """The Python of a new environment that has NumPy and what is in the wheel."""
    venv.create(folder / "environment", symlinks=True)
    (site,) = (folder / "environment" / "lib").glob("*/site-packages")
    installed = Path(np.__file__).parent
    for name in ("numpy", "numpy.libs"):
        if (installed.parent / name).exists():
            (site / name).symlink_to(installed.parent / name)
    pip("install", "--no-compile", "--target", site, wheel, folder=folder)
    return folder / "environment" / "bin" / "python"


PROJECT = """
[build-system]
requires = ["hatchling", "transpile"]
build-backend = "hatchling.build"
[project]
name = "lib"
version = "1.5"
dependencies = ["numpy"]
[tool.hatch.build]
dev-mode-dirs = ["src"]
[tool.hatch.build.targets.wheel]
packages = ["src/lib"]
[tool.hatch.build.hooks.transpile]
[tool.transpile.build]
modules = ["src/lib"]
check = true
[tool.setuptools.packages.find]
where = ["src"]
[tool.setuptools.cmdclass]
build_py = "transpile.build_hooks.setuptools_commands.BuildModules"
bdist_wheel = "transpile.build_hooks.setuptools_commands.BuildWheel"
"""
SUMS = """
from transpile import fuse
from .factor import FACTOR
@fuse
def total(x):
    s = 0.0
    for v in x:
        s += v * FACTOR
    return s
"""
USE = """
import lib.sums, numpy as np
assert lib.sums.total(np.ones(5)) == 10.0
def unused(*args): raise AssertionError
lib.sums.total.__wrapped__.__code__ = unused.__code__
assert lib.sums.total(np.ones(5)) == 10.0
print(lib.__file__)
"""


def project(folder: Path, backend: str = "hatchling.build") -> Path:
    """A library in a new folder."""
    home = folder / "project"
    package = home / "src" / "lib"
    package.mkdir(parents=True)
    text = PROJECT.replace("hatchling.build", backend)
    (home / "pyproject.toml").write_text(text.replace('"hatchling"', f'"{backend.split(".")[0]}"'))
    (package / "__init__.py").write_text("")
    (package / "factor.py").write_text("FACTOR = 2.0\n")
    (package / "sums.py").write_text(SUMS)
    return home


def check_wheel(wheel: Path, folder: Path) -> None:
    """Its kernels serve calls without this project and a compiler."""
    name, version, python, abi, platform = wheel.stem.split("-")
    assert (name, version, python, abi) == ("lib", "1.5", "py3", "none")
    assert "linux_" in platform
    names = zipfile.ZipFile(wheel).namelist()
    assert {"lib/factor.py", "lib/sums.py", "lib/_transpile/kernels.so"} <= {*names}
    assert len({*names}) == len(names)
    program = environment_with(wheel, folder)
    words = [str(program), "-I", "-c", USE]
    done = subprocess.run(words, env={"PATH": ""}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(folder / "environment"))
