"""Disk cache of shared objects: content-addressed by name, with checksums, bounded in size.

The last bytes of a file are the BLAKE2b digest of the rest, so a truncated or damaged file is
noticed before it is mapped. Files are created by an atomic rename only: any number of threads and
processes may write at once. Where the cache directory is not writable, objects are put in a private
directory that is removed with the process. Callers make the name: `build_kernel` from all that
determines the object, `transpile/runtime` for recipes.
"""
from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress

from loopir.lazy_dataclass import record

from .build_errors import BuildError

__all__ = [
    "digest", "hexdigest", "OBJECT_SUFFIX", "RECIPE_SUFFIX", "CacheInfo", "cache_clear",
    "cache_dir", "cache_info", "read_cached", "find_cached", "find_cached_prefix", "publish",
]

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b


def digest(data: bytes) -> bytes:
    """The 32-byte BLAKE2b digest."""
    return blake2b(data, digest_size=32).digest()


def hexdigest(data: bytes) -> str:
    """The digest in 64 hexadecimal digits."""
    return digest(data).hex()


CACHE_BYTES = 256 << 20
"""Size of the cache above which the least recently used objects are removed."""

TRIM_INTERVAL = 600.0
"""Seconds between two size checks, across processes: listing a full cache is slow."""

OBJECT_SUFFIX, RECIPE_SUFFIX = ".so", ".call"
"""File suffixes: a shared object; a recipe (how to call it)."""

_TRIM_STAMP = ".looked"
"""An empty file whose time is that of the last size check."""

_MAGIC = b"transpile"
_TRAILER = len(_MAGIC) + 32

_log = logging.getLogger(__name__)


@record(frozen=True, slots=True)
class CacheInfo:
    """The disk cache: its path, number of objects, their bytes and the size limit."""

    path: str
    objects: int
    bytes: int
    limit: int


def cache_dir(environ: Mapping[str, str] = os.environ) -> str:
    """``$TRANSPILE_CACHE``, else ``transpile`` under ``$XDG_CACHE_HOME`` or ``~/.cache``.

    It need not exist.
    """
    if chosen := environ.get("TRANSPILE_CACHE"):
        return os.path.abspath(chosen)
    home = os.path.expanduser("~")
    if not os.path.isabs(home):  # no home directory: an unwritable path
        home = os.devnull
    base = environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(os.path.abspath(base), "transpile")


def cache_info() -> CacheInfo:
    """The usage of the disk cache."""
    files = _objects(cache_dir())
    objects = sum(path.endswith(OBJECT_SUFFIX) for _, _, path in files)
    return CacheInfo(cache_dir(), objects, sum(size for _, size, _ in files), CACHE_BYTES)


def cache_clear() -> int:
    """Remove every object from the disk cache; returns their number. Loaded objects stay loaded."""
    removed = [path for _, _, path in _objects(cache_dir()) if _remove(path)]
    _remove(os.path.join(cache_dir(), _TRIM_STAMP))
    return sum(not path.endswith(RECIPE_SUFFIX) for path in removed)


def _objects(folder: str) -> list[tuple[float, int, str]]:
    """(time of last use, size, path) of each file, oldest first, including aborted writes."""
    files = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((OBJECT_SUFFIX, RECIPE_SUFFIX, ".tmp")):
                with suppress(OSError):
                    stat = entry.stat()
                    files.append((stat.st_mtime, stat.st_size, entry.path))
    return sorted(files)


def _remove(path: str) -> bool:
    """Delete a file; whether that succeeded."""
    with suppress(OSError):
        os.unlink(path)
        return True
    return False


def _trim(folder: str, keep: str) -> None:
    """If the cache exceeds its limit, remove least recently used objects down to three quarters of
    it.
    """
    looked = os.path.join(folder, _TRIM_STAMP)
    with suppress(OSError):
        if 0 <= time.time() - os.stat(looked).st_mtime < TRIM_INTERVAL:
            return
    with suppress(OSError), open(looked, "w"):
        os.utime(looked)
    objects = _objects(folder)
    total = sum(size for _, size, _ in objects)
    if total <= CACHE_BYTES:
        return
    for _, size, path in objects:
        if total <= CACHE_BYTES * 3 // 4:
            break
        if path != keep and _remove(path):
            total -= size


def find_cached(name: str, suffix: str = OBJECT_SUFFIX) -> str | None:
    """The path of an intact cached object of that name, or None."""
    found = (os.path.join(folder, name + suffix) for folder in _cache_folders())
    return next(filter(_is_intact, found), None)


def find_cached_prefix(start: str) -> str | None:
    """The path of an intact cached object whose name starts with `start`, or None."""
    for folder in _cache_folders():
        for _, _, path in _objects(folder):
            name = os.path.basename(path)
            if name.startswith(start) and name.endswith(OBJECT_SUFFIX) and _is_intact(path):
                return path
    return None


def _cache_folders() -> list[str]:
    return [folder for folder in (cache_dir(), _private.get(os.getpid())) if folder]


def _is_intact(path: str) -> bool:
    """Whether the checksum of `path` is valid; if so, its time of use is updated."""
    try:
        data = _read(path)
    except OSError:
        return False
    body, magic, checksum = data[:-_TRAILER], data[-_TRAILER:-32], data[-32:]
    if magic != _MAGIC or digest(body) != checksum:
        _log.warning("%s is damaged and is built again", path)
        return False
    with suppress(OSError):
        os.utime(path)
    return True


def _read(path: str) -> bytes:
    """The content of a file. Raises OSError if it cannot be read."""
    with open(path, "rb") as file:
        return file.read()


def read_cached(path: str) -> bytes:
    """The contents of a published file, without the checksum. Raises OSError."""
    return _read(path)[:-_TRAILER]


def publish(body: bytes, name: str | None, suffix: str = OBJECT_SUFFIX) -> str:
    """Put an object into the cache; failing that, or without a name, into the private directory.

    Returns its path. Raises BuildError.
    """
    data = body + _MAGIC + digest(body)
    if name:
        folder = cache_dir()
        try:
            path = _write_atomically(data, folder, name + suffix)
            _trim(folder, keep=path)
            return path
        except OSError as error:
            _note_unwritable(folder, error.strerror or str(error))
    try:
        return _write_atomically(data, _private_dir(), (name or os.urandom(8).hex()) + suffix)
    except OSError as error:
        raise BuildError(f"there is no room for the object: {error}") from error


@functools.cache
def _note_unwritable(folder: str, reason: str) -> None:
    """Warn, once for each folder, that objects are not kept."""
    _log.warning(
        "the cache %s cannot be written (%s); objects are kept for this process only",
        folder,
        reason,
    )


def _write_atomically(data: bytes, folder: str, name: str) -> str:
    """Create the file `name` in `folder` under a temporary name, then rename it. Raises OSError."""
    import tempfile

    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
    path = os.path.join(folder, name)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o755)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    return path


_private: dict[int, str] = {}
"""The private directory by process id: a forked child makes another, as the parent removes its."""


def _private_dir() -> str:
    """The directory of this process for objects that cannot be cached; removed at exit."""
    import atexit
    import tempfile

    pid = os.getpid()
    if pid not in _private:
        created = tempfile.mkdtemp(prefix="transpile-")
        if _private.setdefault(pid, created) is created:
            atexit.register(_remove_private, pid, created)
        else:
            os.rmdir(created)
    return _private[pid]


def _remove_private(pid: int, folder: str) -> None:
    """Remove the private directory, unless a forked child runs this."""
    if pid == os.getpid():
        from shutil import rmtree

        rmtree(folder, ignore_errors=True)
