"""Compiles C text to a shared object, or finds it in the cache.

The name of an object in the cache is a key (`_flags_and_key`: the digest of ABI version, system,
machine, features of the CPU, all flags and the source), and a digest of the compiler's version and
command (`_object_name`). Without a compiler, an object with the same key is used, whichever
compiler has made it.
"""
from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

from loopir.process.digests import hexdigest
from loopir.process.signal_exceptions import failures

from ..isa.cpu_features import features, machine
from .build_errors import wrong_target
from .c_compiler import (
    BuildError,
    Compiler,
    NoCompiler,
    find_compiler,
    find_compiler_for,
    run_compiler,
)
from .compile_effort import LEFT_OUT, LINK_FLAGS, accepted_flags, effort_for
from .object_cache import (
    CacheInfo,
    cache_clear,
    cache_dir,
    cache_info,
    find_cached,
    find_cached_prefix,
    publish,
)
from .private_folders import private_folder, remove_abandoned

if TYPE_CHECKING:
    from ..isa.target_registry import Target

__all__ = [
    "ABI", "BuildError", "CacheInfo", "Compiler", "NoCompiler", "assembly", "build_kernel",
    "build_object", "cache_clear", "cache_dir", "cache_info", "find_compiler", "find_object",
    "kernel_flags",
    "object_name", "user_flags", "wrong_target",
]

ABI = 1
"""Version of the kernels' binary interface: an object of another version is never loaded."""

FLAGS = (
    "-O2", "-fno-tree-vectorize", "-ffp-contract=off", "-frounding-math", "-fPIC",
    "-fvisibility=protected", "-falign-functions=64", "-w", "-pipe", *LEFT_OUT,
)
"""Flags of every kernel, for any compiler. Those of `effort_for`, of the target, of the user
(``TRANSPILE_CFLAGS``) and of the linker follow, in this order (`_flags_and_key`).

==========================  ====================================================================
``-fno-tree-vectorize``     vectors are in the C code; and GCC 11 and 12 miscompile ``a[k] != 0``
                            on vector lanes (-1 instead of 1)
``-ffp-contract=off``       a product and a sum are rounded each, as in Python
``-frounding-math``         GCC must not fold 0.0 - x to -x, which is wrong for 0.0; for Clang a
                            pragma in abi.h does the same
``-fPIC``, ``-fvisi``…      a shared object, whose functions call each other directly
``-falign-functions=64``    functions begin at cache lines: a call of few elements took up to 10 ns
                            longer or not by where the code happened to lie
``-w``, ``-pipe``           no warnings, no temporary files
`LEFT_OUT`                  a pass of GCC that takes longer than it saves
==========================  ====================================================================
"""


class _HasFlags(Protocol):
    """Structural type of a target: its compiler flags."""

    @property
    def cflags(self) -> tuple[str, ...]: ...


FP_CONTRACTION_FLAGS = ("-ffp-contract=fast", "-DTP_CONTRACT")
"""Flags of ``@fuse(contract=True)``, after `FLAGS`: a product and a sum become one fused
multiply-add, which rounds once, where the target has the instruction. The second one switches off
the pragma of abi.h that forbids it to Clang."""


def build_kernel(
    source: str, target: _HasFlags, *, cache: bool = True, contract: bool = False
) -> str:
    """The path of the shared object of a C translation unit for `target`.

    `contract`: allow floating-point contraction (fused multiply-adds). Raises NoCompiler and
    BuildError.
    """
    return build_object(source, _flags(target, contract), cache=cache)


def kernel_flags(source: str, target: _HasFlags, *, contract: bool) -> tuple[str, ...]:
    """The flags that compile the C text of a kernel for `target`; none of the linker or the user.
    """
    return *FLAGS, *effort_for(source).flags, *_flags(target, contract)


def _flags(target: _HasFlags, contract: bool) -> tuple[str, ...]:
    """The compiler flags of `target`, with or without floating-point contraction."""
    return *target.cflags, *(FP_CONTRACTION_FLAGS if contract else ())


