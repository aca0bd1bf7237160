"""Build settings: the table ``[tool.transpile.build]`` of a library's pyproject.toml.

::

    [tool.transpile.build]
    modules = ["src/mylib"]         # files, and folders of these
    check = true                    # no wheel if a function has no kernel
    platform = "win_amd64"          # another system; the variable TRANSPILE_PLATFORM goes first

    [tool.transpile.build.signatures]
    "mylib.sums:dot" = ["f64[:], f64[:]", "f32[:], f32[:]"]
"""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from loopir.lazy_dataclass import record

from ..ahead.module_source import PackageError
from ..ahead.platforms import Platform, own_platform, platform_named

__all__ = ["BuildSettings", "build_settings"]

_TABLE = "[tool.transpile.build]"


@record(frozen=True, slots=True)
class BuildSettings:
    """What is built of a library."""

    modules: tuple[str, ...]
    """Files and folders, relative to the folder of pyproject.toml."""
    signatures: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By module and function: the types of the arguments, as reports print them."""
    check: bool = False
    """Whether there is no wheel if a function stays Python in it."""
    platform: Platform = field(default_factory=own_platform)
    """Where the wheel is to run."""


def build_settings(pyproject: Mapping[str, Any]) -> BuildSettings:
    """The settings in the contents of a pyproject.toml. Raises PackageError."""
    table = pyproject.get("tool", {}).get("transpile", {}).get("build")
    if not isinstance(table, dict):
        raise PackageError(f'pyproject.toml has no {_TABLE} with modules = ["src/mylib"]')
    unknown = table.keys() - {"modules", "signatures", "check", "platform"}
    if unknown:
        known = "modules, signatures, check and platform"
        raise PackageError(f"{_TABLE} has no {min(unknown)} ({known} are known)")
    modules, check = table.get("modules"), table.get("check", False)
    if not _are_strings(modules) or not modules:
        raise PackageError(f"{_TABLE}: modules is not a list of files and folders")
    if not isinstance(check, bool):
        raise PackageError(f"{_TABLE}: check is not true or false")
    signatures = _signatures(table.get("signatures", {}))
    return BuildSettings(tuple(modules), signatures, check, _platform(table.get("platform", "")))


def _platform(setting: object) -> Platform:
    """The platform that the variable names, else ``setting``, that of the table; this one if both
    are empty. Raises PackageError.
    """
    name = os.environ.get(_VARIABLE)
    where, given = (f"{_TABLE}: platform", setting) if not name else (_VARIABLE, name)
    try:
        return platform_named(str(given)) if given else own_platform()
    except ValueError as error:
        raise PackageError(f"{where}: {error}") from None


_VARIABLE = "TRANSPILE_PLATFORM"


def _signatures(table: object) -> dict[str, dict[str, tuple[str, ...]]]:
    """The table of signatures. Raises PackageError."""
    where = f"{_TABLE}: signatures"
    if not isinstance(table, dict):
        raise PackageError(f"{where} is not a table")
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, types in table.items():
        module, colon, function = name.partition(":")
        if not (colon and module and function):
            raise PackageError(f"{where}: {name!r} is not of the form 'module:function'")
        if not _are_strings(types):
            raise PackageError(f"{where}: {name!r} is not bound to a list such as ['f64[:], int']")
        found.setdefault(module, {})[function] = tuple(types)
    return found


def _are_strings(value: object) -> bool:
    """Whether `value` is a list of strings."""
    return isinstance(value, Sequence) and not isinstance(value, str) and all(
        isinstance(item, str) for item in value
    )
