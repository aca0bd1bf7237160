"""Trusted files: opened without following links, and only if no other user can have written them.

What a path names is opened first and examined then, by its descriptor, so that nothing can be put
in its place in between. No function here waits for the other end of a named pipe.
"""
from __future__ import annotations

import os
import stat
from collections.abc import Callable

from loopir.process.signal_exceptions import failures, suppress_failures

__all__ = ["Untrusted", "make_folder", "open_file", "open_folder", "read_file", "write_file"]

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_LARGEST = 1 << 28
"""Bytes of the largest file that is read."""


class Untrusted(OSError):
    """A file or directory of another user, or that others can write to, or of an unexpected kind.
    """


def make_folder(path: str) -> int:
    """A descriptor of the directory `path`, which is created if it is missing, for this user only.

    Raises OSError, and Untrusted as `open_folder` does.
    """
    with suppress_failures(FileExistsError):
        try:
            os.mkdir(path, mode=0o700)
        except failures(FileNotFoundError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.mkdir(path, mode=0o700)
    return open_folder(path)


def open_folder(path: str) -> int:
    """A descriptor of the directory `path`.

    Raises Untrusted if it is a link, belongs to another user or can be written by others; OSError
    if it cannot be opened.
    """
    if os.name != "posix":
        raise Untrusted(f"{path}: permissions are not known on {os.name}")
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _SAFE)
    try:
        _examine(handle, "the folder", stat.S_ISDIR)
    except BaseException:
        os.close(handle)
        raise
    return handle


def open_file(folder: int, name: str) -> int:
    """A descriptor, for reading, of the file `name` in the directory that `folder` describes.

    Raises Untrusted unless it is a regular file of this user that nobody else can write; OSError
    if it cannot be opened.
    """
    handle = os.open(name, os.O_RDONLY | _SAFE, dir_fd=folder)
    try:
        _examine(handle, "the file", stat.S_ISREG)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _examine(handle: int, what: str, is_expected: Callable[[int], bool]) -> None:
    """Raise Untrusted unless the open file or directory `handle` can be trusted: it is of the
    expected kind (``is_expected``: `stat.S_ISREG` or `stat.S_ISDIR`), belongs to this user, and
    neither its group nor others may write to it. The message names it by `what`, as callers say the
    path. `open_file` and `open_folder` ask, before anything is read: what the cache holds is code
    that will run. Links were not followed (``O_NOFOLLOW``).
    """
    status = os.fstat(handle)
    if not is_expected(status.st_mode):
        raise Untrusted(f"{what} is of another kind")
    if status.st_uid != os.geteuid():
        raise Untrusted(f"{what} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Untrusted(f"others can write to {what}")


def read_file(handle: int) -> bytes:
    """All of the file that `handle` describes, from its beginning. Raises OSError."""
    size = os.fstat(handle).st_size
    if size > _LARGEST:
        raise Untrusted(f"a file of {size} bytes is too large")
    parts, position = [], 0
    while part := os.pread(handle, 1 << 20, position):
        parts.append(part)
        position += len(part)
        if position > _LARGEST:
            raise Untrusted("a file grows while it is read")
    return b"".join(parts)


def write_file(folder: int, name: str, data: bytes) -> None:
    """Create the file `name`, which must not exist, in the directory that `folder` describes.

    Raises OSError; then there is no file of that name.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
    handle = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(handle, rest) :]
        finally:
            os.close(handle)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
