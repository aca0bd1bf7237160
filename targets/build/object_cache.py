"""Disk cache of shared objects and recipes: named by content, checked, bounded in size.

Files are in a directory of our own, ``kernels``, under the directory that the user chose. Nothing
is used unless that directory and the file belong to this user and nobody else can write to them; if
not, a private directory takes its place, which is removed with the process. The last bytes of a
file are the BLAKE2b digest of the rest and of its name, so that a damaged file, or one under
another name, is noticed before it is used. The name is a digest of all that determines the content:
`build_kernel` makes it for objects, `transpile/runtime/cache` for recipes. Files are created by an
atomic rename only, so that any number of threads and processes may write at once. Only files whose
names have our own pattern are ever removed.
"""
from __future__ import annotations

import functools
import logging
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from loopir.lazy_dataclass import record
from loopir.process.digests import digest
from loopir.process.signal_exceptions import failures, suppress_failures

from .build_errors import BuildError, is_system_fault
from .object_file_check import fault_of_object
from .trusted_files import Folder, make_folder, open_folder, read_file

__all__ = [
    "OBJECT_SUFFIX", "PROBE_SUFFIX", "RECIPE_SUFFIX", "CacheInfo",
    "cache_clear", "cache_dir", "cache_info", "read_cached", "find_cached", "find_cached_prefix",
    "publish", "opened_file", "publish_privately", "discard",
]

CACHE_BYTES = 256 << 20
"""Size of the cache above which the least recently used files are removed (`_trim`)."""

TRIM_INTERVAL = 600.0
"""Seconds between two size checks, across processes: listing a full cache is slow."""

OBJECT_SUFFIX, RECIPE_SUFFIX, PROBE_SUFFIX = ".so", ".call", ".rates"
"""File suffixes: a shared object; a recipe (how to call it); what `machine_probe` has measured."""

_OWN_FOLDER = "kernels"
"""The directory in the one that the user chose."""

_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")
_OWN_NAME = re.compile(
    rf"[0-9a-f]{{16,64}}(-[0-9a-f]{{16}})?\.(so|call|rates)|{_TEMPORARY.pattern}"
)
"""Names of files that may be removed."""

_TRIM_STAMP = ".looked"
"""An empty file whose time is that of the last size check."""

_MAGIC = b"transpile"
_TRAILER = len(_MAGIC) + 32

_log = logging.getLogger(__name__)


@record(frozen=True, slots=True)
class CacheInfo:
    """The disk cache: its path, the number of shared objects, the bytes of all its files (recipes,
    too), and the size limit.
    """

    path: str
    objects: int
    bytes: int
    limit: int


def cache_dir(environ: Mapping[str, str] = os.environ) -> str:
    """The folder of the disk cache, the first of these for which the variable is set::

        $TRANSPILE_CACHE/kernels
        $XDG_CACHE_HOME/transpile/kernels        if it is an absolute path, as its standard demands
        %LOCALAPPDATA%\\transpile\\kernels        on Windows
        ~/.cache/transpile/kernels

    Without a home directory, a path that cannot be written: nothing is cached. The folder need not
    exist; `publish` makes it.
    """
    if chosen := environ.get("TRANSPILE_CACHE"):
        return os.path.join(_absolute(chosen), _OWN_FOLDER)
    base = environ.get("XDG_CACHE_HOME", "")
    if sys.platform == "win32" and not os.path.isabs(base):
        base = environ.get("LOCALAPPDATA", "")
    if not os.path.isabs(base):  # as its specification says
        base = os.path.join(os.path.expanduser("~"), ".cache")
        if not os.path.isabs(base):  # no home directory: an unwritable path
            base = os.path.join(os.devnull, ".cache")
    return os.path.join(os.path.abspath(base), "transpile", _OWN_FOLDER)


def _absolute(path: str) -> str:
    """The absolute path; as it is, if it is relative and the working directory has been removed:
    there is no folder at such a path, and none can be made.
    """
    try:
        return os.path.abspath(path)
    except failures(FileNotFoundError):
        return path


def cache_info() -> CacheInfo:
    """The usage of the disk cache."""
    path = cache_dir()
    files: list[tuple[float, int, str]] = []
    with suppress_failures(OSError), open_folder(path) as folder:
        files = _own_files(folder)
    objects = sum(name.endswith(OBJECT_SUFFIX) for _, _, name in files)
    return CacheInfo(path, objects, sum(size for _, size, _ in files), CACHE_BYTES)


