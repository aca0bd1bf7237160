"""A compiler for loops: ``@fuse`` runs a function as fused, vectorised machine code.

Public names are imported when they are first used.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import FuseError, FuseWarning
    from .expand import macro
    from .report.loop_report import Report
    from .runtime.fuse_decorator import Fused, fuse
    from .thread_limits import Threads, threads
    from .ufuncs.numba_decorators import guvectorize, vectorize

__all__ = [
    "FuseError", "FuseWarning", "Fused", "Report", "Threads", "__version__", "fuse",
    "guvectorize", "load_ipython_extension", "macro", "threads", "vectorize",
]

__version__ = "0.1.0"

# public name -> the module that it is imported from when it is first used
_HOMES = {
    "FuseError": "errors",
    "FuseWarning": "errors",
    "Fused": "runtime.fuse_decorator",
    "Report": "report.loop_report",
    "Threads": "thread_limits",
    "fuse": "runtime.fuse_decorator",
    "guvectorize": "ufuncs.numba_decorators",
    "macro": "expand",
    "threads": "thread_limits",
    "vectorize": "ufuncs.numba_decorators",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from .runtime.process.garbage_collection import collecting_less_often

    with collecting_less_often():
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython for ``%load_ext transpile``: defines ``%%fuse`` and ``%fuse_annotate``."""
    from .cli.notebook_magics import register_magics

    register_magics(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
