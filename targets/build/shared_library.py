"""Dynamic loading (dlopen, dlsym): shared libraries opened by cffi in ABI mode."""
from __future__ import annotations

import functools
import os
from contextlib import suppress
from importlib import import_module
from typing import Any

from .build_errors import BuildError

__all__ = ["cffi_backend", "symbol_address"]


def cffi_backend() -> Any:
    """cffi's C extension alone: importing cffi with its declaration parser takes 20 ms more."""
    return import_module("_cffi_backend")


def symbol_address(path: str, name: str) -> int:
    """The address of a function of the shared object at `path`. Raises BuildError."""
    ffi = cffi_backend().FFI()
    try:
        function = _open_library(path).load_function(ffi.typeof("int64_t(*)(void *, void *)"), name)
    except AttributeError as error:
        raise BuildError(str(error)) from error
    return int(ffi.cast("uintptr_t", function))


@functools.cache
def _open_library(path: str) -> Any:
    """Open a shared object for the rest of the process: builtins outlive this cache."""
    flags = os.RTLD_NOW | getattr(os, "RTLD_NODELETE", 0)
    try:
        return cffi_backend().load_library(path, flags)
    except OSError as error:
        with suppress(OSError):  # the next attempt builds it again
            os.unlink(path)
        reason = str(error).rpartition(f"{path}: ")[2]
        raise BuildError(f"what the compiler made cannot be loaded: {reason}") from error
