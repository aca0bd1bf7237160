"""A compiler for loops: ``@fuse`` runs a function as fused, vectorised machine code, or as it was.

Nothing is imported before it is asked for.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dispatch.fused import Fused, fuse
    from .errors import FuseError, FuseWarning
    from .macros import macro
    from .report.report import Report

__all__ = ["FuseError", "FuseWarning", "Fused", "Report", "fuse", "macro"]

_HOMES = {
    "FuseError": "errors",
    "FuseWarning": "errors",
    "Fused": "dispatch",
    "Report": "report",
    "fuse": "dispatch",
    "macro": "macros",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
