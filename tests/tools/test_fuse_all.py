"""The tool that runs the tests of another package with every function fused."""
from __future__ import annotations

import os
from pathlib import Path

from forked_programs import run_program
from paths import ROOT

PACKAGE = """
def total(x):
    s = 0.0
    for v in x:
        s += v
    return s

class Scaled:
    def of(self, x):
        return [v * 2.0 for v in x]
"""
TESTS = """
import inspect
import numpy as np
import theirs

def test_total():
    assert theirs.total(np.arange(4.0)) == 6.0
    assert [*inspect.signature(theirs.total).parameters] == ["x"]

def test_scaled():
    assert theirs.Scaled().of(np.arange(2.0)) == [0.0, 3.0]
"""


def test_all_are_fused(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(PACKAGE)
    (tmp_path / "test_theirs.py").write_text(TESTS)
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "PYTEST_ADDOPTS": ""}
    words = ("-m", "tests.tools.fuse_all", "theirs", "-q", "test_theirs.py")
    done = run_program(*words, cwd=tmp_path, env=env, check=False)
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "2 functions fused, 2 answered by machine code (2 calls)" in done.stdout
