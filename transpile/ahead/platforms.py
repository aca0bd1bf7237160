"""Platforms: systems and architectures for which packages are built, by the names of wheel tags.

A cross build is made by the compiler of the ``ziglang`` wheel, which brings the headers and the C
library of each system. `Platform.triple` is what it calls the target.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Callable

from loopir.lazy_dataclass import record
from targets.isa.target_registry import machine

__all__ = ["PLATFORMS", "Platform", "own_platform", "platform_named"]


@record(frozen=True, slots=True)
class Platform:
    """A system with an architecture."""

    name: str  # as in the tag of a wheel
    machine: str  # the architecture, as `cpu_features.machine` names it
    system: str  # as `sys.platform` names it
    triple: str = ""  # the target of the cross compiler; empty: this machine's own compiler


PLATFORMS = (
    "manylinux_2_17_x86_64", "manylinux_2_17_aarch64", "macosx_11_0_arm64", "macosx_10_13_x86_64",
    "win_amd64", "win_arm64",
)
"""One platform of each kind: those of Linux and macOS with the oldest glibc or macOS."""

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64", "x86_64": "x86_64", "aarch64": "aarch64"}
_KINDS: tuple[tuple[str, str, Callable[[str, str, str], str]], ...] = (
    (
        r"manylinux_(2)_(\d+)_(x86_64|aarch64)", "linux",
        lambda major, minor, cpu: f"{cpu}-linux-gnu.{major}.{minor}",
    ),
    (
        r"macosx_(\d+)_(\d+)_(x86_64|arm64)", "darwin",
        lambda major, minor, cpu: f"{_MACHINES[cpu]}-macos.{major}.{minor}",
    ),
    (r"win_()()(amd64|arm64)", "win32", lambda _, __, cpu: f"{_MACHINES[cpu]}-windows-gnu"),
)


def platform_named(name: str) -> Platform:
    """The platform with this name, for which the code is made by the cross compiler. Raises
    ValueError.
    """
    for pattern, system, triple in _KINDS:
        if found := re.fullmatch(pattern, name):
            major, minor, cpu = found.groups()
            return Platform(name, _MACHINES[cpu], system, triple(major, minor, cpu))
    raise ValueError(f"there is no platform {name}: it is one such as {', '.join(PLATFORMS)}")


def own_platform() -> Platform:
    """That of this process, for which the code is made by its own C compiler."""
    return Platform(f"{sys.platform}_{machine()}", machine(), sys.platform)
