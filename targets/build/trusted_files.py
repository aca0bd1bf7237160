"""Trusted files: opened without following links, and only if no other user can have written them.

What a path names is opened first and examined then, by its descriptor, so that nothing can be put
in its place in between. No function here waits for the other end of a named pipe. Windows has no
descriptors of folders: there a folder is examined by its path (`windows_permissions`), and since
nobody else can write to it, nobody can exchange what is in it.
"""
from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable

from loopir.process.signal_exceptions import failures, suppress_failures

__all__ = ["Folder", "Untrusted", "make_folder", "open_folder", "read_file"]

_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
_SAFE = sum(getattr(os, name, 0) for name in _FLAGS)
_LARGEST = 1 << 28
"""Bytes of the largest file that is read."""


class Untrusted(OSError):
    """A file or directory of another user, or that others can write to, or of an unexpected kind.
    """


class Folder:
    """An open directory that can be trusted (`open_folder`), at `path`. Its methods act on the
    directory that was examined, also if another one has the path by now; on Windows they go by the
    path, which only this user can give to another. All of them raise OSError.
    """

    _handle: int | None = None
    """A descriptor; None on Windows, which has none of directories, and before `_open`. Of the
    class, so that `close` finds it where an exception has kept `__init__` from running."""

    def __init__(self, path: str) -> None:
        self.path = path

    def _open(self) -> None:
        """Open and examine the directory."""
        if sys.platform == "win32":
            _examine_by_path(self.path, "the folder", stat.S_ISDIR)
            return
        self._handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | _SAFE)
        _examine(self._handle, "the folder", stat.S_ISDIR)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()  # where an exception has come before the ``with`` could begin

    def close(self) -> None:
        """Give the descriptor back; nothing happens the second time."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _place(self, name: str) -> str:
        """The file `name` as system calls take it, beside ``dir_fd``."""
        return os.path.join(self.path, name) if self._handle is None else name

    def names(self) -> list[str]:
        """The names of all entries."""
        return os.listdir(self.path if self._handle is None else self._handle)

    def modified(self) -> float:
        """The moment of its last change, in seconds since the epoch."""
        return os.stat(self.path if self._handle is None else self._handle).st_mtime

    def status(self, name: str) -> os.stat_result:
        """The status of an entry; of a link, not of what it leads to."""
        return os.stat(self._place(name), dir_fd=self._handle, follow_symlinks=False)

    def open_file(self, name: str) -> int:
        """A descriptor, for reading, of a file. Raises Untrusted unless it is a regular file of
        this user that nobody else can write.
        """
        place = self._place(name)
        if self._handle is None:
            _examine_by_path(place, "the file", stat.S_ISREG)
        handle = os.open(place, os.O_RDONLY | _SAFE, dir_fd=self._handle)
        try:
            if self._handle is not None:
                _examine(handle, "the file", stat.S_ISREG)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def write_file(self, name: str, data: bytes) -> None:
        """Create a file, which must not exist. If it raises, there is no file of that name."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
        handle = os.open(self._place(name), flags, 0o600, dir_fd=self._handle)
        try:
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(handle, rest) :]
            finally:
                os.close(handle)
        except BaseException:
            self.remove(name)
            raise

    def rename(self, old: str, new: str) -> None:
        """Give an entry another name, in place of an entry that has it."""
        places = self._place(old), self._place(new)
        os.replace(*places, src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._place(name), dir_fd=self._handle)


def make_folder(path: str) -> Folder:
    """The directory `path`, which is created if it is missing, for this user only.

    Raises OSError, and Untrusted as `open_folder` does.
    """
    with suppress_failures(FileExistsError):
        try:
            os.mkdir(path, mode=0o700)
        except failures(FileNotFoundError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.mkdir(path, mode=0o700)
    return open_folder(path)


def open_folder(path: str) -> Folder:
    """The directory `path`.

    Raises Untrusted if it is a link, belongs to another user or can be written by others; OSError
    if it cannot be opened.
    """
    folder = Folder(path)
    try:
        folder._open()
    except BaseException:
        folder.close()
        raise
    return folder


def _examine(handle: int, what: str, is_expected: Callable[[int], bool]) -> None:
    """Raise Untrusted unless the open file or directory `handle` can be trusted: it is of the
    expected kind (``is_expected``: `stat.S_ISREG` or `stat.S_ISDIR`), belongs to this user, and
    neither its group nor others may write to it. The message names it by `what`, as callers say the
    path. It is asked before anything is read: what the cache holds is code that will run. Links
    were not followed (``O_NOFOLLOW``).
    """
    status = os.fstat(handle)
    if not is_expected(status.st_mode):
        raise Untrusted(f"{what} is of another kind")
    if status.st_uid != os.geteuid():
        raise Untrusted(f"{what} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Untrusted(f"others can write to {what}")


def _examine_by_path(path: str, what: str, is_expected: Callable[[int], bool]) -> None:
    """As `_examine`, on Windows. Raises Untrusted, and OSError if there is nothing at `path`."""
    from .windows_permissions import fault_of_permissions

    status = os.lstat(path)
    is_link = bool(getattr(status, "st_reparse_tag", 0))  # also what junctions are
    if is_link or not is_expected(status.st_mode):
        raise Untrusted(f"{what} is of another kind")
    if fault := fault_of_permissions(path):
        raise Untrusted(fault.format(what))


def read_file(handle: int) -> bytes:
    """All of the file that `handle` describes, from its beginning. Raises OSError."""
    size = os.fstat(handle).st_size
    if size > _LARGEST:
        raise Untrusted(f"a file of {size} bytes is too large")
    os.lseek(handle, 0, os.SEEK_SET)
    parts, total = [], 0
    while part := os.read(handle, 1 << 20):
        parts.append(part)
        total += len(part)
        if total > _LARGEST:
            raise Untrusted("a file grows while it is read")
    return b"".join(parts)