def build_object(source: str, cflags: tuple[str, ...] = (), *, cache: bool = True) -> str:
    """As `build_kernel`, with explicit flags.

    Without `cache` it is always compiled, to a private file.
    """
    flags, key = _flags_and_key(source, cflags)
    try:
        compiler = find_compiler()
    except NoCompiler:
        if cache and (path := find_cached_prefix(f"{key}-")):  # by any compiler
            return path
        raise
    name = _object_name(key, compiler)
    if cache and (path := find_cached(name)):
        return path
    with _scratch_path("kernel.so") as output:
        run_compiler(compiler, accepted_flags(compiler, flags), source, output)
        with open(output, "rb") as file:
            return publish(file.read(), name if cache else None)


def find_object(source: str, cflags: tuple[str, ...] = ()) -> str | None:
    """The path of what `build_object` would build, if that is in the cache, else None; nothing is
    compiled. Raises NoCompiler if it is not in the cache, and there is no compiler to build it.
    """
    try:
        return find_cached(object_name(source, cflags))
    except NoCompiler:
        _, key = _flags_and_key(source, cflags)
        if path := find_cached_prefix(f"{key}-"):
            return path
        raise


def object_name(source: str, cflags: tuple[str, ...] = ()) -> str:
    """The name in the cache of what `build_object` builds, without its suffix. Raises NoCompiler
    and BuildError.
    """
    _, key = _flags_and_key(source, cflags)
    return _object_name(key, find_compiler())


def _flags_and_key(source: str, cflags: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """All flags for the compiler, and the key of the object: a digest of all that decides what is
    in it, apart from the compiler, which `_object_name` adds. So an object is used again only for
    the same C text and flags, and on a machine that can run it.

    The other key of a kernel, that of its recipe (`disk_cache._cache_key`), is made before there is
    any C text, from the function and the types of the call.
    """
    own = user_flags()
    linked = ("-shared", "-lm", *(() if own else LINK_FLAGS))
    flags = (*FLAGS, *effort_for(source, own).flags, *cflags, *own, *linked)
    cpu = sorted(features())  # flags may say "for this CPU", and machines may share a cache
    return flags, _digest(str(ABI), sys.platform, machine(), *cpu, *flags, source)


def _object_name(key: str, compiler: Compiler) -> str:
    """The name of the object in the cache that `compiler` makes."""
    return f"{key}-{_digest(compiler.version, *compiler.command)[:16]}"


def assembly(
    source: str, target: Target, *, contract: bool = False, lines: bool = False
) -> str:
    """The assembly text of what `build_kernel` builds, for any machine with a (cross) compiler.

    `lines`: annotated with source lines. Raises NoCompiler and BuildError.
    """
    form = ("-S", "-g1") if lines else ("-S",)
    own = user_flags()
    flags = (*FLAGS, *effort_for(source, own).flags, *_flags(target, contract), *own, *form)
    with _scratch_path("kernel.s") as output:
        compiler = find_compiler_for(target.machine)
        run_compiler(compiler, accepted_flags(compiler, flags), source, output)
        with open(output, encoding="utf-8", errors="replace") as file:
            return file.read()


def user_flags() -> tuple[str, ...]:
    """The flags in ``$TRANSPILE_CFLAGS``. Raises BuildError if they cannot be split into words."""
    text = os.environ.get("TRANSPILE_CFLAGS", "")
    try:
        return tuple(shlex.split(text))
    except failures(ValueError) as error:
        raise BuildError(f"TRANSPILE_CFLAGS={text}: {error}") from None


def _digest(*parts: str) -> str:
    """The digest of `parts` as one text."""
    return hexdigest("\0".join(parts).encode())


@contextmanager
def _scratch_path(name: str) -> Iterator[str]:
    """A path of that name in a new private directory, which is removed afterwards. Raises
    BuildError.
    """
    _tidy_up()
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(private_folder())
        except failures(OSError) as error:
            message = f"there is no directory for temporary files: {error}"
            raise BuildError(message, is_fault=True) from error
        yield os.path.join(folder, name)


@functools.cache
def _tidy_up() -> None:
    """Once a process, remove what processes that were killed have left."""
    remove_abandoned()
