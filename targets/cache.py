"""Shared objects on disk: found by name, whole or not at all.

An object's last bytes are its own checksum, so a truncated or damaged file is seen before it is
mapped. Files appear by rename only: any number of threads and processes may write at once. Where
the cache directory cannot be written, objects live in a private directory that ends with the
process.
"""
from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress

from loopir.record import record

from .digest import digest
from .errors import BuildError

__all__ = [
    "OBJECT", "RECIPE", "CacheInfo", "cache_clear", "cache_dir", "cache_info", "content", "kept",
    "kept_like", "publish",
]

CACHE_BYTES = 256 << 20
"""Size of the cache above which the objects longest unused are removed."""

LOOKED_AFTER = 600.0
"""Seconds between two looks at that size, whichever process looks: a full cache is slow to list."""

OBJECT, RECIPE = ".so", ".call"
"""Suffixes: a shared object; what a caller needs to know of one."""

_LOOKED = ".looked"
"""An empty file, as old as the last look."""

_MAGIC = b"transpile"
_TRAILER = len(_MAGIC) + 32

_log = logging.getLogger(__name__)


@record(frozen=True, slots=True)
class CacheInfo:
    """The disk cache: where it is, how many objects it holds, their bytes and the bound on them."""

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
    if not os.path.isabs(home):  # nobody's: nothing can be written there, and nothing will
        home = os.devnull
    base = environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(os.path.abspath(base), "transpile")


def cache_info() -> CacheInfo:
    """How full the disk cache is."""
    found = _objects(cache_dir())
    objects = sum(path.endswith(OBJECT) for _, _, path in found)
    return CacheInfo(cache_dir(), objects, sum(size for _, size, _ in found), CACHE_BYTES)


def cache_clear() -> int:
    """Removes every object from the disk cache; the number removed. What is loaded stays loaded."""
    removed = [path for _, _, path in _objects(cache_dir()) if _remove(path)]
    _remove(os.path.join(cache_dir(), _LOOKED))
    return sum(not path.endswith(RECIPE) for path in removed)


def _objects(folder: str) -> list[tuple[float, int, str]]:
    """(time of last use, size, path) of what is there, oldest first; of broken-off writes too."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((OBJECT, RECIPE, ".tmp")):
                with suppress(OSError):
                    stat = entry.stat()
                    found.append((stat.st_mtime, stat.st_size, entry.path))
    return sorted(found)


def _remove(path: str) -> bool:
    with suppress(OSError):
        os.unlink(path)
        return True
    return False


def _trim(folder: str, keep: str) -> None:
    """Above the bound, removes the objects longest unused until three quarters of it are left."""
    looked = os.path.join(folder, _LOOKED)
    with suppress(OSError):
        if 0 <= time.time() - os.stat(looked).st_mtime < LOOKED_AFTER:
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


def kept(name: str, suffix: str = OBJECT) -> str | None:
    """A sound object of that name."""
    found = (os.path.join(folder, name + suffix) for folder in _folders())
    return next(filter(_sound, found), None)


def kept_like(start: str) -> str | None:
    """A sound object whose name starts so."""
    for folder in _folders():
        for _, _, path in _objects(folder):
            name = os.path.basename(path)
            if name.startswith(start) and name.endswith(OBJECT) and _sound(path):
                return path
    return None


def _folders() -> list[str]:
    return [folder for folder in (cache_dir(), _private.get(os.getpid())) if folder]


def _sound(path: str) -> bool:
    """Whether `path` holds a whole object; if so it counts as used now."""
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
    with open(path, "rb") as file:
        return file.read()


def content(path: str) -> bytes:
    """What was published as `path`."""
    return _read(path)[:-_TRAILER]


def publish(body: bytes, name: str | None, suffix: str = OBJECT) -> str:
    """Puts an object into the cache; failing that, or without a name, into the private directory.

    Raises BuildError.
    """
    data = body + _MAGIC + digest(body)
    if name:
        folder = cache_dir()
        try:
            path = _place(data, folder, name + suffix)
            _trim(folder, keep=path)
            return path
        except OSError as error:
            _note_unwritable(folder, error.strerror or str(error))
    try:
        return _place(data, _private_dir(), (name or os.urandom(8).hex()) + suffix)
    except OSError as error:
        raise BuildError(f"there is no room for the object: {error}") from error


@functools.cache
def _note_unwritable(folder: str, reason: str) -> None:
    _log.warning(
        "the cache %s cannot be written (%s); objects are kept for this process only",
        folder,
        reason,
    )


def _place(data: bytes, folder: str, name: str) -> str:
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
"""The private directory of each process: a parent removes its own, so a forked child makes one."""


def _private_dir() -> str:
    import atexit
    import tempfile

    pid = os.getpid()
    if pid not in _private:
        made = tempfile.mkdtemp(prefix="transpile-")
        if _private.setdefault(pid, made) is made:
            atexit.register(_remove_private, pid, made)
        else:
            os.rmdir(made)
    return _private[pid]


def _remove_private(pid: int, folder: str) -> None:
    if pid == os.getpid():
        from shutil import rmtree

        rmtree(folder, ignore_errors=True)
