"""A background build: who starts it may go on when the C compiler runs."""
from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from forked_programs import run_program

from loopir.process.compiler_threads import in_compiler
from targets.build.background_build import BackgroundBuild

PROGRAM = """
from targets.abi import trampoline
from targets.build import c_compiler
trampoline.BEGIN_TIMEOUT = 10.0  # also on a busy machine
started = []
real = c_compiler._started
c_compiler._started = lambda *given: started.append(real(*given)) or started[-1]
trampoline.build_in_background()
print(len(started))
"""


def test_begun_when_it_waits_for_the_compiler() -> None:
    is_prepared, is_compiled = threading.Event(), threading.Event()

    def work() -> None:
        time.sleep(0.05)
        is_prepared.set()
        with in_compiler():
            is_compiled.wait(20.0)

    build = BackgroundBuild(work)
    build.start()
    build.let_begin(10.0)
    assert is_prepared.is_set()
    assert build.is_running()
    assert build.is_in_compiler()
    is_compiled.set()
    build.wait()


def test_begun_when_it_has_ended() -> None:
    build = BackgroundBuild(lambda: time.sleep(0.02))
    build.let_begin(10.0)  # it was not started
    build.start()
    build.let_begin(10.0)
    assert not build.is_running()


def test_a_build_that_does_not_begin() -> None:
    end = threading.Event()
    build = BackgroundBuild(lambda: end.wait(20.0))
    build.start()
    build.let_begin(0.01)
    assert build.is_running()
    assert not build.is_in_compiler()
    end.set()
    build.wait()


def test_the_compiler_of_the_trampoline_runs_before_the_imports(tmp_path: Path) -> None:
    path = tmp_path / "begins.py"
    path.write_text(PROGRAM)
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache")}
    run = run_program(path, env=env, start_python=True)
    assert run.stdout == "1\n"
