"""A line on the terminal while a function is compiled for long; silence everywhere else."""
from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from forked_programs import run_program

pty = pytest.importorskip("pty")

PROGRAM = """
import sys, threading, time
import numpy as np
from transpile import fuse
from transpile.runtime import compile_call
from transpile.runtime.process import compile_progress
compile_progress.DELAY = {delay}
run = compile_call._run
def slow(*args):
    time.sleep(0.5)
    return run(*args)
compile_call._run = slow
@fuse({options})
def smooth(x):
    s = 0.0
    for v in x:
        s += v
    return s
def call():
    print(smooth(np.ones(8)), "rich" in sys.modules)
{call}
"""


def run(
    tmp_path: Path, *, terminal: bool = True, delay: float = 0.1, options: str = "cache=False",
    call: str = "call()", **environ: str,
) -> tuple[str, str]:
    """What the program writes to standard output and, on a terminal or to a pipe, to stderr."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(delay=delay, options=options, call=call))
    env = {k: v for k, v in os.environ.items() if k != "CI"} | {"TERM": "xterm"} | environ
    reader, writer = pty.openpty() if terminal else os.pipe()
    said = run_program(path, env=env, stderr=writer)  # little enough to be read afterwards
    os.close(writer)
    shown = b""
    with suppress(OSError):  # a terminal that nobody writes to any more
        while part := os.read(reader, 1 << 16):
            shown += part
    os.close(reader)
    return said.stdout, shown.decode()


def test_the_line_is_shown_and_removed(tmp_path: Path) -> None:
    out, shown = run(tmp_path)
    assert out == "8.0 True\n"
    assert "compiling smooth (program.py:" in shown
    assert shown.rindex("\x1b[2K") > shown.rindex("compiling")  # the line is erased at the end


@pytest.mark.share(6)
@pytest.mark.parametrize(
    "silent",
    [
        {"terminal": False},
        {"options": "progress=False, cache=False"},
        {"CI": "true"},
        {"TERM": "dumb"},
        {"delay": 30.0},
        {"call": "t = threading.Thread(target=call); t.start(); t.join()"},
    ],
    ids=str,
)
def test_silence(silent: dict[str, object], tmp_path: Path) -> None:
    out, shown = run(tmp_path, **silent)  # type: ignore[arg-type]  # options of `run`
    assert (out, shown) == ("8.0 False\n", "")
