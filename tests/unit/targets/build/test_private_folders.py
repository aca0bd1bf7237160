"""Folders of processes that were killed are removed; those of others stay, whatever they are."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from fault_injection import Injection

from targets.build import private_folders
from targets.build.private_folders import (
    make_private_folder,
    private_folder,
    remove_abandoned,
    remove_private_folder,
)

PROGRAM = """
import time
from targets.build.private_folders import make_private_folder
path = make_private_folder()
open(path + "/kernel.so", "w").close()
print(path, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(private_folders, "_GRACE", -1.0)
    return tmp_path


def test_a_folder_is_private_and_removed() -> None:
    with private_folder() as path:
        assert os.stat(path).st_mode & 0o777 == 0o700
        Path(path, "kernel.so").write_text("")
        assert remove_abandoned() == 0, "it is in use"
    assert not os.path.exists(path)


def test_the_folder_of_a_killed_process(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().decode().strip())
        assert remove_abandoned() == 0, "the process is alive"
        assert sorted(os.listdir(path)) == ["alive", "kernel.so"]
        process.send_signal(signal.SIGKILL)
    monkeypatch.setattr(private_folders, "_GRACE", 60.0)
    assert remove_abandoned() == 0, "it is too new"
    monkeypatch.setattr(private_folders, "_GRACE", -1.0)
    assert remove_abandoned() == 1
    assert list(place.iterdir()) == []


def test_other_folders_stay(place: Path) -> None:
    digits = iter("0123456789abcdef")

    def folder(name: str = "") -> Path:
        path = place / (name or f"transpile-{next(digits) * 16}")
        path.mkdir(mode=0o700)
        (path / "alive").write_text("")
        (path / "data").write_text("mine")
        return path

    folder("transpile-notes")
    folder("other-0123456789abcdef")
    folder().chmod(0o770)
    nested = folder() / "nested"
    nested.mkdir()
    (nested / "data").write_text("mine")
    without_lock = folder()
    (without_lock / "alive").unlink()
    pipe = folder()
    (pipe / "alive").unlink()
    os.mkfifo(pipe / "alive")
    (place / f"transpile-{next(digits) * 16}").symlink_to(folder("elsewhere"))
    before = sorted(place.rglob("*"))
    assert remove_abandoned() == 0
    assert [path for path in before if not path.exists()] == [
        nested.parent / "alive",
        nested.parent / "data",
    ], "of a folder of the right name, what is directly in it"


def test_without_locks_it_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(handle: int) -> bool:
        raise OSError("no locks here")

    monkeypatch.setattr(private_folders, "_lock", fails)
    path = make_private_folder()
    assert remove_abandoned() == 0
    private_folders.remove_private_folder(path)
    assert not os.path.exists(path)


@pytest.mark.parametrize("fault", [MemoryError, KeyboardInterrupt, None])
def test_a_fault_while_a_folder_is_removed(
    fault: type[BaseException] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the folder nor the descriptor of its lock is left; None: a fault that is ignored."""
    real, calls = shutil.rmtree, list[str]()

    def rmtree(path: str, **told: Any) -> None:
        calls.append(path)
        if len(calls) > 1:
            real(path, **told)
        elif fault is not None:
            raise fault

    path = make_private_folder()
    monkeypatch.setattr(shutil, "rmtree", rmtree)
    with pytest.raises(fault) if fault else nullcontext():
        private_folders.remove_private_folder(path)
    assert not Path(path).exists()
    assert path not in private_folders._locks


@pytest.mark.skipif(not hasattr(sys, "setprofile"), reason="no profile functions")
def test_each_step_of_removing_a_folder_may_fail(place: Path) -> None:
    def uses_a_folder() -> None:
        with private_folder():
            assert len(list(place.iterdir())) == 1

    uses_a_folder()
    for step in itertools.count(1):
        injection, locks = Injection(step, "memory"), {**private_folders._locks}
        with suppress(MemoryError):
            injection.run(uses_a_folder)
        assert list(place.iterdir()) == [], step
        assert private_folders._locks == locks, step
        if injection.error is None:
            break
    assert step > 20


ENDS_EARLY = """
import os, signal, sys, threading, time
from pathlib import Path
from typing import Any
from targets.build.build_kernel import build_object
thread = threading.Thread(target=build_object, args=("int x;",), daemon=True)
thread.start()
while not Path(os.environ["STARTED"]).exists():
    time.sleep(0.01)
{ending}
"""
SLOW_COMPILER = """#!/bin/sh
echo $$ > "$STARTED.new"
mv "$STARTED.new" "$STARTED"
sleep 30
"""


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "signal.raise_signal(signal.SIGINT)"])
def test_a_process_that_ends_while_a_thread_compiles(
    ending: str, place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Neither a folder nor the C compiler is left."""
    elsewhere = tmp_path_factory.mktemp("compiler")
    compiler, started = elsewhere / "cc", elsewhere / "started"
    compiler.write_text(SLOW_COMPILER)
    compiler.chmod(0o755)
    subprocess.run(
        [sys.executable, "-c", ENDS_EARLY.format(ending=ending)], check=False, timeout=20,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"CC": str(compiler), "STARTED": str(started),
                          "TRANSPILE_CACHE": str(elsewhere / "cache")},
    )
    assert list(place.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


@pytest.mark.parametrize("error", [TimeoutError, ValueError])
def test_what_a_signal_handler_raises_while_a_folder_is_removed(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, path = os.lstat, make_private_folder()

    def alarm(*args: object) -> None:
        raise error

    def rings(*args: Any, **kwargs: Any) -> os.stat_result:
        monkeypatch.setattr(os, "lstat", real)
        os.kill(os.getpid(), signal.SIGUSR1)
        return real(*args, **kwargs)

    before = signal.signal(signal.SIGUSR1, alarm)
    monkeypatch.setattr(os, "lstat", rings)
    try:
        with pytest.raises(error):
            remove_private_folder(path)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not os.path.lexists(path)
