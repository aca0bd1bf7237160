"""Compiles C text to a shared object, or takes it from the cache.

The cache key is the digest of all that determines the object: source, flags, machine, ABI
version and compiler.
"""
from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from .c_compiler import (
    BuildError,
    Compiler,
    NoCompiler,
    find_compiler,
    find_compiler_for,
    run_compiler,
)
from .object_cache import (
    CacheInfo,
    cache_clear,
    cache_dir,
    cache_info,
    find_cached,
    find_cached_prefix,
    hexdigest,
    publish,
)

if TYPE_CHECKING:
    from ..isa.target_registry import Target

__all__ = [
    "ABI", "BuildError", "CacheInfo", "Compiler", "NoCompiler", "assembly", "build_kernel",
    "build_object", "cache_clear", "cache_dir", "cache_info", "find_compiler",
]

ABI = 1
"""Version of the kernels' binary interface: an object of another version is never loaded."""

FLAGS = (
    "-O2", "-fno-tree-vectorize", "-ffp-contract=off", "-frounding-math", "-fPIC",
    "-fvisibility=protected", "-w", "-pipe",
)
"""Of every kernel. GCC's own vectoriser has nothing to do here, and GCC 11 and 12 make -1 of
``a[k] != 0`` with it, in the lanes of a vector. GCC makes -x of 0.0 - x where x is no -0.0, which
is wrong for 0.0; with ``-frounding-math`` it does not. Clang is told the rounding in abi.h."""


class _HasFlags(Protocol):
    """What a target has to say here: its compiler flags."""

    @property
    def cflags(self) -> tuple[str, ...]: ...


CONTRACT_FLAGS = ("-ffp-contract=fast", "-DTP_CONTRACT")
"""Flags under which a product and a sum may become one FMA."""


def build_kernel(
    source: str, target: _HasFlags, *, cache: bool = True, contract: bool = False
) -> str:
    """The shared object of a C translation unit for `target`. Raises NoCompiler and BuildError."""
    return build_object(source, _flags(target, contract), cache=cache)


def _flags(target: _HasFlags, contract: bool) -> tuple[str, ...]:
    return *target.cflags, *(CONTRACT_FLAGS if contract else ())


def build_object(source: str, cflags: tuple[str, ...] = (), *, cache: bool = True) -> str:
    """As `build_kernel`, with the flags that a target would give.

    Without `cache` it is always compiled, to a file of its own.
    """
    flags = (*FLAGS, *cflags, *_user_flags(), "-shared", "-lm")
    key = _digest(str(ABI), sys.platform, os.uname().machine, *flags, source)
    try:
        compiler = find_compiler()
    except NoCompiler:
        if cache and (path := find_cached_prefix(f"{key}-")):  # what another compiler made will do
            return path
        raise
    name = f"{key}-{_digest(compiler.version, *compiler.command)[:16]}"
    if cache and (path := find_cached(name)):
        return path
    with _scratch_path("kernel.so") as made:
        run_compiler(compiler, flags, source, made)
        with open(made, "rb") as file:
            return publish(file.read(), name if cache else None)


def assembly(
    source: str, target: Target, *, contract: bool = False, lines: bool = False
) -> str:
    """The assembly text of what `build_kernel` would build on a machine of the target's kind;
    with the ``lines`` of the source that its instructions come from, if that is asked for.

    Raises NoCompiler and BuildError.
    """
    flags = (*FLAGS, *_flags(target, contract), *_user_flags(), "-S", *(["-g1"] if lines else []))
    with _scratch_path("kernel.s") as made:
        run_compiler(find_compiler_for(target.machine), flags, source, made)
        with open(made, errors="replace") as file:
            return file.read()


def _user_flags() -> tuple[str, ...]:
    text = os.environ.get("TRANSPILE_CFLAGS", "")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise BuildError(f"TRANSPILE_CFLAGS={text}: {error}") from None


def _digest(*parts: str) -> str:
    return hexdigest("\0".join(parts).encode())


@contextmanager
def _scratch_path(name: str) -> Iterator[str]:
    """A path of that name in a directory of its own."""
    import tempfile
    from shutil import rmtree

    try:
        work = tempfile.mkdtemp(prefix="transpile-")
    except OSError as error:
        raise BuildError(f"there is no directory for temporary files: {error}") from error
    try:
        yield os.path.join(work, name)
    finally:
        rmtree(work, ignore_errors=True)
