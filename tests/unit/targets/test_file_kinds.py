"""Whether there is a file or a folder at a path; an error is never an answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from targets.file_kinds import is_file, is_folder


def test_each_kind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "broken").symlink_to("nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    names = "file", "link", "broken", "folder", "pipe", "nothing", "file/part"
    found = {n: (is_file(f"{tmp_path}/{n}"), is_folder(f"{tmp_path}/{n}")) for n in names}
    neither = False, False
    assert found == dict.fromkeys(names, neither) | {
        "file": (True, False), "link": (True, False), "folder": (False, True),
    }


@pytest.mark.parametrize("question", [is_file, is_folder])
@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError()])
def test_what_cannot_be_told_is_raised(
    question: Callable[[str], bool], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stat(path: str) -> os.stat_result:
        raise error

    monkeypatch.setattr(os, "stat", stat)
    with pytest.raises(type(error)):
        question("x")
