"""Where a module is: a file of the user's own, or an installed package, which may be imported."""
from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

from ...frontend.defining_modules import OUR_PACKAGES, is_installed
from ...frontend.suppress_warnings import suppress_warnings

__all__ = ["installed_module", "module_location", "own_file"]

_NOT_IMPORTED = {"antigravity", "this", "__main__", "__hello__", "__phello__"}
"""Modules of the standard library whose import shows something."""


def module_location(path: str) -> tuple[Path, str]:
    """The folder that a file is imported from, and its (dotted) module name."""
    file = Path(path).resolve()
    folder, name = file.parent, file.stem
    while (folder / "__init__.py").exists():
        folder, name = folder.parent, f"{folder.name}.{name}"
    return folder, name.removesuffix(".__init__")


def own_file(name: str, home: Path, own: str) -> Path | None:
    """The file of a module of the user's own; None where the name is that of an installed one, or
    of none.

    `home` is the folder of the modules of the file that is read, `own` the package that it is in.
    """
    parts = name.split(".")
    if parts[0] in OUR_PACKAGES or name in _NOT_IMPORTED:
        return None
    for folder in (home, *map(Path, sys.path)):
        base = folder.joinpath(*parts)
        for path in (base / "__init__.py", base.with_suffix(".py")):
            if path.is_file():
                return path if parts[0] == own or not is_installed(path) else None
        if (folder / parts[0] / "__init__.py").is_file() or (folder / f"{parts[0]}.py").is_file():
            return None
    spec = _spec(parts[0])  # an editable installation
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    if origin is None or not origin.is_file() or is_installed(origin) or len(parts) > 1:
        return None
    return origin if origin.suffix == ".py" else None


def _spec(name: str) -> Any:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def installed_module(name: str) -> types.ModuleType | None:
    """The installed module of this name, imported; None if it cannot be."""
    top = name.partition(".")[0]
    if name in _NOT_IMPORTED:
        return None
    spec = None if top in sys.modules else _spec(top)
    if top not in sys.modules:
        origin = spec.origin if spec is not None else None
        if origin is None or (
            origin not in ("built-in", "frozen") and not is_installed(origin)
        ):
            return None
    try:
        with suppress_warnings():
            return importlib.import_module(name)
    except Exception:
        return None
