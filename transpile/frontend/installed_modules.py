"""Installed modules: the standard library and installed packages, in contrast to the user's files.
"""
from __future__ import annotations

import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

__all__ = ["OUR_PACKAGES", "is_installed"]

OUR_PACKAGES = ("transpile", "loopir", "targets")
"""The packages of this project: installed or not, they are none of the user's."""


def is_installed(path: Path) -> bool:
    """Whether a file belongs to the standard library or to an installed package."""
    resolved = path.resolve()
    return any(resolved.is_relative_to(folder) for folder in _folders(tuple(sys.path)))


@lru_cache(maxsize=4)
def _folders(search_path: tuple[str, ...]) -> frozenset[Path]:
    """Where the standard library and installed packages are."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {Path(sysconfig.get_path(kind)).resolve() for kind in kinds}
    return frozenset(folders | {Path(p).resolve() for p in search_path if "-packages" in p})
