"""The process of a C compiler is ended, and its pipe closed, whatever fails meanwhile."""
from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from targets.build import c_compiler
from targets.build.c_compiler import Compiler, _find_program, run_compiler

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def _state() -> tuple[int, str]:
    """The number of open files, and the children of this thread."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return len(os.listdir("/proc/self/fd")), children.read_text()


def _fails(*args: Any, **kwargs: Any) -> Any:
    raise MemoryError


def test_a_program_that_cannot_be_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not missing, nor is the next one on the path taken for it."""
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gcc").touch(0o755)
    path = os.pathsep.join([str(tmp_path), *(str(tmp_path / f) for f in ("first", "second"))])
    real = os.stat

    def fails(*args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.ENOMEM, "no memory")

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", fails)
        with pytest.raises(OSError, match="no memory"):
            _find_program("gcc", path)
    assert os.stat is real
    assert _find_program("gcc", path) == str(tmp_path / "first" / "gcc")
    (tmp_path / "first" / "gcc").chmod(0o644)
    assert _find_program("gcc", path) == str(tmp_path / "second" / "gcc")
    assert _find_program(str(tmp_path / "second" / "gcc"), "") == str(tmp_path / "second" / "gcc")
    assert _find_program("cc", path) is None


@pytest.mark.parametrize("failing", ["start", "read", "poll", "popen"])
def test_what_was_started_is_ended(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nsleep 30\n")
    slow.chmod(0o755)
    real = subprocess.Popen.__init__

    def start(process: Any, *args: Any, **kwargs: Any) -> None:
        real(process, *args, **kwargs)
        raise MemoryError

    before = _state()
    match failing:
        case "start":
            monkeypatch.setattr(subprocess.Popen, "__init__", start)
        case "read":
            monkeypatch.setattr(c_compiler, "_read_until", _fails)
        case "poll":
            monkeypatch.setattr(c_compiler, "in_compiler", _fails)
        case _:
            monkeypatch.setattr(subprocess.Popen, "__init__", _fails)
    with pytest.raises(MemoryError):
        run_compiler(Compiler((str(slow),), ""), (), "", str(tmp_path / "out.so"))
    assert _state() == before
