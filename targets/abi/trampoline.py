"""Native call path: the C builtins of `entry.c`, `items.c`, `whole.c`, compiled once per machine.

They read the fields of array objects directly, so they need CPython and the field layout of NumPy's
C ABI, which `object_layout` checks on live objects first.
"""
from __future__ import annotations

import os
import weakref

from ..build.background_build import BackgroundBuild
from ..build.build_errors import BuildError, NoCompiler
from ..build.shared_library import SharedLibrary, open_library
from . import c_api
from .object_layout import layout_matches

__all__ = [
    "build_in_background", "connect_when_built", "expected_object", "is_being_built",
    "start_opening", "trampoline", "trampoline_source",
]

SOURCES = (
    "entry.c", "clock.c", "signals.c", "values.c", "items.c", "whole.c", "inline_cache.c",
)

_FLAGS = ("-Og",)
"""Flags of the trampoline: with an empty cache, the first call may wait for it. Only what each call
runs is compiled at ``-O2`` (`HOT` in `entry.c`): calls of small kernels then take a fifth less
time. All of it at ``-O2`` takes 2.3 times as long to compile.
"""

BEGIN_TIMEOUT = 0.05
"""Seconds in which the C compiler has begun if nothing is wrong: it takes 5 to 10 ms."""


def trampoline(path: str | None) -> c_api.Trampoline | None:
    """The trampoline, opened at the first call, and built if needed. None where the native path is
    not available: the layout of objects is unknown, or there is no C compiler, or it fails.

    `path`: the path of a trampoline that was built before; None: it is built, or found in the
    cache. Raises BuildError for a fault of the system, such as a lack of memory.
    """
    if not c_api.opened:
        c_api.opened.append(_open_trampoline(path))
    return c_api.opened[0]


def is_being_built() -> bool:
    """Whether the C compiler is at work on it, so that `trampoline` would wait."""
    return not c_api.opened and _building.is_running() and layout_matches()


def connect_when_built(library: SharedLibrary) -> None:
    """Connect the kernel in `library` to its signal checks and the thread pool as soon as the
    trampoline is built, even if the kernel runs then.
    """
    _waiting.append(weakref.ref(library))


def expected_object() -> str | None:
    """The name in the cache of the trampoline, built or not; None without a C compiler."""
    from ..build.build_kernel import object_name

    try:
        return object_name(trampoline_source(), _FLAGS)
    except (BuildError, NoCompiler):
        return None


def build_in_background() -> None:
    """Start building the trampoline in a thread, once a process; returns when the C compiler runs,
    or is not needed.

    For a caller that will call `load_kernel` soon. What the thread needs is imported here: a fork
    must find no import under way.
    """
    if not c_api.opened:
        from ..build import build_kernel  # noqa: F401

        _building.start()
        _building.let_begin(BEGIN_TIMEOUT)


def start_opening() -> None:
    """Open the trampoline without waiting for the C compiler: where it has to be built first, a
    later call opens it.
    """
    build_in_background()
    if not c_api.opened and not _building.is_running():
        trampoline(None)


def _open_trampoline(known: str | None) -> c_api.Trampoline | None:
    """The trampoline at `known`, or a new one, with the C API functions that it uses; None if the
    object layout or the compiler does not allow it. Raises BuildError for a fault of the system.
    """
    if not layout_matches():
        return None
    try:
        if known is None:
            _building.wait()
        path = known or _build_trampoline()
        library = open_library(path, permanent=True)
        addresses = {name: library.address(f"tp_{name}") for name in c_api.FUNCTIONS}
    except NoCompiler:
        return None
    except BuildError as error:
        if error.is_fault:
            raise
        return None
    return c_api.bound_trampoline(path, addresses)


def trampoline_source() -> str:
    """The C text of the trampoline."""
    texts = []
    for name in SOURCES:
        with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
            texts.append(file.read())
    return "".join(texts)


def _build_trampoline() -> str:
    """The path of its shared object."""
    from ..build.build_kernel import build_object

    return build_object(trampoline_source(), _FLAGS)


_waiting: list[weakref.ref[SharedLibrary]] = []
"""The kernels that were loaded while the trampoline was being built (`connect_when_built`)."""


def _build_and_connect() -> None:
    """Build the trampoline, and connect the kernels that wait for it. One that is in a long loop at
    the moment polls from now on.
    """
    path = _build_trampoline()
    if not _waiting or (opened := trampoline(path)) is None:
        return
    from .signal_checks import connect_natively  # imported already, by `load_kernel`

    for reference in _waiting:
        if (library := reference()) is not None:
            connect_natively(library, opened)


_building = BackgroundBuild(_build_and_connect, is_awaited=True)