def cache_clear() -> int:
    """Remove all files of ours from the disk cache; returns their number without recipes and rates.
    Loaded objects stay loaded.
    """
    removed: list[str] = []
    with suppress_failures(OSError), open_folder(cache_dir()) as folder:
        removed = [name for _, _, name in _own_files(folder) if _remove(folder, name)]
        _remove(folder, _TRIM_STAMP)
    return sum(not name.endswith((RECIPE_SUFFIX, PROBE_SUFFIX)) for name in removed)


def _own_files(folder: Folder) -> list[tuple[float, int, str]]:
    """(time of last use, size, name) of each file whose name has our pattern (`_OWN_NAME`),
    objects, recipes and aborted writes, the least recently used one first.
    """
    files = []
    for name in folder.names():
        if _OWN_NAME.fullmatch(name):
            with suppress_failures(OSError):
                status = folder.status(name)
                if stat.S_ISREG(status.st_mode):
                    files.append((status.st_mtime, status.st_size, name))
    return sorted(files)


def _remove(folder: Folder, name: str) -> bool:
    """Delete the file `name` in `folder`; returns whether it did."""
    with suppress_failures(OSError):
        folder.remove(name)
        return True
    return False


def discard(path: str) -> None:
    """Remove a cached file that has turned out to be unusable, so that it is made again."""
    name = os.path.basename(path)
    if _OWN_NAME.fullmatch(name):
        with suppress_failures(OSError), open_folder(os.path.dirname(path)) as folder:
            _remove(folder, name)


def _trim(folder: Folder, keep: str) -> None:
    """If the cache is larger than `CACHE_BYTES`, remove the least recently used files, until it has
    three quarters of that; not the file `keep`, which was just written.

    Counting the files of a large cache takes time, so it is done once in `TRIM_INTERVAL` at most,
    by whichever process comes first: the time of the empty file `_TRIM_STAMP` says when. Called
    after each write (`publish`).
    """
    with suppress_failures(OSError):
        if 0 <= time.time() - folder.status(_TRIM_STAMP).st_mtime < TRIM_INTERVAL:
            return
    _remove(folder, _TRIM_STAMP)
    with suppress_failures(OSError):
        folder.write_file(_TRIM_STAMP, b"")
    objects = _own_files(folder)
    total = sum(size for _, size, _ in objects)
    if total <= CACHE_BYTES:
        return
    for _, size, name in objects:
        if total <= CACHE_BYTES * 3 // 4:
            break
        if name != keep and _remove(folder, name):
            total -= size


def find_cached(name: str) -> str | None:
    """The path of an intact cached object of that name, or None."""
    for folder in _cache_folders():
        path = os.path.join(folder, name + OBJECT_SUFFIX)
        if _intact_body(path) is not None:
            return path
    return None


def find_cached_prefix(start: str, suffix: str = OBJECT_SUFFIX) -> str | None:
    """The path of an intact cached file whose name starts with `start`, or None."""
    for path in _cache_folders():
        names: list[str] = []
        with suppress_failures(OSError), open_folder(path) as folder:
            names = [name for _, _, name in _own_files(folder)]
        for name in names:
            if name.startswith(start) and name.endswith(suffix):
                found = os.path.join(path, name)
                if _intact_body(found) is not None:
                    return found
    return None


def _cache_folders() -> list[str]:
    return [folder for folder in (cache_dir(), _private.get(os.getpid())) if folder]


def read_cached(name: str, suffix: str) -> bytes | None:
    """The content of the cached file ``name + suffix``, if there is one that is intact and can be
    trusted (`opened_file`), in the cache or in this process's private directory; else None, so that
    the caller makes it anew. Its time of use is updated.
    """
    for folder in _cache_folders():
        body = _intact_body(os.path.join(folder, name + suffix))
        if body is not None:
            return body
    return None


def _intact_body(path: str) -> bytes | None:
    """The content of a cached file; None if it is missing, damaged or cannot be trusted. Its time
    of use is updated. Raises OSError for lack of descriptors or memory.
    """
    try:
        with opened_file(path) as (handle, body):
            with suppress_failures(OSError):
                os.utime(handle if os.utime in os.supports_fd else path)
            return body
    except failures(FileNotFoundError):
        return None
    except failures(OSError, BuildError) as error:
        if isinstance(error, OSError) and is_system_fault(error):
            raise
        folder = os.path.dirname(path)
        if (reason := _fault_of_folder(folder)) is not None:
            _note_unwritable(folder, reason)
        else:
            _note_unusable(path, _reason(error))
        return None


