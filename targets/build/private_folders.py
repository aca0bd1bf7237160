"""Private folders in the directory for temporary files: made for one process, removed with it.

A folder's name is ``transpile-`` and 16 hexadecimal digits. Its process holds a lock on the file
``alive`` in it, which the system releases when the process ends in whatever way. So a later process
of the same user can tell folders of processes that were killed, and removes them. At its end a
process removes its folders, also those of threads that end with it.
"""
from __future__ import annotations

import atexit
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopir.process.signal_exceptions import failures, is_from_signal_handler, suppress_failures

from .trusted_files import open_folder

__all__ = ["make_private_folder", "private_folder", "remove_abandoned", "remove_private_folder"]

_NAME = re.compile(r"transpile-[0-9a-f]{16}")
_LOCK = "alive"
_GRACE = 60.0
"""Seconds for which a new folder is left alone: its lock may not be held yet."""
_MOST_ENTRIES = 10_000
"""How many entries of the directory for temporary files are looked at."""

_locks: dict[str, int] = {}
"""The descriptor of the lock file of each folder of this process; after a fork also of the folders
of the parent."""

_own: set[tuple[int, str]] = set()
"""For each folder the id of the process that has made it, and its path."""

_is_ending = False
"""Whether `_remove_all` has begun."""


def make_private_folder() -> str:
    """The path of a new directory that only this user can read. It is removed at the end of this
    process, if it is still there. Raises OSError.
    """
    import tempfile

    if _is_ending and threading.current_thread().daemon:
        raise OSError("the process ends")
    path = os.path.join(tempfile.gettempdir(), f"transpile-{os.urandom(8).hex()}")
    os.mkdir(path, mode=0o700)
    try:
        _own.add((os.getpid(), path))
        with open_folder(path) as folder:
            folder.write_file(_LOCK, b"")
            handle = folder.open_file(_LOCK)
        _locks[path] = handle
        with suppress_failures(OSError):  # without locks there, nobody else will remove it either
            _lock(handle)
    except BaseException:
        remove_private_folder(path)
        raise
    return path


def remove_private_folder(path: str) -> None:
    """Remove a directory that `make_private_folder` has made, with all that is in it.

    If an exception interrupts it, such as a MemoryError or one from a signal handler, it is tried
    once more, and then the exception is raised.
    """
    try:
        _remove(path)
    except BaseException:
        _remove(path)
        raise


def _remove(path: str) -> None:
    """Remove a private folder, and give its lock back."""
    from shutil import rmtree

    told: dict[str, Any] = {"onexc" if sys.version_info >= (3, 12) else "onerror": _pass_over}
    if os.name == "nt":  # which removes no file that is open
        _unlock(path)
    rmtree(path, **told)
    with suppress_failures(FileNotFoundError):
        os.lstat(path)  # it is still there if a MemoryError was passed over
        rmtree(path, **told)
    _own.discard((os.getpid(), path))
    _unlock(path)


def _unlock(path: str) -> None:
    """Give back the lock of a private folder of this process, if it is held."""
    handle = _locks.pop(path, None)
    if handle is not None:
        os.close(handle)


def _pass_over(function: object, path: str, error: Any) -> None:
    """What `rmtree` does for an exception, or for what `sys.exc_info` gives before Python 3.12:
    nothing, unless a signal handler has raised it."""
    raised = error[1] if isinstance(error, tuple) else error
    if is_from_signal_handler(raised):
        raise raised


@atexit.register
def _remove_all() -> None:
    """At the end of this process, remove its folders: those that it has kept, and those of threads
    that run until then, such as a build of the thread pool in the background.
    """
    global _is_ending
    _is_ending = True
    for process, path in [*_own]:
        if process == os.getpid():
            remove_private_folder(path)


@contextmanager
def private_folder() -> Iterator[str]:
    """The path of a new private directory, which is removed afterwards. Raises OSError."""
    path = make_private_folder()
    try:
        yield path
    finally:
        try:
            remove_private_folder(path)
        except BaseException:
            remove_private_folder(path)  # it may not even have begun
            raise


def _lock(handle: int) -> bool:
    """Lock a file for this process, and its forks where there are any; False if another process
    holds the lock.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except failures(BlockingIOError, PermissionError):  # what Unix and what Windows raise
        return False
    return True


def remove_abandoned() -> int:
    """Remove private folders whose processes have ended without doing so; returns their number.

    Only folders of this user with a name and a lock file as above are looked into, and only regular
    files directly in them are removed. Others, and what is in them, stay.
    """
    import tempfile

    removed = 0
    with suppress_failures(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False):
            if _NAME.fullmatch(entry.name) and entry.path not in _locks:
                with suppress_failures(OSError):
                    removed += _remove_if_abandoned(entry.path)
    return removed


def _remove_if_abandoned(path: str) -> bool:
    """Remove a private folder if its process has ended and it is older than `_GRACE`; returns
    whether it was removed. Raises OSError.
    """
    with open_folder(path) as folder:
        if time.time() - folder.modified() < _GRACE:
            return False
        try:
            lock = folder.open_file(_LOCK)
        except failures(FileNotFoundError):  # the process was killed between two steps
            os.rmdir(path)
            return True
        is_open = True
        try:
            if not _lock(lock):
                return False
            for name in folder.names():
                if name != _LOCK and stat.S_ISREG(folder.status(name).st_mode):
                    folder.remove(name)
            if os.name == "nt":  # which removes no file that is open
                os.close(lock)
                is_open = False
            folder.remove(_LOCK)
            os.rmdir(path)
        finally:
            if is_open:
                os.close(lock)
    return True
