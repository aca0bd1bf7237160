"""CPU feature detection: the architecture and the instruction sets that the system reports."""
from __future__ import annotations

import platform
from functools import cache

from loopir.process.signal_exceptions import suppress_failures

__all__ = ["features", "machine"]

_ALIASES = {"abm": "lzcnt"}
"""Features that Linux and GCC name differently: Linux's name, and that of GCC's option (``-mlzcnt``),
which `Target.cpu` and `features` use."""


@cache
def machine() -> str:
    """The architecture: ``"x86_64"``, ``"aarch64"`` or the name that the system gives."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


@cache
def features() -> frozenset[str]:
    """The CPU's instruction sets, by Linux's names (``avx2``, ``avx512f``, ``asimd``), those in
    `_ALIASES` by GCC's: the baseline, which each CPU of the architecture has, and those that Linux
    reports. On another system it is the baseline alone.
    """
    baseline = {"x86_64": {"sse2"}, "aarch64": {"asimd"}}.get(machine(), set())
    return frozenset(baseline | {_ALIASES.get(x, x) for x in _listed()})


def _listed() -> list[str]:
    """The features that Linux lists for the first core; empty on other systems."""
    absent = suppress_failures(FileNotFoundError, PermissionError)
    with absent, open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:  # the first core is enough
            key, _, words = line.partition(":")
            if key.strip() in ("flags", "Features"):
                return words.split()
    return []