def _fault_of_folder(path: str) -> str | None:
    """Why the directory at `path` cannot be opened or trusted; None if it can."""
    try:
        with open_folder(path):
            return None
    except failures(OSError) as error:
        return _reason(error)


def _reason(error: Exception) -> str:
    """What an error of a file or directory of the cache says, without its path."""
    said = error.strerror if isinstance(error, OSError) else None
    return said or str(error)


@contextmanager
def opened_file(path: str) -> Iterator[tuple[int, bytes]]:
    """Open the cached file at `path`, an object or a recipe, and validate it: gives a descriptor,
    and its content without the digest at its end.

    It is intact if the digest is that of the content and of the file's name, so that a file that
    was cut short, changed or renamed is noticed. Nobody but this user may be able to write to the
    file and its folder (`trusted_files`): a kernel is code that will run. Raises OSError if it
    cannot be read, Untrusted if others can write it, BuildError if it is damaged.
    """
    name = os.path.basename(path)
    with open_folder(os.path.dirname(path)) as folder:
        handle = folder.open_file(name)
        try:
            data = read_file(handle)
            body, magic, checksum = data[:-_TRAILER], data[-_TRAILER:-32], data[-32:]
            if magic != _MAGIC or _checksum(body, name) != checksum:
                raise BuildError("the file is damaged and is built again")
            yield handle, body
        finally:
            os.close(handle)


def _checksum(body: bytes, name: str) -> bytes:
    """The digest of the content of a file and of its name."""
    return digest(name.encode() + b"\0" + body)


def publish(body: bytes, name: str | None, suffix: str = OBJECT_SUFFIX) -> str:
    """Write a file with the content `body` to the cache; returns its path. Without a `name`, or if
    the cache cannot be written, it goes to the private directory of this process.

    Raises BuildError for a shared object that is not complete (`fault_of_object`), and where the
    system lacks memory or descriptors, or the private directory cannot be written either.
    """
    if suffix == OBJECT_SUFFIX and (fault := fault_of_object(body)):
        raise BuildError(f"the compiler reported success and wrote a damaged object: {fault}")
    if name is None:
        return publish_privately(body, os.urandom(8).hex() + suffix)
    path, file = cache_dir(), name + suffix
    try:
        with make_folder(path) as folder:
            _write_atomically(body, folder, file)
            _trim(folder, keep=file)
    except failures(OSError) as error:
        if is_system_fault(error):
            raise BuildError(f"{path} cannot be written: {error}", is_fault=True) from error
        _note_unwritable(path, _reason(error))
        return publish_privately(body, file)
    return os.path.join(path, file)


def publish_privately(body: bytes, file: str) -> str:
    """Put a file into the private directory of this process; returns its path. Raises BuildError.
    """
    try:
        path = _private_dir()
        with open_folder(path) as folder:
            _write_atomically(body, folder, file)
    except failures(OSError) as error:
        raise BuildError(f"there is no room for the object: {error}", is_fault=True) from error
    return os.path.join(path, file)


_noted: set[str] = set()
"""The folders of which `_note_unwritable` has warned."""


def _note_unwritable(folder: str, reason: str) -> None:
    """Warn, once for each folder, that nothing is taken from it, or kept in it."""
    if folder not in _noted:
        _noted.add(folder)
        _log.warning(
            "transpile: the cache %s cannot be used (%s); objects are kept for this process only",
            folder, reason,
        )


@functools.cache
def _note_unusable(path: str, reason: str) -> None:
    """Warn, once for each file, that it is not used."""
    _log.warning("transpile: the cached file %s is not used: %s", path, reason)


def _write_atomically(body: bytes, folder: Folder, name: str) -> None:
    """Create the file `name` in `folder` under a temporary name, then rename it. Raises OSError."""
    temporary = f".{os.urandom(8).hex()}.tmp"
    folder.write_file(temporary, body + _MAGIC + _checksum(body, name))
    try:
        folder.rename(temporary, name)
    except BaseException:
        _remove(folder, temporary)
        raise


_private: dict[int, str] = {}
"""The private directory by process id: a forked child makes another, as the parent removes its."""


def _private_dir() -> str:
    """The directory of this process for objects that cannot be cached; removed at exit. Raises
    OSError.
    """
    from .private_folders import make_private_folder, remove_private_folder

    pid = os.getpid()
    if pid not in _private:
        created = make_private_folder()
        if _private.setdefault(pid, created) is not created:
            remove_private_folder(created)
    return _private[pid]
