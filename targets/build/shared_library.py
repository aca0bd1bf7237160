"""Dynamic loading (dlopen, dlsym): shared libraries opened by cffi in ABI mode."""
from __future__ import annotations

import itertools
import os
import sys
from importlib import import_module
from typing import Any

from loopir.process.signal_exceptions import failures, suppress_failures

from ..file_kinds import is_folder
from .build_errors import BuildError, tells_of_fault
from .object_cache import discard, opened_file, publish_privately

__all__ = ["SharedLibrary", "cffi_backend", "open_library"]

_DESCRIPTORS = "/proc/self/fd"
_serial = itertools.count()


def cffi_backend() -> Any:
    """cffi's C extension alone: importing cffi with its declaration parser takes 20 ms more."""
    return import_module("_cffi_backend")


class SharedLibrary:
    """A loaded shared object, at `path` in the cache. It is unloaded when this Python object dies,
    so whoever keeps the address of a function in it must keep this object.
    """

    __slots__ = ("__weakref__", "_library", "path")

    def __init__(self, path: str, library: Any) -> None:
        self.path = path
        self._library = library

    def address(self, name: str) -> int:
        """The address of the function `name`. Raises BuildError if there is none."""
        ffi = cffi_backend().FFI()
        try:
            function = self._library.load_function(ffi.typeof("int64_t(*)(void *, void *)"), name)
        except failures(AttributeError) as error:
            raise BuildError(str(error)) from error
        return int(ffi.cast("uintptr_t", function))


def open_library(path: str, *, permanent: bool = False) -> SharedLibrary:
    """Load the cached object at `path`, by the descriptor through which its digest was compared, so
    that nobody can exchange the file in between (`object_cache.opened_file`). Where that fails, for
    instance on a file system that allows no execution, it is loaded from a copy in the private
    folder of this process.

    ``permanent``: it stays loaded for the rest of the process. Raises BuildError if the file cannot
    be used, or the copy cannot be loaded.
    """
    if sys.platform == "win32":
        return _opened_on_windows(path, permanent=permanent)
    flags = os.RTLD_NOW | (getattr(os, "RTLD_NODELETE", 0) if permanent else 0)
    load = cffi_backend().load_library
    try:
        with opened_file(path) as (handle, body):
            opened = _descriptor_path(handle)
            with suppress_failures(OSError):  # a file system may not allow execution
                if is_folder(_DESCRIPTORS):
                    return SharedLibrary(path, load(opened, flags))
    except failures(OSError, BuildError) as error:
        message = f"the object at {path} cannot be used: {error}"
        raise BuildError(message, is_fault=isinstance(error, OSError)) from error
    copy = publish_privately(body, f"{os.urandom(8).hex()}.so")
    try:
        return SharedLibrary(path, load(copy, flags))
    except failures(OSError) as error:
        discard(path)  # the next attempt builds it again
        reason = str(error).rpartition(f"{copy}: ")[2]
        message = f"what the compiler made cannot be loaded: {reason}"
        raise BuildError(message, is_fault=tells_of_fault(reason)) from error
    finally:
        discard(copy)


def _opened_on_windows(path: str, *, permanent: bool) -> SharedLibrary:
    """As `open_library`. Windows loads by path alone; since nobody else can write to the folder
    (`opened_file`), nobody can exchange the file. While it is loaded, it cannot be removed.
    """
    import ctypes

    try:
        with opened_file(path):
            library = SharedLibrary(path, cffi_backend().load_library(path))
    except failures(OSError, BuildError) as error:
        if not isinstance(error, BuildError):
            discard(path)  # the next attempt builds it again
        message = f"what the compiler made cannot be loaded: {error}"
        raise BuildError(message, is_fault=tells_of_fault(str(error))) from error
    pin, module = 1, ctypes.c_void_p()  # GET_MODULE_HANDLE_EX_FLAG_PIN: it is never unloaded
    if permanent:
        kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]
        kernel.GetModuleHandleExW(pin, ctypes.c_wchar_p(path), ctypes.byref(module))
    return library


def _descriptor_path(handle: int) -> str:
    """A path to the open file `handle` that differs from all paths before: the dynamic loader takes
    equal paths for one file, but descriptors of different files may have the same number.
    """
    digits = f"{next(_serial):b}"
    return f"{_DESCRIPTORS}/{digits.replace('1', './').replace('0', '/')}{handle}"
