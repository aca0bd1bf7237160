"""File kinds: whether there is a file or a folder at a path, or OSError where that is unknown.

`os.path.isfile`, `os.path.isdir` and their like pass over every OSError and ValueError: where the
system lacks memory or descriptors, and where a signal handler raises a TimeoutError. A decision
that is made from the answer, such as that there is no C compiler, may be remembered. So the
functions here raise OSError then.
"""
from __future__ import annotations

import os
from collections.abc import Callable
from stat import S_ISDIR, S_ISREG

from loopir.process.signal_exceptions import failures

__all__ = ["is_file", "is_folder", "real_path"]


def is_file(path: str) -> bool:
    """Whether there is a regular file at `path`, links followed. Raises OSError where that cannot
    be told, as for lack of descriptors.
    """
    return _is_kind(path, S_ISREG)


def is_folder(path: str) -> bool:
    """Whether there is a folder at `path`, links followed. Raises OSError as `is_file` does."""
    return _is_kind(path, S_ISDIR)


def real_path(path: str) -> str:
    """The path with its links followed, as far as that is possible. Raises OSError as `is_file`
    does.
    """
    try:
        return os.path.realpath(path, strict=True)
    except failures(FileNotFoundError, NotADirectoryError, PermissionError):
        return os.path.realpath(path)


def _is_kind(path: str, is_expected: Callable[[int], bool]) -> bool:
    """Whether there is something at `path`, and ``is_expected`` accepts its mode (`os.stat`).
    Raises OSError as `is_file` does.
    """
    try:
        return is_expected(os.stat(path).st_mode)
    except failures(FileNotFoundError, NotADirectoryError):
        return False
