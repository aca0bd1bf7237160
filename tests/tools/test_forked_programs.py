"""A program in a process that is forked from a loaded one behaves as in a new process."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked_programs import run_program

PROGRAM = """
import atexit, os, sys, warnings
print(__name__, os.path.basename(__file__), sys.argv[1:], os.environ["MEANT"], os.getcwd())
print("transpile.pipeline" in sys.modules, "rich" in sys.modules)
from transpile import fuse
import beside
atexit.register(print, "at the end")
@fuse
def total(x):
    return sum(v * beside.FACTOR for v in x)
print(total([1.0, 2.0]), total.stats.compiled, "transpile.pipeline" in sys.modules)
warnings.warn("careful")
def fails():
    raise ValueError("three")
fails()
"""


def test_it_is_as_a_new_interpreter(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("FACTOR = 2.0\n")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    env = os.environ | {"MEANT": "for it", "TRANSPILE_CACHE": str(tmp_path / "cache")}
    forked, started = (
        run_program(path, "a", "b c", env=env, cwd=tmp_path, check=False, start_python=new)
        for new in (False, True)
    )
    assert forked.returncode == 1
    assert "6.0 1 True\nat the end\n" in forked.stdout
    assert forked.stderr.endswith("ValueError: three\n")
    assert "MEANT" not in os.environ
    told = [(r.returncode, r.stdout, r.stderr) for r in (forked, started)]
    assert told[1] == told[0]


def test_the_status_and_the_end(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import sys\nsys.exit(7)\n")
    assert run_program(path, check=False).returncode == 7
    with pytest.raises(AssertionError, match="status 7"):
        run_program(path)
    path.write_text("import time\ntime.sleep(60)\n")
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(path, timeout=0.2)
    path.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert run_program(path, check=False).returncode == -9
    path.write_text("1 / 0\n")
    assert "ZeroDivisionError" in run_program("-W", "error", path, check=False, merged=True).stdout
