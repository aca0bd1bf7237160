"""First calls in processes and on machines where something is wrong: Python's answer, and nothing
of the compiler's own trouble.

See `test_compiler_faults.py` for a lack of memory, descriptors, stack and disk space, and for each
step that fails; `test_build_kernel.py` for C compilers that fail and caches that cannot be written.
"""
from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from forked_programs import run_program, with_bytecode
from paths import ROOT

FUNCTION = """
import os, signal, sys
import numpy as np
from transpile import fuse
@fuse(on_reject="silent")
def f(x, k=2.0):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * k + 1
    return out
x = np.arange(100.0)
"""

CALLS = """
print(all((f(x) == x * 2.0 + 1).all() for _ in range(3)), f.stats.compiled)
"""

BAD_DAYS = {
    "children are reaped at once": ("signal.signal(signal.SIGCHLD, signal.SIG_IGN)", 3),
    "children are reaped by a handler": ("""
def reap(*args):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
signal.signal(signal.SIGCHLD, reap)
""", 3),
    "no standard input and no errors": ("os.close(0); os.close(2)", 3),
    "no folder for temporary files": ("os.environ['TMPDIR'] = '/nonexistent'", 3),
    "the clock is replaced": ("import time; time.time = lambda real=time.time: real() - 1e9", 0),
    "nothing can be imported": ("sys.path.clear()", None),
    "the file has changed": ("""
from pathlib import Path
Path(__file__).write_text(Path(__file__).read_text().replace("* k + 1", "* k + 2"))
""", 0),
    "the file is gone": ("os.remove(__file__)", 0),
    "a process that ends between the calls": ("""
child = os.fork()
if not child: os._exit(not (f(x) == x * 2.0 + 1).all())
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""", 3),
    "a trace function": ("sys.settrace(lambda *args: None)", 3),
}
"""What is wrong, and how many of three calls are compiled; None: it depends on what is imported."""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    ours = {"TRANSPILE_CACHE": str(tmp_path / "cache"), "TRANSPILE_SELECT": "compiled"}
    kept = {k: v for k, v in os.environ.items() if k != "TRANSPILE_FALLBACK"}
    return kept | ours | {"PYTHONPATH": str(ROOT)}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", BAD_DAYS)
def test_a_bad_day(name: str, tmp_path: Path, env: dict[str, str]) -> None:
    body, compiled = BAD_DAYS[name]
    path = tmp_path / "program.py"
    path.write_text(FUNCTION + body + CALLS)
    ran = run_program("-W", "error", path, env=env)
    answer, count = ran.stdout.split()
    assert (answer, ran.stderr) == ("True", "")
    assert compiled is None or int(count) == compiled


@pytest.mark.share(3)
@pytest.mark.parametrize("flags", ["-O", "-OO", "-B -bb", "-I", "-s -X dev -W error"])
def test_flags_of_the_interpreter(flags: str, tmp_path: Path, env: dict[str, str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{FUNCTION}{CALLS}")
    words = [sys.executable, *flags.split(), str(path)]
    ran = subprocess.run(
        words, env=with_bytecode(env), capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("True 3\n", "", 0)


def test_a_function_in_an_archive(tmp_path: Path, env: dict[str, str]) -> None:
    archive, path = tmp_path / "archive.zip", tmp_path / "program.py"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("inside.py", FUNCTION)
    head = f"import sys; sys.path.insert(0, {str(archive)!r})\nfrom inside import *"
    path.write_text(head + CALLS)
    ran = run_program("-W", "error", path, env=env)
    assert (ran.stdout, ran.stderr) == ("True 3\n", "")


def test_a_session_at_the_prompt(env: dict[str, str]) -> None:
    """Its functions have no source; one warning says so."""
    text = (
        "import numpy as np\nfrom transpile import fuse\n@fuse\ndef f(x):\n    s = 0.0\n"
        "    for v in x: s += v\n    return s\n\nprint(f(np.ones(3)), f(np.ones(3)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-i", "-q"], env=with_bytecode(env), input=text, capture_output=True,
        text=True, check=True,
    )
    assert ran.stdout == "3.0 3.0\n"
    assert ran.stderr.count("FuseWarning") == 1
    assert "the source of `f` is not available" in ran.stderr
