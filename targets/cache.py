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
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from loopir.record import record

from .errors import BuildError

__all__ = [
    "OBJECT", "RECIPE", "CacheInfo", "cache_clear", "cache_dir", "cache_info", "content", "kept",
    "publish",
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

    path: Path
    objects: int
    bytes: int
    limit: int


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """``$TRANSPILE_CACHE``, else ``transpile`` under ``$XDG_CACHE_HOME`` or ``~/.cache``.

    It need not exist.
    """
    if chosen := environ.get("TRANSPILE_CACHE"):
        return Path(os.path.abspath(chosen))
    home = os.path.expanduser("~")
    if not os.path.isabs(home):  # nobody's: nothing can be written there, and nothing will
        home = os.devnull
    base = environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return Path(base).absolute() / "transpile"


def cache_info() -> CacheInfo:
    """How full the disk cache is."""
    found = _objects(cache_dir())
    objects = sum(path.suffix == OBJECT for _, _, path in found)
    return CacheInfo(cache_dir(), objects, sum(size for _, size, _ in found), CACHE_BYTES)


def cache_clear() -> int:
    """Removes every object from the disk cache; the number removed. What is loaded stays loaded."""
    removed = [path for _, _, path in _objects(cache_dir()) if _remove(path)]
    _remove(cache_dir() / _LOOKED)
    return sum(path.suffix != RECIPE for path in removed)


def _objects(folder: Path) -> list[tuple[float, int, Path]]:
    """(time of last use, size, path) of what is there, oldest first; of broken-off writes too."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((OBJECT, RECIPE, ".tmp")):
                with suppress(OSError):
                    stat = entry.stat()
                    found.append((stat.st_mtime, stat.st_size, Path(entry.path)))
    return sorted(found)


def _remove(path: Path) -> bool:
    with suppress(OSError):
        path.unlink()
        return True
    return False


def _trim(folder: Path, keep: Path) -> None:
    """Above the bound, removes the objects longest unused until three quarters of it are left."""
    looked = folder / _LOOKED
    with suppress(OSError):
        if 0 <= time.time() - looked.stat().st_mtime < LOOKED_AFTER:
            return
    with suppress(OSError):
        looked.touch()
    objects = _objects(folder)
    total = sum(size for _, size, _ in objects)
    if total <= CACHE_BYTES:
        return
    for _, size, path in objects:
        if total <= CACHE_BYTES * 3 // 4:
            break
        if path != keep and _remove(path):
            total -= size


def kept(name: str, suffix: str = OBJECT) -> Path | None:
    """A sound object of that name, which may be a pattern."""
    folders = filter(None, (cache_dir(), _private.get(os.getpid())))
    found = (path for folder in folders for path in folder.glob(name + suffix))
    return next(filter(_sound, found), None)


def _sound(path: Path) -> bool:
    """Whether `path` holds a whole object; if so it counts as used now."""
    from hashlib import sha256

    try:
        data = path.read_bytes()
    except OSError:
        return False
    body, magic, checksum = data[:-_TRAILER], data[-_TRAILER:-32], data[-32:]
    if magic != _MAGIC or sha256(body).digest() != checksum:
        _log.warning("%s is damaged and is built again", path)
        return False
    with suppress(OSError):
        os.utime(path)
    return True


def content(path: Path) -> bytes:
    """What was published as `path`."""
    return path.read_bytes()[:-_TRAILER]


def publish(body: bytes, name: str | None, suffix: str = OBJECT) -> Path:
    """Puts an object into the cache; failing that, or without a name, into the private directory.

    Raises BuildError.
    """
    from hashlib import sha256

    data = body + _MAGIC + sha256(body).digest()
    if name:
        folder = cache_dir()
        try:
            path = _place(data, folder / (name + suffix))
            _trim(folder, keep=path)
            return path
        except OSError as error:
            _note_unwritable(str(folder), error.strerror or str(error))
    try:
        return _place(data, _private_dir() / ((name or os.urandom(8).hex()) + suffix))
    except OSError as error:
        raise BuildError(f"there is no room for the object: {error}") from error


@functools.cache
def _note_unwritable(folder: str, reason: str) -> None:
    _log.warning(
        "the cache %s cannot be written (%s); objects are kept for this process only",
        folder,
        reason,
    )


def _place(data: bytes, path: Path) -> Path:
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o755)
        os.replace(temporary, path)
    except BaseException:
        _remove(Path(temporary))
        raise
    return path


_private: dict[int, Path] = {}
"""The private directory of each process: a parent removes its own, so a forked child makes one."""


def _private_dir() -> Path:
    import atexit
    import tempfile

    pid = os.getpid()
    if pid not in _private:
        made = Path(tempfile.mkdtemp(prefix="transpile-"))
        if _private.setdefault(pid, made) is made:
            atexit.register(_remove_private, pid, made)
        else:
            made.rmdir()
    return _private[pid]


def _remove_private(pid: int, folder: Path) -> None:
    if pid == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
