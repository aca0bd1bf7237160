"""The library in `examples/library`: its wheel passes its tests beside NumPy alone, by kernels."""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from forked_programs import run_program
from paths import ROOT
from wheels import built_wheel, environment_with

LIBRARY = ROOT / "examples" / "library"
TESTS = LIBRARY / "tests" / "test_tracks.py"


@pytest.mark.long
def test_the_wheel_passes_the_tests_of_the_library(tmp_path: Path) -> None:
    pytest.importorskip("pip")
    pytest.importorskip("hatchling")
    shutil.copytree(LIBRARY, tmp_path / "library")
    wheel = built_wheel(tmp_path / "library", tmp_path)
    assert wheel.stat().st_size < 200_000
    program = environment_with(wheel, tmp_path)
    environment = {"PATH": "", "TRACKS_KERNELS": "1"}
    words = [str(program), "-I", "-W", "error", str(TESTS)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_the_source_passes_its_tests(tmp_path: Path) -> None:
    environment = {
        "PYTHONPATH": f"{ROOT}:{LIBRARY / 'src'}", "TRACKS_KERNELS": "1",
        "TRANSPILE_CACHE": str(tmp_path), "PATH": "/usr/bin:/bin",
    }
    run_program("-W", "error", TESTS, env=environment)
