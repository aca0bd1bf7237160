"""C text to a shared object, through a content-addressed cache on disk.

An object's name is the digest of all that made it: source, flags, compiler, machine, ABI. Its last bytes are its own
checksum, so a truncated or damaged file is seen before it is mapped, and built again. Files appear by rename only: any
number of threads and processes may build at once. Where the cache cannot be written, objects live in a private directory.
"""
from __future__ import annotations

import functools
import logging
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .compiler import BuildError, Compiler, NoCompiler, find_compiler, run_compiler

__all__ = [
    "ABI", "BuildError", "CacheInfo", "Compiler", "NoCompiler", "assembly", "build", "build_object", "cache_clear",
    "cache_dir", "cache_info", "find_compiler",
]

ABI = 1
"""Version of the kernels' binary interface: an object of another version is never loaded."""

FLAGS = ("-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=protected", "-w")

CACHE_BYTES = 256 << 20
"""Size of the cache above which the objects longest unused are removed."""

_SUFFIX = ".so"
_MAGIC = b"transpile"
_TRAILER = len(_MAGIC) + 32

_log = logging.getLogger(__name__)


class HasFlags(Protocol):
    """What a target has to say here: its compiler flags."""

    @property
    def cflags(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The disk cache: where it is, how many objects it holds, their bytes and the bound on them."""

    path: Path
    objects: int
    bytes: int
    limit: int


def build(source: str, target: HasFlags, *, cache: bool = True) -> Path:
    """The shared object of one C translation unit for `target`. Raises NoCompiler and BuildError."""
    return build_object(source, target.cflags, cache=cache)


def build_object(source: str, cflags: tuple[str, ...] = (), *, cache: bool = True) -> Path:
    """As `build`, with the flags that a target would give. Without `cache` it is always compiled, to a file of its own."""
    flags = (*FLAGS, *cflags, *_user_flags(), "-shared", "-lm")
    key = _digest(str(ABI), sys.platform, os.uname().machine, *flags, source)
    try:
        compiler = find_compiler()
    except NoCompiler:
        if cache and (kept := _kept(f"{key}-*{_SUFFIX}")):  # what another compiler made will do
            return kept
        raise
    name = f"{key}-{_digest(compiler.version, *compiler.command)[:16]}{_SUFFIX}"
    if cache and (kept := _kept(name)):
        return kept
    with _scratch() as work:
        run_compiler(compiler, flags, source, work / "kernel.so")
        return _publish(_sealed(work / "kernel.so"), name, cache)


def assembly(source: str, target: HasFlags) -> str:
    """The assembly text of what `build` would build. Raises NoCompiler and BuildError."""
    with _scratch() as work:
        flags = (*FLAGS, *target.cflags, *_user_flags(), "-S")
        run_compiler(find_compiler(), flags, source, work / "kernel.s")
        return (work / "kernel.s").read_text(errors="replace")


def _user_flags(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    text = environ.get("TRANSPILE_CFLAGS", "")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise BuildError(f"TRANSPILE_CFLAGS={text}: {error}") from None


def _digest(*parts: str) -> str:
    from hashlib import sha256

    return sha256("\0".join(parts).encode()).hexdigest()


# -- the cache

def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """``$TRANSPILE_CACHE``, else ``transpile`` under ``$XDG_CACHE_HOME`` or ``~/.cache``. It need not exist."""
    if chosen := environ.get("TRANSPILE_CACHE"):
        return Path(os.path.abspath(chosen))
    base = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.path.abspath(base)) / "transpile"


def cache_info() -> CacheInfo:
    """How full the disk cache is."""
    sizes = [size for _, size, _ in _objects(cache_dir())]
    return CacheInfo(cache_dir(), len(sizes), sum(sizes), CACHE_BYTES)


def cache_clear() -> int:
    """Removes every object from the disk cache; the number removed. What is loaded stays loaded."""
    return sum(_remove(path) for _, _, path in _objects(cache_dir()))


def _objects(folder: Path) -> list[tuple[float, int, Path]]:
    """(time of last use, size, path) of each object, and of what an interrupted write left; oldest first."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((_SUFFIX, _SUFFIX + ".tmp")):
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
    objects = _objects(folder)
    total = sum(size for _, size, _ in objects)
    if total <= CACHE_BYTES:
        return
    for _, size, path in objects:
        if total <= CACHE_BYTES * 3 // 4:
            break
        if path != keep and _remove(path):
            total -= size


def _kept(pattern: str) -> Path | None:
    """A sound object of that name."""
    folders = filter(None, (cache_dir(), _private.get(os.getpid())))
    return next((path for folder in folders for path in folder.glob(pattern) if _sound(path)), None)


def _sealed(made: Path) -> bytes:
    from hashlib import sha256

    body = made.read_bytes()
    return body + _MAGIC + sha256(body).digest()


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


def _publish(data: bytes, name: str, cache: bool) -> Path:
    """Writes an object into the cache or, failing that, into the private directory."""
    if cache:
        folder = cache_dir()
        try:
            path = _place(data, folder / name)
            _trim(folder, keep=path)
            return path
        except OSError as error:
            _note_unwritable(str(folder), error.strerror or str(error))
    try:
        return _place(data, _private_dir() / (name if cache else f"{os.urandom(8).hex()}{_SUFFIX}"))
    except OSError as error:
        raise BuildError(f"there is no room for the object: {error}") from error


@functools.cache
def _note_unwritable(folder: str, reason: str) -> None:
    _log.warning("the cache %s cannot be written (%s); objects are kept for this process only", folder, reason)


def _place(data: bytes, path: Path) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=_SUFFIX + ".tmp", dir=path.parent)
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
"""The private directory of each process: a forked child makes its own, for its parent removes the parent's."""


def _private_dir() -> Path:
    import atexit

    pid = os.getpid()
    if pid not in _private:
        made = Path(tempfile.mkdtemp(prefix="transpile-"))
        if _private.setdefault(pid, made) is made:
            atexit.register(_remove_private, pid)
        else:
            made.rmdir()
    return _private[pid]


def _remove_private(pid: int) -> None:
    if pid == os.getpid():
        shutil.rmtree(_private.pop(pid), ignore_errors=True)


@contextmanager
def _scratch() -> Iterator[Path]:
    try:
        work = tempfile.mkdtemp(prefix="transpile-")
    except OSError as error:
        raise BuildError(f"there is no directory for temporary files: {error}") from error
    try:
        yield Path(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
